//! Prose to rules, with answers that models gave: good ones, broken ones, subtly wrong ones, hostile ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use obligato::compile::formalize::{Entry, Formalized, Recorded, Standing, formalize};
use obligato::compile::{Against, SetSource, SourceFile, compile, quality};
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
fn subtly_wrong_rules_are_rejected_by_a_check_by_the_judge_or_by_the_verifier() {
    let made = made("policy.md", "wrong.jsonl");
    assert_eq!(standings(&made), [(3, Advisory, 3), (4, Executable, 3), (5, Advisory, 3), (6, OutOfReach, 1)]);
    let [lock, burner, hood, _] = made.account.sentences.as_slice() else { panic!("four sentences") };
    assert!(told(lock).contains("the judge's verdict cannot be read"), "{}", told(lock));
    assert!(told(burner).contains("broader than the sentence: Level 6 itself"), "{}", told(burner));
    assert!(told(burner).contains("a case in which they disagree: set_burner("), "{}", told(burner));
    assert!(burner.rules[0].cedar.contains("context.input.level > 6 && resource.hood_level < 2"));
    assert!(told(hood).contains("a conjunct about the state seems to be lost [over-blocking]"), "{}", told(hood));
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

/// Answers for the whole cabin, given sentence by sentence by a model that read the prose, the tools and the names
/// of the effect model. Its judge lets everything pass, so the account shows what the generator is worth by itself.
#[test]
fn answers_for_the_whole_cabin_are_held_against_the_hand_written_rules() {
    let set = SetSource::read(&root().join("policies/cabin"), None, None).unwrap();
    let mut author = Recorded::read(&SourceFile::read(&data("cabin.jsonl")).unwrap()).unwrap();
    let made = formalize(&set, &mut author).unwrap_or_else(|e| panic!("{e}"));
    let account = &made.account;
    assert_eq!(account.together.findings, [], "the rules agree with each other");
    let told_so = account.sentences.iter().find(|e| e.text.starts_with("When the latest call failed")).unwrap();
    assert_eq!(told_so.standing, Advisory, "a rule that only advises keeps nothing, whatever its author calls it");
    let fog = account.sentences.iter().find(|e| e.text.starts_with("Switching on a fog light")).unwrap();
    assert_eq!((fog.standing, fog.rounds), (Advisory, 3));
    assert!(told(fog).contains("`context.weather.condition` is never \"fog\"; did you mean `foggy`?"), "{}", told(fog));
    let found = quality(&set, &SourceFile::new("made.cedar", made.rules.clone())).unwrap();
    let of = |id: &str| found.rules.iter().find(|held| held.hand.as_deref() == Some(id)).unwrap().against.as_str();
    let expected = [
        ("ac-closes-windows", "equivalent"),
        ("defrost-blows-at-windshield", "equivalent"),
        ("shade-moves-under-closed-sunroof", "equivalent"),
        ("wide-window-with-air-conditioning", "broader"),
        ("destination-remains", "broader"),
        ("fog-lights-weather", "missing"),
        ("one-edit-a-step", "missing"),
    ];
    assert_eq!(expected.map(|(id, _)| (id, of(id))), expected);
    // States that are tried go beyond those that there are: only a proof tells that no fan runs at level -1.
    if found.rules.iter().any(|held| matches!(&held.against, Against::Compared(c) if c.proved)) {
        assert_eq!((of("ac-needs-fan"), of("tour-starts-at-the-car")), ("equivalent", "different"));
        assert!(found.counts["equivalent"] >= 23, "{:?}", found.counts);
    } else {
        println!("skipped: no solver, so nothing is proved");
    }
    let hand = set.rules.text().matches("@id(").count();
    let counted = found.counts.iter().filter(|(what, _)| **what != "no-counterpart").map(|(_, n)| n).sum::<usize>();
    assert_eq!(counted, hand, "every hand-written rule is accounted for");
    println!("{:?}", found.counts);
}

/// What a model of 135 million parameters answered for the cabin (`--model-file`, `--record`): rules by form only.
#[test]
fn answers_of_a_tiny_model_end_as_advice_or_out_of_reach_with_the_reasons() {
    // The record holds what was asked while proofs stood between the rounds; without them the judge is asked more.
    if !cfg!(feature = "solver") || Command::new("cvc5").arg("--version").output().is_err() {
        println!("skipped: no solver, so other questions are asked than those that were recorded");
        return;
    }
    let set = SetSource::read(&root().join("policies/cabin"), None, None).unwrap();
    let mut author = Recorded::read(&SourceFile::read(&data("cabin-smollm2.jsonl")).unwrap()).unwrap();
    let made = formalize(&set, &mut author).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(made.account.sentences.len(), 55);
    for entry in &made.account.sentences {
        assert!(entry.standing != Executable && entry.why.is_some(), "{entry:?}");
    }
    let mut source = set.clone();
    source.rules = SourceFile::new("rules.cedar", made.rules);
    // The set's own tests speak of rules that stand by hand only.
    source.tests.clear();
    assert!(compile(&source).unwrap_or_else(|e| panic!("{e}")).parts.rules.iter().all(|r| r.advise.is_some()));
}

/// The command as a process that is still at work.
fn waiting(folder: &Path) -> (std::process::Child, std::net::TcpStream) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_obligato"));
    command.arg("formalize").arg(data("policy.md"));
    command.arg("--tools").arg(kitchen("tools.json")).arg("--vehicle").arg(kitchen("vehicle.toml"));
    command.args(["--endpoint", &format!("http://{}", listener.local_addr().unwrap()), "--model", "m"]);
    command.arg("-o").arg(folder.join("rules.cedar"));
    command.arg("--json").arg(folder.join("account.json")).arg("--html").arg(folder.join("account.html"));
    let child = command.spawn().unwrap();
    let (stream, _) = listener.accept().unwrap();
    (child, stream)
}

