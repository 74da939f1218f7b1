//! With the real small model, where it was fetched.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::*;
use crate::model::{Draft, Finding, Message, Role, Tier};
use crate::student::{Cancel, Offer};
use crate::tools::{Removed, import};

fn model() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("models/SmolLM2-135M-Instruct.Q4_1.gguf");
    if !path.exists() {
        println!("skipped: {} was not fetched (cross/fetch-model smollm2)", path.display());
        return None;
    }
    Some(path)
}

fn cabin() -> Inventory {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("policies/cabin/tools.json");
    let tools = import(&std::fs::read_to_string(file).unwrap()).unwrap();
    tools.iter().map(|t| Tool::from_import(t).unwrap()).collect::<Vec<_>>().into()
}

fn examples() -> Vec<Example> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("policies/cabin/examples.toml");
    crate::student::examples(&file).unwrap().into_iter().take(8).collect()
}

fn said(text: &str) -> Vec<Message> {
    vec![Message { role: Role::User, content: Some(text.to_owned()), tool_calls: Vec::new(), tool_call_id: None }]
}

fn draft(
    llama: &mut Llama,
    inventory: &Inventory,
    text: &str,
    max_tokens: u32,
    cancel: &Cancel,
) -> Result<Answer, StudentError> {
    let removed = Removed::default();
    llama.draft(&Prompt {
        inventory,
        removed: &removed,
        conversation: &said(text),
        offer: Offer::Related,
        objection: None,
        temperature: 0.0,
        seed: 0,
        max_tokens,
        cancel,
    })
}

#[test]
fn every_draft_parses_is_valid_and_is_the_same_again_at_temperature_zero() {
    let Some(path) = model() else { return };
    let inventory = cabin();
    let mut llama = Llama::load(LlamaConfig::new(path, examples())).unwrap();
    for text in ["turn on the AC", "open my window halfway", "äöü \" \\ \u{0} {{{"] {
        let first = draft(&mut llama, &inventory, text, 200, &Cancel::default()).unwrap().draft;
        for call in &first.calls {
            assert_eq!(inventory.check(call, &Removed::default()), [], "{call}");
        }
        let again = draft(&mut llama, &inventory, text, 200, &Cancel::default()).unwrap().draft;
        assert_eq!(form::write(&first, &inventory), form::write(&again, &inventory), "{text}");
    }
}

#[test]
fn the_fixed_text_is_computed_once() {
    let Some(path) = model() else { return };
    let inventory = cabin();
    let mut llama = Llama::load(LlamaConfig::new(path, examples())).unwrap();
    let first = draft(&mut llama, &inventory, "turn on the AC", 200, &Cancel::default()).unwrap().usage;
    let second = draft(&mut llama, &inventory, "close my window", 200, &Cancel::default()).unwrap().usage;
    assert!(second.prompt_tokens * 5 < first.prompt_tokens, "{second:?} after {first:?}");
}

#[test]
fn a_model_that_never_stops_is_stopped_by_count_and_by_cancel() {
    let Some(path) = model() else { return };
    let inventory = cabin();
    let mut llama = Llama::load(LlamaConfig::new(path, examples())).unwrap();
    let endless = draft(&mut llama, &inventory, "turn on the AC", 3, &Cancel::default());
    assert!(matches!(endless, Err(StudentError::Endless(3))), "{endless:?}");
    let cancel = Cancel::default();
    cancel.cancel();
    let start = Instant::now();
    assert!(matches!(draft(&mut llama, &inventory, "close it", 200, &cancel), Err(StudentError::Cancelled)));
    assert!(start.elapsed() < Duration::from_secs(5));
    draft(&mut llama, &inventory, "turn on the AC", 200, &Cancel::default()).unwrap();
}

#[test]
fn a_model_that_is_being_made_ready_stops_when_it_is_told_to() {
    let Some(path) = model() else { return };
    let inventory = cabin();
    let mut llama = Llama::load(LlamaConfig::new(path, examples())).unwrap();
    let cancel = Cancel::default();
    cancel.cancel();
    assert!(matches!(llama.prepare(&inventory, &cancel), Err(StudentError::Cancelled)));
    llama.prepare(&inventory, &Cancel::default()).unwrap();
}

#[test]
fn the_critic_gives_one_ruling_a_candidate() {
    let Some(path) = model() else { return };
    let mut llama = Llama::load(LlamaConfig::new(path, Vec::new())).unwrap();
    let candidates: Vec<Finding> = ["the driver did not ask for that", "no window was closed"]
        .map(|b| Finding::new("x", Tier::Advisory, b))
        .into();
    let draft = Draft::reply("The windows are closed.");
    let conversation = said("what is the weather");
    let case = Case { conversation: &conversation, draft: &draft, candidates: &candidates };
    assert_eq!(llama.judge(&case).unwrap().len(), 2);
}

