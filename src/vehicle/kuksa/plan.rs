//! What a policy's mapping comes to on a broker: which signals are watched, and which tools are served.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::convert::decode;
use super::fit::{Fit, Row, judge, judge_degrees, judge_side, side_of};
use super::proto::{DataType, EntryType, Metadata};
use super::raw::Raw;
use crate::model::Value;
use crate::policy::Policy;
use crate::state::{AttrIx, Attribute, CellIx, EffectModel, Side, Signal, SignalPath};
use crate::tools::Kind;

/// A signal of the broker that some field uses.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    pub(super) path: String,
    pub(super) data: DataType,
    pub(super) entry: EntryType,
    pub(super) least: Option<f64>,
    pub(super) most: Option<f64>,
    pub(super) allowed: Vec<Raw>,
    /// The unit that the broker names; may be empty.
    pub(super) unit: String,
    /// Measured all the time: its changes are nobody's doing.
    pub(super) sampled: bool,
    /// What its values stand for.
    pub(super) meanings: Vec<Meaning>,
}

/// An attribute that a signal carries.
#[derive(Debug, Clone)]
pub(super) struct Meaning {
    pub(super) attribute: Attribute,
    pub(super) signal: Signal,
}

impl Meaning {
    fn of(&self, raw: Option<&Raw>) -> Value {
        raw.map_or(Value::Unknown, |raw| decode(&self.attribute, &self.signal, raw))
    }
}

impl Watched {
    fn new(metadata: &Metadata) -> Self {
        let number = |value: &Option<super::proto::Value>| match value.as_ref().and_then(Raw::read) {
            Some(Raw::Number(n)) => Some(n),
            _ => None,
        };
        Self {
            path: metadata.path.clone(),
            data: metadata.data_type(),
            entry: metadata.entry_type(),
            least: number(&metadata.min),
            most: number(&metadata.max),
            allowed: metadata.allowed_values.as_ref().map(Raw::list).unwrap_or_default(),
            unit: metadata.unit.clone(),
            sampled: false,
            meanings: Vec::new(),
        }
    }

    /// Whether two values stand for the same in every field that the signal carries: a fan that settles at 41
    /// where it was at 40 has not left its level.
    pub(super) fn same(&self, one: Option<&Raw>, other: Option<&Raw>) -> bool {
        one == other || self.meanings.iter().all(|meaning| meaning.of(one) == meaning.of(other))
    }
}

/// One field of one item: the signals that carry it.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) cell: CellIx,
    pub(super) attribute: AttrIx,
    /// Positions among the watched signals.
    pub(super) signals: Vec<usize>,
    /// Whether all of them can be set.
    pub(super) writable: bool,
}

/// The mapping on one broker.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) watched: Vec<Watched>,
    pub(super) by_path: HashMap<String, usize>,
    pub(super) fields: BTreeMap<CellIx, Field>,
    /// The side that it was made for; none: the car does not say.
    pub(super) side: Option<Side>,
    /// The signal that says on which side the driver sits.
    pub(super) side_at: Option<usize>,
    /// The signals of latitude and longitude.
    pub(super) location: Option<(usize, usize)>,
    /// Tools that are carried out here.
    pub(super) served: BTreeSet<String>,
    /// How every mapped signal fits.
    pub(super) table: Vec<Row>,
}

impl Plan {
    /// The mapping of a policy, checked against what a broker says of its signals. `said`: what the signal of
    /// the driver's side has.
    pub(super) fn new(policy: &Policy, said: Option<&Raw>, metadata: &[Metadata]) -> Self {
        let known: HashMap<&str, &Metadata> = metadata.iter().map(|m| (m.path.as_str(), m)).collect();
        let mut plan = Self::default();
        let model = &policy.model;
        plan.sit(model.vss.as_ref().and_then(|vss| vss.driver_side.as_deref()), said, &known);
        let side = plan.assumed(model);
        for signal in model.vss.iter().flat_map(|vss| &vss.signals) {
            let Some(attribute) = model.attribute(signal.attribute) else { continue };
            let set = model.tools.iter().any(|t| t.attributes().any(|a| a == signal.attribute));
            for (paths, item) in signal.items.iter().zip(0_u16..) {
                let Some(cell) = model.cell(signal.attribute, item) else { continue };
                let name = model.field_name(cell).unwrap_or_default();
                let mut field = Field { cell, attribute: signal.attribute, signals: Vec::new(), writable: set };
                let mut usable = true;
                for path in paths {
                    let Some(path) = path_on(path, side) else {
                        usable = false;
                        let path = format!("{} or {}", path.left, path.right);
                        plan.table.push(Row { path, field: name.clone(), fit: Fit::EitherSide });
                        continue;
                    };
                    let found = known.get(path).map(|m| Watched::new(m));
                    let fit = judge(attribute, signal, found.as_ref(), set);
                    usable &= fit.is_usable();
                    field.writable &= fit.is_writable();
                    if let Some(mut watched) = found.filter(|_| fit.is_usable()) {
                        watched.sampled = signal.sampled;
                        watched.meanings.push(Meaning { attribute: attribute.clone(), signal: signal.clone() });
                        field.signals.push(plan.watch(watched));
                    }
                    plan.table.push(Row { path: path.to_owned(), field: name.clone(), fit });
                }
                if usable {
                    plan.fields.insert(cell, field);
                }
            }
        }
        plan.locate(model.vss.as_ref().and_then(|vss| vss.location.as_ref()), &known);
        plan.served = served(policy, |cell| plan.fields.get(&cell).map(|f| f.writable));
        plan
    }

