//! Derived features: a closed set of functions over lists and items (design §2).

use serde::{Deserialize, Serialize};

use super::Val;
use crate::model::Value;
use crate::state::{AttrIx, CellIx, EffectModel, World};

/// A function of a derived feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DerivedFn {
    /// Length of a list.
    Count,
    /// First word of a list.
    First,
    /// Last word of a list.
    Last,
    /// Whether a switch is on for any item.
    Any,
    /// Whether a switch is on for every item.
    All,
    /// Smallest number over the items.
    Min,
    /// Greatest number over the items.
    Max,
    /// Greatest minus smallest.
    Gap,
}

impl DerivedFn {
    /// All functions with their names in `vehicle.toml`.
    pub const ALL: [(&'static str, Self); 8] = [
        ("count", Self::Count),
        ("first", Self::First),
        ("last", Self::Last),
        ("any", Self::Any),
        ("all", Self::All),
        ("min", Self::Min),
        ("max", Self::Max),
        ("gap", Self::Gap),
    ];
}

/// A feature computed from one attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Derived {
    /// Name in rules.
    pub name: String,
    /// The function.
    pub function: DerivedFn,
    /// The attribute it reads.
    pub attribute: AttrIx,
}

impl Derived {
    /// The feature's value in a world. Unknown as soon as an unknown field could change it.
    pub fn value<'a>(&self, model: &EffectModel, world: &'a World) -> Val<'a> {
        let Some(attribute) = model.attribute(self.attribute) else { return Val::Error };
        let cells = (0..model.items(attribute)).map(|i| &world.get(CellIx(attribute.base.0.saturating_add(i))).value);
        match self.function {
            DerivedFn::Count | DerivedFn::First | DerivedFn::Last => list(self.function, cells.into_iter().next()),
            DerivedFn::Any => decide(cells, true),
            DerivedFn::All => decide(cells, false),
            DerivedFn::Min | DerivedFn::Max | DerivedFn::Gap => extreme(self.function, cells),
        }
    }
}

fn list(function: DerivedFn, value: Option<&Value>) -> Val<'_> {
    match value {
        Some(Value::List(items)) => match function {
            DerivedFn::Count => i64::try_from(items.len()).map_or(Val::Error, Val::Int),
            DerivedFn::First => items.first().map_or(Val::Unknown, |w| Val::Word(w)),
            _ => items.last().map_or(Val::Unknown, |w| Val::Word(w)),
        },
        Some(Value::Unknown) | None => Val::Unknown,
        Some(_) => Val::Error,
    }
}

/// `any` with `decisive` true, `all` with `decisive` false.
fn decide<'a>(values: impl Iterator<Item = &'a Value>, decisive: bool) -> Val<'static> {
    let mut unknown = false;
    for value in values {
        match value {
            Value::Bool(b) if *b == decisive => return Val::Bool(decisive),
            Value::Bool(_) => {}
            Value::Unknown => unknown = true,
            _ => return Val::Error,
        }
    }
    if unknown { Val::Unknown } else { Val::Bool(!decisive) }
}

fn extreme<'a>(function: DerivedFn, values: impl Iterator<Item = &'a Value>) -> Val<'static> {
    let mut range: Option<(i64, i64)> = None;
    for value in values {
        match value {
            Value::Int(i) => range = Some(range.map_or((*i, *i), |(low, high)| (low.min(*i), high.max(*i)))),
            Value::Unknown => return Val::Unknown,
            _ => return Val::Error,
        }
    }
    match (range, function) {
        (None, _) => Val::Unknown,
        (Some((low, _)), DerivedFn::Min) => Val::Int(low),
        (Some((_, high)), DerivedFn::Max) => Val::Int(high),
        (Some((low, high)), _) => high.checked_sub(low).map_or(Val::Error, Val::Int),
    }
}
