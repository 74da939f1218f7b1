//! What `execute` takes: a draft against which nothing stands.

use std::fmt;
use std::sync::Arc;

use crate::model::{Draft, PolicyHash};

/// Identifier of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct SessionId(Arc<str>);

impl From<&str> for SessionId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl SessionId {
    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a clearance is bound to: it holds for this session, this policy and this state of the car,
/// and for nothing else (design §7).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Binding {
    /// The session.
    pub session: SessionId,
    /// The policy.
    pub policy: PolicyHash,
    /// The vehicle's epoch.
    pub epoch: u64,
}

/// A draft that may be executed and spoken. Only this module makes one; it cannot be cloned, and
/// `execute` uses it up, so nothing is executed twice on one clearance.
#[derive(Debug, PartialEq)]
pub struct Cleared {
    draft: Draft,
    binding: Binding,
}

impl Cleared {
    pub(super) fn new(draft: Draft, binding: Binding) -> Self {
        Self { draft, binding }
    }

    /// The draft.
    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    /// What the clearance is bound to.
    pub fn binding(&self) -> &Binding {
        &self.binding
    }

    /// Uses the clearance up.
    pub fn into_parts(self) -> (Draft, Binding) {
        (self.draft, self.binding)
    }
}
