//! What is sent to the service without end, and what it sends, is bounded.

use obligato::service::Refusal;
use serde_json::{Value as Json, json};

use super::rig::{Client, Rig, Setup, calls};

fn fan(level: u8) -> String {
    calls(&[("set_fan_speed", json!({"level": level}))]).to_string()
}

fn gates(report: &str) -> Vec<String> {
    let report: Json = serde_json::from_str(report).unwrap();
    report["findings"].as_array().unwrap().iter().map(|f| f["because"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn offers_without_end_are_refused_cost_little_and_deny_nothing_as_advice() {
    let config = "[offer]\nwithout_compiler = \"advise\"\n[service]\ncalls_per_second = 0\n";
    let rig = Rig::start(Setup::without_student().config(config)).await;
    let client = Client::new(rig.connect().await).await;
    for lines in [1, 7, 60] {
        let session = client.open().await;
        session.verify(&fan(2)).await.unwrap();
        let before = rig.resident();
        let (mut taken, mut refused) = (0, 0);
        for number in 0..150 {
            let line =
                |line: usize| format!("Keep to line {line} of text {number}. {}", "And so on. ".repeat(200 / lines));
            let text = (0..lines).map(line).collect::<Vec<_>>().join("\n");
            match session.offer(&text).await {
                Ok(_) => taken += lines,
                Err(Refusal::TooMany(why)) => {
                    refused += 1;
                    assert!(why.contains("that it may add") || why.contains("open another session"), "{why}");
                }
                Err(other) => panic!("{other}"),
            }
        }
        assert!((1..=64).contains(&taken) && refused > 0, "{taken} sentences of {lines} each were taken");
        let grown = rig.resident().saturating_sub(before);
        assert!(grown < 16 << 20, "{grown} bytes for {taken} sentences");
        let found = gates(&session.verify(&fan(2)).await.unwrap());
        assert!(found.iter().all(|f| !f.contains("refused as a whole")), "{found:?}");
        session.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_that_a_session_has_already_changes_nothing() {
    // Eighty calls in a row are no pace that a service has to bear, and not what this is about.
    let config = "[offer]\nwithout_compiler = \"advise\"\n[service]\ncalls_per_second = 0\n";
    let rig = Rig::start(Setup::without_student().config(config)).await;
    let session = Client::new(rig.connect().await).await.open().await;
    for _ in 0..80 {
        session.offer("Be quick.\nBe kind.").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_bus_with_the_limits_of_an_image_no_draft_has_the_guard_thrown_out() {
    let rig = Rig::start(Setup::without_student().limited()).await;
    let client = Client::new(rig.connect().await).await;
    let bystander = Client::new(rig.connect().await).await;
    let (session, other) = (client.open().await, bystander.open().await);
    let (quotes, controls, long) = ("\"".repeat(3_800), "\u{1}".repeat(2_000), "x".repeat(14_000));
    let drafts: Vec<Json> = [&quotes, &controls, &long]
        .map(|value| calls(&vec![("set_fan_speed", json!({"level": value})); 30]))
        .into_iter()
        .chain([
            calls(&vec![("open_close_window", json!({"window": long, "percentage": quotes})); 15]),
            calls(&[(&*long, json!({"a": 1})), (&*quotes, json!({}))]),
            json!({"role": "assistant", "content": "I set the fan to 3. ".repeat(20_000)}),
            json!({"role": long, "content": "y".repeat(300_000)}),
        ])
        .collect();
    let mut cut = 0;
    for draft in &drafts {
        let text = draft.to_string();
        assert!(text.len() < 500_000, "{}", text.len());
        for answer in [session.verify(&text).await, session.execute(&text).await] {
            match answer {
                Ok(report) => {
                    assert!(report.len() <= 192 << 10, "{}", report.len());
                    let report: Json = serde_json::from_str(&report).unwrap();
                    assert!(report["verdict"].is_string(), "{report}");
                    cut += usize::from(report["shortened"] == true);
                }
                Err(Refusal::BadDraft(why)) => assert!(why.len() < 4_096, "{}", why.len()),
                Err(other) => panic!("{other}"),
            }
        }
        other.verify(&fan(2)).await.unwrap();
    }
    assert!(cut > 0, "one of them was too long");
    let Err(Refusal::NoRule(why)) = client.policy.explain(&"r".repeat(500_000)).await else { panic!("no such rule") };
    assert!(why.len() < 4_096);
    let named = std::collections::HashMap::from([(long.as_str(), zbus::Variant::from(long.as_str()))]);
    assert!(matches!(session.heard("Yes.", named).await, Err(Refusal::BadArgument(_))));
    other.verify(&fan(2)).await.unwrap();
}
