//! Picks the next token of a draft by following it through its grammar.
//!
//! The most likely token is tested alone; only when the grammar rejects it, or weighs it down, are more looked at.

use std::sync::Arc;

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;

use super::vocabulary::Vocabulary;
use crate::student::grammar::{Grammar, Matcher};

/// How many of the most likely tokens are tested before the whole vocabulary is.
const WIDE: usize = 256;

/// Writes one draft.
pub(super) struct Writer<'g, 'm> {
    model: &'m LlamaModel,
    vocabulary: Arc<Vocabulary>,
    at: Matcher<'g>,
    /// Whether choices between texts are weighed.
    weighed: bool,
    temperature: f32,
    chance: Chance,
    written: Vec<u8>,
}

impl<'g, 'm> Writer<'g, 'm> {
    /// The beginning of a draft. At temperature 0 the most welcome token is taken.
    pub(super) fn new(
        model: &'m LlamaModel,
        vocabulary: Arc<Vocabulary>,
        grammar: &'g Grammar,
        temperature: f32,
        seed: u32,
    ) -> Self {
        let (at, chance) = (Matcher::new(grammar), Chance::new(seed));
        Self { model, vocabulary, at, weighed: grammar.is_weighed(), temperature, chance, written: Vec::new() }
    }

    /// What has been written, once the grammar is at its end.
    pub(super) fn line(&self) -> Option<&[u8]> {
        self.at.is_complete().then_some(&self.written)
    }

    /// The text that must come next, taken as written.
    pub(super) fn forced(&self) -> String {
        self.at.forced()
    }

    /// Takes bytes as written; false where the grammar does not allow them.
    pub(super) fn write(&mut self, bytes: &[u8]) -> bool {
        match self.at.after(bytes) {
            Some(next) => {
                self.at = next;
                self.written.extend_from_slice(bytes);
                true
            }
            None => false,
        }
    }

    /// The next token after these logits; `None` when the grammar allows no token of this model.
    pub(super) fn next(&mut self, logits: &[f32]) -> Option<LlamaToken> {
        if self.temperature > 0.0 {
            return self.take(&self.candidates(logits));
        }
        let every = || self.among(logits, logits.len()).into_iter().next().map(|(token, _)| token);
        let token = self.best(logits).or_else(every)?;
        self.writes(token)
    }

    /// The tokens that may come next with their scores, the most welcome first.
    pub(super) fn candidates(&self, logits: &[f32]) -> Vec<(LlamaToken, f32)> {
        let likely = self.listed(logits).unwrap_or_else(|| self.among(logits, WIDE));
        if likely.is_empty() { self.among(logits, logits.len()) } else { likely }
    }

    /// One of the candidates of this place; `None` where there is none.
    pub(super) fn take(&mut self, candidates: &[(LlamaToken, f32)]) -> Option<LlamaToken> {
        let token =
            if self.temperature > 0.0 { self.sampled(candidates) } else { candidates.first().map(|(token, _)| *token) };
        self.writes(token?)
    }

    fn writes(&mut self, token: LlamaToken) -> Option<LlamaToken> {
        let piece = self.piece(token);
        self.write(&piece).then_some(token)
    }

    fn best(&self, logits: &[f32]) -> Option<LlamaToken> {
        if let Some(listed) = self.listed(logits) {
            return listed.first().map(|(token, _)| *token);
        }
        let (id, _) = (0_i32..).zip(logits).max_by(|a, b| a.1.total_cmp(b.1))?;
        let token = LlamaToken(id);
        match self.welcome(token) {
            // No other can be more welcome than the likeliest at no cost.
            Some(cost) if cost >= 0.0 => Some(token),
            _ => self.among(logits, WIDE).into_iter().next().map(|(token, _)| token),
        }
    }

    fn sampled(&mut self, allowed: &[(LlamaToken, f32)]) -> Option<LlamaToken> {
        let best = allowed.first()?.1;
        let weights: Vec<f32> = allowed.iter().map(|(_, score)| ((score - best) / self.temperature).exp()).collect();
        let mut left = self.chance.next() * weights.iter().sum::<f32>();
        for ((token, _), weight) in allowed.iter().zip(weights) {
            left -= weight;
            if left <= 0.0 {
                return Some(*token);
            }
        }
        allowed.last().map(|(token, _)| *token)
    }

    /// Every allowed token with its score, the most welcome first, where nothing but a choice between texts is left:
    /// the likeliest of a whole vocabulary may hold none of them.
    fn listed(&self, logits: &[f32]) -> Option<Vec<(LlamaToken, f32)>> {
        let texts = self.at.literals().filter(|_| self.weighed)?;
        let mut tokens: Vec<LlamaToken> = texts.iter().flat_map(|text| self.vocabulary.beginnings(text)).collect();
        tokens.sort_unstable_by_key(|t| t.0);
        tokens.dedup();
        let scored = |token: LlamaToken| {
            let logit = usize::try_from(token.0).ok().and_then(|at| logits.get(at))?;
            Some((token, logit + self.welcome(token)?))
        };
        let mut allowed: Vec<(LlamaToken, f32)> = tokens.into_iter().filter_map(scored).collect();
        allowed.sort_by(|a, b| b.1.total_cmp(&a.1));
        (!allowed.is_empty()).then_some(allowed)
    }

    /// The allowed ones among the `n` most likely tokens with their scores, the most welcome first.
    fn among(&self, logits: &[f32], n: usize) -> Vec<(LlamaToken, f32)> {
        let mut all: Vec<(i32, f32)> = (0_i32..).zip(logits.iter().copied()).collect();
        if n < all.len() {
            all.select_nth_unstable_by(n, |a, b| b.1.total_cmp(&a.1));
            all.truncate(n);
        }
        let scored = |(id, logit): (i32, f32)| Some((LlamaToken(id), logit + self.welcome(LlamaToken(id))?));
        let mut allowed: Vec<(LlamaToken, f32)> = all.into_iter().filter_map(scored).collect();
        allowed.sort_by(|a, b| b.1.total_cmp(&a.1));
        allowed
    }

    /// How much more welcome the draft is with this token, in nats, at most 0; `None` where it is not allowed.
    fn welcome(&self, token: LlamaToken) -> Option<f32> {
        let piece = self.piece(token);
        if piece.is_empty() {
            return None; // control tokens would go on for ever
        }
        Some(self.at.after(&piece)?.weight() - self.at.weight())
    }

    fn piece(&self, token: LlamaToken) -> Vec<u8> {
        let mut piece = Vec::new();
        self.model.vocab().token_to_piece_into(token, &mut piece, false, None);
        piece
    }
}

/// A seeded source of numbers between 0 and 1 (splitmix64).
struct Chance(u64);

impl Chance {
    fn new(seed: u32) -> Self {
        Self(u64::from(seed))
    }

    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        // 24 bits are all that a float holds.
        ((z ^ (z >> 31)) >> 40) as f32 / (1_u32 << 24) as f32
    }
}
