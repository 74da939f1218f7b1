//! The same call again.

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier, ToolCall, Words};
use crate::state::{CallRef, Outcome, PastCall};
use crate::tools::{Kind, ParamType, ToolIx};

gate! {
    /// A call that failed is not repeated unchanged, and none is made over and over.
    ///
    /// # Why
    /// What failed a moment ago fails again, and a student in a loop never answers the driver.
    ///
    /// # Blocks
    /// The identical call after a failure, whatever the order or spelling of its arguments, until
    /// something was learned: a later successful read of what it writes. The reading that belongs to the call and
    /// found that it had not arrived counts only once the driver spoke again: it may still be under way. A read that
    /// failed is not
    /// repeated before the driver spoke again. A call already made twice in this turn is not made a
    /// third time unless a write came in between. A name that was not found is not tried again with words
    /// added that nobody said (`Bath`, then `Bath Somerset`).
    ///
    /// # Allows
    /// Other arguments, a retry after the cause was read, a read again after a change.
    ///
    /// # Remedy
    /// None: tell the driver what failed.
    "repetition", Hard
}

/// Identical calls in one turn that end in a third one being a loop.
const LIMIT: usize = 2;

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for (at, call) in view.draft.calls.iter().enumerate() {
        let Some(tool) = view.policy.inventory.position(call.tool.as_str()) else { continue };
        if view.history.calls_of(tool).next().is_none() {
            continue;
        }
        let mut same = Vec::new();
        for (reference, past) in view.history.calls_of(tool).rev() {
            view.spend(1)?;
            if let Some(word) = failure(past).and_then(|_| decoration(view, tool, past, call)) {
                let because = format!("`{}` failed, and nobody said \"{word}\": a name is not guessed", past.call);
                findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
                break;
            }
            if same.len() < LIMIT && past.call.is_same(call) {
                same.push((reference, past));
            }
        }
        let Some((last, past)) = same.first().copied() else { continue };
        let because = if let Some(why) = failure(past).filter(|_| !is_rearmed(view, tool, call, last, past)) {
            format!("`{call}` failed before ({why}) and nothing was learned since; the same call fails again")
        } else if is_loop(view, &same) {
            format!("`{call}` was already made {LIMIT} times in this turn and nothing changed since")
        } else {
            continue;
        };
        findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
    }
    Ok(())
}

/// A word that a read adds to a text which just failed, and that neither the driver nor a result said.
fn decoration(view: &View<'_>, tool: ToolIx, past: &PastCall, call: &ToolCall) -> Option<String> {
    let read = view.policy.inventory.at(tool).filter(|t| t.kind == Kind::Read)?;
    let texts = read.params.iter().filter(|p| p.kind == ParamType::Text);
    texts.into_iter().find_map(|param| {
        let text = |c: &ToolCall| Some(Words::new(c.arguments.get(&param.name)?.as_str()?));
        let (before, now) = (text(&past.call)?, text(call)?);
        let kept = before.iter().all(|(_, b)| now.iter().any(|(_, n)| n == b));
        let said = |word: &str| view.history.driver().iter().any(|u| u.words.iter().any(|(_, w)| w == word));
        let found = |word: &str| {
            let payloads = view.history.calls().iter().filter_map(PastCall::payload);
            payloads.into_iter().any(|json| json.to_string().to_lowercase().contains(word))
        };
        let added = now.iter().map(|(_, w)| w).filter(|w| !before.iter().any(|(_, b)| b == *w));
        added.into_iter().find(|w| kept && !before.is_empty() && !said(w) && !found(w)).map(str::to_owned)
    })
}

fn failure(past: &PastCall) -> Option<&str> {
    match &past.outcome {
        Outcome::Failed(why) | Outcome::Unknown(why) => Some(why),
        Outcome::Done(_) | Outcome::Pending => None,
    }
}

/// Whether something was learned since a call failed. For a write: a later successful reading of a
/// field that it sets; its own read-back is that only after the driver, who was told of it, spoke again. For a
/// read, and for a write of which the model knows no field: the driver spoke.
fn is_rearmed(view: &View<'_>, tool: ToolIx, call: &ToolCall, last: CallRef, past: &PastCall) -> bool {
    let model = &view.policy.model;
    let written = model.writes(tool, &call.arguments, view.history.side());
    let spoke = past.turn < view.history.turn();
    if written.is_empty() {
        return spoke;
    }
    let after = view.history.calls().iter().skip(last.0 as usize + 1);
    let own = after.take_while(|past| past.call.id.is_read_back()).count();
    let last = if spoke { last } else { CallRef(last.0.saturating_add(u32::try_from(own).unwrap_or(u32::MAX))) };
    let mut reads = written.iter().filter_map(|w| model.attribute(model.owner(w.cell)?.0)?.read);
    reads.any(|read| view.history.calls_of(read).rev().take_while(|(r, _)| *r > last).any(|(_, p)| p.succeeded()))
}

