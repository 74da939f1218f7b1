//! Everything that reads what others wrote, on inputs that nobody would write. `make fuzz TARGET=draft` looks
//! for more of them (`libfuzzer/`); what it keeps stands in `corpus/` and is replayed here.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "helpers of tests are tests"
)]

mod mutate;
mod seeds;
mod targets;

use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use targets::TARGETS;

/// Most files of one target's corpus, and most bytes of one file.
const FILES: usize = 48;
const BYTES: usize = 16 * 1024;

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target)
}

/// Panics of all threads: gates are isolated and the service goes on after one, but none is in order.
fn panics() -> &'static Mutex<Vec<String>> {
    static PANICS: OnceLock<Mutex<Vec<String>>> = OnceLock::new();
    PANICS.get_or_init(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            panics().lock().unwrap_or_else(PoisonError::into_inner).push(info.to_string());
            before(info);
        }));
        Mutex::default()
    })
}

/// Runs a target on one input; a panic, wherever it was, is told with it.
fn guarded(what: &str, run: &fn(&[u8]), input: &[u8]) {
    // One at a time, so that a panic has one input.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    panics().lock().unwrap_or_else(PoisonError::into_inner).clear();
    let ended = panic::catch_unwind(|| run(input));
    let panicked = std::mem::take(&mut *panics().lock().unwrap_or_else(PoisonError::into_inner));
    if !panicked.is_empty() || ended.is_err() {
        let kept = std::env::temp_dir().join("obligato-fuzz-crash");
        fs::write(&kept, input).unwrap();
        panic!("{what}, kept as {}: {panicked:?}", kept.display());
    }
}

/// The files of a corpus, in order.
fn corpus_of(target: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(corpus(target)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn replay(target: &str) {
    let (_, run) = TARGETS.iter().find(|(name, _)| *name == target).unwrap();
    let files = corpus_of(target);
    assert!((8..=FILES).contains(&files.len()), "{target} has {} files", files.len());
    for file in files {
        let input = fs::read(&file).unwrap();
        assert!(input.len() <= BYTES, "{} has {} bytes; minimise it", file.display(), input.len());
        guarded(&file.display().to_string(), run, &input);
    }
}

#[test]
fn blobs_of_whatever_content_are_refused_or_judge() {
    replay("blob");
}

#[test]
fn drafts_of_whatever_content_are_refused_or_judged_the_same_way_twice() {
    replay("draft");
}

#[test]
fn transcripts_of_whatever_content_are_refused_or_judged_from() {
    replay("transcript");
}

#[test]
fn cedar_of_whatever_content_is_refused_or_lowered_to_a_blob_that_loads() {
    replay("cedar");
}

#[test]
fn tool_inventories_of_whatever_content_are_refused_or_checked_against() {
    replay("tools");
}

#[test]
fn messages_of_whatever_content_are_answered_by_a_service_that_goes_on() {
    replay("messages");
}

#[test]
fn phrase_tables_of_whatever_content_are_refused_or_read_with() {
    replay("phrases");
}

#[test]
fn every_target_is_replayed() {
    let replayed = ["blob", "draft", "transcript", "cedar", "tools", "messages", "phrases"];
    assert!(TARGETS.iter().map(|(name, _)| *name).eq(replayed));
}
