//! A refusal that a free reading would answer.

use super::claims::words;
use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier, ToolCall};
use crate::policy::{Hit, PhraseRole, Reading};
use crate::tools::{Kind, ToolIx};

gate! {
    /// Nobody says that something cannot be told before it was looked up where that is free.
    ///
    /// # Why
    /// "I cannot check the rear window" is false in a car that reads its windows.
    ///
    /// # Blocks
    /// An admission about something whose reading takes no argument and was never tried.
    ///
    /// # Allows
    /// An admission about what was read, what failed to be read, or what this car has no tool for; one
    /// in a turn in which something was looked up; and one about another matter than the reading: the
    /// refused thing itself must be named.
    ///
    /// # Remedy
    /// The reading, which the harness makes itself.
    "refusal-read", Owed
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(reply) = view.reply() else { return Ok(()) };
    // Who looked something up in this turn reports what came of it.
    if view.this_turn().next().is_some() {
        return Ok(());
    }
    for admission in reply.role(PhraseRole::Admission) {
        let Some(noun) = refused(reply, admission) else { continue };
        view.spend(1)?;
        // Where a write of that name is missing here, the refusal is right whatever can be read.
        if noun.nouns().any(|t| view.available(t).is_none()) {
            continue;
        }
        let Some(read) = noun.nouns().find(|t| is_free(view, *t)) else { continue };
        if view.history.calls_of(read).next().is_some() {
            continue;
        }
        let Some(tool) = view.available(read) else { continue };
        let because = format!(
            "the reply says \"{}\", but `{}` was never tried",
            words(reply, reply.clause(admission)),
            tool.name
        );
        let remedy = vec![ToolCall::new(tool.name.as_str(), Default::default())];
        findings.push(Finding::new(NAME, Tier::Owed, because).with_remedy(remedy));
        break;
    }
    Ok(())
}

/// Words between a verb of looking and what is looked for: `check the rear left window`.
const REACH: usize = 4;

/// What cannot be looked up, as the clause of an admission names it: the first thing after the verb
/// of looking, or the last one before it where the verb comes last.
fn refused<'r, 'p>(reply: &'r Reading<'p>, admission: &Hit<'_>) -> Option<&'r Hit<'p>> {
    let clause = reply.clause(admission);
    if reply.quoted(admission) || reply.words().is_question(reply.sentence(admission)) {
        return None;
    }
    let look = reply.role(PhraseRole::Look).find(|h| reply.clause(h) == clause && h.end > admission.start)?;
    let here = |h: &&Hit<'p>| reply.clause(h) == clause;
    let after = reply.nouns().filter(here).find(|h| (look.end..look.end + REACH).contains(&h.start));
    let last = reply.words().get(look.end).is_none_or(|w| w.clause != clause);
    after.or_else(|| reply.nouns().filter(here).filter(|h| last && h.end <= look.start).last())
}

fn is_free(view: &View<'_>, tool: ToolIx) -> bool {
    view.available(tool).is_some_and(|t| t.kind == Kind::Read && t.params.iter().all(|p| !p.required))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use crate::state::History;
    use crate::tools::Removed;
    use serde_json::json;

    fn found(reply: &str, history: impl FnOnce(Talk<'_>) -> History) -> Vec<Finding> {
        let policy = kitchen();
        let history = history(Talk::new(&policy).driver("is the oven door open?"));
        check(&GATE, &policy, &history, &Draft::reply(reply))
    }

    #[test]
    fn blocks_a_refusal_that_a_reading_answers() {
        for reply in [
            "Sorry, I can't check the oven door.",
            "Ich kann leider nicht nachsehen, ob",
            "Ich kann die Tür leider nicht prüfen.",
        ] {
            let expected = usize::from(reply != "Ich kann leider nicht nachsehen, ob");
            assert_eq!(found(reply, |talk| talk.history()).len(), expected, "{reply}");
        }
        let found = found("I cannot see the door.", |talk| talk.history());
        assert_eq!((found[0].tier, found[0].remedy[0].tool.as_str()), (Tier::Owed, "get_door_positions"));
    }

    #[test]
    fn allows_a_refusal_after_the_reading_was_tried() {
        let read = |talk: Talk<'_>| talk.failed("get_door_positions", json!({})).history();
        assert_eq!(found("I can't check the door.", read), []);
    }

    #[test]
    fn allows_a_refusal_about_something_else() {
        for reply in ["I can't find that recipe.", "I can't open the door.", "I can check the door."] {
            assert_eq!(found(reply, |talk| talk.history()), [], "{reply}");
        }
    }

    #[test]
    fn what_this_kitchen_lacks_is_rightly_refused() {
        let policy = kitchen();
        let mut history = Talk::new(&policy).driver("is the door open?").history();
        history.set_removed(Removed::from_iter(["get_door_positions"]));
        assert_eq!(check(&GATE, &policy, &history, &Draft::reply("I can't see the door.")), []);
    }
}
