//! What the integration tests share: compiled policies and a way to tell a conversation.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod wire;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use obligato::compile::{SetSource, compile};
use obligato::model::{Conversation, Draft, Limits, ReportedCall, VerdictReport, canonical};
use obligato::policy::{Advice, HardLimits, Policy};
use obligato::state::{History, Outcome};
use obligato::tools::Removed;
use obligato::verify::{Binding, Checked, SessionId, Step, report};
use serde_json::{Value as Json, json};

/// The folder of data that stands beside the repository, where it is there.
pub fn shared(path: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(path);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not here", path.display());
    None
}

/// Whether something is there that a test needs; in CI, where `OBLIGATO_REQUIRE` is set, it has to be.
pub fn there(what: &str, found: bool) -> bool {
    assert!(found || std::env::var_os("OBLIGATO_REQUIRE").is_none(), "{what} is not here, and OBLIGATO_REQUIRE is set");
    if !found {
        println!("skipped: {what} is not here");
    }
    found
}

fn load(source: &SetSource) -> Policy {
    Policy::from_blob(&blob(source)).unwrap()
}

fn blob(source: &SetSource) -> Vec<u8> {
    let compiled = compile(source).unwrap_or_else(|errors| panic!("{errors}"));
    compiled.parts.to_blob().unwrap()
}

/// The cabin policy as the service loads it.
pub fn cabin_blob() -> Vec<u8> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/cabin");
    blob(&SetSource::read(&dir, None, None).unwrap())
}

/// The cabin policy, compiled from its sources.
pub fn cabin() -> &'static Policy {
    static POLICY: OnceLock<Policy> = OnceLock::new();
    POLICY.get_or_init(|| {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/cabin");
        load(&SetSource::read(&dir, None, None).unwrap())
    })
}

/// The car-bench policy, where its prose and its tools are here.
pub fn car_bench() -> Option<&'static Policy> {
    static POLICY: OnceLock<Option<Policy>> = OnceLock::new();
    POLICY
        .get_or_init(|| {
            let (prose, tools) = (shared("carbench/policy.md")?, shared("carbench/tools.json")?);
            let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/car-bench");
            Some(load(&SetSource::read(&dir, Some(&prose), Some(&tools)).unwrap()))
        })
        .as_ref()
}

/// The kitchen: a policy of another domain.
pub fn kitchen() -> &'static Policy {
    static POLICY: OnceLock<Policy> = OnceLock::new();
    POLICY.get_or_init(|| {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policies/kitchen");
        load(&SetSource::read(&dir, None, None).unwrap())
    })
}

/// A conversation told step by step, then a draft.
pub struct Scene {
    policy: &'static Policy,
    messages: Vec<Json>,
    removed: Vec<String>,
    calls: usize,
    advice: Advice,
}

impl Scene {
    /// A conversation under a policy, at a fixed place and time.
    pub fn new(policy: &'static Policy) -> Self {
        let system = "CURRENT_LOCATION = {\"id\": \"loc_lux_222378\", \"name\": \"Luxembourg\"}\n\
                      DATETIME = {\"year\": 2025, \"month\": 2, \"day\": 26, \"hour\": 17, \"minute\": 15}\n\
                      CLOCK = {\"year\": 2025, \"month\": 2, \"day\": 26, \"hour\": 17, \"minute\": 15}";
        Self {
            policy,
            messages: vec![json!({"role": "system", "content": system})],
            removed: Vec::new(),
            calls: 0,
            advice: Advice::Remedies,
        }
    }

    /// Leaves companions to the student.
    pub fn apply_none(mut self) -> Self {
        self.advice = Advice::None;
        self
    }

    /// The car lacks something.
    pub fn removed(mut self, part: &str) -> Self {
        self.removed.push(part.to_owned());
        self
    }

    /// The driver says something.
    pub fn driver(mut self, text: &str) -> Self {
        self.messages.push(json!({"role": "user", "content": text}));
        self
    }

    /// The assistant says something.
    pub fn assistant(mut self, text: &str) -> Self {
        self.messages.push(json!({"role": "assistant", "content": text}));
        self
    }

    /// A call that succeeded with a result.
    pub fn done(self, tool: &str, arguments: Json, result: Json) -> Self {
        self.call(tool, arguments, &Outcome::Done(Arc::new(result)))
    }

    /// A call that failed.
    pub fn failed(self, tool: &str, arguments: Json) -> Self {
        self.call(tool, arguments, &Outcome::Failed("it is blocked".into()))
    }

