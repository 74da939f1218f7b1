//! What was counted since the service began.

use std::collections::BTreeMap;

use crate::journal::{Action, Judgement};
use crate::model::VerdictReport;

/// Numbers by name.
pub(super) type Tally = BTreeMap<String, u64>;

/// Who is counted where no rule stands behind a call.
pub(super) const REQUEST: &str = "request";

/// Names that are counted apart; what comes later is counted together under `other`. A policy has
/// hundreds of rules at most, and what a session brings along is named by it.
const NAMES: usize = 2_048;

/// What was counted since the service began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::service) struct Counts {
    /// Records written.
    pub(super) records: u64,
    /// Records lost before they were written.
    pub(super) dropped: u64,
    /// Hash of the newest record.
    pub(super) head: String,
    /// Judgements by verdict.
    pub(super) verdicts: Tally,
    /// Findings by gate.
    pub(super) gates: Tally,
    /// Findings by rule.
    pub(super) rules: Tally,
    /// Checks that broke down, by what they say.
    pub(super) faults: Tally,
    /// Calls that changed the car, by the rule that demanded them.
    pub(super) actions: Tally,
    /// Of which undone within a minute.
    pub(super) undone: Tally,
    /// Findings of rules in shadow.
    pub(super) shadow: Tally,
    /// Judgements that the candidate shares (`same`) and that it does not (`other`).
    pub(super) candidate: Tally,
}

/// Counts one more.
pub(super) fn add(tally: &mut Tally, name: &str) {
    let name = if tally.len() < NAMES || tally.contains_key(name) { name } else { "other" };
    let count = tally.entry(name.to_owned()).or_default();
    *count = count.saturating_add(1);
}

impl Counts {
    pub(super) fn judged(&mut self, judgement: &Judgement) {
        add(&mut self.verdicts, judgement.report.verdict.as_str());
        for finding in &judgement.report.findings {
            add(&mut self.gates, &finding.gate);
            if let Some(rule) = &finding.rule {
                add(&mut self.rules, rule);
            }
        }
        judgement.faults.iter().for_each(|fault| add(&mut self.faults, fault));
    }

    pub(super) fn acted(&mut self, action: &Action) {
        add(&mut self.actions, action.rule().map_or(REQUEST, |rule| rule.as_str()));
    }

    pub(super) fn shadowed(&mut self, of: &str, same: bool, report: &VerdictReport) {
        if of == "candidate" {
            add(&mut self.candidate, if same { "same" } else { "other" });
        } else {
            report.findings.iter().filter_map(|f| f.rule.as_deref()).for_each(|rule| add(&mut self.shadow, rule));
        }
    }
}

/// How the journal is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::service) enum Standing {
    /// None is configured.
    Off,
    /// Everything is written.
    Recording,
    /// Something could not be written; why.
    Failing(String),
}

impl Standing {
    pub(super) fn start(configured: bool) -> Self {
        if configured { Self::Recording } else { Self::Off }
    }

    /// The name on D-Bus.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Recording => "recording",
            Self::Failing(_) => "failing",
        }
    }

    /// Why it is failing.
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::Failing(why) => why,
            Self::Off | Self::Recording => "",
        }
    }
}
