//! A request that shows something, as people read calls and cars.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::domain::Domain;
use super::expr::Path;
use super::subject::{Env, Subject};
use crate::model::Resolution;
use crate::policy::PolicyParts;
use crate::state::ItemRef;

/// One request, reduced to what was asked about.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Witness {
    env: Env,
    values: BTreeMap<Path, Json>,
}

impl Witness {
    /// From values by hand, as an enumeration finds them.
    pub(super) fn new(env: &Env, values: BTreeMap<Path, Json>) -> Self {
        Self { env: env.clone(), values }
    }

    /// What a model of the solver gives these members.
    #[cfg(feature = "solver")]
    pub(super) fn of(env: &Env, model: &cedar_policy_symcc::Env, paths: &[Path]) -> Self {
        let values = paths.iter().filter_map(|path| Some((path.clone(), value(model, path)?))).collect();
        Self::new(env, values)
    }

    /// `set_fan_speed(level: 2), where fan speed is 1 and it is 21 h`. Arguments that the call must have and that
    /// nothing was asked about get a legal value, so that the call can be made.
    pub(super) fn describe(&self, subject: &Subject) -> String {
        self.callable(subject).told(subject)
    }

    fn callable(&self, subject: &Subject) -> Self {
        let mut whole = self.clone();
        let Some(parts) = &subject.parts else { return whole };
        let Some((_, tool)) = parts.tool_named(self.env.action_name()) else { return whole };
        for param in tool.params.iter().filter(|param| param.required) {
            let path: Path = ["context", "input", param.name.as_str()].into_iter().map(str::to_owned).collect();
            let domain = parts.domain(&self.env, &path);
            whole.values.entry(path).or_insert_with(|| legal(domain));
        }
        whole
    }

    fn told(&self, subject: &Subject) -> String {
        let item = self.item(subject);
        let mut arguments = Vec::new();
        let mut states = Vec::new();
        for (path, value) in &self.values {
            match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
                ["context", "input", name @ ..] => {
                    arguments.push(format!("{}: {}", name.join("."), self.shown(subject, path, value)));
                }
                ["context", "tool" | "arguments"] => arguments.push(format!("{}: {value}", path.join("."))),
                _ => states.push(format!("{} is {}", self.name(path, &item), self.shown(subject, path, value))),
            }
        }
        let call = format!("{}({})", self.env.action_name(), arguments.join(", "));
        if states.is_empty() { call } else { format!("{call}, where {}", states.join(" and ")) }
    }

    /// The item that the resource stands for: the one that the call names, else the first.
    fn item(&self, subject: &Subject) -> String {
        let Some(parts) = &subject.parts else { return "resource".to_owned() };
        let Some(entity) = parts.entity_named(&self.env.resource).and_then(|ix| parts.model.entity(ix)) else {
            return "resource".to_owned();
        };
        if entity.is_singleton() {
            return entity.name.to_lowercase();
        }
        let at = self.named_item(parts).unwrap_or_default();
        let item = entity.items.get(usize::from(at)).map(|i| i.replace('_', " ")).unwrap_or_default();
        let kind = entity.names.get("en").and_then(|n| n.first()).cloned();
        format!("{item} {}", kind.unwrap_or_else(|| entity.name.to_lowercase()))
    }

    fn named_item(&self, parts: &PolicyParts) -> Option<u16> {
        let (ix, _) = parts.tool_named(self.env.action_name())?;
        let item = parts.model.tool(ix)?.item.as_ref()?;
        let path = ["context", "input", item.argument.as_str()].map(str::to_owned);
        match item.resolve(self.values.get(path.as_slice())?.as_str()?)? {
            ItemRef::One(at) => Some(at),
            _ => None,
        }
    }

    fn name(&self, path: &Path, item: &str) -> String {
        let words = |parts: &[&str]| parts.join(" ").replace('_', " ");
        match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["resource", name] => match name.strip_prefix("before_") {
                Some(name) => format!("{item} {} before the call", words(&[name])),
                None => format!("{item} {}", words(&[name])),
            },
            ["context", "before", name] => format!("{} before the call", words(&[name])),
            ["context", "car", name] => words(&[name]),
            ["context", rest @ ..] => words(rest),
            other => words(other),
        }
    }

    /// A value in natural units.
    fn shown(&self, subject: &Subject, path: &Path, value: &Json) -> String {
        let plain = |value: &Json| match value {
            Json::String(text) if text.is_empty() => "\"\"".to_owned(),
            Json::String(text) if text.chars().all(|c| c.is_alphanumeric() || "_-.:".contains(c)) => text.clone(),
            Json::Bool(true) => "on".to_owned(),
            Json::Bool(false) => "off".to_owned(),
            other => other.to_string(),
        };
        let input = path.get(1).is_some_and(|p| p == "input");
        let Some(parts) = &subject.parts else { return value.to_string() };
        let attribute = parts.attribute_of(&self.env, path);
        let steps = match (parts.param_of(&self.env, path), attribute) {
            (Some(param), _) => param.resolution,
            (_, Some(attribute)) => attribute.resolution,
            _ => Resolution::ONE,
        };
        let number = match (value, value.as_i64()) {
            (Json::Bool(b), _) if input => b.to_string(),
            (_, Some(number)) => steps.natural(number).to_string(),
            _ => plain(value),
        };
        match attribute {
            Some(attribute) if value.is_number() && !attribute.unit.is_empty() => {
                format!("{number} {}", attribute.unit)
            }
            _ => number,
        }
    }
}

/// A value that a parameter can have.
fn legal(domain: Domain) -> Json {
    match domain {
        Domain::Switch => true.into(),
        Domain::Range(low, high) => 0.clamp(low, high.max(low)).into(),
        Domain::Words(words) | Domain::Parts(words) => words.into_iter().next().unwrap_or_default().into(),
        Domain::Text | Domain::Open => "any".into(),
    }
}

/// A member's value in a model.
#[cfg(feature = "solver")]
fn value(model: &cedar_policy_symcc::Env, path: &[String]) -> Option<Json> {
    let (root, rest) = path.split_first()?;
    let (first, rest) = rest.split_first()?;
    let top = match root.as_str() {
        "context" => model.request.context()?.get(first)?,
        "resource" => model.entities.get(model.request.resource()?)?.attr(first)?.ok()?,
        "principal" => model.entities.get(model.request.principal()?)?.attr(first)?.ok()?,
        _ => return None,
    };
    plain(rest.iter().try_fold(top, |at, name| match at {
        cedar_policy::EvalResult::Record(record) => record.get(name).cloned(),
        cedar_policy::EvalResult::EntityUid(uid) => model.entities.get(&uid)?.attr(name)?.ok(),
        _ => None,
    })?)
}

#[cfg(feature = "solver")]
fn plain(value: cedar_policy::EvalResult) -> Option<Json> {
    use cedar_policy::EvalResult;
    Some(match value {
        EvalResult::Bool(b) => b.into(),
        EvalResult::Long(n) => n.into(),
        EvalResult::String(text) => text.into(),
        EvalResult::Set(set) => Json::Array(set.iter().cloned().filter_map(plain).collect()),
        EvalResult::Record(_) => return None,
        EvalResult::EntityUid(uid) => uid.to_string().into(),
        EvalResult::ExtensionValue(text) => text.into(),
    })
}
