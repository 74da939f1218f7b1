//! Carrying out what was cleared, call by call, each on a clearance of its own.

use std::time::Duration;

use super::Event;
use super::run::{End, Run, message};
use crate::execute::{Conditions, Executed, Remainder, Stale, carry_out, companions, owing, remainder};
use crate::model::{Draft, Message, ReportedCall, RequestedCall, Role};
use crate::obligations::{Owed, Unread};
use crate::state::Outcome;
use crate::verify::{Cleared, Verdict};

/// How long a clearance holds: the remainder of a draft is verified anew after every call, so this
/// only has to cover the way from the verdict to the bus.
const VALID_FOR: Duration = Duration::from_secs(2);

/// Most times that a clearance is sought anew because the car changed under it.
const RETRIES: u32 = 3;

/// What was carried out.
#[derive(Debug, Default)]
pub(super) struct Acted {
    pub(super) executed: Vec<Executed>,
    /// Why the rest was not done, if it was not.
    pub(super) stopped: Option<String>,
    /// Fields that no read could tell.
    pub(super) unread: Vec<Unread>,
}

impl Run<'_> {
    /// Carries out a cleared draft. After each call the remainder is verified on real outcomes; a
    /// call that failed or cannot be vouched for stops the rest (design §7).
    pub(super) fn carry(&mut self, cleared: Cleared, owed: &Owed) -> Result<Acted, End> {
        let mut acted = Acted { unread: owed.unread.clone(), ..Acted::default() };
        let mut next = Some(cleared);
        let mut retries = 0;
        let mut ending = false;
        while let Some(cleared) = next.take() {
            if self.cancelled().is_err() {
                if acted.executed.is_empty() {
                    return Err(End::Cancelled);
                }
                let owing = self.owing(cleared.draft(), &acted);
                if owing.calls.is_empty() || self.cancel.is_stopped() || self.has_slept() {
                    acted.stopped = Some(self.left(&owing));
                    break;
                }
                // Nobody waits any more, and the car is not left as the policy forbids it to be.
                acted.stopped = Some(self.say("cancelled", &[]));
                if !std::mem::replace(&mut ending, true) {
                    next = self.clear_rest(&owing, &mut acted)?;
                    continue;
                }
            }
            // What the driver said meanwhile may be a no: nothing is carried out by a yes of before.
            if self.session.is_overtaken() {
                let rest = cleared.draft().clone();
                next = self.clear_rest(&rest, &mut acted)?;
                continue;
            }
            let draft = cleared.draft().clone();
            let owed = self.owing(&draft, &acted);
            if owed.calls.first().is_some_and(|call| draft.calls.first() == Some(call)) {
                self.account.owed_call();
            } else {
                // A call that is made without its companions leaves the car as the policy forbids it to be.
                let companions = companions(&self.session.policy, &draft).calls.len();
                let affordable = self.account.tool_call(companions);
                match self.afford(affordable) {
                    Ok(()) => {}
                    Err(End::Refused(why)) if !acted.executed.is_empty() => {
                        acted.stopped = Some(why);
                        if !owed.calls.is_empty() {
                            next = self.clear_rest(&owed, &mut acted)?;
                        }
                        continue;
                    }
                    Err(end) => return Err(end),
                }
            }
            let rest = match self.one(cleared) {
                Ok(executed) => {
                    let rest = self.rest_of(&executed, &mut acted)?;
                    acted.executed.push(executed);
                    rest
                }
                // The car changed between verdict and call: judge the same draft on what is there now.
                Err(stale) if retries < RETRIES => {
                    tracing::info!(%stale, "the clearance no longer held; verifying anew");
                    retries += 1;
                    draft
                }
                Err(stale) => {
                    tracing::warn!(%stale, "the clearance never held long enough; nothing more is done");
                    acted.stopped = Some(self.say("stopped", &[]));
                    break;
                }
            };
            if !rest.calls.is_empty() {
                next = self.clear_rest(&rest, &mut acted)?;
            }
        }
        if self.has_slept() && acted.stopped.is_none() {
            acted.stopped = Some(self.say("slept", &[]));
        }
        Ok(acted)
    }

    /// What the policy owes for what was done, of what is left.
    fn owing(&self, left: &Draft, acted: &Acted) -> Draft {
        owing(&self.session.policy, &self.session.history, left, &acted.executed)
    }

    /// What is said of a turn that ended before its time.
    fn left(&self, owing: &Draft) -> String {
        if self.has_slept() {
            return self.say("slept", &[]);
        }
        let said = self.say("cancelled", &[]);
        if owing.calls.is_empty() {
            return said;
        }
        let (policy, history) = (&self.session.policy, &self.session.history);
        let calls: Vec<String> =
            owing.calls.iter().map(|call| policy.call_words(&self.language, call, history)).collect();
        let what = policy.list(&self.language, &calls);
        format!("{said} {}", self.say("cancelled-owing", &[("what", &what)]))
    }

    /// Verifies what is left; reads that it turns out to need are made at once.
    fn clear_rest(&mut self, rest: &Draft, acted: &mut Acted) -> Result<Option<Cleared>, End> {
        for _ in 0..RETRIES {
            match self.judge(rest, false).verdict {
                Verdict::Clear { cleared } | Verdict::Amend { cleared } => return Ok(Some(cleared)),
                Verdict::Gather { reads } => {
                    let read = self.one(reads);
                    match read {
                        Ok(executed) => acted.executed.push(executed),
                        Err(stale) => tracing::info!(%stale, "a read's clearance no longer held"),
                    }
                }
                Verdict::Refuse { say } => {
                    acted.stopped = Some(say);
                    return Ok(None);
                }
                Verdict::Ask { question, .. } => {
                    acted.stopped = Some(self.say("needs-yes", &[("question", &question)]));
                    return Ok(None);
                }
                Verdict::Revise => break,
            }
        }
        acted.stopped = Some(self.say("stopped", &[]));
        Ok(None)
    }

    fn one(&mut self, cleared: Cleared) -> Result<Executed, Stale> {
        let session = &mut *self.session;
        let now = session.clock.since_boot();
        // The history was brought up to the car when the draft was judged.
        let cleared_at = session.history.clock().unwrap_or(now);
        let conditions = Conditions {
            session: &session.id,
            policy: &session.policy,
            limits: &session.limits,
            cleared_at,
            now,
            clock: session.clock.as_ref(),
            valid_for: VALID_FOR,
        };
        let before = session.history.world().clone();
        let executed =
            self.runtime.block_on(carry_out(cleared, &conditions, session.vehicle.as_ref(), &mut session.history))?;
        session.history.end_step();
        session.note_executed(&executed, &before);
        session.ledger.done(&session.policy, &executed);
        let (outcome, detail) = words(&executed);
        record(&mut session.conversation, &session.policy.model.result, &executed);
        (self.events)(Event::Executed {
            call: ReportedCall::from(&executed.call),
            wanted_by: executed.call.by.as_ref().map_or_else(|| "student".to_owned(), |rule| format!("rule {rule}")),
            outcome: outcome.to_owned(),
            detail,
            millis: u64::try_from(executed.took.as_millis()).unwrap_or(u64::MAX),
        });
        Ok(executed)
    }

    /// What is left to do after a call. A companion that failed stops the rest; what its rule
    /// declares for that case is done instead.
    fn rest_of(&mut self, executed: &Executed, acted: &mut Acted) -> Result<Draft, End> {
        match remainder(&self.session.policy, &self.session.history, executed) {
            Remainder::Finished { .. } => Ok(Draft::default()),
            Remainder::Continue { rest, .. } => Ok(rest),
            Remainder::Stopped { rule, dropped, instead } => {
                tracing::warn!(%rule, dropped = dropped.len(), "a companion failed; the rest is not done");
                if !dropped.is_empty() {
                    acted.stopped = Some(self.say("stopped", &[]));
                }
                Ok(instead)
            }
        }
    }
}

