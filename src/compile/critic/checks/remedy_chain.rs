//! Remedies that call for further remedies.

use super::check;
use crate::compile::critic::effects::{Remedied, after};
use crate::compile::critic::logic::Answer;
use crate::compile::critic::{Case, Stated};
use crate::policy::{ArgumentTemplate, PolicyParts, Trigger};

/// Rounds of remedies after which the engine gives up (design §4).
const ROUNDS: usize = 16;

check! {
    /// Finds remedies that can call for each other without end, chains that are longer than the engine
    /// follows, and tells the longest chain and the worst time to carry a call out with its companions.
    ///
    /// # Why
    /// The engine applies remedies until nothing is owed, sixteen rounds at most. Rules that undo each
    /// other's effect end in a refusal that no driver understands.
    ///
    /// # Example
    /// Opening the roof opens the shade; moving the shade closes the roof; and so on.
    ///
    /// # Mend
    /// Let one of the rules except what the other's remedy does, by a guard on its arguments.
    "remedy-chain"
}

fn run(case: &mut Case<'_>) {
    let subject = case.subject;
    let Some(parts) = &subject.parts else { return };
    let remedied: Vec<usize> = subject
        .rules
        .iter()
        .enumerate()
        .filter(|(_, r)| r.rule.as_ref().is_some_and(|r| !r.remedy.is_empty()))
        .map(|(at, _)| at)
        .collect();
    let mut walk = Walk { parts, remedied: &remedied, longest: Vec::new(), loops: Vec::new(), reached: Vec::new() };
    let mut slowest: Option<(u32, usize, String)> = None;
    for at in &remedied {
        walk.reached.clear();
        walk.follow(case, &mut vec![*at]);
        if let Some((ms, calls, tool)) = actuation(case, parts, *at, &walk.reached)
            && slowest.as_ref().is_none_or(|(most, ..)| ms > *most)
        {
            slowest = Some((ms, calls, tool));
        }
    }
    for pair in seesaws(case, parts, &remedied) {
        if !walk.loops.contains(&pair) {
            walk.loops.push(pair);
        }
    }
    let named = |path: &[usize]| {
        path.iter().filter_map(|at| subject.rules.get(*at)).map(|r| format!("`{}`", r.id)).collect::<Vec<_>>()
    };
    for path in &walk.loops {
        let rules: Vec<&Stated> = path.iter().filter_map(|at| subject.rules.get(*at)).collect();
        let what = format!("the remedies of {} can call for each other without end", named(path).join(" and "));
        case.error(&rules, what, None);
    }
    if walk.longest.len() > ROUNDS {
        let rules: Vec<&Stated> = walk.longest.iter().filter_map(|at| subject.rules.get(*at)).collect();
        let what = format!("{} remedies in a row, and the engine follows {ROUNDS}", walk.longest.len());
        case.error(&rules, what, None);
    } else if !walk.longest.is_empty() {
        case.note(None, format!("longest chain of remedies: {}", named(&walk.longest).join(", then ")));
    }
    if let Some((ms, calls, tool)) = slowest {
        let seconds = f64::from(ms) / 1000.0;
        case.note(
            None,
            format!("worst actuation: `{tool}` with {calls} companions, {seconds} s until all are confirmed"),
        );
    }
}

/// Pairs of rules on one call that undo each other: what satisfies the one breaks the other, and what satisfies that
/// breaks the first again.
fn seesaws(case: &mut Case<'_>, parts: &PolicyParts, remedied: &[usize]) -> Vec<Vec<usize>> {
    let subject = case.subject;
    let mut found = Vec::new();
    let pairs = remedied.iter().flat_map(|a| remedied.iter().filter(move |b| *b != a).map(move |b| (*a, *b)));
    for (at, other_at) in pairs {
        let (Some(one), Some(other)) = (subject.rules.get(at), subject.rules.get(other_at)) else { continue };
        let entity = |stated: &Stated| stated.rule.as_ref().map(|rule| rule.entity);
        let Some(entity) = entity(one).filter(|_| entity(one) == entity(other)) else { continue };
        let (ours, theirs) = (Remedied::of(parts, one), Remedied::of(parts, other));
        let broken = after(&other.condition, &ours, entity);
        let again = after(&after(&one.condition, &theirs, entity), &ours, entity);
        let whole = one.condition.clone().and(broken).and(again);
        let shared = one.envs.iter().filter(|env| other.envs.contains(env));
        let mut pair = vec![at, other_at];
        pair.sort_unstable();
        let known = found.contains(&pair);
        if !known
            && shared.into_iter().any(|env| matches!(case.logic.possible(subject, env, &whole), Answer::Possible(_)))
        {
            found.push(pair);
        }
    }
    found
}

