//! Only root and the members of the configured group update, as the bus vouches for them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use obligato::service::Refusal;

use super::car::Garage;
use super::rig::{Client, Rig, Setup};

/// A number that is nobody's group.
const NOBODYS: &str = "64123";

fn id(what: &str) -> u32 {
    String::from_utf8(Command::new("id").arg(what).output().unwrap().stdout).unwrap().trim().parse().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A call of `Commit` by busctl, as somebody who is not root and in that group.
fn as_member(rig: &Rig, group: &str) -> Option<String> {
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", &format!("--groups={group}"), "--"])
        .arg("busctl")
        .arg(format!("--address={}", rig.address()))
        .args(["call", "org.obligato.Harness1", "/org/obligato/Harness1", "org.obligato.Harness1.Policy", "Commit"])
        .args(["ts", "0", ""])
        .output();
    match output {
        Ok(output) => Some(said(&output)),
        Err(error) => {
            println!("skipped: setpriv cannot be run: {error}");
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_updates_nothing_and_a_member_does() {
    let garage = Garage::new();
    if id("-u") != 0 {
        // Without root there is one caller, whose own group is the configured one, or is not.
        for (group, may) in [(id("-g").to_string(), true), (NOBODYS.to_owned(), false)] {
            let rig = Rig::start(Setup::without_student().config(&garage.config_for(&group))).await;
            let client = Client::new(rig.connect().await).await;
            let refused = matches!(client.policy.commit(0, "").await, Err(Refusal::NotAllowed(_)));
            assert_eq!(refused, !may, "group {group}");
        }
        return;
    }
    let rig = Rig::start_open(Setup::without_student().config(&garage.config_for(NOBODYS))).await;
    if let (Some(member), Some(stranger)) = (as_member(&rig, NOBODYS), as_member(&rig, "64124")) {
        assert!(member.contains("no policy is on trial"), "{member}");
        assert!(stranger.contains("only members of the group `64123` may update the policy"), "{stranger}");
    }
    let client = Client::new(rig.connect().await).await;
    assert!(matches!(client.policy.commit(0, "").await, Err(Refusal::NothingToDo(_))), "root may");
}

#[test]
fn a_group_that_does_not_exist_lets_nobody_in() {
    let garage = Garage::new();
    if id("-u") != 0 {
        println!("skipped: without root there is no second caller");
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let rig = Rig::start_open(Setup::without_student().config(&garage.config_for("no-such-group"))).await;
        if let Some(said) = as_member(&rig, "65534") {
            assert!(said.contains("`no-such-group`, which may update the policy, does not exist"), "{said}");
        }
    });
}

#[test]
fn the_bus_file_lets_the_update_group_and_nobody_else_call_the_steps() {
    let text = fs::read_to_string(super::rig::root().join("systemd/org.obligato.Harness1.conf")).unwrap();
    let (default, rest) = text.split_once("</policy>\n\n  <!-- Assistants").unwrap();
    let group = rest.split("<policy group=\"obligato-update\">").nth(1).unwrap().split("</policy>").next().unwrap();
    for step in ["Stage", "Keys", "Verify", "Activate", "Commit", "Rollback", "Unstage"] {
        assert!(group.contains(&format!("send_member=\"{step}\"")), "{step}");
        assert!(!default.contains(&format!("send_member=\"{step}\"")), "{step}");
    }
}

/// Keys are for their owner alone.
#[test]
fn a_made_key_is_for_its_owner_alone_and_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let keygen = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_obligato"));
        command.arg("keygen").arg(folder.path().join(name)).output().unwrap()
    };
    assert!(keygen("release").status.success());
    let secret = folder.path().join("release.secret");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&secret), 0o600);
    let before = fs::read(&secret).unwrap();
    let again = keygen("release");
    assert_eq!(again.status.code(), Some(2));
    assert!(said(&again).contains("never overwritten"), "{}", said(&again));
    assert_eq!(fs::read(&secret).unwrap(), before);
    // Half a pair is no pair: an old public key keeps its place and no secret one is left beside it.
    fs::write(folder.path().join("other.pub"), "old").unwrap();
    assert_eq!(keygen("other").status.code(), Some(2));
    assert!(!folder.path().join("other.secret").exists());
    assert_eq!(fs::read_to_string(folder.path().join("other.pub")).unwrap(), "old");
}
