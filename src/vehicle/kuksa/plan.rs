//! What a policy's mapping comes to on a broker: which signals are watched, and which tools are served.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::fit::{Fit, Row, judge, judge_number};
use super::proto::{DataType, EntryType, Metadata};
use super::raw::Raw;
use crate::policy::Policy;
use crate::state::{AttrIx, CellIx, Side};
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
    /// Measured all the time: its changes are nobody's doing.
    pub(super) sampled: bool,
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
            sampled: false,
        }
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
    /// The signals of latitude and longitude.
    pub(super) location: Option<(usize, usize)>,
    /// Tools that are carried out here.
    pub(super) served: BTreeSet<String>,
    /// How every mapped signal fits.
    pub(super) table: Vec<Row>,
}

impl Plan {
    /// The mapping of a policy, checked against what a broker says of its signals.
    pub(super) fn new(policy: &Policy, side: Side, metadata: &[Metadata]) -> Self {
        let known: HashMap<&str, &Metadata> = metadata.iter().map(|m| (m.path.as_str(), m)).collect();
        let mut plan = Self::default();
        let model = &policy.model;
        for signal in model.vss.iter().flat_map(|vss| &vss.signals) {
            let Some(attribute) = model.attribute(signal.attribute) else { continue };
            let set = model.tools.iter().any(|t| t.attributes().any(|a| a == signal.attribute));
            for (paths, item) in signal.items.iter().zip(0_u16..) {
                let Some(cell) = model.cell(signal.attribute, item) else { continue };
                let name = model.field_name(cell).unwrap_or_default();
                let mut field = Field { cell, attribute: signal.attribute, signals: Vec::new(), writable: set };
                let mut usable = true;
                for path in paths.iter().map(|p| p.of(side)) {
                    let found = known.get(path).map(|m| Watched::new(m));
                    let fit = judge(attribute, signal, found.as_ref(), set);
                    usable &= fit.is_usable();
                    field.writable &= fit.is_writable();
                    if let Some(watched) = found.filter(|_| fit.is_usable()) {
                        field.signals.push(plan.watch(watched, signal.sampled));
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

    /// Watches where the car is.
    fn locate(&mut self, paths: Option<&(String, String)>, known: &HashMap<&str, &Metadata>) {
        let Some((latitude, longitude)) = paths else { return };
        let mut found = Vec::new();
        for path in [latitude, longitude] {
            let watched = known.get(path.as_str()).map(|m| Watched::new(m));
            let fit = judge_number(watched.as_ref());
            if let Some(watched) = watched.filter(|_| fit == Fit::Fits) {
                found.push(self.watch(watched, true));
            }
            self.table.push(Row { path: path.clone(), field: "location".to_owned(), fit });
        }
        if let [latitude, longitude] = *found.as_slice() {
            self.location = Some((latitude, longitude));
        }
    }

    fn watch(&mut self, watched: Watched, sampled: bool) -> usize {
        let next = self.watched.len();
        let at = *self.by_path.entry(watched.path.clone()).or_insert(next);
        if at == next {
            self.watched.push(watched);
        }
        if let Some(known) = self.watched.get_mut(at) {
            known.sampled |= sampled;
        }
        at
    }

    /// The paths to subscribe to.
    pub(super) fn paths(&self) -> Vec<String> {
        self.watched.iter().map(|w| w.path.clone()).collect()
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
