//! The command line: exit codes that update tools may rely on, past the service and through it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use obligato::model::PolicyHash;
use obligato::policy::Policy;
use obligato::policy::update::{SecretKey, sign_keys};
use obligato::trials::Health;
use serde_json::Value as Json;

use super::car::{Garage, sick};
use super::rig::{Rig, Setup, cabin_blob, root};

pub fn obligato(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_obligato"))
        .args(arguments)
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .output()
        .unwrap()
}

/// The command line on the slots of a garage, without a service.
fn offline(garage: &Garage, step: &[&str]) -> (i32, String) {
    let config = garage.at("obligato.toml");
    let text = format!(
        "policy = {:?}\nlimits = {:?}\n{}",
        cabin_blob(),
        root().join("systemd/hard-limits.toml"),
        garage.config()
    );
    fs::write(&config, text).unwrap();
    let mut arguments = vec!["policy", "--offline", "--config", config.to_str().unwrap()];
    arguments.extend(step);
    ended(&obligato(&arguments))
}

fn ended(output: &Output) -> (i32, String) {
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap(), said)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn every_kind_of_refusal_has_its_exit_code() {
    let garage = Garage::new();
    let now = obligato::policy::update::Reading::system().0.unwrap();
    let stage = |path: &Path| offline(&garage, &["stage", text(path)]);
    let good = garage.update(5, |_| {});
    assert_eq!(stage(&good).0, 0);
    for step in ["verify", "activate", "commit"] {
        let (code, said) = offline(&garage, &[step]);
        assert_eq!(code, 0, "{said}");
    }
    let mut cases = vec![("an older version", garage.update(4, |_| {}), 12)];
    cases.push(("early", garage.update_at(6, now + 9000, |_| {}), 14));
    cases.push(("expired", garage.update_at(7, now - 90_000, |_| {}), 13));
    cases.push(("another set", garage.update(8, |parts| parts.id = "kitchen".into()), 16));
    let spoiled = garage.at("spoiled");
    let mut bytes = fs::read(&good).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&spoiled, &bytes).unwrap();
    cases.push(("bad signature", spoiled, 11));
    let short = garage.at("short");
    fs::write(&short, &bytes[..100]).unwrap();
    cases.push(("truncated", short, 10));
    let link = garage.at("link");
    std::os::unix::fs::symlink(&good, &link).unwrap();
    cases.push(("a link", link, 10));
    cases.push(("nothing", garage.at("nothing"), 20));
    for (what, path, expected) in cases {
        let (code, said) = stage(&path);
        assert_eq!(code, expected, "{what}: {said}");
        assert!(said.starts_with("obligato: "), "{said}");
    }
    for step in ["verify", "activate", "commit", "rollback"] {
        assert_eq!(offline(&garage, &[step]).0, 18, "{step}");
    }
    assert_eq!(stage(&garage.update(9, sick("ac-closes-windows"))).0, 0);
    assert_eq!(offline(&garage, &["verify"]).0, 17);
    assert_eq!(offline(&garage, &["activate"]).0, 17);
    // On trial: the next one has to wait.
    assert_eq!(stage(&garage.update(10, |_| {})).0, 0);
    assert_eq!(offline(&garage, &["activate"]).0, 0);
    assert_eq!(stage(&garage.update(11, |_| {})).0, 0);
    assert_eq!(offline(&garage, &["activate"]).0, 19);
    let (code, said) = offline(&garage, &["status", "--json"]);
    let status: Json = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (code, &status["current"], &status["on_trial"], &status["floor"]),
        (0, &10.into(), &true.into(), &5.into())
    );
    assert_eq!(offline(&garage, &["commit"]).0, 0);
    assert_eq!(offline(&garage, &["rollback"]).0, 0, "drops what is staged");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_answers_with_the_same_codes_and_keeps_others_off_its_slots() {
    let garage = Garage::new();
    let rig = Rig::start(Setup::without_student().config(&garage.config())).await;
    let policy = |step: &[&str]| {
        let mut arguments = vec!["policy", "--bus", rig.address()];
        arguments.extend(step);
        ended(&obligato(&arguments))
    };
    let update = garage.update(2, |_| {});
    for step in [&["stage", text(&update)][..], &["verify"], &["activate"], &["commit"]] {
        let (code, said) = policy(step);
        assert_eq!(code, 0, "{said}");
    }
    let (code, said) = policy(&["stage", text(&garage.update(1, |_| {}))]);
    assert_eq!(code, 12, "{said}");
    assert!(said.contains("rollback attack"), "{said}");
    assert_eq!(policy(&["commit"]).0, 18);
    assert_eq!(offline(&garage, &["status"]).0, 19, "the service has the slots");
    drop(rig);
    assert_eq!(ended(&obligato(&["policy", "--bus", "unix:path=/nowhere", "status"])).0, 3);
    assert_eq!(offline(&garage, &["status"]).0, 0);
}

