//! The reference of the interface (`src/service/API.md`) is what the running service says of itself, and its
//! examples run.

use std::fmt::Write;
use std::fs;
use std::process::{Command, Output};

use obligato::service::{BUS_NAME, ROOT_PATH};
use serde_json::json;
use zbus::fdo::IntrospectableProxy;

use super::rig::{Client, Rig, Setup, calls, root};
use super::support::there;

#[path = "examples/assistant.rs"]
mod assistant;

const FILE: &str = "src/service/API.md";

const HEAD: &str = "<!-- Written by `make reference` from the introspection of the running service; do not edit. -->
# D-Bus API of `org.obligato.Harness1`

On the system bus of a car, on the session bus of a desk. Types are D-Bus signatures; texts that carry JSON say so.
Every error has a name to branch on and a sentence to show; every method can answer TooMany (the connection calls
more often than `[service] calls_per_second`; the answer comes when the call would have been in time, at most a second
later), every method of a session NoSession once it is gone. Signals of a session go to the connection that started
the turn. Calls of a session are taken in the order in which they come in, whether or not each answer is waited for.
Who may call what stands in `systemd/org.obligato.Harness1.conf`; services that carry out tools implement
`org.obligato.Provider1` (`src/vehicle/providers/ask.rs`).
";

const EXAMPLES: [(&str, &str, &str); 3] = [
    ("An assistant with its own model, in Rust", "rust", "tests/dbus/examples/assistant.rs"),
    ("A speech front end of the local model, in Python", "python", "tests/dbus/examples/turn.py"),
    ("A look from a shell", "sh", "tests/dbus/examples/shell.sh"),
];

/// A member of an interface as the introspection describes it.
#[derive(Default)]
struct Member {
    kind: String,
    name: String,
    said: String,
    takes: Vec<String>,
    gives: Vec<String>,
    /// Of a property: its type and how its changes are told.
    signature: String,
    changes: String,
}

fn attribute<'a>(tag: &'a str, name: &str) -> &'a str {
    let rest = tag.split_once(&format!(" {name}=\"")).map_or("", |(_, rest)| rest);
    rest.split_once('"').map_or("", |(value, _)| value)
}

/// The interfaces of an object with their members. Descriptions stand before what they describe.
fn interfaces(xml: &str) -> Vec<(String, Vec<Member>)> {
    let mut interfaces: Vec<(String, Vec<Member>)> = Vec::new();
    let (mut rest, mut said, mut depth) = (xml, String::new(), 0_u32);
    while let Some((_, from)) = rest.split_once('<') {
        if let Some(comment) = from.strip_prefix("!--") {
            let (text, after) = comment.split_once("-->").unwrap();
            said = text.lines().map(str::trim).collect::<Vec<_>>().join("\n").trim().to_owned();
            rest = after;
            continue;
        }
        let (tag, after) = from.split_once('>').unwrap();
        rest = after;
        let kind = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        match (kind, tag.starts_with('/')) {
            // Those of children are their own.
            ("node", closing) => depth = if closing || tag.ends_with('/') { depth } else { depth + 1 },
            ("interface", false) if depth == 1 => {
                interfaces.push((attribute(tag, "name").to_owned(), Vec::new()));
                said.clear();
            }
            ("method" | "signal" | "property", false) if depth == 1 => {
                let text = |name| attribute(tag, name).to_owned();
                let member = Member {
                    kind: kind.to_owned(),
                    name: text("name"),
                    said: std::mem::take(&mut said),
                    signature: text("type"),
                    changes: "announced".to_owned(),
                    ..Member::default()
                };
                interfaces.last_mut().unwrap().1.push(member);
            }
            ("arg", false) if depth == 1 => {
                let member = interfaces.last_mut().unwrap().1.last_mut().unwrap();
                let shown = format!("{} `{}`", attribute(tag, "name"), attribute(tag, "type"));
                match attribute(tag, "direction") {
                    "out" => member.gives.push(shown),
                    _ => member.takes.push(shown),
                }
            }
            ("annotation", false) if depth == 1 && tag.contains("EmitsChangedSignal") => {
                let told = match attribute(tag, "value") {
                    "const" => "never changes",
                    "false" => "not announced",
                    _ => "announced",
                };
                told.clone_into(&mut interfaces.last_mut().unwrap().1.last_mut().unwrap().changes);
            }
            _ => {}
        }
    }
    interfaces
}

