//! Whether a features file fits the set and the recordings: a name that nothing has changes figures without a word.

use std::collections::BTreeSet;

use super::features::{Features, minutes};
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
}

/// Holds every name of the file against the schema.
pub(super) fn fit(features: &Features, set: &ForeignSet) -> Result<(), Misfit> {
    let environments = &set.parts().environments;
    let names = |of: fn(&Environment) -> &str| listed(environments.iter().map(of));
    let unknown =
        |what: &str, name: &str, known: String| Misfit::Unknown { what: what.to_owned(), name: name.to_owned(), known };
    if !set.has_action(&features.action) {
        return Err(unknown("action", &features.action, names(|e| &e.action)));
    }
    let asked: Vec<&Environment> = environments.iter().filter(|e| e.action == features.action).collect();
    let fits = |e: &&&Environment| e.principal == features.principal && e.resource == features.resource;
    let Some(asked) = asked.iter().find(fits) else {
        return Err(Misfit::NotAsked {
            principal: features.principal.clone(),
            action: features.action.clone(),
            resource: features.resource.clone(),
            known: listed(asked.iter().map(|e| format!("{} about {}", e.principal, e.resource))),
        });
    };
    if minutes(&features.now).is_none() {
        return Err(Misfit::Now(features.now.clone()));
    }
    if features.window_minutes < 0 {
        return Err(Misfit::Window(features.window_minutes));
    }
    for (key, phrases) in features.phrases.all() {
        for phrase in phrases {
            let wrong = if phrase.is_empty() {
                Some("every text has; take it out")
            } else if *phrase != phrase.to_lowercase() {
                Some("no text can have, because texts are read in lower case; write it so")
            } else {
                None
            };
            if let Some(why) = wrong {
                return Err(Misfit::Phrase { key, phrase: phrase.clone(), why });
            }
        }
    }
    for name in features.constant.keys() {
        if !members(set, asked).any(|path| path == name) {
            return Err(unknown(
                &format!("constant.{name}"),
                name,
                listed(members(set, asked).filter(|p| !p.contains('.'))),
            ));
        }
    }
    let typed = |e: &&Environment| e.action.starts_with(&features.typed);
    if !features.input.is_empty() && !environments.iter().any(|e| typed(&e)) {
        return Err(unknown("typed", &features.typed, names(|e| &e.action)));
    }
    for (tool, inputs) in &features.input {
        let action = format!("{}{tool}", features.typed);
        let Some(environment) = environments.iter().find(|e| e.action == action) else {
            return Err(unknown(
                &format!("input.{tool}"),
                &action,
                listed(environments.iter().filter(typed).map(|e| &e.action)),
            ));
        };
        for name in inputs.keys() {
            let inside = || members(set, environment).filter_map(|path| path.strip_prefix("input."));
            if !inside().any(|member| member == name) {
                return Err(unknown(&format!("input.{tool}.{name}"), name, listed(inside())));
            }
        }
    }
    Ok(())
}

/// The tools of the file that neither the schema nor a rule nor any recorded call has, each with its key.
pub(super) fn idle(features: &Features, set: &ForeignSet, called: &BTreeSet<String>) -> Vec<String> {
    let lists = [("writes", &features.writes), ("search", &features.search)];
    let named = lists.into_iter().flat_map(|(key, tools)| tools.iter().map(move |tool| (key, tool)));
    let tables = &set.parts().tables;
    let constants = || tables.constants.iter().chain(tables.sets.iter().flatten());
    let ruled = |tool: &str| constants().any(|constant| matches!(constant, Literal::Text(word) if word == tool));
    let known =
        |tool: &str| called.contains(tool) || set.has_action(&format!("{}{tool}", features.typed)) || ruled(tool);
    named.filter(|(_, tool)| !known(tool)).map(|(key, tool)| format!("`{key}` names `{tool}`")).collect()
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
fn listed(names: impl Iterator<Item = impl AsRef<str>>) -> String {
    let names: BTreeSet<String> = names.map(|name| format!("`{}`", name.as_ref())).collect();
    if names.is_empty() { "none".to_owned() } else { names.into_iter().collect::<Vec<_>>().join(", ") }
}
