//! What the assistant chose by itself is told.

use super::tour::{Offered, edit, is_picked, legs};
use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::policy::PhraseRole;

gate! {
    /// A reply that follows a choice among alternatives says that there are others.
    ///
    /// # Why
    /// The fastest leg is a good default, but the driver cannot want another one without knowing that
    /// there is one. What else must be told (tolls, differences) are rules and come through
    /// `obligations`.
    ///
    /// # Blocks
    /// The first reply after legs were set in the turn of their look-up, where results offered several
    /// between the same stops, the driver picked none, and the reply speaks of no alternative.
    ///
    /// # Allows
    /// Legs that the driver picked or that have no alternative, and any mention of alternatives.
    ///
    /// # Remedy
    /// None: add how many alternatives there are and ask whether the driver wants to hear them.
    "computed-disclosure", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    if view.reply().is_none_or(|reply| reply.has(PhraseRole::Alternative)) {
        return Ok(());
    }
    let spoke = view.history.driver().last().map_or(0, |u| u.step);
    for past in view.this_turn().filter(|past| past.succeeded()) {
        view.spend(1)?;
        let Some((tour, edit)) = past.tool.and_then(|tool| edit(view, tool)) else { continue };
        let open = |o: &Offered<'_>| !o.others.is_empty() && o.step > spoke;
        for leg in legs(view, &past.call, view.history.world(), tour, edit)? {
            let Some(offered) = leg.offered.filter(open) else { continue };
            if is_picked(view, &offered)? {
                continue;
            }
            let because = format!(
                "`{}` was chosen among {} without the driver, and the reply does not say that there are others",
                leg.id,
                offered.others.len() + 1
            );
            findings.push(Finding::new(NAME, Tier::Hard, because));
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use serde_json::json;

    fn found(said: &str, others: bool, reply: &str) -> usize {
        let policy = kitchen();
        let path =
            |id: &str, alias: &str| json!({"path_id": id, "from_id": "tab_1", "to_id": "tab_9", "alias": [alias]});
        let mut paths = vec![path("pat_1", "fastest")];
        paths.extend(others.then(|| path("pat_2", "shortest")));
        let history = Talk::new(&policy)
            .driver(said)
            .done("search_paths", json!({"from_id": "tab_1", "to_id": "tab_9"}), json!({"paths": paths}))
            .done("start_tour", json!({"path_ids": ["pat_1"]}), json!({}))
            .history();
        check(&GATE, &policy, &history, &Draft::reply(reply)).len()
    }

    #[test]
    fn blocks_a_reply_that_keeps_the_alternatives_to_itself() {
        assert_eq!(found("please serve table nine", true, "The tour is set and takes five minutes."), 1);
    }

    #[test]
    fn allows_a_reply_that_tells_of_them() {
        assert_eq!(found("please serve table nine", true, "The tour is set. Want to hear the other way?"), 0);
    }

    #[test]
    fn allows_silence_where_there_is_nothing_to_tell() {
        assert_eq!(found("please serve table nine", false, "The tour is set."), 0);
        assert_eq!(found("serve table nine on the fastest way", true, "The tour is set."), 0);
    }
}
