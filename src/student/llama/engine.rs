//! The context of the model: what is computed, kept and reused.
//!
//! A *branch* is a fixed text that many calls share and a tail that changes. The fixed text is
//! computed once, into a sequence of its own; each call copies it (a copy costs nothing, the cells
//! are shared) and computes its tail alone.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;

use super::LlamaConfig;
use super::follow::Writer;
use super::kept::Kept;
#[cfg(feature = "compile")]
use super::sample::Picker;
use super::vocabulary::Vocabulary;
use crate::student::grammar::Grammar;
use crate::student::{Cancel, StudentError};

/// Tokens computed between two looks at the cancel flag: about half a second on one core. With fewer the matrix kernels
/// run half empty: batches of 32 reach 0.6 of the speed of 128 with Gemma 270M, and 512 are no faster than 128.
pub(super) const CHUNK: usize = 128;
/// Drafts that are generated together.
pub(super) const TOGETHER: usize = 8;
/// The first sequence of drafts that are generated together; those of the branches come before.
pub(super) const FIRST_DRAFT: i32 = 4;

/// What a call is for; each purpose has its own fixed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Branch {
    /// Drafts.
    Draft,
    /// Rulings of the critic.
    Judge,
}

/// Tokens whose state a branch holds.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The fixed text, in the branch's first sequence.
    fixed: Vec<LlamaToken>,
    /// Fixed text and tail, in its second sequence.
    pub(super) whole: Vec<LlamaToken>,
}

/// A prompt in tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tokens<'a> {
    pub(super) fixed: &'a [LlamaToken],
    pub(super) tail: &'a [LlamaToken],
}

/// How one draft is sampled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampling {
    pub(super) temperature: f32,
    pub(super) seed: u32,
}

pub(super) struct Engine<'m> {
    pub(super) model: &'m LlamaModel,
    pub(super) context: LlamaContext<'m>,
    pub(super) batch: LlamaBatch<'static>,
    pub(super) draft: Held,
    judge: Held,
    pub(super) vocabulary: Arc<Vocabulary>,
    /// What the parameters of this context are, for the key of kept states.
    parameters: String,
}

