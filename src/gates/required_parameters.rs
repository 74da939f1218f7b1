//! Arguments that a schema requires.

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::tools::ParamType;

gate! {
    /// Every call carries the arguments that its tool requires.
    ///
    /// # Why
    /// A call without them fails, and what it was meant to do stays open.
    ///
    /// # Blocks
    /// `set_fan_speed()` without a level. Arguments that the policy requires only in some cases (the
    /// kilometre of a charging search) are rules and come through `obligations`.
    ///
    /// # Allows
    /// A call that leaves out what is optional. A required parameter that this car lacks is not asked
    /// for: nobody could give it.
    ///
    /// # Remedy
    /// None: the value must come from the driver, a preference, a reading or a rule. For a number that a write
    /// sets, the question to the driver stands with the finding.
    "required-parameters", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for (at, call) in view.draft.calls.iter().enumerate() {
        let Some(tool) = view.policy.inventory.get(call.tool.as_str()) else { continue };
        view.spend(tool.params.len())?;
        for param in tool.params.iter().filter(|p| p.required && !call.arguments.contains_key(&p.name)) {
            if !view.history.removed().parameter(tool.name.as_str(), &param.name) {
                let because = format!("`{}` needs `{}`, and the call does not carry it", tool.name, param.name);
                let mut finding = Finding::new(NAME, Tier::Hard, because).at(at);
                if param.kind == ParamType::Number && tool.is_write() {
                    let holes = [("argument", view.argument(&param.name)), ("what", view.called(tool))];
                    finding = finding.saying(view.ask("which-value", &holes));
                }
                findings.push(finding);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
    use crate::tools::Removed;
    use serde_json::{Value as Json, json};

    fn found(tool: &str, arguments: Json, removed: Removed) -> usize {
        let policy = kitchen();
        let mut history = Talk::new(&policy).driver("wash up").history();
        history.set_removed(removed);
        check(&GATE, &policy, &history, &calls(&[(tool, arguments)])).len()
    }

    #[test]
    fn blocks_a_call_without_a_required_argument() {
        assert_eq!(found("move_door", json!({"door": "OVEN"}), Removed::default()), 1);
        assert_eq!(found("move_door", json!({}), Removed::default()), 2);
    }

    #[test]
    fn allows_leaving_out_what_is_optional() {
        assert_eq!(found("start_dishwasher", json!({"program": "ECO"}), Removed::default()), 0);
    }

    #[test]
    fn a_removed_parameter_is_not_asked_for() {
        let removed = Removed::from_iter(["move_door.percentage"]);
        assert_eq!(found("move_door", json!({"door": "OVEN"}), removed), 0);
    }
}
