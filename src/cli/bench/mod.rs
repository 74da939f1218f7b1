//! `obligato bench`: recorded ground truth, made fallible, against a car that replays the recording; or, with a
//! student, spoken requests on the simulated car.

mod allowed;
mod car;
mod course;
mod drive;
mod fault;
mod identity;
mod judge;
mod place;
mod script;
mod sentence;
mod suite;
mod tally;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use indicatif::ProgressBar;
use serde::Serialize;

use super::output::{apart, replace};
use super::{CliError, Exit, load};
use car::Car;
use drive::{Outcomes, Track};
use fault::Fault;

/// Drive recorded tasks with a student that makes faults, or spoken requests with a real one, with and without the harness
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Compiled policy
    #[arg(long, required_unless_present = "page")]
    policy: Option<PathBuf>,
    /// Tasks with the state they start in, one JSON object a line, `.gz` or plain
    #[arg(long, required_unless_present_any = ["student", "page", "speed"])]
    tasks: Option<PathBuf>,
    /// States that the ground truth ends in
    #[arg(long, required_unless_present_any = ["student", "page", "speed"])]
    states: Option<PathBuf>,
    /// Ground truth as it was carried out
    #[arg(long, required_unless_present_any = ["student", "page", "speed"])]
    replay: Option<PathBuf>,
    /// Places of a fault in each task, or runs of each scenario; each seed draws another one
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    seeds: u32,
    /// Only this fault
    #[arg(long, value_enum)]
    fault: Option<Fault>,
    /// Only the first tasks
    #[arg(long)]
    limit: Option<usize>,
    /// Write every run here
    #[arg(long, value_name = "OUT")]
    json: Option<PathBuf>,
    #[command(flatten)]
    suite: Box<suite::Args>,
}

/// One run with and without the harness.
#[derive(Debug, Serialize)]
struct Pair {
    id: String,
    task: String,
    variant: String,
    fault: Fault,
    seed: u32,
    /// Drafts and calls of the ground truth alone.
    truth_drafts: u32,
    /// Revisions that the harness asks of the ground truth itself.
    guarded_revisions: u32,
    truth_calls: u32,
    on: Outcomes,
    off: Outcomes,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    if let Some(out) = &args.suite.page.page {
        return args.suite.page.run(out);
    }
    let missing = || CliError::Unknown("recorded tasks need --policy, --tasks, --states and --replay".to_owned());
    let policy = args.policy.as_ref().ok_or_else(missing)?;
    if args.suite.speed.speed {
        return args.suite.measure(policy, args.json.as_ref());
    }
    if args.suite.student.student.is_some() {
        return args.suite.run(policy, args.seeds, args.json.as_ref());
    }
    let policy = Arc::new(load::policy(policy)?);
    let (tasks, states) = (args.tasks.as_ref().ok_or_else(missing)?, args.states.as_ref().ok_or_else(missing)?);
    let replay = args.replay.as_ref().ok_or_else(missing)?;
    apart([tasks, states, replay].into_iter().chain(&args.policy), &args.json)?;
    let mut courses = course::courses(&policy, tasks, states, replay)?;
    courses.truncate(args.limit.unwrap_or(usize::MAX));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|e| CliError::Peer(format!("the simulated car cannot start: {e}")))?;
    let faults: Vec<Fault> = args.fault.map_or_else(|| Fault::value_variants().to_vec(), |f| vec![f]);
    let bar = ProgressBar::new(u64::try_from(courses.len()).unwrap_or(u64::MAX));
    let mut pairs = Vec::new();
    let (mut astray, mut left) = (Vec::new(), BTreeMap::<Fault, Left>::new());
    for course in courses {
        let course = Arc::new(course);
        let (truth, allowed) = Car::along(&policy, &course);
        if !truth.ends_in(&course.end) {
            astray.push(course.id.clone());
        }
        let track = Track { policy: policy.clone(), course, truth, allowed };
        for fault in &faults {
            let left = left.entry(*fault).or_default();
            pairs.extend(pairs_of(&track, *fault, args.seeds, runtime.handle(), left));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some(out) = &args.json {
        let text = serde_json::to_string(&pairs).unwrap_or_default();
        replace(out, text.as_bytes()).map_err(|source| CliError::File { path: out.display().to_string(), source })?;
    }
    tally::print(&mut io::stdout().lock(), &pairs, &astray, &left).map_err(CliError::output)?;
    Ok(Exit::Done)
}

/// What was not run, and why.
#[derive(Debug, Default)]
struct Left {
    /// Courses whose ground truth does not end right under the harness.
    astray: usize,
    /// Courses without a place for the fault.
    nowhere: usize,
    /// Courses with fewer places than seeds.
    few: usize,
}

/// All seeds of one fault on one course. Faults are put into the recording that makes every read,
/// because a fault in one that skips reads would be two faults.
fn pairs_of(track: &Track, fault: Fault, seeds: u32, runtime: &tokio::runtime::Handle, left: &mut Left) -> Vec<Pair> {
    let course = &track.course;
    if fault != Fault::None && course.variant != "gt_gathered" {
        return Vec::new();
    }
    let wanted = usize::try_from(seeds).unwrap_or(usize::MAX);
    let (sites, all) = fault::sites(&track.policy, course, fault, wanted);
    if sites.is_empty() {
        left.nowhere += 1;
        return Vec::new();
    }
    let plain = fault::Planned { script: fault::plain(&track.policy, course), ..fault::Planned::default() };
    let (truth, guarded) = (track.bare(&plain), track.guarded(&plain, runtime));
    // Where the harness objects to the ground truth itself, a fault on top of it tells nothing.
    if fault != Fault::None && !guarded.right {
        left.astray += 1;
        return Vec::new();
    }
    left.few += usize::from(fault != Fault::None && all < wanted);
    (0..)
        .zip(&sites)
        .map(|(seed, plan)| Pair {
            id: course.id.clone(),
            task: course.task.clone(),
            variant: course.variant.clone(),
            fault,
            seed,
            truth_drafts: truth.drafts,
            guarded_revisions: guarded.revisions,
            truth_calls: truth.calls,
            on: track.guarded(plan, runtime),
            off: track.bare(plan),
        })
        .collect()
}
