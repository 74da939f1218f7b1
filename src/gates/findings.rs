//! A bounded list of findings.

use crate::model::{Finding, GateName, Tier};

/// Findings that one check may hold.
pub const CAPACITY: usize = 64;

/// Of them, those that only advise. Advice takes nobody's place, and too much of it denies nothing: the critic sees
/// the first.
const ADVICE: usize = CAPACITY / 2;

/// Findings of one check. Full is itself a hard finding: what does not fit must not pass for absent.
#[derive(Debug, Default)]
pub struct Findings {
    list: heapless::Vec<Finding, CAPACITY>,
    overflowed: Option<GateName>,
}

impl Findings {
    /// Adds a finding.
    pub fn push(&mut self, finding: Finding) {
        let gate = finding.gate;
        let advises = |f: &Finding| f.tier == Tier::Advisory;
        if advises(&finding) && self.list.iter().filter(|f| advises(f)).count() >= ADVICE {
            return;
        }
        if self.list.push(finding).is_err() && self.overflowed.is_none() {
            self.overflowed = Some(gate);
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All of them in order.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.list.iter()
    }

    /// Drops what came after a length: what a gate wrote before it failed.
    pub(super) fn truncate(&mut self, len: usize) {
        self.list.truncate(len);
    }

    /// Takes out all findings, the overflow among them. By reference: the list is large, and moving it costs
    /// more than most gates.
    pub fn take(&mut self) -> Vec<Finding> {
        let mut all: Vec<Finding> = self.list.drain(..).collect();
        if let Some(gate) = self.overflowed.take() {
            let because = format!("more than {CAPACITY} findings stand against this draft; it is refused as a whole");
            all.insert(0, Finding::new(gate, Tier::Hard, because));
        }
        all
    }
}
