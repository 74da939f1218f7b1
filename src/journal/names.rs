//! The names that members of records can have: what is to be redacted and is none of them would be redacted nowhere.

use std::collections::BTreeSet;

use crate::model::nearest;
use crate::policy::Policy;
use crate::tools::Members;

/// Members of the records of sessions, with those that they lie in; a list is no step. What tells of the program alone
/// is never redacted and is not here, nor is what the sentences of an offer were compiled to. What tools take and
/// answer lies in `arguments`, `result` and `done`.
const OWN: [&str; 98] = [
    "after_ms",
    "apply",
    "before",
    "call.arguments",
    "call.by",
    "call.id",
    "call.tool",
    "calls.arguments",
    "calls.by",
    "calls.id",
    "calls.tool",
    "connection",
    "critic",
    "draft.calls.arguments",
    "draft.calls.by",
    "draft.calls.id",
    "draft.calls.tool",
    "draft.malformed.id",
    "draft.malformed.tool",
    "draft.malformed.why",
    "draft.reply",
    "faults",
    "field",
    "first",
    "granted",
    "ground.calls.ages",
    "ground.calls.arguments",
    "ground.calls.at",
    "ground.calls.by",
    "ground.calls.id",
    "ground.calls.outcome.done",
    "ground.calls.outcome.failed",
    "ground.calls.outcome.unknown",
    "ground.calls.step",
    "ground.calls.tool",
    "ground.calls.turn",
    "ground.clock",
    "ground.deaf",
    "ground.forgotten",
    "ground.grants.arguments",
    "ground.grants.tool",
    "ground.grants.turn",
    "ground.heard.calls",
    "ground.heard.step",
    "ground.heard.utterance",
    "ground.now",
    "ground.removed",
    "ground.side",
    "ground.spoken.calls",
    "ground.spoken.reply",
    "ground.spoken.step",
    "ground.steps",
    "ground.system",
    "ground.whole",
    "how",
    "id",
    "in_turn",
    "malformed.tool",
    "malformed.why",
    "micros",
    "now",
    "number",
    "of",
    "offer.advice",
    "offer.forbids.id",
    "offer.forbids.sentence",
    "ours",
    "outcome",
    "policy",
    "question",
    "read_back.confirmed",
    "read_back.field",
    "read_back.read",
    "read_back.wanted",
    "reply",
    "report.amended.arguments",
    "report.amended.tool",
    "report.findings.because",
    "report.findings.gate",
    "report.findings.remedy.arguments",
    "report.findings.remedy.tool",
    "report.findings.rule",
    "report.findings.source",
    "report.findings.tier",
    "report.micros",
    "report.question",
    "report.speak",
    "report.verdict",
    "result",
    "round",
    "rule",
    "same",
    "user",
    "utterance",
    "was",
    "what",
    "why",
    "writes",
];

/// The names that members of records can have under a policy.
#[derive(Debug)]
pub struct Names {
    /// Members of the records themselves, each with those that it lies in.
    own: Vec<Vec<&'static str>>,
    /// Members of what tools take and answer, and the member of a record in which they lie.
    tools: BTreeSet<(&'static str, Vec<String>)>,
    /// Tools that do not say all of what they take or answer.
    open: Vec<String>,
}

impl Names {
    /// Reads the schemas of the policy's tools.
    pub fn under(policy: &Policy) -> Self {
        let own = OWN.iter().map(|path| path.split('.').collect()).collect();
        let mut names = Self { own, tools: BTreeSet::new(), open: Vec::new() };
        for tool in policy.inventory.iter() {
            let (takes, answers) = (tool.takes(), tool.answers());
            let told = |members: &Option<Members>| members.as_ref().is_some_and(|members| !members.open);
            if !told(&takes) || !told(&answers) {
                names.open.push(tool.name.to_string());
            }
            for (members, places) in [(takes, &["arguments"][..]), (answers, &["result", "done"])] {
                for path in members.into_iter().flat_map(|members| members.paths) {
                    names.tools.extend(places.iter().map(|place| (*place, path.clone())));
                }
            }
        }
        names
    }

    /// Whether records can have members of these names that lie in one another, the outermost first.
    pub fn know(&self, path: &[&str]) -> bool {
        let inside = |(place, members): &(&str, Vec<String>)| {
            members.windows(path.len()).any(|part| part == path)
                || (1..path.len()).any(|at| {
                    let (outer, inner) = path.split_at(at);
                    outer.last() == Some(place)
                        && members.get(..inner.len()).is_some_and(|part| part == inner)
                        && self.own.iter().any(|own| own.ends_with(outer))
                })
        };
        !path.is_empty()
            && (self.own.iter().any(|own| own.windows(path.len()).any(|part| part == path))
                || self.tools.iter().any(inside))
    }

    /// What was probably meant by names that no record has, joined by dots.
    pub fn near(&self, path: &[&str]) -> Option<String> {
        let count = path.len().max(1);
        let own = self.own.iter().flat_map(|own| own.windows(count)).map(|part| part.join("."));
        let inside = self.tools.iter().flat_map(|(_, members)| members.windows(count)).map(|part| part.join("."));
        let below = self.tools.iter().filter_map(|(place, members)| {
            let inner = members.get(..count - 1).filter(|inner| !inner.is_empty())?;
            Some(format!("{place}.{}", inner.join(".")))
        });
        let known: BTreeSet<String> = own.chain(inside).chain(below).collect();
        let near = nearest(&path.join("."), known.iter().map(String::as_str));
        // What is there, and lies elsewhere.
        let last = || path.last().filter(|last| self.know(&[**last])).copied();
        near.or_else(last).map(str::to_owned)
    }

    /// Tools that do not say all of what they take or answer: others than the known names may come from them.
    pub fn open(&self) -> &[String] {
        &self.open
    }
}

#[cfg(test)]
mod tests;