    /// A read that succeeded.
    pub fn read(self, tool: &str, result: Json) -> Self {
        self.done(tool, json!({}), result)
    }

    fn call(self, tool: &str, arguments: Json, outcome: &Outcome) -> Self {
        let result = self.policy.model.result.text(outcome).unwrap();
        self.answered(tool, arguments, Some(&result))
    }

    /// A call with a result as the tool wrote it; none: it was cut off.
    pub fn answered(mut self, tool: &str, arguments: Json, result: Option<&str>) -> Self {
        let id = format!("c{}", self.calls);
        self.calls += 1;
        let function = json!({"name": tool, "arguments": arguments.to_string()});
        self.messages.push(json!({"role": "assistant", "content": null,
            "tool_calls": [{"id": id, "type": "function", "function": function}]}));
        if let Some(result) = result {
            self.messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
        }
        self
    }

    /// Judges a draft of calls.
    pub fn drafts(&self, calls: &[(&str, Json)]) -> Judged {
        let calls: Vec<Json> = calls
            .iter()
            .enumerate()
            .map(|(at, (tool, arguments))| json!({"id": format!("d{at}"), "function": {"name": tool, "arguments": arguments.to_string()}}))
            .collect();
        self.judge(json!({"role": "assistant", "content": null, "tool_calls": calls}))
    }

    /// Judges a drafted reply.
    pub fn says(&self, text: &str) -> Judged {
        self.judge(json!({"role": "assistant", "content": text}))
    }

    fn judge(&self, draft: Json) -> Judged {
        let caps = Limits::default();
        let lines: Vec<String> = self.messages.iter().map(Json::to_string).collect();
        let conversation = Conversation::from_lines(&lines.join("\n")).unwrap();
        let mut history = History::new(&self.policy.model);
        history.set_removed(Removed::from_iter(&self.removed));
        history.read(&self.policy.model, &self.policy.inventory, &conversation, &caps).unwrap();
        let draft = Draft::from_bytes(draft.to_string().as_bytes(), &caps).unwrap();
        let limits = HardLimits::default();
        let checked = Step {
            policy: self.policy,
            limits: &limits,
            history: &history,
            advice: self.advice,
            binding: Binding { session: SessionId::from("test"), policy: self.policy.hash, epoch: 0 },
            critic: None,
            valve: None,
        }
        .check(&draft);
        Judged { report: report(&checked), checked }
    }
}

/// A judged draft.
pub struct Judged {
    /// As printed.
    pub report: VerdictReport,
    /// As computed.
    pub checked: Checked,
}

impl Judged {
    /// The verdict's name.
    pub fn verdict(&self) -> &'static str {
        self.report.verdict.as_str()
    }

    /// Calls of all remedies that write, as `tool {args}`, sorted.
    pub fn remedies(&self, policy: &Policy) -> Vec<String> {
        let writes = |c: &&ReportedCall| policy.inventory.get(&c.tool).is_some_and(|t| t.is_write());
        let mut all: Vec<String> =
            self.report.findings.iter().flat_map(|f| &f.remedy).filter(writes).map(words).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The cleared calls, in order.
    pub fn amended(&self) -> Vec<String> {
        self.report.amended.iter().map(words).collect()
    }

    /// Gates that found something that is not merely advisory.
    pub fn gates(&self) -> Vec<&str> {
        let hard = self.report.findings.iter().filter(|f| f.tier != obligato::model::Tier::Advisory);
        hard.map(|f| f.gate.as_str()).collect()
    }

    /// Everything that was found, for messages of failing tests.
    pub fn because(&self) -> String {
        let all: Vec<String> = self.report.findings.iter().map(|f| format!("[{}] {}", f.gate, f.because)).collect();
        format!("{}: {}", self.verdict(), all.join(" | "))
    }
}

/// `tool {"a":1}` with sorted keys.
pub fn words(call: &ReportedCall) -> String {
    format!("{} {}", call.tool, canonical(&Json::Object(call.arguments.clone())))
}

/// Recorded conversations of a `.jsonl.gz` file.
pub fn recorded(path: &Path) -> Vec<Conversation> {
    #[derive(serde::Deserialize)]
    struct Line {
        messages: Vec<obligato::model::Message>,
    }
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(file), &mut text).unwrap();
    text.lines().map(|l| Conversation { messages: serde_json::from_str::<Line>(l).unwrap().messages }).collect()
}
