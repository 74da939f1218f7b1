//! A local GGUF model through llama.cpp: student and critic on the same loaded weights.
//!
//! The context borrows the model and may be used by one thread only, so one thread owns both and
//! serves requests one after the other; dropping the student waits for its end.

mod drafts;
mod engine;
mod follow;
mod gguf;
mod judge;
mod kept;
mod memory;
mod owner;
#[cfg(feature = "compile")]
mod sample;
mod settings;
mod speed;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use settings::{Settings, Template};
pub use speed::{Speeds, speeds};

use std::path::PathBuf;
use std::sync::OnceLock;

use llama_cpp_2::llama_backend::LlamaBackend;

use self::engine::Sampling;
use self::owner::{Owner, Request};
use super::grammar::{DraftGrammar, Grammar, MAX_CALLS, Offered};
use super::prompt::Shot;
use super::retrieve::Retriever;
use super::{
    Answer, CALL_PREFIX, Cancel, Example, Ground, Grounded, Offer, Prompt, Student, StudentError, Usage, form, prompt,
};
use crate::critic::{Case, Judge, JudgeError, Ruling};
use crate::model::CallId;
use crate::tools::{Inventory, Tool};

/// Tools that one draft may choose from.
const OFFERED: usize = 10;

/// Which model is loaded and how.
#[derive(Debug, Clone)]
pub struct LlamaConfig {
    /// The GGUF file.
    pub path: PathBuf,
    /// SHA-256 that the file must have, 64 hexadecimal digits; none: any whole GGUF file.
    pub sha256: Option<String>,
    /// Tokens of the context.
    pub context: u32,
    /// Threads; more than there are free cores makes it slower.
    pub threads: i32,
    /// Processors that they may run on, counted from 0; none: any.
    pub cpus: Option<Vec<usize>>,
    /// Whether attention is computed in one pass; none: as llama.cpp thinks best.
    pub flash_attention: Option<bool>,
    /// Where the form of a conversation comes from.
    pub template: Template,
    /// Folder for the state of the prompt's fixed part; none: it is computed at every start.
    pub cache: Option<PathBuf>,
    /// Examples that the model drafts after.
    pub examples: Vec<Example>,
}

impl LlamaConfig {
    /// A model with 4,096 tokens of context that leaves one core to everybody else: llama.cpp's
    /// threads wait for each other by spinning, so one that has no core stalls all of them.
    pub fn new(path: impl Into<PathBuf>, examples: Vec<Example>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = i32::try_from(cores.saturating_sub(1).clamp(1, 4)).unwrap_or(1);
        Self {
            path: path.into(),
            sha256: None,
            context: 4096,
            threads,
            cpus: None,
            flash_attention: None,
            template: Template::default(),
            cache: None,
            examples,
        }
    }

    /// With the settings of a file.
    #[must_use]
    pub fn with(mut self, settings: Settings) -> Self {
        let Settings { template, context, threads, cpus, flash_attention } = settings;
        self.template = template.unwrap_or(self.template);
        self.context = context.unwrap_or(self.context);
        self.threads = threads.unwrap_or(self.threads);
        self.cpus = cpus.or(self.cpus);
        self.flash_attention = flash_attention.or(self.flash_attention);
        self
    }
}

/// A loaded model.
pub struct Llama {
    name: String,
    owner: Owner,
    examples: Vec<Example>,
    /// Fixed part and index, for the inventory they were made for.
    prepared: Option<Prepared>,
    drafts: u32,
    /// What rulings have cost since somebody asked.
    ruled: Usage,
}

/// A prompt for one line.
#[cfg(feature = "compile")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) fixed: &'a str,
    pub(crate) tail: &'a str,
    pub(crate) grammar: &'a str,
    pub(crate) temperature: f32,
    pub(crate) seed: u32,
    pub(crate) max_tokens: u32,
}

struct Prepared {
    tools: Vec<String>,
    fixed: Vec<Shot>,
    retriever: Retriever,
}

