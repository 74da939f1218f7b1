//! What a session takes along when the policy changes under it.

use std::sync::Arc;

use obligato::model::{Draft, Limits};
use obligato::policy::{HardLimits, Offer, PackedTests, Policy, PolicyParts};
use obligato::state::SystemClock;
use obligato::student::Cancel;
use obligato::turn::{Config, Heard, Session, SuccessionError};
use obligato::vehicle::{Scenario, Sim};
use obligato::verify::SessionId;
use serde_json::json;

use super::rig::{calls, root};

fn policy(change: impl FnOnce(&mut PolicyParts)) -> Arc<Policy> {
    let mut parts = super::car::cabin();
    parts.tests = PackedTests::default();
    change(&mut parts);
    Arc::new(Policy::from_blob(&parts.to_blob().unwrap()).unwrap())
}

fn car(policy: &Policy) -> Arc<Sim> {
    let text = std::fs::read_to_string(root().join("policies/cabin/vehicle-state.toml")).unwrap();
    let scenario = Scenario::parse(&text, &policy.inventory, &policy.model).unwrap();
    Arc::new(Sim::new(policy.inventory.clone(), policy.model.clone(), scenario, Arc::new(SystemClock)))
}

fn session(policy: &Arc<Policy>) -> Session {
    let limits = Arc::new(HardLimits::default());
    Session::new(SessionId::from("1"), policy.clone(), limits, Config::default(), car(policy))
}

fn draft(tool: &str, arguments: serde_json::Value) -> Draft {
    Draft::from_bytes(calls(&[(tool, arguments)]).to_string().as_bytes(), &Limits::default()).unwrap()
}

fn offered(session: &Session) -> usize {
    session.policy().rules().iter().filter(|rule| rule.id.as_str().starts_with("offer:")).count()
}

#[test]
fn what_a_session_offered_goes_along_or_the_session_does_not_go_on() {
    let old = policy(|_| {});
    let mut session = session(&old);
    session.adopt(&Offer::advice(["Be quick.".to_owned()])).unwrap();
    let count = offered(&session);
    assert!(count > 0);
    let next = policy(|parts| parts.prose.push("more".into()));
    session.succeed(next.clone(), car(&next)).unwrap();
    assert_eq!(offered(&session), count);
    assert_ne!(session.policy().hash, next.hash, "consent to one is no consent to the other");
    // Other tools: what the offer's positions mean there nobody knows.
    let other = policy(|parts| parts.inventory.last_mut().unwrap().description.push('!'));
    let error = session.succeed(other.clone(), car(&other)).err().unwrap();
    assert!(matches!(error, SuccessionError::Ground), "{error}");
    assert_eq!(offered(&session), count, "it stays as it was");
}

#[test]
fn the_conversation_goes_along_and_what_was_read_of_the_car_does_not() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let old = policy(|_| {});
    let mut session = session(&old);
    session.heard(&Heard::text("Turn on the AC."));
    let report = session.execute(
        &draft("set_air_conditioning", json!({"on": true})),
        runtime.handle(),
        &Cancel::default(),
        &mut |_| {},
    );
    let writes = |session: &Session| -> Vec<String> {
        let inventory = &session.policy().inventory;
        let is_write = |tool: &str| inventory.get(tool).unwrap().is_write();
        let calls = session.history().calls().iter().filter(|past| is_write(past.call.tool.as_str()));
        calls.map(|past| format!("{} {}", past.call, past.succeeded())).collect()
    };
    let made = writes(&session);
    assert!(made.len() > 2, "{report:?}");
    let next = policy(|parts| parts.prose.push("more".into()));
    session.succeed(next.clone(), car(&next)).unwrap();
    assert_eq!(writes(&session), made);
    assert_eq!(session.history().driver().len(), 1);
    assert!(session.history().world().cells().all(|(_, cell)| !cell.value.is_known()), "it is read anew");
    assert!(!session.history().words_agree(), "words of before agree to nothing now");
}
