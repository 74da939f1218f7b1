//! How one rule stands to another: whether both deny the same calls.
//!
//! [`Enumeration`] tries states: it finds differences and, where it tried every combination of the values
//! that the two conditions can tell apart, their absence. [`Proof`] asks the solver about all values that real
//! calls and states have, and enumerates where the solver cannot tell.

mod proof;
mod quality;
mod states;

use std::collections::BTreeSet;

use serde::Serialize;

pub(super) use proof::{Proof, Text};
pub use quality::{Held, Quality, quality};

use super::critic::Stated;
use super::ground::Ground;
use crate::policy::{CallTemplate, Rule, Tables, Trigger, Truth, Vocabulary, evaluate};
use crate::tools::ToolIx;
use states::{STATES, State, States};

/// How the first rule stands to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// Both deny the same.
    Equivalent,
    /// It denies all that the other does, and more.
    Broader,
    /// It denies less.
    Narrower,
    /// Each denies something that the other lets pass.
    Different,
}

impl Relation {
    fn of(more: bool, less: bool) -> Self {
        match (more, less) {
            (false, false) => Self::Equivalent,
            (true, false) => Self::Broader,
            (false, true) => Self::Narrower,
            (true, true) => Self::Different,
        }
    }

    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equivalent => "equivalent",
            Self::Broader => "broader",
            Self::Narrower => "narrower",
            Self::Different => "different",
        }
    }
}

/// How a rule stands to the one that was written by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// Both are executable.
    Compared(Comparison),
    /// The hand-written rule is executable and there is none that is.
    Missing,
    /// Both only advise.
    BothAdvise,
    /// There is no hand-written rule of this identifier, or for this sentence.
    NoCounterpart,
}

impl Against {
    /// The name in reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Compared(found) => found.relation.as_str(),
            Self::Missing => "missing",
            Self::BothAdvise => "both-advise",
            Self::NoCounterpart => "no-counterpart",
        }
    }
}

/// A rule with the tables of its programs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// Its tables.
    pub tables: &'a Tables,
    /// Its Cedar, for the solver.
    pub stated: Option<&'a Stated>,
}

/// What a comparison found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// How the first rule stands to the second.
    pub relation: Relation,
    /// A call and a state that only the first one denies.
    pub only_first: Option<String>,
    /// A call and a state that only the second one denies.
    pub only_second: Option<String>,
    /// States that were tried.
    pub states: usize,
    /// Whether these were all that the conditions can tell apart.
    pub exhaustive: bool,
    /// Whether the solver proved it for all calls and states.
    pub proved: bool,
}

impl Comparison {
    /// What it rests on, in words.
    pub fn ground(&self) -> String {
        match (self.proved, self.exhaustive) {
            (true, _) => "proved by the solver".to_owned(),
            (false, true) => format!("all {} states tried", self.states),
            (false, false) => format!("{} states drawn", self.states),
        }
    }
}

/// Compares two rules' remedies: the order of arguments means nothing.
pub(super) fn other_remedy(rule: &Rule, hand: &Rule) -> bool {
    let calls = |rule: &Rule| {
        let mut calls: Vec<CallTemplate> = rule.remedy.clone();
        calls.iter_mut().for_each(|call| call.arguments.sort_by(|(a, _), (b, _)| a.cmp(b)));
        calls
    };
    calls(rule) != calls(hand)
}

/// Compares rules.
pub(super) trait Compare {
    /// How the first rule stands to the second.
    fn compare(&self, first: Side<'_>, second: Side<'_>) -> Comparison;
}

/// Compares by trying states.
pub(super) struct Enumeration<'a> {
    /// What both rules stand on.
    pub(super) ground: &'a Ground,
}

