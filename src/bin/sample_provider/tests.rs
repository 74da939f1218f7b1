use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use obligato::model::{ToolCall, canonical};
use obligato::policy::Policy;
use obligato::state::SystemClock;
use obligato::vehicle::{Answer, Scenario, Sim, Vehicle};
use serde_json::{Value as Json, json};

use super::store::{Store, StoreError};
use super::{messages, tools};

struct Bench {
    folder: tempfile::TempDir,
    store: Store,
    calls: u32,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("sample.db")).unwrap();
        Self { folder, store, calls: 0 }
    }

    fn reopened(mut self) -> Self {
        self.store = Store::open(&self.folder.path().join("sample.db")).unwrap();
        self
    }

    fn named(&mut self, call: &str, tool: &str, arguments: &Json, in_time: bool) -> Result<Json, String> {
        let all = tools::all();
        let tool = all.iter().find(|t| t.name == tool).unwrap();
        let done = tools::carry_out(&mut self.store, tool, &arguments.to_string(), call, || in_time);
        done.map_err(|error| match error {
            StoreError::Refused(why) => why,
            other => panic!("{other}"),
        })
    }

    fn ask(&mut self, tool: &str, arguments: &Json) -> Result<Json, String> {
        self.calls += 1;
        self.named(&format!("test/{}", self.calls), tool, arguments, true)
    }

    fn shown(&mut self) -> Json {
        self.store.call(messages::show).unwrap()
    }
}

fn file(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/cabin").join(name)).unwrap()
}

fn state() -> String {
    String::from_utf8(file("vehicle-state.toml")).unwrap()
}

fn cabin() -> (Policy, Sim) {
    let policy = Policy::from_blob(&file("cabin.obl")).unwrap();
    let scenario = Scenario::parse(&state(), &policy.inventory, &policy.model).unwrap();
    let sim = Sim::new(policy.inventory.clone(), policy.model.clone(), scenario, Arc::new(SystemClock));
    (policy, sim)
}

async fn simulated(sim: &Sim, tool: &str, arguments: &Json) -> Result<Json, String> {
    let call = ToolCall::new(tool, arguments.as_object().unwrap().clone());
    match sim.call(&call, Duration::from_secs(1)).await {
        Answer::Done(payload) => Ok(payload.as_ref().clone()),
        Answer::Failed(why) => Err(why),
        Answer::Unknown(why) => panic!("{why}"),
        Answer::Trouble(trouble) => panic!("{trouble:?}"),
    }
}

fn same(a: &Result<Json, String>, b: &Result<Json, String>) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => canonical(a) == canonical(b),
        (a, b) => a == b,
    }
}

