//! Text beside calls.

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};

gate! {
    /// A draft speaks or acts, not both.
    ///
    /// # Why
    /// One of the two is ignored by every assistant we know; and what is said beside a call says it
    /// before anybody knows whether the call worked.
    ///
    /// # Blocks
    /// Nothing: it repairs itself. The text is dropped and never spoken; what happened is said when it
    /// has happened.
    ///
    /// # Allows
    /// A draft of calls alone, and a reply alone.
    ///
    /// # Remedy
    /// None needed. The verdict is the same as without the text.
    "mixed-message", Owed
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    if view.drafted.reply.is_some() && !view.drafted.calls.is_empty() {
        let because = "text beside calls is dropped: what happened is said when it has happened";
        findings.push(Finding::new(NAME, Tier::Owed, because));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use serde_json::json;

    fn found(draft: &Draft) -> usize {
        let policy = kitchen();
        let history = Talk::new(&policy).driver("turn on the oven").history();
        check(&GATE, &policy, &history, draft).len()
    }

    #[test]
    fn blocks_nothing_but_reports_the_dropped_text() {
        let mut draft = calls(&[("switch_oven", json!({"on": true}))]);
        draft.reply = Some("The oven is on.".into());
        assert_eq!(found(&draft), 1);
    }

    #[test]
    fn allows_calls_alone_and_a_reply_alone() {
        assert_eq!(found(&calls(&[("switch_oven", json!({"on": true}))])), 0);
        assert_eq!(found(&Draft::reply("Hello.")), 0);
    }
}
