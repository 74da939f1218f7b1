//! One test of a policy.

use serde_json::Value as Json;

use crate::model::{Decision, Draft, ToolCall};
use crate::state::Now;

/// One step of the conversation before the draft.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The driver said it.
    Driver(String),
    /// The assistant said it.
    Assistant(String),
    /// A call was made, with what it returned or why it failed.
    Call {
        /// The call.
        call: ToolCall,
        /// Its result.
        result: Result<Json, String>,
    },
}

/// One test.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyTest {
    /// What it shows, as a sentence.
    pub name: String,
    /// The rules that it fails without.
    pub rules: Vec<String>,
    /// Place and time.
    pub now: Now,
    /// The conversation and the readings before the draft.
    pub history: Vec<Event>,
    /// The draft.
    pub draft: Draft,
    /// The verdict that is due.
    pub verdict: Decision,
    /// Exactly the calls that the harness owes, in any order; none: not looked at.
    pub owed: Option<Vec<ToolCall>>,
    /// Rules among the findings.
    pub found: Vec<String>,
}

impl PolicyTest {
    /// Gives every call the identifier of its place, by which results find their calls.
    pub fn number_calls(&mut self) {
        for (event, n) in self.history.iter_mut().zip(1..) {
            if let Event::Call { call, .. } = event {
                call.id = format!("past_{n}").as_str().into();
            }
        }
        for (call, n) in self.draft.calls.iter_mut().zip(1..) {
            call.id = format!("draft_{n}").as_str().into();
        }
    }
}
