//! Rules about a spoken reply.

use super::debts::{Breach, Hint, Owed};
use super::evidence::evidence;
use super::frame::{Counts, RuleFrame};
use crate::policy::{Policy, RuleKind, Truth, evaluate};
use crate::state::{CellIx, History};

/// Evaluates the rules that a reply triggers. Speaking changes nothing in the car, so what cannot be
/// decided is let pass: replies stay useful where writes fail closed.
pub(super) fn judge_reply(policy: &Policy, history: &History, counts: &Counts, owed: &mut Owed) {
    let none: &[CellIx] = &[];
    let world = history.world();
    for (ix, rule) in policy.rules_of_reply() {
        if rule.shadow || (rule.kind == RuleKind::Disclosure && rule.advise.is_none()) {
            continue; // a disclosure is settled by its sentence, not by changing the reply
        }
        let mut frame = RuleFrame::new(policy, history, counts, (None, none), (world, world));
        frame.look_up(rule);
        let items = policy.model.entity(rule.entity).map_or(0, |e| u16::try_from(e.items.len()).unwrap_or(u16::MAX));
        for item in 0..items {
            frame.item = item;
            if evaluate(&rule.when, &policy.tables, &frame) != Truth::True {
                continue;
            }
            match &rule.advise {
                Some(hint) => owed.hints.push(Hint { rule: ix, call: None, text: hint.clone() }),
                None => {
                    let clause = evidence(&frame, rule);
                    let because = if clause.is_empty() {
                        rule.sentence.to_string()
                    } else {
                        format!("{} ({clause})", rule.sentence)
                    };
                    owed.breaches.push(Breach { rule: ix, call: None, because, unknown: false });
                }
            }
            break; // one finding a rule: a reply is one thing
        }
    }
}
