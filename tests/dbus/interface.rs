//! The interface as the bus sees it.

use std::collections::BTreeSet;
use std::process::Command;

use obligato::service::Refusal;
use zbus::fdo::IntrospectableProxy;

use super::rig::{Client, Rig, Setup, root};

const SERVICE: &[&str] = &[
    "Manager.OpenSession() -> o",
    "Manager.OpenDetachedSession() -> o",
    "Manager.CloseSession(o) -> ",
    "Manager.Version: s read",
    "Manager.PolicyId: s read",
    "Manager.PolicyHash: s read",
    "Manager.Student: s read",
    "Manager.Sessions: u read",
    "Manager.State: s read",
    "Manager.StateReason: s read",
    "Providers.Register(oa(sss)) -> ",
    "Providers.Withdraw() -> ",
    "Providers.Changed() -> ",
    "Providers.Provided: a(ss) read",
    "Providers.Absent: as read",
    "Policy.List() -> as",
    "Policy.Explain(s) -> sss",
    "Policy.Stage(h) -> t",
    "Policy.Keys(h) -> t",
    "Policy.Verify(ts) -> tu",
    "Policy.Activate(ts) -> tu",
    "Policy.Commit(ts) -> t",
    "Policy.Rollback(ts) -> t",
    "Policy.Unstage(ts) -> t",
    "Policy.Updated: signal st",
    "Policy.Version: t read",
    "Policy.Slot: s read",
    "Policy.StagedVersion: t read",
    "Policy.PreviousVersion: t read",
    "Policy.OnTrial: b read",
    "Policy.Floor: t read",
    "Policy.KeysVersion: t read",
    "Policy.SlotsReason: s read",
    "Policy.Id: s read",
    "Policy.Hash: s read",
    "Policy.Rules: u read",
    "Journal.Folder: s read",
    "Journal.State: s read",
    "Journal.StateReason: s read",
    "Journal.Records: t read",
    "Journal.Dropped: t read",
    "Journal.Head: s read",
    "Journal.Verdicts: a{st} read",
    "Journal.Gates: a{st} read",
    "Journal.Rules: a{st} read",
    "Journal.Faults: a{st} read",
    "Journal.Actions: a{st} read",
    "Journal.Undone: a{st} read",
    "Journal.Shadow: a{st} read",
    "Journal.Candidate: a{st} read",
];

const SESSION: &[&str] = &[
    "Session.Start(s) -> u",
    "Session.Say(s) -> ss",
    "Session.Cancel(u) -> ",
    "Session.Heard(sa{sv}) -> ",
    "Session.Spoken(s) -> ",
    "Session.Verify(s) -> s",
    "Session.Execute(s) -> s",
    "Session.Offer(s) -> ss",
    "Session.Close() -> ",
    "Session.Progress: signal uss",
    "Session.Question: signal uss",
    "Session.Outcome: signal usss",
    "Session.Reply: signal uss",
    "Session.Turn: u read",
    "Session.Busy: b read",
    "Session.Pending: s read",
];

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    Some(rest.split_once('"')?.0)
}

/// Every member of our interfaces, in one line each. Arguments without a name are refused: a
/// reference is made of this.
fn members(xml: &str) -> BTreeSet<String> {
    let mut members = BTreeSet::new();
    let (mut interface, mut member, mut taken, mut given) =
        (String::new(), String::new(), String::new(), String::new());
    for tag in xml.split('<').skip(1).map(|t| t.split('>').next().unwrap()) {
        let name = attribute(tag, "name").unwrap_or_default();
        let kind = tag.split([' ', '/']).find(|w| !w.is_empty()).unwrap_or_default();
        let ours = interface.strip_prefix("org.obligato.Harness1.").map(str::to_owned);
        match (kind, tag.starts_with('/'), ours) {
            ("interface", false, _) => name.clone_into(&mut interface),
            ("method" | "signal", false, Some(of)) => {
                member = format!("{of}.{name}");
                (taken, given) = (String::new(), String::new());
                if tag.ends_with('/') {
                    members.insert(format!("{member}() -> "));
                }
            }
            ("arg", _, Some(_)) => {
                assert!(!name.is_empty(), "{member} has an argument without a name");
                let side = if attribute(tag, "direction") == Some("out") { &mut given } else { &mut taken };
                side.push_str(attribute(tag, "type").unwrap());
            }
            ("method", true, Some(_)) => drop(members.insert(format!("{member}({taken}) -> {given}"))),
            ("signal", true, Some(_)) => drop(members.insert(format!("{member}: signal {taken}{given}"))),
            ("property", false, Some(of)) => {
                let (signature, access) = (attribute(tag, "type").unwrap(), attribute(tag, "access").unwrap());
                members.insert(format!("{of}.{name}: {signature} {access}"));
            }
            _ => {}
        }
    }
    members
}

#[tokio::test(flavor = "multi_thread")]
async fn introspection_names_every_member_with_its_signature() {
    let rig = Rig::start(Setup::drafts(&[])).await;
    let client = rig.client().await;
    // The description of an object holds those of its children: look at the service while it has none.
    complete(&rig, &client, obligato::service::ROOT_PATH, SERVICE).await;
    let session = client.open().await;
    complete(&rig, &client, session.inner().path().as_str(), SESSION).await;
}

async fn complete(rig: &Rig, client: &Client, path: &str, expected: &[&str]) {
    let object = IntrospectableProxy::builder(&client.connection)
        .destination(obligato::service::BUS_NAME)
        .path(path)
        .build()
        .await
        .unwrap();
    let expected: BTreeSet<String> = expected.iter().map(|m| (*m).to_owned()).collect();
    assert_eq!(members(&object.introspect().await.unwrap()), expected, "{path}");
    if Command::new("busctl").arg("--version").output().is_err() {
        println!("skipped: busctl is not here");
        return;
    }
    let address = format!("--address={}", rig.address());
    let seen = Command::new("busctl").args([&address, "introspect", obligato::service::BUS_NAME, path]).output();
    let seen = seen.unwrap();
    assert!(seen.status.success(), "{}", String::from_utf8_lossy(&seen.stderr));
    let seen = String::from_utf8(seen.stdout).unwrap();
    for member in expected.iter().map(|m| m.split(['.', ':', '(']).nth(1).unwrap()) {
        assert!(seen.contains(&format!(".{member} ")), "{member} in\n{seen}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_says_what_it_is_and_what_a_rule_says() {
    let rig = Rig::start(Setup::drafts(&[])).await;
    let client = rig.client().await;
    assert_eq!(client.manager.version().await.unwrap(), env!("CARGO_PKG_VERSION"));
    assert_eq!(client.manager.policy_id().await.unwrap(), "cabin");
    assert_eq!(client.manager.policy_hash().await.unwrap(), super::support::cabin().hash.to_string());
    assert_eq!(client.manager.student().await.unwrap(), "scripted");
    let rules = client.policy.list().await.unwrap();
    assert_eq!(rules.len(), client.policy.rules().await.unwrap() as usize);
    let prose = std::fs::read_to_string(root().join("policies/cabin/policy.md")).unwrap();
    for rule in &rules {
        let (kind, source, sentence) = client.policy.explain(rule).await.unwrap();
        assert!(obligato::policy::RuleKind::by_name(&kind).is_some(), "{rule}: {kind}");
        assert!(source.starts_with("policy.md:"), "{rule}: {source}");
        assert!(prose.contains(&sentence), "{rule}: {sentence}");
    }
    let Err(Refusal::NoRule(why)) = client.policy.explain("no-such-rule").await else { panic!("no such rule") };
    assert!(why.contains("`no-such-rule`"), "{why}");
}
