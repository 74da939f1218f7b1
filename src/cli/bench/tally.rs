//! What all runs come to, by fault.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::drive::Outcomes;
use super::fault::Fault;
use super::{Left, Pair};

/// What the columns mean.
const LEGEND: &str = "\
right: runs that end as the ground truth; quiet: of these, runs without an extra draft or question
wrong: runs with a write that makes the car what the ground truth never makes of it, that lacks the yes it needs, or
that failed and is made again unchanged; for `removed` and `repeat` only this tells, as the call itself cannot succeed
policy: policies broken, as the benchmark checks them by code; calls: beyond the ground truth's, reads included
model: drafts asked for by an objection beyond those of the ground truth; asks: questions of the harness, and of a student that was objected to although it was right
few: tasks with fewer places for the fault than seeds; none: tasks without one
off course: tasks left out, because their ground truth does not end right under the harness
* the harness should mend it without the student";

/// Prints a table a person can read; shares are of runs, sums are over runs.
///
/// # Errors
/// What the stream says.
pub(super) fn print(
    out: &mut impl Write,
    pairs: &[Pair],
    astray: &[String],
    left: &BTreeMap<Fault, Left>,
) -> io::Result<()> {
    if !astray.is_empty() {
        writeln!(out, "recordings whose end our car does not reach: {}", astray.join(", "))?;
    }
    writeln!(
        out,
        "{:<16}{:>5} {:>7} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>5}  {:>17}",
        "fault", "runs", "harness", "right", "quiet", "wrong", "policy", "calls", "model", "asks", "pass^1 ^3 @3"
    )?;
    let mut faults: BTreeMap<Fault, Vec<&Pair>> = left.keys().map(|f| (*f, Vec::new())).collect();
    pairs.iter().for_each(|p| faults.entry(p.fault).or_default().push(p));
    for (fault, pairs) in &faults {
        row(out, *fault, "on", pairs, |p| &p.on)?;
        row(out, *fault, "off", pairs, |p| &p.off)?;
        if let Some(left) = left.get(fault).filter(|_| *fault != Fault::None) {
            writeln!(out, "    tasks: {} few, {} none, {} off course", left.few, left.nowhere, left.astray)?;
        }
    }
    writeln!(out, "{LEGEND}")
}

fn row<'p>(
    out: &mut impl Write,
    fault: Fault,
    harness: &str,
    pairs: &[&'p Pair],
    side: impl Fn(&'p Pair) -> &'p Outcomes,
) -> io::Result<()> {
    let base = |p: &Pair| if fault == Fault::None || harness == "off" { 0 } else { p.guarded_revisions };
    let extra = |p: &&'p Pair| i64::from(side(p).revisions) - i64::from(base(p));
    let count = |is: &dyn Fn(&&'p Pair) -> bool| pairs.iter().filter(|p| is(p)).count();
    let runs = pairs.len();
    let right = count(&|p| side(p).right);
    let quiet = count(&|p| side(p).right && extra(p) <= 0 && (fault != Fault::None || side(p).questions == 0));
    let again = |p: &&'p Pair| fault == Fault::Repeat && side(p).tried > 1;
    let wrong = count(&|p| side(p).wrong_writes + side(p).unasked > 0 || again(p));
    let policy: usize = pairs.iter().map(|p| side(p).policy_errors.len()).sum();
    let calls = pairs.iter().map(|p| i64::from(side(p).calls) - i64::from(p.truth_calls)).sum::<i64>();
    let model = pairs.iter().map(extra).sum::<i64>();
    let asks: u32 = pairs.iter().map(|p| side(p).questions + side(p).asked).sum();
    let mut tasks: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
    pairs.iter().for_each(|p| tasks.entry(p.id.as_str()).or_default().push(side(p).right));
    let share = |of: &dyn Fn(&[bool]) -> f64| tasks.values().map(|r| of(r)).sum::<f64>() / tasks.len().max(1) as f64;
    let one = share(&|r| all_of(r, 1));
    let three = share(&|r| all_of(r, 3));
    let any = share(&|r| 1.0 - all_of(&r.iter().map(|x| !x).collect::<Vec<_>>(), 3));
    let name = if harness == "on" {
        let mark = if fault.is_repairable() { "*" } else { "" };
        format!(
            "{}{mark}",
            serde_json::to_value(fault).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
        )
    } else {
        String::new()
    };
    writeln!(
        out,
        "{name:<16}{runs:>5} {harness:>7} {right:>6} {quiet:>6} {wrong:>6} {policy:>6} {calls:>+6} {model:>+6} {asks:>5}  {one:>5.2} {three:>5.2} {any:>5.2}"
    )
}

/// The chance that `k` runs drawn from these are all true; with fewer than `k` runs, that all are.
fn all_of(runs: &[bool], k: usize) -> f64 {
    let (n, c) = (runs.len(), runs.iter().filter(|r| **r).count());
    let k = k.min(n);
    (0..k).map(|i| c.saturating_sub(i) as f64 / (n - i) as f64).product()
}
