//! Picks the next token under a grammar.
//!
//! Masking a vocabulary of a quarter million tokens halves the speed of generation. So the most
//! likely token is tested alone, and only when the grammar rejects it is a wider list tested.

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;

/// How many of the most likely tokens are tested before the whole vocabulary is.
const WIDE: usize = 256;
/// Among how many of the most likely tokens a sampled draft chooses.
const SAMPLED: usize = 40;

/// The grammar did not parse, or it does not fit the model's vocabulary.
#[derive(Debug, thiserror::Error)]
#[error("llama.cpp rejects the grammar of the draft: {0}")]
pub(super) struct GrammarRejected(llama_cpp_2::GrammarError);

/// Picks tokens of one draft.
pub(super) struct Picker<'m> {
    model: &'m LlamaModel,
    grammar: LlamaSampler,
    /// Temperature and seeded choice; none means greedy.
    chance: Option<LlamaSampler>,
    written: Vec<u8>,
}

impl<'m> Picker<'m> {
    pub(super) fn new(
        model: &'m LlamaModel,
        grammar: &str,
        temperature: f32,
        seed: u32,
    ) -> Result<Self, GrammarRejected> {
        let grammar = LlamaSampler::grammar(model, grammar, "root").map_err(GrammarRejected)?;
        let chance = (temperature > 0.0)
            .then(|| LlamaSampler::chain_simple([LlamaSampler::temp(temperature), LlamaSampler::dist(seed)]));
        Ok(Self { model, grammar, chance, written: Vec::new() })
    }

    /// What has been written so far.
    pub(super) fn written(&self) -> &[u8] {
        &self.written
    }

    /// The next token after these logits; `None` when the grammar allows no token at all.
    pub(super) fn next(&mut self, logits: &[f32]) -> Option<LlamaToken> {
        let token = match self.chance {
            None => self.allowed(best(logits)?).or_else(|| self.first(logits, WIDE)),
            Some(_) => self.any(logits, SAMPLED),
        };
        let token = token.or_else(|| self.first(logits, logits.len()))?;
        self.grammar.try_accept(token).ok()?;
        self.model.vocab().token_to_piece_into(token, &mut self.written, false, None);
        Some(token)
    }

    /// This token, if the grammar takes it.
    fn allowed(&mut self, token: LlamaTokenData) -> Option<LlamaToken> {
        let accepted = self.accepted(vec![token]);
        accepted.data.first().map(LlamaTokenData::id)
    }

    /// The most likely token that the grammar takes, among the `among` most likely ones.
    fn first(&mut self, logits: &[f32], among: usize) -> Option<LlamaToken> {
        let accepted = self.accepted(top(logits, among));
        accepted.data.iter().max_by(|a, b| a.logit().total_cmp(&b.logit())).map(LlamaTokenData::id)
    }

    /// A token by chance, among the most likely ones that the grammar takes.
    fn any(&mut self, logits: &[f32], among: usize) -> Option<LlamaToken> {
        let mut accepted = self.accepted(top(logits, among));
        if accepted.data.is_empty() {
            return None;
        }
        self.chance.as_mut()?.apply(&mut accepted);
        accepted.selected_token()
    }

    fn accepted(&mut self, tokens: Vec<LlamaTokenData>) -> LlamaTokenDataArray {
        let mut array = LlamaTokenDataArray::new(tokens, false);
        self.grammar.apply(&mut array);
        array.data.retain(|token| token.logit() > f32::NEG_INFINITY && self.completes(token.id()));
        array.sorted = false;
        array
    }

    /// llama.cpp decodes UTF-8 without checking continuation bytes, so a byte token could close a
    /// string in the middle of a character.
    fn completes(&self, token: LlamaToken) -> bool {
        // At most three bytes of an unfinished character can stand at the end.
        let tail = self.written.iter().rev().take(3).rev().copied();
        let mut text: Vec<u8> = tail.skip_while(|byte| byte & 0xC0 == 0x80).collect();
        self.model.vocab().token_to_piece_into(token, &mut text, false, None);
        std::str::from_utf8(&text).map_or_else(|e| e.error_len().is_none(), |_| true)
    }
}

fn candidate((id, logit): (i32, &f32)) -> LlamaTokenData {
    LlamaTokenData::new(LlamaToken(id), *logit, 0.0)
}

fn best(logits: &[f32]) -> Option<LlamaTokenData> {
    (0_i32..).zip(logits).max_by(|a, b| a.1.total_cmp(b.1)).map(candidate)
}

/// The `n` most likely tokens, in no particular order.
fn top(logits: &[f32], n: usize) -> Vec<LlamaTokenData> {
    let mut all: Vec<LlamaTokenData> = (0_i32..).zip(logits).map(candidate).collect();
    if n < all.len() {
        all.select_nth_unstable_by(n, |a, b| b.logit().total_cmp(&a.logit()));
        all.truncate(n);
    }
    all
}
