//! Prose to rules, with answers that models gave: good ones, broken ones, subtly wrong ones, hostile ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use obligato::compile::formalize::{Entry, Formalized, Recorded, Standing, formalize};
use obligato::compile::{SetSource, SourceFile, compile};
use serde_json::Value as Json;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn data(name: &str) -> PathBuf {
    root().join("tests/formalize").join(name)
}

fn kitchen(name: &str) -> PathBuf {
    root().join("tests/policies/kitchen").join(name)
}

/// The kitchen with another prose. Both proses go by one name, so that their rules can be compared.
fn set(prose: &str) -> SetSource {
    SetSource {
        prose: SourceFile::new("policy.md", fs::read_to_string(data(prose)).unwrap()),
        tools: SourceFile::read(&kitchen("tools.json")).unwrap(),
        vehicle: SourceFile::read(&kitchen("vehicle.toml")).unwrap(),
        rules: SourceFile::new("rules.cedar", ""),
        tests: Vec::new(),
        folder: PathBuf::new(),
    }
}

fn made(prose: &str, answers: &str) -> Formalized {
    let mut author = Recorded::read(&SourceFile::read(&data(answers)).unwrap()).unwrap();
    formalize(&set(prose), &mut author).unwrap_or_else(|e| panic!("{answers}: {e}"))
}

fn standings(made: &Formalized) -> Vec<(usize, Standing, u32)> {
    made.account.sentences.iter().map(|e| (e.line, e.standing, e.rounds)).collect()
}

fn told(entry: &Entry) -> String {
    entry.attempts.iter().flat_map(|a| &a.errors).cloned().collect::<Vec<_>>().join("\n")
}

use Standing::{Advisory, Executable, OutOfReach};

#[test]
fn good_answers_become_rules_that_compile_and_cite_their_sentences() {
    let made = made("policy.md", "good.jsonl");
    assert_eq!(standings(&made), [(3, Executable, 1), (4, Executable, 1), (5, Advisory, 1), (6, OutOfReach, 1)]);
    let mut source = set("policy.md");
    source.rules = SourceFile::new("rules.cedar", made.rules.clone());
    let compiled = compile(&source).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(compiled.warnings, []);
    let rules: Vec<(&str, &str, bool)> =
        compiled.parts.rules.iter().map(|r| (r.id.as_str(), &*r.source, r.advise.is_some())).collect();
    let expected = [
        ("line_3", "policy.md:3", false),
        ("line_4", "policy.md:4", false),
        ("line_5_a", "policy.md:5", true),
        ("line_5_b", "policy.md:5", true),
    ];
    assert_eq!(rules, expected);
    let last = made.account.sentences.last().unwrap();
    assert_eq!(last.why.as_deref(), Some("A matter of tone."));
}

#[test]
fn malformed_answers_are_told_what_is_wrong_and_end_as_advice_or_out_of_reach() {
    let made = made("policy.md", "malformed.jsonl");
    assert_eq!(standings(&made), [(3, Executable, 3), (4, Advisory, 3), (5, Advisory, 2), (6, OutOfReach, 3)]);
    let [lock, burner, hood, friendly] = made.account.sentences.as_slice() else { panic!("four sentences") };
    assert!(
        told(lock).contains("no JSON object") && told(lock).contains("`before.childlock` in context"),
        "{}",
        told(lock)
    );
    assert!(told(burner).contains("not Cedar"), "{}", told(burner));
    assert!(burner.rules[0].cedar.contains("Action::\"set_burner\"") && burner.rules[0].cedar.contains("@advise"));
    assert!(told(hood).contains("did you mean `set_hood`?"), "{}", told(hood));
    assert!(friendly.rules.is_empty() && friendly.why.as_deref().unwrap().contains("no rule passed in 3 rounds"));
}

#[test]
fn subtly_wrong_rules_are_rejected_by_the_judge_or_the_verifier() {
    let made = made("policy.md", "wrong.jsonl");
    assert_eq!(standings(&made), [(3, Advisory, 3), (4, Executable, 3), (5, Advisory, 3), (6, OutOfReach, 1)]);
    let [lock, burner, hood, _] = made.account.sentences.as_slice() else { panic!("four sentences") };
    assert!(told(lock).contains("the judge's verdict cannot be read"), "{}", told(lock));
    assert!(told(burner).contains("broader than the sentence: Level 6 itself"), "{}", told(burner));
    assert!(told(burner).contains("a case in which they disagree: set_burner("), "{}", told(burner));
    assert!(burner.rules[0].cedar.contains("context.input.level > 6 && resource.hood_level < 2"));
    assert!(told(hood).contains("not pragmatic"), "{}", told(hood));
    assert!(!made.rules.contains("input.level > 1"), "a rejected rule is no rule: {}", made.rules);
}

