//! Tool names and arguments against the inventory.

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::tools::FaultKind;

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
    /// was already repaired before this gate sees the draft.
    ///
    /// # Remedy
    /// None: the student must name what exists. What is missing in this car is said to the driver.
    "schema-validity", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for malformed in &view.draft.malformed {
        findings.push(Finding::new(
            NAME,
            Tier::Hard,
            format!("the call of `{}` cannot be read: {}", malformed.tool, malformed.why),
        ));
    }
    for (at, call) in view.draft.calls.iter().enumerate() {
        view.spend(1 + call.arguments.len())?;
        for fault in view.policy.inventory.check(call, view.history.removed()) {
            // A required argument that is missing is the business of `required-parameters`.
            if fault.kind != FaultKind::Missing {
                findings.push(Finding::new(NAME, Tier::Hard, fault.because).at(at));
            }
        }
    }
    Ok(())
}
