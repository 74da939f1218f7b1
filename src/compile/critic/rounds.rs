//! Remedies that never come to rest: the engine's rounds, followed until they repeat themselves.
//!
//! A remedy sets constants, and what it repeats of its trigger stays the same. So when one sequence of remedies has
//! been demanded twice in a row, nothing that it reads has changed between the two, and it is demanded for ever. Only
//! rules that can break each other around a circle come into question; of these every order is tried, each rule when
//! something has touched what it reads since it was satisfied.

use std::collections::BTreeSet;

use super::Case;
use super::course::{Call, Course};
use super::effects::{Remedied, after};
use super::expr::Expr;
use super::logic::Answer;
use super::subject::{Env, Stated, Subject};
use super::witness::Witness;
use crate::policy::{ArgumentTemplate, CallTemplate};
use crate::state::EntityIx;

/// Rounds of remedies after which the engine gives up (design §4).
pub(super) const ROUNDS: usize = 16;
/// A way into a loop, and the loop twice.
const STEPS: usize = 3 * ROUNDS;
/// Most questions for one set. Where rules are in order there are none; loops are found within dozens.
const QUESTIONS: usize = 2000;

/// What was found.
#[derive(Default)]
pub(super) struct Endless {
    /// The rules of each loop, in the order of their file, with a call and a car that begin it.
    pub(super) loops: Vec<(Vec<usize>, Witness)>,
    /// Not every order was tried.
    pub(super) given_up: bool,
}

/// Loops of remedies. `calls`: pairs of rules of which the first can make the second look and find itself broken.
pub(super) fn endless(case: &mut Case<'_>, remedied: &[usize], calls: &BTreeSet<(usize, usize)>) -> Endless {
    let touched = touched(case, remedied);
    let edges: BTreeSet<(usize, usize)> = calls.union(&touched).copied().collect();
    let (any, by_call) = (reachable(remedied, &edges), reachable(remedied, calls));
    let mut rounds = Rounds { case, rules: Vec::new(), path: Vec::new(), found: Endless::default(), left: QUESTIONS };
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    for at in remedied.iter().filter(|at| any.contains(&(**at, **at))) {
        if seen.contains(at) {
            continue;
        }
        let circle: Vec<usize> =
            remedied.iter().copied().filter(|b| any.contains(&(*at, *b)) && any.contains(&(*b, *at))).collect();
        seen.extend(&circle);
        // Rules that bring in the calls on which those of the circle look.
        let brings = |a: &usize| circle.contains(a) || circle.iter().any(|b| by_call.contains(&(*a, *b)));
        rounds.rules = remedied.iter().copied().filter(brings).collect();
        for first in rounds.rules.clone() {
            // A rule of a known loop begins no other: that one is to be mended first.
            if !rounds.found.loops.iter().any(|(known, _)| known.contains(&first)) {
                rounds.begin(first);
            }
        }
    }
    rounds.found
}

/// Pairs of rules of which the first sets what the second reads, so that the second can be broken then.
fn touched(case: &mut Case<'_>, remedied: &[usize]) -> BTreeSet<(usize, usize)> {
    let subject = case.subject;
    let Some(parts) = &subject.parts else { return BTreeSet::new() };
    let entity = |stated: &Stated| stated.rule.as_ref().map(|rule| rule.entity);
    let mut found = BTreeSet::new();
    for (at, one) in remedied.iter().filter_map(|at| Some((*at, subject.rules.get(*at)?))) {
        let calls = Remedied::of(parts, one);
        let repeats =
            calls.iter().flat_map(|c| &c.call.arguments).any(|(_, a)| matches!(a, ArgumentTemplate::Input(_)));
        for (other_at, other) in remedied.iter().filter_map(|at| Some((*at, subject.rules.get(*at)?))) {
            let Some(about) = entity(other).filter(|_| at != other_at) else { continue };
            let changed = if entity(one) == Some(about) {
                after(&other.condition, &calls, about)
            } else {
                calls.iter().rev().fold(other.condition.clone(), |c, call| call.applied_elsewhere(&c, about))
            };
            if changed == other.condition || changed.folded() == Expr::truth(false) {
                continue;
            }
            let possible = |env: &Env| !matches!(case.logic.possible(subject, env, &changed), Answer::Never);
            // What it repeats of its own call cannot be said about the other's.
            if repeats || other.envs.iter().any(possible) {
                found.insert((at, other_at));
            }
        }
    }
    found
}

