//! The page for reviewers: one self-contained file.
//!
//! Everything of a recording is untrusted. It enters the page in one place only, as JSON in which no
//! character that HTML knows is left ([`inert`]); the script shows it as text and never as markup, and
//! the page's own security policy allows no other script and no request at all.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::super::explain;
use super::Recorded;
use super::judge::{Judged, Turn};
use super::projection::Change;
use super::summary::Summary;
use crate::gates::GATES;
use crate::model::{Message, Role, Tier, VerdictReport};
use crate::policy::{Advice, Policy, Rule};

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = concat!(
    include_str!("page/dom.js"),
    include_str!("page/data.js"),
    include_str!("page/charts.js"),
    include_str!("page/overview.js"),
    include_str!("page/policy.js"),
    include_str!("page/conversations.js"),
    include_str!("page/timeline.js"),
    include_str!("page/main.js"),
);

/// What the script reads; `page/data.js` is its counterpart.
#[derive(Debug, Serialize)]
pub(super) struct Page<'a> {
    policy: PolicyText<'a>,
    gates: Vec<GateText<'a>>,
    advice: Advice,
    files: Vec<String>,
    summary: &'a Summary,
    /// Lines of system messages: conversations share nearly all of theirs.
    lines: Vec<&'a str>,
    conversations: Vec<Conversation<'a>>,
}

#[derive(Debug, Serialize)]
struct PolicyText<'a> {
    id: &'a str,
    hash: String,
    prose: &'a [String],
    rules: Vec<RuleText<'a>>,
}

#[derive(Debug, Serialize)]
struct RuleText<'a> {
    id: &'a str,
    kind: &'static str,
    source: &'a str,
    sentence: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    advise: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shadow: bool,
}

#[derive(Debug, Serialize)]
struct GateText<'a> {
    name: &'a str,
    tier: Tier,
    summary: &'a str,
}

#[derive(Debug, Serialize)]
struct Conversation<'a> {
    id: &'a str,
    passed: Option<bool>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    removed: &'a [String],
    messages: Vec<Said<'a>>,
    turns: Vec<JudgedTurn<'a>>,
}

/// A message; the calls as tool and argument text, exactly as recorded.
#[derive(Debug, Serialize)]
struct Said<'a> {
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// Positions in [`Page::lines`], of a system message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<(&'a str, &'a str)>,
    /// The tool that a result comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct JudgedTurn<'a> {
    index: usize,
    #[serde(flatten)]
    report: &'a VerdictReport,
    #[serde(skip_serializing_if = "<[Change]>::is_empty")]
    projected: &'a [Change],
}

impl<'a> Page<'a> {
    /// Gathers what the page shows.
    pub(super) fn new(
        policy: &'a Policy,
        advice: Advice,
        files: Vec<String>,
        recorded: &'a [Recorded],
        judged: &'a [Judged],
        summary: &'a Summary,
    ) -> Self {
        let mut lines = Lines::default();
        let conversations =
            recorded.iter().zip(judged).map(|(recorded, judged)| conversation(recorded, judged, &mut lines)).collect();
        Self {
            policy: PolicyText {
                id: &policy.id,
                hash: policy.hash.to_string(),
                prose: &policy.prose,
                rules: policy.rules().iter().map(rule_text).collect(),
            },
            gates: GATES
                .iter()
                .map(|gate| GateText { name: gate.name, tier: gate.tier, summary: explain::summary(gate) })
                .collect(),
            advice,
            files,
            summary,
            lines: lines.in_order,
            conversations,
        }
    }

    /// Writes the page.
    ///
    /// # Errors
    /// What the file says.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let data = inert(&serde_json::to_string(self)?);
        // Script and style are allowed by a number that nobody who wrote a recording could know: it
        // depends on the whole recording.
        let nonce: String = Sha256::digest(data.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        fill(TEMPLATE, out, |name| match name {
            "nonce" => Some(&nonce),
            "style" => Some(STYLE),
            "script" => Some(SCRIPT),
            "data" => Some(&data),
            _ => None,
        })
    }
}

