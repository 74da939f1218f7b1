//! Claims that there is nothing else.

use super::{Exhausted, View};
use crate::model::{ToolCall, Words};
use crate::obligations::Said;
use crate::policy::{PhraseRole, Reading};
use crate::tools::{Kind, Param, ParamType, Tool};
use serde_json::Value as Json;

/// A claim that there are no others of a kind, resting on searches of this turn that were all narrowed by
/// something nobody asked for: the filter, and the search.
pub(super) fn narrowed(view: &View<'_>, reply: &Reading<'_>) -> Result<Option<(String, ToolCall)>, Exhausted> {
    for claim in reply.role(PhraseRole::Exhaustive) {
        let sentence = reply.sentence(claim);
        if reply.words().is_question(sentence) || reply.quoted(claim) {
            continue;
        }
        let mut found = None;
        for past in view.this_turn().filter(|p| p.succeeded()) {
            view.spend(1 + past.call.arguments.len())?;
            let Some(ix) = past.tool else { continue };
            let Some(tool) = view.policy.inventory.at(ix).filter(|t| t.kind == Kind::Read) else { continue };
            let said = Said::only(reply, vec![sentence]);
            let about = tool.params.iter().filter(|p| p.required && matches!(p.kind, ParamType::Enum(_))).any(|p| {
                let value = past.call.arguments.get(&p.name);
                value.is_some_and(|v| said.names(view.policy, view.history, ix, p, v))
            });
            if !about {
                continue;
            }
            match filter(view, reply, sentence, tool, &past.call) {
                None => {
                    found = None; // one open search tells whether there are others
                    break;
                }
                some => found = found.or(some.map(|f| (f, past.call.clone()))),
            }
        }
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// A member of an optional list in a search that neither the driver asked for nor the claim names.
fn filter(view: &View<'_>, reply: &Reading<'_>, sentence: u16, tool: &Tool, call: &ToolCall) -> Option<String> {
    let fixed: Vec<&str> = call.arguments.values().filter_map(Json::as_str).collect();
    let lists = tool.params.iter().filter(|p| !p.required && matches!(p.kind, ParamType::List(_)));
    lists.filter_map(|p: &Param| call.arguments.get(&p.name)?.as_array()).flatten().filter_map(Json::as_str).find_map(
        |member| {
            let own = |part: &&str| part.chars().count() > 3 && !fixed.iter().any(|f| f.contains(*part));
            let lower = member.to_lowercase();
            let mut parts = lower.split(['_', ':', ' ']).filter(own);
            let claimed = |part: &str| reply.words().iter().any(|(w, t)| w.sentence == sentence && t.starts_with(part));
            let asked = |part: &str| view.history.driver().iter().any(|u| says(&u.words, part));
            (!parts.any(|part| claimed(part) || asked(part))).then(|| member.to_owned())
        },
    )
}

fn says(words: &Words, part: &str) -> bool {
    words.iter().any(|(_, word)| word.starts_with(part))
}
