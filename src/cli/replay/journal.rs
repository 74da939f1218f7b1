//! `obligato replay --journal`: the drafts of a journal, judged again on the ground they were judged on.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::write;
use crate::cli::diff::{Reason, reasons};
use crate::cli::output::screen;
use crate::cli::readable::{self, Read};
use crate::cli::{CliError, Exit};
use crate::journal::{Judgement, Kind, Record, records};
use crate::model::{Decision, ReportedFinding, VerdictReport};
use crate::policy::{HardLimits, Offer, Policy};
use crate::verify::Again;

/// A draft that is judged otherwise.
#[derive(Debug, Serialize)]
struct Differs {
    /// Number of the record.
    seq: u64,
    session: String,
    turn: u32,
    was: Decision,
    is: Decision,
    reasons: Vec<Reason>,
}

/// What came of it.
#[derive(Debug, Default, Serialize)]
struct Outcome {
    /// Verdicts in the journal.
    verdicts: usize,
    /// Judged again with the same result.
    same: usize,
    /// Of the judged ones, recorded under another policy than the one they are judged by.
    other_policy: usize,
    /// Not judged: what they rest on was redacted, dropped, cut to size or cannot be read.
    unknown: usize,
    differ: Vec<Differs>,
}

pub(super) fn run(policy: &Policy, folder: &Path, json: Option<&Path>) -> Result<Exit, CliError> {
    policy.warm();
    let mut replay =
        Replay { policy, limits: HardLimits::default(), talks: HashMap::new(), outcome: Outcome::default() };
    let whole = readable::each(records(folder)?, |read| {
        match read {
            Read::Record(record) => replay.take(record),
            Read::Break => replay.lose(),
        }
        Ok(())
    })?;
    let outcome = replay.outcome;
    if let Some(out) = json {
        write(out, |file| Ok(serde_json::to_writer(file, &outcome)?))?;
    }
    print(&mut screen(), &outcome).map_err(CliError::output)?;
    // What was not judged has not come out again.
    let judged = outcome.same + outcome.differ.len() > 0;
    Ok(if whole && judged && outcome.differ.is_empty() { Exit::Done } else { Exit::No })
}

struct Replay<'a> {
    policy: &'a Policy,
    /// The limits that the service had.
    limits: HardLimits,
    talks: HashMap<String, Talk>,
    outcome: Outcome,
}

/// A session.
struct Talk {
    again: Again,
    /// The policy with what the session brought along; none: it brought nothing.
    own: Option<Arc<Policy>>,
    /// What it brought along is not on record, or was not made for this policy.
    strange: bool,
    /// The user behind it, where that is on record.
    user: Option<u64>,
}

impl Talk {
    /// Takes in policy text that the session brought along.
    fn adopt(&mut self, policy: &Policy, offer: Option<&serde_json::Value>) {
        let own = self.own.as_deref().unwrap_or(policy);
        let offer = offer.and_then(|offer| serde_json::from_value::<Offer>(offer.clone()).ok());
        match offer.and_then(|offer| own.with_offer(&offer).ok()) {
            Some(own) => self.own = Some(Arc::new(own)),
            None => self.strange = true,
        }
    }
}

