//! Replies computed from what was done and read back: no model call, nothing invented.

use serde_json::Value as Json;

use super::carry::Acted;
use super::run::{End, Run, complete};
use crate::execute::Executed;
use crate::model::{Draft, ToolCall};
use crate::policy::Policy;
use crate::state::{Attribute, ItemRef, Outcome};
use crate::verify::Verdict;

/// Most values of one reading that are spoken: more is not listened to.
const SPOKEN: usize = 6;

impl Run<'_> {
    /// The reply after calls were carried out. It goes through verification like any other: what a
    /// rule wants said is added, and a sentence that cannot be cleared is not spoken.
    pub(super) fn report(&mut self, acted: &Acted) -> Result<String, End> {
        let mut draft = Draft::reply(self.compose(acted));
        for _ in 0..3 {
            let checked = self.judge(&draft, false);
            match checked.verdict {
                Verdict::Revise if complete(&mut draft, &checked.owed) => {}
                Verdict::Gather { reads } => {
                    self.carry(reads, &crate::obligations::Owed::default())?;
                }
                Verdict::Clear { .. } | Verdict::Amend { .. } => break,
                _ => {
                    tracing::warn!(findings = ?checked.findings, "a computed reply was not cleared");
                    draft = Draft::reply(self.say("bare", &[]));
                    break;
                }
            }
        }
        Ok(draft.reply.unwrap_or_default())
    }

    fn compose(&self, acted: &Acted) -> String {
        let mut done: Vec<String> = Vec::new();
        let mut companions: Vec<(String, Vec<String>)> = Vec::new();
        let mut sentences: Vec<String> = Vec::new();
        for executed in &acted.executed {
            let what = self.call(&executed.call);
            let writes = self.session.policy.inventory.get(executed.call.tool.as_str()).is_some_and(|t| t.is_write());
            match (&executed.outcome, &executed.call.by) {
                (Outcome::Done(payload), _) if !writes => sentences.extend(self.reading(executed, payload)),
                (Outcome::Done(_), None) => done.push(what),
                (Outcome::Done(_), Some(rule)) => {
                    let why = self.sentence(rule);
                    match companions.iter_mut().find(|(known, _)| *known == why) {
                        Some((_, calls)) => calls.push(what),
                        None => companions.push((why, vec![what])),
                    }
                }
                (Outcome::Failed(why), _) => sentences.push(self.say("call-failed", &[("what", &what), ("why", why)])),
                (Outcome::Unknown(why), _) => sentences.push(self.say("call-unknown", &[("what", &what), ("why", why)])),
                (Outcome::Pending, _) => {}
            }
        }
        let mut all: Vec<String> = Vec::new();
        if !done.is_empty() {
            all.push(self.say("call-done", &[("what", &self.list(&done))]));
        }
        for (why, calls) in companions {
            all.push(self.say("companion-done", &[("what", &self.list(&calls)), ("why", &why)]));
        }
        all.append(&mut sentences);
        for unread in &acted.unread {
            all.push(self.say("unread", &[("what", &unread.field.replace('_', " "))]));
        }
        all.extend(acted.stopped.clone());
        if all.is_empty() {
            all.push(self.say("nothing", &[]));
        }
        all.join(" ")
    }

    fn sentence(&self, rule: &crate::model::RuleId) -> String {
        let rule = self.session.policy.rules().iter().find(|r| r.id == *rule);
        rule.map(|r| r.sentence.trim_end_matches('.').to_owned()).unwrap_or_default()
    }

    fn list(&self, items: &[String]) -> String {
        match items.split_last() {
            Some((last, rest)) if !rest.is_empty() => {
                self.say("and", &[("first", &rest.join(", ")), ("last", last)])
            }
            _ => items.join(", "),
        }
    }

    /// A call as people say it: `driver window 0 percent`.
    fn call(&self, call: &ToolCall) -> String {
        let policy = &self.session.policy;
        let effect = policy.inventory.position(call.tool.as_str()).and_then(|t| policy.model.tool(t));
        let noun = effect
            .and_then(|e| e.nouns.get(&self.language).or_else(|| e.nouns.values().next()))
            .and_then(|n| n.first())
            .cloned()
            .unwrap_or_else(|| call.tool.as_str().replace('_', " "));
        let item = effect.and_then(|e| e.item.as_ref());
        let mut words: Vec<String> = Vec::new();
        if let Some(item) = item {
            let word = call.arguments.get(&item.argument).and_then(Json::as_str).unwrap_or_default();
            match item.resolve(word) {
                Some(ItemRef::All) => words.push(self.say("all", &[])),
                _ => words.push(word.to_lowercase().replace('_', " ")),
            }
        }
        words.push(noun);
        let attribute = |name: &str| -> Option<&Attribute> {
            let set = effect?.sets.iter().find(|s| matches!(&s.from, crate::state::SetFrom::Argument { name: n, .. } if n == name))?;
            policy.model.attribute(set.attribute)
        };
        for (name, value) in call.arguments.iter().filter(|(n, _)| item.is_none_or(|i| i.argument != **n)) {
            words.push(self.value(value, attribute(name).map(|a| a.unit.as_str()).unwrap_or_default()));
        }
        words.join(" ")
    }

    fn value(&self, value: &Json, unit: &str) -> String {
        match value {
            Json::Bool(true) => self.say("on", &[]),
            Json::Bool(false) => self.say("off", &[]),
            Json::Number(n) => {
                let number = crate::model::number(n).to_string();
                match unit {
                    "" => number,
                    "%" => self.say("percent", &[("number", &number)]),
                    "°C" => self.say("degrees", &[("number", &number)]),
                    other => format!("{number} {other}"),
                }
            }
            Json::String(word) if word.chars().any(char::is_lowercase) => word.clone(),
            Json::String(word) => word.to_lowercase().replace('_', " "),
            Json::Array(items) => items.iter().map(|i| self.value(i, unit)).collect::<Vec<_>>().join(", "),
            Json::Null | Json::Object(_) => String::new(),
        }
    }

    /// What a read found, as a sentence.
    fn reading(&self, executed: &Executed, payload: &Json) -> Option<String> {
        let policy = &self.session.policy;
        let mut parts: Vec<String> = Vec::new();
        scalars(policy, payload, "", &mut parts, &|value, unit| self.value(value, unit));
        parts.truncate(SPOKEN);
        (!parts.is_empty()).then(|| {
            let _ = executed;
            self.say("reading", &[("what", &parts.join(", "))])
        })
    }
}

/// Names and values of a payload's plain members, at every depth, identifiers left out.
fn scalars(policy: &Policy, json: &Json, name: &str, out: &mut Vec<String>, value: &dyn Fn(&Json, &str) -> String) {
    match json {
        Json::Object(map) => map.iter().for_each(|(n, v)| scalars(policy, v, n, out, value)),
        Json::Array(items) => items.iter().for_each(|v| scalars(policy, v, name, out, value)),
        Json::Null => {}
        plain => {
            let identifier = name == "id" || name.ends_with("_id") || name == "description";
            if !identifier {
                let unit = policy.model.attributes.iter().find(|a| a.field == name).map(|a| a.unit.as_str());
                out.push(format!("{} {}", name.replace('_', " "), value(plain, unit.unwrap_or_default())));
            }
        }
    }
}
