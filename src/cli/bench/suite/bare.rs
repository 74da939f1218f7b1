//! The bare student: the same prompt, the same kept prefix, and nobody between it and the car.

use std::time::Instant;

use super::rig::{Bench, Harness, Run, Sampling};
use super::scenario::Scenario;
use crate::cli::CliError;
use crate::model::{Message, RequestedCall, Role};
use crate::obligations::is_plain_yes;
use crate::state::Outcome;
use crate::student::{Cancel, Offer, Prompt, Student};
use crate::tools::Removed;
use crate::vehicle::Vehicle;

/// Tokens of one draft, as with the harness.
const MAX_TOKENS: u32 = 256;
/// How long a call may take.
const DEADLINE: std::time::Duration = std::time::Duration::from_secs(5);

impl Bench<'_> {
    /// Drives a scenario without the harness: one draft a turn, carried out as it is.
    pub(super) fn bare(
        &self,
        scenario: &Scenario,
        student: &mut dyn Student,
        harness: Harness,
        sampling: Sampling,
    ) -> Result<Run, CliError> {
        let rig = self.rig(scenario)?;
        let removed = Removed::from_iter(scenario.removed.iter().map(String::as_str));
        let mut conversation = vec![said(Role::System, &rig.situation)];
        let mut run = Run::default();
        let mut agreed = false;
        let start = Instant::now();
        for line in &scenario.says {
            let mut says = line.clone();
            for _ in 0..2 {
                agreed |= is_plain_yes(&self.policy.read(&says));
                conversation.push(said(Role::User, &says));
                let prompt = Prompt {
                    inventory: &self.policy.inventory,
                    removed: &removed,
                    conversation: &conversation,
                    objection: None,
                    offer: if harness == Harness::Retrieval { Offer::Related } else { Offer::All },
                    temperature: sampling.temperature,
                    seed: sampling.seed,
                    max_tokens: MAX_TOKENS,
                    cancel: &Cancel::default(),
                };
                run.model_calls += 1;
                let draft = match student.draft(&prompt) {
                    Ok(answer) => {
                        run.tokens += answer.usage.prompt_tokens + answer.usage.generated_tokens;
                        answer.draft
                    }
                    Err(error) => {
                        run.notes.push(error.to_string());
                        break;
                    }
                };
                let mut message = said(Role::Assistant, draft.reply.as_deref().unwrap_or_default());
                let mut results = Vec::new();
                for call in &draft.calls {
                    run.want(call.clone());
                    let answer = self.runtime.block_on(rig.car.call(call, DEADLINE));
                    let text = self.policy.model.result.text(&Outcome::from(answer)).unwrap_or_default();
                    message.tool_calls.push(RequestedCall {
                        id: call.id.as_str().to_owned(),
                        tool: call.tool.to_string(),
                        arguments: call.arguments.as_json().to_string(),
                    });
                    results
                        .push(Message { tool_call_id: Some(call.id.as_str().to_owned()), ..said(Role::Tool, &text) });
                }
                conversation.push(message);
                conversation.append(&mut results);
                run.reply = draft.reply.clone().unwrap_or_default();
                let asks = draft.calls.is_empty() && run.reply.trim_end().ends_with('?');
                run.asked |= asks;
                run.told = draft.calls.is_empty() && !asks && !run.reply.is_empty();
                run.notes.push(match draft.calls.is_empty() {
                    true => format!("says \"{}\"", run.reply),
                    false => draft.calls.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
                });
                match &scenario.answer {
                    Some(answer) if asks => says.clone_from(answer),
                    _ => break,
                }
            }
        }
        run.took = start.elapsed();
        run.judge(self.policy, &rig, agreed);
        Ok(run)
    }
}

fn said(role: Role, text: &str) -> Message {
    Message { role, content: Some(text.to_owned()), tool_calls: Vec::new(), tool_call_id: None }
}
