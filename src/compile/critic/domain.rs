//! What every real request has in common: members of enumerations, declared ranges, counts that are
//! not negative. Cedar's types are wider, and a proof about calls that no tool takes proves nothing.

use serde_json::Value as Json;

use super::expr::{Expr, Path, quoted};
use super::subject::Env;
use crate::compile::vehicle::{self, Found};
use crate::policy::{DerivedFn, PolicyParts};
use crate::state::{AttrType, Attribute, EntityIx, NowField};
use crate::tools::{Param, ParamType, Tool, ToolIx};

/// Beyond this JSON does not tell whole numbers apart.
const EXACT: i64 = 1 << 53;
/// More calls, legs or entries than any conversation has.
const MANY: i64 = 1_000_000;

/// What a member can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Domain {
    /// On or off.
    Switch,
    /// A number of this range, in resolution units.
    Range(i64, i64),
    /// One of these words.
    Words(Vec<String>),
    /// A set of these words.
    Parts(Vec<String>),
    /// Any word.
    Text,
    /// Not known.
    Open,
}

impl PolicyParts {
    /// The tool that an action of ours stands for.
    pub(super) fn tool_named(&self, name: &str) -> Option<(ToolIx, &Tool)> {
        self.inventory.iter().zip(0_u16..).find(|(t, _)| t.name.as_str() == name).map(|(t, ix)| (ToolIx(ix), t))
    }

    /// The entity of that name.
    pub(super) fn entity_named(&self, name: &str) -> Option<EntityIx> {
        let at = self.model.entities.iter().position(|e| e.name == name)?;
        u16::try_from(at).ok().map(EntityIx)
    }

    /// The attribute that a member reads.
    pub(super) fn attribute_of(&self, env: &Env, path: &[String]) -> Option<&Attribute> {
        let (entity, name) = match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["resource", name] => (self.entity_named(&env.resource)?, name.strip_prefix("before_").unwrap_or(name)),
            ["context", "before" | "car", name] => (EntityIx::CAR, *name),
            _ => return None,
        };
        self.model.attributes.iter().find(|a| a.entity == entity && a.name == name)
    }

    /// The argument that a member reads.
    pub(super) fn param_of(&self, env: &Env, path: &[String]) -> Option<&Param> {
        match path {
            [context, input, name] if context == "context" && input == "input" => {
                self.tool_named(env.action_name())?.1.param(name)
            }
            _ => None,
        }
    }

    /// What a member can be.
    pub(super) fn domain(&self, env: &Env, path: &[String]) -> Domain {
        if let Some(param) = self.param_of(env, path) {
            return of_param(param, &param.kind);
        }
        if let Some(attribute) = self.attribute_of(env, path) {
            return self.of_attribute(attribute);
        }
        match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["resource", "addressed"] | ["context", "session", "last_error"] | ["context", "reply", _] => {
                Domain::Switch
            }
            ["context", "now", field] => of_now(field),
            ["context", "draft", feature] => self.of_draft(env, feature),
            ["context", "legs", "open" | "others"] | ["context", "told" | "untold", _] => Domain::Range(0, MANY),
            ["context", "legs", _] => Domain::Switch,
            ["context", name] => self.of_derived(name.strip_prefix("before_").unwrap_or(name)),
            ["context", name, field] => self.of_observation(name, field),
            _ => Domain::Open,
        }
    }

    fn of_draft(&self, env: &Env, feature: &str) -> Domain {
        let called = self.tool_named(env.action_name());
        let member = match feature {
            "calls" => called.is_some(),
            "writes" => called.is_some_and(|(_, t)| t.is_write()),
            group => {
                let tools = self.model.groups.iter().find(|(name, _)| name == group).map(|(_, tools)| tools);
                called.zip(tools).is_some_and(|((ix, _), tools)| tools.contains(&ix))
            }
        };
        Domain::Range(i64::from(member), MANY)
    }

    fn of_attribute(&self, attribute: &Attribute) -> Domain {
        let read = attribute.read.and_then(|ix| self.inventory.get(usize::from(ix.0)));
        let items = self.model.entity(attribute.entity).map(|e| e.items.as_slice()).unwrap_or_default();
        let field = items.first().map_or_else(|| attribute.field.clone(), |i| attribute.field.replacen('*', i, 1));
        let schema = read.and_then(|tool| self.declared(tool, &field));
        of_schema(&attribute.kind, schema.as_ref(), attribute.resolution.steps())
    }

    fn of_observation(&self, name: &str, field: &str) -> Domain {
        let Some(observation) = self.model.observations.iter().find(|o| o.name == name) else { return Domain::Open };
        let Some(field) = observation.fields.iter().find(|f| f.name == field) else { return Domain::Open };
        let tool = self.inventory.get(usize::from(observation.read.0));
        let schema = tool.and_then(|tool| self.declared(tool, &field.field));
        of_schema(&field.kind, schema.as_ref(), field.resolution.steps())
    }

    /// What a result schema says of a field.
    fn declared(&self, tool: &Tool, field: &str) -> Option<Json> {
        let schema: Json = serde_json::from_str(tool.output.as_ref()?).ok()?;
        match vehicle::find(&schema, self.model.result.payload.as_deref(), field) {
            Found::Declared(found) => Some(found.clone()),
            Found::Open | Found::Missing(_) => None,
        }
    }

    fn of_derived(&self, name: &str) -> Domain {
        let Some(derived) = self.derived.iter().find(|d| d.name == name) else { return Domain::Open };
        let of = self.model.attribute(derived.attribute).map(|a| self.of_attribute(a));
        match (derived.function, of) {
            (DerivedFn::Any | DerivedFn::All, _) => Domain::Switch,
            (DerivedFn::Count, _) => Domain::Range(0, MANY),
            (DerivedFn::Gap, Some(Domain::Range(low, high))) => Domain::Range(0, high.saturating_sub(low)),
            (DerivedFn::Min | DerivedFn::Max, Some(range)) => range,
            (DerivedFn::First | DerivedFn::Last, _) => Domain::Text,
            _ => Domain::Open,
        }
    }

    /// The condition that every real request with these members meets.
    pub(super) fn assumption(&self, env: &Env, paths: &[Path]) -> Expr {
        let texts = paths.iter().filter_map(|path| self.assumed(env, path));
        Expr::all(texts.filter_map(|text| Expr::parse(&text)))
    }

    fn assumed(&self, env: &Env, path: &Path) -> Option<String> {
        let name = path.join(".");
        let list = |words: &[String]| {
            let quoted: Vec<String> = words.iter().map(|w| quoted(w)).collect();
            format!("[{}]", quoted.join(", "))
        };
        let text = match self.domain(env, path) {
            Domain::Range(low, high) => format!("{name} >= {low} && {name} <= {high}"),
            Domain::Words(words) => format!("{}.contains({name})", list(&words)),
            Domain::Parts(words) => format!("{}.containsAll({name})", list(&words)),
            Domain::Switch | Domain::Text | Domain::Open => return None,
        };
        Some(match self.param_of(env, path).filter(|p| !p.required) {
            // Asked first in each branch: Cedar lets nobody read what may be absent.
            Some(param) => {
                let has = format!("context.input has {}", param.name);
                format!("({has} && ({text}) || !({has}))")
            }
            None => format!("({text})"),
        })
    }
}

