//! Remedies that call for further remedies.

use std::collections::BTreeSet;

use super::check;
use crate::compile::critic::course::{Call, Course};
use crate::compile::critic::expr::Expr;
use crate::compile::critic::logic::Answer;
use crate::compile::critic::rounds::{ROUNDS, abouts, endless};
use crate::compile::critic::{Case, Stated};
use crate::policy::{ArgumentTemplate, PolicyParts, Trigger};

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
    let mut walk = Walk { remedied: &remedied, longest: Vec::new(), reached: BTreeSet::new(), calls: BTreeSet::new() };
    let mut slowest: Option<(u32, usize, String)> = None;
    for at in &remedied {
        walk.reached.clear();
        walk.from(case, *at);
        if let Some((ms, calls, tool)) = actuation(case, parts, *at, &walk.reached)
            && slowest.as_ref().is_none_or(|(most, ..)| ms > *most)
        {
            slowest = Some((ms, calls, tool));
        }
    }
    let named = |path: &[usize]| {
        path.iter().filter_map(|at| subject.rules.get(*at)).map(|r| format!("`{}`", r.id)).collect::<Vec<_>>()
    };
    let found = endless(case, &remedied, &walk.calls);
    for (members, witness) in found.loops {
        let rules: Vec<&Stated> = members.iter().filter_map(|at| subject.rules.get(*at)).collect();
        let what = match members.len() {
            1 => format!("the remedy of {} calls for itself without end", named(&members).join("")),
            _ => format!("the remedies of {} can call for each other without end", named(&members).join(" and ")),
        };
        case.error(&rules, what, Some(witness));
    }
    if found.given_up {
        case.note(None, "remedies call for each other in too many ways to follow all of them".to_owned());
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

/// Chains of remedies, each the answer to a call of the one before.
struct Walk<'a> {
    remedied: &'a [usize],
    longest: Vec<usize>,
    /// Rules on any path from the one under way.
    reached: BTreeSet<usize>,
    /// Rules whose remedy can make another rule look that is broken then.
    calls: BTreeSet<(usize, usize)>,
}

impl Walk<'_> {
    fn from(&mut self, case: &mut Case<'_>, at: usize) {
        let subject = case.subject;
        let Some(stated) = subject.rules.get(at) else { return };
        self.reached.insert(at);
        if self.longest.is_empty() {
            self.longest.push(at);
        }
        for about in abouts(subject, stated, self.remedied) {
            let begun = stated.envs.first().and_then(|env| Course::new(subject, env, about));
            let Some(begun) = begun else { continue };
            let Some(condition) = begun.broken(stated, Call::First) else { continue };
            if let Some(next) = begun.remedied(stated, Call::First) {
                self.follow(case, &next, 0, &condition, &mut vec![at]);
            }
        }
    }

    /// Follows every remedy that the last one of the path calls for: the calls from a position on.
    fn follow<'a>(
        &mut self,
        case: &mut Case<'a>,
        course: &Course<'a>,
        from: usize,
        so_far: &Expr,
        path: &mut Vec<usize>,
    ) {
        let subject = case.subject;
        if path.len() > self.longest.len() {
            self.longest.clone_from(path);
        }
        let Some(last) = path.last().copied().filter(|_| path.len() <= ROUNDS) else { return };
        for next in self.remedied.iter().copied() {
            let Some(stated) = subject.rules.get(next) else { continue };
            for call in course.triggers(stated) {
                if !matches!(call, Call::Companion(at) if at >= from) {
                    continue;
                }
                let Some(broken) = course.broken(stated, call) else { continue };
                let whole = so_far.clone().and(broken).folded();
                if whole == Expr::truth(false)
                    || !matches!(case.logic.possible_as_made(subject, &course.env, &whole), Answer::Possible(_))
                {
                    continue;
                }
                self.calls.insert((last, next));
                self.reached.insert(next);
                if path.contains(&next) {
                    continue;
                }
                if let Some(further) = course.remedied(stated, call) {
                    path.push(next);
                    self.follow(case, &further, course.len(), &whole, path);
                    path.pop();
                }
            }
        }
    }
}

/// The deadline of a call and of all companions that rules on it and theirs can bring, in milliseconds.
fn actuation(
    case: &Case<'_>,
    parts: &PolicyParts,
    at: usize,
    reached: &BTreeSet<usize>,
) -> Option<(u32, usize, String)> {
    let root = case.subject.rules.get(at)?.rule.as_ref()?;
    let Trigger::Calls(tools) = &root.trigger else { return None };
    let deadline = |ix: crate::tools::ToolIx| parts.model.tool(ix).map_or(0, |e| e.deadline_ms);
    let slowest = *tools.iter().max_by_key(|ix| deadline(**ix))?;
    let beside = case.subject.rules.iter().enumerate().filter(
        |(_, r)| matches!(r.rule.as_ref().map(|r| &r.trigger), Some(Trigger::Calls(t)) if t.contains(&slowest)),
    );
    let all: BTreeSet<usize> = reached.iter().copied().chain(beside.map(|(at, _)| at)).collect();
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
