//! The states in which two conditions are tried: every combination of values that they can tell apart.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::compile::ground::Ground;
use crate::policy::{Frame, LegFeature, Op, Program, Slot, SlotIx, Tables, Val, Vocabulary};
use crate::state::{AttrIx, AttrType, EffectModel, EntityIx, Literal, NowField};
use crate::tools::{Param, ParamType, ToolIx};

/// Values that one slot is tried with: more tell two conditions of a policy apart no better.
const VALUES: usize = 16;
/// Combinations that are tried; beyond that every combination has the same chance.
pub(super) const STATES: usize = 1 << 16;

/// One value of a slot.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Absent,
    Bool(bool),
    Int(i64),
    Word(String),
    Parts(String),
    List(Vec<Arc<str>>),
    Json(Vec<Json>),
}

impl Value {
    fn val(&self) -> Val<'_> {
        match self {
            Self::Absent => Val::Absent,
            Self::Bool(b) => Val::Bool(*b),
            Self::Int(i) => Val::Int(*i),
            Self::Word(w) => Val::Word(w),
            Self::Parts(p) => Val::Parts(p),
            Self::List(l) => Val::List(l),
            Self::Json(j) => Val::Json(j),
        }
    }
}

/// Slots with the values that each is tried with.
pub(super) struct States<'g> {
    model: &'g EffectModel,
    slots: Vec<Slot>,
    values: Vec<Vec<Value>>,
}

/// One combination.
#[derive(Debug, Clone)]
pub(super) struct State {
    at: Vec<usize>,
}

impl<'g> States<'g> {
    /// The states of programs at a call of a tool, or at a reply.
    pub(super) fn of(ground: &'g Ground, tool: Option<ToolIx>, programs: &[(&Program, &Tables)]) -> Self {
        let pool = Pool::of(programs);
        let mut slots: Vec<Slot> = Vec::new();
        for (program, tables) in programs {
            for slot in program.slots().filter_map(|ix| tables.slot(ix)).map(|slot| canonical(&ground.model, slot)) {
                if !slots.contains(&slot) {
                    slots.push(slot);
                }
            }
        }
        let values = slots.iter().map(|slot| pool.values(ground, tool, slot)).collect();
        Self { model: &ground.model, slots, values }
    }

    /// How many combinations there are.
    pub(super) fn total(&self) -> usize {
        self.values.iter().fold(1, |n: usize, values| n.saturating_mul(values.len().max(1)))
    }

    /// All combinations, or as many drawn as are tried; the same every time.
    pub(super) fn all(&self) -> impl Iterator<Item = State> + '_ {
        let total = self.total();
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        (0..total.min(STATES)).map(move |number| {
            let mut rest = number;
            let at = self.values.iter().map(|values| {
                let radix = values.len().max(1);
                if total <= STATES {
                    let choice = rest % radix;
                    rest /= radix;
                    choice
                } else {
                    // Knuth's MMIX generator; its high bits are the good ones.
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    usize::try_from(random >> 33).unwrap_or(0) % radix
                }
            });
            State { at: at.collect() }
        })
    }

    /// A program's view of a state.
    pub(super) fn view<'a>(&'a self, state: &'a State, tables: &'a Tables) -> View<'a> {
        View { states: self, state, tables }
    }

    /// A state for a person: the call's arguments, then the car.
    pub(super) fn describe(&self, words: &Vocabulary<'_>, state: &State) -> String {
        let mut told: Vec<String> = Vec::new();
        for ((slot, values), at) in self.slots.iter().zip(&self.values).zip(&state.at) {
            let name = words.named(slot);
            told.push(match values.get(*at) {
                None | Some(Value::Absent) => format!("{name} left out"),
                Some(Value::Bool(b)) => format!("{name} = {b}"),
                Some(Value::Int(i)) => format!("{name} = {}", words.number(slot, *i)),
                Some(Value::Word(w) | Value::Parts(w)) => format!("{name} = {w:?}"),
                Some(Value::List(l)) => format!("{name} = {l:?}"),
                Some(Value::Json(j)) => format!("{name} = {}", Json::from(j.clone())),
            });
        }
        told.sort();
        if told.is_empty() { "any state".to_owned() } else { told.join(", ") }
    }
}

/// A program's view of a state.
pub(super) struct View<'a> {
    states: &'a States<'a>,
    state: &'a State,
    tables: &'a Tables,
}

impl Frame for View<'_> {
    fn load(&self, slot: SlotIx) -> Val<'_> {
        let Some(slot) = self.tables.slot(slot).map(|slot| canonical(self.states.model, slot)) else {
            return Val::Error;
        };
        let at = self.states.slots.iter().position(|s| *s == slot);
        let value = at.and_then(|at| self.states.values.get(at)?.get(*self.state.at.get(at)?));
        value.map_or(Val::Unknown, Value::val)
    }
}

/// The car's own attributes have two names in rules about the car: both are the same field.
fn canonical(model: &EffectModel, slot: &Slot) -> Slot {
    match slot {
        Slot::Resource { attribute, when }
            if model.attribute(*attribute).is_some_and(|a| a.entity == EntityIx::CAR) =>
        {
            Slot::Car { attribute: *attribute, when: *when }
        }
        slot => slot.clone(),
    }
}

/// Constants that programs compare with.
struct Pool {
    numbers: Vec<i64>,
    words: Vec<String>,
}

