//! Argument lists as a tree, the way they are written: one argument after the other.

use serde_json::Value as Json;

/// The value of one argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Slot {
    /// Exactly this.
    Value(Json),
    /// Whatever the schema allows: a text that only the model can word.
    Open,
}

/// One argument of a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) slot: Slot,
    /// How welcome the value is, in nats.
    pub(super) weight: f32,
}

/// One argument and the ones that may follow it.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// Name and value; none: the list ends here.
    pub argument: Option<(String, Slot)>,
    /// How welcome it is, in nats.
    pub weight: f32,
    /// What may follow.
    pub rest: Vec<Branch>,
}

/// Joins lists that begin alike.
pub(super) fn tree(lists: &[Vec<Part>]) -> Vec<Branch> {
    let all: Vec<&[Part]> = lists.iter().map(Vec::as_slice).collect();
    branches(&all)
}

fn branches(lists: &[&[Part]]) -> Vec<Branch> {
    let mut heads: Vec<Option<&Part>> = Vec::new();
    for list in lists {
        if !heads.contains(&list.first()) {
            heads.push(list.first());
        }
    }
    heads
        .into_iter()
        .map(|head| {
            let below: Vec<&[Part]> = match head {
                None => Vec::new(),
                Some(head) => {
                    lists.iter().filter_map(|l| l.split_first()).filter(|(h, _)| *h == head).map(|(_, r)| r).collect()
                }
            };
            let weight = head.map_or(0.0, |part| part.weight);
            Branch { argument: head.map(|p| (p.name.clone(), p.slot.clone())), weight, rest: branches(&below) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(name: &str, value: Json) -> Part {
        Part { name: name.to_owned(), slot: Slot::Value(value), weight: 0.0 }
    }

    #[test]
    fn lists_that_begin_alike_share_a_branch() {
        let (driver, rear) = (value("window", json!("DRIVER")), value("window", json!("REAR")));
        let lists = [
            vec![driver.clone(), value("percentage", json!(50))],
            vec![driver.clone(), value("percentage", json!(20))],
            vec![rear],
        ];
        let tree = tree(&lists);
        assert_eq!(tree.len(), 2);
        assert_eq!((tree[0].rest.len(), tree[1].rest.len()), (2, 1));
        assert_eq!(tree[1].rest[0].argument, None);
    }
}
