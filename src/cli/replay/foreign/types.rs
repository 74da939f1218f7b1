//! Whether what a features file puts into a context is of the types that the schema declares. What is not would deny
//! every call as a mismatch, which looks like a strict policy.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Run;
use super::features::{Features, Input, found};
use super::fit::{Misfit, Wrong, listed};
use super::session::Session;
use crate::policy::foreign::{Context, Denial, Environment, ForeignSet, Member, Request, Type, decide};

/// Everything in the file that no request could carry.
pub(super) fn fit(features: &Features, set: &ForeignSet) -> Vec<Wrong> {
    let mut wrong = paths(features);
    for environment in asked(features, set) {
        wrong.extend(shared(features, set, environment).filter(|w| !wrong.contains(w)));
        let Some(tool) = environment.action.strip_prefix(features.typed.as_str()) else { continue };
        wrong.extend(features.input.get(tool).into_iter().flat_map(|inputs| typed(set, environment, tool, inputs)));
    }
    wrong
}

/// The requests that calls become.
fn asked<'s>(features: &'s Features, set: &'s ForeignSet) -> impl Iterator<Item = &'s Environment> {
    let principals = |e: &&Environment| e.principal == features.principal && e.resource == features.resource;
    let typed = |e: &&Environment| !features.typed.is_empty() && e.action.starts_with(&features.typed);
    set.parts().environments.iter().filter(principals).filter(move |e| e.action == features.action || typed(e))
}

/// What every request has of the file and of the session is put to the set itself; what a call brings is left open.
fn shared(features: &Features, set: &ForeignSet, environment: &Environment) -> Option<Wrong> {
    let mut context = features.constant.clone();
    context.insert("session".to_owned(), Session::default().features(features, "", &json!({})).into());
    let request = Request {
        principal: &environment.principal,
        action: &environment.action,
        resource: &environment.resource,
        context: &context,
        unknown: &["tool", "arguments", "input"],
    };
    let Some(Denial::Mismatch(path)) = decide(set, &request).denial else { return None };
    let members = &set.parts().contexts.get(usize::from(environment.context))?.members;
    let action = environment.action.clone();
    if path == "session" || path.starts_with("session.") {
        let misfit = Misfit::Session { action, path: path.to_owned() };
        return Some(Wrong { at: vec!["action".to_owned()], misfit });
    }
    let at: Vec<String> = std::iter::once("constant").chain(path.split('.')).map(str::to_owned).collect();
    let at = if path.is_empty() { vec!["constant".to_owned()] } else { at };
    let member = members.iter().find(|m| m.path == path);
    let value = inside(&context, path);
    let misfit = match (member, value) {
        (Some(member), None) if !path.is_empty() => {
            Misfit::Lacking { what: "constant".to_owned(), member: path.to_owned(), kind: named(&member.kind), action }
        }
        (Some(Member { kind: Type::Record, .. }), Some(Value::Object(_))) | (None, _) => {
            let own = |m: &&Member| {
                m.parent.and_then(|p| members.get(usize::from(p))).map_or("", |p| p.path.as_str()) == path
            };
            Misfit::Beyond { what: at.join("."), known: listed(members.iter().filter(own).map(|m| &m.name)), action }
        }
        (Some(member), value) => Misfit::Type {
            what: at.join("."),
            value: value.map(ToString::to_string).unwrap_or_default(),
            kind: named(&member.kind),
        },
    };
    Some(Wrong { at, misfit })
}

/// The typed members of one tool.
fn typed(set: &ForeignSet, environment: &Environment, tool: &str, inputs: &BTreeMap<String, Input>) -> Vec<Wrong> {
    let Some(context) = set.parts().contexts.get(usize::from(environment.context)) else { return Vec::new() };
    let key = |name: &str| ["input", tool, name].map(str::to_owned).to_vec();
    let mut wrong = Vec::new();
    for (name, member) in members(context) {
        let what = format!("input.{tool}.{name}");
        let (value, kind) = match inputs.get(name) {
            None if member.required => {
                let (what, action) = (format!("input.{tool}"), environment.action.clone());
                let misfit = Misfit::Lacking { what, member: name.to_owned(), kind: named(&member.kind), action };
                wrong.push(Wrong { at: vec!["input".to_owned(), tool.to_owned()], misfit });
                continue;
            }
            None | Some(Input::At { otherwise: None, .. }) => continue,
            Some(Input::At { otherwise: Some(value), .. }) if !member.kind.admits(value) => {
                (value.to_string(), named(&member.kind))
            }
            Some(Input::At { .. }) => continue,
            Some(_) if member.kind == Type::Bool => continue,
            Some(_) => ("a truth value".to_owned(), named(&member.kind)),
        };
        wrong.push(Wrong { at: key(name), misfit: Misfit::Type { what, value, kind } });
    }
    wrong
}

/// The members of `input`, by name.
fn members(context: &Context) -> impl Iterator<Item = (&str, &Member)> {
    let named = |m: &'_ Member| m.path.strip_prefix("input.").is_some_and(|name| !name.contains('.'));
    context.members.iter().filter(move |m| named(m) && m.kind != Type::Undeclared).map(|m| (m.name.as_str(), m))
}

