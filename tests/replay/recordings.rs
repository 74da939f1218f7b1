//! Policies, recordings and runs of the real binary.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};

use crate::support::shared;

/// Text that becomes script, or ends the page's own, wherever it is taken for markup.
pub(crate) const HOSTILE: &str = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"><!--<script>&lt;b&gt;{{script}}";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs the binary; what it prints. It must succeed.
pub(crate) fn obligato(args: &[&Path]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_obligato")).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn flag(name: &str) -> &Path {
    Path::new(name)
}

/// Compiles the cabin's policy into a folder.
pub(crate) fn cabin(folder: &Path) -> PathBuf {
    let blob = folder.join("cabin.obl");
    obligato(&[flag("compile"), &root().join("policies/cabin"), flag("-o"), &blob]);
    blob
}

/// Compiles the CAR-bench policy into a folder, where its prose and tools are here.
pub(crate) fn car_bench(folder: &Path) -> Option<PathBuf> {
    let (prose, tools) = (shared("carbench/policy.md")?, shared("carbench/tools.json")?);
    let blob = folder.join("car-bench.obl");
    let set = root().join("policies/car-bench");
    obligato(&[flag("compile"), &set, flag("--policy"), &prose, flag("--tools"), &tools, flag("-o"), &blob]);
    Some(blob)
}

/// The recorded conversations beside the repository.
pub(crate) fn trajectories() -> Option<Vec<PathBuf>> {
    let names = ["bouchekir", "car-bench-paper", "nick"];
    names.iter().map(|name| shared(&format!("carbench/trajectories_{name}.jsonl.gz"))).collect()
}

/// Replays files and writes a report in that form (`--json`, `--html`).
pub(crate) fn replay(policy: &Path, files: &[PathBuf], form: &str, out: &Path) -> String {
    let mut args = vec![flag("replay"), flag("--policy"), policy, flag(form), out];
    args.extend(files.iter().map(PathBuf::as_path));
    obligato(&args)
}

fn calls(id: &str, tool: &str, arguments: &Json) -> Json {
    let function = json!({"name": tool, "arguments": arguments.to_string()});
    json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]})
}

fn result(id: &str, content: &str) -> Json {
    json!({"role": "tool", "tool_call_id": id, "content": content})
}

/// Conversations whose every text is hostile, and two of a driver who wants it cool: the cabin's
/// windows are open, so its policy owes companions. Which one passed is in the score.
pub(crate) fn write_recordings(folder: &Path) -> PathBuf {
    let windows = json!({"status": "SUCCESS", "result": {
        "window_driver_position": 60, "window_passenger_position": 0,
        "window_driver_rear_position": 0, "window_passenger_rear_position": 0}});
    let climate = json!({"status": "SUCCESS", "result": {"air_conditioning": false, "fan_speed": 2}});
    let cool = |id: &str, reward: Json| {
        json!({"id": id, "reward": reward, "messages": [
            {"role": "system", "content": "You are the assistant of this car."},
            {"role": "user", "content": "It is hot, turn the air conditioning on."},
            calls("a", "get_vehicle_window_positions", &json!({})), result("a", &windows.to_string()),
            calls("b", "get_climate_settings", &json!({})), result("b", &climate.to_string()),
            calls("c", "set_air_conditioning", &json!({"on": true})),
            result("c", "{\"status\": \"SUCCESS\", \"result\": {\"on\": true}}"),
            {"role": "assistant", "content": "The air conditioning is on."},
        ]})
    };
    let mut argument = serde_json::Map::new();
    argument.insert(HOSTILE.to_owned(), HOSTILE.into());
    let hostile = json!({"id": format!("hostile {HOSTILE}"), "reward": 0.0, "removed_part": [HOSTILE], "messages": [
        {"role": "system", "content": HOSTILE},
        {"role": "user", "content": HOSTILE},
        calls("a", HOSTILE, &argument.into()), result("a", HOSTILE),
        {"role": "assistant", "content": HOSTILE},
    ]});
    let lines = [
        cool("cool/passing", 1.0.into()),
        cool("cool/failing", 0.0.into()),
        cool("cool/unscored", Json::Null),
        hostile,
    ];
    let path = folder.join("recordings.jsonl");
    std::fs::write(&path, lines.map(|l| l.to_string()).join("\n")).unwrap();
    path
}