impl Pool {
    fn of(programs: &[(&Program, &Tables)]) -> Self {
        let mut numbers: BTreeSet<i64> = BTreeSet::from([0]);
        let mut words: BTreeSet<String> = BTreeSet::new();
        let mut take = |literal: &Literal| match literal {
            Literal::Int(i) => numbers.extend([i.saturating_sub(1), *i, i.saturating_add(1)]),
            Literal::Text(t) => _ = words.insert(t.clone()),
            Literal::Bool(_) | Literal::Number(_) => {}
        };
        for (program, tables) in programs {
            for op in &program.ops {
                match op {
                    Op::Constant(at) => tables.constants.get(usize::from(*at)).into_iter().for_each(&mut take),
                    Op::InSet(at) => tables.sets.get(usize::from(*at)).into_iter().flatten().for_each(&mut take),
                    Op::Like(at) => {
                        if let Some(pieces) = tables.patterns.get(usize::from(*at)) {
                            take(&Literal::Text(pieces.concat()));
                            take(&Literal::Text(pieces.join("x")));
                        }
                    }
                    _ => {}
                }
            }
        }
        let words = words.into_iter().chain(["something else".to_owned()]).collect();
        Self { numbers: numbers.into_iter().collect(), words }
    }

    fn values(&self, ground: &Ground, tool: Option<ToolIx>, slot: &Slot) -> Vec<Value> {
        let mut values = match slot {
            Slot::Input { path, .. } => self.argument(ground, tool, path),
            Slot::Resource { attribute, .. } | Slot::Car { attribute, .. } => self.attribute(ground, *attribute),
            Slot::Observed { observation, field } => {
                let found = ground.model.observations.get(usize::from(*observation));
                found.and_then(|o| o.fields.get(usize::from(*field))).map(|f| self.kind(&f.kind)).unwrap_or_default()
            }
            Slot::Derived { derived, .. } => {
                let found = ground.derived.get(usize::from(*derived));
                found.map(|d| self.kind(&Ground::derived_type(d))).unwrap_or_default()
            }
            Slot::Now(NowField::Location) | Slot::Context(_) => self.words(),
            Slot::Addressed | Slot::Read(_) | Slot::Called(_) | Slot::LastError | Slot::Reply(_) => switch(),
            Slot::Legs(LegFeature::Declared(_)) => switch(),
            Slot::Draft(_) | Slot::Now(_) | Slot::Listed { .. } | Slot::Legs(_) => self.numbers(),
        };
        values.truncate(VALUES);
        values
    }

    fn numbers(&self) -> Vec<Value> {
        self.numbers.iter().copied().map(Value::Int).collect()
    }

    fn words(&self) -> Vec<Value> {
        self.words.iter().cloned().map(Value::Word).collect()
    }

    fn attribute(&self, ground: &Ground, attribute: AttrIx) -> Vec<Value> {
        ground.model.attribute(attribute).map(|a| self.kind(&a.kind)).unwrap_or_default()
    }

    fn kind(&self, kind: &AttrType) -> Vec<Value> {
        match kind {
            AttrType::Bool => switch(),
            AttrType::Int => self.numbers(),
            AttrType::Word => self.words(),
            AttrType::Parts(parts) => {
                let subsets = 1_usize << parts.len().min(4);
                let joined = |bits: usize| {
                    let chosen =
                        parts.iter().enumerate().filter(|(at, _)| bits & (1 << at) != 0).map(|(_, p)| p.as_str());
                    Value::Parts(chosen.collect::<Vec<_>>().join("_"))
                };
                (0..subsets).map(joined).collect()
            }
            AttrType::List => {
                let words: Vec<Arc<str>> = self.words.iter().map(|w| Arc::from(w.as_str())).collect();
                (0..=words.len().min(3)).map(|n| Value::List(words.iter().take(n).cloned().collect())).collect()
            }
        }
    }

    /// Values of an argument; the members of an enumeration that no condition names behave alike, so one
    /// of them stands for all.
    fn argument(&self, ground: &Ground, tool: Option<ToolIx>, path: &str) -> Vec<Value> {
        let params = tool.and_then(|ix| ground.inventory.at(ix)).map(|t| t.params.as_slice()).unwrap_or_default();
        let Some(param) = find(params, path) else { return vec![Value::Absent] };
        let mut values = match &param.kind {
            ParamType::Bool => switch(),
            ParamType::Number => self.numbers(),
            ParamType::Enum(members) => {
                let named = members.iter().filter(|m| self.words.contains(m));
                let other = members.iter().find(|m| !self.words.contains(m));
                named.chain(other).cloned().map(Value::Word).collect()
            }
            ParamType::List(_) => {
                let words: Vec<Json> = self.words.iter().map(|w| w.as_str().into()).collect();
                (0..=words.len().min(3)).map(|n| Value::Json(words.iter().take(n).cloned().collect())).collect()
            }
            ParamType::Text | ParamType::Object(_) | ParamType::Any => self.words(),
        };
        if !param.required {
            values.insert(0, Value::Absent);
        }
        values
    }
}

fn find<'p>(params: &'p [Param], path: &str) -> Option<&'p Param> {
    if let Some(param) = params.iter().find(|p| p.name == path) {
        return Some(param);
    }
    let (head, rest) = path.split_once('.')?;
    match &params.iter().find(|p| p.name == head)?.kind {
        ParamType::Object(members) => find(members, rest),
        _ => None,
    }
}

fn switch() -> Vec<Value> {
    vec![Value::Bool(false), Value::Bool(true)]
}
