//! Whether a features file fits the set and the recordings: a name that nothing has changes figures without a word.

use std::collections::BTreeSet;

use toml::de::{DeTable, DeValue};

use super::features::{Features, minutes};
use super::types;
use crate::policy::foreign::{Environment, ForeignSet};
use crate::state::Literal;

/// What does not fit.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Misfit {
    /// A name that the schema does not have.
    #[error("`{what}` is `{name}`, which the schema does not have; it has {known}")]
    Unknown {
        /// The key of the features file.
        what: String,
        /// The name.
        name: String,
        /// What there is.
        known: String,
    },
    /// Principal and resource that the schema does not admit to the action.
    #[error(
        "the schema does not let `principal` {principal} ask `action` {action} about `resource` {resource}; it has {known}"
    )]
    NotAsked {
        /// Type of the principal.
        principal: String,
        /// The action.
        action: String,
        /// Type of the resource.
        resource: String,
        /// What there is.
        known: String,
    },
    /// A clock that cannot be read.
    #[error("`now` is `{0}`, which is no RFC 3339 time; write it as `2026-11-30T08:15:00Z`")]
    Now(String),
    /// A phrase that no text has, or every text.
    #[error("`phrases.{key}` has `{phrase}`, which {why}")]
    Phrase {
        /// The key.
        key: &'static str,
        /// The phrase.
        phrase: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A window that nothing lies in.
    #[error("`window_minutes` is {0}; write how many minutes around `now` count as now, 0 or more")]
    Window(i64),
    /// A value of another type than the schema declares.
    #[error("`{what}` is {value}, and the schema takes {kind} there; correct it, or every such call is denied")]
    Type {
        /// The key of the features file.
        what: String,
        /// What it is.
        value: String,
        /// What it should be.
        kind: &'static str,
    },
    /// A member that the schema demands.
    #[error("`{what}` has no `{member}`, which `{action}` demands ({kind}); add it, or every such call is denied")]
    Lacking {
        /// The table of the features file.
        what: String,
        /// The member.
        member: String,
        /// What it should be.
        kind: &'static str,
        /// The action.
        action: String,
    },
    /// A record with members beyond the declared ones.
    #[error("`{what}` has more than `{action}` takes; it has {known}: take the rest out, or every such call is denied")]
    Beyond {
        /// The table of the features file.
        what: String,
        /// What there is.
        known: String,
        /// The action.
        action: String,
    },
    /// A schema whose session is another one.
    #[error(
        "the schema declares `context.{path}` of `{action}` otherwise than the session features are (paper 2, A.2), so that every call is denied; declare them all in the schema, those that are not read as optional"
    )]
    Session {
        /// The action.
        action: String,
        /// The member.
        path: String,
    },
    /// A path with an empty step.
    #[error("`{0}` is no path into arguments; write names and positions with dots between them: `order.items.0.code`")]
    Path(String),
    /// A path that leads to nothing.
    #[error("`{what}` leads to nothing in any recorded call{}; correct the path", of(.tool))]
    Nowhere {
        /// The key of the features file.
        what: String,
        /// The tool; empty: any.
        tool: String,
    },
    /// A path that leads to something else.
    #[error("`{what}` leads to {value} in the recorded calls, and {kind} is wanted there; correct the path")]
    Found {
        /// The key of the features file.
        what: String,
        /// What stands there.
        value: String,
        /// What should.
        kind: &'static str,
    },
    /// A tool that nothing has.
    #[error("`{key}` names `{tool}`, which neither the schema nor a rule nor a recorded call has; correct it")]
    Idle {
        /// The key.
        key: &'static str,
        /// The tool.
        tool: String,
    },
}

fn of(tool: &str) -> String {
    if tool.is_empty() { String::new() } else { format!(" of `{tool}`") }
}

/// What does not fit, and where in the file it stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// Keys from the root, positions in lists.
    pub(super) at: Vec<String>,
    pub(super) misfit: Misfit,
}

impl Wrong {
    /// The line, counted from 1, of its key, else of the table that should have it.
    pub(super) fn line(&self, text: &str) -> usize {
        let Ok(root) = DeTable::parse(text) else { return 1 };
        let mut start = 0;
        let mut at = DeValue::Table(root.into_inner());
        for key in &self.at {
            let next = match &at {
                DeValue::Table(table) => {
                    let found = table.iter().find(|(name, _)| &**name.get_ref() == key.as_str());
                    found.map(|(name, value)| (name.span().start, value.get_ref().clone()))
                }
                DeValue::Array(items) => {
                    let found = key.parse::<usize>().ok().and_then(|ix| items.get(ix));
                    found.map(|item| (item.span().start, item.get_ref().clone()))
                }
                _ => None,
            };
            let Some((found, value)) = next else { break };
            (start, at) = (found, value);
        }
        text.bytes().take(start).filter(|b| *b == b'\n').count() + 1
    }
}

/// Holds names and values of the file against the schema.
pub(super) fn fit(features: &Features, set: &ForeignSet) -> Vec<Wrong> {
    match names(features, set) {
        Err(misfit) => vec![misfit],
        Ok(()) => types::fit(features, set),
    }
}

