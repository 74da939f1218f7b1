//! The ask ledger: what the driver asked for, clause by clause, and what became of it.

use crate::execute::Executed;
use crate::policy::Policy;
use crate::state::Outcome;
use crate::tools::ToolIx;

/// Asks that are kept: older ones are settled by having been talked past.
const KEPT: usize = 12;

/// One ask.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ask {
    /// The clause, as the driver said it.
    clause: String,
    /// Tools that act on what the clause names; none when it names nothing we know.
    tools: Vec<ToolIx>,
    done: bool,
}

/// Everything asked in this session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ledger {
    asks: Vec<Ask>,
}

impl Ledger {
    /// Takes in a sentence of the driver. A clause that names nothing of its own belongs to the one
    /// before it ("open the window … halfway").
    pub(super) fn take_in(&mut self, policy: &Policy, text: &str) {
        let reading = policy.read(text);
        let mut asks: Vec<Ask> = Vec::new();
        for (clause, words) in reading.clauses() {
            let mut tools: Vec<ToolIx> =
                reading.nouns().filter(|h| reading.clause(h) == clause).flat_map(|h| h.nouns()).collect();
            tools.sort_unstable();
            tools.dedup();
            match asks.last_mut() {
                Some(last) if tools.is_empty() || last.tools.is_empty() => {
                    last.clause = format!("{} {words}", last.clause);
                    last.tools.append(&mut tools);
                }
                _ => asks.push(Ask { clause: words, tools, done: false }),
            }
        }
        self.asks.append(&mut asks);
        let surplus = self.asks.len().saturating_sub(KEPT);
        self.asks.drain(..surplus);
    }

    /// Books a call: an ask that names what it acts on is done when the call is.
    pub(super) fn done(&mut self, policy: &Policy, executed: &Executed) {
        let Some(tool) = policy.inventory.position(executed.call.tool.as_str()) else { return };
        if matches!(executed.outcome, Outcome::Done(_)) {
            self.asks.iter_mut().filter(|a| a.tools.contains(&tool)).for_each(|a| a.done = true);
        }
    }

    /// Finds anew what each ask acts on, under another policy.
    pub(super) fn reread(&mut self, policy: &Policy) {
        for ask in &mut self.asks {
            let reading = policy.read(&ask.clause);
            ask.tools = reading.nouns().flat_map(|h| h.nouns()).collect();
            ask.tools.sort_unstable();
            ask.tools.dedup();
        }
    }

    /// What is still to be done.
    pub(super) fn open(&self) -> Vec<String> {
        self.asks.iter().filter(|a| !a.done).map(|a| a.clause.clone()).collect()
    }
}
