//! Promises and offers against what this car can do.

use super::offers::{Offer, is_usable, lost_parameter, meant, offers, share_an_attribute, writes};
use super::{Exhausted, Findings, View, gate};
use crate::model::{Draft, Finding, Tier};
use crate::obligations::owed;
use crate::policy::{Advice, Reading};

gate! {
    /// What a reply promises or offers can be done in this car.
    ///
    /// # Why
    /// A driver who says yes to an offer expects it to happen. An offer of something that this car lacks
    /// ends in a failed call or in a second answer that takes the first one back.
    ///
    /// # Blocks
    /// "Shall I open the sunshade?" where the tool that moves the sunshade, or a parameter that each of
    /// its calls needs, is removed; and "I can turn on the front defrost" where the policy demands with it
    /// a call that this car cannot make.
    ///
    /// # Allows
    /// What any available tool of that name and verb can do, what is denied ("I can't open it"), and an
    /// offer that names nothing a tool acts on. A verb alone ("navigate there") is only put before the
    /// critic where another tool changes the same.
    ///
    /// # Remedy
    /// None: say what this car lacks, and offer what it has.
    "promise-capability", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(reply) = view.reply().filter(|_| !view.history.removed().is_empty()) else { return Ok(()) };
    for offer in offers(view, reply)? {
        view.spend(offer.tools.len())?;
        if offer.tools.iter().any(|t| is_usable(view, *t)) {
            if let Some(finding) = companion_lacks(view, reply, &offer) {
                findings.push(finding);
                break;
            }
            continue;
        }
        let Some(tool) = offer.tools.first().and_then(|t| view.policy.inventory.at(*t)) else { continue };
        let lacks = lost_parameter(view, tool).filter(|_| !view.history.removed().tool(tool.name.as_str()));
        let lacks = lacks.map_or_else(|| tool.name.to_string(), |p| format!("{}.{p}", tool.name));
        let because = format!("the reply says \"{}\", but `{lacks}` is missing here; say so instead", offer.words);
        let tier = if offer.by_verb && has_substitute(view, &offer)? { Tier::Advisory } else { Tier::Hard };
        findings.push(Finding::new(NAME, tier, because));
        if tier == Tier::Hard {
            break; // one empty promise is enough to send the reply back
        }
    }
    Ok(())
}

/// Whether a usable tool changes what the offered one would.
fn has_substitute(view: &View<'_>, offer: &Offer) -> Result<bool, Exhausted> {
    let rivals = writes(view, |t| is_usable(view, t) && offer.tools.iter().any(|o| share_an_attribute(view, *o, t)))?;
    Ok(!rivals.is_empty())
}

/// What the policy demands along with an offered call, where this car lacks it.
fn companion_lacks(view: &View<'_>, reply: &Reading<'_>, offer: &Offer) -> Option<Finding> {
    let [tool] = offer.tools.as_slice() else { return None };
    let call = meant(view, reply, offer, *tool)?;
    let owed = owed(view.policy, view.history, &Draft::calls(vec![call]), Advice::Remedies);
    let conflict = owed.conflicts.into_iter().find(|c| c.lacking.is_some())?;
    // Who names the missing part with the offer has told of it.
    let lacking = conflict.lacking.as_ref().and_then(|t| view.policy.inventory.position(t.as_str()))?;
    if reply.names(lacking) {
        return None;
    }
    let because =
        format!("the reply says \"{}\", but that is not allowed without more: {}", offer.words, conflict.because);
    let finding = Finding::new(NAME, Tier::Hard, because);
    Some(match conflict.rules.first().and_then(|r| view.policy.rule(*r)) {
        Some(rule) => finding.by(&rule.id, &rule.source),
        None => finding,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, check, kitchen};
    use super::*;
    use crate::tools::Removed;

    fn found(reply: &str, removed: &[&str]) -> Vec<Tier> {
        let policy = kitchen();
        let mut history = Talk::new(&policy).driver("close the door and turn on the hood").history();
        history.set_removed(Removed::from_iter(removed));
        check(&GATE, &policy, &history, &Draft::reply(reply)).into_iter().map(|f| f.tier).collect()
    }

    #[test]
    fn blocks_a_promise_of_what_is_missing() {
        for reply in [
            "I'll close the door now.",
            "Want me to close the oven door?",
            "If you tell me how far, I can open the door.",
            "I'll set the hood to 2 and close the doors.",
            "Soll ich die Tür schließen?",
        ] {
            let missing = if reply.contains("hood") { ["set_hood_speed"] } else { ["move_door"] };
            assert_eq!(found(reply, &missing), [Tier::Hard], "{reply}");
        }
    }

    #[test]
    fn blocks_a_promise_whose_call_lacks_a_parameter() {
        assert_eq!(found("I'll open the door to 50 percent.", &["move_door.percentage"]), [Tier::Hard]);
        assert_eq!(found("I'll start the dishwasher.", &["start_dishwasher.delay_minutes"]), []);
    }

    #[test]
    fn allows_what_this_kitchen_has() {
        assert_eq!(found("I'll turn on the hood. Shall I close the door?", &["switch_oven"]), []);
    }

    #[test]
    fn allows_a_denial_and_a_quotation() {
        for reply in [
            "I can't close the door here.",
            "I'd write \"I will close the door.\" All right?",
            "I can check whether the door is open.",
            "I'm not able to open the door, but I can set the hood.",
        ] {
            assert_eq!(found(reply, &["move_door"]), [], "{reply}");
        }
    }

    #[test]
    fn allows_the_longer_name_of_something_else() {
        assert_eq!(found("Shall I set the oven temperature to 180?", &["switch_oven"]), []);
    }
}
