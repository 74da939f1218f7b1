//! The thread that owns model and context.

use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel};
use llama_cpp_2::token::LlamaToken;

use super::engine::{Branch, Engine, Sampling, TOGETHER, Tokens};
use super::{LlamaConfig, Template, kept, memory};
use crate::student::grammar::Grammar;
use crate::student::prompt::{Shot, messages, text};
use crate::student::{Cancel, StudentError, Usage};

/// What the owner is asked.
pub(super) enum Request {
    /// Drafts under a grammar, one a way of sampling.
    Drafts {
        fixed: Vec<Shot>,
        tail: Vec<Shot>,
        grammar: Grammar,
        how: Vec<Sampling>,
        max_tokens: u32,
        cancel: Cancel,
        answer: mpsc::Sender<Result<Vec<(String, Usage)>, StudentError>>,
    },
    /// Brings the fixed part of the prompt into the context, from a file where one was kept.
    Prepare { fixed: Vec<Shot>, cancel: Cancel, answer: mpsc::Sender<Result<(), StudentError>> },
    /// One line under a grammar (GBNF).
    #[cfg(feature = "compile")]
    Line {
        fixed: String,
        tail: String,
        grammar: String,
        how: Sampling,
        max_tokens: u32,
        answer: mpsc::Sender<Result<String, StudentError>>,
    },
    /// How much likelier yes is than no after each tail, in nats.
    Judge { fixed: String, tails: Vec<String>, answer: mpsc::Sender<Result<(Vec<f32>, Usage), StudentError>> },
}

/// The thread, and the way to it.
pub(super) struct Owner {
    /// None once it is to end.
    requests: Option<mpsc::Sender<Request>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Owner {
    /// Starts the thread and waits until the model is loaded.
    pub(super) fn start(config: &LlamaConfig) -> Result<Self, String> {
        let (requests, queue) = mpsc::channel::<Request>();
        let (loaded, ready) = mpsc::channel();
        let config = config.clone();
        let thread = thread::Builder::new()
            .name("llama".to_owned())
            .spawn(move || own(&config, &queue, &loaded))
            .map_err(|e| format!("no thread could be started for it: {e}"))?;
        ready
            .recv()
            .map_err(|_| "llama.cpp broke down while loading it; check the file and the memory".to_owned())??;
        Ok(Self { requests: Some(requests), thread: Some(thread) })
    }

    /// Hands a request over and waits for its answer; none when the thread has ended.
    pub(super) fn ask<T>(&self, request: impl FnOnce(mpsc::Sender<T>) -> Request) -> Option<T> {
        let (answer, answered) = mpsc::channel();
        self.requests.as_ref()?.send(request(answer)).ok()?;
        answered.recv().ok()
    }
}

/// Waits until the thread has ended: a process that ends beside it destroys what llama.cpp still computes with.
impl Drop for Owner {
    fn drop(&mut self) {
        self.requests = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the model's thread broke down");
        }
    }
}

fn own(config: &LlamaConfig, queue: &mpsc::Receiver<Request>, loaded: &mpsc::Sender<Result<(), String>>) {
    if let Some(cpus) = &config.cpus {
        pin(cpus);
    }
    let model = match load(config) {
        Ok(model) => model,
        Err(why) => {
            let _ = loaded.send(Err(why));
            return;
        }
    };
    let engine = memory::fits(memory::cells(&model, config.context)).and_then(|()| Engine::new(&model, config));
    let engine = match engine {
        Ok(engine) => engine,
        Err(why) => {
            let _ = loaded.send(Err(why));
            return;
        }
    };
    if loaded.send(Ok(())).is_err() {
        return;
    }
    let template = (config.template == Template::Auto).then(|| model.chat_template(None).ok()).flatten();
    // A model that cannot be told from others gets no kept state.
    let fingerprint = config.cache.as_ref().and_then(|_| kept::fingerprint(&config.path).ok());
    let mut served = Served { config, model: &model, engine, template, fingerprint, fixed: None };
    while let Ok(request) = queue.recv() {
        served.serve(request);
    }
}

/// Loads the weights as a map of the file, so that they take memory as they are used and can be given back.
pub(super) fn load(config: &LlamaConfig) -> Result<LlamaModel, String> {
    let size = std::fs::metadata(&config.path).map(|m| m.len()).unwrap_or_default();
    memory::fits(size)?;
    let backend = super::backend()?;
    LlamaModel::load_from_file(backend, &config.path, &LlamaModelParams::default().with_use_mmap(true))
        .map_err(|e| format!("llama.cpp cannot load it: {e}; use a GGUF model of a supported architecture"))
}

/// Keeps this thread, and those of llama.cpp that it starts, on these processors.
fn pin(cpus: &[usize]) {
    let mut set = rustix::thread::CpuSet::new();
    cpus.iter().filter(|c| **c < rustix::thread::CpuSet::MAX_CPU).for_each(|c| set.set(*c));
    if let Err(error) = rustix::thread::sched_setaffinity(None, &set) {
        tracing::warn!(%error, ?cpus, "the model's threads are not bound to these processors");
    }
}

struct Served<'m> {
    config: &'m LlamaConfig,
    model: &'m LlamaModel,
    engine: Engine<'m>,
    template: Option<LlamaChatTemplate>,
    fingerprint: Option<String>,
    /// The fixed part that was last asked for, as text and tokens.
    fixed: Option<(Vec<Shot>, String, Vec<LlamaToken>)>,
}

