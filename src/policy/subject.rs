//! The words that have to do with what a tool acts on.

use super::lexicon::is_doing;
use super::{Policy, Trigger};
use crate::tools::{ParamType, ToolIx};

/// Letters that a word must have to count: shorter ones are articles and the like.
pub const SHORTEST: usize = 3;

/// What has to do with what a tool acts on.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    /// The words of its name, of how people call what it acts on, and of what it can be set to, in lower
    /// case; not those that say what is done, and not the items, which many tools share.
    pub words: Box<[Box<str>]>,
    /// The tool itself, and the tools with which a rule demands it.
    pub tied: Box<[ToolIx]>,
}

impl Policy {
    /// What has to do with a tool; gathered once.
    pub fn subject(&self, tool: ToolIx) -> Option<&Subject> {
        let kept = self.subjects.get(usize::from(tool.0))?;
        Some(kept.get_or_init(|| Subject { words: self.words_of(tool), tied: self.tied_to(tool) }))
    }

    /// Gathers what a check would gather on its first call of each tool.
    pub fn warm(&self) {
        self.inventory.warm();
        let _ = self.lexicon();
        (0_u16..).map(ToolIx).take(self.inventory.len()).for_each(|tool| {
            let _ = self.subject(tool);
        });
    }

    fn tied_to(&self, tool: ToolIx) -> Box<[ToolIx]> {
        let demanding = self.rules().iter().filter(|rule| rule.remedy.iter().any(|call| call.tool == tool));
        let triggers = demanding.filter_map(|rule| match &rule.trigger {
            Trigger::Calls(tools) => Some(tools),
            Trigger::Reply => None,
        });
        std::iter::once(tool).chain(triggers.flatten().copied()).collect()
    }

    fn words_of(&self, tool: ToolIx) -> Box<[Box<str>]> {
        let (Some(known), Some(effect)) = (self.inventory.at(tool), self.model.tool(tool)) else {
            return Box::default();
        };
        let item = effect.item.as_ref().map(|i| i.argument.as_str());
        let settable = known.params.iter().filter(|p| Some(p.name.as_str()) != item && p.kind != ParamType::Bool);
        let members = settable.flat_map(|p| p.members());
        let names = std::iter::once(known.name.as_str()).chain(effect.nouns.values().flatten().map(String::as_str));
        let all = names.chain(members.map(String::as_str)).flat_map(|name| name.split(['_', ' ', '-', ':']));
        let words = all.map(str::to_lowercase).filter(|word| word.len() >= SHORTEST && !self.says_what_is_done(word));
        words.map(String::into_boxed_str).collect()
    }

    /// Whether a word says what is done rather than what it is done to: `set`, `open`, `all`.
    fn says_what_is_done(&self, word: &str) -> bool {
        is_doing(&self.phrases, word) || self.read(word).hits().iter().any(|h| h.verbs().next().is_some())
    }
}
