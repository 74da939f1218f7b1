//! Tool names and arguments against the inventory.

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier, ToolCall};
use crate::tools::{ArgumentFault, FaultKind};

gate! {
    /// Every call names a tool that exists here and carries arguments that its schema allows.
    ///
    /// # Why
    /// A call outside the declaration fails at the tool, or worse, does something else.
    ///
    /// # Blocks
    /// `open_close_window(window: "FRONT")`: `FRONT` is not among the declared windows. Types, bounds,
    /// steps, nested members and lists are checked too, and a tool or parameter that this car lacks is
    /// told apart from one that never existed.
    ///
    /// # Allows
    /// A call that its full JSON Schema accepts. A member in another spelling (`driver` for `DRIVER`)
    /// means only one thing; the repaired call is reported and used.
    ///
    /// # Remedy
    /// For a spelling, the repaired call. Else none: the student must name what exists. What is missing
    /// in this car is said to the driver.
    "schema-validity", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for malformed in &view.drafted.malformed {
        findings.push(Finding::new(
            NAME,
            Tier::Hard,
            format!("the call of `{}` cannot be read: {}", malformed.tool, malformed.why),
        ));
    }
    for (at, call) in view.drafted.calls.iter().enumerate() {
        if let Some(repaired) = repaired(view, call) {
            let because = format!("`{}` is another spelling of `{repaired}`", call);
            findings.push(Finding::new(NAME, Tier::Owed, because).at(at).with_remedy(vec![repaired]));
        }
    }
    for (at, call) in view.draft.calls.iter().enumerate() {
        view.spend(1 + call.arguments.len())?;
        for fault in faults(view, call) {
            let say = missing_here(view, call, &fault);
            let mut finding = Finding::new(NAME, Tier::Hard, fault.because).at(at);
            finding.fatal = say.is_some();
            finding.say = say;
            findings.push(finding);
        }
    }
    Ok(())
}

/// The call with its members spelled as declared, if that makes a valid call of it.
fn repaired(view: &View<'_>, call: &ToolCall) -> Option<ToolCall> {
    let repaired = view.policy.inventory.get(call.tool.as_str())?.repaired(call)?;
    faults(view, &repaired).is_empty().then_some(repaired)
}

/// What is wrong with a call, other than arguments it lacks: those are `required-parameters`' business.
fn faults(view: &View<'_>, call: &ToolCall) -> Vec<ArgumentFault> {
    let mut faults = view.policy.inventory.check(call, view.history.removed());
    faults.retain(|f| f.kind != FaultKind::Missing);
    if faults.iter().any(|f| f.kind == FaultKind::NotAMember)
        && let Some(repaired) = view.policy.inventory.get(call.tool.as_str()).and_then(|t| t.repaired(call))
    {
        faults = view.policy.inventory.check(&repaired, view.history.removed());
        faults.retain(|f| f.kind != FaultKind::Missing);
    }
    faults
}

fn missing_here(view: &View<'_>, call: &ToolCall, fault: &ArgumentFault) -> Option<String> {
    let tool = view.policy.inventory.get(call.tool.as_str())?;
    (fault.kind == FaultKind::RemovedTool).then(|| view.say("no-tool", &view.called(tool)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use crate::tools::Removed;
    use serde_json::json;

    fn found(draft: &Draft, removed: Removed) -> Vec<Finding> {
        let policy = kitchen();
        let mut history = Talk::new(&policy).driver("please turn on the hood and the oven").history();
        history.set_removed(removed);
        check(&GATE, &policy, &history, draft)
    }

    #[test]
    fn blocks_what_the_schema_rejects() {
        for (tool, arguments) in [
            ("move_door", json!({"door": "FRIDGE", "percentage": 50})),
            ("move_door", json!({"door": "OVEN", "percentage": 150})),
            ("move_door", json!({"door": "OVEN", "percentage": "fifty"})),
            ("move_door", json!({"door": ["OVEN"], "percentage": 50})),
            ("set_oven_temperature", json!({"degrees": 182})),
            ("get_oven_state", json!({"verbose": true})),
            ("open_fridge", json!({})),
        ] {
            let found = found(&calls(&[(tool, arguments)]), Removed::default());
            assert!(found.len() == 1 && found[0].tier == Tier::Hard, "{tool}: {found:?}");
        }
    }

    #[test]
    fn blocks_a_removed_tool_and_says_so_to_the_driver() {
        let found = found(&calls(&[("set_hood_speed", json!({"level": 1}))]), Removed::from_iter(["set_hood_speed"]));
        assert_eq!(found[0].say.as_deref(), Some("Sorry, this car can't do that: hood is not available here."));
    }

    #[test]
    fn blocks_unreadable_arguments() {
        let malformed = crate::model::Malformed { id: "a".into(), tool: "move_door".into(), why: "not JSON".into() };
        let draft = Draft { malformed: vec![malformed], ..Draft::default() };
        assert_eq!(found(&draft, Removed::default())[0].because, "the call of `move_door` cannot be read: not JSON");
    }

    #[test]
    fn allows_what_the_schema_accepts() {
        let draft = calls(&[("move_door", json!({"door": "OVEN", "percentage": 50.0})), ("get_oven_state", json!({}))]);
        assert_eq!(found(&draft, Removed::default()), []);
    }

    #[test]
    fn another_spelling_is_repaired_and_a_missing_argument_left_to_its_gate() {
        let found = found(&calls(&[("move_door", json!({"door": "oven"}))]), Removed::default());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].tier, &found[0].remedy[0].arguments["door"]), (Tier::Owed, &json!("OVEN")));
    }
}
