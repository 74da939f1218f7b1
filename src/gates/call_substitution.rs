//! Another operation than the one asked for.

use super::offers::{share_an_attribute, verbs};
use super::{Exhausted, Findings, View, gate, mood, stored, wish};
use crate::model::{Finding, Tier, ToolCall};
use crate::obligations::{declined, is_plain_yes};
use crate::policy::{Hit, Meaning, PhraseRole, Reading};
use crate::tools::ToolIx;

gate! {
    /// A call is the operation that was asked for, not its neighbour and not its opposite.
    ///
    /// # Why
    /// "Remove the stop" is not "replace the stop": both change the same list, and only one of them leaves
    /// what the driver wants. "Don't start it yet" is no order to start.
    ///
    /// # Blocks
    /// A call of exactly what the driver said not to do ("don't start the navigation yet"), until the driver
    /// names it again or says yes to a question, and of what he was just asked about and turned down. A call on another item than the driver's latest words
    /// name, or the opposite switch, where no rule, preference, earlier wish or question explains it; any write in
    /// a conversation in which the driver asked for nothing at all; and one of what he only asked about, denied or
    /// wants to be reminded of, until he says yes to it. When the driver asked to take something away, a call that
    /// changes the same in another way is put before the critic.
    ///
    /// # Allows
    /// The tool that was named and drafts that also hold it; prohibitions with a condition, of something
    /// else, or taken back; "don't forget to close it".
    ///
    /// # Remedy
    /// None: leave it, or ask.
    "call-substitution", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for (at, call) in view.draft.calls.iter().enumerate().filter(|(_, c)| c.by.is_none()) {
        let tool = view.policy.inventory.position(call.tool.as_str());
        let Some(tool) = tool.filter(|t| view.policy.inventory.at(*t).is_some_and(|t| t.is_write())) else { continue };
        // A call that needs a yes is asked about anew, and says what became of the last one.
        let owes_a_yes = view.owed.consents.iter().any(|debt| debt.call == at);
        if let Some(words) = (!owes_a_yes).then(|| turned_down(view, call)).flatten() {
            let because = format!("the driver was asked about {call} and said \"{words}\"");
            findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
        } else if let Some(words) = forbidden(view, tool)? {
            let because = format!("{call} is what the driver said not to do: \"{words}\"");
            findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
        } else if let Some(because) = wish::strayed(view, call, tool)? {
            findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
        } else if let Some(because) = unwanted(view, call, tool)? {
            let question = view.shall_i(call);
            findings.push(Finding::new(NAME, Tier::Hard, because).at(at).settled_by_yes(question));
        }
    }
    substituted(view, findings)
}

/// The driver's last words, where they turn down exactly this call.
fn turned_down<'h>(view: &View<'h>, call: &ToolCall) -> Option<&'h str> {
    declined(view.policy, view.history, call, || view.shall_i(call))
}

/// Why a write is nothing that was asked for, where a yes to exactly this call would settle it.
fn unwanted(view: &View<'_>, call: &ToolCall, tool: ToolIx) -> Result<Option<String>, Exhausted> {
    if !wish::needs_wish(view, call, tool) {
        return Ok(None);
    }
    if let Some(because) = wish::unrelated(view, call, tool)? {
        return Ok(Some(because));
    }
    let words = mood::unasked(view, tool)?;
    if words.is_none() || stored::names(view, tool)? {
        return Ok(None);
    }
    Ok(words.map(|words| format!("the driver spoke of it and did not ask for {call}: \"{words}\"")))
}

/// Utterances of the driver that are looked back at.
const KEPT: usize = 3;

/// The driver's words that forbid a tool, where its latest mention is that.
fn forbidden(view: &View<'_>, tool: ToolIx) -> Result<Option<String>, Exhausted> {
    for driver in view.heard()?.iter().take(KEPT) {
        view.spend(driver.words().len())?;
        if is_plain_yes(driver) {
            return Ok(None); // what was agreed to is consent's business
        }
        let mentions = driver.hits().iter().filter(|h| h.means(Meaning::Verb(tool)));
        let mut named = Vec::new();
        for verb in mentions {
            let clause = driver.clause(verb);
            let mut nouns = driver.nouns().filter(|h| driver.clause(h) == clause).peekable();
            // A verb alone names a tool that no other shares it with.
            let alone = nouns.peek().is_none() && verbs(view, driver, verb).len() == 1;
            if alone || nouns.any(|h| h.names(tool)) {
                named.push(verb);
            }
        }
        let Some(last) = named.last() else { continue };
        let clause = driver.clause(last);
        let words = driver.clauses().into_iter().find(|(c, _)| *c == clause).map(|(_, w)| w);
        return Ok(words.filter(|_| named.iter().any(|v| driver.clause(v) == clause && is_denied(driver, v))));
    }
    Ok(None)
}