/// Whether a call was made too often in this turn without a write in between.
fn is_loop(view: &View<'_>, same: &[(CallRef, &PastCall)]) -> bool {
    let Some(nth) = same.get(LIMIT - 1).filter(|(_, past)| past.turn == view.history.turn()) else { return false };
    let since = view.history.calls().iter().skip(nth.0.0 as usize + 1);
    let other = |past: &&PastCall| !past.call.is_same(&nth.1.call);
    !since.filter(other).any(|past| past.succeeded() && is_write(view, past))
}

fn is_write(view: &View<'_>, past: &PastCall) -> bool {
    past.tool.and_then(|ix| view.policy.inventory.at(ix)).is_some_and(|t| t.is_write())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
    use crate::state::History;
    use serde_json::{Value as Json, json};

    fn door() -> Json {
        json!({"door": "OVEN", "percentage": 10})
    }

    fn found(tool: &str, arguments: Json, history: impl FnOnce(Talk<'_>) -> History) -> usize {
        let policy = kitchen();
        let history = history(Talk::new(&policy).driver("open the oven a bit"));
        check(&GATE, &policy, &history, &calls(&[(tool, arguments)])).len()
    }

    #[test]
    fn blocks_a_failed_call_in_another_order_of_its_arguments() {
        let other_order = json!({"percentage": 10.0, "door": "OVEN"});
        assert_eq!(found("move_door", other_order, |talk| talk.failed("move_door", door()).history()), 1);
    }

    #[test]
    fn blocks_a_name_that_was_not_found_with_words_that_nobody_said() {
        let mut parts = super::super::testing::parts();
        let tool = parts.inventory.iter_mut().find(|t| t.name.as_str() == "search_recipes").unwrap();
        tool.params[0].kind = ParamType::Text;
        let policy = crate::policy::Policy::new(parts, crate::model::PolicyHash([5; 32])).unwrap();
        let search = |words: &str| calls(&[("search_recipes", json!({"dish": words}))]);
        let talk = Talk::new(&policy).driver("a Bath bun, the Somerset one");
        let history = talk.failed("search_recipes", json!({"dish": "Bath bun"})).history();
        let found = |words: &str| check(&GATE, &policy, &history, &search(words)).len();
        assert_eq!(found("Bath bun England"), 1);
        assert_eq!(found("Bath bun Somerset"), 0);
        assert_eq!(found("Chelsea bun"), 0);
    }

    #[test]
    fn blocks_a_failed_call_also_in_the_next_turn() {
        let again = |talk: Talk<'_>| talk.failed("move_door", door()).assistant("It failed.").driver("again").history();
        assert_eq!(found("move_door", door(), again), 1);
    }

    #[test]
    fn blocks_the_third_identical_read_of_a_turn() {
        let twice = |talk: Talk<'_>| {
            talk.done("get_oven_state", json!({}), json!({})).done("get_oven_state", json!({}), json!({})).history()
        };
        assert_eq!(found("get_oven_state", json!({}), twice), 1);
    }

    #[test]
    fn allows_a_retry_after_the_cause_was_read() {
        let read = |talk: Talk<'_>| {
            talk.failed("move_door", door())
                .done("get_door_positions", json!({}), json!({"door_oven_position": 0}))
                .history()
        };
        assert_eq!(found("move_door", door(), read), 0);
    }

    #[test]
    fn blocks_a_retry_after_nothing_but_its_own_read_back_until_the_driver_speaks() {
        let policy = kitchen();
        let mut history = Talk::new(&policy).driver("open the oven a bit").failed("move_door", door()).history();
        let read = |history: &mut History, id: &str| {
            let mut call = crate::model::ToolCall::new("get_door_positions", Default::default());
            call.id = id.into();
            let reference = history.called(&policy.inventory, call);
            let payload = std::sync::Arc::new(json!({"door_oven_position": 0}));
            history.settle(&policy.model, &policy.inventory, reference, Outcome::Done(payload), None);
        };
        let blocked = |history: &History| check(&GATE, &policy, history, &calls(&[("move_door", door())])).len();
        let own = crate::model::CallId::of_read_back(&"get_door_positions".into());
        read(&mut history, own.as_str());
        assert_eq!(blocked(&history), 1, "it may still be on its way");
        let mut told = history.clone();
        told.heard("again please");
        assert_eq!(blocked(&told), 0);
        read(&mut history, "another");
        assert_eq!(blocked(&history), 0);
    }

    #[test]
    fn allows_a_failed_read_again_once_the_driver_spoke() {
        let later = |talk: Talk<'_>| talk.failed("get_oven_state", json!({})).assistant("Hm.").driver("try").history();
        assert_eq!(found("get_oven_state", json!({}), later), 0);
        assert_eq!(found("get_oven_state", json!({}), |talk| talk.failed("get_oven_state", json!({})).history()), 1);
    }

    #[test]
    fn other_arguments_or_a_write_in_between_make_it_another_attempt() {
        assert_eq!(
            found("move_door", json!({"door": "OVEN", "percentage": 20}), |talk| talk
                .failed("move_door", door())
                .history()),
            0
        );
        let changed = |talk: Talk<'_>| {
            talk.done("get_oven_state", json!({}), json!({}))
                .done("get_oven_state", json!({}), json!({}))
                .done("switch_oven", json!({"on": true}), json!({}))
                .history()
        };
        assert_eq!(found("get_oven_state", json!({}), changed), 0);
    }
}
