//! From a path in a rule (`context.input.on`, `resource.position`) to the slot that provides it.

use super::fault::RuleFault;
use super::scope::Scope;
use crate::compile::ground::{Ground, LEGS};
use crate::compile::names::Near;
use crate::model::Resolution;
use crate::policy::{Derived, DerivedFn, DraftFeature, LegFeature, ReplyFeature, Slot, Trigger, When};
use crate::state::{AttrType, EntityIx, GroupIx, NowField};
use crate::tools::ParamType;

/// What an expression yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A truth value.
    Bool,
    /// A number; the steps per unit where it is read from somewhere.
    Number(Option<Resolution>),
    /// A word.
    Word,
    /// A set of words.
    Words,
    /// A set of numbers.
    Numbers(Resolution),
}

/// A slot and what it yields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) slot: Slot,
    pub(crate) kind: Kind,
}

/// Where a path begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Root {
    Resource,
    Context,
}

/// Resolves a path.
pub(crate) fn read(ground: &Ground, scope: &Scope, root: Root, path: &[&str]) -> Result<Reading, RuleFault> {
    let whole = || spell(root, path);
    match (root, path) {
        (Root::Resource, ["addressed"]) => Ok(Reading { slot: Slot::Addressed, kind: Kind::Bool }),
        (Root::Resource, [name]) => {
            let (when, plain) = moment(name);
            attribute(ground, scope.entity, plain, when, &whole())
        }
        (Root::Context, ["input", rest @ ..]) if !rest.is_empty() => input(ground, scope, rest),
        (Root::Context, ["before", name]) => car(ground, name, When::Before, &whole()),
        (Root::Context, ["car", name]) => car(ground, name, When::After, &whole()),
        (Root::Context, ["draft", name]) => draft(ground, name, &whole()),
        (Root::Context, ["session", "last_error"]) => Ok(Reading { slot: Slot::LastError, kind: Kind::Bool }),
        (Root::Context, ["session", "reads"]) => Err(RuleFault::SessionSet("reads")),
        (Root::Context, ["session", "called"]) => Err(RuleFault::SessionSet("called")),
        (Root::Context, ["now", name]) => now(name, &whole()),
        (Root::Context, ["reply", "question"]) if scope.trigger == Trigger::Reply => {
            Ok(Reading { slot: Slot::Reply(ReplyFeature::Question), kind: Kind::Bool })
        }
        (Root::Context, [which @ ("told" | "untold"), name]) => {
            let listings = &ground.model.listings;
            let Some((_, listing)) = listings.iter().zip(0_u16..).find(|(l, _)| l.name == *name) else {
                return Err(no_path(&whole(), name, listings.iter().map(|l| l.name.as_str())));
            };
            let slot = Slot::Listed { listing, told: *which == "told" };
            Ok(Reading { slot, kind: Kind::Number(Some(Resolution::ONE)) })
        }
        (Root::Context, ["legs", name]) => legs(ground, name, &whole()),
        (Root::Context, [observation, field]) => observed(ground, observation, field, &whole()),
        (Root::Context, [name]) => derived(ground, name, &whole()),
        _ => Err(RuleFault::NotAValue(whole())),
    }
}

/// `context.input.on`
pub(super) fn spell(root: Root, path: &[&str]) -> String {
    let root = match root {
        Root::Resource => "resource",
        Root::Context => "context",
    };
    std::iter::once(root).chain(path.iter().copied()).collect::<Vec<_>>().join(".")
}

fn moment(name: &str) -> (When, &str) {
    name.strip_prefix("before_").map_or((When::After, name), |plain| (When::Before, plain))
}

fn no_path<'n>(path: &str, last: &str, known: impl Iterator<Item = &'n str>) -> RuleFault {
    RuleFault::NoPath { path: path.to_owned(), near: Near::among(last, known) }
}

fn kind_of(kind: &AttrType, resolution: Resolution) -> Kind {
    match kind {
        AttrType::Bool => Kind::Bool,
        AttrType::Int => Kind::Number(Some(resolution)),
        AttrType::Word => Kind::Word,
        AttrType::Parts(_) | AttrType::List => Kind::Words,
    }
}

fn attribute(ground: &Ground, entity: EntityIx, name: &str, when: When, path: &str) -> Result<Reading, RuleFault> {
    let Some((attribute, declared)) = ground.attribute(entity, name) else {
        return Err(no_path(path, name, ground.attributes(entity).map(|(_, a)| a.name.as_str())));
    };
    let kind = kind_of(&declared.kind, declared.resolution);
    Ok(Reading { slot: Slot::Resource { attribute, when }, kind })
}

fn car(ground: &Ground, name: &str, when: When, path: &str) -> Result<Reading, RuleFault> {
    let reading = attribute(ground, EntityIx::CAR, name, when, path)?;
    let slot = match reading.slot {
        Slot::Resource { attribute, when } => Slot::Car { attribute, when },
        other => other,
    };
    Ok(Reading { slot, kind: reading.kind })
}

