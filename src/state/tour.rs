//! The tour: stops in order and one leg from each to the next.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{AttrIx, LegFact};

/// How the model knows the tour, and how results describe legs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tour {
    /// The list of stops as it is set, start and destination included.
    pub stops: AttrIx,
    /// The member of a result's leg that names it.
    pub id: String,
    /// The member that names the stop where it begins.
    pub from: String,
    /// The member that names the stop where it ends.
    pub to: String,
    /// The members that show that a reply describes it.
    pub told: Vec<String>,
    /// What rules read of the legs at hand.
    pub facts: Vec<LegFact>,
}

/// What a write does to the tour.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TourEdit {
    /// Legs that it sets.
    pub legs: Vec<Leg>,
    /// Arguments that name a stop which must be on the tour already.
    pub present: Vec<String>,
}

/// One argument that names a leg, or a list of legs in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leg {
    /// The argument.
    pub argument: String,
    /// Where it has to begin.
    pub from: Option<Stop>,
    /// Where it has to end.
    pub to: Option<Stop>,
}

/// A stop, as the effect model names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// Where the car is.
    Here,
    /// The one that an argument names.
    Argument(String),
    /// The one before the stop that an argument names.
    Before(String),
    /// The one after it.
    After(String),
    /// The one before the destination.
    BeforeLast,
}

/// A leg as a result describes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfferedLeg<'a> {
    /// Where it begins.
    pub from: &'a str,
    /// Where it ends.
    pub to: &'a str,
    /// All that the result says of it.
    pub said: &'a Json,
}

impl Tour {
    /// A leg in the payload of a result, with its alternatives: the other legs of the same list between
    /// the same two stops.
    pub fn find<'a>(&self, payload: &'a Json, leg: &str) -> Option<(OfferedLeg<'a>, Vec<OfferedLeg<'a>>)> {
        match payload {
            Json::Array(items) => {
                let own = items.iter().find(|item| self.is(item, leg)).and_then(|item| self.read(item));
                let Some(own) = own else { return items.iter().find_map(|item| self.find(item, leg)) };
                let others = items.iter().filter(|item| !self.is(item, leg)).filter_map(|item| self.read(item));
                Some((own, others.filter(|o| (o.from, o.to) == (own.from, own.to)).collect()))
            }
            Json::Object(map) => map.values().find_map(|value| self.find(value, leg)),
            _ => None,
        }
    }

    /// Whether the payload of a result describes a leg between two stops.
    pub fn joins(&self, payload: &Json, from: &str, to: &str) -> bool {
        match payload {
            Json::Array(items) => items.iter().any(|item| self.joins(item, from, to)),
            Json::Object(map) => {
                self.read(payload).is_some_and(|leg| leg.from == from && leg.to == to)
                    || map.values().any(|value| self.joins(value, from, to))
            }
            _ => false,
        }
    }

    /// The legs of every list in a payload, those between the same two stops together.
    pub fn choices<'a>(&self, payload: &'a Json, found: &mut Vec<Vec<OfferedLeg<'a>>>) {
        match payload {
            Json::Array(items) => {
                let before = found.len();
                for item in items {
                    let Some(leg) = self.read(item).filter(|_| item.get(&self.id).is_some()) else {
                        self.choices(item, found);
                        continue;
                    };
                    let ends = |l: &OfferedLeg<'_>| (l.from, l.to) == (leg.from, leg.to);
                    let group = found.iter_mut().skip(before).find(|group| group.first().is_some_and(ends));
                    match group {
                        Some(group) => group.push(leg),
                        None => found.push(vec![leg]),
                    }
                }
            }
            Json::Object(map) => map.values().for_each(|value| self.choices(value, found)),
            _ => {}
        }
    }

    fn is(&self, item: &Json, leg: &str) -> bool {
        item.get(&self.id).and_then(Json::as_str) == Some(leg)
    }

    fn read<'a>(&self, item: &'a Json) -> Option<OfferedLeg<'a>> {
        let word = |name: &str| item.get(name).and_then(Json::as_str);
        Some(OfferedLeg { from: word(&self.from)?, to: word(&self.to)?, said: item })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn alternatives_share_both_ends() {
        let (told, facts) = (Vec::new(), Vec::new());
        let tour = Tour { stops: AttrIx(0), id: "id".into(), from: "a".into(), to: "b".into(), told, facts };
        let payload = json!({"legs": [
            {"id": "r1", "a": "x", "b": "y"}, {"id": "r2", "a": "x", "b": "y"}, {"id": "r3", "a": "y", "b": "z"},
        ]});
        let (own, others) = tour.find(&payload, "r1").unwrap();
        assert_eq!((own.from, own.to, others.len()), ("x", "y", 1));
        assert!(tour.find(&payload, "r3").unwrap().1.is_empty());
        assert_eq!(tour.find(&payload, "r4"), None);
        assert!(tour.joins(&payload, "y", "z") && !tour.joins(&payload, "z", "y"));
        let mut choices = Vec::new();
        tour.choices(&payload, &mut choices);
        assert_eq!(choices.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    }
}