impl<'m> Engine<'m> {
    /// # Errors
    /// A sentence, when the context does not fit into memory.
    pub(super) fn new(model: &'m LlamaModel, config: &LlamaConfig) -> Result<Self, String> {
        let backend = super::backend()?;
        let tokens = config.context;
        // As the header of llama.cpp has it: -1 leaves it to the library.
        let flash = config.flash_attention.map_or(-1, i32::from);
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(tokens))
            .with_n_batch(CHUNK as u32)
            .with_n_ubatch(CHUNK as u32)
            .with_n_seq_max(FIRST_DRAFT as u32 + TOGETHER as u32)
            .with_kv_unified(true)
            .with_flash_attention_policy(flash)
            .with_n_threads(config.threads)
            .with_n_threads_batch(config.threads);
        let context = model
            .new_context(backend, params)
            .map_err(|e| format!("no room for a context of {tokens} tokens ({e}); set a smaller one"))?;
        Ok(Self {
            model,
            context,
            batch: LlamaBatch::new(CHUNK, 1),
            draft: Held::default(),
            judge: Held::default(),
            vocabulary: Arc::new(Vocabulary::new(model)),
            parameters: format!("context {tokens} flash {flash} chunk {CHUNK} sequences {TOGETHER}"),
        })
    }

    pub(super) fn tokenize(&self, text: &str, start: bool) -> Vec<LlamaToken> {
        self.model.vocab().tokenize(text.as_bytes(), start, true)
    }

    /// Tokens that the context can hold.
    pub(super) fn limit(&self) -> usize {
        self.context.n_ctx() as usize
    }

    /// Computes one more chunk of a branch's fixed text; `true` when all of it is there.
    pub(super) fn warm(&mut self, branch: Branch, fixed: &[LlamaToken]) -> Result<bool, StudentError> {
        let held = self.held(branch);
        let agree = agreement(&held.fixed, fixed);
        if agree < held.fixed.len() {
            held.fixed.clear();
            held.whole.clear();
            self.clear(branch)?;
        }
        let done = self.held(branch).fixed.len();
        let Some(chunk) = fixed.get(done..).and_then(|rest| rest.chunks(CHUNK).next()) else { return Ok(true) };
        self.decode(fixed_sequence(branch), done, chunk, false)?;
        self.held(branch).fixed.extend(chunk);
        Ok(done + chunk.len() == fixed.len())
    }

    /// Brings back the state of the draft branch's fixed text from an earlier start, where one was kept of exactly
    /// this model, context and text; `false` where there is none, and then the text is computed.
    pub(super) fn restore(&mut self, folder: &Path, model: &str, fixed: &[LlamaToken]) -> Result<bool, StudentError> {
        let Some(path) = self.kept(folder, model, fixed).whole() else { return Ok(false) };
        self.clear(Branch::Draft)?;
        self.draft = Held::default();
        match self.context.state_seq_load_file(&path, fixed_sequence(Branch::Draft), fixed.len()) {
            Ok((tokens, _)) if tokens == fixed => {
                self.draft.fixed = tokens;
                Ok(true)
            }
            other => {
                tracing::warn!(path = %path.display(), ?other, "a kept state was not taken; it is computed anew");
                self.clear(Branch::Draft)?;
                Ok(false)
            }
        }
    }

    /// Keeps the state of the draft branch's fixed text for the next start. That it cannot be kept is no error.
    pub(super) fn keep(&self, folder: &Path, model: &str) {
        let fixed = &self.draft.fixed;
        let write = |path: &Path| {
            let written = self.context.state_seq_save_file(path, fixed_sequence(Branch::Draft), fixed);
            written.map(|_| ()).map_err(|e| e.to_string())
        };
        if let Err(why) = self.kept(folder, model, fixed).keep(write) {
            tracing::warn!(%why, "the state of the prompt's fixed part is not kept");
        }
    }

    fn kept(&self, folder: &Path, model: &str, fixed: &[LlamaToken]) -> Kept {
        let tokens: Vec<i32> = fixed.iter().map(|t| t.0).collect();
        Kept::new(folder, model, &self.parameters, &tokens)
    }

    /// Brings a branch to the end of the prompt, with the logits of its last token ready. Says how
    /// many tokens had to be computed.
    pub(super) fn prefill(&mut self, branch: Branch, prompt: Tokens<'_>, cancel: &Cancel) -> Result<u32, StudentError> {
        let total = prompt.fixed.len() + prompt.tail.len();
        self.make_room(branch, total)?;
        let before = self.held(branch).fixed.len();
        while !self.warm(branch, prompt.fixed)? {
            if cancel.is_cancelled() {
                return Err(StudentError::Cancelled);
            }
        }
        let mut computed = prompt.fixed.len().saturating_sub(before);
        let whole: Vec<LlamaToken> = prompt.fixed.iter().chain(prompt.tail).copied().collect();
        // The last token is always computed again: a kept state carries no logits. The tail is computed
        // anew each time: in other portions its sums would round otherwise, and the same request must
        // give the same draft whatever was asked before.
        let at = prompt.fixed.len().min(total.saturating_sub(1));
        self.restart(branch, at, prompt.fixed)?;
        let rest = whole.get(at..).unwrap_or_default();
        computed += rest.len();
        for chunk in rest.chunks(CHUNK) {
            if cancel.is_cancelled() {
                return Err(StudentError::Cancelled);
            }
            let end = self.held(branch).whole.len();
            self.decode(tail_sequence(branch), end, chunk, true)?;
            self.held(branch).whole.extend(chunk);
        }
        Ok(u32::try_from(computed).unwrap_or(u32::MAX))
    }

    /// One line under a grammar (GBNF), without its line break.
    #[cfg(feature = "compile")]
    pub(super) fn line(
        &mut self,
        prompt: Tokens<'_>,
        grammar: &str,
        how: Sampling,
        max_tokens: u32,
    ) -> Result<String, StudentError> {
        let branch = Branch::Draft;
        let mut picker = Picker::new(self.model, grammar, how.temperature, how.seed)
            .map_err(|e| StudentError::Unreadable(e.to_string()))?;
        self.prefill(branch, prompt, &Cancel::default())?;
        for _ in 0..max_tokens {
            let token = picker.next(self.logits()).ok_or_else(no_token)?;
            if let Some(line) = picker.written().strip_suffix(b"\n") {
                return String::from_utf8(line.to_vec()).map_err(|e| StudentError::Unreadable(e.to_string()));
            }
            let end = self.held(branch).whole.len();
            self.decode(tail_sequence(branch), end, &[token], true)?;
            self.held(branch).whole.push(token);
        }
        Err(StudentError::Endless(max_tokens))
    }

    /// Generates so many tokens after a prompt, chosen from a grammar or the likeliest ones: to measure.
    pub(super) fn generate(&mut self, grammar: Option<&Grammar>, tokens: usize) -> Result<(), StudentError> {
        let mut writer = grammar.map(|g| Writer::new(self.model, self.vocabulary.clone(), g, 0.0, 0));
        for _ in 0..tokens {
            let token = match &mut writer {
                Some(writer) => writer.next(self.logits()),
                None => (0_i32..).zip(self.logits()).max_by(|a, b| a.1.total_cmp(b.1)).map(|(id, _)| LlamaToken(id)),
            };
            let end = self.draft.whole.len();
            self.decode(tail_sequence(Branch::Draft), end, &[token.ok_or_else(no_token)?], true)?;
            self.draft.whole.extend(token);
        }
        Ok(())
    }

    /// Logits after the last token that was computed.
    pub(super) fn logits(&self) -> &[f32] {
        self.context.get_logits_ith(self.batch.n_tokens().saturating_sub(1))
    }

    /// Gives up the other branch's state when both do not fit, and what earlier drafts left: they are only a cache.
    fn make_room(&mut self, branch: Branch, total: usize) -> Result<(), StudentError> {
        let limit = self.limit();
        if total >= limit {
            return Err(StudentError::Context { found: total, limit });
        }
        for sequence in FIRST_DRAFT..FIRST_DRAFT + TOGETHER as i32 {
            self.context.clear_kv_cache_seq(Some(sequence as u32), None, None).map_err(|e| broken(&e))?;
        }
        let other = match branch {
            Branch::Draft => Branch::Judge,
            Branch::Judge => Branch::Draft,
        };
        let held = self.held(other);
        if held.whole.len().max(held.fixed.len()) + total + 256 > limit {
            *self.held(other) = Held::default();
            self.clear(other)?;
        }
        Ok(())
    }

    fn decode(&mut self, sequence: i32, at: usize, tokens: &[LlamaToken], logits: bool) -> Result<(), StudentError> {
        self.batch.clear();
        for (i, token) in tokens.iter().enumerate() {
            let position =
                i32::try_from(at + i).map_err(|_| StudentError::Context { found: at + i, limit: self.limit() })?;
            let last = logits && i + 1 == tokens.len();
            self.batch.add(*token, position, &[sequence], last).map_err(|e| broken(&e))?;
        }
        self.run(at + tokens.len())
    }

    pub(super) fn run(&mut self, end: usize) -> Result<(), StudentError> {
        self.context.decode(&mut self.batch).map_err(|e| match e {
            llama_cpp_2::DecodeError::NoKvCacheSlot => StudentError::Context { found: end, limit: self.limit() },
            other => broken(&other),
        })
    }

    /// Starts the tail anew from the fixed text.
    fn restart(&mut self, branch: Branch, to: usize, fixed: &[LlamaToken]) -> Result<(), StudentError> {
        let end = u32::try_from(to).map_err(|e| broken(&e))?;
        self.context.clear_kv_cache_seq(Some(tail_sequence(branch) as u32), None, None).map_err(|e| broken(&e))?;
        self.context
            .copy_kv_cache_seq(fixed_sequence(branch), tail_sequence(branch), Some(0), Some(end))
            .map_err(|e| broken(&e))?;
        self.held(branch).whole = fixed.get(..to).unwrap_or_default().to_vec();
        Ok(())
    }

    fn clear(&mut self, branch: Branch) -> Result<(), StudentError> {
        for sequence in [fixed_sequence(branch), tail_sequence(branch)] {
            self.context.clear_kv_cache_seq(Some(sequence as u32), None, None).map_err(|e| broken(&e))?;
        }
        Ok(())
    }

    fn held(&mut self, branch: Branch) -> &mut Held {
        match branch {
            Branch::Draft => &mut self.draft,
            Branch::Judge => &mut self.judge,
        }
    }
}

fn fixed_sequence(branch: Branch) -> i32 {
    match branch {
        Branch::Draft => 0,
        Branch::Judge => 2,
    }
}

pub(super) fn tail_sequence(branch: Branch) -> i32 {
    fixed_sequence(branch) + 1
}

/// How many tokens two lists share from their start.
fn agreement(a: &[LlamaToken], b: &[LlamaToken]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

pub(super) fn no_token() -> StudentError {
    StudentError::Unreadable("the grammar leaves no token of this model".to_owned())
}

pub(super) fn broken(error: &dyn std::fmt::Display) -> StudentError {
    StudentError::Unreadable(format!("llama.cpp failed: {error}"))
}
