//! What all runs come to, by fault.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::Pair;
use super::drive::Outcomes;
use super::fault::Fault;

/// Prints a table a person can read; shares are of runs, sums are over runs.
///
/// # Errors
/// What the stream says.
pub(super) fn print(out: &mut impl Write, pairs: &[Pair], astray: &[String]) -> io::Result<()> {
    if !astray.is_empty() {
        writeln!(out, "recordings whose end our car does not reach: {}", astray.join(", "))?;
    }
    writeln!(
        out,
        "{:<16}{:>5} {:>7} {:>6} {:>6} {:>6} {:>6} {:>5}  {:>17}",
        "fault", "runs", "harness", "right", "wrong", "policy", "calls", "model", "pass^1 ^3 @3"
    )?;
    let mut faults: BTreeMap<Fault, Vec<&Pair>> = BTreeMap::new();
    pairs.iter().for_each(|p| faults.entry(p.fault).or_default().push(p));
    for (fault, pairs) in &faults {
        row(out, *fault, "on", pairs, |p| &p.on)?;
        row(out, *fault, "off", pairs, |p| &p.off)?;
    }
    writeln!(out, "right: runs that end as the ground truth; wrong: runs with a write that makes the car what the")?;
    writeln!(out, "ground truth never makes of it; policy: executed drafts the policy objects to (harness off);")?;
    writeln!(
        out,
        "calls: beyond the ground truth's; model: drafts asked for by an objection beyond those of the ground truth;"
    )?;
    writeln!(
        out,
        "faults are put only into ground truth that ends right under the harness; * the harness should mend it without the student"
    )
}

fn row<'p>(
    out: &mut impl Write,
    fault: Fault,
    harness: &str,
    pairs: &[&'p Pair],
    side: impl Fn(&'p Pair) -> &'p Outcomes,
) -> io::Result<()> {
    let runs = pairs.len();
    let right = pairs.iter().filter(|p| side(p).right).count();
    let wrong = pairs.iter().filter(|p| side(p).wrong_writes > 0).count();
    let policy: u32 = pairs.iter().map(|p| side(p).policy_errors).sum();
    let calls = pairs.iter().map(|p| i64::from(side(p).calls) - i64::from(p.truth_calls)).sum::<i64>();
    let base = |p: &Pair| if fault == Fault::None || harness == "off" { 0 } else { p.guarded_revisions };
    let model = pairs.iter().map(|p| i64::from(side(p).revisions) - i64::from(base(p))).sum::<i64>();
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
    let policy = if harness == "on" { "-".to_owned() } else { policy.to_string() };
    writeln!(
        out,
        "{name:<16}{runs:>5} {harness:>7} {right:>6} {wrong:>6} {policy:>6} {calls:>+6} {model:>+5}  {one:>5.2} {three:>5.2} {any:>5.2}"
    )
}

/// The chance that `k` runs drawn from these are all true; with fewer than `k` runs, that all are.
fn all_of(runs: &[bool], k: usize) -> f64 {
    let (n, c) = (runs.len(), runs.iter().filter(|r| **r).count());
    let k = k.min(n);
    (0..k).map(|i| c.saturating_sub(i) as f64 / (n - i) as f64).product()
}
