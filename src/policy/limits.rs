//! Hard limits: a file of the image, beneath every policy (design §6).

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::model::{ToolCall, Value};
use crate::state::{CellIx, EffectModel, World};

/// One limit that no policy and no update relaxes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardLimit {
    /// Name, for journals and errors.
    pub name: String,
    /// The tool it binds.
    pub tool: String,
    /// Only calls whose arguments have these values; none: every call.
    #[serde(default)]
    pub when: std::collections::BTreeMap<String, Json>,
    /// `Entity.attribute` that must be at most `at_most`, in natural units. Unknown denies.
    pub field: Option<String>,
    /// The greatest allowed reading of `field`, whatever its sign.
    pub at_most: Option<f64>,
    /// Milliseconds that the reading of `field` may be old; an older one is unknown. None: any age.
    pub fresh_ms: Option<u64>,
    /// An argument with a range, in natural units.
    pub argument: Option<String>,
    /// Smallest allowed argument.
    pub minimum: Option<f64>,
    /// Greatest allowed argument.
    pub maximum: Option<f64>,
    /// What the driver hears.
    pub say: String,
}

/// The limits of an image.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardLimits {
    /// The limits.
    #[serde(default)]
    pub limit: Vec<HardLimit>,
}

/// Why a file of limits cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HardLimitError {
    /// Not readable as TOML of this shape.
    #[error("the hard limits cannot be read: {0}")]
    Parse(#[from] toml::de::Error),
    /// A limit that limits nothing.
    #[error("the hard limit `{0}` limits nothing; give `field` with `at_most`, or `argument` with a range")]
    Empty(String),
    /// The policy does not declare the field that a limit reads.
    #[error(
        "the policy declares no `{field}`, which the hard limit `{limit}` reads; the policy cannot be used on this image"
    )]
    Field {
        /// The limit.
        limit: String,
        /// The field.
        field: String,
    },
}

impl HardLimit {
    /// How old the reading of its field may be.
    pub fn fresh(&self) -> Option<Duration> {
        self.fresh_ms.map(Duration::from_millis)
    }
}

impl HardLimits {
    /// Reads the image's file.
    ///
    /// # Errors
    /// [`HardLimitError`] naming the limit that is wrong.
    pub fn parse(text: &str) -> Result<Self, HardLimitError> {
        let limits: Self = toml::from_str(text)?;
        for l in &limits.limit {
            let reads = l.field.is_some() && l.at_most.is_some();
            let ranges = l.argument.is_some() && (l.minimum.is_some() || l.maximum.is_some());
            if !reads && !ranges {
                return Err(HardLimitError::Empty(l.name.clone()));
            }
        }
        Ok(limits)
    }

    /// Limits whose field the model does not declare: the daemon refuses such a set, `verify` and
    /// `replay` skip the limit and say so.
    ///
    /// # Errors
    /// [`HardLimitError::Field`] for the first one.
    pub fn fit(&self, model: &EffectModel) -> Result<(), HardLimitError> {
        match self.limit.iter().find(|l| l.field.as_ref().is_some_and(|f| field(model, f).is_none())) {
            Some(l) => Err(HardLimitError::Field { limit: l.name.clone(), field: l.field.clone().unwrap_or_default() }),
            None => Ok(()),
        }
    }

    /// The first limit that a call breaks in a world whose readings have no age, and how.
    pub fn broken_by<'a>(&'a self, model: &EffectModel, world: &World, call: &ToolCall) -> Option<Broken<'a>> {
        self.broken_at(model, world, call, &|_| None)
    }

    /// The first limit that a call breaks in a world, and how. `age` says how old a field's reading is.
    pub fn broken_at<'a>(
        &'a self,
        model: &EffectModel,
        world: &World,
        call: &ToolCall,
        age: &dyn Fn(CellIx) -> Option<Duration>,
    ) -> Option<Broken<'a>> {
        self.limit
            .iter()
            .filter(|l| {
                l.tool == call.tool.as_str() && l.when.iter().all(|(name, v)| call.arguments.get(name) == Some(v))
            })
            .find_map(|limit| {
                if breaks_range(limit, call) {
                    return Some(Broken { limit, unknown: None });
                }
                let unknown = breaks_field(limit, model, world, age)?;
                Some(Broken { limit, unknown })
            })
    }
}

/// A limit that a call breaks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Broken<'a> {
    /// The limit.
    pub limit: &'a HardLimit,
    /// The read that could still show that it is kept, when its field is not known. Until then it
    /// counts as broken: beneath the policy nothing is given the benefit of the doubt.
    pub unknown: Option<crate::tools::ToolIx>,
}

fn field(model: &EffectModel, name: &str) -> Option<crate::state::AttrIx> {
    let (entity, attribute) = name.split_once('.')?;
    model
        .attributes()
        .find(|(_, a)| a.name == attribute && model.entity(a.entity).is_some_and(|e| e.name == entity))
        .map(|(ix, _)| ix)
}

/// Whether a limit on a field is broken, and the field's read where it is merely not known.
fn breaks_field(
    limit: &HardLimit,
    model: &EffectModel,
    world: &World,
    age: &dyn Fn(CellIx) -> Option<Duration>,
) -> Option<Option<crate::tools::ToolIx>> {
    let (name, most) = (limit.field.as_ref()?, limit.at_most?);
    // A set that lacks the field was refused or is being replayed: then the limit is skipped.
    let ix = field(model, name)?;
    let attribute = model.attribute(ix)?;
    let mut unknown = None;
    for cell in (0..model.items(attribute)).filter_map(|i| model.cell(ix, i)) {
        let old = limit.fresh().zip(age(cell)).is_some_and(|(limit, age)| age > limit);
        match &world.get(cell).value {
            _ if old => unknown = Some(attribute.read),
            // Backwards is no standstill: how fast counts, not which way.
            Value::Int(i) if i.unsigned_abs() as f64 / f64::from(attribute.resolution.steps()) <= most => {}
            Value::Unknown => unknown = Some(attribute.read),
            _ => return Some(None),
        }
    }
    unknown
}

fn breaks_range(limit: &HardLimit, call: &ToolCall) -> bool {
    let Some(name) = &limit.argument else { return false };
    match call.arguments.get(name).and_then(Json::as_f64) {
        Some(n) => !n.is_finite() || limit.minimum.is_some_and(|m| n < m) || limit.maximum.is_some_and(|m| n > m),
        None => false, // absent or of another type: the schema gate's business
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{Talk, call, kitchen};
    use serde_json::json;

    #[test]
    fn a_reading_counts_by_its_amount_whichever_way_it_points() {
        let policy = kitchen();
        let text =
            "[[limit]]\nname = \"hot\"\ntool = \"move_door\"\nfield = \"Car.degrees\"\nat_most = 6\nsay = \"Hot.\"";
        let limits = HardLimits::parse(text).unwrap();
        let broken = |degrees: i64| {
            let read = Talk::new(&policy).done("get_oven_state", json!({}), json!({"oven_degrees": degrees})).history();
            limits.broken_by(&policy.model, read.world(), &call("move_door", json!({}))).is_some()
        };
        assert!(broken(20) && broken(-20) && broken(7) && broken(-7));
        assert!(!broken(6) && !broken(0) && !broken(-6));
    }
}
