//! Numbers that a reply states.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::exhaustive::narrowed;
use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier, Words};
use crate::policy::number;
use crate::state::{Outcome, PastCall};

gate! {
    /// A precise number in a reply comes from somewhere.
    ///
    /// # Why
    /// "2.3 km away, around 6 minutes" sounds looked up. A driver plans by it.
    ///
    /// # Blocks
    /// A number with a fraction that no result, argument, message or instruction holds, and that is neither
    /// such a number rounded or in another unit of time or length, nor the sum or the difference of two
    /// numbers of one field. And the number nought: "there are no others" when every search of this turn was
    /// narrowed by a filter that nobody asked for.
    ///
    /// # Allows
    /// Whole numbers, which people round to, and halves near an observed number ("about 1.5 hours"). A
    /// claim of nothing else that names the filter, or that one open search supports.
    ///
    /// # Remedy
    /// None: look the number up, or leave it out.
    "numeric-claim", Hard
}

/// Factors between units that people change in their heads: minutes and hours, metres and kilometres.
const FACTORS: [f64; 5] = [1.0, 60.0, 1.0 / 60.0, 1000.0, 0.001];

/// Numbers of one field that are added and subtracted.
const MOST: usize = 64;

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(reply) = view.reply() else { return Ok(()) };
    if let Some((filter, search)) = narrowed(view, reply)? {
        let because = format!("the reply says there is nothing else, but {search} was narrowed by `{filter}`, unasked");
        findings.push(Finding::new(NAME, Tier::Hard, because));
    }
    let stated = reply.words().iter().filter_map(|(_, word)| Some((word, Stated::read(word)?)));
    let stated: Vec<(&str, Stated)> = stated.collect();
    if stated.is_empty() {
        return Ok(());
    }
    if let Some(word) = unknown(view, stated)? {
        let because = format!("the reply states {word}, but no result holds that number or yields it");
        findings.push(Finding::new(NAME, Tier::Hard, because));
    }
    Ok(())
}

/// Calls and messages that are looked back at. Beyond them a number may have been seen, and nothing is
/// said about it: a long drive must neither make a check slow nor a finding uncertain.
const KEPT: usize = 48;

