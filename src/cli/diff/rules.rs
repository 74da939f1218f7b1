//! What changed in the rules themselves.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::policy::{ArgumentTemplate, CallTemplate, Piece, Policy, Rule, TextTemplate, Trigger};

/// A rule as text, so that two sets can be compared whatever their tables hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Told {
    /// Identifier.
    pub(super) id: String,
    /// The sentence of the policy that it keeps.
    pub(super) sentence: String,
    /// Its condition.
    pub(super) condition: String,
    /// Everything else: what triggers it, what satisfies it.
    pub(super) rest: BTreeMap<&'static str, String>,
}

/// One member of a rule that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Edit {
    /// Which.
    pub(super) what: &'static str,
    /// As it was; empty where it was not there.
    pub(super) old: String,
    /// As it is.
    pub(super) new: String,
}

/// A rule that both sets have, and what is not the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Changed {
    /// The rule as it is.
    pub(super) rule: Told,
    /// What changed.
    pub(super) edits: Vec<Edit>,
}

/// The difference of two sets.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct RuleDiff {
    /// Rules that only the new set has.
    pub(super) added: Vec<Told>,
    /// Rules that only the old set has.
    pub(super) removed: Vec<Told>,
    /// Rules of both that are not the same.
    pub(super) changed: Vec<Changed>,
}

impl RuleDiff {
    /// Compares two sets by the identifiers of their rules.
    pub(super) fn of(old: &Policy, new: &Policy) -> Self {
        let before: BTreeMap<&str, Told> = old.rules().iter().map(|r| (r.id.as_str(), told(old, r))).collect();
        let after: BTreeMap<&str, Told> = new.rules().iter().map(|r| (r.id.as_str(), told(new, r))).collect();
        let missing = |from: &BTreeMap<&str, Told>, of: &BTreeMap<&str, Told>| -> Vec<Told> {
            of.iter().filter(|(id, _)| !from.contains_key(*id)).map(|(_, rule)| rule.clone()).collect()
        };
        let changed = after.iter().filter_map(|(id, rule)| {
            let edits = edits(before.get(id)?, rule);
            (!edits.is_empty()).then(|| Changed { rule: rule.clone(), edits })
        });
        Self { added: missing(&before, &after), removed: missing(&after, &before), changed: changed.collect() }
    }

    /// Whether the sets have the same rules.
    pub(super) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

fn edits(old: &Told, new: &Told) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut compare = |what: &'static str, old: &str, new: &str| {
        if old != new {
            edits.push(Edit { what, old: old.to_owned(), new: new.to_owned() });
        }
    };
    compare("condition", &old.condition, &new.condition);
    compare("sentence", &old.sentence, &new.sentence);
    let names: std::collections::BTreeSet<&&str> = old.rest.keys().chain(new.rest.keys()).collect();
    for name in names {
        let of = |told: &Told| told.rest.get(*name).cloned().unwrap_or_default();
        compare(name, &of(old), &of(new));
    }
    edits
}

fn told(policy: &Policy, rule: &Rule) -> Told {
    let mut rest = BTreeMap::new();
    let mut keep = |what: &'static str, text: String| {
        if !text.is_empty() {
            rest.insert(what, text);
        }
    };
    keep("kind", rule.kind.to_string());
    keep("trigger", trigger(policy, &rule.trigger));
    keep("resource", policy.model.entity(rule.entity).map(|e| e.name.clone()).unwrap_or_default());
    keep("remedy", calls(policy, &rule.remedy));
    keep("read", rule.read.iter().map(|c| call(policy, c)).collect());
    keep("consent", rule.consent.iter().map(|t| text(policy, t)).collect());
    keep("disclose", rule.disclose.iter().map(|t| text(policy, t)).collect());
    keep("said", rule.said.join(" | "));
    keep("on_failure", calls(policy, &rule.on_failure));
    keep("fresh", rule.fresh.map(|age| format!("{age:?}")).unwrap_or_default());
    keep("advise", rule.advise.clone().unwrap_or_default());
    keep("shadow", if rule.shadow { "recorded, does not act".to_owned() } else { String::new() });
    Told {
        id: rule.id.to_string(),
        sentence: rule.sentence.to_string(),
        condition: policy.vocabulary().condition(&rule.when),
        rest,
    }
}

fn trigger(policy: &Policy, trigger: &Trigger) -> String {
    match trigger {
        Trigger::Reply => "reply".to_owned(),
        Trigger::Calls(tools) => {
            let names = tools.iter().filter_map(|t| policy.inventory.at(*t)).map(|t| t.name.to_string());
            names.collect::<Vec<_>>().join(", ")
        }
    }
}

fn calls(policy: &Policy, templates: &[CallTemplate]) -> String {
    templates.iter().map(|c| call(policy, c)).collect::<Vec<_>>().join("; ")
}

fn call(policy: &Policy, template: &CallTemplate) -> String {
    let tool = policy.inventory.at(template.tool).map(|t| t.name.to_string()).unwrap_or_default();
    let argument = |(name, value): &(String, ArgumentTemplate)| {
        let value = match value {
            ArgumentTemplate::Constant(literal) => literal.to_json().to_string(),
            ArgumentTemplate::Resource => "<resource>".to_owned(),
            ArgumentTemplate::Input(path) => format!("<input.{path}>"),
            ArgumentTemplate::Now(field) => format!("<now.{}>", field.name()),
            ArgumentTemplate::Merge { slot, part } => format!("merge(<{}>, {part})", policy.vocabulary().slot(*slot)),
        };
        format!("{name}: {value}")
    };
    format!("{tool}({})", template.arguments.iter().map(argument).collect::<Vec<_>>().join(", "))
}

fn text(policy: &Policy, template: &TextTemplate) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(words) => words.clone(),
        Piece::Resource => "{resource}".to_owned(),
        Piece::Call => "{call}".to_owned(),
        Piece::Slot(slot) => format!("{{{}}}", policy.vocabulary().slot(*slot)),
    };
    template.pieces.iter().map(piece).collect()
}
