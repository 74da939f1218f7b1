//! The simulated car of the cabin: that its state file fits the policy, and that it drives.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "helpers of tests are tests"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use obligato::model::ToolCall;
use obligato::policy::Policy;
use obligato::state::{CellIx, EffectModel, SystemClock};
use obligato::tools::{Tool, import};
use obligato::vehicle::{Answer, Scenario, Sim, Vehicle};
use serde_json::{Value as Json, json};

fn file(name: &str) -> std::io::Result<Vec<u8>> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/cabin").join(name))
}

fn text(name: &str) -> String {
    String::from_utf8(file(name).unwrap()).unwrap()
}

/// The compiled policy with its car; none, with the reason printed, where the blob is not there.
fn cabin() -> Option<(Policy, Sim)> {
    let Ok(blob) = file("cabin.obl") else {
        eprintln!("skipped: there is no policies/cabin/cabin.obl");
        return None;
    };
    let policy = Policy::from_blob(&blob).unwrap();
    let scenario = Scenario::parse(&text("vehicle-state.toml"), &policy.inventory, &policy.model).unwrap();
    let sim = Sim::new(policy.inventory.clone(), policy.model.clone(), scenario, Arc::new(SystemClock));
    Some((policy, sim))
}

async fn done(sim: &Sim, tool: &str, arguments: Json) -> Json {
    let call = ToolCall::new(tool, arguments.as_object().unwrap().clone());
    match sim.call(&call, Duration::from_secs(1)).await {
        Answer::Done(payload) => payload.as_ref().clone(),
        other => panic!("{call}: {other:?}"),
    }
}

#[test]
fn the_state_file_names_tools_and_fields_of_the_cabin() {
    let tools = import(&text("tools.json")).unwrap();
    let tools: Vec<Tool> = tools.iter().map(|t| Tool::from_import(t).unwrap()).collect();
    Scenario::parse(&text("vehicle-state.toml"), &tools.into(), &EffectModel::default()).unwrap();
}

#[test]
fn the_car_has_every_field_that_the_policy_reads() {
    let Some((policy, sim)) = cabin() else { return };
    for cell in (0..policy.model.cells).map(CellIx) {
        let (attribute, _) = policy.model.owner(cell).unwrap();
        let read = policy.model.attribute(attribute).unwrap().read.and_then(|r| policy.inventory.at(r)).unwrap();
        let field = format!("{}.{}", read.name, policy.model.field_name(cell).unwrap());
        assert!(sim.handle().get(&field).is_some(), "no {field}");
    }
}

#[tokio::test]
async fn a_tour_changes_as_it_is_edited_and_knows_its_tolls() {
    let Some((_, sim)) = cabin() else { return };
    let (home, stop, goal, far) = ("loc_hallbach_1001", "loc_neufelden_1002", "loc_marlau_1003", "loc_seebruck_1004");
    let start = json!({"waypoint_ids": [home, goal], "route_ids": ["rt_hallbach_marlau_3001"]});
    let set = done(&sim, "set_new_navigation", start).await;
    assert_eq!((&set["navigation_active"], &set["includes_toll"]), (&json!(true), &json!(true)));

    let detour = json!({
        "waypoint_id_to_add": stop, "waypoint_id_before": home,
        "route_id_to_waypoint": "rt_hallbach_neufelden_3011", "route_id_from_waypoint": "rt_neufelden_marlau_3021",
    });
    let added = done(&sim, "navigation_add_one_waypoint", detour).await;
    assert_eq!(added["waypoint_ids"], json!([home, stop, goal]));
    assert_eq!(added["route_ids"], json!(["rt_hallbach_neufelden_3011", "rt_neufelden_marlau_3021"]));
    assert_eq!(added["includes_toll"], json!(false), "the detour avoids the toll road");

    let further = json!({"new_destination_id": far, "route_id_to_destination": "rt_neufelden_seebruck_3041"});
    let replaced = done(&sim, "navigation_replace_final_destination", further).await;
    assert_eq!(replaced["waypoint_ids"], json!([home, stop, far]));
    let direct = json!({"waypoint_id_to_delete": stop, "route_id_without_waypoint": "rt_hallbach_seebruck_3031"});
    let deleted = done(&sim, "navigation_delete_waypoint", direct).await;
    assert_eq!(deleted["waypoint_ids"], json!([home, far]));
    assert_eq!(deleted["route_ids"], json!(["rt_hallbach_seebruck_3031"]));
    assert_eq!(deleted["includes_toll"], json!(true));

    done(&sim, "delete_current_navigation", json!({})).await;
    let state = done(&sim, "get_current_navigation_state", json!({})).await;
    let nothing = json!({"navigation_active": false, "waypoint_ids": [], "route_ids": [], "includes_toll": false});
    assert_eq!(state, nothing);
}

#[tokio::test]
async fn an_unsafe_execution_is_noticed_by_the_car_itself() {
    let Some((_, sim)) = cabin() else { return };
    assert_eq!(sim.handle().get("get_vehicle_motion.speed_kph"), Some(json!(48)));
    done(&sim, "open_close_sunroof", json!({"percentage": 50})).await;
    done(&sim, "open_close_trunk_door", json!({"action": "OPEN"})).await;
    done(&sim, "set_dome_light", json!({"on": true})).await;
    let violations: Vec<String> = sim.handle().violations().into_iter().map(|v| v.invariant).collect();
    assert_eq!(violations, ["sunroof opens only under an open shade", "trunk closed above walking pace"]);
}