    /// Watches on which side the driver sits.
    fn sit(&mut self, path: Option<&str>, said: Option<&Raw>, known: &HashMap<&str, &Metadata>) {
        let Some(path) = path else { return };
        let watched = known.get(path).map(|m| Watched::new(m));
        let mut fit = judge_side(watched.as_ref());
        if let Some(watched) = watched.filter(|_| fit == Fit::Fits) {
            self.side = said.and_then(side_of);
            // The plan is made for it: a change of it ends the plan, and is looked at apart.
            self.side_at = Some(self.watch(Watched { sampled: true, ..watched }));
            if self.side.is_none() {
                fit = Fit::NoSide { found: said.map_or_else(|| "nothing".to_owned(), ToString::to_string) };
            }
        }
        self.table.push(Row { path: path.to_owned(), field: "driver_side".to_owned(), fit });
    }

    /// The side that calls are carried out for: as the car says, or as the policy does where no signal is
    /// named for it. None: the car should say, and does not.
    pub(super) fn assumed(&self, model: &EffectModel) -> Option<Side> {
        let named = model.vss.as_ref().is_some_and(|vss| vss.driver_side.is_some());
        self.side.or((!named).then_some(model.driver_side))
    }

    /// Whether a value of the signal of the driver's side is the one that the plan was made for.
    pub(super) fn is_for(&self, said: Option<&Raw>) -> bool {
        said.and_then(side_of) == self.side
    }

    /// Watches where the car is.
    fn locate(&mut self, paths: Option<&(String, String)>, known: &HashMap<&str, &Metadata>) {
        let Some((latitude, longitude)) = paths else { return };
        let mut found = Vec::new();
        for path in [latitude, longitude] {
            let watched = known.get(path.as_str()).map(|m| Watched::new(m));
            let fit = judge_degrees(watched.as_ref());
            if let Some(watched) = watched.filter(|_| fit == Fit::Fits) {
                found.push(self.watch(Watched { sampled: true, ..watched }));
            }
            self.table.push(Row { path: path.clone(), field: "location".to_owned(), fit });
        }
        if let [latitude, longitude] = *found.as_slice() {
            self.location = Some((latitude, longitude));
        }
    }

    fn watch(&mut self, watched: Watched) -> usize {
        let next = self.watched.len();
        let at = *self.by_path.entry(watched.path.clone()).or_insert(next);
        match self.watched.get_mut(at) {
            Some(known) => {
                known.sampled |= watched.sampled;
                known.meanings.extend(watched.meanings);
            }
            None => self.watched.push(watched),
        }
        at
    }

    /// The paths to subscribe to.
    pub(super) fn paths(&self) -> Vec<String> {
        self.watched.iter().map(|w| w.path.clone()).collect()
    }
}

/// A path for a side; none where it depends on one that nobody knows.
pub(super) fn path_on(path: &SignalPath, side: Option<Side>) -> Option<&str> {
    match side {
        Some(side) => Some(path.of(side)),
        None => (path.left == path.right).then_some(&path.left),
    }
}

/// The tools that the mapping carries out: reads of which a field is mapped, and writes of which every
/// field is mapped, and can be set, for one item at least. `writable` says so of a cell, none: not mapped.
pub(super) fn served(policy: &Policy, writable: impl Fn(CellIx) -> Option<bool>) -> BTreeSet<String> {
    let model = &policy.model;
    let of = |attribute: AttrIx| {
        let items = model.attribute(attribute).map_or(0, |a| model.items(a));
        (0..items).filter_map(move |item| model.cell(attribute, item))
    };
    let mut served = BTreeSet::new();
    for (tool, ix) in policy.inventory.iter().zip((0_u16..).map(crate::tools::ToolIx)) {
        let carried = match (tool.kind, model.tool(ix)) {
            (Kind::Read, _) => model
                .attributes()
                .any(|(a, declared)| declared.read == Some(ix) && of(a).any(|c| writable(c).is_some())),
            (Kind::Write, Some(effect)) => {
                let settable = |a: AttrIx| of(a).any(|cell| writable(cell) == Some(true));
                !effect.sets.is_empty()
                    && effect.touches.is_empty()
                    && effect.sets.iter().all(|s| settable(s.attribute))
            }
            _ => false,
        };
        if carried {
            served.insert(tool.name.to_string());
        }
    }
    served
}

/// The tools that the mapping could carry out on a broker that has all of its signals: what is assumed
/// until a broker was reached once.
pub(super) fn promised(policy: &Policy) -> BTreeSet<String> {
    let model = &policy.model;
    let mapped = |cell: CellIx| model.owner(cell).is_some_and(|(attribute, _)| model.signal(attribute).is_some());
    served(policy, |cell| mapped(cell).then_some(true))
}

/// The table of a plan, what does not fit first.
pub(super) fn table(plan: &Arc<Plan>) -> Vec<Row> {
    let mut rows = plan.table.clone();
    rows.sort_by_key(|row| row.fit == Fit::Fits);
    rows
}
