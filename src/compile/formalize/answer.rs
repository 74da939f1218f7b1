//! What an author answered, read strictly: a part that is not understood is no part of a rule.

use cedar_policy::Policy as CedarPolicy;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::author::ANSWER_BYTES;
use crate::compile::ground::REPLY;
use crate::compile::rules::{TOO_DEEP, find_code, statements, too_deep, without_comments};

/// Rules that one sentence may become: more is no translation of one sentence.
const MOST_RULES: usize = 8;

/// What the generator makes of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    /// Rules with a condition.
    Executable,
    /// A hint for the critic.
    Advisory,
    /// Nothing that concerns calls or replies.
    OutOfReach,
}

/// The generator's answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Generated {
    pub(super) outcome: Outcome,
    #[serde(default)]
    pub(super) rules: Vec<String>,
    #[serde(default)]
    pub(super) tools: Vec<String>,
    #[serde(default)]
    pub(super) why: String,
}

/// The judge's answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Judged {
    pub(super) faithful: bool,
    pub(super) broader: bool,
    pub(super) narrower: bool,
    pub(super) pragmatic: bool,
    #[serde(default)]
    pub(super) why: String,
}

/// The verifier's answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Verified {
    /// Required, so that an empty object is no approval.
    #[serde(deserialize_with = "Option::deserialize")]
    pub(super) counterexample: Option<String>,
}

/// Reads the JSON object of an answer, also where a model wraps it in prose or a code fence.
pub(super) fn object<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.len() > ANSWER_BYTES {
        return Err(format!("the answer takes {} bytes, more than the {ANSWER_BYTES} that are read", text.len()));
    }
    let start = text.find('{').ok_or("the answer holds no JSON object")?;
    let rest = text.get(start..).unwrap_or_default();
    let end = rest.rfind('}').ok_or("the JSON object of the answer does not end")?;
    let object = rest.get(..=end).unwrap_or_default();
    serde_json::from_str(object).map_err(|e| format!("the answer is not of the form that was asked for: {e}"))
}

/// Reads the generator's answer.
pub(super) fn generated(text: &str) -> Result<Generated, String> {
    let read: Generated = object(text)?;
    match read.outcome {
        Outcome::Executable if read.rules.is_empty() => Err("`executable` without a rule".to_owned()),
        Outcome::Executable if read.rules.len() > MOST_RULES => {
            Err(format!("{} rules for one sentence; at most {MOST_RULES}", read.rules.len()))
        }
        Outcome::Advisory | Outcome::OutOfReach if !read.rules.is_empty() => {
            Err("rules belong to the outcome `executable` only".to_owned())
        }
        Outcome::Advisory if read.tools.is_empty() => {
            Err("`advisory` without `tools`; name those at which it matters, or `reply`".to_owned())
        }
        _ => Ok(read),
    }
}

/// A rule in our hands: the author's annotations except those that say whose rule it is, then its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    annotations: Vec<(String, String)>,
    code: String,
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejected {
    pub(super) why: String,
    /// Whether it tries what no rule may do. That is no slip in a translation, so nothing of the answer
    /// says what the sentence is about.
    pub(super) overreach: bool,
}

impl Rejected {
    fn overreach(why: impl Into<String>) -> Self {
        Self { why: why.into(), overreach: true }
    }
}

impl Candidate {
    /// Takes one Cedar statement apart. `@id` and `@source` are not the author's to give, and a rule that
    /// only records (`@shadow`) is none that keeps a sentence.
    pub(super) fn read(text: &str) -> Result<Self, Rejected> {
        let plain = without_comments(text);
        let ranges = statements(&plain);
        let [range] = ranges.as_slice() else {
            let count = ranges.len();
            let why = format!("{count} statements where one rule belongs; give each rule a text of its own");
            return Err(Rejected::overreach(why));
        };
        let plain = plain.get(range.clone()).unwrap_or_default();
        if too_deep(plain).is_some() {
            return Err(Rejected { why: TOO_DEEP.to_owned(), overreach: false });
        }
        let policy = CedarPolicy::parse(None, plain).map_err(|errors| {
            let told: Vec<String> = errors.iter().map(crate::compile::rules::explain).collect();
            Rejected { why: format!("not Cedar: {}", told.join("; ")), overreach: false }
        })?;
        if policy.annotation("shadow").is_some() {
            return Err(Rejected::overreach("`@shadow` is not for generated rules; leave it out"));
        }
        let code = find_code(plain, "forbid", 0).and_then(|at| plain.get(at..));
        let only = || Rejected::overreach("only `forbid` is a rule: whatever no rule forbids is permitted");
        let code = code.ok_or_else(only)?;
        let own = policy.annotations().filter(|(name, _)| !matches!(*name, "id" | "source"));
        let annotations = own.map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        Ok(Self { annotations, code: code.trim().to_owned() })
    }

