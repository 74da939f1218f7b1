//! Requests and answers as JSON.

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::critic::{Case, Ruling};
use crate::model::{Draft, Finding, Message};
use crate::student::offer::offered;
use crate::student::{Objection, Offer, Prompt, StudentError, Usage};

/// What the critic is told to do.
const CRITIC: &str = "You check objections to what an in-car assistant is about to do. For each numbered objection \
    decide from the conversation alone whether it holds. You cannot add objections. Answer with JSON only: \
    {\"confirm\": [numbers of the objections that hold]}.";

pub(super) fn draft_request(model: &str, prompt: &Prompt<'_>) -> Json {
    let tools: Vec<Json> = prompt
        .inventory
        .iter()
        .filter_map(|tool| offered(tool, prompt.removed).map(|schema| (tool, schema)))
        .map(|(tool, parameters)| {
            let function = json!({"name": tool.name, "description": tool.description, "parameters": parameters});
            json!({"type": "function", "function": function})
        })
        .collect();
    let mut messages = json!(prompt.conversation);
    if let (Some(objection), Some(list)) = (prompt.objection, messages.as_array_mut()) {
        list.push(json!({"role": "user", "content": objected(&objection)}));
    }
    let mut request = json!({
        "model": model,
        "messages": messages,
        "temperature": prompt.temperature,
        "seed": prompt.seed,
        "max_tokens": prompt.max_tokens,
        "stream": false,
    });
    if let (Some(body), false) = (request.as_object_mut(), tools.is_empty()) {
        body.insert("tools".to_owned(), tools.into());
        body.insert(
            "tool_choice".to_owned(),
            if matches!(prompt.offer, Offer::Reply) { "none" } else { "auto" }.into(),
        );
    }
    request
}

/// Tool calls without results are no valid history, so the rejected draft is quoted as text.
fn objected(objection: &Objection<'_>) -> String {
    let mut text =
        format!("[checker, not the driver] This was not carried out: {}\nBecause:\n", described(objection.draft));
    for finding in objection.findings {
        text.push_str(&format!("- {}{}\n", finding.because, remedy(finding)));
    }
    text.push_str("Write the corrected step for the driver's last request.");
    text
}

fn remedy(finding: &Finding) -> String {
    let calls: Vec<String> = finding.remedy.iter().map(ToString::to_string).collect();
    if calls.is_empty() { String::new() } else { format!(" (do: {})", calls.join("; ")) }
}

fn described(draft: &Draft) -> String {
    let calls = draft.calls.iter().map(ToString::to_string);
    let spoken = draft.reply.iter().map(|text| format!("say {}", Json::from(text.as_str())));
    calls.chain(spoken).collect::<Vec<_>>().join("; ")
}

pub(super) fn judge_request(model: &str, max_tokens: u32, case: &Case<'_>) -> Json {
    let mut text = String::from("Conversation:\n");
    for message in case.conversation {
        let content = message.content.as_deref().unwrap_or_default();
        let calls = message.tool_calls.iter().map(|call| format!("{}({})", call.tool, call.arguments));
        let said = std::iter::once(content.to_owned()).chain(calls).filter(|part| !part.is_empty());
        text.push_str(&format!("{}: {}\n", message.role.as_str(), said.collect::<Vec<_>>().join("; ")));
    }
    text.push_str(&format!("\nNext step: {}\n\nObjections:\n", described(case.draft)));
    for (i, finding) in case.candidates.iter().enumerate() {
        text.push_str(&format!("{}. {}\n", i + 1, finding.because));
    }
    json!({
        "model": model,
        "messages": [{"role": "system", "content": CRITIC}, {"role": "user", "content": text}],
        "temperature": 0,
        "max_tokens": max_tokens,
        "stream": false,
    })
}

pub(super) fn text_request(model: &str, system: &str, user: &str, temperature: f32, max_tokens: u32) -> Json {
    json!({
        "model": model,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
        "temperature": temperature,
        "max_tokens": max_tokens,
        "stream": false,
    })
}

/// Reads `{"confirm": [1, 3]}`, also where a model wraps it in prose or a code fence.
pub(super) fn rulings(text: &str, candidates: usize) -> Result<Vec<Ruling>, String> {
    #[derive(Deserialize)]
    struct Verdict {
        confirm: Vec<usize>,
    }
    let object = text.find('{').and_then(|start| text.get(start..));
    let object = object.and_then(|rest| rest.rfind('}').and_then(|end| rest.get(..=end)));
    let verdict: Verdict = serde_json::from_str(object.unwrap_or(text)).map_err(|e| e.to_string())?;
    let mut rulings = vec![Ruling::Discard; candidates];
    for number in verdict.confirm {
        let slot = number.checked_sub(1).and_then(|i| rulings.get_mut(i));
        *slot.ok_or_else(|| format!("it confirms objection {number} of {candidates}"))? = Ruling::Confirm;
    }
    Ok(rulings)
}

/// What a server answered.
#[derive(Debug)]
pub(super) struct Completion {
    pub(super) message: Message,
    /// Whether it stopped at the token limit.
    pub(super) cut_off: bool,
    pub(super) usage: Usage,
}

#[derive(Deserialize)]
struct Answer {
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
struct Counts {
    #[serde(default)]
    prompt_tokens: u32,
    #[serde(default)]
    completion_tokens: u32,
}

pub(super) fn completion(bytes: &[u8]) -> Result<Completion, StudentError> {
    let unreadable =
        |why: String| StudentError::Unreadable(format!("the server's answer is no chat completion: {why}"));
    let answer: Answer = serde_json::from_slice(bytes).map_err(|e| unreadable(e.to_string()))?;
    let choice = answer.choices.into_iter().next().ok_or_else(|| unreadable("it has no choices".to_owned()))?;
    let counts = answer.usage.unwrap_or_default();
    Ok(Completion {
        message: choice.message,
        cut_off: choice.finish_reason.as_deref() == Some("length"),
        usage: Usage {
            prompt_tokens: counts.prompt_tokens,
            generated_tokens: counts.completion_tokens,
            ..Usage::default()
        },
    })
}
