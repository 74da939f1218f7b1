//! The right moment to look up.

use super::said::numbers;
use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier, Value};
use crate::policy::PhraseRole;
use crate::state::NowField;
use crate::tools::Kind;

gate! {
    /// What the driver wants to know of a later moment is looked up for that moment.
    ///
    /// # Why
    /// The weather at arrival is not the weather now.
    ///
    /// # Blocks
    /// Nothing by itself. A read for the present hour goes before the critic when the driver's latest
    /// words speak of a moment to come; where they say how many hours, with the hour that this makes.
    ///
    /// # Allows
    /// Reads for another hour, reads without one, and words that speak of now.
    ///
    /// # Remedy
    /// None.
    "future-time-argument", Advisory
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(driver) = view.driver() else { return Ok(()) };
    let Some(later) = driver.role(PhraseRole::Future).next() else { return Ok(()) };
    let Value::Int(now) = view.history.now().get(NowField::Hour) else { return Ok(()) };
    for (at, call) in view.draft.calls.iter().enumerate() {
        view.spend(call.arguments.len() + 1)?;
        if !view.policy.inventory.get(call.tool.as_str()).is_some_and(|t| t.kind == Kind::Read) {
            continue;
        }
        let hour = call.arguments.iter().find(|(name, _)| name.split('_').any(|w| w == NowField::Hour.name()));
        let Some((name, _)) = hour.filter(|(_, value)| value.as_i64() == Some(*now)) else { continue };
        let unit = view.policy.lexicon().value(NowField::Hour.name());
        let inside = |at: usize| (later.start..later.end).contains(&at);
        let counts_hours = driver.hits().iter().any(|h| inside(h.start) && unit.is_some_and(|u| h.means(u)));
        let said: Vec<&str> = (later.start..later.end).map(|i| driver.words().text(i)).collect();
        let hours = numbers(driver).into_iter().find(|(i, _)| inside(*i)).map(|(_, n)| n);
        let target = hours.filter(|n| counts_hours && *n < 24.0).map(|n| (*now + n as i64) % 24);
        let target = target.map(|hour| format!("; that is hour {hour}")).unwrap_or_default();
        let because = format!(
            "`{name}` of `{}` is the present hour, but the driver said \"{}\"{target}",
            call.tool,
            said.join(" ")
        );
        findings.push(Finding::new(NAME, Tier::Advisory, because).at(at));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
    use crate::state::Now;
    use serde_json::json;

    fn found(said: &str, hour: i64) -> Vec<String> {
        let policy = kitchen();
        let mut history = Talk::new(&policy).driver(said).history();
        let mut now = Now::default();
        now.set(NowField::Hour, Value::Int(22));
        history.set_now(now);
        let draft = calls(&[("search_paths", json!({"from_id": "a", "to_id": "b", "hour": hour}))]);
        check(&GATE, &policy, &history, &draft).into_iter().map(|f| f.because).collect()
    }

    #[test]
    fn blocks_nothing_but_puts_the_present_hour_for_a_later_moment_before_the_critic() {
        assert_eq!(found("how is the way tomorrow", 22).len(), 1);
    }

    #[test]
    fn hours_that_were_said_are_counted_past_midnight() {
        assert!(found("how is the way in three hours", 22)[0].ends_with("that is hour 1"));
    }

    #[test]
    fn allows_another_hour_and_words_about_now() {
        assert_eq!(found("how is the way in three hours", 1), Vec::<String>::new());
        assert_eq!(found("how is the way right now", 22), Vec::<String>::new());
    }
}
