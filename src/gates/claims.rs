//! What a reply says was done, is being done, or stands a certain way.
//!
//! Works on clauses, not on grammar: a cue of the speaker (`I've`), a form of doing (`closed`) and
//! what it was done to (`windows`, through the nouns of the tools). The order of the last two is
//! free, so that German participles at the end of the clause are found as well.

use super::{Exhausted, View};
use crate::policy::{Hit, PhraseRole, Reading};
use crate::tools::ToolIx;

/// How something is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// The assistant did it (`I've closed the windows`).
    Did,
    /// The assistant is doing it now (`I'm closing the windows`).
    Doing,
    /// It stands so (`the windows are closed`): a report as well as a claim.
    Stands,
}

/// One claim of a reply.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    /// How it is claimed.
    pub(super) manner: Manner,
    /// Writes that could have done it.
    pub(super) tools: Vec<ToolIx>,
    /// Reads that could have told it.
    pub(super) reads: Vec<ToolIx>,
    /// The words of its clause.
    pub(super) words: String,
}

/// Words between the speaker's cue and the form of doing: `I also automatically bumped`.
const REACH: usize = 5;

/// All claims of a reply, one for each thing named in a clause.
pub(super) fn claims(view: &View<'_>, reply: &Reading<'_>) -> Result<Vec<Claim>, Exhausted> {
    let mut claims = Vec::new();
    let mut carried = None;
    for hit in reply.hits() {
        view.spend(1)?;
        let sentence = reply.sentence(hit);
        if reply.words().is_question(sentence) || reply.quoted(hit) {
            continue;
        }
        let manner = if hit.is(PhraseRole::Announce) {
            Manner::Doing
        } else if hit.is(PhraseRole::Changed) && (speaks(reply, hit) || continues(reply, hit, carried)) {
            carried = Some(reply.clause(hit));
            Manner::Did
        } else if (hit.is(PhraseRole::Changed) || hit.is(PhraseRole::On) || hit.is(PhraseRole::Off))
            && stands(reply, hit)
        {
            Manner::Stands
        } else {
            continue;
        };
        for named in compounds(objects(reply, hit, manner)) {
            let writes = |t: &ToolIx| view.policy.inventory.at(*t).is_some_and(|t| t.is_write());
            let (tools, reads): (Vec<ToolIx>, Vec<ToolIx>) = named.into_iter().partition(writes);
            if !tools.is_empty() {
                claims.push(Claim { manner, tools, reads, words: words(reply, reply.clause(hit)) });
            }
        }
    }
    Ok(claims)
}

/// Whether the speaker claims the doing: a cue before it in its clause, nothing that denies or
/// conditions it.
fn speaks(reply: &Reading<'_>, doing: &Hit<'_>) -> bool {
    let clause = reply.clause(doing);
    let before = || reply.hits().iter().filter(move |h| reply.clause(h) == clause && h.start < doing.start);
    let spoilt = before().any(|h| h.is(PhraseRole::Negation) || h.is(PhraseRole::Condition));
    let cue = before().rfind(|h| h.is(PhraseRole::Claim));
    !spoilt && cue.is_some_and(|cue| (cue.end..doing.start).len() <= REACH || is_last(reply, doing))
}

/// Whether a form of doing ends its clause, as a participle does in languages that put it last.
fn is_last(reply: &Reading<'_>, doing: &Hit<'_>) -> bool {
    reply.words().get(doing.end).is_none_or(|w| w.clause != reply.clause(doing))
}

/// Whether a clause goes on with what the clause before it claimed: `I've closed the windows, turned
/// on the AC`.
fn continues(reply: &Reading<'_>, doing: &Hit<'_>, carried: Option<u16>) -> bool {
    let clause = reply.clause(doing);
    let first = reply.words().iter().position(|(w, _)| w.clause == clause).unwrap_or(0);
    let joined = (first..doing.start).all(|at| reply.role(PhraseRole::And).any(|h| h.start <= at && at < h.end));
    let same_sentence = first > 0 && reply.words().get(first - 1).is_some_and(|w| w.sentence == reply.sentence(doing));
    joined && same_sentence && carried.is_some_and(|c| c + 1 == clause)
}

/// Whether a state is claimed: something named, then how it is. `What the fan is set to` claims none.
fn stands(reply: &Reading<'_>, state: &Hit<'_>) -> bool {
    let clause = reply.clause(state);
    let before = || reply.hits().iter().filter(move |h| reply.clause(h) == clause && h.end <= state.start);
    // A mere `to` makes nothing conditional: `the route from Bonn to Berlin is set`.
    let spoils = [PhraseRole::Negation, PhraseRole::AskValue, PhraseRole::Contingent, PhraseRole::Modal];
    let spoilt = before().any(|h| spoils.iter().any(|role| h.is(*role)));
    let copula = before().rfind(|h| h.is(PhraseRole::Copula));
    !spoilt
        && copula.is_some_and(|c| {
            (c.end..state.start).len() <= 2 && before().any(|h| h.end <= c.start && h.nouns().next().is_some())
        })
}

/// What a claim is about: what is named after the doing up to the next one, else what is named
/// before it.
fn objects<'r, 'p>(reply: &'r Reading<'p>, doing: &Hit<'_>, manner: Manner) -> Vec<&'r Hit<'p>> {
    let clause = reply.clause(doing);
    let here = |h: &&Hit<'p>| reply.clause(h) == clause && h.nouns().next().is_some();
    if manner != Manner::Stands {
        let stop = reply
            .hits()
            .iter()
            .filter(|h| reply.clause(h) == clause && h.start >= doing.end)
            .find(|h| h.is(PhraseRole::Copula) || h.is(PhraseRole::Changed) || h.is(PhraseRole::Condition))
            .map_or((usize::MAX, false), |h| (h.start, h.is(PhraseRole::Copula)));
        let mut after: Vec<_> =
            reply.hits().iter().filter(here).filter(|h| h.start >= doing.end && h.start < stop.0).collect();
        if stop.1 {
            after.pop(); // `and the windows were already closed` is not what was done
        }
        if !after.is_empty() {
            return after;
        }
    }
    reply.hits().iter().filter(here).filter(|h| h.end <= doing.start).collect()
}

/// The tools of each thing named: nouns side by side (`window defrost`) name one thing.
fn compounds(nouns: Vec<&Hit<'_>>) -> Vec<Vec<ToolIx>> {
    let mut all: Vec<Vec<ToolIx>> = Vec::new();
    let mut end = usize::MAX;
    for noun in nouns {
        match all.last_mut() {
            Some(last) if noun.start <= end => last.extend(noun.nouns()),
            _ => all.push(noun.nouns().collect()),
        }
        end = noun.end;
    }
    all
}

/// The words of a clause.
pub(super) fn words(reply: &Reading<'_>, clause: u16) -> String {
    let words: Vec<&str> = reply.words().iter().filter(|(w, _)| w.clause == clause).map(|(_, t)| t).collect();
    words.join(" ")
}

/// Whether a reply asks the driver for leave to act.
pub(super) fn asks_leave(reply: &Reading<'_>) -> bool {
    reply.role(PhraseRole::Confirm).next().is_some()
        || reply.role(PhraseRole::Proceed).any(|h| reply.words().is_question(reply.sentence(h)))
}