#[test]
fn a_file_that_is_no_whole_model_is_refused_with_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let refused = |path: &PathBuf| Llama::load(LlamaConfig::new(path.clone(), Vec::new())).unwrap_err().to_string();
    assert!(refused(&path).contains("there is no such file"), "{}", refused(&path));
    std::fs::write(&path, "not a model").unwrap();
    assert!(refused(&path).contains("no GGUF model"), "{}", refused(&path));
    let Some(whole) = model() else { return };
    let whole = std::fs::read(whole).unwrap();
    std::fs::File::create(&path).unwrap().write_all(&whole[..whole.len() / 2]).unwrap();
    assert!(refused(&path).contains("truncated"), "{}", refused(&path));
}

/// A model with the state of its prompt kept in a folder.
fn kept_in(path: &std::path::Path, folder: &std::path::Path) -> Llama {
    Llama::load(LlamaConfig { cache: Some(folder.to_owned()), ..LlamaConfig::new(path, examples()) }).unwrap()
}

#[test]
fn a_kept_prefix_gives_the_same_draft_and_a_damaged_one_is_not_trusted() {
    let Some(path) = model() else { return };
    let (inventory, folder) = (cabin(), tempfile::tempdir().unwrap());
    let say = |llama: &mut Llama| {
        let answer = draft(llama, &inventory, "close my window", 200, &Cancel::default()).unwrap();
        form::write(&answer.draft, &inventory)
    };
    let first = say(&mut kept_in(&path, folder.path()));
    let state = || {
        let files = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().path());
        files.into_iter().find(|p| p.extension().is_some_and(|e| e == "state")).unwrap()
    };
    let whole = std::fs::read(state()).unwrap();
    assert_eq!(say(&mut kept_in(&path, folder.path())), first, "restored");
    std::fs::write(state(), &whole[..whole.len() / 2]).unwrap();
    assert_eq!(say(&mut kept_in(&path, folder.path())), first, "computed anew");
    assert_eq!(std::fs::read(state()).unwrap().len(), whole.len(), "written anew");
}

/// Five drafts of one request, the first at temperature 0 as in a vote.
fn five(llama: &mut Llama, inventory: &Inventory, temperature: f32) -> Vec<crate::student::Answer> {
    let conversation = said("fan to three");
    let prompt = Prompt {
        inventory,
        removed: &Removed::default(),
        conversation: &conversation,
        offer: Offer::Related,
        objection: None,
        temperature,
        seed: 0,
        max_tokens: 200,
        cancel: &Cancel::default(),
    };
    llama.drafts(&prompt, &[0, 1, 2, 3, 4]).unwrap()
}

#[test]
fn drafts_of_one_prompt_are_generated_together_the_first_as_it_would_be_alone() {
    let Some(path) = model() else { return };
    let inventory = cabin();
    let mut llama = Llama::load(LlamaConfig::new(path, examples())).unwrap();
    let alone = draft(&mut llama, &inventory, "fan to three", 200, &Cancel::default()).unwrap();
    let together = five(&mut llama, &inventory, 0.7);
    assert_eq!(together.len(), 5);
    assert_eq!(form::write(&together[0].draft, &inventory), form::write(&alone.draft, &inventory));
    // At so high a temperature they part, and each stays a whole draft of its own.
    let wild = five(&mut llama, &inventory, 8.0);
    let lines: BTreeSet<String> = wild.iter().map(|a| form::write(&a.draft, &inventory)).collect();
    assert!(lines.len() > 1, "{lines:?}");
    assert_eq!(form::write(&wild[0].draft, &inventory), form::write(&alone.draft, &inventory));
}

#[test]
fn what_several_drafts_write_alike_is_computed_once() {
    let Some(path) = model() else { return };
    let inventory = cabin();
    let mut llama = Llama::load(LlamaConfig::new(path, examples())).unwrap();
    let alike = five(&mut llama, &inventory, 0.001);
    let first = form::write(&alike[0].draft, &inventory);
    for other in &alike[1..] {
        assert_eq!(form::write(&other.draft, &inventory), first);
        let usage = other.usage;
        assert!(usage.prompt_tokens == 0 && usage.generated_tokens <= 1, "{usage:?} beside {:?}", alike[0].usage);
    }
}
