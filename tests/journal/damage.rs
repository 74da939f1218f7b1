//! A journal that was damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use obligato::journal::{Entry, Journal, JournalError, Place, Settings, verify};
use obligato::state::SystemClock;

use super::tools::{obligato, printed};

fn written(folder: &Path, records: usize) -> PathBuf {
    let mut journal = Journal::open(Settings::new(folder), Arc::new(SystemClock)).unwrap();
    for i in 0..records {
        journal.append(Entry::reply(Place::new("1", 1), &format!("sentence {i}"))).unwrap();
    }
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "jsonl"));
    files.remove(0)
}

/// The number of the record that a byte belongs to, counted from 1.
fn record_of(bytes: &[u8], at: usize) -> u64 {
    bytes[..at].iter().filter(|b| **b == b'\n').count() as u64 + 1
}

#[test]
fn every_flipped_byte_is_found_and_the_first_broken_record_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), 4);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        for bit in [0x01, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] ^= bit;
            fs::write(&path, &damaged).unwrap();
            let mended = match verify(folder.path()) {
                Err(JournalError::Broken(broken)) => {
                    let due = record_of(&whole, at);
                    // A line end that is gone joins two records: the first of them is the broken one.
                    assert_eq!(broken.seq, due, "byte {at}: {broken}");
                    continue;
                }
                Err(other) => panic!("byte {at}: {other}"),
                Ok(found) => found,
            };
            // What looks like a write that the power cut: the end is not whole, and it is said.
            assert!(at + 1 == whole.len() || damaged[at] == 0, "byte {at} ^ {bit:02x} was not noticed");
            assert!(mended.torn.is_some(), "byte {at} ^ {bit:02x} was not noticed");
        }
    }
}

#[test]
fn every_cut_is_found_unless_it_falls_between_two_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), 4);
    let whole = fs::read(&path).unwrap();
    let head = verify(folder.path()).unwrap().head;
    for at in 0..whole.len() {
        fs::write(&path, &whole[..at]).unwrap();
        let found = verify(folder.path()).unwrap();
        assert_ne!(found.head, head, "an end that is missing changes the newest hash");
        let between = at == 0 || whole[at - 1] == b'\n';
        assert_eq!(found.torn.is_none(), between, "cut at {at}: {found:?}");
    }
    for from in 0..whole.len() - 1 {
        let mut middle = whole.clone();
        middle.remove(from);
        fs::write(&path, &middle).unwrap();
        assert!(matches!(verify(folder.path()), Err(JournalError::Broken(_))), "byte {from} was taken out unnoticed");
    }
}

#[test]
fn the_command_names_the_first_broken_link() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), 4);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("sentence 2", "sentence 7")).unwrap();
    let folder = folder.path().to_str().unwrap();
    let told = printed(&["log", folder, "--verify"], 1);
    assert!(told.contains("line 4: record 4 was altered"), "{told}");
    let told: serde_json::Value = serde_json::from_str(&printed(&["log", folder, "--verify", "--json"], 1)).unwrap();
    assert_eq!((&told["whole"], &told["seq"]), (&serde_json::json!(false), &serde_json::json!(4)));
}

#[test]
fn what_stands_behind_a_break_is_shown_and_exported_and_said_not_to_be_proved() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), 6);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("sentence 2", "sentence 7")).unwrap();
    let at = folder.path().to_str().unwrap();
    let shown = printed(&["log", at], 1);
    for (sentence, proved) in [("sentence 1", true), ("sentence 3", false), ("sentence 5", false)] {
        let line = shown.lines().find(|line| line.contains(sentence)).unwrap_or_else(|| panic!("{sentence}: {shown}"));
        assert_eq!(line.contains("(not proved)"), !proved, "{line}");
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let out = elsewhere.path().join("out.jsonl");
    printed(&["log", at, "--export", out.to_str().unwrap()], 1);
    let exported = fs::read_to_string(&out).unwrap();
    let unproved = exported.lines().filter(|line| line.contains("\"proved\":false")).count();
    assert_eq!((exported.lines().count(), unproved), (6, 3), "{exported}");
    let said = String::from_utf8(obligato(&["log", at]).stderr).unwrap();
    assert!(said.contains("record 4 was altered") && said.contains("what follows is read and not proved"), "{said}");
}

#[test]
fn an_end_that_was_cut_off_is_found_by_a_hash_that_was_kept_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), 4);
    let head = verify(folder.path()).unwrap().head;
    let at = folder.path().to_str().unwrap();
    printed(&["log", at, "--verify", "--head", &head], 0);
    let text = fs::read_to_string(&path).unwrap();
    let shorter: Vec<&str> = text.lines().take(3).collect();
    fs::write(&path, shorter.join("\n") + "\n").unwrap();
    printed(&["log", at, "--verify"], 0);
    let told = printed(&["log", at, "--verify", "--head", &head], 1);
    assert!(told.contains("its end was cut off"), "{told}");
    fs::remove_file(&path).unwrap();
    let told = printed(&["log", at, "--verify"], 1);
    assert!(told.contains("nothing is proved"), "{told}");
}

#[test]
fn nothing_is_exported_into_the_journal_itself() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), 4);
    let at = folder.path().to_str().unwrap();
    for name in ["00000000000000000059.jsonl", "out.jsonl", "../x/00000000000000000009.jsonl"] {
        fs::create_dir_all(folder.path().join("x")).unwrap();
        let out = folder.path().join("x").join("..").join(name.trim_start_matches("../"));
        let output = obligato(&["log", at, "--export", out.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(!out.exists(), "{name}");
    }
    verify(folder.path()).unwrap();
}

#[test]
fn a_record_of_a_later_release_is_proved_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), 2);
    let text = fs::read_to_string(&path).unwrap();
    let last = text.lines().last().unwrap();
    let body = last.replace("\"kind\":\"reply\"", "\"kind\":\"telepathy\"");
    let (content, _) = body.rsplit_once(",\"hash\":\"").unwrap();
    let digest = <sha2::Sha256 as sha2::Digest>::digest(content);
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    fs::write(&path, text.replace(last, &format!("{content},\"hash\":\"{hash}\"}}"))).unwrap();
    assert_eq!(verify(folder.path()).unwrap().records, 3);
    assert!(printed(&["log", folder.path().to_str().unwrap()], 0).contains("unknown"));
}
