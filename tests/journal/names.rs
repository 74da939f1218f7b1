//! The names that members of records can have are known, so that what is to be redacted and is no such name is noticed.

use std::sync::OnceLock;

use obligato::journal::{Kind, Names, Record};
use serde_json::{Map, Value as Json};

use super::redacted::shipped;
use super::rig::{Rig, Setup};
use super::support;
use super::tools::*;

/// What the cabin's records can hold. Its tools are those of every policy that these tests run under.
fn names() -> &'static Names {
    static NAMES: OnceLock<Names> = OnceLock::new();
    NAMES.get_or_init(|| Names::under(support::cabin()))
}

/// Looks at every member of a record, as each test that reads a journal of its own does.
pub(crate) fn are_known(record: &Record) {
    // What tells of the program alone is never redacted.
    if record.place.is_some() || record.kind == Kind::Fault {
        members(record.body.as_object().unwrap(), &mut Vec::new(), record);
    }
}

fn members<'a>(map: &'a Map<String, Json>, path: &mut Vec<&'a str>, record: &Record) {
    // Not what was recorded: what stands in its place.
    if map.contains_key("redacted") || map.contains_key("oversized") {
        return;
    }
    for (name, value) in map {
        path.push(name);
        // What the sentences of an offer were compiled to holds no words of anybody.
        let compiled = path.starts_with(&["offer"]) && path.len() > 1 && !["forbids", "advice"].contains(&path[1]);
        let inner = path.starts_with(&["offer", "forbids"]) && path.len() > 2 && !["id", "sentence"].contains(&path[2]);
        if !compiled && !inner {
            assert!(names().know(path), "nobody knows `{}` of {record:?}", path.join("."));
            match value {
                Json::Object(map) => members(map, path, record),
                Json::Array(items) => {
                    items.iter().filter_map(Json::as_object).for_each(|map| members(map, path, record));
                }
                _ => {}
            }
        }
        path.pop();
    }
}

#[test]
fn the_list_of_an_image_hides_something_with_each_of_its_names() {
    assert!(names().open().is_empty(), "the cabin's tools say what they answer: {:?}", names().open());
    for name in shipped() {
        assert!(names().know(&name.split('.').collect::<Vec<_>>()), "`{name}` of systemd/obligato.toml hides nothing");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_hides_nothing_is_in_the_log_with_the_one_that_was_meant_and_the_others_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let redact = "redact = [\"utterance\", \"phone_nubmer\", \"arguments.content_message\"]\n";
    let rig = Rig::start(keeping(folder.path()).config(redact)).await;
    let client = client(&rig).await;
    let object = journal(&client).await;
    until("a record", || async { object.records().await.unwrap() > 0 }).await;
    let rig = ended(rig).await;
    let log = rig.log();
    let told: Vec<&str> = log.lines().filter(|line| line.contains("journal.redact")).collect();
    assert_eq!(told.len(), 1, "{log}");
    assert!(told[0].contains("`phone_nubmer` of `journal.redact` hides nothing"), "{}", told[0]);
    assert!(told[0].contains("WARN") && told[0].contains("did you mean `phone_number`?"), "{}", told[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_cannot_be_kept_is_no_service_and_says_what_to_write() {
    let mut rig = Rig::launch(Setup::without_student().config("[journal]\nsegment_kib = 1024\ntotal_mib = 1\n"));
    assert_eq!(rig.ended().await.code(), Some(2));
    let log = rig.log();
    assert!(log.contains("`journal.total_mib` is 1") && log.contains("write at least 3"), "{log}");
}