impl Replay<'_> {
    fn take(&mut self, record: Record) {
        let session = record.place.as_ref().map(|p| p.session.clone()).unwrap_or_default();
        match record.kind {
            Kind::Started => {
                self.talks.clear();
                let limits = record.body.get("limits").cloned().unwrap_or_default();
                self.limits = serde_json::from_value(limits).unwrap_or_default();
            }
            Kind::Session => {
                self.talks.remove(&session);
                let user = record.body.get("user").and_then(serde_json::Value::as_u64);
                if user.is_some() {
                    self.talk(&session).user = user;
                }
            }
            // What the session itself offered goes along when another policy is put in force, which has no place.
            Kind::Policy if record.place.is_some() => {
                let policy = self.policy;
                self.talk(&session).adopt(policy, record.body.get("offer"));
            }
            // Records of one user's sessions were left out.
            Kind::Dropped if record.body.get("user").is_some() => {
                let user = record.body.get("user").and_then(serde_json::Value::as_u64);
                let talks = self.talks.values_mut().filter(|talk| talk.user.is_none() || talk.user == user);
                talks.for_each(|talk| talk.again.lose());
            }
            Kind::Dropped | Kind::Recovered => self.lose(),
            Kind::Verdict => self.verdict(record, &session),
            _ => {}
        }
    }

    /// Something is missing from here on, and nobody knows from which conversation.
    fn lose(&mut self) {
        self.talks.values_mut().for_each(|talk| talk.again.lose());
    }

    fn talk(&mut self, session: &str) -> &mut Talk {
        let new = || Talk { again: Again::new(self.policy), own: None, strange: false, user: None };
        self.talks.entry(session.to_owned()).or_insert_with(new)
    }

    fn verdict(&mut self, record: Record, session: &str) {
        self.outcome.verdicts += 1;
        let turn = record.place.map_or(0, |p| p.turn);
        let (policy, limits) = (self.policy, self.limits.clone());
        let talk = self.talk(session);
        let own = talk.own.clone();
        let (policy, again) = (own.as_deref().unwrap_or(policy), &mut talk.again);
        // Words that were redacted cannot be judged again, whatever the draft is.
        let text = record.body.to_string();
        let redacted = text.contains("\"redacted\":") || text.contains("[redacted ");
        let known = !redacted && !talk.strange;
        let judgement = serde_json::from_value::<Judgement>(record.body).ok().filter(|_| known);
        let Some(judgement) = judgement else {
            again.lose();
            self.outcome.unknown += 1;
            return;
        };
        let Some(report) = again.judge(policy, &limits, turn, &judgement) else {
            self.outcome.unknown += 1;
            return;
        };
        self.outcome.other_policy += usize::from(judgement.policy != policy.hash);
        let was = &judgement.report;
        if same(was, &report) {
            self.outcome.same += 1;
            return;
        }
        let (reasons, session) = (reasons(was, &report), session.to_owned());
        let differs = Differs { seq: record.seq, session, turn, was: was.verdict, is: report.verdict, reasons };
        self.outcome.differ.push(differs);
    }
}

/// Whether two reports say the same. How long a check took and how old a reading was are not compared.
fn same(was: &VerdictReport, is: &VerdictReport) -> bool {
    let finding = |f: &ReportedFinding| format!("{} {:?} {:?} {:?}", f.gate, f.tier, f.rule, f.remedy);
    let findings = |report: &VerdictReport| report.findings.iter().map(finding).collect::<Vec<_>>();
    was.verdict == is.verdict && was.amended == is.amended && findings(was) == findings(is)
}

fn print(out: &mut impl Write, outcome: &Outcome) -> io::Result<()> {
    for differs in &outcome.differ {
        let (was, is) = (differs.was.as_str(), differs.is.as_str());
        writeln!(out, "#{} {} turn {}: {was} -> {is}", differs.seq, differs.session, differs.turn)?;
        for reason in &differs.reasons {
            let sign = if reason.set == "new" { '+' } else { '-' };
            writeln!(out, "  {sign} {}: {}", reason.cause, reason.because)?;
        }
        if differs.reasons.is_empty() {
            writeln!(out, "  only what is advised, or its order, differs")?;
        }
    }
    let Outcome { verdicts, same, other_policy, unknown, differ } = outcome;
    writeln!(out, "{verdicts} verdicts: {same} the same, {} differ, {unknown} cannot be judged again", differ.len())?;
    if verdicts == unknown {
        writeln!(out, "none of them was judged again, so nothing is shown")?;
    }
    if *other_policy > 0 {
        writeln!(out, "{other_policy} of them were recorded under another policy than this one")?;
    }
    Ok(())
}
