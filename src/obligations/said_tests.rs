//! What rules read of a reply and of the legs that a call sets, over the kitchen.

use serde_json::{Value as Json, json};

use crate::model::{ToolCall, Words};
use crate::policy::testing::{Talk, kitchen};
use crate::state::{History, LegFacts, Listing};

/// Positions of the kitchen's declared features.
const DEAR: usize = 0;
const LACKS_FASTEST: usize = 1;

fn path(id: &str, street: &str, alias: &str, dear: Json) -> Json {
    json!({"path_id": id, "from_id": "tab_1", "to_id": "tab_9", "street": street, "alias": [alias], "dear": dear})
}

fn talk(said: &str, set: bool) -> History {
    let policy = kitchen();
    let paths = [
        path("pat_1", "North Aisle", "fastest", json!(false)),
        path("pat_2", "South Aisle, Back Door", "shortest", json!(true)),
        path("pat_3", "Cellar", "third", json!("unknown")),
    ];
    let found = Talk::new(&policy).driver(said);
    let found = found.done("search_paths", json!({"from_id": "tab_1", "to_id": "tab_9"}), json!({"paths": paths}));
    if !set {
        return found.history();
    }
    found.done("start_tour", json!({"path_ids": ["pat_2"]}), json!({})).history()
}

fn described(said: &str, reply: &str) -> LegFacts {
    let policy = kitchen();
    LegFacts::of_reply(policy.model.tour.as_ref().unwrap(), &[], &talk(said, false), &Words::new(reply))
}

fn set(said: &str, leg: &str) -> LegFacts {
    let policy = kitchen();
    let tool = policy.inventory.position("start_tour").unwrap();
    let call = ToolCall::new("start_tour", serde_json::from_value(json!({"path_ids": [leg]})).unwrap());
    let edit = &policy.model.tool(tool).unwrap().tour;
    LegFacts::of_call(policy.model.tour.as_ref().unwrap(), edit, &talk(said, false), &call.arguments)
}

#[test]
fn a_reply_describes_the_legs_whose_whole_name_it_says() {
    let facts = described("serve table nine", "Take the South Aisle and the Back Door.");
    assert_eq!((facts.open, facts.others, facts.facts[LACKS_FASTEST]), (1, 2, Some(true)));
    assert_eq!(facts.facts[DEAR], Some(true));
    let facts = described("serve table nine", "Take the North Aisle, or the South Aisle.");
    assert_eq!((facts.open, facts.others, facts.facts[LACKS_FASTEST]), (1, 2, Some(false)));
    assert_eq!(described("serve table nine", "On my way.").open, 0);
}

#[test]
fn a_choice_that_the_driver_made_is_not_open() {
    let facts = described("serve table nine through the cellar", "Through the Cellar, then.");
    assert_eq!((facts.open, facts.others, facts.facts[LACKS_FASTEST]), (0, 0, Some(false)));
}

#[test]
fn what_a_result_does_not_say_is_unknown_and_never_hides_what_is_known() {
    assert_eq!(described("serve table nine", "Through the Cellar.").facts[DEAR], None);
    assert_eq!(described("serve table nine", "Cellar, or South Aisle and Back Door.").facts[DEAR], Some(true));
}

#[test]
fn a_leg_that_was_set_in_this_turn_is_reported_not_offered() {
    let policy = kitchen();
    let history = talk("serve table nine", true);
    let tool = policy.inventory.position("start_tour").unwrap();
    let made = history.calls().last().unwrap();
    let edits = [(&policy.model.tool(tool).unwrap().tour, &*made.call.arguments)];
    let facts = LegFacts::of_reply(
        policy.model.tour.as_ref().unwrap(),
        &edits,
        &history,
        &Words::new("South Aisle, Back Door."),
    );
    assert_eq!(facts.open, 0);
}

#[test]
fn a_call_is_judged_by_the_legs_that_it_sets() {
    let facts = set("serve table nine", "pat_1");
    assert_eq!((facts.open, facts.others, facts.facts[LACKS_FASTEST]), (1, 2, Some(false)));
    assert_eq!(set("serve table nine", "pat_3").facts[LACKS_FASTEST], Some(true));
    assert_eq!(set("serve table nine", "pat_77").open, 0);
}

#[test]
fn names_left_out_count_only_beside_names_told() {
    let policy = kitchen();
    let listing = Listing {
        name: "recipes".into(),
        reads: vec![policy.inventory.position("search_recipes").unwrap()],
        field: "name".into(),
    };
    let found = json!({"recipes": [{"name": "Poppy Rolls"}, {"name": "Rye"}, {"name": "unknown"}]});
    let history = Talk::new(&policy).driver("what can I bake").done("search_recipes", json!({"dish": "cakes"}), found);
    let history = history.history();
    let told = |reply: &str| {
        let told = listing.told(&history, &Words::new(reply));
        (told.told, told.untold)
    };
    assert_eq!(told("Poppy rolls would do."), (1, 1));
    assert_eq!(told("Poppy rolls or rye?"), (2, 0));
    assert_eq!(told("What do you like?"), (0, 0));
}
