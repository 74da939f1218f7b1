//! The students of the suite: a model, the truth, and an adversary.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::ValueEnum;
use serde_json::{Map, Value as Json};

use super::scenario::Scenario;
use crate::cli::CliError;
use crate::model::{Draft, ToolCall};
use crate::policy::Policy;
use crate::student::{Answer, Prompt, Student, StudentError, Usage};
use crate::tools::{Inventory, Param, ParamType, Tool};
use crate::turn::Models;

/// Who drafts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Kind {
    /// A GGUF model in this process (`--model`).
    Llama,
    /// A model behind an OpenAI-compatible server (`--server`, `--name`).
    Remote,
    /// The calls that each scenario wants, drafted as they are: what the harness does to what is right.
    Scripted,
    /// The worst calls that the schemas allow, one batch a draft.
    Adversary,
}

/// Which student, and how it is run.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(in crate::cli) struct Args {
    /// Run the scenarios with this student, in place of recorded tasks
    #[arg(long, value_enum)]
    pub(in crate::cli) student: Option<Kind>,
    /// Model file of `llama`
    #[arg(long, value_name = "GGUF")]
    model: Option<PathBuf>,
    /// How the model of `llama` is run: a settings file
    #[arg(long, value_name = "TOML")]
    settings: Option<PathBuf>,
    /// Examples that `llama` drafts after
    #[arg(long, value_name = "TOML")]
    examples: Option<PathBuf>,
    /// Threads of `llama`
    #[arg(long)]
    threads: Option<i32>,
    /// Folder in which `llama` keeps the state of its prompt from one start to the next
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// Address of the server of `remote`, without `/chat/completions`
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Name of the model on that server
    #[arg(long)]
    name: Option<String>,
    /// Environment variable that holds the key of that server
    #[arg(long, value_name = "VARIABLE")]
    key_variable: Option<String>,
}

/// What the runner tells a scripted student.
#[derive(Debug, Default)]
pub(super) struct Cue {
    scenario: AtomicUsize,
}

impl Cue {
    /// The scenario that runs, by its position.
    pub(super) fn set(&self, scenario: usize) {
        self.scenario.store(scenario, Ordering::Relaxed);
    }
}

impl Args {
    /// Loads the student.
    ///
    /// # Errors
    /// [`CliError`] where a setting is missing, this build lacks the student, or it cannot be loaded.
    pub(super) fn load(&self, policy: &Policy, scenarios: &[Scenario], cue: &Arc<Cue>) -> Result<Models, CliError> {
        let student: Box<dyn Student> = match self.student {
            Some(Kind::Llama) => self.llama(policy)?,
            Some(Kind::Remote) => self.remote()?,
            Some(Kind::Scripted) => {
                let drafts = scenarios.iter().map(Scenario::wanted).collect();
                Box::new(Truth { drafts, cue: cue.clone() })
            }
            Some(Kind::Adversary) | None => Box::new(Adversary::new(&policy.inventory)),
        };
        Ok(Models { student, escalation: None })
    }

    /// How the local model is run.
    #[cfg(feature = "llama")]
    pub(super) fn llama_config(&self) -> Result<crate::student::LlamaConfig, CliError> {
        use crate::student::{LlamaConfig, Settings, examples};
        let model = |e: StudentError| CliError::Peer(e.to_string());
        let path = self.model.clone().ok_or_else(|| CliError::Unknown("`--student llama` needs --model".to_owned()))?;
        let shots = self.examples.as_deref().map(examples).transpose().map_err(model)?.unwrap_or_default();
        let settings = self.settings.as_deref().map(Settings::load).transpose().map_err(model)?.unwrap_or_default();
        let mut config = LlamaConfig::new(path, shots).with(settings);
        config.threads = self.threads.unwrap_or(config.threads);
        config.cache.clone_from(&self.cache);
        Ok(config)
    }

    #[cfg(feature = "llama")]
    fn llama(&self, policy: &Policy) -> Result<Box<dyn Student>, CliError> {
        let model = |e: StudentError| CliError::Peer(e.to_string());
        let mut llama = crate::student::Llama::load(self.llama_config()?).map_err(model)?;
        // The prefix is computed before anything is measured, for every configuration alike.
        llama.prepare(&policy.inventory, &crate::student::Cancel::default()).map_err(model)?;
        Ok(Box::new(llama))
    }

    #[cfg(not(feature = "llama"))]
    fn llama(&self, _: &Policy) -> Result<Box<dyn Student>, CliError> {
        Err(CliError::Unknown("this build has no local model; build it with the feature `llama`".to_owned()))
    }

    #[cfg(feature = "remote")]
    fn remote(&self) -> Result<Box<dyn Student>, CliError> {
        use crate::student::{Remote, RemoteConfig};
        let needed = |what: &Option<String>, name: &str| {
            what.clone().ok_or_else(|| CliError::Unknown(format!("`--student remote` needs --{name}")))
        };
        let (base, name) = (needed(&self.server, "server")?, needed(&self.name, "name")?);
        let config = RemoteConfig { key_variable: self.key_variable.clone(), ..RemoteConfig::new(&base, &name) };
        Ok(Box::new(Remote::new(config).map_err(|e| CliError::Peer(e.to_string()))?))
    }

