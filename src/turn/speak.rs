//! Replies computed from what was done and read back: no model call, nothing invented.

use serde_json::Value as Json;

use super::carry::Acted;
use super::run::{End, Run, complete};
use crate::execute::Executed;
use crate::model::Draft;
use crate::policy::{Policy, label};
use crate::state::Outcome;
use crate::vehicle::Part;
use crate::verify::Verdict;

/// Most values of one reading that are spoken: more is not listened to.
const SPOKEN: usize = 6;

/// Longest explanation of a tool itself that is spoken, in characters.
const OWN_WORDS: usize = 200;

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
                    // Silence on what failed would be a lie.
                    let done = acted.executed.iter().all(|e| matches!(e.outcome, Outcome::Done(_)));
                    draft = Draft::reply(self.say(if done { "bare" } else { "bare-open" }, &[]));
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
            let what = self.session.policy.call_words(&self.language, &executed.call, &self.session.history);
            let writes = self.session.policy.inventory.get(executed.call.tool.as_str()).is_some_and(|t| t.is_write());
            match (&executed.outcome, &executed.call.by) {
                (Outcome::Done(payload), _) if !writes => sentences.extend(self.reading(payload)),
                (Outcome::Done(_), None) => done.push(what),
                (Outcome::Done(_), Some(rule)) => {
                    let why = self.sentence(rule);
                    match companions.iter_mut().find(|(known, _)| *known == why) {
                        Some((_, calls)) => calls.push(what),
                        None => companions.push((why, vec![what])),
                    }
                }
                (outcome, _) => sentences.extend(self.trouble(executed, &what, outcome)),
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

    /// Why a call was not done, or why nobody can tell. What the car names as the cause is said in the
    /// driver's language; only what a tool itself says of its failure is passed on as it is.
    fn trouble(&self, executed: &Executed, what: &str, outcome: &Outcome) -> Option<String> {
        let (frame, own) = match outcome {
            Outcome::Unknown(why) => ("call-unknown", why),
            Outcome::Failed(why) => ("call-failed", why),
            Outcome::Done(_) | Outcome::Pending => return None,
        };
        let why = match executed.cause {
            Some(cause) if cause.is_a_sentence() => {
                return Some(self.say(cause.occasion(), &[("what", what), ("why", &self.parts(&executed.parts))]));
            }
            Some(cause) => self.say(cause.occasion(), &[]),
            None => own.chars().take(OWN_WORDS).collect(),
        };
        Some(self.say(frame, &[("what", what), ("why", &why)]))
    }

    /// How the fields of a call are, what is not as it was asked first.
    fn parts(&self, parts: &[Part]) -> String {
        let policy = &self.session.policy;
        let mut parts: Vec<&Part> = parts.iter().collect();
        parts.sort_by_key(|part| part.done);
        let spoken = parts.iter().take(SPOKEN).map(|part| {
            let field = policy.field_words(&self.language, part.cell);
            let value = policy.field_value_words(&self.language, part.cell, &part.found);
            self.say("part", &[("field", &field), ("value", &value)])
        });
        match spoken.collect::<Vec<String>>() {
            none if none.is_empty() => self.say("no-part", &[]),
            spoken => self.list(&spoken),
        }
    }

    fn sentence(&self, rule: &crate::model::RuleId) -> String {
        let rule = self.session.policy.rules().iter().find(|r| r.id == *rule);
        rule.map(|r| r.sentence.trim_end_matches('.').to_owned()).unwrap_or_default()
    }

    fn list(&self, items: &[String]) -> String {
        self.session.policy.list(&self.language, items)
    }

    /// What a read found, as a sentence.
    fn reading(&self, payload: &Json) -> Option<String> {
        let policy = &self.session.policy;
        let mut parts: Vec<String> = Vec::new();
        let speak = |value: &Json, unit: &str| {
            let word = value.as_str().filter(|word| self.session.history.identifiers().looks_like_one(word));
            match word {
                Some(identifier) => self.session.history.title(identifier).map(str::to_owned),
                None => Some(policy.value_words(&self.language, value, unit)),
            }
        };
        scalars(policy, payload, "", &mut parts, &speak);
        parts.truncate(SPOKEN);
        (!parts.is_empty()).then(|| self.say("reading", &[("what", &parts.join(", "))]))
    }
}

/// Names and values of a payload's plain members, at every depth, identifiers left out.
fn scalars(
    policy: &Policy,
    json: &Json,
    name: &str,
    out: &mut Vec<String>,
    value: &dyn Fn(&Json, &str) -> Option<String>,
) {
    match json {
        Json::Object(map) => map.iter().for_each(|(n, v)| scalars(policy, v, n, out, value)),
        Json::Array(items) => items.iter().for_each(|v| scalars(policy, v, name, out, value)),
        Json::Null => {}
        plain => {
            let identifier = name == "id" || name.ends_with("_id") || name == "description";
            if !identifier {
                let unit = policy.model.attributes.iter().find(|a| a.field == name).map(|a| a.unit.as_str());
                out.extend(value(plain, unit.unwrap_or_default()).map(|value| format!("{} {value}", label(name))));
            }
        }
    }
}