#[tokio::test]
async fn it_answers_every_read_of_the_simulated_car_as_the_simulated_car_does() {
    let (policy, sim) = cabin();
    let mut bench = Bench::new();
    let file: toml::Table = state().parse().unwrap();
    let mut compared = 0;
    for tool in tools::all().iter().filter(|t| !t.writes) {
        let cases = file[tool.name].as_array().into_iter().flatten();
        let asked = cases.map(|case| serde_json::to_value(&case["when"]).unwrap());
        let nobody = json!({"location": "Atlantis", "location_id": "x", "route_id": "x", "category": "parking",
            "start_id": "x", "destination_id": "y", "first_name": "Nemo", "contact_id": "x"});
        let schema: Json = serde_json::from_str(&policy.inventory.get(tool.name).unwrap().schema).unwrap();
        let takes = |name: &str| schema["properties"].get(name).is_some();
        let nobody: Json =
            nobody.as_object().unwrap().iter().filter(|(n, _)| takes(n)).map(|(n, v)| (n.clone(), v.clone())).collect();
        for mut arguments in asked.chain([nobody]) {
            if takes("month") {
                arguments = json!({"month": 6, "day": 15});
            }
            let (theirs, ours) = (simulated(&sim, tool.name, &arguments).await, bench.ask(tool.name, &arguments));
            assert!(same(&theirs, &ours), "{} {arguments}\n{theirs:?}\n{ours:?}", tool.name);
            if let Ok(result) = &ours {
                policy.inventory.get(tool.name).unwrap().check_result(result).unwrap();
            }
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared}");
}

#[tokio::test]
async fn it_edits_a_tour_as_the_simulated_car_does() {
    let (policy, sim) = cabin();
    let mut bench = Bench::new();
    let (home, between, goal, beyond) =
        ("loc_hallbach_1001", "loc_neufelden_1002", "loc_marlau_1003", "loc_seebruck_1004");
    let steps = [
        ("set_new_navigation", json!({"waypoint_ids": [home, goal], "route_ids": ["rt_hallbach_marlau_3001"]})),
        (
            "navigation_add_one_waypoint",
            json!({"waypoint_id_to_add": between, "waypoint_id_before": home,
            "route_id_to_waypoint": "rt_hallbach_neufelden_3011", "route_id_from_waypoint": "rt_neufelden_marlau_3021"}),
        ),
        (
            "navigation_add_one_waypoint",
            json!({"waypoint_id_to_add": beyond, "waypoint_id_before": goal,
            "route_id_to_waypoint": "rt_marlau_seebruck_3051"}),
        ),
        (
            "navigation_replace_one_waypoint",
            json!({"waypoint_id_to_replace": between, "new_waypoint_id": between,
            "route_id_to_waypoint": "rt_hallbach_neufelden_3012", "route_id_from_waypoint": "rt_neufelden_marlau_3022"}),
        ),
        ("navigation_delete_destination", json!({"destination_id_to_delete": beyond})),
        (
            "navigation_replace_final_destination",
            json!({"new_destination_id": beyond,
            "route_id_to_destination": "rt_neufelden_seebruck_3041"}),
        ),
        (
            "navigation_delete_waypoint",
            json!({"waypoint_id_to_delete": between,
            "route_id_without_waypoint": "rt_hallbach_seebruck_3031"}),
        ),
        ("delete_current_navigation", json!({})),
    ];
    for (tool, arguments) in steps {
        let (theirs, ours) = (simulated(&sim, tool, &arguments).await, bench.ask(tool, &arguments));
        assert!(same(&theirs, &ours), "{tool} {arguments}\n{theirs:?}\n{ours:?}");
        policy.inventory.get(tool).unwrap().check_result(&ours.unwrap()).unwrap();
        let read = "get_current_navigation_state";
        let (theirs, ours) = (simulated(&sim, read, &json!({})).await, bench.ask(read, &json!({})));
        assert!(same(&theirs, &ours), "after {tool}:\n{theirs:?}\n{ours:?}");
    }
}

#[test]
fn a_tour_whose_routes_lead_elsewhere_is_refused_and_the_old_one_stays() {
    let mut bench = Bench::new();
    let (home, goal) = ("loc_hallbach_1001", "loc_marlau_1003");
    let tour = |route: &str| json!({"waypoint_ids": [home, goal], "route_ids": [route]});
    bench.ask("set_new_navigation", &tour("rt_hallbach_marlau_3001")).unwrap();
    let refused = [
        ("set_new_navigation", tour("rt_hallbach_neufelden_3011"), "does not lead"),
        ("set_new_navigation", tour("rt_nowhere"), "does not lead"),
        ("set_new_navigation", json!({"waypoint_ids": [home, goal], "route_ids": []}), "one route for each leg"),
        ("navigation_delete_destination", json!({"destination_id_to_delete": goal}), "keeps a start and a destination"),
        ("navigation_delete_destination", json!({"destination_id_to_delete": home}), "is not the destination"),
        (
            "navigation_delete_waypoint",
            json!({"waypoint_id_to_delete": home, "route_id_without_waypoint": "x"}),
            "keeps a start",
        ),
        (
            "navigation_delete_waypoint",
            json!({"waypoint_id_to_delete": "x", "route_id_without_waypoint": "x"}),
            "is no waypoint",
        ),
        ("set_new_navigation", json!({"waypoints": []}), "cannot be read"),
    ];
    for (tool, arguments, why) in refused {
        let refusal = bench.ask(tool, &arguments).unwrap_err();
        assert!(refusal.contains(why), "{tool} {arguments}: {refusal}");
        let state = bench.ask("get_current_navigation_state", &json!({})).unwrap();
        assert_eq!(state["route_ids"], json!(["rt_hallbach_marlau_3001"]), "{tool} {arguments}");
    }
    bench.ask("delete_current_navigation", &json!({})).unwrap();
    let edit = json!({"new_destination_id": goal, "route_id_to_destination": "rt_hallbach_marlau_3001"});
    assert_eq!(bench.ask("navigation_replace_final_destination", &edit), Err("Navigation is not running.".to_owned()));
}

#[test]
fn what_was_done_outlives_the_program_and_is_done_once() {
    let mut bench = Bench::new();
    let mail = json!({"email_addresses": ["a@example.org", "b@example.org"], "content_message": "I am late."});
    bench.named("one", "send_email", &mail, true).unwrap();
    bench.named("two", "call_phone_by_number", &json!({"phone_number": "+49302"}), true).unwrap();
    let mut bench = bench.reopened();
    let refused = bench.named("one", "send_email", &mail, true);
    assert_eq!(refused, Err("This call was carried out already.".to_owned()));
    let shown = bench.shown();
    assert_eq!(shown["mails"].as_array().unwrap().len(), 1);
    assert_eq!(shown["mails"][0]["email_addresses"], mail["email_addresses"]);
    assert_eq!(shown["mails"][0]["content_message"], "I am late.");
    assert_eq!(shown["phone_calls"][0]["phone_number"], "+49302");
}

#[test]
fn a_call_that_has_expired_changes_nothing() {
    let mut bench = Bench::new();
    let late = bench.named("one", "call_phone_by_number", &json!({"phone_number": "+49302"}), false).unwrap_err();
    assert!(late.contains("expired"), "{late}");
    assert_eq!(bench.shown()["phone_calls"], json!([]));
}

#[test]
fn a_database_of_another_version_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.pragma_update(None, "user_version", 7).unwrap();
    drop(other);
    assert!(matches!(Store::open(&path), Err(StoreError::Version(7))));
    std::fs::write(&path, "this is no database, and never was one").unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Sqlite(_))));
}

#[test]
fn what_it_registers_covers_the_policy() {
    let (policy, _) = cabin();
    let registration = tools::registration(&tools::all());
    assert_eq!(registration.len(), tools::all().len());
    for (name, kind, schema) in registration {
        let tool = policy.inventory.get(&name).unwrap();
        assert_eq!(kind == "write", tool.is_write(), "{name}");
        let (given, wanted) = (serde_json::from_str(&schema).unwrap(), serde_json::from_str(&tool.schema).unwrap());
        obligato::tools::covers(&given, &wanted).unwrap();
    }
}