    #[cfg(not(feature = "remote"))]
    fn remote(&self) -> Result<Box<dyn Student>, CliError> {
        Err(CliError::Unknown("this build has no remote student; build it with the feature `remote`".to_owned()))
    }
}

/// Drafts what the scenario wants, and nothing more once the calls were made.
struct Truth {
    drafts: Vec<Vec<ToolCall>>,
    cue: Arc<Cue>,
}

impl Student for Truth {
    fn draft(&mut self, _: &Prompt<'_>) -> Result<Answer, StudentError> {
        let calls = self.drafts.get(self.cue.scenario.load(Ordering::Relaxed)).cloned().unwrap_or_default();
        let draft = if calls.is_empty() { Draft::reply("Sorry, I cannot do that.") } else { Draft::calls(calls) };
        Ok(Answer { draft, usage: Usage::default() })
    }

    fn name(&self) -> &str {
        "truth"
    }
}

/// Drafts one batch of extreme calls after the other, whatever is asked, and now and then claims success.
struct Adversary {
    calls: Vec<ToolCall>,
    next: usize,
}

/// Calls in one of its drafts, by turns.
const BATCHES: [usize; 5] = [1, 3, 1, 2, 4];
/// Value combinations of one tool.
const EXTREMES: usize = 24;

impl Adversary {
    fn new(inventory: &Inventory) -> Self {
        let mut calls: Vec<ToolCall> = inventory.iter().filter(|t| t.is_write()).flat_map(extremes).collect();
        // Spread, so that one draft mixes tools: by a stride that has no divisor in common with the count.
        let count = calls.len().max(1);
        let stride = (7..).step_by(2).find(|s| coprime(*s, count)).unwrap_or(1);
        let order: Vec<usize> = (0..count).map(|i| i * stride % count).collect();
        calls = order.into_iter().filter_map(|at| calls.get(at).cloned()).collect();
        Self { calls, next: 0 }
    }
}

fn coprime(a: usize, b: usize) -> bool {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

impl Student for Adversary {
    fn draft(&mut self, prompt: &Prompt<'_>) -> Result<Answer, StudentError> {
        self.next += 1;
        let size = BATCHES.get(self.next % BATCHES.len()).copied().unwrap_or(1);
        let draft = match self.next % 11 {
            10 => Draft::reply("Done, everything is open and off."),
            _ => {
                let from = self.next * 3;
                let wanted = (from..from + size).filter_map(|at| self.calls.get(at % self.calls.len().max(1)).cloned());
                let mut calls: Vec<ToolCall> = wanted.collect();
                for (at, call) in calls.iter_mut().enumerate() {
                    call.id = crate::model::CallId::from(format!("adversary_{}_{at}", self.next).as_str());
                    fill(call, prompt);
                }
                Draft::calls(calls)
            }
        };
        Ok(Answer { draft, usage: Usage::default() })
    }

    fn name(&self) -> &str {
        "adversary"
    }
}

/// Every combination of the extreme values of a tool's arguments, up to a bound.
fn extremes(tool: &Tool) -> Vec<ToolCall> {
    let mut lists: Vec<Map<String, Json>> = vec![Map::new()];
    for param in tool.params.iter().filter(|p| p.required) {
        let values = values(param);
        lists = lists
            .iter()
            .flat_map(|list| {
                values.iter().map(|value| {
                    let mut longer = list.clone();
                    longer.insert(param.name.clone(), value.clone());
                    longer
                })
            })
            .take(EXTREMES)
            .collect();
    }
    lists.into_iter().map(|arguments| ToolCall::new(tool.name.as_str(), arguments)).collect()
}

fn values(param: &Param) -> Vec<Json> {
    match &param.kind {
        ParamType::Bool => vec![true.into(), false.into()],
        // The last members name everything; all of them are tried.
        ParamType::Enum(members) => members.iter().rev().map(|m| Json::from(m.as_str())).collect(),
        ParamType::Number => {
            let whole = |n: f64| if n.fract() == 0.0 { Json::from(n as i64) } else { Json::from(n) };
            [param.maximum.unwrap_or(1e6), param.minimum.unwrap_or(0.0)].map(whole).to_vec()
        }
        ParamType::Text => vec![Json::from("<observed>")],
        ParamType::List(_) => vec![Json::from(vec!["<observed>", "<observed>"])],
        ParamType::Object(_) | ParamType::Any => vec![Json::Object(Map::new())],
    }
}

/// Puts words out of the conversation where a text stands: identifiers that exist are the worse lie.
fn fill(call: &mut ToolCall, prompt: &Prompt<'_>) {
    let said: Vec<&str> = prompt.conversation.iter().filter_map(|m| m.content.as_deref()).collect();
    let words =
        said.iter().flat_map(|t| t.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '@' | '.' | '+'))));
    let word = words.rev().find(|w| w.contains('_') || w.len() > 6).unwrap_or("+491700000000").to_owned();
    let names: Vec<String> = call.arguments.keys().cloned().collect();
    for name in names {
        let Some(mut value) = call.arguments.get(&name).cloned() else { continue };
        match &mut value {
            Json::String(text) if text == "<observed>" => text.clone_from(&word),
            Json::Array(items) => items.iter_mut().for_each(|item| *item = Json::from(word.as_str())),
            _ => continue,
        }
        call.arguments.insert(name, value);
    }
}
