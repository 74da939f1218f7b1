//! One decision: Cedar's own answer, and the fail-closed overlay on top of it.

use std::fmt;

use serde_json::{Map, Value};

use super::bind::Bound;
use super::set::{Environment, ForeignSet, RULES};
use crate::policy::eval::Evaluator;
use crate::policy::{Truth, Val};

const WORDS: usize = RULES.div_ceil(64);

/// A set of rules, by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RuleSet([u64; WORDS]);

impl RuleSet {
    fn insert(&mut self, rule: u16) {
        if let Some(word) = self.0.get_mut(usize::from(rule / 64)) {
            *word |= 1 << (rule % 64);
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The first of its rules.
    pub fn first(&self) -> Option<u16> {
        let mut words = self.0.iter().zip((0_u16..).step_by(64));
        words.find_map(|(word, base)| {
            // At most 63 zeros stand before a one.
            (*word != 0).then(|| base + word.trailing_zeros() as u16)
        })
    }

    /// Its rules, in the order of the set.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        let words = self.0.iter().zip((0_u16..).step_by(64));
        words.flat_map(|(word, base)| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| base + bit))
    }
}

/// What is asked: may this principal do this with this resource?
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Type of the principal.
    pub principal: &'a str,
    /// The action, without its type: `PreToolUse`, `ToolCall::post_observation`.
    pub action: &'a str,
    /// Type of the resource.
    pub resource: &'a str,
    /// The context, in Cedar's JSON form.
    pub context: &'a Map<String, Value>,
    /// Dotted paths of members that are not known, with everything beneath them; empty where
    /// everything is.
    pub unknown: &'a [&'a str],
}

/// Cedar's own answer, without the overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Whether Cedar allows it: a permit and no determining forbid. Cedar skips a forbid that fails.
    pub allow: bool,
    /// Forbids that hold.
    pub determining: RuleSet,
    /// Forbids that cannot be evaluated.
    pub failing: RuleSet,
    /// Forbids that depend on something unknown; Cedar's answer is open where there is one and
    /// none is determining.
    pub undecided: RuleSet,
}

/// Why the overlay denies. The first that applies, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial<'p> {
    /// The schema has no such action.
    UnknownAction,
    /// The schema has the action, not for this principal and resource.
    NotApplicable,
    /// A member of the context is not as the schema declares it: missing, of another type, or a
    /// record with members beyond the declared ones.
    Mismatch(&'p str),
    /// A rule reads the session and there is none.
    NoSession(u16),
    /// A rule cannot be evaluated.
    Failing(u16),
    /// A rule forbids it.
    Forbidden(u16),
    /// A rule depends on something unknown.
    Undecided(u16),
    /// No permit.
    NotPermitted,
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision<'p> {
    /// Cedar's own answer; none where the schema does not have the request.
    pub answer: Option<Answer>,
    /// Why it is denied; none: it is allowed.
    pub denial: Option<Denial<'p>>,
}

impl Decision<'_> {
    /// Whether it may be done.
    pub fn allowed(&self) -> bool {
        self.denial.is_none()
    }
}

impl Denial<'_> {
    /// Name of the kind, for reports.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UnknownAction => "unknown-action",
            Self::NotApplicable => "not-applicable",
            Self::Mismatch(_) => "schema-mismatch",
            Self::NoSession(_) => "no-session",
            Self::Failing(_) => "evaluation-error",
            Self::Forbidden(_) => "forbidden",
            Self::Undecided(_) => "undecided",
            Self::NotPermitted => "not-permitted",
        }
    }

    /// In words, with the rule's name and sentence.
    pub fn explain<'d>(&'d self, set: &'d ForeignSet) -> impl fmt::Display + 'd {
        Explained { denial: self, set }
    }
}

struct Explained<'d> {
    denial: &'d Denial<'d>,
    set: &'d ForeignSet,
}

impl fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = |at: u16| self.set.rule(at).map_or("?", |rule| rule.id.as_str());
        match *self.denial {
            Denial::UnknownAction => f.write_str("the schema has no such action"),
            Denial::NotApplicable => f.write_str("the schema has no such action for this principal and resource"),
            Denial::Mismatch("") => f.write_str("the context is not as the schema declares it"),
            Denial::Mismatch(path) => write!(f, "`context.{path}` is not as the schema declares it"),
            Denial::NoSession(rule) => write!(f, "there is no session, and rule `{}` reads it", id(rule)),
            Denial::Failing(rule) => write!(f, "rule `{}` cannot be evaluated", id(rule)),
            Denial::Forbidden(rule) => {
                let sentence = self.set.rule(rule).map_or("", |rule| &rule.sentence);
                write!(f, "rule `{}` forbids it: {sentence}", id(rule))
            }
            Denial::Undecided(rule) => write!(f, "rule `{}` depends on something that is not known", id(rule)),
            Denial::NotPermitted => f.write_str("nothing permits it"),
        }
    }
}

/// Decides a request. Never allocates.
pub fn decide<'p>(set: &'p ForeignSet, request: &Request<'p>) -> Decision<'p> {
    let Some(environment) = environment(set, request) else {
        let denial = if set.has_action(request.action) { Denial::NotApplicable } else { Denial::UnknownAction };
        return Decision { answer: None, denial: Some(denial) };
    };
    let at = usize::from(environment.context);
    let (Some(context), Some(slots)) = (set.parts.contexts.get(at), set.slots.get(at)) else {
        return Decision { answer: None, denial: Some(Denial::UnknownAction) }; // excluded when the set was loaded
    };
    let bound = Bound::new(context, slots, request.context, request.unknown);
    let answer = answer(set, environment, &bound);
    let session = environment.session.filter(|(_, member)| matches!(bound.at(*member), Val::Absent | Val::Error));
    let denial = bound
        .mismatch
        .map(Denial::Mismatch)
        .or(session.map(|(rule, _)| Denial::NoSession(rule)))
        .or(answer.failing.first().map(Denial::Failing))
        .or(answer.determining.first().map(Denial::Forbidden))
        .or(answer.undecided.first().map(Denial::Undecided))
        .or((!answer.allow).then_some(Denial::NotPermitted));
    Decision { answer: Some(answer), denial }
}

fn environment<'p>(set: &'p ForeignSet, request: &Request<'_>) -> Option<&'p Environment> {
    set.parts.environments.iter().find(|environment| {
        environment.action == request.action
            && environment.principal == request.principal
            && environment.resource == request.resource
    })
}

fn answer(set: &ForeignSet, environment: &Environment, bound: &Bound<'_>) -> Answer {
    let none = RuleSet::default();
    let mut answer = Answer { allow: false, determining: none, failing: none, undecided: none };
    let mut evaluator = Evaluator::new(&set.parts.tables, bound);
    for (rule, program) in &environment.rules {
        let program = set.parts.programs.get(usize::from(*program));
        match program.map_or(Truth::Error, |program| evaluator.run(program)) {
            Truth::True => answer.determining.insert(*rule),
            Truth::Error => answer.failing.insert(*rule),
            Truth::Unknown => answer.undecided.insert(*rule),
            Truth::False => {}
        }
    }
    answer.allow = !set.parts.permits.is_empty() && answer.determining.is_empty();
    answer
}
