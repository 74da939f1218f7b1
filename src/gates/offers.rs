//! What a reply says will be done or could be done: promises and offers.
//!
//! Like [`super::claims`], it works on clauses: a cue (`I'll`, `want me to`), a form of doing (`close`)
//! and what it would be done to (`windows`, through the nouns of the tools). The order of the last two
//! is free, so that a verb at the end of the clause is found as well.

use super::claims::words;
use super::{Exhausted, View};
use crate::model::ToolCall;
use crate::obligations::Said;
use crate::policy::{Hit, PhraseRole, Reading};
use crate::tools::{ParamType, Tool, ToolIx};
use serde_json::Value as Json;

/// One thing that a reply promises or offers to do.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    /// Writes that could do it, whether this car has them or not.
    pub(super) tools: Vec<ToolIx>,
    /// Whether only the verb names the tool.
    pub(super) by_verb: bool,
    /// Whether it is announced (`I'll`) rather than offered (`want me to`).
    pub(super) promised: bool,
    /// The sentence it stands in.
    pub(super) sentence: u16,
    /// The words of its clause.
    pub(super) words: String,
}

/// All promises and offers of a reply, one for each thing named.
pub(super) fn offers(view: &View<'_>, reply: &Reading<'_>) -> Result<Vec<Offer>, Exhausted> {
    let cues = [PhraseRole::Intent, PhraseRole::Offer, PhraseRole::Proceed, PhraseRole::Announce];
    collect(view, reply, &cues, |clause| !is_denied(reply, clause))
}

/// Everything a reply says cannot be done, one for each thing named.
pub(super) fn denials(view: &View<'_>, reply: &Reading<'_>) -> Result<Vec<Offer>, Exhausted> {
    collect(view, reply, &[PhraseRole::Admission], |_| true)
}

fn collect(
    view: &View<'_>,
    reply: &Reading<'_>,
    cues: &[PhraseRole],
    counts: impl Fn(u16) -> bool,
) -> Result<Vec<Offer>, Exhausted> {
    let mut offers = Vec::new();
    let mut judged = None;
    for cue in reply.hits().iter().filter(|h| cues.iter().any(|r| h.is(*r))) {
        view.spend(1)?;
        let clause = reply.clause(cue);
        if judged == Some(clause) || reply.quoted(cue) || !counts(clause) {
            continue;
        }
        // `If you want to close it` offers nothing.
        if reply.role(PhraseRole::Contingent).any(|h| reply.clause(h) == clause && h.start < cue.start) {
            continue;
        }
        let Some(doing) = doing(view, reply, cue)? else { continue };
        judged = Some(clause);
        let promised = cue.is(PhraseRole::Intent) || cue.is(PhraseRole::Announce);
        let mut push = |tools: Vec<ToolIx>, by_verb| {
            let (sentence, words) = (reply.sentence(cue), words(reply, clause));
            offers.push(Offer { tools, by_verb, promised, sentence, words });
        };
        let named = heads(objects(reply, cue, doing));
        if named.is_empty() {
            // A verb that only one tool has names it: `navigate to the first one`.
            if let [only] = verbs(view, reply, doing).as_slice() {
                push(vec![*only], true);
            }
        }
        for noun in named {
            let acting: Vec<ToolIx> = noun.nouns().filter(|t| is_write(view, *t)).collect();
            view.spend(acting.len())?;
            let verbs = verbs(view, reply, nearest(reply, doing, noun));
            let said: Vec<ToolIx> = acting.iter().copied().filter(|t| verbs.contains(t)).collect();
            let tools = if said.is_empty() { acting } else { said };
            if !tools.is_empty() {
                push(tools, false);
            }
        }
    }
    Ok(offers)
}

/// The writes whose verb a form of doing is: the same word may be read in several ways.
pub(super) fn verbs(view: &View<'_>, reading: &Reading<'_>, doing: &Hit<'_>) -> Vec<ToolIx> {
    let here = reading.hits().iter().filter(|h| h.start == doing.start);
    here.flat_map(Hit::verbs).filter(|t| is_write(view, *t)).collect()
}

fn is_write(view: &View<'_>, tool: ToolIx) -> bool {
    view.policy.inventory.at(tool).is_some_and(Tool::is_write)
}

/// Whether a clause says that something cannot or will not be done.
pub(super) fn is_denied(reply: &Reading<'_>, clause: u16) -> bool {
    [PhraseRole::Negation, PhraseRole::Admission, PhraseRole::Gap].iter().any(|r| reply.clause_has(clause, *r))
}

