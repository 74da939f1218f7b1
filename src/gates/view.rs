//! What a gate may see.

use std::cell::Cell;

use crate::model::Draft;
use crate::obligations::Owed;
use crate::policy::Policy;
use crate::state::History;

/// A gate used up its budget: its check is bounded, whatever the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the gate used up its budget of {BUDGET} steps")]
pub struct Exhausted;

/// Steps one gate may take on one draft: a step is a word, an argument or a past call looked at.
pub(super) const BUDGET: u32 = 200_000;

/// Everything a gate may see: borrowed, immutable, complete.
#[derive(Debug)]
pub struct View<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The conversation so far and the car as it is known.
    pub history: &'a History,
    /// The draft with its remedies in place; calls the student wrote keep their order.
    pub draft: &'a Draft,
    /// The draft as the student wrote it.
    pub drafted: &'a Draft,
    /// What the policy owes for it.
    pub owed: &'a Owed,
    fuel: Cell<u32>,
}

impl<'a> View<'a> {
    /// A view with a full budget.
    pub fn new(policy: &'a Policy, history: &'a History, drafted: &'a Draft, owed: &'a Owed) -> Self {
        Self { policy, history, draft: &owed.amended, drafted, owed, fuel: Cell::new(BUDGET) }
    }

    /// Takes steps off the budget. Call it in every loop over input.
    ///
    /// # Errors
    /// [`Exhausted`] when nothing is left.
    pub fn spend(&self, steps: usize) -> Result<(), Exhausted> {
        let left = u32::try_from(steps).ok().and_then(|s| self.fuel.get().checked_sub(s)).ok_or(Exhausted)?;
        self.fuel.set(left);
        Ok(())
    }

    /// Fills the budget for the next gate.
    pub(super) fn refuel(&self) {
        self.fuel.set(BUDGET);
    }
}