/// An argument. Tools that do not take it are passed over: Cedar asks for `has` there.
fn input(ground: &Ground, scope: &Scope, path: &[&str]) -> Result<Reading, RuleFault> {
    let whole = spell(Root::Context, &[&["input"], path].concat());
    let mut found: Option<(Kind, Resolution)> = None;
    for param in scope.inputs(ground, path).into_iter().flatten() {
        let resolution = param.resolution;
        let kind = match &param.kind {
            ParamType::Bool => Kind::Bool,
            ParamType::Number => Kind::Number(Some(resolution)),
            ParamType::Text | ParamType::Enum(_) => Kind::Word,
            ParamType::List(item) => match item.as_ref() {
                ParamType::Text | ParamType::Enum(_) => Kind::Words,
                ParamType::Number => Kind::Numbers(resolution),
                _ => return Err(RuleFault::NotAValue(whole)),
            },
            ParamType::Object(_) | ParamType::Any => return Err(RuleFault::NotAValue(whole)),
        };
        if found.is_some_and(|(k, _)| k != kind) {
            return Err(RuleFault::MixedSteps(whole));
        }
        found = Some((kind, resolution));
    }
    let Some((kind, resolution)) = found else {
        let known: Vec<&str> = scope.tools(ground).flat_map(|t| &t.params).map(|p| p.name.as_str()).collect();
        return Err(no_path(&whole, path.last().copied().unwrap_or_default(), known.into_iter()));
    };
    Ok(Reading { slot: Slot::Input { path: path.join("."), resolution }, kind })
}

fn draft(ground: &Ground, name: &str, path: &str) -> Result<Reading, RuleFault> {
    let groups = &ground.model.groups;
    let feature = match name {
        "calls" => DraftFeature::Calls,
        "writes" => DraftFeature::Writes,
        _ => match groups.iter().zip(0_u16..).find(|((group, _), _)| group == name) {
            Some((_, ix)) => DraftFeature::Group(GroupIx(ix)),
            None => {
                let known = ["calls", "writes"].into_iter().chain(groups.iter().map(|(g, _)| g.as_str()));
                return Err(no_path(path, name, known));
            }
        },
    };
    Ok(Reading { slot: Slot::Draft(feature), kind: Kind::Number(Some(Resolution::ONE)) })
}

fn legs(ground: &Ground, name: &str, path: &str) -> Result<Reading, RuleFault> {
    let facts = ground.model.tour.iter().flat_map(|tour| &tour.facts);
    let (feature, kind) = match name {
        "open" => (LegFeature::Open, Kind::Number(Some(Resolution::ONE))),
        "others" => (LegFeature::Others, Kind::Number(Some(Resolution::ONE))),
        _ => match facts.clone().zip(0_u16..).find(|(fact, _)| fact.name == name) {
            Some((_, ix)) => (LegFeature::Declared(ix), Kind::Bool),
            None => return Err(no_path(path, name, LEGS.into_iter().chain(facts.map(|fact| fact.name.as_str())))),
        },
    };
    Ok(Reading { slot: Slot::Legs(feature), kind })
}

fn now(name: &str, path: &str) -> Result<Reading, RuleFault> {
    let Some(field) = NowField::by_name(name) else {
        return Err(no_path(path, name, NowField::ALL.iter().map(|f| f.name())));
    };
    let kind = if field == NowField::Location { Kind::Word } else { Kind::Number(Some(Resolution::ONE)) };
    Ok(Reading { slot: Slot::Now(field), kind })
}

fn observed(ground: &Ground, observation: &str, field: &str, path: &str) -> Result<Reading, RuleFault> {
    let observations = &ground.model.observations;
    let Some((found, observation_ix)) = observations.iter().zip(0_u16..).find(|(o, _)| o.name == observation) else {
        return Err(no_path(path, observation, observations.iter().map(|o| o.name.as_str())));
    };
    let Some((declared, field_ix)) = found.fields.iter().zip(0_u16..).find(|(f, _)| f.name == field) else {
        return Err(no_path(path, field, found.fields.iter().map(|f| f.name.as_str())));
    };
    let slot = Slot::Observed { observation: observation_ix, field: field_ix };
    Ok(Reading { slot, kind: kind_of(&declared.kind, declared.resolution) })
}

fn derived(ground: &Ground, name: &str, path: &str) -> Result<Reading, RuleFault> {
    let (when, plain) = moment(name);
    let Some((found, ix)) = ground.derived.iter().zip(0_u16..).find(|(d, _)| d.name == plain) else {
        return Err(no_path(path, plain, ground.derived.iter().map(|d| d.name.as_str())));
    };
    let resolution = derived_resolution(ground, found);
    let kind = kind_of(&Ground::derived_type(found), resolution);
    Ok(Reading { slot: Slot::Derived { derived: ix, when }, kind })
}

fn derived_resolution(ground: &Ground, derived: &Derived) -> Resolution {
    match derived.function {
        DerivedFn::Min | DerivedFn::Max | DerivedFn::Gap => {
            ground.model.attribute(derived.attribute).map_or(Resolution::ONE, |a| a.resolution)
        }
        _ => Resolution::ONE,
    }
}
