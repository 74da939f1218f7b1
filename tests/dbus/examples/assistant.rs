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

/// One request of the driver, from the words to the answer. Returns each call that was carried out with its
/// outcome.
pub async fn assist(bus: &Connection) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let path = ManagerProxy::new(bus).await?.open_session().await?;
    let session = SessionProxy::builder(bus).path(path).build().await?;
    let options = HashMap::from([("zone", Variant::from("driver")), ("confidence", Variant::from(0.9))]);
    session.heard("Turn on the air conditioning.", options).await?;

    // What the model drafts is an OpenAI assistant message.
    let call = json!({"name": "set_air_conditioning", "arguments": json!({"on": true}).to_string()});
    let draft = json!({"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": call}]});

    // `Verify` only judges; what an assistant does with an objection is to revise its draft.
    let report: Json = serde_json::from_str(&session.verify(&draft.to_string()).await?)?;
    if ["refuse", "revise"].contains(&report["verdict"].as_str().unwrap_or_default()) {
        return Err(format!("the draft has to change: {}", report["findings"]).into());
    }

    // `Execute` judges again, reads what is missing, adds what the policy demands and acts.
    let report: Json = serde_json::from_str(&session.execute(&draft.to_string()).await?)?;
    let mut done = Vec::new();
    for call in report["executed"].as_array().into_iter().flatten() {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        done.push((text(&call["call"]["tool"]), text(&call["outcome"])));
    }
    // What the driver has to be asked is asked in these words; the answer comes in by `heard`.
    if let Some(question) = report["question"].as_str() {
        session.spoken(question).await?;
    }
    session.close().await?;
    Ok(done)
}
