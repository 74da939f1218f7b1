//! How fast a model is here: measured on the engine that serves drafts, interleaved, medians.

use std::time::{Duration, Instant};

use llama_cpp_2::token::LlamaToken;

use super::engine::{Branch, Engine, Sampling, Tokens};
use super::owner::load;
use super::{LlamaConfig, grammar, kept};
use crate::model::{Message, Role};
use crate::policy::Policy;
use crate::state::History;
use crate::student::grammar::{Grammar, Node, Rules};
use crate::student::prompt::{Shot, fixed, text};
use crate::student::retrieve::Retriever;
use crate::student::{Cancel, Grounding, Offer, Prompt, StudentError};
use crate::tools::Removed;

/// Tokens of the prompt that is timed, as llama.cpp's own bench takes them.
const PROMPT: usize = 512;
/// Tokens that are generated for one measure.
const GENERATED: usize = 64;
/// Drafts of a vote.
const VOTES: u32 = 5;
/// What the drafts answer.
const REQUEST: &str = "open the passenger window to 40 percent";

/// Medians of one model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speeds {
    /// Tokens of a prompt a second.
    pub prompt: f64,
    /// Tokens generated a second, without a grammar.
    pub plain: f64,
    /// The same under a grammar.
    pub grammar: f64,
    /// From nothing to the first token of a draft, the prompt's fixed part computed.
    pub cold: Duration,
    /// From nothing to the first token of a draft, the fixed part restored from its file.
    pub kept: Duration,
    /// One grounded draft after the fixed part, as the harness has it written.
    pub one: Duration,
    /// Five grounded drafts of the same prompt together.
    pub five: Duration,
    /// One draft of any call that a schema allows.
    pub one_of_any: Duration,
    /// Five of them together.
    pub five_of_any: Duration,
    /// Tokens that stand before what is generated.
    pub depth: usize,
}

/// Measures a model `rounds` times and takes medians.
///
/// # Errors
/// [`StudentError`] when the model cannot be loaded or breaks down.
pub fn speeds(config: &LlamaConfig, policy: &Policy, rounds: usize) -> Result<Speeds, StudentError> {
    let failed = |why: String| StudentError::Model { path: config.path.display().to_string(), why };
    let model = load(config).map_err(failed)?;
    let engine = || Engine::new(&model, config).map_err(failed);
    let folder = config.cache.clone().ok_or_else(|| failed("a folder for its kept state is needed".to_owned()))?;
    let fingerprint = kept::fingerprint(&config.path).map_err(|e| failed(e.to_string()))?;
    let shots = fixed(&policy.inventory, &config.examples);
    let request = [Shot { request: REQUEST.to_owned(), line: None }];
    let first = engine()?;
    let (head, tail) = (first.tokenize(&text(&shots, true), true), first.tokenize(&text(&request, false), false));
    let prompt = Tokens { fixed: &head, tail: &tail };
    let (grounded, any) = draft_grammars(config, policy);
    let long: Vec<LlamaToken> = head.iter().cycle().take(PROMPT).copied().collect();
    let mut times: [Vec<f64>; 9] = Default::default();
    // What is measured once is measured first in every round, so that a busy moment of the machine hits all alike.
    for _ in 0..rounds {
        let [prompt_time, plain, under, cold, restored, one, five, one_of_any, five_of_any] = &mut times;
        let mut fresh = engine()?;
        prompt_time.push(
            PROMPT as f64
                / seconds(|| fresh.prefill(Branch::Judge, Tokens { fixed: &[], tail: &long }, &Cancel::default()))?,
        );
        drop(fresh);
        let mut fresh = engine()?;
        cold.push(seconds(|| fresh.drafts(prompt, &one_token(), &[GREEDY], 2, &Cancel::default()))?);
        fresh.keep(&folder, &fingerprint);
        drop(fresh);
        let mut fresh = engine()?;
        restored.push(seconds(|| {
            if !fresh.restore(&folder, &fingerprint, &head)? {
                return Err(failed("its kept state was not taken".to_owned()));
            }
            fresh.drafts(prompt, &one_token(), &[GREEDY], 2, &Cancel::default())
        })?);
        plain.push(GENERATED as f64 / generation(&mut fresh, prompt, None)?);
        under.push(GENERATED as f64 / generation(&mut fresh, prompt, Some(&long_text()))?);
        let votes: Vec<Sampling> = (0..VOTES).map(|seed| Sampling { temperature: 0.7, seed }).collect();
        for (grammar, one, five) in [(&grounded, one, five), (&any, one_of_any, five_of_any)] {
            one.push(seconds(|| fresh.drafts(prompt, grammar, &[GREEDY], 200, &Cancel::default()))?);
            five.push(seconds(|| fresh.drafts(prompt, grammar, &votes, 200, &Cancel::default()))?);
        }
    }
    drop(first);
    let [prompt, plain, grammar, ..] = times.each_ref().map(|t| median(t));
    let [.., cold, kept, one, five, one_of_any, five_of_any] =
        times.each_ref().map(|t| Duration::from_secs_f64(median(t)));
    let depth = head.len() + tail.len();
    Ok(Speeds { prompt, plain, grammar, cold, kept, one, five, one_of_any, five_of_any, depth })
}

const GREEDY: Sampling = Sampling { temperature: 0.0, seed: 0 };

/// Seconds that generating takes, the prompt excluded.
fn generation(engine: &mut Engine<'_>, prompt: Tokens<'_>, grammar: Option<&Grammar>) -> Result<f64, StudentError> {
    engine.prefill(Branch::Draft, prompt, &Cancel::default())?;
    seconds(|| engine.generate(grammar, GENERATED))
}

fn seconds<T>(work: impl FnOnce() -> Result<T, StudentError>) -> Result<f64, StudentError> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// What may be drafted for the request: as the harness bounds it, and without that.
fn draft_grammars(config: &LlamaConfig, policy: &Policy) -> (Grammar, Grammar) {
    let mut history = History::new(&policy.model);
    history.heard(REQUEST);
    let retriever = Retriever::new(&policy.inventory, &config.examples);
    let said =
        Message { role: Role::User, content: Some(REQUEST.to_owned()), tool_calls: Vec::new(), tool_call_id: None };
    let (removed, conversation, cancel) = (Removed::default(), [said], Cancel::default());
    let prompt = |offer| Prompt {
        inventory: &policy.inventory,
        removed: &removed,
        conversation: &conversation,
        objection: None,
        offer,
        temperature: 0.0,
        seed: 0,
        max_tokens: 200,
        cancel: &cancel,
    };
    let grounding = Grounding { policy, history: &history };
    (grammar(&prompt(Offer::Grounded(grounding)), &retriever), grammar(&prompt(Offer::All), &retriever))
}

/// A grammar that any first token of a draft ends.
fn one_token() -> Grammar {
    Rules::default().into_grammar(Node::Choice(vec![Node::literal("{\"\n"), Node::literal("{\n")]))
}

/// A text of any characters that is longer than what is generated.
fn long_text() -> Grammar {
    let any = Node::Class(vec![('\n', '~'), ('\u{A1}', '\u{D7FF}')]);
    let most = GENERATED * 40;
    Rules::default().into_grammar(Node::Repeat { node: Box::new(any), min: most, max: most })
}
