//! Everything but companions: reads, consents, prohibitions, hints, on the settled plan.

use super::consent::{Consent, consent_after};
use super::debts::{Breach, Conflict, ConsentDebt, Hint, Owed, ReadDebt, Unread};
use super::demand::{Because, each_rule, triggers};
use super::evidence::{evidence, since};
use super::frame::RuleFrame;
use super::missing::missing;
use super::plan::{From, Planned};
use super::render;
use super::settle::{Settlement, clauses, names};
use crate::policy::{Policy, Rule, RuleIx, RuleKind, Truth, evaluate};
use crate::state::{CallRef, History};

/// A consent in the making: items of one rule and one call are asked about together.
struct Asking<'a> {
    rule: RuleIx,
    call: usize,
    items: Vec<u16>,
    because: String,
    since: Option<CallRef>,
    text: Option<&'a Rule>,
    unknown: bool,
}

/// Evaluates every rule on the settled plan and adds what it finds.
pub(super) fn judge(policy: &Policy, history: &History, s: &Settlement, owed: &mut Owed) {
    let mut asking: Vec<(Asking<'_>, String)> = Vec::new();
    for because in triggers(policy, history, &s.plan) {
        each_rule(policy, history, &s.plan, because, |ix, rule, frame| {
            if rule.shadow || rule.kind == RuleKind::Disclosure && rule.advise.is_none() {
                return; // a disclosure is due in the reply, not at the call
            }
            match evaluate(&rule.when, &policy.tables, frame) {
                Truth::False => {}
                Truth::True => holds(policy, s, owed, &mut asking, because, ix, rule, frame, false),
                Truth::Unknown => undecided(policy, s, owed, &mut asking, because, ix, rule, frame),
                Truth::Error => {
                    let writes = planned(s, because).is_none_or(|p| writes(policy, p));
                    if writes && rule.advise.is_none() {
                        let because_text =
                            format!("rule {} could not be evaluated for this call, so it is not made", rule.id);
                        owed.breaches.push(Breach {
                            rule: ix,
                            call: at(because),
                            because: because_text,
                            unknown: true,
                        });
                    }
                }
            }
        });
    }
    marked(policy, history, s, &mut asking);
    for (ask, question) in asking {
        let answer = answer(policy, history, s, ask.call, ask.since);
        if answer == Consent::Given {
            continue;
        }
        let rule = policy.rules().get(usize::from(ask.rule.0)).filter(|_| ask.text.is_some());
        owed.consents.push(ConsentDebt {
            rule: rule.map(|_| ask.rule),
            call: ask.call,
            question,
            because: if ask.unknown { format!("{} is not known", ask.because) } else { ask.because },
            since: ask.since,
            answer,
        });
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "one evaluation with everything it concerns; a struct would only rename it"
)]
fn holds<'a>(
    policy: &'a Policy,
    s: &Settlement,
    owed: &mut Owed,
    asking: &mut Vec<(Asking<'a>, String)>,
    because: Because,
    ix: RuleIx,
    rule: &'a Rule,
    frame: &RuleFrame<'_>,
    unknown: bool,
) {
    if let Some(hint) = &rule.advise {
        owed.hints.push(Hint { rule: ix, call: at(because), text: hint.clone() });
        return;
    }
    if !rule.remedy.is_empty() {
        // Still violated after the fixpoint: held, waived by the driver, or in conflict; all three
        // are already on record. What is not on record has a hole that nothing fills.
        if !s.waived.contains(&(ix, frame.item)) && !unknown {
            owed.breaches.push(breach(ix, because, evidence(frame, rule), rule, unknown));
        }
        return;
    }
    let Because::Planned(call) = because else { return };
    if rule.kind == RuleKind::Confirmation {
        return ask(policy, asking, call, ix, rule, frame, unknown);
    }
    let clause = evidence(frame, rule);
    match planned(s, because).map(|p| p.from) {
        // A companion that another rule forbids: the call that needs it cannot be made at all.
        Some(From::Rule(wanted)) => {
            let rules = vec![wanted, ix];
            let text = format!("{} exclude each other: {}", names(policy, &rules), clauses(policy, &rules));
            owed.conflicts.push(Conflict { call: Some(call), rules, because: text, lacking: None });
        }
        _ => owed.breaches.push(breach(ix, because, clause, rule, unknown)),
    }
}

fn breach(rule: RuleIx, because: Because, clause: String, declared: &Rule, unknown: bool) -> Breach {
    let text =
        if clause.is_empty() { declared.sentence.to_string() } else { format!("{} ({clause})", declared.sentence) };
    Breach { rule, call: at(because), because: text, unknown }
}

fn ask<'a>(
    policy: &Policy,
    asking: &mut Vec<(Asking<'a>, String)>,
    call: usize,
    ix: RuleIx,
    rule: &'a Rule,
    frame: &RuleFrame<'_>,
    unknown: bool,
) {
    let clause = evidence(frame, rule);
    let since = since(frame, rule);
    let position = asking.iter().position(|(a, _)| a.rule == ix && a.call == call).unwrap_or_else(|| {
        let fresh = Asking {
            rule: ix,
            call,
            items: Vec::new(),
            because: String::new(),
            since: None,
            text: Some(rule),
            unknown,
        };
        asking.push((fresh, String::new()));
        asking.len() - 1
    });
    let Some((ask, question)) = asking.get_mut(position) else { return };
    ask.items.push(frame.item);
    ask.since = ask.since.max(since);
    if !clause.is_empty() && !ask.because.contains(&clause) {
        if !ask.because.is_empty() {
            ask.because.push_str("; ");
        }
        ask.because.push_str(&clause);
    }
    let items = render::items(policy, rule.entity, &ask.items);
    *question = rule.consent.as_ref().map_or_else(String::new, |text| render::text(frame, text, &items));
}

#[expect(
    clippy::too_many_arguments,
    reason = "one evaluation with everything it concerns; a struct would only rename it"
)]
fn undecided<'a>(
    policy: &'a Policy,
    s: &Settlement,
    owed: &mut Owed,
    asking: &mut Vec<(Asking<'a>, String)>,
    because: Because,
    ix: RuleIx,
    rule: &'a Rule,
    frame: &RuleFrame<'_>,
) {
    let lacks = missing(frame, rule);
    if rule.advise.is_some() {
        return; // a hint is never worth a read
    }
    if !lacks.reads.is_empty() {
        for (read, field) in lacks.reads {
            if !owed.reads.iter().any(|r| r.read.key() == read.key()) {
                let text = format!("{field} is not known, and rule {} depends on it: {}", rule.id, rule.sentence);
                owed.reads.push(ReadDebt { rule: ix, call: at(because), read, because: text });
            }
        }
        return;
    }
    if !rule.remedy.is_empty() {
        for (cell, field) in lacks.unreadable {
            if let Some(cell) = cell.filter(|c| !owed.unread.iter().any(|u| u.cell == *c)) {
                owed.unread.push(Unread { rule: ix, field: field.into(), cell });
            }
        }
        return;
    }
    holds(policy, s, owed, asking, because, ix, rule, frame, true);
}

