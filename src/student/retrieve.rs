//! Which tools a request is about, by its words.
//!
//! A small model picks better among ten tools than among sixty, and pays for fewer. The score is
//! BM25 over a tool's name, description, parameters and the examples that use it. Besides whole
//! words, pieces of four letters count a little: they find plurals, compounds (`Sitzheizung`) and
//! what speech recognition misspells, without a word list of any language.

use std::collections::HashMap;

use super::Example;
use crate::tools::{Inventory, Removed, Tool, ToolIx};

/// How strongly a word that stands in a tool's name counts, against 1 in its description.
const NAME: f32 = 3.0;
/// In an example that uses the tool.
const EXAMPLE: f32 = 2.0;
/// In a parameter's name or among its words.
const PARAMETER: f32 = 1.5;
/// A piece of a word against the whole word.
const PIECE: f32 = 0.25;
/// BM25: how soon repetition stops to count, and how much longer texts are discounted.
const SATURATION: f32 = 1.2;
const LENGTH: f32 = 0.5;
/// A tool is offered down to this part of the best score.
const CUT: f32 = 0.15;

/// An index of the tools of one inventory.
#[derive(Debug, Default)]
pub struct Retriever {
    /// By word or piece: where it stands and how much it weighs there.
    postings: HashMap<String, Vec<(ToolIx, f32)>>,
    lengths: Vec<f32>,
    mean: f32,
}

impl Retriever {
    /// Indexes an inventory and the examples that use its tools.
    pub fn new(inventory: &Inventory, examples: &[Example]) -> Self {
        let mut index = Self::default();
        for (tool, position) in inventory.iter().zip(0_u16..) {
            let mut weights: HashMap<String, f32> = HashMap::new();
            describe(tool, examples, &mut weights);
            index.lengths.push(weights.values().sum());
            for (term, weight) in weights {
                index.postings.entry(term).or_default().push((ToolIx(position), weight));
            }
        }
        index.mean = index.lengths.iter().sum::<f32>() / index.lengths.len().max(1) as f32;
        index
    }

    /// Every tool that shares a word with the texts, best first. A text counts by its weight: the
    /// latest words of the driver more than older ones.
    pub fn rank(&self, texts: &[(&str, f32)]) -> Vec<(ToolIx, f32)> {
        let mut scores = vec![0.0_f32; self.lengths.len()];
        for (text, importance) in texts {
            let mut terms = HashMap::new();
            add(text, 1.0, &mut terms);
            for (term, weight) in terms {
                // A word said twice is not asked twice.
                self.score(&term, importance * weight.min(1.0), &mut scores);
            }
        }
        let mut ranked: Vec<(ToolIx, f32)> =
            (0_u16..).map(ToolIx).zip(scores).filter(|(_, score)| *score > 0.0).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked
    }

    fn score(&self, term: &str, weight: f32, scores: &mut [f32]) {
        let Some(postings) = self.postings.get(term) else { return };
        let (n, df) = (self.lengths.len() as f32, postings.len() as f32);
        let rarity = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
        for (tool, count) in postings {
            let at = usize::from(tool.0);
            let (Some(length), Some(score)) = (self.lengths.get(at), scores.get_mut(at)) else { continue };
            let norm = SATURATION * (1.0 - LENGTH + LENGTH * length / self.mean.max(1.0));
            *score += weight * rarity * count * (SATURATION + 1.0) / (count + norm);
        }
    }

    /// As [`Self::relevant`], each with its score.
    pub fn scored(
        &self,
        inventory: &Inventory,
        removed: &Removed,
        texts: &[(&str, f32)],
        most: usize,
    ) -> Vec<(ToolIx, f32)> {
        let ranked = self.rank(texts);
        let found = self.relevant(inventory, removed, texts, most);
        let score = |ix: ToolIx| ranked.iter().find(|(r, _)| *r == ix).map_or(0.0, |(_, score)| *score);
        found.into_iter().map(|ix| (ix, score(ix))).collect()
    }

    /// At most `most` tools that the texts are about, best first; all that are there when no word
    /// matches. What this car lacks is not offered, and neither is a tool that fits the words less
    /// than one that is lacking: asked for a sunroof it does not have, a car must not move the shade.
    pub fn relevant(
        &self,
        inventory: &Inventory,
        removed: &Removed,
        texts: &[(&str, f32)],
        most: usize,
    ) -> Vec<ToolIx> {
        let ranked = self.rank(texts);
        let missing = |ix: ToolIx| inventory.at(ix).is_none_or(|tool| removed.tool(tool.name.as_str()));
        let Some(best) = ranked.first().map(|(_, score)| *score) else {
            return (0_u16..).map(ToolIx).take(inventory.len()).filter(|ix| !missing(*ix)).collect();
        };
        let lacking = ranked.iter().filter(|(ix, _)| missing(*ix)).map(|(_, score)| *score).fold(0.0_f32, f32::max);
        let floor = (best * CUT).max(lacking * 0.8);
        let offered = ranked.into_iter().filter(|(ix, score)| *score >= floor && !missing(*ix));
        offered.map(|(ix, _)| ix).take(most).collect()
    }
}

fn describe(tool: &Tool, examples: &[Example], weights: &mut HashMap<String, f32>) {
    add(tool.name.as_str(), NAME, weights);
    add(&tool.description, 1.0, weights);
    for param in &tool.params {
        add(&param.name, PARAMETER, weights);
        add(&param.description, 1.0, weights);
        param.members().iter().for_each(|member| add(member, PARAMETER, weights));
    }
    let uses = |example: &&Example| example.draft.calls.iter().any(|call| call.tool == tool.name);
    examples.iter().filter(uses).for_each(|example| add(&example.driver, EXAMPLE, weights));
}

fn add(text: &str, weight: f32, into: &mut HashMap<String, f32>) {
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        let word: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
        *into.entry(word.iter().collect()).or_default() += weight;
        // The leading mark keeps a piece from being taken for a word.
        for piece in word.windows(4).filter(|_| word.len() >= 4) {
            *into.entry(format!("~{}", piece.iter().collect::<String>())).or_default() += weight * PIECE;
        }
    }
}
