//! `obligato bench --student …`: spoken requests through the real turn loop on the simulated car.

mod bare;
mod judge;
mod page;
mod report;
mod rig;
mod scenario;
mod speed;
mod students;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indicatif::ProgressBar;

use students::Kind;

use self::judge::Judged;
use self::rig::{Bench, Harness, Sampling};
use self::students::Cue;
use crate::cli::output::{apart, inside, replace, screen};
use crate::cli::{CliError, Exit, load};

/// What the suite is run with.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    #[command(flatten)]
    pub(in crate::cli) student: students::Args,
    #[command(flatten)]
    pub(in crate::cli) page: page::Args,
    #[command(flatten)]
    pub(in crate::cli) speed: speed::Args,
    /// Folder of scenarios
    #[arg(long, value_name = "FOLDER", default_value = "policies/cabin/scenarios")]
    scenarios: PathBuf,
    /// State file of the simulated car
    #[arg(long, value_name = "TOML", default_value = "policies/cabin/vehicle-state.toml")]
    vehicle_state: PathBuf,
    /// Hard limits beneath the policy
    #[arg(long, value_name = "TOML")]
    limits: Option<PathBuf>,
    /// What stands between student and car; several are run interleaved
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Harness::On, Harness::Verify, Harness::Off])]
    harness: Vec<Harness>,
    /// Sampling temperature of drafts; 0 takes the likeliest
    #[arg(long, default_value_t = 0.0)]
    temperature: f32,
    /// Drafts that vote, with the harness on
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    votes: u32,
    /// Run the untouched half too, of which only sums are told
    #[arg(long)]
    held_out: bool,
    /// Only the untouched half
    #[arg(long, conflicts_with = "held_out")]
    only_held_out: bool,
    /// Only scenarios whose name or category has this text
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Tell of each run of the half to tune on what was drafted and what was wrong
    #[arg(long)]
    verbose: bool,
}

impl Args {
    /// Measures the speed of the model.
    #[cfg(feature = "llama")]
    pub(super) fn measure(&self, policy: &Path, json: Option<&PathBuf>) -> Result<Exit, CliError> {
        use std::io::Write as _;
        let policy = load::policy(policy)?;
        let speed = self.speed.measure(&self.student.llama_config()?, &policy)?;
        if let Some(out) = json {
            let text = serde_json::to_string_pretty(&speed).unwrap_or_default();
            replace(out, text.as_bytes())
                .map_err(|source| CliError::File { path: out.display().to_string(), source })?;
        }
        let mut out = screen();
        for m in &speed.measures {
            let bar = m.bar.as_deref().map(|bar| format!("  must be {bar}")).unwrap_or_default();
            let met = m.met.map_or("", |met| if met { ": met" } else { ": MISSED" });
            let (name, value, unit) = (&m.name, m.value, &m.unit);
            writeln!(out, "{name:<44} {value:>10.2} {unit}{bar}{met}").map_err(CliError::output)?;
        }
        Ok(Exit::Done)
    }

    #[cfg(not(feature = "llama"))]
    pub(super) fn measure(&self, _: &Path, _: Option<&PathBuf>) -> Result<Exit, CliError> {
        Err(CliError::Unknown("this build has no local model; build it with the feature `llama`".to_owned()))
    }

    /// Runs the suite; `seeds` times each scenario.
    pub(super) fn run(&self, policy: &Path, seeds: u32, json: Option<&PathBuf>) -> Result<Exit, CliError> {
        let scenarios = inside(&self.scenarios);
        let files = scenarios.iter().chain([&self.vehicle_state]).chain(&self.limits).map(PathBuf::as_path);
        apart(files.chain([policy]), json)?;
        let policy = Arc::new(load::policy(policy)?);
        let limits = Arc::new(load::limits(self.limits.as_deref(), &policy)?);
        let mut scenarios = scenario::load(&self.scenarios, &policy)?;
        scenarios.retain(|s| match (self.held_out, self.only_held_out) {
            (_, true) => s.held_out,
            (true, _) => true,
            _ => !s.held_out,
        });
        if let Some(text) = &self.only {
            scenarios.retain(|s| s.id.contains(text.as_str()) || s.category.contains(text.as_str()));
        }
        if self.student.student == Some(Kind::Scripted) {
            scenarios.retain(|s| s.refused || !s.wanted().is_empty());
        }
        let state = load::text(&self.vehicle_state)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|e| CliError::Peer(format!("the simulated car cannot start: {e}")))?;
        let cue = Arc::new(Cue::default());
        let mut models = self.student.load(&policy, &scenarios, &cue)?;
        let bench = Bench { policy: &policy, limits: &limits, state: &state, runtime: runtime.handle() };
        let bar = ProgressBar::new(scenarios.len() as u64 * u64::from(seeds));
        let mut judged: Vec<Judged> = Vec::new();
        for seed in 0..seeds {
            for (at, scenario) in scenarios.iter().enumerate() {
                cue.set(at);
                let sampling = Sampling { seed, temperature: self.temperature, votes: self.votes };
                for harness in &self.harness {
                    let run = match harness {
                        Harness::On | Harness::Verify => bench.guarded(scenario, &mut models, *harness, sampling)?,
                        Harness::Off | Harness::Retrieval => {
                            bench.bare(scenario, models.student.as_mut(), *harness, sampling)?
                        }
                    };
                    judged.push(Judged::new(&policy, scenario, *harness, seed, &run));
                }
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        let report = report::Report::new(models.student.name(), self.temperature, self.votes, seeds, judged);
        if let Some(out) = json {
            let text = serde_json::to_string_pretty(&report).unwrap_or_default();
            replace(out, text.as_bytes())
                .map_err(|source| CliError::File { path: out.display().to_string(), source })?;
        }
        report.print(&mut screen(), self.verbose).map_err(CliError::output)?;
        let broken = report.unsafe_with_harness();
        Ok(if broken == 0 { Exit::Done } else { Exit::No })
    }
}
