//! Whether what a call was judged on is still new enough (design §7).

use std::time::Duration;

use super::demand::{Because, each_rule};
use super::frame::RuleFrame;
use super::plan::Plan;
use crate::model::{Draft, RuleId, ToolCall};
use crate::policy::{Policy, Rule, Slot, Truth, When, evaluate};
use crate::state::{CellIx, History};

/// An observation that is too old for a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outdated {
    /// The rule.
    pub rule: RuleId,
    /// The field, as results spell it.
    pub field: String,
    /// Its age.
    pub age: Duration,
    /// How old it may be.
    pub limit: Duration,
}

/// The first observation that is too old for a rule that has to decide on a call. The clock of the history
/// says what time it is.
pub fn outdated(policy: &Policy, history: &History, call: &ToolCall) -> Option<Outdated> {
    let tool = policy.inventory.position(call.tool.as_str())?;
    if history.clock().is_none() || policy.rules_of(tool).all(|(_, rule)| rule.fresh.is_none()) {
        return None;
    }
    let plan = Plan::new(policy, history, &Draft::calls(vec![call.clone()]));
    let mut found = None;
    each_rule(policy, history, &plan, Because::Planned(0), |_, rule, frame| {
        let Some(limit) = rule.fresh.filter(|_| found.is_none()) else { return };
        if evaluate(&rule.when, &policy.tables, frame) != Truth::Unknown {
            return;
        }
        let mut slots = rule.when.slots().filter_map(|slot| policy.tables.slot(slot));
        found = slots.find_map(|slot| {
            let (field, age) = read(policy, rule, frame, slot)?;
            Some(Outdated { rule: rule.id.clone(), field, age, limit })
        });
    });
    found
}

/// What a slot reads that is too old for its rule, with its age.
fn read(policy: &Policy, rule: &Rule, frame: &RuleFrame<'_>, slot: &Slot) -> Option<(String, Duration)> {
    let model = &policy.model;
    if let Slot::Observed { observation, field } = slot {
        let (_, past) = frame.answer(rule, *observation).filter(|(_, past)| frame.is_past(past))?;
        let declared = model.observations.get(usize::from(*observation))?;
        let field = declared.fields.get(usize::from(*field))?;
        return Some((format!("{}.{}", declared.name, field.name), frame.age(past)?));
    }
    let (cell, when) = cells(policy, slot, frame.item).into_iter().find(|(cell, when)| frame.is_old(*cell, *when))?;
    Some((model.field_name(cell)?, frame.history.age(model, cell, frame.world(when))?))
}

/// The fields that a slot reads. What the car does not tell of itself has no age here: arguments, the draft,
/// what was called, place and time, and what the reply says.
fn cells(policy: &Policy, slot: &Slot, item: u16) -> Vec<(CellIx, When)> {
    let model = &policy.model;
    match slot {
        Slot::Resource { attribute, when } => model.cell(*attribute, item).map(|c| (c, *when)).into_iter().collect(),
        Slot::Car { attribute, when } => model.cell(*attribute, 0).map(|c| (c, *when)).into_iter().collect(),
        Slot::Derived { derived, when } => {
            let Some(feature) = policy.derived.get(usize::from(*derived)) else { return Vec::new() };
            let items = model.attribute(feature.attribute).map_or(0, |a| model.items(a));
            (0..items).filter_map(|i| Some((model.cell(feature.attribute, i)?, *when))).collect()
        }
        Slot::Observed { .. }
        | Slot::Input { .. }
        | Slot::Addressed
        | Slot::Draft(_)
        | Slot::Read(_)
        | Slot::Called(_)
        | Slot::LastError
        | Slot::Now(_)
        | Slot::Reply(_)
        | Slot::Listed { .. }
        | Slot::Legs(_)
        | Slot::Context(_) => Vec::new(),
    }
}