/// Whether a verb is forbidden: right after a no or after another such verb, in a clause that neither asks nor sets a condition.
fn is_denied(driver: &Reading<'_>, verb: &Hit<'_>) -> bool {
    let (clause, sentence) = (driver.clause(verb), driver.sentence(verb));
    let report = driver.role(PhraseRole::Changed).any(|h| h.start == verb.start);
    // `don't start navigating` forbids both, `don't forget to start` neither.
    let acting = |at: usize| driver.role(PhraseRole::Change).any(|h| h.start <= at && at < h.end);
    let reaches = |h: &Hit<'_>| h.end <= verb.start && (h.end..verb.start).all(acting);
    let no = |h: &&Hit<'_>| driver.clause(h) == clause && reaches(h) && !h.is(PhraseRole::Admission);
    !report
        && driver.role(PhraseRole::No).any(|h| no(&h))
        && !driver.words().is_question(sentence)
        && !driver.sentence_has(sentence, PhraseRole::Contingent)
}

/// Calls that do something else to what the driver asked to take away.
fn substituted(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(driver) = view.driver().filter(|d| d.has(PhraseRole::Remove)) else { return Ok(()) };
    let removing = driver.role(PhraseRole::Remove).flat_map(|h| verbs(view, driver, h));
    let asked: Vec<ToolIx> = removing.filter(|t| driver.names(*t)).collect();
    let position = |name: &str| view.policy.inventory.position(name);
    let drafted: Vec<_> = view.draft.calls.iter().map(|c| position(c.tool.as_str())).collect();
    if drafted.iter().flatten().chain(view.this_turn().filter_map(|p| p.tool.as_ref())).any(|t| asked.contains(t)) {
        return Ok(());
    }
    for (at, (call, tool)) in view.draft.calls.iter().zip(&drafted).enumerate() {
        view.spend(asked.len())?;
        let Some(tool) = tool.filter(|_| call.by.is_none()) else { continue };
        let Some(other) = asked.iter().find(|a| share_an_attribute(view, **a, tool)) else { continue };
        let Some(other) = view.policy.inventory.at(*other) else { continue };
        let because = format!("the driver asked for what `{}` does; is {call} exactly that?", other.name);
        findings.push(Finding::new(NAME, Tier::Advisory, because).at(at));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen, parts};
    use super::*;
    use crate::model::PolicyHash;
    use crate::policy::{Policy, PolicyParts};
    use serde_json::json;

    /// A kitchen whose recipe can be loaded and whose list can be cleared.
    fn found(driver: &str, draft: &[(&str, serde_json::Value)]) -> usize {
        let mut parts = parts();
        let at =
            |parts: &PolicyParts, name: &str| parts.inventory.iter().position(|t| t.name.as_str() == name).unwrap();
        let (clear, load) = (at(&parts, "start_dishwasher"), at(&parts, "load_recipe"));
        let words = |word: &str| [("en".to_owned(), vec![word.to_owned()])].into();
        parts.model.tools[clear].touches = vec![crate::state::AttrIx(2)];
        parts.model.tools[clear].nouns = words("recipe");
        parts.model.tools[clear].verbs = words("remove");
        parts.model.tools[load].touches = vec![crate::state::AttrIx(2)];
        let policy = Policy::new(parts, PolicyHash([3; 32])).unwrap();
        let history = Talk::new(&policy).driver(driver).history();
        check(&GATE, &policy, &history, &calls(draft)).len()
    }

    #[test]
    fn blocks_nothing_but_puts_a_neighbour_before_the_critic() {
        assert_eq!(found("remove that recipe please", &[("load_recipe", json!({"recipe_id": "r_1"}))]), 1);
    }

    fn forbidden(driver: &[&str]) -> usize {
        let policy = kitchen();
        let mut talk = Talk::new(&policy);
        for said in driver {
            talk = talk.driver(said).assistant("Okay.");
        }
        let draft = calls(&[("start_dishwasher", json!({"program": "ECO"}))]);
        check(&GATE, &policy, &talk.history(), &draft).len()
    }

    #[test]
    fn blocks_what_the_driver_said_not_to_do() {
        assert_eq!(forbidden(&["load the dishwasher, but don't start the dishwasher yet"]), 1);
        assert_eq!(forbidden(&["do not run the washing yet", "what time is it"]), 1);
        assert_eq!(forbidden(&["don't start running the dishwasher"]), 1);
    }

    #[test]
    fn allows_what_was_taken_back_conditioned_or_only_sounds_so() {
        for driver in [
            &["don't start the dishwasher yet", "now start the dishwasher"] as &[&str],
            &["don't start the dishwasher yet", "yes"],
            &["don't start the dishwasher if it is empty"],
            &["don't forget to start the dishwasher"],
            &["don't start the oven"],
            &["why don't you start the dishwasher?"],
        ] {
            assert_eq!(forbidden(driver), 0, "{driver:?}");
        }
    }

    #[test]
    fn allows_what_was_asked_for_and_other_things() {
        assert_eq!(found("remove that recipe please", &[("start_dishwasher", json!({"program": "ECO"}))]), 0);
        assert_eq!(found("load that recipe please", &[("load_recipe", json!({"recipe_id": "r_1"}))]), 0);
        assert_eq!(found("remove that recipe, and turn on the oven", &[("switch_oven", json!({"on": true}))]), 0);
    }
}
