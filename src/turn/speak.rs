//! Replies computed from what was done and read back: no model call, nothing invented.

use serde_json::Value as Json;

use super::carry::Acted;
use super::run::{End, Run, complete};
use crate::execute::Executed;
use crate::model::Draft;
use crate::policy::{Policy, label};
use crate::state::Outcome;
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
                (outcome, _) if executed.cause.is_some() => sentences.extend(self.trouble(executed, &what, outcome)),
                (Outcome::Failed(why), _) => sentences.push(self.say("call-failed", &[("what", &what), ("why", why)])),
                (Outcome::Unknown(why), _) => {
                    sentences.push(self.say("call-unknown", &[("what", &what), ("why", why)]))
                }
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

    /// Why a call was not done, with the sentence of its cause.
    fn trouble(&self, executed: &Executed, what: &str, outcome: &Outcome) -> Option<String> {
        let cause = executed.cause?;
        let (why, open) = match outcome {
            Outcome::Unknown(why) => (why, !cause.says_what_became_of_it()),
            Outcome::Failed(why) => (why, false),
            Outcome::Done(_) | Outcome::Pending => return None,
        };
        let mut said = self.say(cause.occasion(), &[("what", what), ("why", why)]);
        if open {
            said.push(' ');
            said.push_str(&self.say("cause-open", &[]));
        }
        Some(said)
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
