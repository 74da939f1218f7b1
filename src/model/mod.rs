//! Plain data that every other module shares: no behaviour beyond parsing, printing and comparing.
//!
//! A number inside the engine is a scaled integer ([`Value::Int`]), never a float: rules compare
//! values exactly, on every target. JSON stays JSON ([`ToolCall::arguments`]) until a policy's
//! effect model says which resolution an argument has.

mod call;
mod draft;
mod finding;
mod hash;
mod limits;
mod message;
mod near;
mod readback;
mod value;
mod verdict;
mod words;

pub use call::{Arguments, CallId, CallKey, ToolCall, ToolName, canonical, number};
pub use draft::{Draft, DraftError, Malformed};
pub use finding::{Evidence, Finding, GateName, RuleId, Tier};
pub use hash::{HexError, PolicyHash};
pub use limits::Limits;
pub use message::{Conversation, Message, MessageError, RequestedCall, Role};
pub use near::nearest;
pub use readback::ReadBack;
pub use value::{Resolution, Value, is_unknown_word};
pub use verdict::{Decision, ReportedCall, ReportedFinding, VerdictReport};
pub use words::{Found, Word, Words, word_number};
