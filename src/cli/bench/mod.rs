//! `obligato bench`: recorded ground truth, made fallible, against a car that replays the recording.

mod car;
mod course;
mod drive;
mod fault;
mod script;
mod tally;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use indicatif::ProgressBar;
use serde::Serialize;

use super::{CliError, Exit, load};
use car::Car;
use drive::{Outcomes, Track};
use fault::Fault;

/// Drive recorded tasks with a student that makes faults, with and without the harness
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Compiled policy
    #[arg(long)]
    policy: PathBuf,
    /// Tasks with the state they start in, one JSON object a line, `.gz` or plain
    #[arg(long)]
    tasks: PathBuf,
    /// States that the ground truth ends in
    #[arg(long)]
    states: PathBuf,
    /// Ground truth as it was carried out
    #[arg(long)]
    replay: PathBuf,
    /// Runs of each task and fault; the seed picks the place of the fault
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
    let policy = Arc::new(load::policy(&args.policy)?);
    let mut courses = course::courses(&policy, &args.tasks, &args.states, &args.replay)?;
    courses.truncate(args.limit.unwrap_or(usize::MAX));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|e| CliError::Peer(format!("the simulated car cannot start: {e}")))?;
    let faults: Vec<Fault> = args.fault.map_or_else(|| Fault::value_variants().to_vec(), |f| vec![f]);
    let bar = ProgressBar::new(u64::try_from(courses.len()).unwrap_or(u64::MAX));
    let mut pairs = Vec::new();
    let mut astray = Vec::new();
    for course in courses {
        let course = Arc::new(course);
        let (truth, allowed) = Car::along(&policy, &course);
        if !truth.ends_in(&course.end) {
            astray.push(course.id.clone());
        }
        let track = Track { policy: policy.clone(), course, truth, allowed };
        faults.iter().for_each(|f| pairs.extend(pairs_of(&track, *f, args.seeds, runtime.handle())));
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some(out) = &args.json {
        let text = serde_json::to_string(&pairs).unwrap_or_default();
        fs::write(out, text).map_err(|source| CliError::File { path: out.display().to_string(), source })?;
    }
    tally::print(&mut io::stdout().lock(), &pairs, &astray).map_err(CliError::output)?;
    Ok(Exit::Done)
}

/// All seeds of one fault on one course. Faults are put into the recording that makes every read,
/// because a fault in one that skips reads would be two faults.
fn pairs_of(track: &Track, fault: Fault, seeds: u32, runtime: &tokio::runtime::Handle) -> Vec<Pair> {
    let course = &track.course;
    if fault != Fault::None && course.variant != "gt_gathered" {
        return Vec::new();
    }
    let plain = fault::Planned { script: fault::plain(&track.policy, course), ..fault::Planned::default() };
    let (truth, guarded) = (track.bare(&plain), track.guarded(&plain, runtime));
    // Where the harness objects to the ground truth itself, a fault on top of it tells nothing.
    if fault != Fault::None && !guarded.right {
        return Vec::new();
    }
    let sites = fault::sites(&track.policy, course, fault);
    // Seeds walk through the places in order, so that more seeds reach more of them.
    let runs = (0..seeds).zip(sites.iter().cycle());
    runs.map(|(seed, plan)| Pair {
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
