//! A session goes on under another policy.

use std::sync::Arc;

use super::Session;
use crate::model::{Conversation, Limits};
use crate::policy::{OfferError, Policy};
use crate::state::{History, IngestError};
use crate::vehicle::Vehicle;

/// Why a session cannot go on under another policy.
#[derive(Debug, thiserror::Error)]
pub enum SuccessionError {
    /// What the session itself forbids means nothing under the new policy, and must not be dropped.
    #[error(
        "what the session offered cannot be kept under the new policy: {0}; open another session and offer it again"
    )]
    Offer(#[from] OfferError),
    /// What the session offered was made for other tools or another model of the car.
    #[error("what the session offered was made for other tools; open another session and offer it again")]
    Ground,
    /// The conversation cannot be read under the new policy.
    #[error("the conversation cannot be read under the new policy: {0}; open another session")]
    Conversation(#[from] IngestError),
}

impl Session {
    /// Goes on under another policy, between two turns: the conversation stays, and is read anew under the
    /// new model of the car. Whatever rested on the old policy dies (design §6): the question that waits,
    /// every yes, what the driver's last words may agree to, and what was read of the car. What the
    /// session itself offered goes along, or the session cannot go on: it only ever adds forbids.
    ///
    /// # Errors
    /// [`SuccessionError`]; the session then stays under the old policy and is to be closed.
    pub fn succeed(&mut self, policy: Arc<Policy>, vehicle: Arc<dyn Vehicle>) -> Result<(), SuccessionError> {
        let mut policy = policy;
        if !self.offers.is_empty() && policy.ground_digest() != self.policy.ground_digest() {
            return Err(SuccessionError::Ground);
        }
        for offer in &self.offers {
            policy = Arc::new(policy.with_offer(offer)?);
        }
        let mut history = History::new(&policy.model);
        history.set_side(self.history.side());
        let conversation = Conversation { messages: self.conversation.clone() };
        history.read(&policy.model, &policy.inventory, &conversation, &Limits::default())?;
        history.set_now(self.history.now().clone());
        history.forget_car();
        history.revoke_grants();
        history.let_words_agree(false);
        self.history = history;
        self.pending = None;
        self.spoken_under = None;
        self.ledger.reread(&policy);
        self.epoch = vehicle.epoch();
        self.sleeps = vehicle.sleeps();
        self.vehicle = vehicle;
        self.policy = policy;
        self.take_stock();
        self.policy.attend(&self.history);
        Ok(())
    }
}
