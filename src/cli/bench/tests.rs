//! Where faults are put, on a recorded morning in the kitchen.

use serde_json::{Value as Json, json};

use super::course::{Course, recorded};
use super::fault::{Fault, Planned, draw, sites};
use crate::model::Draft;
use crate::policy::Policy;
use crate::policy::testing::kitchen;

/// A tool, its arguments and its result.
type Made = (&'static str, Json, Json);

/// A conversation: what the driver says, and calls with their results.
fn course(policy: &Policy, turns: &[(&str, &[Made])]) -> Course {
    let mut messages = vec![json!({"role": "system", "content": "You are the kitchen."})];
    for (driver, calls) in turns {
        messages.push(json!({"role": "user", "content": driver}));
        for (tool, arguments, result) in *calls {
            let id = format!("c{}", messages.len());
            let function = json!({"name": tool, "arguments": arguments.to_string()});
            messages.push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]}));
            let content = json!({"status": "OK", "result": result}).to_string();
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
        }
        messages.push(json!({"role": "assistant", "content": "All done: as recorded."}));
    }
    recorded(policy, Json::Array(messages), &json!({}))
}

/// The tour of tables 1 to 3, with two paths past table 2.
fn tour(policy: &Policy) -> Course {
    let path = |id: &str, from: &str, to: &str| json!({"path_id": id, "from_id": from, "to_id": to});
    let paths = json!({"paths": [path("pat_13", "tab_1", "tab_3"), path("pat_31", "tab_1", "tab_3"), path("pat_14", "tab_1", "tab_4")]});
    let skip = json!({"table_id": "tab_2", "path_id": "pat_13"});
    let swap = json!({"table_id": "tab_3", "new_table_id": "tab_4", "path_id_to": "pat_14", "path_id_from": "pat_14"});
    course(
        policy,
        &[
            (
                "skip table 2",
                &[
                    ("get_tour", json!({}), json!({"table_ids": ["tab_1", "tab_2", "tab_3"]})),
                    ("search_paths", json!({}), paths),
                    ("skip_table", skip, json!({})),
                ],
            ),
            ("and take table 4 instead of 3", &[("swap_table", swap, json!({}))]),
        ],
    )
}

/// What the student drafts wrongly in each faulty run.
fn wrong(plans: &[Planned]) -> Vec<Draft> {
    let steps = |plan: &Planned| plan.script.turns.iter().flat_map(|(_, s)| s.clone()).find_map(|step| step.wrong);
    plans.iter().filter_map(steps).collect()
}

fn arguments(drafts: &[Draft], name: &str) -> Vec<String> {
    let of = |d: &Draft| d.calls[0].arguments.get(name).and_then(Json::as_str).map(str::to_owned);
    drafts.iter().filter_map(of).collect()
}

#[test]
fn a_wrong_identifier_is_that_of_another_thing_and_no_other_choice() {
    let policy = kitchen();
    let (plans, all) = sites(&policy, &tour(&policy), Fault::WrongId, 99);
    assert_eq!(all, 6, "every identifier of both writes");
    for draft in wrong(&plans) {
        for name in ["table_id", "path_id"] {
            for id in arguments(std::slice::from_ref(&draft), name) {
                assert!(id.starts_with("tab_") || id.starts_with("pat_"), "{id}");
                assert_ne!(id, "pat_31", "another path between the same tables is a choice");
            }
        }
    }
}

#[test]
fn an_invented_identifier_was_never_seen() {
    let policy = kitchen();
    let course = tour(&policy);
    let drafts = wrong(&sites(&policy, &course, Fault::InventedId, 99).0);
    let seen = |id: &String| course.history.identifiers().get(id).is_some();
    assert!(
        drafts.iter().any(|d| d.calls[0].arguments.values().filter_map(Json::as_str).any(|id| !seen(&id.to_owned())))
    );
}

#[test]
fn edits_in_different_turns_are_put_into_one_message() {
    let policy = kitchen();
    let drafts = wrong(&sites(&policy, &tour(&policy), Fault::ParallelEdits, 99).0);
    let tools: Vec<&str> = drafts[0].calls.iter().map(|c| c.tool.as_str()).collect();
    assert_eq!((drafts.len(), tools), (1, vec!["skip_table", "swap_table"]));
}

#[test]
fn a_single_item_becomes_all_of_them_and_a_collective_one_stays() {
    let policy = kitchen();
    let door = |door: &str| ("move_door", json!({"door": door, "percentage": 0}), json!({}));
    let course = course(&policy, &[("close them", &[door("OVEN"), door("ALL")])]);
    let drafts = wrong(&sites(&policy, &course, Fault::All, 99).0);
    assert_eq!(arguments(&drafts, "door"), ["ALL"]);
    let words = wrong(&sites(&policy, &course, Fault::EnumCase, 99).0);
    assert_eq!(arguments(&words, "door").len(), 2);
    assert!(arguments(&words, "door").iter().all(|w| *w == w.to_lowercase()));
}

#[test]
fn a_premature_report_stands_only_where_the_last_write_would() {
    let policy = kitchen();
    let wash = |program: &str| ("start_dishwasher", json!({"program": program}), json!({}));
    let hood = ("set_hood_speed", json!({"level": 1}), json!({}));
    let again = course(&policy, &[("wash", &[wash("ECO")]), ("again", &[wash("QUICK_WASH")])]);
    assert_eq!(sites(&policy, &again, Fault::Done, 99).1, 0, "the sentence would be true");
    let course = course(&policy, &[("hood", std::slice::from_ref(&hood)), ("and wash", &[hood.clone(), wash("ECO")])]);
    let drafts = wrong(&sites(&policy, &course, Fault::Done, 99).0);
    assert_eq!(drafts.len(), 1);
    assert!(drafts[0].reply.as_deref().unwrap().contains("started the dishwasher"), "{drafts:?}");
}

#[test]
fn seeds_draw_distinct_places_and_the_same_ones_every_time() {
    let policy = kitchen();
    let course = tour(&policy);
    let (two, all) = sites(&policy, &course, Fault::WrongId, 2);
    assert_eq!((two.len(), all), (2, 6));
    assert_ne!(wrong(&two)[0], wrong(&two)[1]);
    assert_eq!(wrong(&two), wrong(&sites(&policy, &course, Fault::WrongId, 2).0));
    assert_eq!(sites(&policy, &course, Fault::All, 3).0.len(), 0, "no place, no run");
}

#[test]
fn draws_reach_every_place() {
    let drawn: std::collections::HashSet<_> = (0..200).filter_map(|seed| draw(&format!("k/{seed}"), 7)).collect();
    assert_eq!(drawn.len(), 7);
    assert_eq!(draw("k", 0), None);
}
