//! Whether the driver asked for something, in any language that the model has names for.

use crate::policy::Policy;
use crate::state::History;
use crate::tools::ToolIx;

/// Driver turns that are looked at: what was asked a dozen turns ago asks for nothing now.
const TURNS: usize = 6;

/// Whether one of the driver's recent sentences names what a tool acts on.
///
/// Generous on purpose: it only exempts a call from being called excess, and calling a wished call
/// excess is the worse mistake (gates.md B, *Excess*).
pub(super) fn requested(policy: &Policy, history: &History, tool: ToolIx) -> bool {
    let Some(effect) = policy.model.tool(tool) else { return false };
    let mut names: Vec<&str> = effect.nouns.values().flatten().map(String::as_str).collect();
    let entities = effect
        .item
        .iter()
        .map(|i| i.entity)
        .chain(effect.sets.iter().filter_map(|s| policy.model.attribute(s.attribute)).map(|a| a.entity));
    for entity in entities {
        if let Some(entity) = policy.model.entity(entity).filter(|e| !e.is_singleton()) {
            names.extend(entity.names.values().flatten().map(String::as_str));
            names.push(&entity.name);
        }
    }
    history.driver().iter().rev().take(TURNS).any(|said| {
        let text = said.text.to_lowercase();
        names.iter().any(|name| mentions(&text, &name.to_lowercase()))
    })
}

/// Whether a text has a word that begins with the name: plurals and compounds count.
fn mentions(text: &str, name: &str) -> bool {
    !name.is_empty()
        && text
            .match_indices(name)
            .any(|(at, _)| text.get(..at).is_some_and(|before| !before.ends_with(char::is_alphanumeric)))
}
