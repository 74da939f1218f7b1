//! What the next reply must say: a disclosure is owed from execution until one reply says it.

use std::cell::OnceCell;

use super::debts::{Disclosure, Owed, ReadDebt};
use super::evidence::evidence;
use super::frame::{Counts, RuleFrame};
use super::missing::missing;
use super::render;
use crate::model::Words;
use crate::policy::{Policy, Rule, RuleIx, RuleKind, Trigger, Truth, evaluate};
use crate::state::{CallRef, CellIx, History, LegFacts, PastCall};

/// Adds the disclosures that a drafted reply still lacks.
pub(super) fn disclose(policy: &Policy, history: &History, reply: &str, counts: &Counts, owed: &mut Owed) {
    let words = OnceCell::new();
    let due: Vec<_> = due(policy, history).collect();
    // Several rules read the legs of one call: they are looked up once.
    let legs: Vec<(CallRef, OnceCell<LegFacts>)> =
        due.iter().filter_map(|(.., past)| Some((past.as_ref()?.0, OnceCell::new()))).collect();
    for (ix, rule, past) in due {
        let reply = || counts.reply.as_deref().unwrap_or_else(|| words.get_or_init(|| Words::new(reply)));
        let told = || rule.said.iter().any(|phrase| says(reply(), phrase));
        match past {
            None => look(policy, history, counts, ix, rule, None, None, &told, owed),
            Some((at, past)) => {
                let told = || told() || said_since(history, rule, at.0);
                let kept = legs.iter().find(|(call, _)| *call == at).map(|(_, legs)| legs);
                look(policy, history, counts, ix, rule, Some(past), kept, &told, owed);
            }
        }
    }
}

/// A rule with the call that makes its sentence necessary; none: the reply itself.
type Due<'p, 'h> = (RuleIx, &'p Rule, Option<(CallRef, &'h PastCall)>);

/// The rules whose sentence may be due.
fn due<'p, 'h>(policy: &'p Policy, history: &'h History) -> impl Iterator<Item = Due<'p, 'h>> {
    let rules = policy.rules().iter().zip((0_u16..).map(RuleIx));
    let disclosures = rules.filter(|(r, _)| r.kind == RuleKind::Disclosure && !r.shadow && r.advise.is_none());
    disclosures.filter_map(move |(rule, ix)| match &rule.trigger {
        Trigger::Reply => Some((ix, rule, None)),
        Trigger::Calls(tools) => {
            let latest = tools.iter().filter_map(|t| history.calls_of(*t).rev().find(|(_, p)| p.succeeded()));
            let latest = latest.max_by_key(|(r, _)| *r).filter(|(_, p)| is_due(policy, history, p))?;
            Some((ix, rule, Some(latest)))
        }
    })
}

/// Whether what a call makes necessary to say still is: a change stays one until the driver knows of it,
/// a figure that was read matters in the turn that asked for it.
fn is_due(policy: &Policy, history: &History, past: &PastCall) -> bool {
    past.turn == history.turn() || past.tool.and_then(|t| policy.inventory.at(t)).is_none_or(|t| t.is_write())
}

/// Whether the driver was already told: by some reply after the call, or by the one right before it,
/// which named the consequence before it came about.
fn said_since(history: &History, rule: &Rule, call: u32) -> bool {
    let mut before = 0;
    let relevant = history.spoken().iter().rev().take_while(|u| {
        before += u32::from(u.calls <= call);
        before <= 1
    });
    relevant.into_iter().any(|u| rule.said.iter().any(|phrase| says(&u.words, phrase)))
}

/// Whether a text holds a phrase, whatever its punctuation.
fn says(text: &Words, phrase: &str) -> bool {
    let phrase = Words::new(phrase);
    !phrase.is_empty() && text.spaced().contains(phrase.spaced())
}

/// Adds what a rule wants said, unless it was: the words are looked for only where there is something to
/// say, because most replies owe nothing.
#[expect(clippy::too_many_arguments, reason = "one rule with everything it concerns; a struct would only rename it")]
fn look(
    policy: &Policy,
    history: &History,
    counts: &Counts,
    ix: RuleIx,
    rule: &Rule,
    past: Option<&PastCall>,
    kept: Option<&OnceCell<LegFacts>>,
    told: &dyn Fn() -> bool,
    owed: &mut Owed,
) {
    let none: &[CellIx] = &[];
    let written: Vec<CellIx> = past
        .and_then(|p| {
            Some(policy.model.writes(p.tool?, &p.call.arguments, history.side()).into_iter().map(|w| w.cell).collect())
        })
        .unwrap_or_default();
    let writes = if written.is_empty() { none } else { written.as_slice() };
    let world = history.world();
    let mut frame = RuleFrame::new(policy, history, counts, (past.map(|p| &p.call), writes), (world, world));
    if evaluate(&rule.guard, &policy.tables, &frame) == Truth::False {
        return;
    }
    frame.kept = kept;
    frame.look_up(rule);
    let count = policy.model.entity(rule.entity).map_or(0, |e| u16::try_from(e.items.len()).unwrap_or(u16::MAX));
    let mut truths: Vec<(u16, Truth)> = Vec::new();
    for item in 0..count {
        frame.item = item;
        truths.push((item, evaluate(&rule.when, &policy.tables, &frame)));
    }
    truths.retain(|(_, truth)| matches!(truth, Truth::True | Truth::Unknown));
    if truths.is_empty() || told() {
        return;
    }
    let mut items = Vec::new();
    let mut clauses: Vec<String> = Vec::new();
    for (item, truth) in truths {
        frame.item = item;
        match truth {
            Truth::True => {
                items.push(item);
                clauses.push(evidence(&frame, rule));
            }
            Truth::Unknown => {
                for (read, field) in missing(&frame, rule).reads {
                    if !owed.reads.iter().any(|r| r.read.key() == read.key()) {
                        let text =
                            format!("{field} is not known, and rule {} depends on it: {}", rule.id, rule.sentence);
                        owed.reads.push(ReadDebt { rule: ix, call: None, read, because: text });
                    }
                }
            }
            Truth::False | Truth::Error => {}
        }
    }
    if let Some(first) = items.first() {
        frame.item = *first;
        let names = render::items(policy, rule.entity, &items);
        let sentence =
            rule.disclose.as_ref().map_or_else(|| rule.sentence.to_string(), |t| render::text(&frame, t, &names));
        clauses.dedup();
        owed.disclosures.push(Disclosure { rule: ix, sentence, because: clauses.join("; ") });
    }
}
