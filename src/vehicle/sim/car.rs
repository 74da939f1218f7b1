//! The state of the simulated car: what each read tool answers.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::model::{Arguments, canonical};
use crate::state::select;

/// One answer of a read whose result depends on its arguments.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    /// Arguments that a call must have; others do not matter.
    #[serde(default)]
    when: Map<String, Json>,
    /// The answer.
    result: Json,
}

/// What a read tool answers.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answers {
    /// The same fields whatever the arguments are.
    Table(Json),
    /// The first case whose arguments all match.
    Cases(Vec<Case>),
}

/// Everything that can be read from the simulated car.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Car {
    pub(super) answers: BTreeMap<String, Answers>,
    /// What a read says where no case matches.
    pub(super) otherwise: BTreeMap<String, String>,
}

impl Car {
    /// Answers a read, or says why it has no answer.
    pub(super) fn read(&self, tool: &str, arguments: &Arguments) -> Result<Json, String> {
        let found = match self.answers.get(tool) {
            Some(Answers::Table(table)) => Some(table),
            Some(Answers::Cases(cases)) => cases.iter().find(|c| c.matches(arguments)).map(|c| &c.result),
            None => None,
        };
        found.cloned().ok_or_else(|| match self.otherwise.get(tool) {
            Some(sentence) => sentence.clone(),
            None => format!("the simulated car has no answer to `{tool}` with these arguments"),
        })
    }

    /// A field by `read tool.path`. A read that depends on arguments has no single field.
    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        let (tool, path) = name.split_once('.')?;
        match self.answers.get(tool)? {
            Answers::Table(table) => select(table, path),
            Answers::Cases(_) => None,
        }
    }

    /// Every field of the reads without arguments, by `read tool.path`.
    pub(super) fn fields(&self) -> BTreeMap<String, Json> {
        let mut found = BTreeMap::new();
        for (tool, answers) in &self.answers {
            if let Answers::Table(table) = answers {
                leaves(table, tool, &mut found);
            }
        }
        found
    }

    /// Sets a field of what a tool answers; a car that did not have it gets it.
    pub(super) fn set(&mut self, tool: &str, path: &str, value: &Json) {
        let nothing = || Answers::Table(Json::Object(Map::new()));
        match self.answers.entry(tool.to_owned()).or_insert_with(nothing) {
            Answers::Table(table) => place(table, path, value),
            Answers::Cases(cases) => cases.iter_mut().for_each(|case| place(&mut case.result, path, value)),
        }
    }

    /// Sets a field by `read tool.path`.
    pub(super) fn set_field(&mut self, name: &str, value: &Json) {
        if let Some((tool, path)) = name.split_once('.') {
            self.set(tool, path, value);
        }
    }

    /// The first object anywhere in the car whose `member` has this value.
    pub(super) fn find(&self, member: &str, value: &str) -> Option<&Json> {
        self.answers.values().find_map(|answers| match answers {
            Answers::Table(table) => find(table, member, value),
            Answers::Cases(cases) => cases.iter().find_map(|case| find(&case.result, member, value)),
        })
    }
}

impl Case {
    fn matches(&self, arguments: &Arguments) -> bool {
        self.when.iter().all(|(name, wanted)| arguments.get(name).is_some_and(|given| same(wanted, given)))
    }
}

/// People's and places' names are found however they are capitalised.
fn same(wanted: &Json, given: &Json) -> bool {
    match (wanted, given) {
        (Json::String(a), Json::String(b)) => a.to_lowercase() == b.to_lowercase(),
        _ => canonical(wanted) == canonical(given),
    }
}

fn leaves(json: &Json, path: &str, found: &mut BTreeMap<String, Json>) {
    match json {
        Json::Object(map) => map.iter().for_each(|(name, inner)| leaves(inner, &format!("{path}.{name}"), found)),
        leaf => {
            found.insert(path.to_owned(), leaf.clone());
        }
    }
}

/// Writes at a dotted path, the inverse of [`select`]: where a member's own name has dots, the whole
/// name is tried first.
fn place(at: &mut Json, path: &str, value: &Json) {
    let Json::Object(map) = at else { return };
    match path.split_once('.') {
        Some((head, rest)) if !map.contains_key(path) => {
            place(map.entry(head).or_insert_with(|| Json::Object(Map::new())), rest, value);
        }
        _ => {
            map.insert(path.to_owned(), value.clone());
        }
    }
}

fn find<'a>(json: &'a Json, member: &str, value: &str) -> Option<&'a Json> {
    match json {
        Json::Object(map) if map.get(member).and_then(Json::as_str) == Some(value) => Some(json),
        Json::Object(map) => map.values().find_map(|inner| find(inner, member, value)),
        Json::Array(items) => items.iter().find_map(|inner| find(inner, member, value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_nested_field_is_set_where_it_is_read() {
        let mut car = Car::default();
        car.set("get_state", "front.left", &json!(3));
        assert_eq!(car.get("get_state.front.left"), Some(&json!(3)));
        assert_eq!(car.read("get_state", &Arguments::new()).unwrap(), json!({"front": {"left": 3}}));
    }

    #[test]
    fn the_first_case_whose_arguments_all_match_answers() {
        let case = |when: Json, result: Json| Case { when: when.as_object().unwrap().clone(), result };
        let mut car = Car::default();
        let cases = vec![
            case(json!({"place": "Home", "hour": 12}), json!("noon at home")),
            case(json!({"place": "home"}), json!("home")),
        ];
        car.answers.insert("get_weather".to_owned(), Answers::Cases(cases));
        car.otherwise.insert("get_weather".to_owned(), "no weather there".to_owned());
        let ask = |arguments: Json| car.read("get_weather", arguments.as_object().unwrap());
        assert_eq!(ask(json!({"place": "home", "hour": 12.0})), Ok(json!("noon at home")));
        assert_eq!(ask(json!({"place": "HOME", "hour": 3})), Ok(json!("home")));
        assert_eq!(ask(json!({"place": "work"})), Err("no weather there".to_owned()));
    }
}