/// What the driver's last words are to a call of the plan.
fn answer(policy: &Policy, history: &History, s: &Settlement, at: usize, since: Option<CallRef>) -> Consent {
    let Some(planned) = s.plan.calls.get(at) else { return Consent::Unasked };
    consent_after(policy, history, &planned.call, s.plan.calls.iter().take(at).map(|p| &p.call), since)
}

/// Tools that are marked as needing consent and of which no rule has asked yet.
fn marked<'a>(policy: &Policy, history: &History, s: &Settlement, asking: &mut Vec<(Asking<'a>, String)>) {
    for (at, planned) in s.plan.calls.iter().enumerate() {
        let marked = planned.tool.and_then(|t| policy.inventory.at(t)).is_some_and(|t| t.needs_consent);
        if marked && !asking.iter().any(|(a, _)| a.call == at) {
            let because = format!("{} needs the driver's explicit yes", planned.call.tool);
            let words = policy.call_words("en", &planned.call, history);
            let question = policy.say("en", "shall-i", &[("what", &words)]);
            let ask = Asking {
                rule: RuleIx(u16::MAX),
                call: at,
                items: Vec::new(),
                because,
                since: None,
                text: None,
                unknown: false,
            };
            asking.push((ask, question));
        }
    }
}

fn at(because: Because) -> Option<usize> {
    match because {
        Because::Planned(at) => Some(at),
        Because::Standing(_) => None,
    }
}

fn planned(s: &Settlement, because: Because) -> Option<&Planned> {
    s.plan.calls.get(at(because)?)
}

fn writes(policy: &Policy, planned: &Planned) -> bool {
    planned.tool.and_then(|t| policy.inventory.at(t)).is_none_or(|t| t.is_write())
}