#[test]
fn an_image_without_a_trust_file_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("obligato.toml");
    fs::write(&config, format!("policy = {:?}\n", cabin_blob())).unwrap();
    let (code, said) = ended(&obligato(&["policy", "--offline", "--config", text(&config), "status"]));
    assert_eq!(code, 22, "{said}");
}

#[test]
fn a_key_that_others_can_read_signs_nothing_and_a_sick_policy_is_not_signed() {
    let garage = Garage::new();
    let (key, blob, out) = (garage.at("k.secret"), garage.at("sick.obl"), garage.at("out.policy"));
    fs::write(&key, SecretKey::generate().unwrap().to_text()).unwrap();
    let sign = |blob: &Path| {
        let arguments = ["sign", text(blob), "--key", text(&key), "--target", "hu", "--number", "2", "-o", text(&out)];
        ended(&obligato(&arguments))
    };
    fs::set_permissions(&key, PermissionsExt::from_mode(0o640)).unwrap();
    let (code, said) = sign(cabin_blob());
    assert!(code == 20 && said.contains("can be read by others (mode 640)"), "{said}");
    fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    let mut parts = super::car::cabin();
    sick("ac-closes-windows")(&mut parts);
    fs::write(&blob, parts.to_blob().unwrap()).unwrap();
    let (code, said) = sign(&blob);
    assert!(code == 17 && !out.exists(), "{said}");
    let (code, said) = sign(cabin_blob());
    assert!(code == 0 && said.contains("tests passed"), "{said}");
}

#[test]
fn inspect_shows_what_a_file_says_and_decides_as_a_car_would() {
    let garage = Garage::new();
    let update = garage.update(2, |_| {});
    let inspect = |path: &Path, trust: bool| {
        let file = garage.at("trust.toml");
        let mut arguments = vec!["inspect", text(path), "--json"];
        if trust {
            arguments.extend(["--trust", text(&file)]);
        }
        let output = obligato(&arguments);
        (output.status.code().unwrap(), serde_json::from_slice::<Json>(&output.stdout).unwrap_or_default())
    };
    let (code, shown) = inspect(&update, false);
    assert_eq!((code, &shown["version"], &shown["target"]), (0, &2.into(), &"hu".into()));
    assert!(shown["tests"].as_u64().unwrap() > 100);
    assert_eq!(inspect(&update, true).1["decision"], "accepted");
    let mut bytes = fs::read(&update).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&update, bytes).unwrap();
    let (code, shown) = inspect(&update, true);
    assert_eq!(code, 11);
    assert!(shown["decision"].as_str().unwrap().contains("arbitrary software attack"));
    let list = garage.at("x.keys");
    fs::write(&list, sign_keys(4, &[garage.key.public()], &[], &garage.root).unwrap()).unwrap();
    assert_eq!(inspect(&list, true).1["version"], 4);
    assert_eq!(inspect(cabin_blob(), false).1["kind"], "policy");
}

#[test]
fn a_set_with_any_one_rule_in_shadow_passes_its_own_tests() {
    let parts = super::car::cabin();
    for at in 0..parts.rules.len() {
        let mut parts = parts.clone();
        parts.rules[at].shadow = true;
        let policy = Policy::new(parts, PolicyHash::default()).unwrap();
        let health = Health::check(&policy);
        assert!(health.is_ok(), "{} in shadow: {}", policy.rules()[at].id, health.unwrap_err());
    }
}
