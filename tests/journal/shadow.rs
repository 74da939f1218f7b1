//! Policies in shadow: they judge and record, and change nothing.

use std::fs;
use std::path::{Path, PathBuf};

use obligato::journal::Kind;
use serde_json::{Value as Json, json};

use super::rig::{Rig, calls, root};
use super::tools::*;

/// The cabin's sources, with its rules changed, compiled.
fn changed(folder: &Path, name: &str, change: impl Fn(&str) -> String) -> PathBuf {
    let sources = folder.join(name);
    fs::create_dir_all(&sources).unwrap();
    for file in fs::read_dir(root().join("policies/cabin")).unwrap().map(|f| f.unwrap().path()) {
        if file.is_file() && file.extension().is_none_or(|e| e != "obl") {
            fs::copy(&file, sources.join(file.file_name().unwrap())).unwrap();
        }
    }
    let rules = sources.join("rules.cedar");
    let text = fs::read_to_string(&rules).unwrap();
    let new = change(&text);
    assert_ne!(text, new, "nothing was changed");
    fs::write(&rules, new).unwrap();
    let out = folder.join(format!("{name}.obl"));
    printed(&["compile", sources.to_str().unwrap(), "-o", out.to_str().unwrap()], 0);
    out
}

/// The text of a rule in `rules.cedar`, annotations included.
fn rule<'a>(text: &'a str, id: &str) -> &'a str {
    let start = text.find(&format!("@id(\"{id}\")")).unwrap_or_else(|| panic!("no rule {id}"));
    let end = start + text[start..].find("};").expect("a rule ends with its condition") + 2;
    &text[start..end]
}

/// The cabin without one of its rules.
pub(crate) fn without_rule(folder: &Path, id: &str) -> PathBuf {
    changed(folder, "without", |text| text.replace(rule(text, id), ""))
}

/// What a drive comes to: verdicts, calls and outcomes, without times and ages.
async fn drive(rig: &Rig) -> Vec<Json> {
    let client = client(rig).await;
    let session = client.open().await;
    let mut came = Vec::new();
    for (said, draft) in [
        ("Turn on the air conditioning.", calls(&[("set_air_conditioning", json!({"on": true}))])),
        (
            "Open the driver window to 30 percent.",
            calls(&[("open_close_window", json!({"window": "DRIVER", "percentage": 30}))]),
        ),
        ("Fan to 3.", calls(&[("set_fan_speed", json!({"level": 3}))])),
        ("Turn on the high beams.", calls(&[("set_head_lights_high_beams", json!({"on": true}))])),
    ] {
        heard(&session, said).await;
        let report = execute(&session, &draft).await;
        let executed: Vec<Json> = report["executed"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| json!([e["call"], e["outcome"], e["wanted_by"]]))
            .collect();
        came.push(json!([report["verdict"], report["question"], executed]));
    }
    came
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_in_shadow_is_recorded_compared_and_changes_no_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let candidate = without_rule(folder.path(), "ac-closes-windows");
    let plain = Rig::start(keeping(&folder.path().join("plain"))).await;
    let without = drive(&plain).await;
    let at = folder.path().join("journal");
    let shadow = format!("[shadow]\npolicy = {:?}\n", candidate.display().to_string());
    let rig = Rig::start(keeping(&at).config(&shadow)).await;
    let with = drive(&rig).await;
    assert_eq!(with, without, "the candidate changes nothing");
    let client = client(&rig).await;
    let object = journal(&client).await;
    let judged = of(&at, Kind::Verdict).len() as u64;
    until("the candidate's word on every verdict", || async {
        object.candidate().await.unwrap().values().sum::<u64>() >= judged
    })
    .await;
    assert!(object.candidate().await.unwrap()["same"] > 0);
    let _rig = ended(rig).await;

    let cabin = super::rig::cabin_blob().to_str().unwrap();
    let journal = at.to_str().unwrap();
    let told = printed(&["diff", cabin, candidate.to_str().unwrap(), "--journal", journal], 1);
    assert!(told.contains("  - rule ac-closes-windows: "), "{told}");
    let told = printed(&["diff", cabin, candidate.to_str().unwrap(), "--journal", journal, "--json"], 1);
    let told: Json = serde_json::from_str(&told).unwrap();
    assert_eq!(told["messages"], of(&at, Kind::Verdict).len());
    // A comparison with nothing finds no difference: a release must not pass on it.
    let nothing = folder.path().join("plain");
    printed(&["diff", cabin, candidate.to_str().unwrap(), "--journal", nothing.to_str().unwrap()], 2);
    printed(&["diff", cabin, cabin, "--journal", journal], 2);
    let expect = folder.path().join("expect.toml");
    fs::write(&expect, "[[flip]]\nrule = \"ac-closes-windows\"\n").unwrap();
    printed(
        &["diff", cabin, candidate.to_str().unwrap(), "--journal", journal, "--expect", expect.to_str().unwrap()],
        0,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_that_cannot_be_loaded_is_said_and_keeps_nobody_from_guarding() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.obl");
    fs::write(&broken, &fs::read(super::rig::cabin_blob()).unwrap()[..1_000]).unwrap();
    for candidate in [folder.path().join("none.obl"), broken] {
        let shadow = format!("[shadow]\npolicy = {:?}\n", candidate.display().to_string());
        let rig = Rig::start(keeping(&folder.path().join("journal")).config(&shadow)).await;
        drive(&rig).await;
        let log = ended(rig).await.log();
        assert!(log.contains("candidate in shadow cannot be loaded") && log.contains(".obl"), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_in_shadow_is_counted_and_recorded_and_closes_no_window() {
    let folder = tempfile::tempdir().unwrap();
    let policy = changed(folder.path(), "quiet", |text| {
        text.replace(rule(text, "ac-closes-windows"), &format!("@shadow\n{}", rule(text, "ac-closes-windows")))
    });
    let at = folder.path().join("journal");
    let setup = keeping(&at).argument("--policy").argument(policy.to_str().unwrap());
    let rig = Rig::start(setup).await;
    let client = client(&rig).await;
    let session = client.open().await;
    heard(&session, "Turn on the air conditioning.").await;
    execute(&session, &calls(&[("get_vehicle_window_positions", json!({}))])).await;
    let report = execute(&session, &calls(&[("set_air_conditioning", json!({"on": true}))])).await;
    let tools: Vec<&str> =
        report["executed"].as_array().unwrap().iter().map(|e| e["call"]["tool"].as_str().unwrap()).collect();
    assert!(tools.contains(&"set_air_conditioning") && !tools.contains(&"open_close_window"), "{tools:?}");
    let object = journal(&client).await;
    until("the count", || async { object.shadow().await.unwrap().contains_key("ac-closes-windows") }).await;
    assert!(!object.rules().await.unwrap().contains_key("ac-closes-windows"), "it is not counted as one that acts");
    let _rig = ended(rig).await;
    let shadows = of(&at, Kind::Shadow);
    let found = shadows.iter().flat_map(|r| r.body["report"]["findings"].as_array().unwrap().clone());
    assert!(found.into_iter().any(|f| f["rule"] == "ac-closes-windows" && !f["remedy"].as_array().unwrap().is_empty()));
}
