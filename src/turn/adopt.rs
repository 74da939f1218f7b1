//! What a session adds to the policy it runs under.

use std::sync::Arc;

use super::Session;
use crate::journal::Entry;
use crate::policy::{Offer, OfferError, Policy};

impl Session {
    /// The policy in force: the signed one, with what this session added.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// Adds the forbids of an offer for the rest of this session. A question that waits was asked under
    /// another policy: its yes brings the calls back to be judged anew. What was offered before changes nothing.
    ///
    /// # Errors
    /// [`OfferError`] when the offer was not made for this policy, or when the session added too much already;
    /// nothing is changed then.
    pub fn adopt(&mut self, offer: &Offer) -> Result<(), OfferError> {
        if self.offers.contains(offer) {
            return Ok(());
        }
        self.policy = Arc::new(self.policy.with_offer(offer)?);
        self.offers.push(offer.clone());
        let policy = self.policy.clone();
        self.note(|place| {
            // What cannot be written is named all the same.
            let why = "the session brought policy text along, which cannot be written";
            Entry::offered(place.clone(), &policy, offer)
                .unwrap_or_else(|_| Entry::policy(Some(place), &policy.id, policy.hash, why))
        });
        self.policy.inventory.warm();
        self.policy.attend(&self.history);
        Ok(())
    }
}
