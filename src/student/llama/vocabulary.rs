//! The vocabulary of a model by its text: which tokens a text can begin with.

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;

/// Longest token that is looked for, in bytes.
const LONGEST: usize = 48;

/// Tokens in the order of their bytes.
pub(super) struct Vocabulary {
    bytes: Vec<u8>,
    /// Where each begins, how long it is, and which it is.
    tokens: Vec<(u32, u8, i32)>,
}

impl Vocabulary {
    pub(super) fn new(model: &LlamaModel) -> Self {
        let vocab = model.vocab();
        let piece = |id: i32| {
            let mut piece = Vec::new();
            vocab.token_to_piece_into(LlamaToken(id), &mut piece, false, None);
            piece
        };
        Self::of((0..model.n_vocab()).map(|id| (id, piece(id))))
    }

    fn of(pieces: impl Iterator<Item = (i32, Vec<u8>)>) -> Self {
        let (mut bytes, mut tokens) = (Vec::new(), Vec::new());
        for (id, piece) in pieces.filter(|(_, p)| !p.is_empty() && p.len() <= LONGEST) {
            let (Ok(start), Ok(length)) = (u32::try_from(bytes.len()), u8::try_from(piece.len())) else { continue };
            tokens.push((start, length, id));
            bytes.extend_from_slice(&piece);
        }
        let mut vocabulary = Self { bytes, tokens: Vec::new() };
        tokens.sort_by(|a, b| vocabulary.piece(*a).cmp(vocabulary.piece(*b)).then(a.2.cmp(&b.2)));
        vocabulary.tokens = tokens;
        vocabulary
    }

    fn piece(&self, (start, length, _): (u32, u8, i32)) -> &[u8] {
        let start = start as usize;
        self.bytes.get(start..start + usize::from(length)).unwrap_or_default()
    }

    /// The tokens that a text can begin with, the shortest first.
    pub(super) fn beginnings<'a>(&'a self, text: &'a str) -> impl Iterator<Item = LlamaToken> + 'a {
        (1..=text.len().min(LONGEST)).filter_map(move |length| {
            let wanted = text.as_bytes().get(..length)?;
            let at = self.tokens.partition_point(|t| self.piece(*t) < wanted);
            self.tokens.get(at).filter(|t| self.piece(**t) == wanted).map(|(.., id)| LlamaToken(*id))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_begins_with_every_token_that_is_a_prefix_of_it() {
        let pieces = ["get", "g", "", "_", "getter", "get_", "ä"].map(|p| p.as_bytes().to_vec());
        let vocabulary = Vocabulary::of((0..).zip(pieces));
        let begin = |text| vocabulary.beginnings(text).map(|t| t.0).collect::<Vec<_>>();
        assert_eq!(begin("get_weather"), [1, 0, 5]);
        assert_eq!(begin("äh"), [6]);
        assert_eq!(begin("set"), [0_i32; 0]);
    }
}