fn rule_text(rule: &Rule) -> RuleText<'_> {
    RuleText {
        id: rule.id.as_str(),
        kind: rule.kind.as_str(),
        source: &rule.source,
        sentence: &rule.sentence,
        advise: rule.advise.as_deref(),
        shadow: rule.shadow,
    }
}

fn conversation<'a>(recorded: &'a Recorded, judged: &'a Judged, lines: &mut Lines<'a>) -> Conversation<'a> {
    let tools: HashMap<&str, &str> =
        recorded.messages.iter().flat_map(|m| &m.tool_calls).map(|c| (c.id.as_str(), c.tool.as_str())).collect();
    Conversation {
        id: &recorded.id,
        passed: recorded.passed(),
        removed: recorded.removed(),
        messages: recorded.messages.iter().map(|message| said(message, &tools, lines)).collect(),
        turns: judged.turns.iter().map(judged_turn).collect(),
    }
}

fn said<'a>(message: &'a Message, tools: &HashMap<&str, &'a str>, lines: &mut Lines<'a>) -> Said<'a> {
    let text = message.content.as_deref();
    let shared = message.role == Role::System;
    Said {
        role: message.role,
        text: text.filter(|_| !shared),
        lines: text.filter(|_| shared).into_iter().flat_map(str::lines).map(|line| lines.position(line)).collect(),
        calls: message.tool_calls.iter().map(|c| (c.tool.as_str(), c.arguments.as_str())).collect(),
        of: message.tool_call_id.as_deref().and_then(|id| tools.get(id)).copied(),
    }
}

fn judged_turn(turn: &Turn) -> JudgedTurn<'_> {
    JudgedTurn { index: turn.index, report: &turn.report, projected: &turn.projected }
}

/// Lines, each kept once.
#[derive(Debug, Default)]
struct Lines<'a> {
    in_order: Vec<&'a str>,
    positions: HashMap<&'a str, usize>,
}

impl<'a> Lines<'a> {
    fn position(&mut self, line: &'a str) -> usize {
        *self.positions.entry(line).or_insert_with(|| {
            self.in_order.push(line);
            self.in_order.len() - 1
        })
    }
}

/// JSON that stays JSON and cannot end, comment out or open anything in HTML: these characters occur
/// in JSON only inside strings, where they may be written as escapes.
fn inert(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            c => out.push(c),
        }
    }
    out
}

/// Writes a template; `{{name}}` stands for a part. One pass, so that no part is searched for parts.
fn fill<'p>(template: &str, out: &mut impl Write, part: impl Fn(&str) -> Option<&'p str>) -> io::Result<()> {
    let mut rest = template;
    while let Some((before, (name, after))) =
        rest.split_once("{{").and_then(|(before, tail)| Some((before, tail.split_once("}}")?)))
    {
        out.write_all(before.as_bytes())?;
        let part = part(name).ok_or_else(|| io::Error::other(format!("the page has no part `{name}`")))?;
        out.write_all(part.as_bytes())?;
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PolicyHash;
    use crate::policy::PolicyParts;

    #[test]
    fn data_holds_no_character_that_html_knows_and_stays_the_same_json() {
        let hostile = serde_json::json!({"</script><!--": "<img src=x onerror=alert(1)> & {{script}} \u{2028}"});
        let text = inert(&hostile.to_string());
        assert!(!text.contains(['<', '>', '&']), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), hostile);
    }

    #[test]
    fn a_part_that_looks_like_a_placeholder_is_left_alone() {
        let mut out = Vec::new();
        fill("a {{x}} b {{y}}", &mut out, |name| Some(if name == "x" { "{{y}}" } else { "Y" })).unwrap();
        assert_eq!(out, b"a {{y}} b Y");
    }

    #[test]
    fn every_placeholder_of_the_page_has_a_part() {
        let summary = Summary::of(&[]);
        let policy = Policy::new(PolicyParts::default(), PolicyHash::default()).unwrap();
        let page = Page::new(&policy, Advice::Remedies, Vec::new(), &[], &[], &summary);
        let mut out = Vec::new();
        page.write(&mut out).unwrap();
        assert!(!String::from_utf8(out).unwrap().contains("{{"));
    }
}