struct Walk<'a> {
    parts: &'a PolicyParts,
    remedied: &'a [usize],
    longest: Vec<usize>,
    loops: Vec<Vec<usize>>,
    /// Rules on any path from the one under way.
    reached: Vec<usize>,
}

impl Walk<'_> {
    /// Follows every remedy that the last rule of the path calls for.
    fn follow(&mut self, case: &mut Case<'_>, path: &mut Vec<usize>) {
        let Some(last) = path.last().copied() else { return };
        if !self.reached.contains(&last) {
            self.reached.push(last);
        }
        if path.len() > self.longest.len() {
            self.longest.clone_from(path);
        }
        for next in self.remedied.iter().copied() {
            if path.len() > ROUNDS || !self.calls_for(case, path, next) {
                continue;
            }
            if let Some(begin) = path.iter().position(|at| *at == next) {
                let mut members = path.get(begin..).unwrap_or_default().to_vec();
                members.sort_unstable();
                if !self.loops.contains(&members) {
                    self.loops.push(members);
                }
                continue;
            }
            path.push(next);
            self.follow(case, path);
            path.pop();
        }
    }

    /// Whether the last remedy of a path can break another rule, in a car that all remedies so far changed.
    fn calls_for(&self, case: &mut Case<'_>, path: &[usize], next: usize) -> bool {
        let subject = case.subject;
        let (Some(other), Some(rule)) =
            (subject.rules.get(next), subject.rules.get(next).and_then(|r| r.rule.as_ref()))
        else {
            return false;
        };
        let Trigger::Calls(tools) = &rule.trigger else { return false };
        let made: Vec<Vec<Remedied<'_>>> = path
            .iter()
            .filter_map(|at| subject.rules.get(*at))
            .map(|stated| Remedied::of(self.parts, stated))
            .collect();
        let Some(last) = made.last() else { return false };
        last.iter().filter(|call| tools.contains(&call.call.tool)).any(|call| {
            let mut condition = call.as_trigger(&other.condition);
            for earlier in made.iter().rev().flat_map(|calls| calls.iter().rev()) {
                condition = earlier.applied_elsewhere(&condition, rule.entity);
            }
            let tool = self.parts.inventory.get(usize::from(call.call.tool.0)).map(|t| t.name.as_str());
            let env = other.envs.iter().find(|env| Some(env.action_name()) == tool);
            env.is_some_and(|env| matches!(case.logic.possible(subject, env, &condition), Answer::Possible(_)))
        })
    }
}

/// The deadline of a call and of all companions that rules on it and theirs can bring, in milliseconds.
fn actuation(case: &Case<'_>, parts: &PolicyParts, at: usize, reached: &[usize]) -> Option<(u32, usize, String)> {
    let root = case.subject.rules.get(at)?.rule.as_ref()?;
    let Trigger::Calls(tools) = &root.trigger else { return None };
    let deadline = |ix: crate::tools::ToolIx| parts.model.tool(ix).map_or(0, |e| e.deadline_ms);
    let slowest = *tools.iter().max_by_key(|ix| deadline(**ix))?;
    let beside = case.subject.rules.iter().enumerate().filter(
        |(_, r)| matches!(r.rule.as_ref().map(|r| &r.trigger), Some(Trigger::Calls(t)) if t.contains(&slowest)),
    );
    let all: std::collections::BTreeSet<usize> = reached.iter().copied().chain(beside.map(|(at, _)| at)).collect();
    let (mut ms, mut calls) = (deadline(slowest), 0);
    let mut seen = Vec::new();
    for rule in all.iter().filter_map(|at| case.subject.rules.get(*at)?.rule.as_ref()) {
        for call in rule.remedy.iter().filter(|call| !seen.contains(*call)).collect::<Vec<_>>() {
            let each = call.arguments.iter().any(|(_, value)| *value == ArgumentTemplate::Resource);
            let items = parts.model.entity(rule.entity).map_or(1, |e| e.items.len());
            let whole = parts.model.tool(call.tool).and_then(|e| e.item.as_ref()).is_some_and(|i| i.all().is_some());
            // Where one word names all items, at most all but one are called singly.
            let times = if each { items.saturating_sub(usize::from(whole)).max(1) } else { 1 };
            let times32 = u32::try_from(times).unwrap_or(u32::MAX);
            ms = ms.saturating_add(deadline(call.tool).saturating_mul(times32));
            calls += times;
            seen.push(call.clone());
        }
    }
    let tool = parts.inventory.get(usize::from(slowest.0))?.name.to_string();
    Some((ms, calls, tool))
}
