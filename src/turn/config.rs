//! How turns are run.

use std::time::Duration;

use serde::Deserialize;

use crate::policy::Advice;

/// Where replies come from once the calls of a turn are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Replies {
    /// Computed from what was done and read back: no model call, nothing invented.
    #[default]
    Template,
    /// Drafted by the student and verified.
    Student,
}

/// What one turn may cost (design §6). Exhaustion refuses and names the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Verify-and-revise rounds a draft.
    pub rounds: u32,
    /// Model calls.
    pub model_calls: u32,
    /// Tokens computed and generated.
    pub tokens: u32,
    /// Milliseconds.
    pub wall_ms: u64,
    /// Tool calls carried out.
    pub tool_calls: u32,
}

impl Default for Budget {
    /// Paper 1 revises twice; the rest bounds the worst turn to what a driver would wait for.
    fn default() -> Self {
        Self { rounds: 2, model_calls: 12, tokens: 60_000, wall_ms: 60_000, tool_calls: 32 }
    }
}

impl Budget {
    /// Wall time.
    pub fn wall(&self) -> Duration {
        Duration::from_millis(self.wall_ms)
    }
}

/// How turns are run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Whether companions are inserted.
    pub apply: Advice,
    /// Where replies come from.
    pub replies: Replies,
    /// Whether only what the conversation gives or implies can be drafted, where the student can be held to it.
    pub ground: bool,
    /// Temperature of a draft that no other votes with; 0 takes the likeliest.
    pub draft_temperature: f32,
    /// Seed of drafts, so that a run can be repeated.
    pub seed: u32,
    /// Drafts that vote; 1 is no vote.
    pub votes: u32,
    /// Temperature of the votes beyond the first.
    pub temperature: f32,
    /// Tokens one draft may take.
    pub max_tokens: u32,
    /// Whether the critic is asked about advisory candidates.
    pub critic: bool,
    /// Zone from which a yes counts; none: any.
    pub consent_zone: Option<String>,
    /// Recognition confidence from which a yes counts.
    pub consent_confidence: f64,
    /// What one turn may cost.
    pub budget: Budget,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            apply: Advice::Remedies,
            replies: Replies::Template,
            ground: true,
            draft_temperature: 0.0,
            seed: 0,
            votes: 1,
            temperature: 0.7,
            max_tokens: 256,
            critic: true,
            consent_zone: Some("driver".to_owned()),
            consent_confidence: 0.5,
            budget: Budget::default(),
        }
    }
}
