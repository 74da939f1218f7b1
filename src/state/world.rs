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
        static NOTHING: Cell = Cell { value: Value::Unknown, origin: Origin::Never, writer: None, forgotten: None };
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
            *slot = Cell { value, origin, writer, forgotten: None };
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
