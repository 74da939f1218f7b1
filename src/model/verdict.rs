//! The report of one check, exactly as `verify` and `replay` print it (design §8).

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Arguments, Finding, Tier, ToolCall, number};

/// The six verdicts in their order of precedence: the first that applies wins (design §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It cannot be done; the driver is told why.
    Refuse,
    /// The student must change the draft.
    Revise,
    /// Something must be read first; writes are held.
    Gather,
    /// The driver must agree first.
    Ask,
    /// The harness changed the calls; the result is cleared.
    Amend,
    /// Cleared as drafted.
    Clear,
}

impl Decision {
    /// The name in JSON and on D-Bus.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Revise => "revise",
            Self::Gather => "gather",
            Self::Ask => "ask",
            Self::Amend => "amend",
            Self::Clear => "clear",
        }
    }

    /// Whether the draft is objected to.
    pub fn objects(self) -> bool {
        matches!(self, Self::Refuse | Self::Revise | Self::Ask)
    }
}

/// The report of one check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictReport {
    /// The verdict.
    pub verdict: Decision,
    /// Microseconds that the check took against an ingested session, JSON excluded.
    pub micros: f64,
    /// Everything found, hard first.
    pub findings: Vec<ReportedFinding>,
    /// The calls that are cleared, when they differ from the draft.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amended: Vec<ReportedCall>,
    /// What the driver is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What the driver hears.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speak: Option<String>,
}

impl VerdictReport {
    /// Whether as much happens under another report: the same verdict, and the same calls where any are cleared.
    pub fn moves_as(&self, other: &Self) -> bool {
        self.verdict == other.verdict && self.amended == other.amended
    }
}

/// A finding in a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportedFinding {
    /// Gate.
    pub gate: String,
    /// Tier.
    pub tier: Tier,
    /// Rule, if one.
    pub rule: Option<String>,
    /// Where the policy says so.
    pub source: Option<String>,
    /// What is wrong.
    pub because: String,
    /// Calls that resolve it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedy: Vec<ReportedCall>,
}

/// A call in a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportedCall {
    /// Tool.
    pub tool: String,
    /// Arguments; whole numbers print as integers.
    pub arguments: Arguments,
}

impl From<&ToolCall> for ReportedCall {
    fn from(call: &ToolCall) -> Self {
        let arguments = call.arguments.iter().map(|(k, v)| (k.clone(), integers(v))).collect();
        Self { tool: call.tool.to_string(), arguments }
    }
}

impl From<&Finding> for ReportedFinding {
    fn from(finding: &Finding) -> Self {
        Self {
            gate: finding.gate.to_owned(),
            tier: finding.tier,
            rule: finding.rule.as_ref().map(ToString::to_string),
            source: finding.source.as_ref().map(ToString::to_string),
            because: finding.because.clone(),
            remedy: finding.remedy.iter().map(ReportedCall::from).collect(),
        }
    }
}

/// Whole numbers as integers, at every depth.
fn integers(json: &Json) -> Json {
    match json {
        Json::Number(n) => Json::Number(number(n)),
        Json::Array(items) => items.iter().map(integers).collect(),
        Json::Object(map) => map.iter().map(|(k, v)| (k.clone(), integers(v))).collect(),
        plain => plain.clone(),
    }
}
