//! The policy in force.

use std::sync::Arc;

use tokio::sync::watch;

use crate::policy::Policy;

/// The policy in force. Whoever asks gets one that stays what it is, whatever comes after it.
pub(super) struct InForce(watch::Sender<Arc<Policy>>);

impl InForce {
    pub(super) fn new(policy: Arc<Policy>) -> Self {
        Self(watch::Sender::new(policy))
    }

    /// The policy.
    pub(super) fn get(&self) -> Arc<Policy> {
        self.0.borrow().clone()
    }

    /// Puts another one in its place, for sessions that are opened from now on.
    pub(super) fn replace(&self, policy: Arc<Policy>) {
        self.0.send_replace(policy);
    }

    /// Tells when it is replaced.
    pub(super) fn subscribe(&self) -> watch::Receiver<Arc<Policy>> {
        self.0.subscribe()
    }
}
