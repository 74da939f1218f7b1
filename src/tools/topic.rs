//! What a read can be asked for: the switches and words among its parameters.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Param, ParamType, Tool};
use crate::model::Arguments;

/// One thing that a read can be asked for, such as one category of stored preferences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    /// Names of the parameters that lead to it, the topic's own name last.
    path: Vec<String>,
    form: Form,
}

/// How a call asks for a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Form {
    /// A switch of that name is on.
    Switch,
    /// A parameter is that word.
    Word,
    /// A list parameter holds that word.
    Listed,
}

impl Topic {
    /// Its own name.
    pub fn name(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    /// Its name with those of the parameters that lead to it, dotted; what is removed is spelt so.
    pub fn dotted(&self) -> String {
        self.path.join(".")
    }

    /// Arguments that ask for this topic alone.
    pub fn arguments(&self) -> Arguments {
        let word = || Json::from(self.name());
        let (value, outer) = match self.form {
            Form::Switch => (Json::Bool(true), self.path.as_slice()),
            Form::Word => (word(), self.outer()),
            Form::Listed => (Json::Array(vec![word()]), self.outer()),
        };
        let nested =
            outer.iter().rev().fold(value, |inner, name| Json::Object([(name.clone(), inner)].into_iter().collect()));
        if let Json::Object(arguments) = nested { arguments } else { Arguments::default() }
    }

    /// Whether a call with these arguments asks for it.
    pub fn is_asked_in(&self, arguments: &Arguments) -> bool {
        let outer = if self.form == Form::Switch { self.path.as_slice() } else { self.outer() };
        let Some((first, rest)) = outer.split_first() else { return false };
        let found = arguments.get(first).and_then(|value| rest.iter().try_fold(value, |at, name| at.get(name)));
        match (self.form, found) {
            (Form::Switch, Some(value)) => value.as_bool() == Some(true),
            (Form::Word, Some(value)) => value.as_str() == Some(self.name()),
            (Form::Listed, Some(Json::Array(words))) => words.iter().any(|w| w.as_str() == Some(self.name())),
            _ => false,
        }
    }

    fn outer(&self) -> &[String] {
        self.path.split_last().map_or(&[], |(_, outer)| outer)
    }
}

impl Tool {
    /// Everything that a call of this tool can be asked for.
    pub fn topics(&self) -> Vec<Topic> {
        let mut topics = Vec::new();
        collect(&self.params, &mut Vec::new(), &mut topics);
        topics
    }
}

fn collect(params: &[Param], path: &mut Vec<String>, topics: &mut Vec<Topic>) {
    for param in params {
        path.push(param.name.clone());
        let mut words = |words: &[String], form| {
            for word in words {
                let path = path.iter().chain([word]).cloned().collect();
                topics.push(Topic { path, form });
            }
        };
        match &param.kind {
            ParamType::Bool => topics.push(Topic { path: path.clone(), form: Form::Switch }),
            ParamType::Enum(members) => words(members, Form::Word),
            ParamType::List(_) => words(param.members(), Form::Listed),
            ParamType::Object(inner) => collect(inner, path, topics),
            ParamType::Number | ParamType::Text | ParamType::Any => {}
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::super::import;
    use super::*;
    use serde_json::json;

    fn topics(properties: &Json) -> Vec<Topic> {
        let schema = json!({"type": "object", "properties": properties});
        let text = json!([{"name": "get_habits", "inputSchema": schema}]).to_string();
        Tool::from_import(&import(&text).unwrap()[0]).unwrap().topics()
    }

    #[test]
    fn a_topic_is_asked_for_by_a_switch_a_word_or_a_listed_word() {
        for (properties, call) in [
            (
                json!({"of": {"type": "object", "properties": {"baking": {"type": "boolean"}}}}),
                json!({"of": {"baking": true}}),
            ),
            (json!({"topic": {"type": "string", "enum": ["baking"]}}), json!({"topic": "baking"})),
            (
                json!({"topics": {"type": "array", "items": {"type": "string", "enum": ["baking"]}}}),
                json!({"topics": ["baking"]}),
            ),
        ] {
            let topics = topics(&properties);
            assert_eq!((topics.len(), topics[0].name()), (1, "baking"));
            assert_eq!(Json::Object(topics[0].arguments()), call);
            assert!(topics[0].is_asked_in(call.as_object().unwrap()));
            assert!(!topics[0].is_asked_in(json!({"of": {"baking": false}, "topic": "washing"}).as_object().unwrap()));
        }
    }
}