#[test]
fn a_run_that_is_killed_while_it_waits_for_the_model_leaves_no_file() {
    if !cfg!(feature = "remote") {
        println!("skipped: this build reaches no server");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut child, _open) = waiting(folder.path());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn outputs_that_cannot_be_are_told_before_anybody_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (policy, answers) = (folder.path().join("policy.md"), folder.path().join("answers.jsonl"));
    fs::copy(data("policy.md"), &policy).unwrap();
    // An author that has no answer at all: whoever asks it ends with code 3.
    fs::write(&answers, "").unwrap();
    let run = |outputs: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_obligato"));
        command.current_dir(folder.path()).args(["formalize", "policy.md", "--answers", "answers.jsonl"]);
        command.arg("--tools").arg(kitchen("tools.json")).arg("--vehicle").arg(kitchen("vehicle.toml"));
        let output = command.args(outputs).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let before = fs::read_to_string(&policy).unwrap();
    for (outputs, says) in [
        (["-o", ".", "--json", "a.json"], "directory"),
        (["-o", "no/rules.cedar", "--json", "a.json"], "No such file"),
        (["-o", "same", "--json", "same"], "give each output a file of its own"),
        (["-o", "policy.md", "--json", "a.json"], "give each output a file of its own"),
        (["--record", "answers.jsonl", "--json", "a.json"], "give each output a file of its own"),
    ] {
        let (code, told) = run(&outputs);
        assert!(code == Some(2) && told.contains(says), "{outputs:?}: {told}");
    }
    assert_eq!(run(&["-o", "rules.cedar"]).0, Some(3));
    assert_eq!(fs::read_to_string(&policy).unwrap(), before);
    fs::write(&policy, "# Only a heading\n").unwrap();
    let (code, told) = run(&["-o", "rules.cedar"]);
    assert!(code == Some(2) && told.contains("holds no sentence"), "{told}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "only the policy and the answers");
}

#[test]
fn a_record_replaces_an_older_one_only_when_the_last_answer_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let (answers, record) = (folder.path().join("answers.jsonl"), folder.path().join("record.jsonl"));
    let run = |given: &str| {
        fs::write(&answers, given).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_obligato"));
        command.arg("formalize").arg(data("policy.md")).arg("--answers").arg(&answers).arg("--record").arg(&record);
        command.arg("--tools").arg(kitchen("tools.json")).arg("--vehicle").arg(kitchen("vehicle.toml"));
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let part = folder.path().join("record.jsonl.part");
    fs::write(&record, "the old one").unwrap();
    let (code, told) = run("");
    assert!(code == Some(3) && told.ends_with("nothing was written\n"), "{told}");
    assert!(fs::read_to_string(&record).unwrap() == "the old one" && !part.exists());
    let good = fs::read_to_string(data("good.jsonl")).unwrap();
    let (code, told) = run(good.lines().next().unwrap());
    assert!(
        code == Some(3) && told.contains("the answers so far are in ") && told.contains("record.jsonl.part"),
        "{told}"
    );
    assert!(fs::read_to_string(&record).unwrap() == "the old one" && part.exists());
    assert_eq!(run(&good).0, Some(0));
    assert!(!part.exists());
    let first = fs::read_to_string(&record).unwrap();
    assert_eq!(run(&first).0, Some(0), "a record is an answer file");
    assert_eq!(fs::read_to_string(&record).unwrap(), first);
}
