//! What a candidate in shadow said beside the policy in force, out of a journal.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use crate::cli::CliError;
use crate::cli::readable::{self, Read};
use crate::cli::replay::Judged;
use crate::journal::{Judgement, Kind, Record, records};
use crate::model::VerdictReport;
use crate::policy::Policy;

/// A conversation: its session, and how often a session of that name had begun before it.
type Talk = (String, usize);

#[derive(Default)]
struct Pairs {
    /// Which conversation a session is in.
    begun: HashMap<String, usize>,
    was: BTreeMap<Talk, BTreeMap<u32, VerdictReport>>,
    is: BTreeMap<Talk, BTreeMap<u32, VerdictReport>>,
    /// Verdicts of other policies.
    foreign: usize,
    /// Candidates that were in shadow.
    candidates: BTreeSet<String>,
}

/// The verdicts of two policies on the same drafts.
pub(super) struct Shadowed {
    pub(super) was: Vec<Judged>,
    pub(super) is: Vec<Judged>,
    /// Whether the journal could be read and proved as a whole.
    pub(super) whole: bool,
}

/// The verdicts of two policies on the same drafts.
///
/// # Errors
/// [`CliError`] when the journal cannot be read, or holds no draft that both judged: nothing was compared then.
pub(super) fn read(folder: &Path, old: &Policy, new: &Policy) -> Result<Shadowed, CliError> {
    let mut pairs = Pairs::default();
    let whole = readable::each(records(folder)?, |read| {
        if let Read::Record(record) = read {
            pairs.take(record, old, new);
        }
        Ok(())
    })?;
    if pairs.is.is_empty() {
        return Err(pairs.nothing(folder, new));
    }
    if pairs.foreign > 0 {
        eprintln!("obligato: {} verdicts in the journal are of other policies and are left out", pairs.foreign);
    }
    let (mut was, mut is) = (Vec::new(), Vec::new());
    for (talk, judged) in &pairs.was {
        let Some(beside) = pairs.is.get(talk) else { continue };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for (number, report) in judged {
            let Some(other) = beside.get(number) else { continue };
            // Where both agree, the record of the candidate does not repeat the findings.
            let same = other.moves_as(report);
            ours.push((*number as usize, report.clone()));
            theirs.push((*number as usize, if same { report.clone() } else { other.clone() }));
        }
        let id = format!("{}#{}", talk.0, talk.1);
        was.push(Judged::told(id.clone(), ours));
        is.push(Judged::told(id, theirs));
    }
    Ok(Shadowed { was, is, whole })
}

impl Pairs {
    /// A comparison with nothing must not look like one that found no difference.
    fn nothing(&self, folder: &Path, new: &Policy) -> CliError {
        let others: Vec<&str> = self.candidates.iter().map(String::as_str).collect();
        let held = match others.as_slice() {
            [] => "no candidate was in shadow".to_owned(),
            others => format!("in shadow were {}", others.join(", ")),
        };
        let why = format!(
            "it holds no verdict of `{}` ({}) in shadow: {held}; name the file that `[shadow] policy` named, or judge \
             recorded conversations with --replay",
            new.id, new.hash
        );
        CliError::Transcript { path: folder.display().to_string(), why }
    }

    fn take(&mut self, record: Record, old: &Policy, new: &Policy) {
        let Some(place) = record.place else { return };
        let text = |name: &str| record.body.get(name).and_then(|v| v.as_str()).unwrap_or_default();
        let talk = (place.session.clone(), self.begun.get(&place.session).copied().unwrap_or_default());
        match record.kind {
            Kind::Session if text("what") == "opened" => *self.begun.entry(place.session).or_default() += 1,
            Kind::Verdict if text("policy") != old.hash.to_string() => self.foreign += 1,
            Kind::Verdict => {
                let Ok(judged) = serde_json::from_value::<Judgement>(record.body) else { return };
                self.was.entry(talk).or_default().insert(judged.number, judged.report);
            }
            Kind::Shadow if text("of") == "candidate" && text("policy") != new.hash.to_string() => {
                self.candidates.insert(text("policy").to_owned());
            }
            Kind::Shadow if text("of") == "candidate" => {
                let number = record.body.get("number").and_then(|n| n.as_u64()).and_then(|n| u32::try_from(n).ok());
                let report = record.body.get("report").cloned().unwrap_or_default();
                let Some((number, report)) = number.zip(serde_json::from_value(report).ok()) else { return };
                self.is.entry(talk).or_default().insert(number, report);
            }
            _ => {}
        }
    }
}