fn describe(out: &mut String, interface: &str, members: &[Member]) {
    writeln!(out, "\n### `{interface}`").unwrap();
    for (kind, title) in [("method", "Methods"), ("signal", "Signals")] {
        if members.iter().any(|member| member.kind == kind) {
            writeln!(out, "\n#### {title}").unwrap();
        }
        for member in members.iter().filter(|member| member.kind == kind) {
            let gives = match member.gives.is_empty() {
                true => String::new(),
                false => format!(" → {}", member.gives.join(", ")),
            };
            writeln!(out, "\n**{}**({}){gives}  ", member.name, member.takes.join(", ")).unwrap();
            writeln!(out, "{}", member.said).unwrap();
        }
    }
    if members.iter().any(|member| member.kind == "property") {
        writeln!(out, "\n#### Properties\n\n| name | type | changes | meaning |\n|---|---|---|---|").unwrap();
    }
    for member in members.iter().filter(|member| member.kind == "property") {
        let said = member.said.replace('\n', " ");
        writeln!(out, "| {} | `{}` | {} | {said} |", member.name, member.signature, member.changes).unwrap();
    }
}

/// Name and meaning of every error, from the type that makes them.
fn errors() -> Vec<(String, String)> {
    let source = fs::read_to_string(root().join("src/service/error.rs")).unwrap();
    let (_, body) = source.split_once("pub enum Refusal {").unwrap();
    let (mut errors, mut said) = (Vec::new(), String::new());
    for line in body.split_once("\n}").unwrap().0.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("/// ") {
            text.clone_into(&mut said);
        } else if let Some((name, _)) = line.split_once("(String)") {
            errors.push((name.to_owned(), std::mem::take(&mut said)));
        }
    }
    errors
}

