//! The faults that a student is given, and where in a ground truth each can be.

use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value as Json;

use super::course::Course;
use super::script::{Script, Step};
use crate::model::{Draft, ToolCall};
use crate::obligations::is_plain_yes;
use crate::policy::{Policy, Trigger};
use crate::state::ItemRef;
use crate::tools::{Kind, ParamType, Removed, ToolIx};

/// Classes of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Fault {
    /// The ground truth as it is.
    None,
    /// A call that a rule wants with another one is left out.
    Companion,
    /// A reading of the car is left out.
    Read,
    /// Two writes are made in the other order, a reading after what it is for.
    Order,
    /// One item becomes all of them.
    All,
    /// A word of an enumeration in the wrong case.
    EnumCase,
    /// A word that is no member of the enumeration.
    EnumSlip,
    /// A number in another unit, beyond what the schema takes.
    Unit,
    /// An identifier that exists nowhere.
    InventedId,
    /// The identifier of something else.
    WrongId,
    /// The driver is not asked.
    Consent,
    /// "All done" before the last write.
    Done,
    /// A tool that this car lacks.
    Removed,
    /// A call that failed, unchanged once more.
    Repeat,
    /// Two edits of the tour in one message.
    ParallelEdits,
}

/// One faulty run.
#[derive(Debug, Clone, Default)]
pub(super) struct Planned {
    pub(super) script: Script,
    pub(super) removed: Removed,
    /// Canonical form of the call that the car refuses.
    pub(super) broken: Option<String>,
}

impl Fault {
    /// Whether the harness can mend it without asking the student again.
    pub(super) fn is_repairable(self) -> bool {
        matches!(self, Self::Companion | Self::Read | Self::Order | Self::All | Self::EnumCase)
    }
}

/// The ground truth as a script. Recorded reports are templates that spell argument names, not what a
/// student would say: the last reply of a turn is the harness's own, unless the driver answers to it.
pub(super) fn plain(policy: &Policy, course: &Course) -> Script {
    let last = course.turns.len().saturating_sub(1);
    let bare = Draft::reply(bare(policy));
    let turns = course.turns.iter().enumerate().map(|(at, turn)| {
        let right = |d: &Draft| if at == last && d.calls.is_empty() { bare.clone() } else { d.clone() };
        (turn.driver.clone(), turn.drafts.iter().map(|d| Step { right: right(d), wrong: None }).collect())
    });
    Script { turns: turns.collect(), bare: bare.reply.clone().unwrap_or_default() }
}

/// The plainest report there is.
fn bare(policy: &Policy) -> String {
    let language = policy.phrases.first().map(|p| p.language.clone()).unwrap_or_default();
    policy.say(&language, "bare", &[])
}

/// Every place of a course at which a fault can be, as a faulty run each.
pub(super) fn sites(policy: &Policy, course: &Course, fault: Fault) -> Vec<Planned> {
    let base = plain(policy, course);
    if fault == Fault::None {
        return vec![Planned { script: base, ..Planned::default() }];
    }
    let mut found = Vec::new();
    for (t, (_, steps)) in base.turns.iter().enumerate() {
        for (s, step) in steps.iter().enumerate() {
            let next = steps.get(s + 1).map(|n| &n.right);
            if let Some(plan) = at(policy, course, fault, &base, (t, s), &step.right, next) {
                found.push(plan);
            }
        }
    }
    found
}

fn at(
    policy: &Policy,
    course: &Course,
    fault: Fault,
    base: &Script,
    (t, s): (usize, usize),
    right: &Draft,
    next: Option<&Draft>,
) -> Option<Planned> {
    let instead = |wrong: Draft| {
        let mut script = base.clone();
        script.turns.get_mut(t)?.1.get_mut(s)?.wrong = Some(wrong);
        Some(Planned { script, ..Planned::default() })
    };
    let first = right.calls.first();
    let tool = first.and_then(|c| policy.inventory.position(c.tool.as_str()));
    let declared = tool.and_then(|ix| policy.inventory.at(ix));
    let writes = declared.is_some_and(|d| d.is_write());
    match (fault, first, tool) {
        (Fault::Companion, Some(_), Some(ix)) if writes && is_companion(policy, base, ix) => instead(Draft::default()),
        (Fault::Read, Some(_), Some(ix)) if is_reading(policy, ix) => instead(Draft::default()),
        (Fault::Order, Some(call), Some(ix)) => {
            let other = next?.calls.first()?;
            let to = policy.inventory.position(other.tool.as_str())?;
            if !policy.inventory.at(to)?.is_write() || !(is_reading(policy, ix) || (writes && has_rule(policy, to, ix)))
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
        (Fault::InventedId | Fault::WrongId, Some(call), Some(_)) if writes => {
            let identifiers = course.history.identifiers();
            let is_id = |value: &&str| identifiers.looks_like_one(value);
            let (name, word) = call.arguments.iter().find_map(|(n, v)| Some((n, v.as_str().filter(|w| is_id(w))?)))?;
            let head = word.split_once('_')?.0;
            let other = match fault {
                Fault::InventedId => format!("{word}9"),
                _ => identifiers
                    .iter()
                    .map(|(w, _)| w)
                    .find(|w| *w != word && w.split_once('_').is_some_and(|(h, _)| h == head))?
                    .to_owned(),
            };
            instead(with(call, name, other.into()))
        }
        (Fault::Done, Some(_), Some(_)) if writes => {
            next.filter(|n| n.calls.is_empty())?;
            let said = course.turns.get(t)?.drafts.last()?;
            (t + 1 == course.turns.len()).then(|| instead(said.clone()))?
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
            let other = next?.calls.first()?;
            let to = policy.inventory.position(other.tool.as_str())?;
            touches_tour(policy, to).then(|| instead(Draft::calls(vec![call.clone(), other.clone()])))?
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

/// The call with one argument replaced, as a draft.
fn with(call: &ToolCall, argument: &str, value: Json) -> Draft {
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

/// Whether a rule asks for this tool with a call that the script makes.
fn is_companion(policy: &Policy, script: &Script, tool: ToolIx) -> bool {
    let called = script.turns.iter().flat_map(|(_, steps)| steps).flat_map(|s| &s.right.calls);
    let tools: Vec<ToolIx> = called.filter_map(|c| policy.inventory.position(c.tool.as_str())).collect();
    policy.rules().iter().any(|rule| {
        let Trigger::Calls(on) = &rule.trigger else { return false };
        on.iter().any(|t| *t != tool && tools.contains(t)) && rule.remedy.iter().any(|c| c.tool == tool)
    })
}
