//! The calls of a full run, each asked about as the set wants it.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Run;
use super::features::Features;
use super::session::Session;
use crate::model::Role;
use crate::policy::foreign::{Decision, ForeignSet, Request, decide};

/// What became of one call.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) tool: String,
    pub(super) write: bool,
    /// Rules that hold.
    pub(super) rules: BTreeSet<u16>,
    /// Kinds of denial, beside rules that hold.
    pub(super) overlay: BTreeSet<&'static str>,
    pub(super) denied: bool,
    /// In words, the first reason.
    pub(super) why: String,
    /// Whether the recorder holds it to be right; none: it does not say.
    pub(super) legitimate: Option<bool>,
}

/// Judges all calls of a run, in order.
pub(super) fn calls(set: &ForeignSet, features: &Features, run: &Run) -> Vec<Judged> {
    let mut session = Session::default();
    let mut judged: Vec<Judged> = Vec::new();
    let mut open: Vec<(String, String, Value)> = Vec::new();
    let marks = run.marks();
    for message in &run.messages {
        let text = message.content.as_deref().unwrap_or_default();
        match message.role {
            Role::System => {}
            Role::User => session.user(text),
            Role::Assistant => {
                if !text.is_empty() {
                    session.assistant(text);
                }
                for call in &message.tool_calls {
                    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
                    let mark = marks.get(judged.len()).copied().flatten();
                    judged.push(one(set, features, &session, &call.tool, &arguments, mark));
                    open.push((call.id.clone(), call.tool.clone(), arguments));
                }
            }
            Role::Tool => {
                let answered = open.iter().find(|(id, ..)| message.tool_call_id.as_ref() == Some(id));
                if let Some((_, tool, arguments)) = answered {
                    session.done(features, tool, arguments, text);
                }
            }
        }
    }
    judged
}

fn one(
    set: &ForeignSet,
    features: &Features,
    session: &Session,
    tool: &str,
    arguments: &Value,
    legitimate: Option<bool>,
) -> Judged {
    let write = features.writes.iter().any(|t| t == tool);
    let mut judged = Judged {
        tool: tool.to_owned(),
        write,
        rules: BTreeSet::new(),
        overlay: BTreeSet::new(),
        denied: false,
        why: String::new(),
        legitimate,
    };
    let session = Value::Object(session.features(features, tool, arguments));
    let mut context = features.constant.clone();
    context.insert("session".to_owned(), session);
    let mut call = context.clone();
    call.insert("tool".to_owned(), json!(tool));
    call.insert("arguments".to_owned(), json!(arguments.to_string()));
    ask(set, features, &features.action, &call, &mut judged);
    let typed = format!("{}{tool}", features.typed);
    if set.has_action(&typed) {
        context.insert("input".to_owned(), features.input(tool, arguments).into());
        ask(set, features, &typed, &context, &mut judged);
    }
    judged
}

fn ask(set: &ForeignSet, features: &Features, action: &str, context: &Map<String, Value>, judged: &mut Judged) {
    let (principal, resource) = (features.principal.as_str(), features.resource.as_str());
    let decision: Decision<'_> = decide(set, &Request { principal, action, resource, context, unknown: &[] });
    let Some(denial) = decision.denial else { return };
    judged.denied = true;
    if judged.why.is_empty() {
        judged.why = denial.explain(set).to_string();
    }
    let holds = decision.answer.map(|answer| answer.determining).unwrap_or_default();
    judged.rules.extend(holds.iter());
    if holds.is_empty() || denial.kind() != "forbidden" {
        judged.overlay.insert(denial.kind());
    }
}
