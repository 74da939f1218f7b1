//! The tables that all programs of a set share, filled while rules are lowered.

use crate::policy::{Slot, SlotIx, Tables};
use crate::state::Literal;

use super::fault::RuleFault;

/// Adds an entry once and answers with its position.
#[derive(Debug, Default)]
pub(crate) struct TableBuilder {
    tables: Tables,
}

impl TableBuilder {
    pub(crate) fn slot(&mut self, slot: Slot) -> Result<SlotIx, RuleFault> {
        intern(&mut self.tables.slots, slot).map(SlotIx)
    }

    pub(super) fn constant(&mut self, literal: Literal) -> Result<u16, RuleFault> {
        intern(&mut self.tables.constants, literal)
    }

    pub(super) fn set(&mut self, set: Vec<Literal>) -> Result<u16, RuleFault> {
        intern(&mut self.tables.sets, set)
    }

    pub(super) fn pattern(&mut self, pieces: Vec<String>) -> Result<u16, RuleFault> {
        intern(&mut self.tables.patterns, pieces)
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    pub(super) fn finish(self) -> Tables {
        self.tables
    }
}

fn intern<T: PartialEq>(table: &mut Vec<T>, entry: T) -> Result<u16, RuleFault> {
    let at = table.iter().position(|e| *e == entry).unwrap_or_else(|| {
        table.push(entry);
        table.len() - 1
    });
    u16::try_from(at).map_err(|_| RuleFault::TooLarge)
}