/// Pairs of which the second can be reached from the first, in one step or more.
fn reachable(all: &[usize], edges: &BTreeSet<(usize, usize)>) -> BTreeSet<(usize, usize)> {
    let mut known = edges.clone();
    for by in all {
        let from: Vec<usize> = all.iter().copied().filter(|a| known.contains(&(*a, *by))).collect();
        let to: Vec<usize> = all.iter().copied().filter(|b| known.contains(&(*by, *b))).collect();
        known.extend(from.iter().flat_map(|a| to.iter().map(|b| (*a, *b))));
    }
    known
}

/// What a course from a rule can be about beside the car: its own items, else those of any rule.
pub(super) fn abouts(subject: &Subject, stated: &Stated, rules: &[usize]) -> Vec<EntityIx> {
    let entity = |stated: &Stated| stated.rule.as_ref().map(|rule| rule.entity).filter(|e| *e != EntityIx::CAR);
    if let Some(own) = entity(stated) {
        return vec![own];
    }
    let all: BTreeSet<EntityIx> = rules.iter().filter_map(|at| entity(subject.rules.get(*at)?)).collect();
    if all.is_empty() { vec![EntityIx::CAR] } else { all.into_iter().collect() }
}

/// One remedy of a course.
#[derive(Clone, PartialEq)]
struct Step {
    rule: usize,
    /// The companion that made the rule look; none: the first call.
    by: Option<CallTemplate>,
    /// How many companions there were after it.
    made: usize,
}

struct Rounds<'c, 'a> {
    case: &'c mut Case<'a>,
    /// Rules that may take part.
    rules: Vec<usize>,
    path: Vec<Step>,
    found: Endless,
    /// Questions that may still be asked.
    left: usize,
}

impl<'a> Rounds<'_, 'a> {
    fn begin(&mut self, first: usize) {
        let subject = self.case.subject;
        let Some(stated) = subject.rules.get(first) else { return };
        for about in abouts(subject, stated, &self.rules) {
            for env in &stated.envs {
                let Some(course) = Course::new(subject, env, about) else { continue };
                self.step(&course, &Expr::truth(true), (first, stated), Call::First);
            }
        }
    }

    /// Lets a rule demand its remedy, where it can, and goes on from there. Whether a new loop was found.
    fn step(&mut self, course: &Course<'a>, so_far: &Expr, (at, stated): (usize, &Stated), call: Call) -> bool {
        let subject = self.case.subject;
        let by = course.template(call).cloned();
        let last = self.path.iter().rev().find(|step| step.rule == at && step.by == by);
        if last.is_some_and(|step| !course.touched_since(stated, step.made)) {
            return false;
        }
        let Some(broken) = course.broken(stated, call).map(|c| c.folded()) else { return false };
        if broken == Expr::truth(false) {
            return false;
        }
        if self.left == 0 {
            self.found.given_up = true;
            return false;
        }
        self.left -= 1;
        let whole = so_far.clone().and(broken).folded();
        let Answer::Possible(witness) = self.case.logic.possible_as_made(subject, &course.env, &whole) else {
            return false;
        };
        let Some(rule) = subject.rules.get(at) else { return false };
        let Some(next) = course.remedied(rule, call) else { return false };
        self.path.push(Step { rule: at, by, made: next.len() });
        let found = match self.lap() {
            Some(members) if self.found.loops.iter().any(|(known, _)| *known == members) => false,
            Some(members) => {
                self.found.loops.push((members, witness));
                true
            }
            None => self.path.len() < STEPS && self.go_on(&next, &whole),
        };
        self.path.pop();
        found
    }

    fn go_on(&mut self, course: &Course<'a>, so_far: &Expr) -> bool {
        let subject = self.case.subject;
        for at in self.rules.clone() {
            let Some(stated) = subject.rules.get(at) else { continue };
            for call in course.triggers(stated) {
                if self.step(course, so_far, (at, stated), call) {
                    return true;
                }
            }
        }
        false
    }

    /// The rules of the sequence with which the path ends twice, where it does.
    fn lap(&self) -> Option<Vec<usize>> {
        let same = |(a, b): (&Step, &Step)| a.rule == b.rule && a.by == b.by;
        let lap = (1..=self.path.len() / 2).find_map(|n| {
            let (before, lap) = self.path.split_at_checked(self.path.len() - n)?;
            let (_, first) = before.split_at_checked(before.len().checked_sub(n)?)?;
            first.iter().zip(lap).all(same).then_some(lap)
        })?;
        Some(lap.iter().map(|s| s.rule).collect::<BTreeSet<_>>().into_iter().collect())
    }
}
