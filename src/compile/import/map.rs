//! From a foreign rule to one of ours, or to the reasons why there is none.

use serde_json::Value as Json;

use super::read::{Exec, Foreign};
use crate::compile::ground::Ground;
use crate::compile::names::Near;
use crate::policy::RuleKind;
use crate::state::{AttrType, Attribute};

/// What a foreign rule becomes.
pub(super) enum Mapped {
    /// A rule in Cedar, still to be compiled.
    Rule(String),
    /// It has no executable form.
    Prose,
    /// It cannot be one, and why.
    Refused(Vec<String>),
}

/// Maps a rule; `source` is the line that it is held to.
pub(super) fn map(ground: &Ground, rule: &Foreign, source: &str) -> Mapped {
    let mut reasons = Vec::new();
    let kind = rule.kind.replace('_', "-");
    if RuleKind::by_name(&kind).is_none() {
        let near = Near::among(&kind, RuleKind::ALL.iter().map(|k| k.as_str()));
        reasons.push(format!("there is no kind `{}`; {near}", rule.kind));
    }
    for tool in &rule.trigger_tools {
        reasons.extend(unknown_tool(ground, "trigger", tool));
    }
    let Some(exec) = &rule.exec else {
        return if reasons.is_empty() { Mapped::Prose } else { Mapped::Refused(reasons) };
    };
    if rule.trigger_tools.is_empty() {
        reasons.push("it has an executable form and no tool that triggers it".to_owned());
    }
    let read = unknown_tool(ground, "read", &exec.read);
    let attribute = match read {
        Some(why) => Err(why),
        None => attribute(ground, exec),
    };
    let condition = attribute.and_then(|a| Ok((a, condition(a, exec)?)));
    let remedy = remedy(ground, exec, condition.as_ref().ok().map(|(a, _)| *a));
    match (condition, remedy) {
        (Ok((attribute, condition)), Ok(remedy)) if reasons.is_empty() => {
            let entity = ground.model.entity(attribute.entity).map_or("Car", |e| e.name.as_str());
            let tools: Vec<String> = rule.trigger_tools.iter().map(|t| format!("Action::{}", quoted(t))).collect();
            Mapped::Rule(format!(
                "@id({}) @source({}) @kind({}) @remedy({})\nforbid (principal, action in [{}], resource is {entity})\nwhen {{ {condition} }};\n",
                quoted(&rule.id),
                quoted(source),
                quoted(&kind),
                quoted(&remedy),
                tools.join(", ")
            ))
        }
        (condition, remedy) => {
            reasons.extend(condition.err());
            reasons.extend(remedy.err().into_iter().flatten());
            Mapped::Refused(reasons)
        }
    }
}

fn unknown_tool(ground: &Ground, what: &str, name: &str) -> Option<String> {
    ground.inventory.position(name).is_none().then(|| {
        let near = Near::among(name, ground.inventory.iter().map(|t| t.name.as_str()));
        format!("its {what} names no tool: `{name}`; {near}")
    })
}

/// The attribute that a field pattern means. A pattern that matches nothing is an error, never silence.
fn attribute<'g>(ground: &'g Ground, exec: &Exec) -> Result<&'g Attribute, String> {
    let read = ground.inventory.position(&exec.read);
    let of_read: Vec<&Attribute> = ground.model.attributes.iter().filter(|a| a.read == read).collect();
    let pattern = exec.field_pattern.as_str();
    if let Some(found) = of_read.iter().find(|a| a.field == pattern) {
        return Ok(found);
    }
    let one_item = of_read.iter().find(|a| {
        let items = ground.model.entity(a.entity).map(|e| e.items.as_slice()).unwrap_or_default();
        a.field.contains('*') && items.iter().any(|item| a.field.replacen('*', item, 1) == pattern)
    });
    Err(match one_item {
        Some(a) => format!("its field `{pattern}` is one item of `{}`: the wildcard is lost", a.field),
        None => {
            let near = Near::among(pattern, of_read.iter().map(|a| a.field.as_str()));
            format!(
                "its field pattern `{pattern}` matches nothing that `{}` returns, so it never fires; {near}",
                exec.read
            )
        }
    })
}

fn condition(attribute: &Attribute, exec: &Exec) -> Result<String, String> {
    let name = format!("resource.{}", attribute.name);
    let (op, value) = (exec.op.as_str(), &exec.value);
    let wrong = |what: &str| Err(format!("it compares `{}`, {what}, with `{op} {value}`", attribute.field));
    match (&attribute.kind, op, value) {
        (AttrType::Bool, "==", Json::Bool(true)) | (AttrType::Bool, "!=", Json::Bool(false)) => Ok(name),
        (AttrType::Bool, "==", Json::Bool(false)) | (AttrType::Bool, "!=", Json::Bool(true)) => Ok(format!("!{name}")),
        (AttrType::Bool, ..) => wrong("a switch"),
        (AttrType::Int, "<" | "<=" | ">" | ">=" | "==" | "!=", Json::Number(number)) => {
            match attribute.resolution.scale(number) {
                Some(steps) => Ok(format!("{name} {op} {steps}")),
                None => wrong("which has coarser steps"),
            }
        }
        (AttrType::Int, ..) => wrong("a number"),
        (AttrType::Word, "==" | "!=", Json::String(word)) => Ok(format!("{name} {op} {}", quoted(word))),
        (AttrType::Word, ..) => wrong("a word"),
        (AttrType::Parts(_) | AttrType::List, "contains", Json::String(word)) => {
            Ok(format!("{name}.contains({})", quoted(word)))
        }
        (AttrType::Parts(_) | AttrType::List, "not_contains", Json::String(word)) => {
            Ok(format!("!{name}.contains({})", quoted(word)))
        }
        (AttrType::Parts(_) | AttrType::List, ..) => wrong("a set of words"),
    }
}

/// The owed call as a template. Its arguments must exist; what they may be, the compiler checks.
fn remedy(ground: &Ground, exec: &Exec, attribute: Option<&Attribute>) -> Result<String, Vec<String>> {
    let name = exec.obligation.tool.as_str();
    let mut reasons: Vec<String> = unknown_tool(ground, "obligation", name).into_iter().collect();
    let mut arguments = Vec::new();
    for (argument, value) in &exec.obligation.args {
        let value = match value {
            Json::String(text) if text == "<item>" => {
                let alone = attribute.and_then(|a| ground.model.entity(a.entity)).is_some_and(|e| e.is_singleton());
                if alone {
                    reasons.push(format!("`{argument}` of its obligation is `<item>`, and the field has no items"));
                }
                "<resource>".to_owned()
            }
            Json::String(text) if text.is_empty() => {
                reasons.push(format!("`{argument}` of its obligation is empty: the item is lost"));
                continue;
            }
            Json::String(text) => quoted(text),
            other => other.to_string(),
        };
        arguments.push(format!("{argument}: {value}"));
    }
    if reasons.is_empty() { Ok(format!("{name}({})", arguments.join(", "))) } else { Err(reasons) }
}

/// A Cedar string.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_debug())
}