/// Outcome and detail of an executed call, as events and journals name them.
pub(super) fn words(executed: &Executed) -> (&'static str, String) {
    match &executed.outcome {
        Outcome::Done(payload) if executed.read_back.is_empty() => ("done", payload.to_string()),
        Outcome::Done(_) => {
            let fields: Vec<String> = executed.read_back.iter().map(|f| format!("{} = {}", f.field, f.read)).collect();
            ("done", fields.join(", "))
        }
        Outcome::Failed(why) => ("failed", why.to_string()),
        Outcome::Unknown(why) => ("unknown", why.to_string()),
        Outcome::Pending => ("unknown", "no result".to_owned()),
    }
}

/// Writes call and result into the conversation the way recorded ones have them, so that a student
/// sees live sessions and recordings alike.
fn record(conversation: &mut Vec<Message>, shape: &crate::state::ResultShape, executed: &Executed) {
    let call = &executed.call;
    let requested = RequestedCall {
        id: call.id.as_str().to_owned(),
        tool: call.tool.to_string(),
        arguments: call.arguments.as_json().to_string(),
    };
    conversation.push(Message {
        role: Role::Assistant,
        content: None,
        tool_calls: vec![requested],
        tool_call_id: None,
    });
    let result = shape.text(&executed.outcome).unwrap_or_default();
    conversation.push(Message { tool_call_id: Some(call.id.as_str().to_owned()), ..message(Role::Tool, &result) });
}