async fn introspected(client: &Client, path: &str) -> Vec<(String, Vec<Member>)> {
    let object = IntrospectableProxy::builder(&client.connection).destination(BUS_NAME).path(path).build().await;
    let xml = object.unwrap().introspect().await.unwrap();
    let mut all = interfaces(&xml);
    all.retain(|(name, _)| name.starts_with(BUS_NAME));
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

async fn reference() -> String {
    let rig = Rig::start(Setup::drafts(&[])).await;
    let client = rig.client().await;
    let mut out = HEAD.to_owned();
    writeln!(out, "\n## `{ROOT_PATH}`").unwrap();
    let mut all = introspected(&client, ROOT_PATH).await;
    all.iter().for_each(|(name, members)| describe(&mut out, name, members));
    let session = client.open().await;
    writeln!(out, "\n## `{ROOT_PATH}/session/N`").unwrap();
    let sessions = introspected(&client, session.inner().path().as_str()).await;
    sessions.iter().for_each(|(name, members)| describe(&mut out, name, members));
    all.extend(sessions);

    let errors = errors();
    writeln!(out, "\n## Errors\n\n| `org.obligato.Error.…` | meaning |\n|---|---|").unwrap();
    errors.iter().for_each(|(name, meaning)| writeln!(out, "| {name} | {meaning} |").unwrap());
    for member in all.iter().flat_map(|(_, members)| members) {
        assert!(!member.said.is_empty(), "{} says nothing of itself", member.name);
        let Some((_, named)) = member.said.split_once("Errors: ") else { continue };
        let words = named.split(|c: char| !c.is_alphanumeric()).filter(|word| {
            // The rest of such a sentence refers to other methods (`Stage`) or explains.
            word.chars().filter(|c| c.is_uppercase()).count() > 1
        });
        for word in words {
            assert!(errors.iter().any(|(name, _)| name == word), "{} names the unknown error {word}", member.name);
        }
    }
    for (title, language, path) in EXAMPLES {
        let code = fs::read_to_string(root().join(path)).unwrap();
        writeln!(out, "\n## {title}\n\n`{path}`\n\n```{language}\n{}\n```", code.trim_end()).unwrap();
    }
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_is_what_the_running_service_says_of_itself() {
    let made = reference().await;
    if std::env::var_os("OBLIGATO_WRITE_REFERENCE").is_some() {
        fs::write(root().join(FILE), &made).unwrap();
    }
    let kept = fs::read_to_string(root().join(FILE)).unwrap_or_default();
    let differs = made.lines().zip(kept.lines()).find(|(made, kept)| made != kept);
    assert!(made == kept, "{FILE} is not what the service says; run `make reference`: {differs:?}");
}

fn rig_of_the_examples() -> Setup {
    Setup::drafts(&[calls(&[("set_air_conditioning", json!({"on": true}))])])
}

fn run(rig: &Rig, program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).env("DBUS_SESSION_BUS_ADDRESS", rig.address());
    command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

fn printed(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout) + &text(&output.stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rust_example_has_a_draft_judged_completed_and_carried_out() {
    let rig = Rig::start(rig_of_the_examples()).await;
    let bus = rig.connect().await;
    let draft = assistant::calling("set_air_conditioning", &json!({"on": true}));
    let nobody = |question: &str| panic!("nothing is to be asked: {question}");
    let done = assistant::assist(&bus, "Turn on the air conditioning.", &draft, nobody).await.unwrap();
    for tool in ["set_air_conditioning", "open_close_window"] {
        assert!(done.contains(&(tool.to_owned(), "done".to_owned())), "{done:?}");
    }
    for (answer, moves) in [("No.", false), ("Yes.", true)] {
        let draft = assistant::calling("open_close_sunroof", &json!({"percentage": 50}));
        let answers = |_: &str| answer.to_owned();
        let done = assistant::assist(&bus, "Open the sunroof to 50 percent.", &draft, answers).await.unwrap();
        assert_eq!(done.iter().any(|(tool, _)| tool == "open_close_sunroof"), moves, "{answer} {done:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_example_tells_how_a_turn_goes() {
    let able =
        |python: &&&str| Command::new(python).args(["-c", "import gi"]).output().is_ok_and(|o| o.status.success());
    let python = ["python3", "/usr/bin/python3"].iter().find(able);
    if !there("python3 with gi (package python3-gi)", python.is_some()) {
        return;
    }
    let rig = Rig::start(rig_of_the_examples()).await;
    rig.client().await;
    let script = root().join("tests/dbus/examples/turn.py");
    let said = printed(&run(&rig, python.unwrap(), &[script.to_str().unwrap(), "Turn on the air conditioning."]));
    for line in
        ["verdict amend", "outcome open_close_window done", "outcome set_air_conditioning done", "reply replied"]
    {
        assert!(said.contains(line), "{line} in\n{said}");
    }
    let rig = Rig::start(Setup::without_student()).await;
    let output = run(&rig, python.unwrap(), &[script.to_str().unwrap(), "Hello?"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("org.obligato.Error.NoModel"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shell_example_explains_a_rule_and_carries_a_draft_out() {
    if !there("busctl (package systemd)", Command::new("busctl").arg("--version").output().is_ok()) {
        return;
    }
    let rig = Rig::start(rig_of_the_examples()).await;
    rig.client().await;
    let said = printed(&run(&rig, "sh", &[root().join("tests/dbus/examples/shell.sh").to_str().unwrap()]));
    for piece in [
        "s \"ready\"",
        "s \"cabin\"",
        "auto-action",
        "\\\"verdict\\\":\\\"gather\\\"",
        "\\\"outcome\\\":\\\"done\\\"",
        "as expected: the session is closed",
    ] {
        assert!(said.contains(piece), "{piece} in\n{said}");
    }
}
