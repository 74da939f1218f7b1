//! An assistant with its own model: it tells Obligato what the driver said, hands in what its model drafts,
//! and speaks. Needs the crates `zbus` (feature `tokio`) and `serde_json`.

use std::collections::HashMap;
use std::error::Error;

use serde_json::{Value as Json, json};
use zbus::wire::OwnedObjectPath;
use zbus::{Connection, Variant, proxy};

#[proxy(
    interface = "org.obligato.Harness1.Manager",
    default_service = "org.obligato.Harness1",
    default_path = "/org/obligato/Harness1"
)]
trait Manager {
    fn open_session(&self) -> zbus::Result<OwnedObjectPath>;
}

#[proxy(interface = "org.obligato.Harness1.Session", default_service = "org.obligato.Harness1")]
trait Session {
    fn heard(&self, text: &str, options: HashMap<&str, Variant<'_>>) -> zbus::Result<()>;
    fn verify(&self, draft: &str) -> zbus::Result<String>;
    fn execute(&self, draft: &str) -> zbus::Result<String>;
    fn spoken(&self, text: &str) -> zbus::Result<()>;
    fn close(&self) -> zbus::Result<()>;
}

/// One request of the driver, from the words to the answer: what was said, what the model drafted (an OpenAI assistant
/// message), and the driver's answer where he is asked. Returns each call that was carried out with its outcome.
pub async fn assist(
    bus: &Connection,
    said: &str,
    draft: &Json,
    answers: impl Fn(&str) -> String,
) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let path = ManagerProxy::new(bus).await?.open_session().await?;
    let session = SessionProxy::builder(bus).path(path).build().await?;
    let options = || HashMap::from([("zone", Variant::from("driver")), ("confidence", Variant::from(0.9))]);
    session.heard(said, options()).await?;

    // `Verify` only judges; what an assistant does with an objection is to revise its draft.
    let draft = draft.to_string();
    let report: Json = serde_json::from_str(&session.verify(&draft).await?)?;
    if ["refuse", "revise"].contains(&report["verdict"].as_str().unwrap_or_default()) {
        return Err(format!("the draft has to change: {}", report["findings"]).into());
    }

    // `Execute` judges again, reads what is missing, adds what the policy demands and acts.
    let mut report: Json = serde_json::from_str(&session.execute(&draft).await?)?;
    if let Some(question) = report["question"].as_str().map(str::to_owned) {
        // What the driver has to be asked is asked in these words, and `Spoken` says so: a yes to a question that was
        // not spoken is none. The answer comes in by `Heard`; a yes holds for the same draft.
        session.spoken(&question).await?;
        session.heard(&answers(&question), options()).await?;
        report = serde_json::from_str(&session.execute(&draft).await?)?;
    }
    let mut done = Vec::new();
    for call in report["executed"].as_array().into_iter().flatten() {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        done.push((text(&call["call"]["tool"]), text(&call["outcome"])));
    }
    session.close().await?;
    Ok(done)
}

/// A message of a model that calls one tool.
pub fn calling(tool: &str, arguments: &Json) -> Json {
    let call = json!({"name": tool, "arguments": arguments.to_string()});
    json!({"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": call}]})
}
