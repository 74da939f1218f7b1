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
                let name = view.policy.inventory.at(number.tool).map_or("", |t| t.name.as_str());
                let because = format!(
                    "nobody gave `{argument}` of `{name}` the value {value}: neither the driver nor a preference, a rule or a reading; ask the driver"
                );
                Finding::new(NAME, Tier::Hard, because)
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
