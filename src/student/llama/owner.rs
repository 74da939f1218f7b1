//! The thread that owns model and context.

use std::sync::mpsc;
use std::thread;

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;

use super::LlamaConfig;
use super::engine::{Branch, Engine, Generation, Tokens};
use crate::student::{Cancel, StudentError, Usage};

/// What the owner is asked.
pub(super) enum Request {
    /// One line under a grammar.
    Draft {
        fixed: String,
        tail: String,
        grammar: String,
        temperature: f32,
        seed: u32,
        max_tokens: u32,
        cancel: Cancel,
        answer: mpsc::Sender<Result<(String, Usage), StudentError>>,
    },
    /// How much likelier yes is than no after each tail, in nats.
    Judge { fixed: String, tails: Vec<String>, answer: mpsc::Sender<Result<Vec<f32>, StudentError>> },
}

pub(super) struct Owner;

impl Owner {
    /// Starts the thread and waits until the model is loaded. It ends when the sender is dropped.
    pub(super) fn start(config: &LlamaConfig) -> Result<mpsc::Sender<Request>, String> {
        let (requests, queue) = mpsc::channel::<Request>();
        let (loaded, ready) = mpsc::channel();
        let config = config.clone();
        thread::Builder::new()
            .name("llama".to_owned())
            .spawn(move || own(&config, &queue, &loaded))
            .map_err(|e| format!("no thread could be started for it: {e}"))?;
        ready
            .recv()
            .map_err(|_| "llama.cpp broke down while loading it; check the file and the memory".to_owned())??;
        Ok(requests)
    }
}

fn own(config: &LlamaConfig, queue: &mpsc::Receiver<Request>, loaded: &mpsc::Sender<Result<(), String>>) {
    let model = super::backend().and_then(|backend| {
        LlamaModel::load_from_file(backend, &config.path, &LlamaModelParams::default())
            .map_err(|e| format!("llama.cpp cannot load it: {e}; use a GGUF model of a supported architecture"))
    });
    let model = match model {
        Ok(model) => model,
        Err(why) => {
            let _ = loaded.send(Err(why));
            return;
        }
    };
    let mut engine = match Engine::new(&model, config.context, config.threads) {
        Ok(engine) => engine,
        Err(why) => {
            let _ = loaded.send(Err(why));
            return;
        }
    };
    if loaded.send(Ok(())).is_err() {
        return;
    }
    while let Ok(request) = queue.recv() {
        // Whoever asked may be gone: its answer is then nobody's.
        match request {
            Request::Draft { fixed, tail, grammar, temperature, seed, max_tokens, cancel, answer } => {
                let (fixed, tail) = (engine.tokenize(&fixed, true), engine.tokenize(&tail, false));
                let how = Generation { grammar: &grammar, temperature, seed, max_tokens };
                let line = engine.generate(Branch::Draft, Tokens { fixed: &fixed, tail: &tail }, how, &cancel);
                let _ = answer.send(line);
            }
            Request::Judge { fixed, tails, answer } => {
                let _ = answer.send(lean(&mut engine, &fixed, &tails));
            }
        }
    }
}

fn lean(engine: &mut Engine<'_>, fixed: &str, tails: &[String]) -> Result<Vec<f32>, StudentError> {
    let fixed = engine.tokenize(fixed, true);
    let first = |engine: &Engine<'_>, word: &str| engine.tokenize(word, false).first().map(|t| t.0);
    let (yes, no) = (first(engine, " yes"), first(engine, " no"));
    let cancel = Cancel::default();
    tails
        .iter()
        .map(|tail| {
            let tail = engine.tokenize(tail, false);
            engine.prefill(Branch::Judge, Tokens { fixed: &fixed, tail: &tail }, &cancel)?;
            let logit = |token: Option<i32>| {
                token.and_then(|t| usize::try_from(t).ok()).and_then(|t| engine.logits().get(t)).copied()
            };
            Ok(logit(yes).unwrap_or_default() - logit(no).unwrap_or_default())
        })
        .collect()
}
