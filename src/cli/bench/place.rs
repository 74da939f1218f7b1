//! Where in a ground truth a fault can be, and what the student drafts there.

use serde_json::Value as Json;

use super::course::Course;
use super::fault::{Fault, Planned};
use super::script::{Script, Step};
use super::sentence::claim;
use crate::model::{Draft, ToolCall};
use crate::obligations::is_plain_yes;
use crate::policy::{ArgumentTemplate, Policy, Trigger};
use crate::state::ItemRef;
use crate::tools::{Kind, ParamType, Removed, ToolIx};

/// A step of a script with the one after it.
#[derive(Clone, Copy)]
pub(super) struct Here<'a> {
    pub(super) policy: &'a Policy,
    pub(super) course: &'a Course,
    pub(super) base: &'a Script,
    /// Turn and step, counted from 0.
    pub(super) at: (usize, usize),
    pub(super) right: &'a Draft,
    pub(super) next: Option<&'a Draft>,
}

/// The fault at one step of the script, as a faulty run each; none where it cannot be.
pub(super) fn at(here: Here<'_>, fault: Fault) -> Vec<Planned> {
    match fault {
        Fault::InventedId | Fault::WrongId => super::identity::swaps(here, fault),
        _ => one(here, fault).into_iter().collect(),
    }
}

fn one(here: Here<'_>, fault: Fault) -> Option<Planned> {
    let Here { policy, course, base, at: (t, s), right, next } = here;
    let instead = |wrong: Draft| here.instead(wrong);
    let first = right.calls.first();
    let tool = first.and_then(|c| policy.inventory.position(c.tool.as_str()));
    let declared = tool.and_then(|ix| policy.inventory.at(ix));
    let writes = declared.is_some_and(|d| d.is_write());
    match (fault, first, tool) {
        (Fault::Companion, Some(call), Some(ix)) if writes && is_companion(policy, base, ix, call) => {
            instead(Draft::default())
        }
        (Fault::Read, Some(call), Some(ix)) if is_reading(policy, ix) && !is_used(here, call) => {
            instead(Draft::default())
        }
        (Fault::Order, Some(call), Some(ix)) => {
            let other = next?.calls.first()?;
            let to = policy.inventory.position(other.tool.as_str())?;
            if is_used(here, call)
                || !policy.inventory.at(to)?.is_write()
                || !(is_reading(policy, ix) || (writes && has_rule(policy, to, ix)))
            {
                return None;
            }
            let mut plan = instead(Draft::calls(vec![other.clone()]))?;
            // The swapped step stays due on its own: the harness may have made it by then.
            let again = Step { right: Draft::calls(vec![call.clone()]), wrong: None };
            plan.script.turns.get_mut(t)?.1.insert(s + 1, again);
            Some(plan)
        }
        (Fault::All, Some(call), Some(ix)) => {
            let item = policy.model.tool(ix)?.item.as_ref()?;
            let word = call.arguments.get(&item.argument)?.as_str()?;
            matches!(item.resolve(word)?, ItemRef::One(_) | ItemRef::Side { .. }).then_some(())?;
            instead(with(call, &item.argument, item.all()?.into()))
        }
        (Fault::EnumCase | Fault::EnumSlip, Some(call), Some(_)) if writes => {
            let is_word =
                |p: &&crate::tools::Param| matches!(p.kind, ParamType::Enum(_)) && call.arguments.contains_key(&p.name);
            let param = declared?.params.iter().find(is_word)?;
            let word = call.arguments.get(&param.name)?.as_str()?;
            let other = if fault == Fault::EnumCase { word.to_lowercase() } else { format!("{word}_2") };
            (!param.members().contains(&other)).then_some(())?;
            instead(with(call, &param.name, other.into()))
        }
        (Fault::Unit, Some(call), Some(_)) if writes => {
            let bounded = |p: &&crate::tools::Param| {
                p.maximum.is_some() && call.arguments.get(&p.name).is_some_and(Json::is_number)
            };
            let param = declared?.params.iter().find(bounded)?;
            // Fahrenheit, or tenths: beyond the range in either case.
            let value = call.arguments.get(&param.name)?.as_f64()? * 1.8 + 32.0;
            let slip = if value > param.maximum? { value } else { param.maximum? * 10.0 };
            instead(with(call, &param.name, slip.round().into()))
        }
        (Fault::Done, Some(call), Some(_)) if writes => {
            next.filter(|n| n.calls.is_empty() && t + 1 == course.turns.len())?;
            // Of a tool that was called before, the sentence would be true.
            let before = base.turns.iter().flat_map(|(_, steps)| steps).flat_map(|s| &s.right.calls);
            (before.filter(|c| c.tool == call.tool).count() == 1).then_some(())?;
            instead(Draft::reply(claim(policy, call, t + s)?))
        }
        (Fault::Removed, Some(call), Some(_)) if writes => {
            let removed = Removed::from_iter([call.tool.as_str()]);
            Some(Planned { script: base.clone(), removed, broken: None })
        }
        (Fault::Repeat, Some(call), Some(_)) if writes => {
            let mut script = base.clone();
            // An omission as the right step: once objected to, the student lets it be.
            let again = Step { right: Draft::default(), wrong: Some(right.clone()) };
            script.turns.get_mut(t)?.1.insert(s + 1, again);
            Some(Planned { script, removed: Removed::default(), broken: Some(call.key().as_str().to_owned()) })
        }
        (Fault::ParallelEdits, Some(call), Some(ix)) if writes && touches_tour(policy, ix) => {
            let other = later_edit(policy, base, (t, s))?;
            instead(Draft::calls(vec![call.clone(), other.clone()]))
        }
        (Fault::Consent, None, None) => {
            let (answer, after) = base.turns.get(t + 1)?;
            (next.is_none() && is_plain_yes(&policy.read(answer))).then_some(())?;
            let mut script = base.clone();
            script.turns.remove(t + 1);
            let steps = &mut script.turns.get_mut(t)?.1;
            steps.pop();
            steps.extend(after.iter().cloned());
            Some(Planned { script, ..Planned::default() })
        }
        _ => None,
    }
}