/// The first number that nothing known yields.
fn unknown<'r>(view: &View<'_>, mut open: Vec<(&'r str, Stated)>) -> Result<Option<&'r str>, Exhausted> {
    let mut known = Known::default();
    let mut see = |fresh: Known, open: &mut Vec<(&'r str, Stated)>| {
        open.retain(|(_, stated)| !fresh.0.values().flatten().any(|n| FACTORS.iter().any(|f| stated.is(n * f))));
        fresh.0.into_iter().for_each(|(field, mut numbers)| known.0.entry(field).or_default().append(&mut numbers));
    };
    for past in view.history.calls().iter().rev().take(KEPT) {
        see(Known::of_call(view, past)?, &mut open);
        if open.is_empty() {
            return Ok(None);
        }
    }
    for utterance in view.history.driver().iter().rev().take(KEPT) {
        see(Known::of_text(view, &utterance.text)?, &mut open);
    }
    see(Known::of_text(view, view.history.system())?, &mut open);
    if view.history.calls().len() > KEPT || view.history.driver().len() > KEPT {
        return Ok(None);
    }
    for (word, stated) in open {
        if !known.adds_up_to(view, &stated)? {
            return Ok(Some(word));
        }
    }
    Ok(None)
}

/// A number with a fraction, and how far from it the number meant may lie.
struct Stated {
    value: f64,
    tolerance: f64,
}

impl Stated {
    fn read(word: &str) -> Option<Self> {
        let value = number(word).filter(|v| v.fract() != 0.0)?;
        let digits = word.rsplit(['.', ',']).next().map_or(0, str::len);
        let step = 10_f64.powi(-i32::try_from(digits).ok()?);
        // Speech rounds to halves.
        let half = digits == 1 && (value * 2.0).fract() == 0.0;
        Some(Self { value, tolerance: if half { 0.25 } else { step / 2.0 } + 1e-9 })
    }

    fn is(&self, other: f64) -> bool {
        (self.value - other).abs() <= self.tolerance
    }
}

/// Numbers by the field they stand in.
#[derive(Default)]
struct Known(BTreeMap<String, Vec<f64>>);

impl Known {
    fn of_call(view: &View<'_>, past: &PastCall) -> Result<Self, Exhausted> {
        let mut known = Self::default();
        match &past.outcome {
            Outcome::Done(payload) => known.walk(view, "", payload)?,
            Outcome::Failed(why) | Outcome::Unknown(why) => known.text(view, "", why)?,
            Outcome::Pending => {}
        }
        past.call.arguments.iter().try_for_each(|(name, value)| known.walk(view, name, value))?;
        Ok(known)
    }

    fn of_text(view: &View<'_>, text: &str) -> Result<Self, Exhausted> {
        let mut known = Self::default();
        known.text(view, "", text)?;
        Ok(known)
    }

    /// Whether a number is the sum or the difference of two of one field.
    fn adds_up_to(&self, view: &View<'_>, stated: &Stated) -> Result<bool, Exhausted> {
        for numbers in self.0.values() {
            let some = numbers.get(..numbers.len().min(MOST)).unwrap_or_default();
            view.spend(some.len() * some.len())?;
            if some.iter().any(|a| some.iter().any(|b| stated.is(a + b) || stated.is(a - b))) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn walk(&mut self, view: &View<'_>, field: &str, json: &Json) -> Result<(), Exhausted> {
        view.spend(1)?;
        match json {
            Json::Number(n) => n.as_f64().into_iter().for_each(|n| self.add(field, n)),
            Json::String(text) => self.text(view, field, text)?,
            Json::Array(items) => items.iter().try_for_each(|item| self.walk(view, field, item))?,
            Json::Object(map) => map.iter().try_for_each(|(name, value)| {
                self.text(view, name, name)?;
                self.walk(view, name, value)
            })?,
            Json::Bool(_) | Json::Null => {}
        }
        Ok(())
    }

    fn text(&mut self, view: &View<'_>, field: &str, text: &str) -> Result<(), Exhausted> {
        // Results are long and numbers in them few: only pieces with a digit are split into words.
        for piece in text.split_ascii_whitespace().filter(|p| p.bytes().any(|b| b.is_ascii_digit())) {
            let words = Words::new(piece);
            view.spend(words.len())?;
            for (_, word) in words.iter() {
                // A number may stand inside a word of its own making, such as `0.5h` or `x2.5`.
                let digits = word.trim_start_matches(|c: char| !c.is_ascii_digit());
                number(digits).into_iter().for_each(|n| self.add(field, n));
            }
        }
        Ok(())
    }

    fn add(&mut self, field: &str, number: f64) {
        self.0.entry(field.to_owned()).or_default().push(number);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use serde_json::json;

    fn found(reply: &str) -> usize {
        let policy = kitchen();
        let recipes =
            json!({"recipes": [{"weight_kg": 1.25, "minutes": 90}, {"weight_kg": 2.85}], "note": "rated 4.7 of 5"});
        let talk = Talk::new(&policy).driver("a cake under 3.2 kilos");
        let history = talk.done("search_recipes", json!({"dish": "cakes"}), recipes).history();
        check(&GATE, &policy, &history, &Draft::reply(reply)).len()
    }

    #[test]
    fn blocks_a_precise_number_that_nothing_yields() {
        for reply in ["The shop is 2.3 km away.", "It takes 1,7 Stunden.", "It weighs 1.26 kg."] {
            assert_eq!(found(reply), 1, "{reply}");
        }
    }

    #[test]
    fn allows_what_was_observed_said_rounded_or_added() {
        for reply in
            ["It weighs 1.25 kg.", "About 1.3 kg.", "Rated 4.7.", "Below 3.2 kilos.", "Together 4.1 kg.", "1250.0 g"]
        {
            assert_eq!(found(reply), 0, "{reply}");
        }
    }

    #[test]
    fn blocks_nothing_else_after_a_search_narrowed_unasked() {
        let policy = kitchen();
        let searched = |filters: &[&str], reply: &str| {
            let by = json!({"dish": "cakes", "filters": filters});
            let talk = Talk::new(&policy).driver("find me something sweet").done("search_recipes", by, json!({}));
            check(&GATE, &policy, &talk.history(), &Draft::reply(reply)).len()
        };
        assert_eq!(searched(&["cakes::vegan"], "There are no other cakes."), 1);
        assert_eq!(searched(&[], "There are no other cakes."), 0);
        assert_eq!(searched(&["cakes::vegan"], "There are no other vegan cakes."), 0);
        assert_eq!(searched(&["cakes::vegan"], "There are more cakes."), 0);
    }

    #[test]
    fn allows_whole_numbers_and_halves_near_an_observation() {
        assert_eq!(found("It takes about 1.5 hours, at 17:45, for 12 people."), 0);
    }
}
