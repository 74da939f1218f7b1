//! Numbers that a reply states.

use std::collections::BTreeMap;

use super::exhaustive::narrowed;
use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier, word_number};
use crate::state::Numbers;

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
    let history = view.history;
    let calls = history.calls().iter().rev().take(KEPT).map(|past| &past.contents.numbers);
    let mut known: Vec<&Numbers> = Vec::new();
    for numbers in calls {
        view.spend(1 + numbers.len())?;
        open.retain(|(_, stated)| !stated.is_in(numbers));
        if open.is_empty() {
            return Ok(None);
        }
        known.push(numbers);
    }
    let mut said = Numbers::default();
    for utterance in history.driver().iter().rev().take(KEPT) {
        view.spend(1 + utterance.words.len())?;
        said.read(&utterance.words);
    }
    for numbers in [&said, history.system_numbers()] {
        view.spend(1 + numbers.len())?;
        open.retain(|(_, stated)| !stated.is_in(numbers));
        known.push(numbers);
    }
    if open.is_empty() || history.calls().len() > KEPT || history.driver().len() > KEPT {
        return Ok(None);
    }
    let mut fields: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (field, numbers) in known.into_iter().flat_map(Numbers::fields) {
        view.spend(numbers.len())?;
        fields.entry(field).or_default().extend(numbers);
    }
    for (word, stated) in open {
        if !stated.is_a_sum(view, &fields)? {
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
        let value = word_number(word).filter(|v| v.fract() != 0.0)?;
        let digits = word.rsplit(['.', ',']).next().map_or(0, str::len);
        let step = 10_f64.powi(-i32::try_from(digits).ok()?);
        // Speech rounds to halves.
        let half = digits == 1 && (value * 2.0).fract() == 0.0;
        Some(Self { value, tolerance: if half { 0.25 } else { step / 2.0 } + 1e-9 })
    }

    fn is(&self, other: f64) -> bool {
        (self.value - other).abs() <= self.tolerance
    }

    /// Whether it is one of these numbers, in some unit.
    fn is_in(&self, numbers: &Numbers) -> bool {
        numbers.fields().flat_map(|(_, all)| all).any(|n| FACTORS.iter().any(|f| self.is(n * f)))
    }

    /// Whether it is the sum or the difference of two numbers of one field.
    fn is_a_sum(&self, view: &View<'_>, fields: &BTreeMap<&str, Vec<f64>>) -> Result<bool, Exhausted> {
        for numbers in fields.values() {
            let some = numbers.get(..numbers.len().min(MOST)).unwrap_or_default();
            view.spend(some.len() * some.len())?;
            if some.iter().any(|a| some.iter().any(|b| self.is(a + b) || self.is(a - b))) {
                return Ok(true);
            }
        }
        Ok(false)
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
