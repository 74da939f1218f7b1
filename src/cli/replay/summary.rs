//! What all judged conversations come to.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::judge::Judged;
use crate::model::{Decision, Tier};

/// Counts over all conversations. Pairs are passing and failing conversations as recorded; one that
/// was not scored counts as passing, so that an objection to it is never excused.
#[derive(Debug, Default, Serialize)]
pub(super) struct Summary {
    /// Conversations.
    conversations: usize,
    /// Messages judged.
    turns: usize,
    /// Messages by verdict.
    verdicts: BTreeMap<&'static str, usize>,
    /// Findings that are not advisory, by gate.
    gates: BTreeMap<String, [usize; 2]>,
    /// The same by rule.
    rules: BTreeMap<String, [usize; 2]>,
    /// Conversations with at least one objection or amendment.
    objected: [usize; 2],
    /// Conversations.
    outcomes: [usize; 2],
    /// Microseconds that the median check took.
    micros_p50: f64,
    /// Microseconds that 99 of 100 checks stayed within.
    micros_p99: f64,
}

impl Summary {
    /// Counts.
    pub(super) fn of(judged: &[Judged]) -> Self {
        let mut s = Self { conversations: judged.len(), ..Self::default() };
        let mut micros: Vec<f64> = Vec::new();
        for one in judged {
            let side = usize::from(one.passed == Some(false));
            let mut objected = false;
            for turn in &one.turns {
                s.turns += 1;
                micros.push(turn.report.micros);
                *s.verdicts.entry(turn.report.verdict.as_str()).or_default() += 1;
                objected |= turn.report.verdict.objects() || turn.report.verdict == Decision::Amend;
                for finding in turn.report.findings.iter().filter(|f| f.tier != Tier::Advisory) {
                    bump(s.gates.entry(finding.gate.clone()).or_default(), side);
                    if let Some(rule) = &finding.rule {
                        bump(s.rules.entry(rule.clone()).or_default(), side);
                    }
                }
            }
            bump(&mut s.outcomes, side);
            if objected {
                bump(&mut s.objected, side);
            }
        }
        micros.sort_by(f64::total_cmp);
        let at = |share: f64| micros.get((micros.len() as f64 * share) as usize).copied().unwrap_or_default();
        s.micros_p50 = at(0.5);
        s.micros_p99 = at(0.99);
        s
    }

    /// Prints them for a person.
    ///
    /// # Errors
    /// What the stream says.
    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let [passing, failing] = self.outcomes;
        let [objected, caught] = self.objected;
        writeln!(out, "{} conversations, {} messages judged", self.conversations, self.turns)?;
        writeln!(out, "objected to or amended: {objected} of {passing} passing, {caught} of {failing} failing")?;
        let verdicts: Vec<String> = self.verdicts.iter().map(|(name, n)| format!("{name} {n}")).collect();
        writeln!(out, "verdicts: {}", verdicts.join(", "))?;
        table(out, "gate", &self.gates)?;
        if !self.rules.is_empty() {
            table(out, "rule", &self.rules)?;
        }
        writeln!(out, "check: p50 {:.1} µs, p99 {:.1} µs", self.micros_p50, self.micros_p99)
    }
}

fn table(out: &mut impl Write, heading: &str, counts: &BTreeMap<String, [usize; 2]>) -> io::Result<()> {
    writeln!(out, "{heading:<28}{:>9}{:>9}", "passing", "failing")?;
    counts.iter().try_for_each(|(name, [passing, failing])| writeln!(out, "{name:<28}{passing:>9}{failing:>9}"))
}

fn bump(pair: &mut [usize; 2], side: usize) {
    if let Some(count) = pair.get_mut(side) {
        *count += 1;
    }
}