impl std::fmt::Debug for Llama {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Llama").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Llama {
    /// Loads a model. The file is checked before llama.cpp maps it, and the memory before it is taken.
    ///
    /// # Errors
    /// [`StudentError::Model`], naming the file, the cause and what to do.
    pub fn load(config: LlamaConfig) -> Result<Self, StudentError> {
        let path = config.path.display().to_string();
        let broken = |why: String| StudentError::Model { path: path.clone(), why };
        gguf::check(&config.path, config.sha256.as_deref()).map_err(|e| broken(e.to_string()))?;
        let owner = Owner::start(&config).map_err(broken)?;
        let stem = config.path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let name = format!("llama:{stem}");
        Ok(Self { name, owner, examples: config.examples, prepared: None, drafts: 0, ruled: Usage::default() })
    }

    /// Examples that name what this inventory has; one that does not would teach an unknown tool.
    fn known(&mut self, inventory: &Inventory) -> Option<&Prepared> {
        let tools: Vec<String> = inventory.iter().map(|t| t.name.to_string()).collect();
        if self.prepared.as_ref().is_none_or(|p| p.tools != tools) {
            let known = |e: &&Example| e.draft.calls.iter().all(|c| inventory.get(c.tool.as_str()).is_some());
            let examples: Vec<Example> = self.examples.iter().filter(known).cloned().collect();
            let retriever = Retriever::new(inventory, &examples);
            self.prepared = Some(Prepared { tools, fixed: prompt::fixed(inventory, &examples), retriever });
        }
        self.prepared.as_ref()
    }

    /// One line under a grammar (GBNF) that ends with its line break: `fixed` is computed once as long as it
    /// stays the same.
    ///
    /// # Errors
    /// [`StudentError`].
    #[cfg(feature = "compile")]
    pub(crate) fn line(&self, prompt: Line<'_>) -> Result<String, StudentError> {
        let Line { fixed, tail, grammar, temperature, seed, max_tokens } = prompt;
        let (fixed, tail, grammar) = (fixed.to_owned(), tail.to_owned(), grammar.to_owned());
        let how = Sampling { temperature, seed };
        let answered = self.owner.ask(|answer| Request::Line { fixed, tail, grammar, how, max_tokens, answer });
        answered.ok_or_else(Self::gone)?
    }

    /// How much likelier yes is than no after each tail, in nats.
    ///
    /// # Errors
    /// [`StudentError`].
    #[cfg(feature = "compile")]
    pub(crate) fn leaning(&self, fixed: &str, tails: &[String]) -> Result<Vec<f32>, StudentError> {
        let (fixed, tails) = (fixed.to_owned(), tails.to_vec());
        let answered = self.owner.ask(|answer| Request::Judge { fixed, tails, answer }).ok_or_else(Self::gone)?;
        answered.map(|(leaning, _)| leaning)
    }

    fn gone() -> StudentError {
        StudentError::Unreadable("the model's thread has ended; restart the service".to_owned())
    }

    fn sampled(&mut self, prompt: &Prompt<'_>, how: Vec<Sampling>) -> Result<Vec<Answer>, StudentError> {
        let prepared = self.known(prompt.inventory).ok_or_else(Self::gone)?;
        let fixed = prepared.fixed.clone();
        let grammar = grammar(prompt, &prepared.retriever);
        let (tail, max_tokens, cancel) = (prompt::tail(prompt), prompt.max_tokens, prompt.cancel.clone());
        let lines = self
            .owner
            .ask(|answer| Request::Drafts { fixed, tail, grammar, how, max_tokens, cancel, answer })
            .ok_or_else(Self::gone)??;
        lines.into_iter().map(|(line, usage)| self.answer(&line, usage)).collect()
    }

    fn answer(&mut self, line: &str, usage: Usage) -> Result<Answer, StudentError> {
        let mut draft = form::read(line).map_err(|e| StudentError::Unreadable(format!("{e} in {line}")))?;
        self.drafts += 1;
        for (at, call) in draft.calls.iter_mut().enumerate() {
            call.id = CallId::from(format!("{CALL_PREFIX}{}_{at}", self.drafts).as_str());
        }
        Ok(Answer { draft, usage })
    }
}