impl Here<'_> {
    /// The script with this drafted here instead of what is right.
    pub(super) fn instead(self, wrong: Draft) -> Option<Planned> {
        let (t, s) = self.at;
        let mut script = self.base.clone();
        script.turns.get_mut(t)?.1.get_mut(s)?.wrong = Some(wrong);
        Some(Planned { script, ..Planned::default() })
    }
}

/// Whether later calls use an identifier that only this look-up shows: nobody can use what was not read.
fn is_used(here: Here<'_>, call: &ToolCall) -> bool {
    let history = &here.course.history;
    let shows = |id: &str| {
        let seen = history.identifiers().get(id).filter(|_| history.identifiers().looks_like_one(id));
        seen.and_then(|s| history.call(s.call?)).is_some_and(|past| past.key == call.key())
    };
    let later = here.base.turns.iter().flat_map(|(_, steps)| steps).flat_map(|s| &s.right.calls);
    later.flat_map(|c| c.arguments.values()).any(|value| {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        values.iter().filter_map(Json::as_str).any(shows)
    })
}

/// The next edit of the tour after a step, in whichever turn the ground truth makes it.
fn later_edit<'b>(policy: &Policy, base: &'b Script, (t, s): (usize, usize)) -> Option<&'b ToolCall> {
    let later = base
        .turns
        .iter()
        .enumerate()
        .skip(t)
        .flat_map(|(turn, (_, steps))| steps.iter().skip(if turn == t { s + 1 } else { 0 }));
    let edits =
        |call: &&ToolCall| policy.inventory.position(call.tool.as_str()).is_some_and(|ix| touches_tour(policy, ix));
    later.flat_map(|step| &step.right.calls).find(edits)
}

/// The call with one argument replaced, as a draft.
pub(super) fn with(call: &ToolCall, argument: &str, value: Json) -> Draft {
    let mut other = call.clone();
    other.arguments.insert(argument.to_owned(), value);
    Draft::calls(vec![other])
}

/// Whether the tool reads fields of the car or an observation that rules name.
fn is_reading(policy: &Policy, tool: ToolIx) -> bool {
    let is_read = policy.inventory.at(tool).is_some_and(|t| t.kind == Kind::Read);
    let model = &policy.model;
    is_read
        && (model.attributes.iter().any(|a| a.read == Some(tool)) || model.observations.iter().any(|o| o.read == tool))
}

fn touches_tour(policy: &Policy, tool: ToolIx) -> bool {
    let stops = policy.model.tour.as_ref().map(|t| t.stops);
    policy.model.tool(tool).is_some_and(|e| e.attributes().any(|a| Some(a) == stops))
}

/// Whether a rule on one tool asks for another.
fn has_rule(policy: &Policy, on: ToolIx, for_tool: ToolIx) -> bool {
    policy.rules_of(on).any(|(_, rule)| rule.remedy.iter().any(|c| c.tool == for_tool))
}

/// Whether a rule asks for just this call with one that the script makes. A tool that a rule also asks
/// for, with another value, is what the driver wants: nobody else can know it.
fn is_companion(policy: &Policy, script: &Script, tool: ToolIx, call: &ToolCall) -> bool {
    let called = script.turns.iter().flat_map(|(_, steps)| steps).flat_map(|s| &s.right.calls);
    let tools: Vec<ToolIx> = called.filter_map(|c| policy.inventory.position(c.tool.as_str())).collect();
    let same = |(name, wanted): &(String, ArgumentTemplate)| match wanted {
        ArgumentTemplate::Constant(value) => call.arguments.get(name).is_some_and(|v| alike(v, &value.to_json())),
        _ => true,
    };
    policy.rules().iter().any(|rule| {
        let Trigger::Calls(on) = &rule.trigger else { return false };
        on.iter().any(|t| *t != tool && tools.contains(t))
            && rule.remedy.iter().any(|c| c.tool == tool && c.arguments.iter().all(same))
    })
}

fn alike(one: &Json, other: &Json) -> bool {
    one == other || one.as_f64().zip(other.as_f64()).is_some_and(|(a, b)| (a - b).abs() < 1e-9)
}
