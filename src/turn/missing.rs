//! Requests for something that this car does not have.

use crate::policy::{PhraseRole, Policy};
use crate::state::History;

/// What a sentence asks to be done that no tool of this car can do any more, as people call it.
///
/// Certain without a model: the sentence names what only removed writes act on, and says to change
/// it. Asking about it is another matter: the reads may still be there.
pub(super) fn missing(policy: &Policy, history: &History, said: &str) -> Option<String> {
    let removed = history.removed();
    if removed.is_empty() {
        return None;
    }
    let reading = policy.read(said);
    let gone = |tool: &crate::tools::Tool| {
        let name = tool.name.as_str();
        removed.tool(name) || tool.params.iter().any(|p| p.required && removed.parameter(name, &p.name))
    };
    let named = |writes: bool| {
        let here = policy.inventory.iter().zip((0_u16..).map(crate::tools::ToolIx));
        here.filter(move |(tool, _)| tool.is_write() == writes).filter(|(_, ix)| reading.names(*ix))
    };
    let (mut lost, mut kept) = (None, false);
    for (tool, ix) in named(true) {
        match gone(tool) {
            true => lost = lost.or(Some((tool, ix))),
            false => kept = true,
        }
    }
    let (tool, ix) = lost.filter(|_| !kept)?;
    let asks = reading.does(ix)
        || [PhraseRole::Change, PhraseRole::On, PhraseRole::Off, PhraseRole::Most, PhraseRole::Least]
            .into_iter()
            .any(|role| reading.has(role));
    if !asks {
        return None;
    }
    let nouns = &policy.model.tool(ix)?.nouns;
    let noun = nouns.values().flatten().find(|n| said.to_lowercase().contains(&n.to_lowercase()));
    Some(noun.cloned().unwrap_or_else(|| tool.name.as_str().replace('_', " ")))
}
