//! Refusals of what this car can do, put before the critic.

use super::offers::{denials, is_usable};
use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};

gate! {
    /// A refusal of something that a tool of this car does is looked at.
    ///
    /// # Why
    /// A student that is unsure says no. The driver then does by hand what the car could have done.
    ///
    /// # Blocks
    /// Nothing by itself: "I can't close the window" while the tool for it exists and was never called goes
    /// before the critic, who knows whether the policy or a missing value stood against it.
    ///
    /// # Allows
    /// A refusal of what is removed here, of what was tried, and of what names no tool.
    ///
    /// # Remedy
    /// None: do it, or name the reason.
    "refusal", Advisory
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(reply) = view.reply() else { return Ok(()) };
    for denial in denials(view, reply)? {
        view.spend(1)?;
        let usable = denial.tools.iter().all(|t| is_usable(view, *t));
        let tried = denial.tools.iter().any(|t| view.history.calls_of(*t).next().is_some());
        let Some(tool) = denial.tools.first().filter(|_| usable && !tried) else { continue };
        let Some(tool) = view.policy.inventory.at(*tool) else { continue };
        let because = format!("the reply says \"{}\", but `{}` was never tried", denial.words, tool.name);
        findings.push(Finding::new(NAME, Tier::Advisory, because));
        break;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use crate::tools::Removed;
    use serde_json::json;

    fn found(reply: &str, removed: &[&str], tried: bool) -> usize {
        let policy = kitchen();
        let mut talk = Talk::new(&policy).driver("close the oven door");
        if tried {
            talk = talk.failed("move_door", json!({"door": "OVEN", "percentage": 0}));
        }
        let mut history = talk.history();
        history.set_removed(Removed::from_iter(removed));
        check(&GATE, &policy, &history, &Draft::reply(reply)).len()
    }

    #[test]
    fn blocks_nothing_but_puts_an_untried_refusal_before_the_critic() {
        assert_eq!(found("Sorry, I can't close the oven door.", &[], false), 1);
        assert_eq!(found("Ich kann die Tür nicht schließen.", &[], false), 1);
    }

    #[test]
    fn allows_a_refusal_of_what_is_missing_or_failed() {
        assert_eq!(found("Sorry, I can't close the oven door.", &["move_door"], false), 0);
        assert_eq!(found("Sorry, I can't close the oven door.", &[], true), 0);
        assert_eq!(found("I can close the oven door.", &[], false), 0);
    }
}
