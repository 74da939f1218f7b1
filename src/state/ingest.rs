//! Taking in messages, one by one.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use super::observe::Reading;
use super::owners::Owner;
use super::{CallRef, Contents, EffectModel, History, Numbers, Origin, Outcome, PastCall, Utterance};
use crate::model::{CallId, Conversation, Draft, DraftError, Limits, Message, Role, ToolCall, Value, Words};
use crate::tools::{Inventory, Kind};

/// Why a message cannot be taken in.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// An assistant message breaks a cap.
    #[error("message {step}: {source}")]
    Message {
        /// Its index, counted from 0.
        step: usize,
        /// Which cap.
        source: DraftError,
    },
    /// A result without a call.
    #[error("message {step} is the result of call `{id}`, which nobody made; a result must follow its call")]
    NoCall {
        /// Its index, counted from 0.
        step: usize,
        /// The identifier.
        id: String,
    },
    /// A system message with a date or a time that there is none of.
    #[error("message {step}: {what}; correct the date or the time that the system message says")]
    Time {
        /// Its index, counted from 0.
        step: usize,
        /// What is wrong.
        what: String,
    },
}

impl History {
    /// Takes in a whole recorded conversation.
    ///
    /// # Errors
    /// [`IngestError`] with the message that is wrong.
    pub fn read(
        &mut self,
        model: &EffectModel,
        inventory: &Inventory,
        conversation: &Conversation,
        limits: &Limits,
    ) -> Result<(), IngestError> {
        conversation.messages.iter().try_for_each(|m| self.push(model, inventory, m, limits))
    }

    /// Takes in one message.
    ///
    /// # Errors
    /// [`IngestError`]; the message is then not taken in.
    pub fn push(
        &mut self,
        model: &EffectModel,
        inventory: &Inventory,
        message: &Message,
        limits: &Limits,
    ) -> Result<(), IngestError> {
        let text = message.content.as_deref().unwrap_or_default();
        match message.role {
            Role::System => {
                self.set_system(model, text);
                if let Some(what) = self.now.impossible() {
                    return Err(IngestError::Time { step: self.steps, what });
                }
            }
            Role::User => self.heard(text),
            Role::Assistant => {
                let step = self.steps;
                let draft =
                    Draft::from_message(message, limits).map_err(|source| IngestError::Message { step, source })?;
                // A recorded call with unreadable arguments was made all the same, and has a result.
                let unreadable = draft.malformed.into_iter().map(|m| ToolCall {
                    id: m.id,
                    tool: m.tool.as_str().into(),
                    arguments: Default::default(),
                    by: None,
                });
                for call in draft.calls.into_iter().chain(unreadable) {
                    let reference = self.called(inventory, call);
                    self.lose(model, inventory, reference);
                }
                if let Some(text) = draft.reply.filter(|_| message.tool_calls.is_empty()) {
                    self.said(&text);
                }
            }
            Role::Tool => {
                let id = message.tool_call_id.as_deref().unwrap_or_default();
                let call = self.by_id.get(&CallId::from(id)).copied();
                let Some(call) = call else { return Err(IngestError::NoCall { step: self.steps, id: id.to_owned() }) };
                let reading = model.result.read(text);
                let outcome = match reading {
                    Reading::Success(payload) => Outcome::Done(Arc::new(payload)),
                    Reading::Failure(why) => Outcome::Failed(why.into()),
                    Reading::Unmarked(_) if self.is_write(inventory, call) => {
                        Outcome::Unknown(format!("the result does not say whether it took effect: {text}").into())
                    }
                    Reading::Unmarked(payload) => Outcome::Done(Arc::new(payload)),
                };
                self.settle(model, inventory, call, outcome, None);
            }
        }
        self.steps += 1;
        Ok(())
    }

    /// Until its result is there, nobody knows whether a write took effect.
    fn lose(&mut self, model: &EffectModel, inventory: &Inventory, call: CallRef) {
        let Some((tool, arguments)) = self.call(call).and_then(|p| Some((p.tool?, p.call.arguments.clone()))) else {
            return;
        };
        if inventory.at(tool).is_some_and(|t| t.kind == Kind::Write) {
            Arc::make_mut(&mut self.world).lose(model, tool, &arguments, self.side, Origin::Lost(call));
        }
    }

