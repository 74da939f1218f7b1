//! What a turn has spent.

use std::time::Instant;

use super::Budget;
use crate::student::Usage;

/// Why a turn had to stop: the budget that ran out, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Exhausted {
    /// Model calls.
    #[error("the budget of {0} model calls for one turn is used up")]
    ModelCalls(u32),
    /// Tokens.
    #[error("the budget of {0} tokens for one turn is used up")]
    Tokens(u32),
    /// Wall time.
    #[error("the budget of {0} ms for one turn is used up")]
    Wall(u64),
    /// Tool calls.
    #[error("the budget of {0} tool calls for one turn is used up")]
    ToolCalls(u32),
}

impl Exhausted {
    /// The occasion of the phrase tables on which it is spoken.
    pub fn occasion(&self) -> &'static str {
        match self {
            Self::ModelCalls(_) => "budget-model-calls",
            Self::Tokens(_) => "budget-tokens",
            Self::Wall(_) => "budget-wall",
            Self::ToolCalls(_) => "budget-tool-calls",
        }
    }
}

/// The account of a turn.
#[derive(Debug)]
pub(super) struct Account {
    budget: Budget,
    start: Instant,
    pub(super) model_calls: u32,
    pub(super) tokens: u32,
    tool_calls: u32,
}

impl Account {
    pub(super) fn new(budget: Budget) -> Self {
        Self { budget, start: Instant::now(), model_calls: 0, tokens: 0, tool_calls: 0 }
    }

    /// Rounds of revision that one draft may take.
    pub(super) fn rounds(&self) -> u32 {
        self.budget.rounds
    }

    /// Asks for one more model call.
    pub(super) fn model_call(&mut self) -> Result<(), Exhausted> {
        self.time()?;
        if self.model_calls >= self.budget.model_calls {
            return Err(Exhausted::ModelCalls(self.budget.model_calls));
        }
        if self.tokens >= self.budget.tokens {
            return Err(Exhausted::Tokens(self.budget.tokens));
        }
        self.model_calls += 1;
        Ok(())
    }

    /// Books what a model call cost.
    pub(super) fn book(&mut self, usage: Usage) {
        self.tokens = self.tokens.saturating_add(usage.prompt_tokens).saturating_add(usage.generated_tokens);
    }

    /// Asks for one more tool call and for so many companions that it brings, which are booked when they are made.
    pub(super) fn tool_call(&mut self, companions: usize) -> Result<(), Exhausted> {
        self.time()?;
        let companions = u32::try_from(companions).unwrap_or(u32::MAX);
        if self.tool_calls.saturating_add(companions) >= self.budget.tool_calls {
            return Err(Exhausted::ToolCalls(self.budget.tool_calls));
        }
        self.tool_calls += 1;
        Ok(())
    }

    /// Books a tool call that the policy owes for what was done: no budget refuses it.
    pub(super) fn owed_call(&mut self) {
        self.tool_calls = self.tool_calls.saturating_add(1);
    }

    fn time(&self) -> Result<(), Exhausted> {
        if self.start.elapsed() >= self.budget.wall() { Err(Exhausted::Wall(self.budget.wall_ms)) } else { Ok(()) }
    }

    pub(super) fn elapsed(&self) -> std::time::Duration {
        self.start.elapsed()
    }
}