/// What may be drafted for a prompt.
fn grammar(prompt: &Prompt<'_>, retriever: &Retriever) -> Grammar {
    let (inventory, removed) = (prompt.inventory, prompt.removed);
    let plain = |tools: &[Offered<'_>]| {
        DraftGrammar { tools, each: &[], removed, identifiers: None, calls: MAX_CALLS, reply: 0.0 }.build()
    };
    match prompt.offer {
        Offer::All => plain(&inventory.iter().map(Offered::any).collect::<Vec<_>>()),
        Offer::Reply => plain(&[]),
        Offer::Related => {
            let found = retriever.relevant(inventory, removed, &prompt::request(prompt), OFFERED);
            plain(&found.into_iter().filter_map(|ix| inventory.at(ix)).map(Offered::any).collect::<Vec<_>>())
        }
        Offer::Grounded(grounding) => {
            let heard = grounding.heard();
            let mut said = prompt::request(prompt);
            said.iter_mut().zip(&heard).for_each(|(latest, heard)| latest.0 = heard);
            let ranked = retriever.scored(inventory, removed, &said, OFFERED);
            let Ground { tools, each, reply } = grounding.ground(&ranked);
            let offered =
                |all: &'_ [Grounded]| -> Vec<_> { all.iter().map(|t| (t.clone(), inventory.at(t.tool))).collect() };
            let (tools, each) = (offered(&tools), each.iter().map(|e| offered(e)).collect::<Vec<_>>());
            let tools = on_offer(&tools);
            let each: Vec<Vec<Offered<'_>>> = each.iter().map(|e| on_offer(e)).collect();
            let identifiers = grounding.identifiers();
            DraftGrammar { tools: &tools, each: &each, removed, identifiers: Some(&identifiers), calls: 1, reply }
                .build()
        }
    }
}

fn on_offer<'a>(tools: &'a [(Grounded, Option<&'a Tool>)]) -> Vec<Offered<'a>> {
    let each = tools.iter().filter_map(|(grounded, tool)| {
        Some(Offered { tool: (*tool)?, weight: grounded.weight, arguments: grounded.arguments.as_deref() })
    });
    each.collect()
}

impl Student for Llama {
    fn prepare(&mut self, inventory: &Inventory, cancel: &Cancel) -> Result<(), StudentError> {
        let (fixed, cancel) = (self.known(inventory).ok_or_else(Self::gone)?.fixed.clone(), cancel.clone());
        self.owner.ask(|answer| Request::Prepare { fixed, cancel, answer }).ok_or_else(Self::gone)?
    }

    fn draft(&mut self, prompt: &Prompt<'_>) -> Result<Answer, StudentError> {
        let how = vec![Sampling { temperature: prompt.temperature, seed: prompt.seed }];
        self.sampled(prompt, how)?.pop().ok_or_else(Self::gone)
    }

    fn drafts(&mut self, prompt: &Prompt<'_>, seeds: &[u32]) -> Result<Vec<Answer>, StudentError> {
        let temperature = |at: usize| if at == 0 { 0.0 } else { prompt.temperature };
        let how = seeds.iter().enumerate().map(|(at, seed)| Sampling { temperature: temperature(at), seed: *seed });
        self.sampled(prompt, how.collect())
    }

    fn keeps_to_offer(&self) -> bool {
        true
    }

    fn take_ruled(&mut self) -> Usage {
        std::mem::take(&mut self.ruled)
    }

    fn as_judge(&mut self) -> Option<&mut dyn Judge> {
        Some(self)
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl Judge for Llama {
    fn judge(&mut self, case: &Case<'_>) -> Result<Vec<Ruling>, JudgeError> {
        let (fixed, tails) = judge::prompts(case);
        let leaning = self.owner.ask(|answer| Request::Judge { fixed, tails, answer });
        let leaning = leaning.ok_or_else(|| JudgeError::Unavailable("its thread has ended".to_owned()))?;
        let (leaning, usage) = leaning.map_err(|e| JudgeError::Unavailable(e.to_string()))?;
        self.ruled.prompt_tokens += usage.prompt_tokens;
        self.ruled.wall += usage.wall;
        Ok(judge::rulings(&leaning))
    }
}

/// llama.cpp is initialised once a process, whatever the number of models.
fn backend() -> Result<&'static LlamaBackend, String> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    BACKEND
        .get_or_init(|| {
            llama_cpp_2::send_logs_to_tracing(llama_cpp_2::LogOptions::default());
            LlamaBackend::init().map_err(|e| e.to_string())
        })
        .as_ref()
        .map_err(Clone::clone)
}
