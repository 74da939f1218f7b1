//! Fields that were read and stayed unknown.

use super::offers::{meant, offers};
use super::{Exhausted, Findings, View, gate};
use crate::model::{Draft, Finding, Tier, ToolCall, Value};
use crate::obligations::visit;
use crate::policy::{PhraseRole, Reading, RuleKind, Slot, Truth, evaluate};
use crate::state::{AttrIx, CellIx, History, Origin};

gate! {
    /// What could not be read is said where it matters.
    ///
    /// # Why
    /// A field that reads `unknown` is a hole in what the assistant knows. A driver who is asked or told
    /// about it as if it were known decides on nothing.
    ///
    /// # Blocks
    /// An offer or a report of a call whose rule depends on a field that was read and stayed unknown; and a
    /// question for the value of a relative wish ("two levels up") on such a field. Only the fields that a
    /// rule or the wish really reads count, not every null in some result.
    ///
    /// # Allows
    /// A reply that says that something is not known or cannot be done, and everything after one that did.
    ///
    /// # Remedy
    /// None: name what could not be read, and offer what works without it.
    "unknown-acknowledgement", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(reply) = view.reply() else { return Ok(()) };
    if admits(reply) || !view.history.world().cells().any(|(_, cell)| is_unreadable(&cell.value, cell.origin)) {
        return Ok(());
    }
    let gap = match wished(view, reply)? {
        Some(gap) => Some(gap),
        None => depended_on(view, reply)?,
    };
    let Some((cell, why)) = gap.filter(|(cell, _)| !was_admitted(view, *cell)) else { return Ok(()) };
    let field = view.policy.model.field_name(cell).unwrap_or_default();
    let because = format!("`{field}` was read and is not known, and {why}; the reply does not say so");
    findings.push(Finding::new(NAME, Tier::Hard, because));
    Ok(())
}

fn admits(reading: &Reading<'_>) -> bool {
    reading.has(PhraseRole::Gap) || reading.has(PhraseRole::Admission)
}

fn is_unreadable(value: &Value, origin: Origin) -> bool {
    *value == Value::Unknown && matches!(origin, Origin::Observed(_))
}

/// The fields of an attribute that were read and stayed unknown; whether those are all it has.
fn unreadable(view: &View<'_>, attribute: AttrIx) -> (Vec<CellIx>, bool) {
    let items = view.policy.model.attribute(attribute).map_or(0, |a| view.policy.model.items(a));
    let world = view.history.world();
    let cells = (0..items).filter_map(|item| view.policy.model.cell(attribute, item));
    let unread: Vec<CellIx> = cells.filter(|c| is_unreadable(&world.get(*c).value, world.get(*c).origin)).collect();
    let all = unread.len() == usize::from(items);
    (unread, all)
}

/// A relative wish on a field that has no reading, answered with a question for the value.
fn wished(view: &View<'_>, reply: &Reading<'_>) -> Result<Option<(CellIx, String)>, Exhausted> {
    let asks = reply.role(PhraseRole::AskValue).any(|h| reply.words().is_question(reply.sentence(h)));
    let Some(driver) = view.driver().filter(|d| asks && d.has(PhraseRole::Relative)) else { return Ok(None) };
    for (effect, tool) in view.policy.model.tools.iter().zip((0_u16..).map(crate::tools::ToolIx)) {
        view.spend(1)?;
        if !driver.names(tool) {
            continue;
        }
        for set in &effect.sets {
            let (cells, all) = unreadable(view, set.attribute);
            if let Some(cell) = cells.first().filter(|_| all) {
                return Ok(Some((*cell, "the driver asked for a change from it".to_owned())));
            }
        }
    }
    Ok(None)
}