    fn is_write(&self, inventory: &Inventory, call: CallRef) -> bool {
        let tool = self.call(call).and_then(|past| past.tool).and_then(|tool| inventory.at(tool));
        tool.is_some_and(|tool| tool.kind == Kind::Write)
    }

    /// Ends a message that was taken in piece by piece (live sessions).
    pub fn end_step(&mut self) {
        self.steps += 1;
    }

    /// Takes in the system message: policy text, place and time.
    pub fn set_system(&mut self, model: &EffectModel, text: &str) {
        self.system = text.into();
        self.system_numbers = Numbers::of_text(text);
        self.now.read(&model.now, text);
        self.identifiers.read_text(text);
        let assigned: Vec<Json> =
            model.now.fields.iter().filter_map(|(_, name, _)| super::now::assignment(text, name)).collect();
        assigned.iter().for_each(|json| self.identifiers.observe(json, None, ""));
        self.surroundings.clear();
        assigned.iter().for_each(|json| Owner::gather(json, &[], &mut self.surroundings));
    }

    /// Takes in what the driver said.
    pub fn heard(&mut self, text: &str) {
        self.identifiers.read_text(text);
        let utterance = self.utterance(text);
        self.driver.push(utterance);
    }

    /// Takes in what was said to the driver.
    pub fn said(&mut self, text: &str) {
        let utterance = self.utterance(text);
        self.spoken.push(utterance);
    }

    fn utterance(&self, text: &str) -> Utterance {
        let calls = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        Utterance { text: text.into(), words: Arc::new(Words::new(text)), step: self.steps, calls }
    }

    /// Takes in a call that was made; its result follows by [`History::settle`].
    pub fn called(&mut self, inventory: &Inventory, call: ToolCall) -> CallRef {
        // A yes is used up by the call it was given for, whatever becomes of it.
        let key = call.key();
        self.grants.retain(|(granted, _)| *granted != key);
        let reference = CallRef(u32::try_from(self.calls.len()).unwrap_or(u32::MAX));
        let tool = Self::position(inventory, &call);
        self.by_id.insert(call.id.clone(), reference);
        if let Some(tool) = tool {
            self.latest.entry(tool).or_default().push(reference);
        }
        let contents = Contents::of(&Outcome::Pending, &call.arguments, &[]);
        self.calls.push(PastCall {
            call,
            key,
            tool,
            step: self.steps,
            turn: self.turn(),
            outcome: Outcome::Pending,
            at: None,
            contents,
            ages: Vec::new(),
        });
        reference
    }

    /// Takes in what became of a call. Results are matched by call id and take effect in the order
    /// of their arrival. A success is applied and then read: what it returns is an observation. A
    /// write that failed or that nobody can vouch for makes its fields unknown (design §4).
    pub fn settle(
        &mut self,
        model: &EffectModel,
        inventory: &Inventory,
        call: CallRef,
        outcome: Outcome,
        at: Option<Duration>,
    ) {
        let Some(past) = self.calls.get_mut(call.0 as usize) else { return };
        past.outcome = outcome.clone();
        past.contents = Contents::of(&outcome, &past.call.arguments, &ends(model));
        past.at = at;
        let Some(tool) = past.tool else { return };
        let writes = inventory.at(tool).is_some_and(|t| t.kind == Kind::Write);
        let arguments = past.call.arguments.clone();
        match outcome {
            Outcome::Done(payload) => {
                if writes {
                    Arc::make_mut(&mut self.world).apply(model, tool, &arguments, self.side, Origin::Written(call));
                }
                Arc::make_mut(&mut self.world).observe(model, tool, &payload, call);
                self.identifiers.observe(&payload, Some(call), "");
            }
            Outcome::Failed(_) | Outcome::Unknown(_) if writes => {
                Arc::make_mut(&mut self.world).lose(model, tool, &arguments, self.side, Origin::Lost(call));
            }
            Outcome::Failed(_) | Outcome::Unknown(_) | Outcome::Pending => {}
        }
    }

    /// Takes in a value that the vehicle reports by itself (a subscription), not through a call.
    pub fn reported(&mut self, cell: super::CellIx, value: Value) {
        Arc::make_mut(&mut self.world).set(cell, value, Origin::Never);
    }
}

/// The members of a leg that hold the identifiers of its ends.
fn ends(model: &EffectModel) -> Vec<&str> {
    model.tour.iter().flat_map(|tour| [tour.from.as_str(), tour.to.as_str()]).collect()
}
