//! The values that may be meant for one parameter.

use std::sync::Arc;

use serde_json::Value as Json;

use super::Slot;
use super::lookups::takes_identifiers;
use crate::gates::segment;
use crate::model::{ToolCall, Value, Words};
use crate::obligations::Said;
use crate::policy::{Hit, Meaning, PhraseRole, Policy, Reading};
use crate::state::{AttrIx, Cell, CellIx, History, ItemRef, NowField, SetFrom};
use crate::tools::{Param, ParamType, Tool, ToolIx};

/// Steps of a parameter up to which each is asked about.
const STEPS: f64 = 12.0;

/// How much less welcome a value is that was said before another one for the same argument, in nats: who corrects
/// himself means the later.
const EARLIER: f32 = 3.0;
/// One that was said for something else in the same sentence.
const ELSEWHERE: f32 = 4.0;
/// Anybody else's than the driver's where nobody is named.
const OTHERS: f32 = 4.0;
/// Switching off where nothing says so.
const OFF: f32 = 5.0;

/// What values are looked for in.
pub(super) struct Values<'a> {
    pub(super) policy: &'a Policy,
    pub(super) history: &'a History,
    pub(super) reading: &'a Reading<'a>,
    pub(super) said: &'a Said<'a, 'a>,
    pub(super) tool: ToolIx,
    /// The words that ask for this, where the sentence asks for several things.
    pub(super) range: Option<(usize, usize)>,
}

/// A value and how welcome it is, in nats.
pub(super) type Weighed = (Slot, f32);

