//! What the driver ruled out stays undone.

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier, ToolCall, Words};
use crate::obligations::narrowed;
use crate::policy::{PhraseRole, Reading};
use crate::state::{SetFrom, Utterance};
use crate::tools::{ParamType, ToolIx};

gate! {
    /// A call stays within what the driver named and ruled out: "the driver's window" is not all of them,
    /// and "don't start yet" holds until it is taken back.
    ///
    /// # Why
    /// A driver who wants to plan first does not want the old route gone. That a threshold rule is kept
    /// item by item is settled by `obligations`, which projects every item.
    ///
    /// # Blocks
    /// A call of a tool that does one thing only, when the driver said not to do that thing: a denial
    /// before the tool's verb and another of its words in one clause. A call for all items where the
    /// driver's latest words about them name single ones.
    ///
    /// # Allows
    /// Tools that set a value the driver may want otherwise, and the call once the driver named it again
    /// without a denial or said yes to a question about it. Collective calls after "all", a plural, a
    /// likeness ("the same as"), or words that name no item.
    ///
    /// # Remedy
    /// For a collective call: the call for the item named, made in its place where it is one. Else none:
    /// leave it, say what is ready, and wait.
    "conditional-scope", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for (at, call) in view.drafted.calls.iter().enumerate() {
        view.spend(1)?;
        let Some(single) = narrowed(view.policy, view.history, call) else { continue };
        let stands = view.draft.calls.iter().any(|c| c.key() == call.key());
        let tier = if stands { Tier::Hard } else { Tier::Owed };
        let because = format!("`{call}` is for all of them, and the driver named {} only", named(&single));
        findings.push(Finding::new(NAME, tier, because).at(at).with_remedy(single));
    }
    for (at, call) in view.draft.calls.iter().enumerate().filter(|(_, c)| c.by.is_none()) {
        let Some(tool) = view.policy.inventory.position(call.tool.as_str()) else { continue };
        if !view.policy.inventory.at(tool).is_some_and(|t| t.is_write()) || takes_value(view, tool) {
            continue;
        }
        if let Some(words) = ruled_out(view, tool)? {
            let because =
                format!("the driver said \"{words}\", and nothing took that back since; `{}` would do it", call.tool);
            findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
        }
    }
    Ok(())
}

/// The calls for single items, as a reader sees them.
fn named(calls: &[ToolCall]) -> String {
    calls.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(" and ")
}

/// Whether a tool sets a value that may be wanted otherwise: on or off, how far, which.
fn takes_value(view: &View<'_>, tool: ToolIx) -> bool {
    let Some(effect) = view.policy.model.tool(tool) else { return true };
    effect.sets.iter().any(|set| {
        let SetFrom::Argument { name, .. } = &set.from else { return false };
        let param = view.policy.inventory.at(tool).and_then(|t| t.param(name));
        !param.is_some_and(|p| matches!(p.kind, ParamType::List(_)))
    })
}

/// The clause by which the driver ruled a tool out, unless something later took that back.
fn ruled_out(view: &View<'_>, tool: ToolIx) -> Result<Option<String>, Exhausted> {
    for (said, reading) in view.history.driver().iter().rev().zip(view.heard()?.iter()) {
        view.spend(said.words.len())?;
        let clauses = reading.role(PhraseRole::No).map(|h| reading.clause(h));
        let denied = clauses.filter(|c| denies(reading, *c, tool)).max();
        let asked = nouns(reading, tool).into_iter().filter(|c| !reading.clause_has(*c, PhraseRole::No)).max();
        match (denied, asked) {
            (Some(denied), asked) if asked.is_none_or(|a| a < denied) => return Ok(Some(clause(&said.words, denied))),
            (_, Some(_)) => return Ok(None),
            _ if agreed(view, said, reading, tool)? => return Ok(None),
            _ => {}
        }
    }
    Ok(None)
}

/// Whether a clause denies what a tool does: a denial, then two of its words, a verb first (`start the
/// navigation`, `start navigating`).
fn denies(reading: &Reading<'_>, clause: u16, tool: ToolIx) -> bool {
    let inside = |start: usize| reading.words().get(start).is_some_and(|w| w.clause == clause);
    let verb = crate::policy::Meaning::Verb(tool);
    let Some(no) = reading.role(PhraseRole::No).find(|h| inside(h.start)) else { return false };
    reading.hits().iter().any(|v| {
        v.means(verb)
            && inside(v.start)
            && v.start >= no.end
            && reading.hits().iter().any(|n| (n.names(tool) || n.means(verb)) && inside(n.start) && n.start > v.start)
    })
}

fn nouns(reading: &Reading<'_>, tool: ToolIx) -> Vec<u16> {
    reading.nouns().filter(|h| h.names(tool)).map(|h| reading.clause(h)).collect()
}

/// Whether a message of the driver agrees to a question that names the tool.
fn agreed(view: &View<'_>, said: &Utterance, answer: &Reading<'_>, tool: ToolIx) -> Result<bool, Exhausted> {
    let mut questions = view.answered().iter().rev().zip(view.spoken()?.iter());
    let question = questions.find(|(asked, _)| asked.step < said.step);
    let names = question.is_some_and(|(_, reading)| reading.words().asks() && reading.names(tool));
    Ok(names && answer.has(PhraseRole::Yes))
}

fn clause(words: &Words, clause: u16) -> String {
    words.iter().filter(|(w, _)| w.clause == clause).map(|(_, text)| text).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
    use serde_json::json;

    fn found(talk: impl FnOnce(Talk<'_>) -> Talk<'_>) -> usize {
        let policy = kitchen();
        let history = talk(Talk::new(&policy)).history();
        check(&GATE, &policy, &history, &calls(&[("start_tour", json!({"path_ids": ["pat_1"]}))])).len()
    }

    #[test]
    fn blocks_what_the_driver_said_not_to_do_yet() {
        assert_eq!(found(|talk| talk.driver("Plan a tour to table nine. But don't start the tour yet.")), 1);
        assert_eq!(
            found(|talk| talk.driver("Plane eine Runde. Aber bitte noch nicht die Runde starten, nicht starten.")),
            0,
            "German puts the verb last"
        );
    }

    fn denied(talk: Talk<'_>) -> Talk<'_> {
        talk.driver("Don't start the tour yet.")
    }

    #[test]
    fn allows_it_once_it_was_taken_back_or_agreed_to() {
        assert_eq!(found(|talk| denied(talk).assistant("Ready.").driver("Now start the tour.")), 0);
        assert_eq!(found(|talk| denied(talk).assistant("Shall I start the tour?").driver("Yes.")), 0);
        assert_eq!(found(|talk| denied(talk).assistant("Ready.").driver("Thanks.")), 1);
    }

    #[test]
    fn allows_tools_that_set_a_value() {
        let policy = kitchen();
        let history = Talk::new(&policy).driver("Don't turn off the oven.").history();
        assert_eq!(check(&GATE, &policy, &history, &calls(&[("switch_oven", json!({"on": true}))])), []);
    }
}
