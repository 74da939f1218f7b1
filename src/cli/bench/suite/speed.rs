//! `obligato bench --speed`: how fast the model is here, beside llama.cpp's own bench where that is at hand.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Measure the model's speed in place of running scenarios
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(in crate::cli) struct Args {
    /// Measure the speed of `--model`: prompt, generation, restored prefix, votes
    #[arg(long, requires = "model")]
    pub(in crate::cli) speed: bool,
    /// Rounds of which the median counts
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) rounds: u32,
    /// Program `llama-bench` of the same llama.cpp, run in between
    #[arg(long, value_name = "PROGRAM")]
    pub(super) against: Option<PathBuf>,
}

/// Measures of one model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Speed {
    pub(super) model: String,
    pub(super) measures: Vec<Measure>,
}

/// One measure.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Measure {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) unit: String,
    /// What it must reach, where something is.
    pub(super) bar: Option<String>,
    pub(super) met: Option<bool>,
}

#[cfg(feature = "llama")]
mod run {
    use std::path::Path;
    use std::process::Command;

    use serde_json::Value as Json;

    use super::{Args, Measure, Speed};
    use crate::cli::CliError;
    use crate::policy::Policy;
    use crate::student::{LlamaConfig, Speeds, speeds};

    impl Args {
        /// Measures, printing nothing.
        ///
        /// # Errors
        /// [`CliError::Peer`] where the model or the program breaks down.
        pub(in crate::cli::bench::suite) fn measure(
            &self,
            config: &LlamaConfig,
            policy: &Policy,
        ) -> Result<Speed, CliError> {
            let (mut own, mut others) = (Vec::new(), Vec::new());
            for _ in 0..self.rounds {
                own.push(speeds(config, policy, 1).map_err(|e| CliError::Peer(e.to_string()))?);
                let depth = own.last().map_or(0, |speeds: &Speeds| speeds.depth);
                others.extend(self.other(config, depth)?);
            }
            let median = |of: &dyn Fn(&Speeds) -> f64| middle(own.iter().map(of).collect());
            let mut measures = Vec::new();
            let mut add = |name: &str, value: f64, unit: &str, bar: Option<(String, bool)>| {
                let (bar, met) = bar.unzip();
                measures.push(Measure { name: name.to_owned(), value, unit: unit.to_owned(), bar, met });
            };
            let (prompt, plain, grammar) = (median(&|s| s.prompt), median(&|s| s.plain), median(&|s| s.grammar));
            add("prompt of 512 tokens", prompt, "tokens/s", None);
            add("generation without a grammar", plain, "tokens/s", None);
            add("generation under a grammar", grammar, "tokens/s", None);
            let least = |value: f64, bar: f64| Some((format!("≥ {bar}"), value >= bar));
            let most = |value: f64, bar: f64| Some((format!("≤ {bar}"), value <= bar));
            add("under a grammar against without", grammar / plain, "×", least(grammar / plain, 0.9));
            let seconds = |of: fn(&Speeds) -> std::time::Duration| median(&move |s| of(s).as_secs_f64());
            let (cold, kept) = (seconds(|s| s.cold), seconds(|s| s.kept));
            add("first token, prefix computed", 1e3 * cold, "ms", None);
            add("first token, prefix restored", 1e3 * kept, "ms", None);
            add("restored against computed", kept / cold, "×", most(kept / cold, 0.02));
            for (kind, one, five) in [
                ("grounded draft", seconds(|s| s.one), seconds(|s| s.five)),
                ("draft of any call", seconds(|s| s.one_of_any), seconds(|s| s.five_of_any)),
            ] {
                add(&format!("one {kind}"), 1e3 * one, "ms", None);
                add(&format!("five of them together ({kind})"), 1e3 * five, "ms", None);
                add(&format!("five against one ({kind})"), five / one, "×", most(five / one, 2.0));
            }
            if !others.is_empty() {
                let theirs = |at: usize| middle(others.iter().filter_map(|o: &[f64; 2]| o.get(at)).copied().collect());
                for (at, name, mine) in [(0, "prompt", prompt), (1, "generation", plain)] {
                    add(&format!("{name}, llama.cpp's own bench"), theirs(at), "tokens/s", None);
                    let ratio = mine / theirs(at);
                    add(&format!("{name} against it"), ratio, "×", least(ratio, 0.95));
                }
            }
            let model = config.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            Ok(Speed { model, measures })
        }

        /// Prompt and generation, in tokens a second, as llama.cpp's own bench has them. It generates after as many
        /// tokens as we do: attention over them takes its time.
        fn other(&self, config: &LlamaConfig, depth: usize) -> Result<Option<[f64; 2]>, CliError> {
            let Some(program) = &self.against else { return Ok(None) };
            let prompt = alone(program, config, ["-p", "512", "-n", "0", "-d", "0"])?;
            let generation = alone(program, config, ["-p", "0", "-n", "64", "-d", &depth.to_string()])?;
            Ok(Some([prompt, generation]))
        }
    }

    /// One measure of llama.cpp's own bench, in tokens a second.
    fn alone(program: &Path, config: &LlamaConfig, what: [&str; 6]) -> Result<f64, CliError> {
        let failed = |why: String| CliError::Peer(format!("{}: {why}", program.display()));
        let flash = config.flash_attention.is_some_and(|on| on);
        let output = Command::new(program)
            .arg("-m")
            .arg(&config.path)
            .args(what)
            .args(["-r", "1", "-o", "json", "-t"])
            .arg(config.threads.to_string())
            .args(["-fa", if flash { "1" } else { "0" }])
            .output()
            .map_err(|e| failed(e.to_string()))?;
        let runs: Vec<Json> = serde_json::from_slice(&output.stdout).map_err(|e| failed(e.to_string()))?;
        let speed = runs.first().and_then(|run| run.get("avg_ts")).and_then(Json::as_f64);
        speed.ok_or_else(|| failed("it tells no speed; is it `llama-bench`?".to_owned()))
    }

    fn middle(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    }
}
