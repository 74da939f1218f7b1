//! What the runs add up to.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::judge::Judged;
use super::rig::Harness;

/// Everything that one run of the suite came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::cli) struct Report {
    /// The student's name.
    pub(in crate::cli) student: String,
    pub(in crate::cli) temperature: f32,
    pub(in crate::cli) votes: u32,
    pub(in crate::cli) seeds: u32,
    /// Sums by half and by what stood between student and car.
    pub(in crate::cli) sums: Vec<Sum>,
    /// Every run.
    runs: Vec<Judged>,
}

/// Sums over the scenarios of one half under one harness.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::cli) struct Sum {
    pub(in crate::cli) half: String,
    pub(in crate::cli) harness: Harness,
    /// By category, and `all`.
    pub(in crate::cli) categories: BTreeMap<String, Passed>,
    /// Simple requests, right tool and arguments in every seed's run on average, per cent.
    pub(in crate::cli) simple: Passed,
    pub(in crate::cli) runs: u32,
    #[serde(rename = "unsafe")]
    pub(in crate::cli) unsafe_: u32,
    pub(in crate::cli) needless_questions: u32,
    pub(in crate::cli) model_calls: u32,
    pub(in crate::cli) tokens: u32,
    pub(in crate::cli) micros: u64,
    /// Median of the wall time of one run, in microseconds.
    pub(in crate::cli) median_micros: u64,
    /// Reads and companions that were carried out without the student.
    pub(in crate::cli) unaided: u32,
}

/// How often scenarios came right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::cli) struct Passed {
    /// Scenarios.
    pub(in crate::cli) scenarios: u32,
    /// Share of right runs.
    pub(in crate::cli) pass_1: f64,
    /// Share of scenarios that came right under every seed.
    pub(in crate::cli) pass_all: f64,
    /// Share of those that came right under some seed.
    pub(in crate::cli) pass_any: f64,
}

impl Passed {
    /// Of runs by scenario, each right or not.
    fn of<'a>(runs: impl Iterator<Item = (&'a str, bool)>) -> Self {
        let mut by: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
        for (id, right) in runs {
            by.entry(id).or_default().push(right);
        }
        let share = |n: usize| n as f64 / by.len().max(1) as f64;
        let first: f64 = by.values().map(|r| r.iter().filter(|r| **r).count() as f64 / r.len().max(1) as f64).sum();
        Self {
            scenarios: u32::try_from(by.len()).unwrap_or(u32::MAX),
            pass_1: first / by.len().max(1) as f64,
            pass_all: share(by.values().filter(|r| r.iter().all(|r| *r)).count()),
            pass_any: share(by.values().filter(|r| r.iter().any(|r| *r)).count()),
        }
    }
}

impl Report {
    pub(super) fn new(student: &str, temperature: f32, votes: u32, seeds: u32, runs: Vec<Judged>) -> Self {
        let mut sums = Vec::new();
        for (half, held_out) in [("tuning", false), ("held out", true)] {
            let mut harnesses: Vec<Harness> = runs.iter().map(|r| r.harness).collect();
            harnesses.sort();
            harnesses.dedup();
            for harness in harnesses {
                let here: Vec<&Judged> =
                    runs.iter().filter(|r| r.held_out == held_out && r.harness == harness).collect();
                if !here.is_empty() {
                    sums.push(Sum::of(half, harness, &here));
                }
            }
        }
        Self { student: student.to_owned(), temperature, votes, seeds, sums, runs }
    }

    /// Unsafe executions of runs with the whole harness.
    pub(super) fn unsafe_with_harness(&self) -> u32 {
        self.sums.iter().filter(|s| s.harness == Harness::On).map(|s| s.unsafe_).sum()
    }

    pub(super) fn print(&self, out: &mut impl Write, verbose: bool) -> io::Result<()> {
        if verbose {
            for run in self.runs.iter().filter(|r| !r.held_out) {
                let mark = if run.right { "right" } else { "WRONG" };
                let calls = run.calls_right.map_or("", |right| if right { ", calls right" } else { ", CALLS WRONG" });
                writeln!(out, "{mark} {} [{}] {}{calls}", run.id, run.category, run.harness.name())?;
                for note in run.unsafe_.iter().map(|u| format!("UNSAFE {u}")).chain(run.notes.iter().cloned()) {
                    writeln!(out, "    {note}")?;
                }
            }
        }
        writeln!(
            out,
            "{}, temperature {}, {} vote{}, {} seed{}",
            self.student,
            self.temperature,
            self.votes,
            if self.votes == 1 { "" } else { "s" },
            self.seeds,
            if self.seeds == 1 { "" } else { "s" }
        )?;
        for sum in &self.sums {
            sum.print(out)?;
        }
        Ok(())
    }
}

impl Sum {
    fn of(half: &str, harness: Harness, runs: &[&Judged]) -> Self {
        let mut categories: BTreeMap<String, Passed> = BTreeMap::new();
        let all = |r: &&&Judged| !r.category.is_empty();
        categories.insert("all".to_owned(), Passed::of(runs.iter().filter(all).map(|r| (r.id.as_str(), r.right))));
        for run in runs {
            categories.entry(run.category.clone()).or_insert_with(|| {
                let own = runs.iter().filter(|r| r.category == run.category);
                Passed::of(own.map(|r| (r.id.as_str(), r.right)))
            });
        }
        let simple = runs.iter().filter(|r| r.simple);
        let simple = Passed::of(simple.map(|r| (r.id.as_str(), r.calls_right.unwrap_or(r.right))));
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let mut micros: Vec<u64> = runs.iter().map(|r| r.micros).collect();
        micros.sort_unstable();
        Self {
            half: half.to_owned(),
            harness,
            categories,
            simple,
            runs: count(runs.len()),
            unsafe_: count(runs.iter().map(|r| r.unsafe_.len()).sum()),
            needless_questions: count(runs.iter().filter(|r| r.needless).count()),
            model_calls: runs.iter().map(|r| r.model_calls).sum(),
            tokens: runs.iter().map(|r| r.tokens).sum(),
            micros: micros.iter().sum(),
            median_micros: micros.get(micros.len() / 2).copied().unwrap_or_default(),
            unaided: runs.iter().map(|r| r.unaided).sum(),
        }
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "\n{} half, harness {}: {} runs, {} unsafe, {} needless questions, {} model calls, {} tokens, {:.2} s ({:.0} ms median), {} reads and companions without the student",
            self.half,
            self.harness.name(),
            self.runs,
            self.unsafe_,
            self.needless_questions,
            self.model_calls,
            self.tokens,
            self.micros as f64 / 1e6,
            self.median_micros as f64 / 1e3,
            self.unaided
        )?;
        writeln!(out, "  {:<14} {:>4} {:>8} {:>8} {:>8}", "category", "n", "Pass^1", "Pass^k", "Pass@k")?;
        let mut line = |name: &str, p: &Passed| {
            writeln!(
                out,
                "  {name:<14} {:>4} {:>7.1}% {:>7.1}% {:>7.1}%",
                p.scenarios,
                100.0 * p.pass_1,
                100.0 * p.pass_all,
                100.0 * p.pass_any
            )
        };
        for (name, passed) in self.categories.iter().filter(|(name, _)| *name != "all") {
            line(name, passed)?;
        }
        if let Some(all) = self.categories.get("all") {
            line("all", all)?;
        }
        line("simple: calls", &self.simple)
    }
}
