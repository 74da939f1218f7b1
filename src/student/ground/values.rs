//! The values that may be meant for one parameter.

use std::sync::Arc;

use serde_json::Value as Json;

use super::Slot;
use crate::model::Words;
use crate::obligations::{Said, phones};
use crate::policy::{PhraseRole, Policy, Reading};
use crate::state::{History, is_mail, is_phone};
use crate::tools::{Param, ParamType, ToolIx};

/// Identifiers that are offered for one parameter, the latest first.
const IDENTIFIERS: usize = 24;
/// Steps of a parameter up to which each is asked about.
const STEPS: f64 = 12.0;
/// Words of a name that is looked up.
const NAME: usize = 3;
/// Names out of one sentence.
const NAMES: usize = 40;

/// What values are looked for in.
pub(super) struct Values<'a> {
    pub(super) policy: &'a Policy,
    pub(super) history: &'a History,
    pub(super) reading: &'a Reading<'a>,
    pub(super) said: &'a Said<'a, 'a>,
    pub(super) tool: ToolIx,
}

impl Values<'_> {
    /// The values that may be meant for a parameter; those that the driver's words name, where they name any.
    pub(super) fn of(&self, param: &Param) -> Vec<Slot> {
        let writes = self.policy.inventory.at(self.tool).is_some_and(|t| t.is_write());
        let values: Vec<Json> = match &param.kind {
            ParamType::Bool => vec![Json::Bool(true), Json::Bool(false)],
            ParamType::Enum(members) => members.iter().map(|m| Json::from(m.as_str())).collect(),
            ParamType::Number => return self.narrowed(param, self.numbers(param), self.relative()),
            ParamType::Text if takes_identifiers(param) => self.identifiers(param),
            ParamType::Text if writes && param.required && self.reaches_outside() => {
                let addresses = self.addresses();
                // A text that is neither is the model's own.
                return if addresses.is_empty() { vec![Slot::Open] } else { slots(addresses) };
            }
            ParamType::Text if !writes => self.names(),
            // Without any identifier no list of them can be written.
            ParamType::List(_) if takes_identifiers(param) && self.identifiers(param).is_empty() => return Vec::new(),
            ParamType::Text | ParamType::List(_) | ParamType::Object(_) | ParamType::Any => return vec![Slot::Open],
        };
        self.narrowed(param, values, false)
    }

    /// Those that the words name; all where they name none. A step names no value.
    fn narrowed(&self, param: &Param, values: Vec<Json>, step: bool) -> Vec<Slot> {
        let names = |v: &&Json| self.said.names(self.policy, self.history, self.tool, param, v);
        let named: Vec<Json> = if step { Vec::new() } else { values.iter().filter(names).cloned().collect() };
        // What nobody has to say is drafted only where it was said.
        if named.is_empty() && !param.required && !matches!(param.kind, ParamType::Text) {
            return Vec::new();
        }
        slots(if named.is_empty() { values } else { named })
    }

    fn relative(&self) -> bool {
        self.reading.has(PhraseRole::Relative)
    }

    /// Numbers that were said, that count from what is now, that a preference names, and the bounds.
    fn numbers(&self, param: &Param) -> Vec<Json> {
        let said: Vec<f64> = spoken(self.reading);
        let mut found: Vec<f64> = said.clone();
        let (low, high) = (param.minimum, param.maximum);
        let step = param.multiple_of.unwrap_or(1.0).max(f64::MIN_POSITIVE);
        if let (Some(low), Some(high)) = (low, high)
            && (high - low) / step <= STEPS
        {
            found.extend((0..=13_u8).map(|n| low + f64::from(n) * step));
        }
        found.extend(low);
        found.extend(high);
        for now in self.standing() {
            found.push(now);
            for by in said.iter().copied().chain([step, 10.0 * step]) {
                found.extend([now + by, now - by]);
            }
        }
        for sentence in self.preferences() {
            found.extend(spoken(&self.policy.lexicon().read(Arc::new(Words::new(&sentence)))));
        }
        for value in &mut found {
            *value = value.max(low.unwrap_or(*value)).min(high.unwrap_or(*value));
        }
        found.retain(|n| ((n / step).round() * step - n).abs() < 1e-9);
        found.sort_by(f64::total_cmp);
        found.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
        found.into_iter().map(number).collect()
    }

    /// What the fields that the tool sets have at the moment, as far as it is known.
    fn standing(&self) -> Vec<f64> {
        let Some(effect) = self.policy.model.tool(self.tool) else { return Vec::new() };
        let set: Vec<_> = effect.sets.iter().map(|s| s.attribute).collect();
        let world = self.history.world();
        let natural = |(cell, known): (crate::state::CellIx, &crate::state::Cell)| {
            let (attribute, _) = self.policy.model.owner(cell).filter(|(a, _)| set.contains(a))?;
            let crate::model::Value::Int(steps) = &known.value else { return None };
            Some(*steps as f64 / f64::from(self.policy.model.attribute(attribute)?.resolution.steps()))
        };
        world.cells().filter_map(natural).collect()
    }

    /// Sentences of stored preferences that were read.
    fn preferences(&self) -> Vec<String> {
        let Some(read) = self.policy.model.roles.preferences else { return Vec::new() };
        let mut found = Vec::new();
        for (_, past) in self.history.calls_of(read) {
            if let Some(payload) = past.payload() {
                texts(payload, &mut found);
            }
        }
        found
    }

    fn identifiers(&self, param: &Param) -> Vec<Json> {
        let seen = self.history.identifiers();
        let mut words: Vec<(&str, Option<u32>, bool)> = seen
            .iter()
            .filter(|(word, _)| seen.looks_like_one(word))
            .map(|(word, seen)| (word, seen.call.map(|c| c.0), *seen.field == *param.name))
            .collect();
        // Those that stood in a field of that very name alone, where there are any.
        if words.iter().any(|(.., own)| *own) {
            words.retain(|(.., own)| *own);
        }
        words.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        words.into_iter().take(IDENTIFIERS).map(|(word, ..)| Json::from(word)).collect()
    }

    fn reaches_outside(&self) -> bool {
        self.policy.inventory.at(self.tool).is_some_and(|t| t.outward)
    }

    /// Phone numbers and mail addresses that were said or shown.
    fn addresses(&self) -> Vec<Json> {
        let mut found: Vec<String> = phones(self.reading);
        found.extend(self.reading.words().iter().map(|(_, w)| w).filter(|w| is_mail(w)).map(str::to_owned));
        if found.is_empty() {
            let shown = self.history.identifiers().iter().map(|(word, _)| word);
            let mut shown: Vec<&str> = shown.filter(|w| is_mail(w) || is_phone(w)).collect();
            shown.sort_unstable();
            found.extend(shown.into_iter().take(IDENTIFIERS).map(str::to_owned));
        }
        found.into_iter().map(Json::from).collect()
    }

    /// Runs of the driver's own words that name nothing the policy knows: what is looked up is called as the
    /// driver calls it.
    fn names(&self) -> Vec<Json> {
        let Some(said) = self.history.driver().last() else { return Vec::new() };
        let words: Vec<&str> = said.text.split_whitespace().map(|w| w.trim_matches(|c: char| !c.is_alphanumeric())).collect();
        let words: Vec<&str> = words.into_iter().map(|w| w.strip_suffix("'s").unwrap_or(w)).filter(|w| !w.is_empty()).collect();
        let known = |word: &str| {
            let reading = self.policy.lexicon().read(Arc::new(Words::new(word)));
            !reading.hits().is_empty()
        };
        let free: Vec<bool> = words.iter().map(|w| !known(w)).collect();
        // A name is written with a capital letter, where the recogniser writes any.
        let capital = |at: usize| at > 0 && words.get(at).is_some_and(|w| w.starts_with(char::is_uppercase));
        let any_capital = (0..words.len()).any(|at| capital(at) && free.get(at) == Some(&true));
        let usable = |at: usize| free.get(at) == Some(&true) && (!any_capital || capital(at));
        let mut found: Vec<Json> = Vec::new();
        for start in 0..words.len() {
            for length in 1..=NAME {
                let Some(run) = words.get(start..start + length) else { break };
                if !(start..start + length).all(usable) || found.len() >= NAMES {
                    break;
                }
                found.push(Json::from(run.join(" ")));
            }
        }
        found
    }
}

/// Every number of a text, `twenty two` and `21 and a half` included.
fn spoken(reading: &Reading<'_>) -> Vec<f64> {
    crate::gates::numbers(reading).into_iter().map(|(_, n)| n).collect()
}

fn slots(values: Vec<Json>) -> Vec<Slot> {
    values.into_iter().map(Slot::Value).collect()
}

/// A whole number is written without a fraction.
fn number(value: f64) -> Json {
    if value.fract() == 0.0 && value.abs() < 1e9 { Json::from(value as i64) } else { Json::from(value) }
}

fn texts(json: &Json, found: &mut Vec<String>) {
    match json {
        Json::String(text) => found.push(text.clone()),
        Json::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Json::Object(map) => map.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

/// Whether a parameter takes an identifier: a part of its name says so (`waypoint_id_to_add`).
fn takes_identifiers(param: &Param) -> bool {
    param.name.split('_').any(|part| part.trim_end_matches('s').eq_ignore_ascii_case("id"))
}
