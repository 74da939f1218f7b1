//! The things that one sentence asks for.

use crate::policy::{PhraseRole, Policy, Reading};
use crate::tools::{Tool, ToolIx};

/// One thing asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ask {
    /// The words that ask for it.
    pub(super) range: (usize, usize),
    /// Writes whose subject they name.
    pub(super) tools: Vec<ToolIx>,
}

/// Stretches of words that name what different writes act on, from one comma or `and` to the next. What names
/// nothing belongs to the stretch before it.
pub(super) fn asks(policy: &Policy, reading: &Reading<'_>) -> Vec<Ask> {
    let joins = |at: usize| reading.role(PhraseRole::And).any(|h| h.start == at);
    let writes = |t: &ToolIx| policy.inventory.at(*t).is_some_and(Tool::is_write);
    let mut asks: Vec<Ask> = Vec::new();
    let mut clause = 0;
    let mut open = true;
    for (at, (word, _)) in reading.words().iter().enumerate() {
        open |= word.clause != clause || joins(at);
        clause = word.clause;
        let named: Vec<ToolIx> =
            reading.nouns().filter(|h| h.start == at).flat_map(|h| h.nouns()).filter(writes).collect();
        let same = asks.last().is_some_and(|a| named.is_empty() || named.iter().any(|t| a.tools.contains(t)));
        match asks.last_mut() {
            // Another stretch, and another subject.
            Some(last) if open && !same => {
                last.range.1 = last.range.1.min(at);
                asks.push(Ask { range: (at, at + 1), tools: named });
                open = false;
            }
            Some(last) => {
                last.range.1 = at + 1;
                last.tools.extend(named);
            }
            None => asks.push(Ask { range: (0, at + 1), tools: named }),
        }
        if asks.last().is_some_and(|a| !a.tools.is_empty()) && !same {
            open = false;
        }
    }
    // An opening that names nothing (`it's hot, …`) asks for nothing.
    asks.retain(|ask| !ask.tools.is_empty());
    asks
}