/// Paths that nothing can have.
fn paths(features: &Features) -> Vec<Wrong> {
    let broken = |path: &str| path.split('.').any(|step| step.trim().is_empty() || step.trim() != step);
    let listed = features.paths.all().into_iter().flat_map(|(key, paths)| {
        paths.iter().enumerate().map(move |(ix, path)| (vec!["paths".to_owned(), key.to_owned(), ix.to_string()], path))
    });
    let inputs = features.input.iter().flat_map(|(tool, inputs)| {
        inputs.iter().map(move |(name, input)| (["input", tool, name].map(str::to_owned).to_vec(), input.path()))
    });
    let wrong = listed.chain(inputs).filter(|(_, path)| broken(path));
    wrong.map(|(at, path)| Wrong { at, misfit: Misfit::Path(path.clone()) }).collect()
}

/// What the recorded calls say of the paths: those that lead to nothing, or to what the schema does not take.
pub(super) fn against(features: &Features, set: &ForeignSet, runs: &[Run]) -> (Vec<Wrong>, Vec<Wrong>) {
    let calls: Vec<(&str, Value)> = runs
        .iter()
        .flat_map(|run| &run.messages)
        .flat_map(|message| &message.tool_calls)
        .filter_map(|call| Some((call.tool.as_str(), serde_json::from_str(&call.arguments).ok()?)))
        .collect();
    let (mut wrong, mut idle) = (Vec::new(), Vec::new());
    if calls.is_empty() {
        return (wrong, idle);
    }
    for (key, paths) in features.paths.all() {
        let values: Vec<Value> =
            calls.iter().flat_map(|(_, a)| paths.iter().filter_map(|path| found(a, path))).collect();
        let at = vec!["paths".to_owned(), key.to_owned()];
        if values.is_empty() && !paths.is_empty() {
            idle.push(Wrong { at, misfit: Misfit::Nowhere { what: format!("paths.{key}"), tool: String::new() } });
        } else if ["patient", "date"].contains(&key) && !values.is_empty() && !values.iter().any(Value::is_string) {
            let value = values.first().map(ToString::to_string).unwrap_or_default();
            wrong.push(Wrong { at, misfit: Misfit::Found { what: format!("paths.{key}"), value, kind: "a text" } });
        }
    }
    for environment in asked(features, set) {
        let Some(tool) = environment.action.strip_prefix(features.typed.as_str()) else { continue };
        let own: Vec<&Value> = calls.iter().filter(|(called, _)| *called == tool).map(|(_, a)| a).collect();
        let context = set.parts().contexts.get(usize::from(environment.context));
        let (Some(context), false) = (context, own.is_empty()) else { continue };
        for (name, member) in members(context) {
            let at = ["input", tool, name].map(str::to_owned).to_vec();
            let what = format!("input.{tool}.{name}");
            let Some(input) = features.input.get(tool).and_then(|inputs| inputs.get(name)) else {
                if member.required && !features.input.contains_key(tool) {
                    let action = environment.action.clone();
                    let (what, kind) = (format!("input.{tool}"), named(&member.kind));
                    let misfit = Misfit::Lacking { what, member: name.to_owned(), kind, action };
                    wrong.push(Wrong { at: vec!["input".to_owned()], misfit });
                }
                continue;
            };
            let values: Vec<Value> = own.iter().filter_map(|arguments| found(arguments, input.path())).collect();
            let bare = matches!(input, Input::At { otherwise: None, .. });
            if values.is_empty() && bare && member.required {
                wrong.push(Wrong { at, misfit: Misfit::Nowhere { what, tool: tool.to_owned() } });
            } else if matches!(input, Input::At { .. })
                && !values.is_empty()
                && !values.iter().any(|v| member.kind.admits(v))
            {
                let value = values.first().map(ToString::to_string).unwrap_or_default();
                wrong.push(Wrong { at, misfit: Misfit::Found { what, value, kind: named(&member.kind) } });
            }
        }
        // An argument that may be left out may be left out by all; a tool of which nothing is found is another one.
        let paths = features.input.get(tool).into_iter().flatten().map(|(_, input)| input.path());
        let leads = |path: &String| own.iter().any(|arguments| found(arguments, path).is_some());
        if features.input.get(tool).is_some_and(|inputs| !inputs.is_empty()) && !paths.clone().any(leads) {
            let misfit = Misfit::Nowhere { what: format!("input.{tool}"), tool: tool.to_owned() };
            idle.push(Wrong { at: vec!["input".to_owned(), tool.to_owned()], misfit });
        }
    }
    (wrong, idle)
}

/// The value of a dotted path of constants.
fn inside<'v>(context: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    let mut steps = path.split('.');
    let first = context.get(steps.next()?)?;
    steps.try_fold(first, |at, step| at.get(step))
}

/// A type in words.
fn named(kind: &Type) -> &'static str {
    match kind {
        Type::Bool => "a truth value",
        Type::Long => "a whole number",
        Type::Text => "a text",
        Type::Set(_) => "a list",
        Type::Record | Type::AnyRecord => "a table",
        Type::Entity(_) => "a reference `{ type = \"…\", id = \"…\" }` to an entity of its type",
        Type::Extension(_) => "the text of an extension value",
        Type::Undeclared => "nothing",
    }
}