impl Values<'_> {
    /// The values that may be meant for a parameter; those that the driver's words name, where they name any.
    pub(super) fn of(&self, param: &Param) -> Vec<Weighed> {
        let writes = self.policy.inventory.at(self.tool).is_some_and(|t| t.is_write());
        match &param.kind {
            ParamType::Bool => self.switch(param),
            ParamType::Enum(members) => self.members(param, members),
            ParamType::Number => self.number(param),
            ParamType::Text if takes_identifiers(param) => self.narrowed(param, self.identifiers(param)),
            // Whom a call reaches that says nothing else, nobody but the driver knows.
            ParamType::Text if writes && self.reaches_outside() && self.only_reaches() => even(self.addresses()),
            ParamType::Text if !writes => self.narrowed(param, self.names()),
            // Without any identifier no list of them can be written.
            ParamType::List(_) if takes_identifiers(param) && self.identifiers(param).is_empty() => Vec::new(),
            ParamType::List(_) if writes && self.reaches_outside() && !self.mails().is_empty() => {
                vec![(Slot::Value(Json::from(self.mails())), 0.0)]
            }
            ParamType::List(item) if matches!(**item, ParamType::Enum(_)) => self.topics(item.as_ref()),
            ParamType::Text | ParamType::List(_) | ParamType::Object(_) | ParamType::Any => vec![(Slot::Open, 0.0)],
        }
    }

    /// The share of what a tool requires that the words name; none required: none.
    pub(super) fn fits(&self, tool: &Tool) -> f32 {
        let required: Vec<&Param> = tool.params.iter().filter(|p| p.required).collect();
        let named = |p: &&&Param| match &p.kind {
            ParamType::Bool => self.named(p, vec![true.into(), false.into()]).len() == 1,
            ParamType::Enum(members) => !self.parts(p, members).is_empty() || !self.named(p, words(members)).is_empty(),
            ParamType::Number => self.of_now(p).is_some() || !self.steps(p).is_empty() || !self.mentioned(p).is_empty(),
            // That something has an identifier does not make it what is spoken of.
            ParamType::Text if takes_identifiers(p) => !self.named(p, self.identifiers(p)).is_empty(),
            ParamType::Text => !self.of(p).is_empty() && (self.reading.names(self.tool) || self.writes_a_name()),
            _ => false,
        };
        if required.is_empty() {
            // One of several that may be left out is enough to look something up by.
            return if tool.params.iter().any(|p| named(&&p)) { 1.0 } else { 0.0 };
        }
        required.iter().filter(named).count() as f32 / required.len().max(1) as f32
    }

    /// Reads of the fields that a number of the tool counts from, as far as they are not known and were not tried.
    pub(super) fn unread(&self, tool: &Tool) -> Vec<ToolCall> {
        let counts = |p: &&Param| p.kind == ParamType::Number && (!self.steps(p).is_empty() || self.is_vague(p));
        if !tool.params.iter().any(|p| counts(&p)) {
            return Vec::new();
        }
        let cells = self.cells();
        let unknown = cells.iter().filter(|(_, value)| value.is_none());
        let mut reads: Vec<ToolIx> =
            unknown.filter_map(|(attribute, _)| self.policy.model.attribute(*attribute)?.read).collect();
        reads.sort_unstable();
        reads.dedup();
        let untried = |read: &ToolIx| !self.history.calls_of(*read).any(|(_, past)| past.turn == self.history.turn());
        let call = |read: ToolIx| {
            let tool = self.policy.inventory.at(read).filter(|t| t.params.iter().all(|p| !p.required))?;
            let here = !self.history.removed().tool(tool.name.as_str());
            here.then(|| ToolCall::new(tool.name.as_str(), Default::default()))
        };
        reads.into_iter().filter(untried).filter_map(call).collect()
    }

    /// On or off: what is said; else on, unless something speaks of taking away.
    fn switch(&self, param: &Param) -> Vec<Weighed> {
        let both: Vec<Json> = vec![true.into(), false.into()];
        let named = self.named(param, both.clone());
        if named.len() == 1 || !param.required {
            return even(named);
        }
        let off = if self.takes_away() { 0.0 } else { -OFF };
        both.into_iter()
            .map(|v| (v == Json::Bool(false), v))
            .map(|(is_off, v)| (Slot::Value(v), if is_off { off } else { 0.0 }))
            .collect()
    }

    /// Whether something that is said of the tool speaks of taking away; what it does itself (`clear the windshield`)
    /// does not, nor does what is said of something else.
    fn takes_away(&self) -> bool {
        let away = [PhraseRole::Off, PhraseRole::Least, PhraseRole::Remove, PhraseRole::No, PhraseRole::Negation];
        let clause = |h: &Hit<'_>| self.reading.clause(h);
        let own: Vec<u16> = self.reading.hits().iter().filter(|h| h.names(self.tool)).map(clause).collect();
        let does = |at: usize| self.reading.hits().iter().any(|h| h.start == at && h.means(Meaning::Verb(self.tool)));
        let counts = |h: &&Hit<'_>| own.is_empty() || own.contains(&clause(h));
        let speaks = |h: &Hit<'_>| away.iter().any(|r| h.is(*r)) && !(h.is(PhraseRole::Remove) && does(h.start));
        self.reading.hits().iter().filter(counts).any(speaks)
    }

    /// Members of an enumeration: those that are named, the latest first.
    fn members(&self, param: &Param, members: &[String]) -> Vec<Weighed> {
        let joined = self.parts(param, members);
        if !joined.is_empty() {
            return even(joined);
        }
        let mut named = self.named(param, words(members));
        if named.is_empty() {
            named = members.iter().filter(|m| self.spells(m)).map(|m| Json::from(m.as_str())).collect();
        }
        if let Some(all) = self.every(param, members, &named) {
            return vec![(Slot::Value(all), 0.0)];
        }
        match named.is_empty() {
            true if param.required => self.unnamed(param, members),
            true => Vec::new(),
            false => {
                let places = |value: &Json| self.places(value.as_str().unwrap_or_default());
                let stands = |value: &Json| places(value).into_iter().any(|at| self.stands(at));
                let left: Vec<Json> = named.iter().filter(|v| stands(v)).cloned().collect();
                self.latest(if left.is_empty() { named } else { left }, places)
            }
        }
    }

    /// Whether all parts of a schema's word are said, in the singular or in the plural: a `bakery` is one of `bakeries`.
    fn spells(&self, member: &str) -> bool {
        let singular = |part: &str| match part.strip_suffix("ies") {
            Some(stem) => format!("{stem}y"),
            None => part.trim_end_matches('s').to_owned(),
        };
        let heard = |part: &str| self.reading.words().iter().any(|(_, w)| w == part || singular(w) == singular(part));
        member.split('_').map(str::to_lowercase).all(|part| heard(&part))
    }

    /// The member that stands for all items, where each of them is named: `front and back`.
    fn every(&self, param: &Param, members: &[String], named: &[Json]) -> Option<Json> {
        let item = self.policy.model.tool(self.tool)?.item.as_ref().filter(|i| i.argument == param.name)?;
        let stands_for = |m: &str| item.resolve(m);
        let items = self.policy.model.entity(item.entity)?.items.len();
        let said: Vec<ItemRef> = named.iter().filter_map(Json::as_str).filter_map(stands_for).collect();
        let all_said = (0_u16..).take(items).all(|i| said.contains(&ItemRef::One(i)));
        let all = members.iter().find(|m| stands_for(m) == Some(ItemRef::All))?;
        (items > 1 && all_said).then(|| Json::from(all.as_str()))
    }

    /// Every member, where none is named: of several items the driver's own, which is the first.
    fn unnamed(&self, param: &Param, members: &[String]) -> Vec<Weighed> {
        let item = self.policy.model.tool(self.tool).and_then(|e| e.item.as_ref());
        let Some(item) = item.filter(|i| i.argument == param.name) else { return even(words(members)) };
        let own = |m: &String| item.resolve(m) == Some(ItemRef::One(0));
        members.iter().map(|m| (Slot::Value(Json::from(m.as_str())), if own(m) { 0.0 } else { -OTHERS })).collect()
    }

    /// The member that joins all the parts that are said, wherever each is: `the windshield and my feet`.
    fn parts(&self, param: &Param, members: &[String]) -> Vec<Json> {
        let item = self.policy.model.tool(self.tool).and_then(|e| e.item.as_ref());
        if item.is_some_and(|i| i.argument == param.name) {
            return Vec::new();
        }
        let split = |m: &String| m.split('_').map(str::to_lowercase).collect::<Vec<_>>();
        // Only where the parts stand for something by themselves.
        let alone: Vec<String> = members.iter().filter(|m| !m.contains('_')).map(|m| m.to_lowercase()).collect();
        let said: Vec<&String> = alone.iter().filter(|part| !self.places(part).is_empty()).collect();
        let whole = |m: &&String| {
            let parts = split(m);
            parts.len() > 1 && parts.len() == said.len() && parts.iter().all(|p| said.contains(&p))
        };
        members.iter().filter(whole).map(|m| Json::from(m.as_str())).collect()
    }

    /// Positions at which a schema's word, or a part of it, is said.
    fn places(&self, member: &str) -> Vec<usize> {
        let mut found = Vec::new();
        for part in member.split('_').map(str::to_lowercase) {
            let meaning = self.policy.lexicon().value(&part);
            let spelled = self.reading.words().iter().enumerate().filter(|(_, (_, word))| *word == part);
            found.extend(spelled.map(|(at, _)| at));
            found.extend(self.reading.hits().iter().filter(|h| meaning.is_some_and(|m| h.means(m))).map(|h| h.start));
        }
        found
    }

    /// Those that the words name: the sentences about this tool, else all of them.
    fn named(&self, param: &Param, values: Vec<Json>) -> Vec<Json> {
        let by = |said: &Said<'_, '_>| {
            let names = |v: &&Json| said.names(self.policy, self.history, self.tool, param, v);
            values.iter().filter(names).cloned().collect::<Vec<Json>>()
        };
        let about = by(self.said);
        if about.is_empty() { by(&Said::new(self.reading)) } else { about }
    }

    /// Those that are named, or all.
    fn narrowed(&self, param: &Param, values: Vec<Json>) -> Vec<Weighed> {
        let named = self.named(param, values.clone());
        even(if named.is_empty() { values } else { named })
    }

    /// The later one is said, the more it is meant; what is said for something else is hardly meant.
    fn latest(&self, values: Vec<Json>, places: impl Fn(&Json) -> Vec<usize>) -> Vec<Weighed> {
        let last: Vec<Option<usize>> = values.iter().map(|v| places(v).into_iter().max()).collect();
        let latest = last.iter().flatten().max().copied();
        let inside = |v: &Json| {
            let here = |at: &usize| self.range.is_none_or(|(start, end)| (start..end).contains(at));
            places(v).iter().any(here)
        };
        let some_inside = values.iter().any(inside);
        let weight = |(value, last): (Json, Option<usize>)| {
            let earlier = if last == latest { 0.0 } else { EARLIER };
            let elsewhere = if some_inside && !inside(&value) { ELSEWHERE } else { 0.0 };
            (Slot::Value(value), -(earlier + elsewhere))
        };
        values.into_iter().zip(last).map(weight).collect()
    }

    fn number(&self, param: &Param) -> Vec<Weighed> {
        if let Some(now) = self.of_now(param) {
            return vec![(Slot::Value(number(now)), 0.0)];
        }
        let steps = self.steps(param);
        if !steps.is_empty() {
            let counted = self.counted(param, &steps);
            if !counted.is_empty() {
                return even(counted);
            }
        }
        let said = self.mentioned(param);
        if !said.is_empty() {
            let values = said.iter().map(|(value, _)| number(*value)).collect();
            return self.latest(values, |value| {
                let same = |(said, _): &&(f64, Vec<usize>)| value.as_f64().is_some_and(|v| (v - said).abs() < 1e-9);
                said.iter().find(same).map(|(_, places)| places.clone()).unwrap_or_default()
            });
        }
        if !param.required {
            return Vec::new();
        }
        if self.is_vague(param) {
            // A little of it, unless the gates want another measure.
            let unit = param.multiple_of.unwrap_or(1.0);
            let range = param.maximum.zip(param.minimum).map_or(unit, |(most, least)| most - least);
            let counted = self.counted(param, &[unit.max((range / 10.0 / unit).round() * unit)]);
            if !counted.is_empty() {
                return even(counted);
            }
        }
        even(self.numbers(param))
    }

    /// What a parameter that is called as a part of the date and time has at this moment; an hour that was said
    /// goes before it.
    fn of_now(&self, param: &Param) -> Option<f64> {
        let field = NowField::by_name(&param.name)?;
        let clock = |at: usize| self.reading.role(PhraseRole::Clock).any(|h| h.start == at + 1);
        let mut said = crate::gates::numbers(self.reading).into_iter().filter(|(at, _)| clock(*at));
        if field == NowField::Hour
            && let Some((_, hour)) = said.next()
        {
            return Some(hour);
        }
        let Value::Int(now) = self.history.now().get(field) else { return None };
        Some(*now as f64)
    }

    /// Numbers that the words give for a parameter, each with its places: in figures, in words, or as the most and
    /// the least that it takes. Those that the words name beyond doubt are alone.
    fn mentioned(&self, param: &Param) -> Vec<(f64, Vec<usize>)> {
        let (low, high) = (param.minimum, param.maximum);
        let mut found: Vec<(f64, Vec<usize>)> = Vec::new();
        let mut add = |value: f64, at: usize| {
            let fits = low.is_none_or(|l| value >= l) && high.is_none_or(|h| value <= h);
            let step = param.multiple_of.unwrap_or(0.0);
            if !fits || (step > 0.0 && ((value / step).round() * step - value).abs() > 1e-9) {
                return;
            }
            match found.iter_mut().find(|(known, _)| (known - value).abs() < 1e-9) {
                Some((_, places)) => places.push(at),
                None => found.push((value, vec![at])),
            }
        };
        for (at, value) in crate::gates::numbers(self.reading) {
            if !self.is_step(param, at) {
                add(value, at);
            }
        }
        let roles = [(PhraseRole::Most, high), (PhraseRole::Least, low), (PhraseRole::Off, low)];
        for (role, bound) in roles {
            for hit in self.reading.role(role) {
                bound.iter().for_each(|value| add(*value, hit.start));
            }
        }
        let inside = |at: &usize| self.range.is_none_or(|(start, end)| (start..end).contains(at));
        for kept in [&inside as &dyn Fn(&usize) -> bool, &|at: &usize| self.stands(*at)] {
            if found.iter().any(|(_, places)| places.iter().any(kept)) {
                found.retain(|(_, places)| places.iter().any(kept));
            }
        }
        if found.len() < 2 {
            return found;
        }
        let named = self.named(param, found.iter().map(|(value, _)| number(*value)).collect());
        if !named.is_empty() {
            found.retain(|(value, _)| named.contains(&number(*value)));
        }
        found
    }

    /// Whether words were not taken back: nothing after them corrects them.
    fn stands(&self, at: usize) -> bool {
        !self.reading.role(PhraseRole::Correction).any(|h| h.start > at)
    }

    /// Numbers by which something is to change: `two levels up`, `by 3 degrees`.
    fn steps(&self, param: &Param) -> Vec<f64> {
        let all = crate::gates::numbers(self.reading).into_iter();
        all.filter(|(at, _)| self.is_step(param, *at)).map(|(_, value)| value).collect()
    }

    fn is_step(&self, param: &Param, at: usize) -> bool {
        let within = |h: &&Hit<'_>| h.start < at && at < h.end;
        if self.reading.role(PhraseRole::Relative).any(|h| within(&h)) {
            return true;
        }
        let (start, end) = segment(self.reading, at);
        let inside = |h: &&Hit<'_>| (start..end).contains(&h.start);
        let relative = self.reading.role(PhraseRole::Relative).any(|h| inside(&h));
        let target = self.reading.role(PhraseRole::Target).any(|h| h.end == at);
        let own = self.unit(param).and_then(|unit| self.policy.lexicon().value(&unit));
        let named = self.policy.lexicon().value(&param.name);
        let measures = [own, named];
        let measured =
            self.reading.hits().iter().any(|h| h.start == at + 1 && measures.iter().flatten().any(|m| h.means(*m)));
        relative && measured && !target
    }

    /// Whether more or less is wanted and nothing says how much.
    fn is_vague(&self, param: &Param) -> bool {
        self.reading.has(PhraseRole::Relative) && self.mentioned(param).is_empty() && self.steps(param).is_empty()
    }

    /// What is now, so much more or less.
    fn counted(&self, param: &Param, by: &[f64]) -> Vec<Json> {
        let (more, less) = (self.reading.has(PhraseRole::More), self.reading.has(PhraseRole::Less));
        let mut found: Vec<f64> = Vec::new();
        for now in self.cells().into_iter().filter_map(|(_, value)| value) {
            for by in by {
                let ways = [(now + by, more || !less), (now - by, less || !more)];
                found.extend(ways.into_iter().filter(|(_, wanted)| *wanted).map(|(value, _)| value));
            }
        }
        self.fitting(param, found)
    }

    fn unit(&self, param: &Param) -> Option<String> {
        let effect = self.policy.model.tool(self.tool)?;
        let reads = |from: &SetFrom| matches!(from, SetFrom::Argument { name, .. } if *name == param.name);
        let set = effect.sets.iter().find(|s| reads(&s.from))?;
        Some(self.policy.model.attribute(set.attribute)?.unit.clone())
    }

    /// Every number that might be meant where nothing says which: levels, bounds, preferences, what is now.
    fn numbers(&self, param: &Param) -> Vec<Json> {
        let mut found: Vec<f64> = Vec::new();
        let (low, high) = (param.minimum, param.maximum);
        let step = param.multiple_of.unwrap_or(1.0).max(f64::MIN_POSITIVE);
        if let (Some(low), Some(high)) = (low, high)
            && (high - low) / step <= STEPS
        {
            found.extend((0..=13_u8).map(|n| low + f64::from(n) * step));
        }
        found.extend(low);
        found.extend(high);
        found.extend(self.cells().into_iter().filter_map(|(_, value)| value));
        for sentence in self.preferences() {
            found.extend(spoken(&self.policy.lexicon().read(Arc::new(Words::new(&sentence)))));
        }
        self.fitting(param, found)
    }

    /// Numbers that the parameter takes, clamped, each once.
    fn fitting(&self, param: &Param, mut found: Vec<f64>) -> Vec<Json> {
        let (low, high) = (param.minimum, param.maximum);
        let step = param.multiple_of.unwrap_or(1.0).max(f64::MIN_POSITIVE);
        for value in &mut found {
            *value = value.max(low.unwrap_or(*value)).min(high.unwrap_or(*value));
        }
        found.retain(|n| ((n / step).round() * step - n).abs() < 1e-9);
        found.sort_by(f64::total_cmp);
        found.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
        found.into_iter().map(number).collect()
    }

    /// The fields that the tool sets and what they have at the moment, as far as it is known.
    fn cells(&self) -> Vec<(AttrIx, Option<f64>)> {
        let Some(effect) = self.policy.model.tool(self.tool) else { return Vec::new() };
        let set: Vec<AttrIx> = effect.sets.iter().map(|s| s.attribute).collect();
        let natural = |(cell, known): (CellIx, &Cell)| {
            let (attribute, _) = self.policy.model.owner(cell).filter(|(a, _)| set.contains(a))?;
            let Value::Int(steps) = &known.value else { return Some((attribute, None)) };
            Some((
                attribute,
                Some(*steps as f64 / f64::from(self.policy.model.attribute(attribute)?.resolution.steps())),
            ))
        };
        self.history.world().cells().filter_map(natural).collect()
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
}

/// Every number of a text, `twenty two` and `21 and a half` included.
fn spoken(reading: &Reading<'_>) -> Vec<f64> {
    crate::gates::numbers(reading).into_iter().map(|(_, n)| n).collect()
}

fn even(values: Vec<Json>) -> Vec<Weighed> {
    values.into_iter().map(|value| (Slot::Value(value), 0.0)).collect()
}

fn words(members: &[String]) -> Vec<Json> {
    members.iter().map(|m| Json::from(m.as_str())).collect()
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
