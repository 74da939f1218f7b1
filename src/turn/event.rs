//! What a turn tells while it runs, and what it ends with.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::{ReportedCall, VerdictReport};

/// What the speech service heard.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Heard {
    /// The words.
    pub text: String,
    /// ISO 639-1 code, where the recogniser reports one.
    pub language: Option<String>,
    /// Zone of the speaker (`driver`, `passenger`, …), where the assistant reports one.
    pub zone: Option<String>,
    /// Recognition confidence, 0 to 1, where the assistant reports one.
    pub confidence: Option<f64>,
    /// Whether somebody passes it on who is not the speech service: a request, never an answer.
    pub relayed: bool,
}

impl Heard {
    /// Words without further knowledge.
    pub fn text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

/// One thing that happened in a turn, in the order in which it happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The driver's asks were taken into the ledger.
    Asks {
        /// One clause each.
        asks: Vec<String>,
    },
    /// The driver answered the open question.
    Answered {
        /// Whether that was an unqualified yes.
        yes: bool,
    },
    /// A student drafted.
    Drafted {
        /// Which student.
        student: String,
        /// 0 for the first draft, then the revision.
        round: u32,
        /// What it would say.
        reply: Option<String>,
        /// What it would call.
        calls: Vec<ReportedCall>,
        /// Prompt tokens computed.
        prompt_tokens: u32,
        /// Tokens generated.
        generated_tokens: u32,
        /// Milliseconds.
        millis: u64,
    },
    /// A draft was judged.
    Judged {
        /// The report.
        report: VerdictReport,
    },
    /// A call was carried out.
    Executed {
        /// The call.
        call: ReportedCall,
        /// Who wanted it: `student`, or the rule that demanded it.
        wanted_by: String,
        /// `done`, `failed` or `unknown`.
        outcome: String,
        /// What was read back, or why it failed.
        detail: String,
        /// Milliseconds.
        millis: u64,
    },
    /// The driver is asked.
    Question {
        /// The question.
        question: String,
        /// The calls that a yes covers.
        bound: Vec<ReportedCall>,
    },
    /// Something is said.
    Reply {
        /// The words.
        text: String,
    },
    /// Something went wrong inside; the turn goes on or ends safely.
    Fault {
        /// What.
        why: String,
    },
}

impl Event {
    /// The name in JSON and on D-Bus.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Asks { .. } => "asks",
            Self::Answered { .. } => "answered",
            Self::Drafted { .. } => "drafted",
            Self::Judged { .. } => "judged",
            Self::Executed { .. } => "executed",
            Self::Question { .. } => "question",
            Self::Reply { .. } => "reply",
            Self::Fault { .. } => "fault",
        }
    }
}

/// Whoever listens to a running turn.
pub type Events<'a> = dyn FnMut(Event) + 'a;

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Done {
    /// With a reply.
    Replied,
    /// With a question that waits for an answer.
    Asked,
    /// With a refusal.
    Refused,
    /// Stopped from outside.
    Cancelled,
}

impl Done {
    /// The name in JSON and on D-Bus.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replied => "replied",
            Self::Asked => "asked",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What a turn ends with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnReport {
    /// How.
    pub done: Done,
    /// What was said last.
    pub text: String,
    /// Model calls made.
    pub model_calls: u32,
    /// Tokens computed and generated.
    pub tokens: u32,
    /// Wall time of the turn.
    #[serde(skip)]
    pub took: Duration,
    /// Of which the harness itself.
    #[serde(skip)]
    pub harness: Duration,
}