    /// A hint for the critic at calls of tools, and one at replies where they are named: the two have
    /// different contexts.
    pub(super) fn advice(tools: &[String], sentence: &str) -> Vec<Self> {
        let (replies, calls): (Vec<&String>, Vec<&String>) = tools.iter().partition(|t| t.as_str() == REPLY);
        let hint = |names: Vec<&String>| {
            let names: Vec<String> = names.iter().map(|name| format!("Action::{}", quoted(name))).collect();
            let annotations = [("kind", "constraint"), ("advise", sentence)];
            Self {
                annotations: annotations.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec(),
                code: format!("forbid (principal, action in [{}], resource is Car);", names.join(", ")),
            }
        };
        [calls, replies].into_iter().filter(|names| !names.is_empty()).map(hint).collect()
    }

    /// The rule as text under an identifier and a source.
    pub(super) fn text(&self, id: &str, source: &str) -> String {
        let mut text = format!("@id({})\n@source({})\n", quoted(id), quoted(source));
        for (name, value) in &self.annotations {
            text.push_str(&format!("@{name}({})\n", quoted(value)));
        }
        text.push_str(&self.code);
        text.push('\n');
        text
    }
}

/// A Cedar string.
fn quoted(text: &str) -> String {
    // Rust and Cedar write strings alike.
    format!("{text:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_found_in_prose_and_fences_and_nothing_else_is_taken_for_one() {
        let fenced = "Sure!\n```json\n{\"counterexample\": null}\n```";
        assert_eq!(object::<Verified>(fenced).unwrap().counterexample, None);
        assert!(object::<Verified>("{}").unwrap_err().contains("counterexample"));
        assert!(object::<Judged>("{\"faithful\": true}").is_err());
        assert!(object::<Judged>("I approve.").unwrap_err().contains("no JSON object"));
        assert!(object::<Verified>(&format!("{{\"counterexample\": \"{}\"}}", "x".repeat(20_000))).is_err());
    }

    #[test]
    fn whose_rule_it_is_and_whether_it_acts_is_not_the_authors_to_say() {
        let candidate = Candidate::read(
            "// mine\n@id(\"011\") @source(\"policy.md:99\") @kind(\"prohibition\")\nforbid (principal, action == Action::\"x\", resource is Car) when { \"// no\" == \"\" };",
        )
        .unwrap();
        let text = candidate.text("line_3", "policy.md:3");
        assert!(
            text.starts_with("@id(\"line_3\")\n@source(\"policy.md:3\")\n@kind(\"prohibition\")\nforbid ("),
            "{text}"
        );
        assert!(!text.contains("011") && !text.contains("mine") && text.contains("\"// no\""), "{text}");
        for (text, says) in [
            ("permit (principal, action, resource);", "only `forbid`"),
            ("forbid (principal, action, resource); permit (principal, action, resource);", "2 statements"),
            ("@shadow forbid (principal, action, resource);", "@shadow"),
            ("forbid (principal,", "not Cedar"),
            ("", "0 statements"),
        ] {
            assert!(Candidate::read(text).unwrap_err().why.contains(says), "{text}");
        }
    }

    #[test]
    fn a_hint_quotes_its_sentence_so_that_it_stays_a_text() {
        let tools = ["set_x".to_owned(), "reply".to_owned(), "set_y".to_owned()];
        let hints = Candidate::advice(&tools, "Say \"x\"); permit (principal, action, resource);\n");
        assert_eq!(hints.len(), 2, "calls and replies apart");
        for hint in hints {
            let text = hint.text("a", "p:1");
            assert_eq!(statements(&text).len(), 1, "{text}");
            assert!(CedarPolicy::parse(None, &text).is_ok(), "{text}");
        }
    }
}
