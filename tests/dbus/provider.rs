//! A provider for tests: does with each call whatever a test says.

use std::collections::HashMap;
use std::future::Future;
use std::os::unix::fs::MetadataExt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};

use obligato::service::{ProvidersProxy, Refusal, SessionProxy};
use obligato::tools::import;
use obligato::vehicle::{PROVIDER_INTERFACE, PROVIDER_PATH};
use serde_json::{Value as Json, json};
use tokio_stream::StreamExt;
use zbus::message::Type;
use zbus::wire::ObjectPath;
use zbus::{Connection, Message, MessageStream, Variant};

use super::rig::{Rig, root};

/// The object of the test's provider.
const OBJECT: &str = PROVIDER_PATH;

/// Configuration that lets this user provide everything, with tools that are left to providers.
pub(crate) fn provided(tools: &[&str]) -> String {
    let user = std::fs::metadata("/proc/self").unwrap().uid();
    format!("[vehicle]\nprovided = {tools:?}\n[[vehicle.provider]]\nuser = {user}\n")
}

/// Name, kind and schema of a tool as the policy has it.
pub(crate) fn tool(name: &str, kind: &str) -> (String, String, String) {
    static TOOLS: OnceLock<HashMap<String, String>> = OnceLock::new();
    let tools = TOOLS.get_or_init(|| {
        let text = std::fs::read_to_string(root().join("policies/cabin/tools.json")).unwrap();
        import(&text).unwrap().into_iter().map(|t| (t.name, t.parameters.to_string())).collect()
    });
    (name.to_owned(), kind.to_owned(), tools.get(name).cloned().unwrap_or_else(|| "{}".to_owned()))
}

/// A call as it reached the provider.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) tool: String,
    pub(crate) arguments: Json,
    pub(crate) call: String,
    pub(crate) expiry: u64,
    message: Message,
    pub(crate) connection: Connection,
}

impl Asked {
    /// Answers as the contract says.
    pub(crate) async fn answer(&self, status: &str, result: &str) {
        self.reply(&(status, result)).await;
    }

    /// Answers with whatever body.
    pub(crate) async fn reply<B: serde::Serialize + zbus::wire::DynamicType>(&self, body: &B) {
        self.connection.reply(&self.message.header(), body).await.unwrap();
    }

    /// Answers with an error.
    pub(crate) async fn error(&self, name: &str, text: &str) {
        self.connection.reply_error(&self.message.header(), name, &text).await.unwrap();
    }
}

type Deed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A provider on a connection of its own.
pub(crate) struct Provider {
    pub(crate) connection: Connection,
    pub(crate) harness: ProvidersProxy<'static>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Provider {
    /// One that does `deed` with each call, registered for nothing yet.
    pub(crate) async fn new(rig: &Rig, deed: impl Fn(Asked) -> Deed + Send + Sync + 'static) -> Self {
        let connection = rig.connect().await;
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (mut stream, log, ours) = (MessageStream::from(&connection), asked.clone(), connection.clone());
        tokio::spawn(async move {
            while let Some(Ok(message)) = stream.next().await {
                let header = message.header();
                let called = header.message_type() == Type::MethodCall
                    && header.interface().is_some_and(|i| i.as_str() == PROVIDER_INTERFACE);
                if called {
                    assert_eq!((header.path().unwrap().as_str(), header.member().unwrap().as_str()), (OBJECT, "Call"));
                    let body = message.body();
                    let (tool, arguments, call, expiry): (String, String, String, u64) = body.deserialize().unwrap();
                    let arguments = serde_json::from_str(&arguments).unwrap();
                    let message = message.clone();
                    let asked = Asked { tool, arguments, call, expiry, message, connection: ours.clone() };
                    log.lock().unwrap().push(asked.clone());
                    tokio::spawn(deed(asked));
                }
            }
        });
        let harness = ProvidersProxy::builder(&connection)
            .cache_properties(zbus::proxy::CacheProperties::No)
            .build()
            .await
            .unwrap();
        Self { connection, harness, asked }
    }

    /// One that answers every call with an empty result.
    pub(crate) async fn willing(rig: &Rig) -> Self {
        Self::new(rig, |asked| Box::pin(async move { asked.answer("done", "{}").await })).await
    }

    pub(crate) async fn register(&self, tools: &[(String, String, String)]) -> Result<(), Refusal> {
        self.harness.register(ObjectPath::try_from(OBJECT).unwrap(), tools.to_vec()).await
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Leaves the bus.
    pub(crate) async fn leave(self) {
        self.connection.close().await.unwrap();
    }
}

/// The driver says something to an assistant with its own model.
pub(crate) async fn heard(session: &SessionProxy<'_>, text: &str) {
    let options = HashMap::from([("zone", Variant::from("driver")), ("confidence", Variant::from(0.9))]);
    session.heard(text, options).await.unwrap();
}

/// What became of a draft.
pub(crate) async fn execute(session: &SessionProxy<'_>, draft: &Json) -> Json {
    serde_json::from_str(&session.execute(&draft.to_string()).await.unwrap()).unwrap()
}

/// The driver has a number called: outcome and detail of the call, or the report where there was none.
pub(crate) async fn phone(session: &SessionProxy<'_>, number: &str) -> Result<(String, String), Json> {
    heard(session, &format!("Call {number}.")).await;
    let report = execute(session, &dial(number)).await;
    let executed = report["executed"].as_array().unwrap();
    let Some(call) = executed.iter().find(|e| e["call"]["tool"] == "call_phone_by_number") else { return Err(report) };
    let text = |name: &str| call[name].as_str().unwrap().to_owned();
    Ok((text("outcome"), text("detail")))
}

/// A draft that calls a number.
pub(crate) fn dial(number: &str) -> Json {
    super::rig::calls(&[("call_phone_by_number", json!({"phone_number": number}))])
}
