//! The observed and projected state of the car.

use serde::{Deserialize, Serialize};

use super::{CallRef, EffectModel};
use crate::model::Value;

/// Position of one field of one item in a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellIx(pub u16);

/// Where a value comes from: the provenance of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// Nothing ever said anything about it.
    #[default]
    Never,
    /// A result reported it.
    Observed(CallRef),
    /// A successful write of ours set it.
    Written(CallRef),
    /// A write that failed, or whose effect cannot be told, may have changed it.
    Lost(CallRef),
    /// A call of the draft, by position, would set it.
    Draft(u16),
}

/// One field: its value and where that comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// The value.
    pub value: Value,
    /// Its origin.
    pub origin: Origin,
    /// The write of ours that gave it this value, as long as every later reading agrees: that its
    /// effect stands is what makes an earlier call bind a later draft (design §4).
    pub writer: Option<CallRef>,
    /// The call since which the field is known to have this value: a later reading that agrees is no
    /// news, and a yes that was given before it still holds.
    pub since: Option<CallRef>,
    /// The value that was forgotten because the car changed by other hands, with its writer: a new
    /// reading that agrees shows that our effect still stands.
    forgotten: Option<(Value, CallRef)>,
}

/// All fields of a car. Cheap to clone: a draft is judged on a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct World {
    cells: Vec<Cell>,
}

impl World {
    /// A car of which nothing is known.
    pub fn new(model: &EffectModel) -> Self {
        Self { cells: vec![Cell::default(); usize::from(model.cells)] }
    }

    /// One field. A position outside the model is unknown.
    pub fn get(&self, cell: CellIx) -> &Cell {
        static NOTHING: Cell =
            Cell { value: Value::Unknown, origin: Origin::Never, writer: None, since: None, forgotten: None };
        self.cells.get(usize::from(cell.0)).unwrap_or(&NOTHING)
    }

    /// Sets one field.
    pub fn set(&mut self, cell: CellIx, value: Value, origin: Origin) {
        if let Some(slot) = self.cells.get_mut(usize::from(cell.0)) {
            let writer = match origin {
                Origin::Written(call) => Some(call),
                Origin::Observed(_) | Origin::Never if slot.value == value => slot.writer,
                Origin::Observed(_) => slot.forgotten.take().filter(|(was, _)| *was == value).map(|(_, call)| call),
                _ => None,
            };
            let since = match origin {
                Origin::Observed(_) if slot.value == value && slot.since.is_some() => slot.since,
                Origin::Observed(call) | Origin::Written(call) => Some(call),
                _ => None,
            };
            *slot = Cell { value, origin, writer, since, forgotten: None };
        }
    }

    /// Forgets every value, because the car changed by other hands; who wrote it is remembered until
    /// the next reading.
    pub fn forget(&mut self) {
        for cell in &mut self.cells {
            let value = std::mem::take(&mut cell.value);
            let forgotten = cell.writer.take().map(|call| (value, call)).or(cell.forgotten.take());
            *cell = Cell { forgotten, ..Cell::default() };
        }
    }

    /// All fields with their positions.
    pub fn cells(&self) -> impl Iterator<Item = (CellIx, &Cell)> {
        (0_u16..).map(CellIx).zip(&self.cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_that_agrees_brings_no_news_and_one_after_other_hands_does() {
        let mut world = World::new(&EffectModel { cells: 1, ..EffectModel::default() });
        let cell = CellIx(0);
        let mut since = |value: i64, origin| {
            world.set(cell, Value::Int(value), origin);
            world.get(cell).since
        };
        assert_eq!(since(3, Origin::Observed(CallRef(1))), Some(CallRef(1)));
        assert_eq!(since(3, Origin::Observed(CallRef(5))), Some(CallRef(1)));
        assert_eq!(since(4, Origin::Observed(CallRef(6))), Some(CallRef(6)));
        assert_eq!(since(4, Origin::Written(CallRef(7))), Some(CallRef(7)));
        world.forget();
        world.set(cell, Value::Int(4), Origin::Observed(CallRef(9)));
        assert_eq!(world.get(cell).since, Some(CallRef(9)));
    }
}