/// The form of doing that a cue introduces; none where it introduces a look-up (`start looking` is one) or
/// where a condition comes in between (`if you'd like to call`).
fn doing<'r, 'p>(view: &View<'_>, reply: &'r Reading<'p>, cue: &'r Hit<'p>) -> Result<Option<&'r Hit<'p>>, Exhausted> {
    if cue.is(PhraseRole::Announce) {
        return Ok(Some(cue));
    }
    let clause = reply.clause(cue);
    let looks = |at: usize| reply.role(PhraseRole::Look).any(|h| h.start == at);
    for hit in reply.hits().iter().filter(|h| reply.clause(h) == clause && h.start >= cue.end) {
        view.spend(1)?;
        if hit.is(PhraseRole::Change) || hit.verbs().next().is_some() {
            return Ok(Some(hit).filter(|h| !looks(h.end)));
        }
        if hit.is(PhraseRole::Look) || hit.is(PhraseRole::Contingent) {
            return Ok(None);
        }
    }
    Ok(None)
}

/// The form of doing nearest before a thing named: `open the roof or close the shade`.
fn nearest<'r, 'p>(reply: &'r Reading<'p>, doing: &'r Hit<'p>, noun: &Hit<'_>) -> &'r Hit<'p> {
    let between = reply.hits().iter().filter(|h| h.start > doing.start && h.end <= noun.start);
    let mut doings = between.filter(|h| h.is(PhraseRole::Change) || h.verbs().next().is_some());
    doings.next_back().unwrap_or(doing)
}

/// What the doing is about: what the clause names after it, else what it names before it.
fn objects<'r, 'p>(reply: &'r Reading<'p>, cue: &Hit<'_>, doing: &Hit<'_>) -> Vec<&'r Hit<'p>> {
    let clause = reply.clause(cue);
    let nouns = || reply.nouns().filter(move |h| reply.clause(h) == clause);
    let stop = reply.hits().iter().filter(|h| reply.clause(h) == clause && h.start >= doing.end);
    let ends = [PhraseRole::Copula, PhraseRole::Changed, PhraseRole::Contingent];
    let stop = stop.into_iter().find(|h| ends.iter().any(|r| h.is(*r)) && !h.is(PhraseRole::Change));
    let stop = stop.map_or(usize::MAX, |h| h.start);
    let after: Vec<_> = nouns().filter(|h| h.start >= doing.end && h.start < stop).collect();
    if !after.is_empty() {
        return after;
    }
    nouns().filter(|h| h.end <= doing.start).collect()
}

/// The thing each row of nouns side by side names: an `oven door` is a door.
fn heads<'r, 'p>(nouns: Vec<&'r Hit<'p>>) -> Vec<&'r Hit<'p>> {
    let next = nouns.iter().skip(1).map(|h| Some(h.start)).chain([None]);
    nouns.iter().zip(next).filter(|(h, next)| next.is_none_or(|n| n > h.end)).map(|(h, _)| *h).collect()
}

/// Whether a tool can be called here: neither it nor a parameter that every call needs is removed.
pub(super) fn is_usable(view: &View<'_>, tool: ToolIx) -> bool {
    view.available(tool).is_some_and(|t| lost_parameter(view, t).is_none())
}

/// A parameter that every call of a tool needs and that this car lacks.
pub(super) fn lost_parameter<'t>(view: &View<'_>, tool: &'t Tool) -> Option<&'t str> {
    let removed = view.history.removed();
    let lost = |name: &str| removed.parameter(tool.name.as_str(), name);
    tool.params.iter().filter(|p| p.required).map(|p| p.name.as_str()).find(|name| lost(name))
}

/// Whether a usable write changes what one of these does.
pub(super) fn has_substitute(view: &View<'_>, tools: &[ToolIx]) -> bool {
    let all = view.policy.inventory.iter().zip((0_u16..).map(ToolIx)).map(|(_, ix)| ix);
    all.filter(|t| is_usable(view, *t)).any(|t| tools.iter().any(|o| share_an_attribute(view, *o, t)))
}

/// Whether two writes set something in common: whichever was called, the change is of the same kind.
pub(super) fn share_an_attribute(view: &View<'_>, one: ToolIx, other: ToolIx) -> bool {
    let model = &view.policy.model;
    let (Some(one), Some(other)) = (model.tool(one), model.tool(other)) else { return false };
    one.attributes().any(|a| other.attributes().any(|b| a == b))
}

/// The call that an offer means, where its sentence says every argument that a call needs.
pub(super) fn meant(view: &View<'_>, reply: &Reading<'_>, offer: &Offer, tool: ToolIx) -> Option<ToolCall> {
    let known = view.available(tool)?;
    let said = Said::only(reply, vec![offer.sentence]);
    let mut call = ToolCall::new(known.name.as_str(), Default::default());
    for param in known.params.iter().filter(|p| p.required) {
        let candidates: Vec<Json> = match &param.kind {
            ParamType::Bool => vec![Json::Bool(true), Json::Bool(false)],
            ParamType::Enum(members) => members.iter().map(|m| Json::from(m.as_str())).collect(),
            ParamType::Number => said.numbers().map(Json::from).collect(),
            _ => return None,
        };
        let mut named = candidates.into_iter().filter(|c| said.names(view.policy, view.history, tool, param, c));
        let value = named.next()?;
        if named.next().is_some() {
            return None; // two values are said: which one is meant stays open
        }
        call.arguments.insert(param.name.clone(), value);
    }
    Some(call)
}