fn of_param(param: &Param, kind: &ParamType) -> Domain {
    match kind {
        ParamType::Bool => Domain::Switch,
        ParamType::Number => {
            let steps = f64::from(param.resolution.steps());
            Domain::Range(scaled(param.minimum, steps, -EXACT), scaled(param.maximum, steps, EXACT))
        }
        ParamType::Enum(words) => Domain::Words(words.clone()),
        ParamType::Text => Domain::Text,
        ParamType::List(item) => match item.as_ref() {
            ParamType::Enum(words) => Domain::Parts(words.clone()),
            _ => Domain::Open,
        },
        ParamType::Object(_) | ParamType::Any => Domain::Open,
    }
}

fn of_schema(kind: &AttrType, schema: Option<&Json>, steps: u32) -> Domain {
    let number = |key: &str| schema.and_then(|s| s.get(key)).and_then(Json::as_f64);
    let steps = f64::from(steps);
    match kind {
        AttrType::Bool => Domain::Switch,
        AttrType::Int => {
            Domain::Range(scaled(number("minimum"), steps, -EXACT), scaled(number("maximum"), steps, EXACT))
        }
        AttrType::Word => schema
            .and_then(vehicle::words)
            .map_or(Domain::Text, |words| Domain::Words(words.into_iter().map(str::to_owned).collect())),
        AttrType::Parts(parts) => Domain::Parts(parts.clone()),
        AttrType::List => Domain::Open,
    }
}

fn of_now(field: &str) -> Domain {
    let range = NowField::by_name(field).and_then(NowField::range);
    range.map_or(Domain::Text, |(low, high)| Domain::Range(low, high))
}

/// A bound in resolution units.
fn scaled(bound: Option<f64>, steps: f64, otherwise: i64) -> i64 {
    // Bounds of schemas are small; what is not saturates.
    #[allow(clippy::cast_possible_truncation, reason = "`as` saturates, which is what a bound beyond i64 means")]
    bound.map_or(otherwise, |b| (b * steps).round() as i64)
}