/// Holds every name of the file against the schema.
fn names(features: &Features, set: &ForeignSet) -> Result<(), Wrong> {
    let at = |keys: &[&str], misfit| Wrong { at: keys.iter().map(|k| (*k).to_owned()).collect(), misfit };
    let environments = &set.parts().environments;
    let names = |of: fn(&Environment) -> &str| listed(environments.iter().map(of));
    let unknown =
        |what: &str, name: &str, known: String| Misfit::Unknown { what: what.to_owned(), name: name.to_owned(), known };
    if !set.has_action(&features.action) {
        return Err(at(&["action"], unknown("action", &features.action, names(|e| &e.action))));
    }
    let asked: Vec<&Environment> = environments.iter().filter(|e| e.action == features.action).collect();
    let fits = |e: &&&Environment| e.principal == features.principal && e.resource == features.resource;
    let Some(asked) = asked.iter().find(fits) else {
        let misfit = Misfit::NotAsked {
            principal: features.principal.clone(),
            action: features.action.clone(),
            resource: features.resource.clone(),
            known: listed(asked.iter().map(|e| format!("{} about {}", e.principal, e.resource))),
        };
        return Err(at(&["principal"], misfit));
    };
    if minutes(&features.now).is_none() {
        return Err(at(&["now"], Misfit::Now(features.now.clone())));
    }
    if features.window_minutes < 0 {
        return Err(at(&["window_minutes"], Misfit::Window(features.window_minutes)));
    }
    for (key, phrases) in features.phrases.all() {
        for (ix, phrase) in phrases.iter().enumerate() {
            let wrong = if phrase.is_empty() {
                Some("every text has; take it out")
            } else if *phrase != phrase.to_lowercase() {
                Some("no text can have, because texts are read in lower case; write it so")
            } else {
                None
            };
            if let Some(why) = wrong {
                return Err(at(
                    &["phrases", key, &ix.to_string()],
                    Misfit::Phrase { key, phrase: phrase.clone(), why },
                ));
            }
        }
    }
    for name in features.constant.keys() {
        if !members(set, asked).any(|path| path == name) {
            let known = listed(members(set, asked).filter(|p| !p.contains('.')));
            return Err(at(&["constant", name], unknown(&format!("constant.{name}"), name, known)));
        }
    }
    let typed = |e: &&Environment| e.action.starts_with(&features.typed);
    if !features.input.is_empty() && !environments.iter().any(|e| typed(&e)) {
        return Err(at(&["typed"], unknown("typed", &features.typed, names(|e| &e.action))));
    }
    for (tool, inputs) in &features.input {
        let action = format!("{}{tool}", features.typed);
        let Some(environment) = environments.iter().find(|e| e.action == action) else {
            let known = listed(environments.iter().filter(typed).map(|e| &e.action));
            return Err(at(&["input", tool], unknown(&format!("input.{tool}"), &action, known)));
        };
        for name in inputs.keys() {
            let inside = || members(set, environment).filter_map(|path| path.strip_prefix("input."));
            if !inside().any(|member| member == name) {
                let misfit = unknown(&format!("input.{tool}.{name}"), name, listed(inside()));
                return Err(at(&["input", tool, name], misfit));
            }
        }
    }
    Ok(())
}

/// The tools of the file that neither the schema nor a rule nor any recorded call has.
pub(super) fn idle(features: &Features, set: &ForeignSet, called: &BTreeSet<String>) -> Vec<Wrong> {
    let lists = [("writes", &features.writes), ("search", &features.search)];
    let named =
        lists.into_iter().flat_map(|(key, tools)| tools.iter().enumerate().map(move |(ix, tool)| (key, ix, tool)));
    let tables = &set.parts().tables;
    let constants = || tables.constants.iter().chain(tables.sets.iter().flatten());
    let ruled = |tool: &str| constants().any(|constant| matches!(constant, Literal::Text(word) if word == tool));
    let known =
        |tool: &str| called.contains(tool) || set.has_action(&format!("{}{tool}", features.typed)) || ruled(tool);
    let idle = named.filter(|(.., tool)| !known(tool));
    idle.map(|(key, ix, tool)| Wrong {
        at: vec![key.to_owned(), ix.to_string()],
        misfit: Misfit::Idle { key, tool: tool.clone() },
    })
    .collect()
}

/// Whether any call is one that the file or the schema knows of: recordings of another system have none.
pub(super) fn belongs(features: &Features, set: &ForeignSet, called: &BTreeSet<String>) -> bool {
    let known = |tool: &String| {
        features.writes.contains(tool)
            || features.search.contains(tool)
            || set.has_action(&format!("{}{tool}", features.typed))
    };
    called.is_empty() || called.iter().any(known)
}

/// Paths of the members of an environment's context.
fn members<'s>(set: &'s ForeignSet, environment: &Environment) -> impl Iterator<Item = &'s str> {
    let context = set.parts().contexts.get(usize::from(environment.context));
    context.into_iter().flat_map(|context| context.members.iter().map(|member| member.path.as_str()))
}

/// Each name once, in order.
pub(super) fn listed(names: impl Iterator<Item = impl AsRef<str>>) -> String {
    let names: BTreeSet<String> = names.map(|name| format!("`{}`", name.as_ref())).collect();
    if names.is_empty() { "none".to_owned() } else { names.into_iter().collect::<Vec<_>>().join(", ") }
}
