//! Numbers come from somewhere.

use super::sources::Source;
use super::{Exhausted, Findings, View, gate, stored};
use crate::model::{Finding, Tier, ToolCall};
use crate::state::CellIx;
use crate::tools::ToolIx;

gate! {
    /// Every number that a write sets traces to the driver, a preference, a rule, a reading or a computation.
    ///
    /// # Why
    /// A level that nobody named is a guess. The driver hears only afterwards how far the roof went.
    ///
    /// # Blocks
    /// `set_seat_heating(level: 2)` for "turn on the seat heating" when no preference names a level,
    /// and "two levels up" from a level that could not be read.
    ///
    /// # Allows
    /// What the driver said in digits or words (half, fully, off), also in an earlier message; what a
    /// question of the assistant named before the driver answered; what a stored preference names; what
    /// a rule demands with something that is under way; the current value plus or minus what was said,
    /// clamped to what the parameter takes; what another field has, where the driver wants the same;
    /// the result of a computation. As long as a stored preference may still settle it,
    /// `preferences-first` reads that instead.
    ///
    /// # Remedy
    /// For a relative change from an unread value: the read. Else none: ask the driver.
    "numeric-provenance", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for number in view.sources()? {
        let (argument, value) = (&number.argument, number.value);
        let finding = match number.source {
            Source::Unread(cell) => unread(view, cell, argument),
            Source::Nowhere if stored::unread(view, number.tool).is_none() => {
                let tool = view.policy.inventory.at(number.tool);
                let name = tool.map_or("", |t| t.name.as_str());
                let what = tool.map(|t| view.called(t)).unwrap_or_default();
                let because = format!(
                    "nobody gave `{argument}` of `{name}` the value {value}: neither the driver nor a preference, a rule or a reading; ask the driver"
                );
                let holes = [("argument", view.argument(argument)), ("what", what)];
                Finding::new(NAME, Tier::Hard, because).saying(view.ask("which-value", &holes))
            }
            _ => continue,
        };
        findings.push(finding.at(number.call));
    }
    Ok(())
}

/// A change of something that is not known: it is read once, then there is nothing to count from.
fn unread(view: &View<'_>, cell: CellIx, argument: &str) -> Finding {
    let field = view.policy.model.field_name(cell).unwrap_or_default();
    let read = view.policy.model.owner(cell).and_then(|(a, _)| view.policy.model.attribute(a)?.read);
    match read.and_then(|read| untried(view, read)) {
        Some(call) => {
            let because = format!("`{argument}` changes `{field}`, which was never read");
            Finding::new(NAME, Tier::Owed, because).with_remedy(vec![call])
        }
        None => {
            let because = format!(
                "`{argument}` changes `{field}`, which cannot be read, so there is nothing to count from; say so and ask for the value itself"
            );
            Finding::new(NAME, Tier::Hard, because)
        }
    }
}

/// The call of a read that was not made since the driver last spoke.
fn untried(view: &View<'_>, read: ToolIx) -> Option<ToolCall> {
    let tool = view.available(read).filter(|t| t.params.iter().all(|p| !p.required))?;
    let tried = view.history.calls_of(read).any(|(_, past)| past.turn == view.history.turn());
    (!tried).then(|| ToolCall::new(tool.name.as_str(), Default::default()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
    use crate::state::History;
    use serde_json::json;

    /// Findings about a hood level, with the habits read and silent.
    fn found(level: f64, history: impl FnOnce(Talk<'_>) -> History) -> Vec<Finding> {
        let policy = kitchen();
        let read = Talk::new(&policy).done("get_habits", json!({"topic": "baking"}), json!({"baking": []}));
        check(&GATE, &policy, &history(read), &calls(&[("set_hood_speed", json!({"level": level}))]))
    }

    #[test]
    fn blocks_a_level_that_nobody_named() {
        let found = found(2.0, |talk| talk.driver("it is a bit smoky, please get some air moving").history());
        assert_eq!((found.len(), found[0].tier), (1, Tier::Hard));
    }

    #[test]
    fn blocks_the_most_where_it_was_only_to_be_switched_on() {
        assert_eq!(found(4.0, |talk| talk.driver("please turn on the hood").history()).len(), 1);
    }

    #[test]
    fn blocks_a_step_of_another_size() {
        let by_two = |talk: Talk<'_>| {
            talk.done("get_hood_state", json!({}), json!({"hood_level": 1}))
                .driver("turn the hood up by two levels")
                .history()
        };
        assert_eq!(found(2.0, by_two).len(), 1);
        assert_eq!(found(3.0, by_two), []);
    }

    #[test]
    fn a_step_from_an_unread_level_reads_it_first_and_gives_up_when_it_stays_unknown() {
        let reads = found(3.0, |talk| talk.driver("turn the hood up by two levels").history());
        assert_eq!((reads[0].tier, reads[0].remedy[0].tool.as_str()), (Tier::Owed, "get_hood_state"));
        let unknown = found(3.0, |talk| {
            talk.driver("turn the hood up by two levels")
                .done("get_hood_state", json!({}), json!({"hood_level": "unknown"}))
                .history()
        });
        assert_eq!(unknown[0].tier, Tier::Hard);
    }

    #[test]
    fn allows_what_was_said_in_digits_words_and_extremes() {
        for (level, said) in [
            (3.0, "set the hood to 3"),
            (3.0, "set the hood to level three please"),
            (4.0, "turn the hood all the way up, to the maximum"),
            (0.0, "please switch the hood off"),
            (4.0, "stell den Abzug bitte ganz hoch"),
        ] {
            assert_eq!(found(level, |talk| talk.driver(said).history()), [], "{said}");
        }
    }

    #[test]
    fn allows_what_an_answered_question_named() {
        let answered = |talk: Talk<'_>| {
            talk.driver("get the smoke out").assistant("Shall I set the hood to 3?").driver("yes please").history()
        };
        assert_eq!(found(3.0, answered), []);
    }

    #[test]
    fn allows_what_another_field_has_when_the_same_is_wanted() {
        let same = |talk: Talk<'_>| {
            talk.done("get_oven_state", json!({}), json!({"oven_degrees": 3}))
                .driver("set the hood to the same as the oven")
                .history()
        };
        assert_eq!(found(3.0, same), []);
    }

    #[test]
    fn leaves_it_to_the_preferences_as_long_as_they_are_unread() {
        let policy = kitchen();
        let history = Talk::new(&policy).driver("please turn on the hood").history();
        assert_eq!(check(&GATE, &policy, &history, &calls(&[("set_hood_speed", json!({"level": 2}))])), []);
    }

    #[test]
    fn judges_nothing_in_a_language_without_a_table() {
        assert_eq!(found(2.0, |talk| talk.driver("allume la hotte").history()), []);
    }
}
