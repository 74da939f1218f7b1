//! Whose a session is, how many there are, and when they go.

use std::time::Duration;

use obligato::service::Refusal;
use serde_json::json;
use tokio::time::timeout;

use super::rig::{Client, Ear, Rig, Setup, calls, says};

fn roof() -> serde_json::Value {
    calls(&[("open_close_sunroof", json!({"percentage": 50}))])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_answers_its_holder_alone() {
    let rig = Rig::start(Setup::drafts(&[roof()])).await;
    let (holder, stranger) = (rig.client().await, rig.client().await);
    let session = holder.open().await;
    let path = zbus::wire::OwnedObjectPath::from(session.inner().path().to_owned());
    let foreign = stranger.session(path.clone()).await;
    let mut ears = Ear::of(&stranger);

    assert_eq!(session.say("Open the sunroof.").await.unwrap().0, "asked");
    assert_ne!(session.pending().await.unwrap(), "");
    assert_eq!(foreign.pending().await.unwrap(), "", "a question is nobody else's business");
    let options = Default::default();
    assert!(matches!(foreign.start("Yes.").await, Err(Refusal::NotYours(_))));
    assert!(matches!(foreign.say("Yes.").await, Err(Refusal::NotYours(_))));
    assert!(matches!(foreign.heard("Yes.", options).await, Err(Refusal::NotYours(_))));
    assert!(matches!(foreign.spoken("Hm.").await, Err(Refusal::NotYours(_))));
    assert!(matches!(foreign.verify("{}").await, Err(Refusal::NotYours(_))));
    assert!(matches!(foreign.execute("{}").await, Err(Refusal::NotYours(_))));
    assert!(matches!(foreign.cancel(1).await, Err(Refusal::NotYours(_))));
    assert!(matches!(foreign.close().await, Err(Refusal::NotYours(_))));
    assert!(matches!(stranger.manager.close_session(path.as_ref()).await, Err(Refusal::NotYours(_))));
    let overheard = timeout(Duration::from_millis(200), ears.next()).await;
    assert!(overheard.is_err(), "{overheard:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_in_one_session_answers_no_question_of_another() {
    let rig = Rig::start(Setup::drafts(&[roof(), says("Yes to what?")])).await;
    let client = rig.client().await;
    let (asked, other) = (client.open().await, client.open().await);
    assert_eq!(asked.say("Open the sunroof to 50 percent.").await.unwrap().0, "asked");
    let mut ear = Ear::of(&client);
    let signals = ear.turn(*other.start("Yes.").await.unwrap().response()).await;
    assert!(signals.iter().all(|s| s.name != "Outcome"), "{signals:?}");
    assert_ne!(asked.pending().await.unwrap(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_vanishes_frees_its_sessions_and_stops_its_turn() {
    let fan = calls(&[("set_fan_speed", json!({"level": 2}))]);
    let rig = Rig::start(Setup::drafts(&[fan, says("Hello.")]).stalling("set_fan_speed")).await;
    let (gone, left) = (rig.client().await, rig.client().await);
    let session = gone.open().await;
    gone.open().await;
    let mut ear = Ear::of(&gone);
    session.start("Set the fan to 2.").await.unwrap();
    while ear.next().await.event() != "judged" {}
    assert_eq!(left.manager.sessions().await.unwrap(), 2);
    gone.connection.close().await.unwrap();
    left.wait_for_sessions(0).await;
    assert_eq!(left.open().await.say("Hello?").await.unwrap().1, "Hello.");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_bounded_for_a_client_and_in_all() {
    let limits = "[service]\nmax_sessions = 3\nmax_sessions_per_client = 2\n";
    let rig = Rig::start(Setup::drafts(&[]).config(limits)).await;
    let (one, other) = (rig.client().await, rig.client().await);
    let first = one.open().await;
    one.open().await;
    let Err(Refusal::TooMany(why)) = one.manager.open_session().await else { panic!("bounded") };
    assert!(why.contains("you hold 2 sessions"), "{why}");
    other.open().await;
    let Err(Refusal::TooMany(why)) = other.manager.open_session().await else { panic!("bounded") };
    assert!(why.contains("3 sessions are open"), "{why}");
    first.close().await.unwrap();
    other.open().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_connects_often_gets_no_more_sessions_than_a_user_may_have() {
    let limits = "[service]\nmax_sessions_per_client = 2\nmax_sessions_per_user = 3\n";
    let rig = Rig::start(Setup::drafts(&[]).config(limits)).await;
    let clients = [rig.client().await, rig.client().await, rig.client().await];
    let first = clients[0].open().await;
    clients[1].open().await;
    clients[2].manager.open_detached_session().await.unwrap();
    let Err(Refusal::TooMany(why)) = clients[2].manager.open_session().await else { panic!("bounded") };
    assert!(why.contains("your user holds 3 sessions over all connections"), "{why}");
    assert!(matches!(clients[0].manager.open_detached_session().await, Err(Refusal::TooMany(_))));
    first.close().await.unwrap();
    clients[2].open().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_gone_or_never_was_is_called_so() {
    let rig = Rig::start(Setup::drafts(&[])).await;
    let client = rig.client().await;
    let session = client.open().await;
    session.close().await.unwrap();
    let answers = [session.verify("{}").await.map(drop), session.spoken("Hm.").await, session.close().await];
    for answer in answers {
        let Err(Refusal::NoSession(why)) = answer else { panic!("{answer:?}") };
        assert!(why.contains("open another one"), "{why}");
    }
    assert!(matches!(session.say("Hello?").await, Err(Refusal::NoSession(_))));
    let never = zbus::wire::OwnedObjectPath::try_from("/org/obligato/Harness1/session/4000").unwrap();
    assert!(matches!(client.session(never).await.spoken("Hm.").await, Err(Refusal::NoSession(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_not_used_expires() {
    let rig = Rig::start(Setup::drafts(&[]).config("[service]\nidle_s = 1\n")).await;
    let client = rig.client().await;
    let session = client.open().await;
    client.wait_for_sessions(0).await;
    assert!(matches!(session.say("Hello?").await, Err(Refusal::NoSession(_))));
    let path = session.inner().path().to_owned();
    assert!(matches!(client.manager.close_session(path).await, Err(Refusal::NoSession(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detached_session_outlives_its_connection_and_serves_its_user() {
    let rig = Rig::start(Setup::drafts(&[says("Hello.")])).await;
    let (gone, later) = (rig.client().await, rig.client().await);
    let path = gone.manager.open_detached_session().await.unwrap();
    gone.connection.close().await.unwrap();
    let session = later.session(path).await;
    assert_eq!(session.say("Hello?").await.unwrap().1, "Hello.");
    session.close().await.unwrap();
    later.wait_for_sessions(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_sessions_is_announced() {
    use tokio_stream::StreamExt;
    let rig = Rig::start(Setup::drafts(&[])).await;
    let client = rig.client().await;
    let watching = obligato::service::ManagerProxy::new(&client.connection).await.unwrap();
    let mut changes = watching.receive_sessions_changed().await;
    client.open().await;
    let seen = timeout(super::rig::PATIENCE, async {
        while let Some(change) = changes.next().await {
            if change.get().await.unwrap() == 1 {
                return;
            }
        }
    });
    seen.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_never_ends_is_bounded_and_others_go_on() {
    let rig = Rig::start(Setup::without_student().config("[service]\ncalls_per_second = 0\n")).await;
    let client = Client::new(rig.connect().await).await;
    let (endless, other) = (client.open().await, client.open().await);
    let speech = "and then ".repeat(1_800);
    let refused = loop {
        if let Err(refusal) = endless.spoken(&speech).await {
            break refusal;
        }
    };
    assert!(matches!(&refused, Refusal::TooMany(why) if why.contains("open another session")), "{refused:?}");
    let draft = says("Hello.").to_string();
    assert!(matches!(endless.heard("Hello?", Default::default()).await, Err(Refusal::TooMany(_))));
    assert!(matches!(endless.execute(&draft).await, Err(Refusal::TooMany(_))));
    // What is there is judged all the same, and nobody else pays for it.
    endless.verify(&draft).await.unwrap();
    other.spoken(&speech).await.unwrap();
    endless.close().await.unwrap();
    client.open().await.spoken(&speech).await.unwrap();
}
