//! What the tests of the journal share.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use obligato::journal::{Kind, Record, records};
use obligato::service::{JournalProxy, SessionProxy};
use serde_json::{Value as Json, json};
use tokio::time::{Duration, sleep};
use zbus::Variant;
use zbus::proxy::CacheProperties;

use super::rig::{Client, PATIENCE, Rig, Setup, calls};

/// A service without a model that keeps a journal in a folder.
pub(crate) fn keeping(folder: &Path) -> Setup {
    Setup::without_student().config(&settings(folder))
}

/// The part of a configuration that names the folder.
pub(crate) fn settings(folder: &Path) -> String {
    format!("[journal]\nfolder = {:?}\n", folder.display().to_string())
}

/// Runs `obligato`.
pub(crate) fn obligato(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_obligato")).args(arguments).output().unwrap()
}

/// What `obligato` printed; its exit code must be this.
pub(crate) fn printed(arguments: &[&str], exit: i32) -> String {
    let output = obligato(arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {text}{wrong}");
    text
}

/// All records, of whose members the product knows every name.
pub(crate) fn all(folder: &Path) -> Vec<Record> {
    let all: Vec<Record> = records(folder).unwrap().map(Result::unwrap).collect();
    all.iter().for_each(super::names::are_known);
    all
}

/// Records of a kind.
pub(crate) fn of(folder: &Path, kind: Kind) -> Vec<Record> {
    all(folder).into_iter().filter(|r| r.kind == kind).collect()
}

/// The driver says something to an assistant with its own model.
pub(crate) async fn heard(session: &SessionProxy<'_>, text: &str) {
    let options = HashMap::from([("zone", Variant::from("driver")), ("confidence", Variant::from(0.9))]);
    session.heard(text, options).await.unwrap();
}

/// Hands a draft in.
pub(crate) async fn execute(session: &SessionProxy<'_>, draft: &Json) -> Json {
    serde_json::from_str(&session.execute(&draft.to_string()).await.unwrap()).unwrap()
}

/// The driver asks for the air conditioning; windows and fan come along.
pub(crate) async fn cool(session: &SessionProxy<'_>) -> Json {
    heard(session, "Turn on the air conditioning.").await;
    let report = execute(session, &calls(&[("set_air_conditioning", json!({"on": true}))])).await;
    assert_eq!(report["verdict"], "amend", "{report:#}");
    report
}

/// The journal's object on the bus.
pub(crate) async fn journal(client: &Client) -> JournalProxy<'static> {
    JournalProxy::builder(&client.connection).cache_properties(CacheProperties::No).build().await.unwrap()
}

/// A client of a service without a model.
pub(crate) async fn client(rig: &Rig) -> Client {
    let client = Client::new(rig.connect().await).await;
    client.wait_for_state("no-model").await;
    client
}

/// Waits until something holds of the journal's object.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let deadline = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < deadline, "{what} never came");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Ends the service in order, so that everything it did is in the journal.
pub(crate) async fn ended(mut rig: Rig) -> Rig {
    rig.signal("TERM");
    let status = rig.ended().await;
    assert!(status.success(), "{status}: {}", rig.log());
    rig
}