impl Compare for Enumeration<'_> {
    fn compare(&self, first: Side<'_>, second: Side<'_>) -> Comparison {
        let mut found = Comparison {
            relation: Relation::Equivalent,
            only_first: None,
            only_second: None,
            states: 0,
            exhaustive: true,
            proved: false,
        };
        let actions: BTreeSet<Option<ToolIx>> = [first, second].iter().flat_map(|side| actions(side.rule)).collect();
        for action in actions {
            let programs = [(&first.rule.when, first.tables), (&second.rule.when, second.tables)];
            let states = States::of(self.ground, action, &programs);
            found.exhaustive &= states.total() <= STATES;
            for state in states.all() {
                found.states += 1;
                let denies = |side: Side<'_>| denies(side, action, &states, &state);
                let case = match (denies(first), denies(second)) {
                    (true, false) => &mut found.only_first,
                    (false, true) => &mut found.only_second,
                    _ => continue,
                };
                if case.is_none() {
                    *case = Some(self.told(first, action, &states, &state));
                }
            }
        }
        found.relation = Relation::of(found.only_first.is_some(), found.only_second.is_some());
        found
    }
}

impl Enumeration<'_> {
    fn told(&self, side: Side<'_>, action: Option<ToolIx>, states: &States<'_>, state: &State) -> String {
        let Ground { inventory, model, derived, .. } = self.ground;
        let words = Vocabulary { tables: side.tables, model, derived, inventory };
        let name = action.and_then(|ix| inventory.at(ix)).map_or("reply", |tool| tool.name.as_str());
        format!("{name} with {}", states.describe(&words, state))
    }
}

/// Tools that trigger a rule; none for replies.
fn actions(rule: &Rule) -> Vec<Option<ToolIx>> {
    match &rule.trigger {
        Trigger::Calls(tools) => tools.iter().copied().map(Some).collect(),
        Trigger::Reply => vec![None],
    }
}

/// Fails closed: what cannot be evaluated is denied.
fn denies(side: Side<'_>, action: Option<ToolIx>, states: &States<'_>, state: &State) -> bool {
    actions(side.rule).contains(&action)
        && matches!(
            evaluate(&side.rule.when, side.tables, &states.view(state, side.tables)),
            Truth::True | Truth::Error
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::testing::{VEHICLE, compiled, prohibition, set};

    fn compared(first: (&str, &str), second: (&str, &str)) -> Comparison {
        let ground = crate::compile::ground(&set(VEHICLE, "")).unwrap();
        let parts = |(tool, when): (&str, &str)| compiled(&prohibition(tool, "Car", when)).parts;
        let (a, b) = (parts(first), parts(second));
        let side = |p: &'static crate::policy::PolicyParts| Side { rule: &p.rules[0], tables: &p.tables, stated: None };
        let (a, b) = (Box::leak(Box::new(a)), Box::leak(Box::new(b)));
        Enumeration { ground: &ground }.compare(side(a), side(b))
    }

    #[test]
    fn rules_that_say_the_same_in_other_words_are_equivalent() {
        let found = compared(
            ("set_fan", "context.input.on && !(resource.warmth <= 250)"),
            ("set_fan", "resource.warmth > 250 && context.input.on"),
        );
        assert_eq!((found.relation, found.exhaustive), (Relation::Equivalent, true));
    }

    #[test]
    fn what_is_broader_or_narrower_is_shown_by_a_case_in_natural_units() {
        let found =
            compared(("set_fan", "resource.warmth > 250"), ("set_fan", "context.input.on && resource.warmth > 250"));
        assert_eq!(found.relation, Relation::Broader);
        let case = found.only_first.unwrap();
        assert!(case.starts_with("set_fan with ") && case.contains("context.input.on = false"), "{case}");
        assert!(case.contains("context.car.warmth = 25.1"), "{case}");
        let edge = compared(("set_fan", "resource.warmth > 250"), ("set_fan", "resource.warmth >= 250"));
        assert_eq!(edge.relation, Relation::Narrower);
        let other = compared(("set_fan", "context.input.on"), ("set_vent", "context.input.opening > 0"));
        assert_eq!(other.relation, Relation::Different);
    }

    #[test]
    fn parts_lists_and_what_a_call_leaves_out_are_tried() {
        let found = compared(
            ("set_fan", "resource.flow.contains(\"ROOF\")"),
            ("set_fan", "resource.flow.contains(\"ROOF\") && context.input has flow"),
        );
        assert!(found.only_first.unwrap().contains("context.input.flow left out"));
    }
}