/// A field that a rule reads for a call which the reply offers, or which was made in this turn.
fn depended_on(view: &View<'_>, reply: &Reading<'_>) -> Result<Option<(CellIx, String)>, Exhausted> {
    let mut calls: Vec<(ToolCall, String)> = Vec::new();
    for offer in offers(view, reply)? {
        if let [tool] = offer.tools.as_slice()
            && let Some(call) = meant(view, reply, &offer, *tool)
        {
            calls.push((call, format!("\"{}\" depends on it", offer.words)));
        }
    }
    for past in view.this_turn().filter(|past| past.succeeded()) {
        view.spend(1)?;
        if past.tool.and_then(|t| view.policy.inventory.at(t)).is_some_and(|t| t.is_write()) {
            calls.push((past.call.clone(), format!("{} depends on it", past.call)));
        }
    }
    for (call, why) in calls {
        view.spend(1)?;
        if let Some((cell, rule)) = undecided(view, call) {
            return Ok(Some((cell, format!("{why} by rule {rule}"))));
        }
    }
    Ok(None)
}

/// A field for want of which a rule cannot be decided for a call, and the rule.
fn undecided(view: &View<'_>, call: ToolCall) -> Option<(CellIx, String)> {
    let policy = view.policy;
    let mut found = None;
    visit(policy, view.history, &Draft::calls(vec![call]), &mut |rule, frame| {
        let executable = !rule.shadow && rule.advise.is_none() && rule.kind != RuleKind::Disclosure;
        if found.is_some() || !executable || evaluate(&rule.when, &policy.tables, frame) != Truth::Unknown {
            return;
        }
        let attributes = rule.when.slots().filter_map(|slot| match policy.tables.slot(slot)? {
            Slot::Resource { attribute, .. } | Slot::Car { attribute, .. } => Some(*attribute),
            Slot::Derived { derived, .. } => policy.derived.get(usize::from(*derived)).map(|d| d.attribute),
            _ => None,
        });
        let cell = attributes.into_iter().find_map(|a| unreadable(view, a).0.first().copied());
        found = cell.map(|cell| (cell, rule.id.to_string()));
    });
    found
}

/// Whether the driver was told since the field was read.
fn was_admitted(view: &View<'_>, cell: CellIx) -> bool {
    let history: &History = view.history;
    let Origin::Observed(read) = history.world().get(cell).origin else { return false };
    let since = history.call(read).map_or(0, |past| past.step);
    history
        .spoken()
        .iter()
        .rev()
        .take_while(|u| u.step > since)
        .any(|u| admits(&view.policy.lexicon().read(u.words.clone())))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, check, kitchen};
    use super::*;
    use crate::state::History;
    use serde_json::json;

    fn found(reply: &str, level: serde_json::Value, history: impl FnOnce(Talk<'_>) -> History) -> usize {
        let policy = kitchen();
        let talk = Talk::new(&policy).driver("set the hood two levels higher");
        let history = history(talk.done("get_hood_state", json!({}), json!({"hood_level": level})));
        check(&GATE, &policy, &history, &Draft::reply(reply)).len()
    }

    #[test]
    fn blocks_a_bare_question_after_a_relative_wish_on_an_unknown_field() {
        assert_eq!(found("What level do you want?", json!("unknown"), |t| t.history()), 1);
    }

    #[test]
    fn allows_the_question_with_the_admission_or_after_it() {
        let reply = "I can't see the hood's level right now. What level do you want?";
        assert_eq!(found(reply, json!("unknown"), |t| t.history()), 0);
        let told =
            |t: Talk<'_>| t.assistant("The level is unknown. Which one?").driver("higher, set the hood").history();
        assert_eq!(found("What level do you want?", json!("unknown"), told), 0);
    }

    #[test]
    fn allows_the_question_where_the_field_is_known() {
        assert_eq!(found("What level do you want?", json!(2), |t| t.history()), 0);
    }

    #[test]
    fn allows_a_null_that_nothing_depends_on() {
        assert_eq!(found("Done, the hood is set.", json!(null), |t| t.history()), 0);
    }
}