impl Served<'_> {
    /// Whoever asked may be gone: its answer is then nobody's.
    fn serve(&mut self, request: Request) {
        match request {
            Request::Drafts { fixed, tail, grammar, how, max_tokens, cancel, answer } => {
                let _ = answer.send(self.drafts(fixed, tail, &grammar, &how, max_tokens, &cancel));
            }
            Request::Prepare { fixed, cancel, answer } => {
                let _ = answer.send(self.prepare(fixed, &cancel));
            }
            #[cfg(feature = "compile")]
            Request::Line { fixed, tail, grammar, how, max_tokens, answer } => {
                let (fixed, tail) = (self.engine.tokenize(&fixed, true), self.engine.tokenize(&tail, false));
                let _ = answer.send(self.engine.line(Tokens { fixed: &fixed, tail: &tail }, &grammar, how, max_tokens));
            }
            Request::Judge { fixed, tails, answer } => {
                let _ = answer.send(lean(&mut self.engine, &fixed, &tails));
            }
        }
    }

    fn prepare(&mut self, fixed: Vec<Shot>, cancel: &Cancel) -> Result<(), StudentError> {
        if self.fixed.as_ref().is_some_and(|(known, ..)| *known == fixed) {
            return Ok(());
        }
        let text = self.render(&fixed, false);
        let tokens = self.engine.tokenize(&text, self.template.is_none());
        let kept = self.config.cache.as_deref().zip(self.fingerprint.as_deref());
        let restored = match kept {
            Some((folder, model)) => self.engine.restore(folder, model, &tokens)?,
            None => false,
        };
        if !restored {
            while !self.engine.warm(Branch::Draft, &tokens)? {
                if cancel.is_cancelled() {
                    return Err(StudentError::Cancelled);
                }
            }
            if let Some((folder, model)) = kept {
                self.engine.keep(folder, model);
            }
        }
        self.fixed = Some((fixed, text, tokens));
        Ok(())
    }

    fn drafts(
        &mut self,
        fixed: Vec<Shot>,
        mut tail: Vec<Shot>,
        grammar: &Grammar,
        how: &[Sampling],
        max_tokens: u32,
        cancel: &Cancel,
    ) -> Result<Vec<(String, Usage)>, StudentError> {
        let known = self.fixed.as_ref().is_some_and(|(known, ..)| *known == fixed);
        // What is restored or kept is no prompt of this call; what is computed here and now is.
        if !known && self.config.cache.is_some() {
            self.prepare(fixed.clone(), cancel)?;
        } else if !known {
            let text = self.render(&fixed, false);
            let tokens = self.engine.tokenize(&text, self.template.is_none());
            self.fixed = Some((fixed.clone(), text, tokens));
        }
        let Some((_, text, tokens)) = self.fixed.clone() else { return Ok(Vec::new()) };
        let limit = self.engine.limit();
        let room = usize::try_from(max_tokens).unwrap_or(usize::MAX);
        let rest = loop {
            let all: Vec<Shot> = fixed.iter().chain(&tail).cloned().collect();
            let whole = self.render(&all, true);
            let rest = whole.strip_prefix(&text).map(str::to_owned).unwrap_or_else(|| self.render(&tail, true));
            let rest = self.engine.tokenize(&rest, false);
            // The oldest exchange goes first, never the fixed part and never the request itself.
            if tokens.len() + rest.len() + room.saturating_mul(how.len()) <= limit || tail.len() <= 1 {
                break rest;
            }
            tail.remove(0);
        };
        let mut drafts = Vec::new();
        for together in how.chunks(TOGETHER) {
            let prompt = Tokens { fixed: &tokens, tail: &rest };
            drafts.append(&mut self.engine.drafts(prompt, grammar, together, max_tokens, cancel)?);
        }
        Ok(drafts)
    }

    /// Shots as this model reads them; with `open`, up to where its answer begins.
    fn render(&self, shots: &[Shot], open: bool) -> String {
        let plain = || text(shots, true);
        let Some(template) = &self.template else { return plain() };
        let messages: Result<Vec<LlamaChatMessage>, _> =
            messages(shots).into_iter().map(|(role, text)| LlamaChatMessage::new(role.to_owned(), text)).collect();
        let rendered = messages.ok().and_then(|m| self.model.apply_chat_template(template, &m, open).ok());
        rendered.unwrap_or_else(plain)
    }
}

fn lean(engine: &mut Engine<'_>, fixed: &str, tails: &[String]) -> Result<(Vec<f32>, Usage), StudentError> {
    let start = Instant::now();
    let fixed = engine.tokenize(fixed, true);
    let first = |engine: &Engine<'_>, word: &str| engine.tokenize(word, false).first().map(|t| t.0);
    let (yes, no) = (first(engine, " yes"), first(engine, " no"));
    let cancel = Cancel::default();
    let mut usage = Usage::default();
    let mut leanings = Vec::new();
    for tail in tails {
        let tail = engine.tokenize(tail, false);
        usage.prompt_tokens += engine.prefill(Branch::Judge, Tokens { fixed: &fixed, tail: &tail }, &cancel)?;
        let logit = |token: Option<i32>| {
            token.and_then(|t| usize::try_from(t).ok()).and_then(|t| engine.logits().get(t)).copied()
        };
        leanings.push(logit(yes).unwrap_or_default() - logit(no).unwrap_or_default());
    }
    usage.wall = start.elapsed();
    Ok((leanings, usage))
}