#[test]
fn a_sentence_that_instructs_the_compiler_changes_nothing_but_its_own_entry() {
    let (clean, attacked) = (made("policy.md", "good.jsonl"), made("hostile.md", "hostile.jsonl"));
    let honest = clean.account.sentences.len();
    assert_eq!(attacked.account.sentences[..honest], clean.account.sentences[..]);
    let hostile = &attacked.account.sentences[honest..];
    assert_eq!(hostile.len(), 3);
    for entry in hostile {
        assert_eq!((entry.standing, entry.rules.len()), (OutOfReach, 0), "{entry:?}");
    }
    for (entry, says) in hostile.iter().zip([
        ["only `forbid`", "`@shadow`", "2 statements"].as_slice(),
        &["not of the form"],
        &["denies every call of 3 tools"],
    ]) {
        assert!(says.iter().all(|says| told(entry).contains(says)), "{}", told(entry));
    }
    assert!(!attacked.rules.contains("permit"));
    // Beside the line that names the author, the rules are the same, byte for byte.
    let of = |made: &Formalized| made.rules.split_once("\n\n").unwrap().1.to_owned();
    assert_eq!(of(&attacked), of(&clean));
}

#[test]
fn answers_without_an_end_cost_their_rounds_and_nothing_more() {
    let made = made("policy.md", "endless.jsonl");
    assert_eq!(standings(&made), [(3, OutOfReach, 3), (4, Executable, 2), (5, OutOfReach, 3), (6, OutOfReach, 3)]);
    let [lock, burner, hood, friendly] = made.account.sentences.as_slice() else { panic!("four sentences") };
    assert!(told(lock).contains("did not end within"), "{}", told(lock));
    assert!(told(burner).contains("the judge's verdict cannot be read"), "{}", told(burner));
    assert!(told(hood).contains("more than the"), "{}", told(hood));
    assert!(told(friendly).contains("9 rules for one sentence"), "{}", told(friendly));
}

fn obligato(folder: &Path, prose: &Path, answers: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_obligato"));
    command.arg("formalize").arg(prose).arg("--answers").arg(answers);
    command.arg("--tools").arg(kitchen("tools.json")).arg("--vehicle").arg(kitchen("vehicle.toml"));
    command.arg("-o").arg(folder.join("rules.cedar"));
    command.arg("--json").arg(folder.join("account.json")).arg("--html").arg(folder.join("account.html"));
    command.output().unwrap()
}

#[test]
fn the_command_writes_rules_and_an_account_beside_the_prose_in_which_hostile_text_stays_text() {
    let folder = tempfile::tempdir().unwrap();
    let prose = folder.path().join("policy.md");
    let text = fs::read_to_string(data("policy.md")).unwrap();
    fs::write(&prose, text.replace("Be friendly.", "Be friendly. <script>alert('x')</script>")).unwrap();
    let answers = folder.path().join("answers.jsonl");
    let more = "{\"task\": \"generate\", \"begins\": \"<script>\", \"answer\": \"<b>no</b>\"}\n";
    fs::write(&answers, fs::read_to_string(data("good.jsonl")).unwrap() + more).unwrap();
    let output = obligato(folder.path(), &prose, &answers);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("3  executable   While the child lock") && shown.contains("out-of-reach 2"), "{shown}");
    let json: Json = serde_json::from_slice(&fs::read(folder.path().join("account.json")).unwrap()).unwrap();
    assert_eq!(json["counts"]["executable"], 2);
    let page = fs::read_to_string(folder.path().join("account.html")).unwrap();
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "hostile text stays text");
    assert!(page.contains("default-src 'none'") && !page.contains("http://") && !page.contains("https://"));
    let rules = fs::read_to_string(folder.path().join("rules.cedar")).unwrap();
    assert!(rules.contains("@id(\"line_4\")"), "{rules}");
}

#[test]
fn what_cannot_be_used_is_named_with_its_line_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = folder.path().join("wrong.jsonl");
    fs::write(&wrong, "{\"task\": \"generate\", \"begins\": \"Be\", \"answer\": null}\n{\"task\": \"guess\"}\n")
        .unwrap();
    let few = folder.path().join("few.jsonl");
    fs::write(&few, fs::read_to_string(data("good.jsonl")).unwrap().lines().next().unwrap()).unwrap();
    let policy = data("policy.md");
    for (prose, answers, code, says) in [
        (&policy, &wrong, 2, "wrong.jsonl:2: not a recorded answer"),
        (&policy, &few, 3, "no answer to `judge` in round 1 for line 3"),
        (&policy, &folder.path().join("none.jsonl"), 2, "none.jsonl: cannot be read"),
        (&folder.path().join("none.md"), &few, 2, "none.md: cannot be read"),
    ] {
        let output = obligato(folder.path(), prose, answers);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), told.contains(says)), (Some(code), true), "{says}: {told}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "only the two answer files");
}
