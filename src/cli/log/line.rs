//! A record for a person.

use std::io::{self, Write};

use serde_json::Value as Json;

use super::filter::{findings, text};
use super::when;
use crate::journal::{Kind, Record};

/// Digits of a hash that a person compares.
pub(super) const SHORT: usize = 12;

pub(super) fn print(out: &mut impl Write, record: &Record) -> io::Result<()> {
    write!(out, "{} #{:<6}", when::told(record.time), record.seq)?;
    if let Some(place) = &record.place {
        let session = place.session.rsplit('/').next().unwrap_or_default();
        write!(out, " {session}.{:<4}", place.turn)?;
    }
    let proved = if record.proved { "" } else { " (not proved)" };
    writeln!(out, " {:<9} {}{proved}", record.kind.as_str(), summary(record))?;
    for finding in findings(record) {
        let rule = said(finding, "rule").map(|r| format!(" {r}")).unwrap_or_default();
        let source = said(finding, "source").map(|s| format!(" ({s})")).unwrap_or_default();
        writeln!(out, "      {}{rule}{source}: {}", text(finding, "gate"), words(finding.get("because")))?;
        for remedy in finding.get("remedy").and_then(Json::as_array).into_iter().flatten() {
            writeln!(out, "        → {}", call(remedy))?;
        }
    }
    Ok(())
}

fn summary(record: &Record) -> String {
    let body = &record.body;
    let report = || {
        let report = body.get("report").cloned().unwrap_or_default();
        let micros = report.get("micros").and_then(Json::as_f64).unwrap_or_default();
        format!("{} {micros:.0} µs under {}", text(&report, "verdict"), short(text(body, "policy")))
    };
    match record.kind {
        Kind::Turn => words(body.get("utterance")),
        Kind::Reply => words(body.get("reply")),
        Kind::Verdict => report(),
        Kind::Shadow => format!("{}: {} -> {}", text(body, "of"), text(body, "was"), report()),
        Kind::Draft => {
            let calls = body.get("calls").and_then(Json::as_array).into_iter().flatten().map(call);
            let said = body.get("reply").filter(|r| !r.is_null()).map(|r| words(Some(r)));
            calls.chain(said).collect::<Vec<_>>().join("; ")
        }
        Kind::Executed => {
            let made = body.get("call").map(call).unwrap_or_default();
            let by = body.get("call").and_then(|c| said(c, "by")).map(|by| format!(" for {by}")).unwrap_or_default();
            let why = said(body, "why").map(|why| format!(": {why}")).unwrap_or_default();
            format!("{made}{by} {}{why}", text(body, "outcome"))
        }
        Kind::Question => words(body.get("question")),
        Kind::Grant if body.get("granted").and_then(Json::as_bool) == Some(true) => "yes".to_owned(),
        Kind::Grant => "no".to_owned(),
        Kind::Started => {
            format!("obligatod {} under {} {}", text(body, "version"), text(body, "id"), short(text(body, "policy")))
        }
        Kind::Policy => format!("{} {}: {}", text(body, "id"), short(text(body, "policy")), text(body, "why")),
        Kind::Update if text(body, "what") == "refused" => {
            let (step, by, error) = (text(body, "step"), by_user(body), text(body, "error"));
            format!("{step}{by} refused, {error}: {}", text(body, "why"))
        }
        Kind::Update => {
            let version = body.get("version").map(Json::to_string).unwrap_or_default();
            format!("{}: version {version}{}", text(body, "what"), by_user(body))
        }
        Kind::Session if text(body, "what") == "opened" => {
            let user = body.get("user").map(Json::to_string).unwrap_or_default();
            let by = said(body, "connection").map_or_else(|| "for all of them".to_owned(), |c| format!("by {c}"));
            format!("opened: user {user}, {by}")
        }
        Kind::Session => format!("{}: {}", text(body, "what"), text(body, "why")),
        Kind::Undone => format!(
            "{} {} -> {} -> {} by {}, {} ms after {}",
            text(body, "field"),
            text(body, "before"),
            text(body, "ours"),
            text(body, "now"),
            text(body, "how"),
            body.get("after_ms").map(Json::to_string).unwrap_or_default(),
            said(body, "rule").map_or_else(|| "a request".to_owned(), |rule| format!("rule {rule}")),
        ),
        Kind::Opened | Kind::Recovered | Kind::Fault | Kind::Stopped | Kind::Dropped | Kind::Unknown => {
            let members = body.as_object().into_iter().flatten();
            members.map(|(name, value)| format!("{name} {}", words(Some(value)))).collect::<Vec<_>>().join(", ")
        }
    }
}

fn said<'a>(json: &'a Json, name: &str) -> Option<&'a str> {
    json.get(name).and_then(Json::as_str)
}

fn short(hash: &str) -> &str {
    hash.get(..SHORT).unwrap_or(hash)
}

/// A text, or what redaction left of it.
fn words(json: Option<&Json>) -> String {
    match json {
        Some(Json::String(text)) => text.clone(),
        Some(other) => match other.get("redacted") {
            Some(hash) => format!("[redacted {}]", hash.as_str().unwrap_or_default()),
            None => other.to_string(),
        },
        None => String::new(),
    }
}

fn call(json: &Json) -> String {
    let arguments = json.get("arguments").and_then(Json::as_object).into_iter().flatten();
    let arguments: Vec<String> = arguments.map(|(name, value)| format!("{name}: {}", words(Some(value)))).collect();
    format!("{}({})", text(json, "tool"), arguments.join(", "))
}

/// Who took a step of an update.
fn by_user(body: &Json) -> String {
    body.get("by").and_then(Json::as_u64).map(|user| format!(" by user {user}")).unwrap_or_default()
}
