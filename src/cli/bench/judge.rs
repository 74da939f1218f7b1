//! A judge of its own: the policies that the benchmark checks by code, told from what the car did.
//!
//! It sees executed calls and the car's fields, never a draft and never a rule of ours, so that a
//! rule that is missing or wrong shows. Runs with the harness and without are judged alike.

use serde_json::{Map, Value as Json};

use crate::model::ToolCall;

/// A call as the car saw it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Deed {
    /// The call.
    pub(super) call: ToolCall,
    /// The message that it came with.
    pub(super) message: u32,
    /// Whether the car carried it out.
    pub(super) done: bool,
    /// What it returned.
    pub(super) payload: Json,
    /// The car's fields before it.
    pub(super) before: Map<String, Json>,
    /// Whether the driver's latest words were a plain yes.
    pub(super) agreed: bool,
}

/// What a run is judged by.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    /// Where the car is.
    pub(super) here: String,
    /// Today.
    pub(super) month: i64,
    /// Today.
    pub(super) day: i64,
    /// Tools that need a yes.
    pub(super) needs_yes: Vec<String>,
}

/// Tools that edit an active navigation.
const EDITS: [&str; 5] = [
    "navigation_add_one_waypoint",
    "navigation_replace_one_waypoint",
    "navigation_replace_final_destination",
    "navigation_delete_waypoint",
    "navigation_delete_destination",
];
/// Weather in which the sunroof opens without a yes.
const FAIR: [&str; 3] = ["sunny", "cloudy", "partly_cloudy"];
/// Weather in which the fog lights go on without a yes.
const FOUL: [&str; 2] = ["cloudy_and_thunderstorm", "cloudy_and_hail"];

/// Numbers of the policies that a run broke, each as often as it did; those of a missing yes are
/// counted apart by [`unasked`].
pub(super) fn errors(facts: &Facts, deeds: &[Deed], end: &Map<String, Json>) -> Vec<&'static str> {
    let mut found = Vec::new();
    for (at, deed) in deeds.iter().enumerate() {
        let Some(earlier) = deeds.get(..at) else { continue };
        let read = |tool: &str| earlier.iter().any(|d| d.call.tool.as_str() == tool && d.message < deed.message);
        let is = |name: &str, value: &str| text(&deed.call.arguments, name) == value;
        let on = deed.call.arguments.get("on") == Some(&Json::Bool(true));
        let tool = deed.call.tool.as_str();
        if EDITS.contains(&tool) {
            if deed.before.get("navigation_active") == Some(&Json::Bool(false)) {
                found.push("017");
            }
            let beside = earlier.iter().rev().take_while(|d| d.message == deed.message);
            if beside.into_iter().any(|d| EDITS.contains(&d.call.tool.as_str())) {
                found.push("018");
            }
        }
        match tool {
            "set_new_navigation" => {
                if deed.before.get("navigation_active") == Some(&Json::Bool(true)) {
                    found.push("018");
                }
                let first = deed.call.arguments.get("route_ids").and_then(|ids| ids.get(0)?.as_str());
                let start = first.and_then(|id| earlier.iter().find_map(|d| start_of(&d.payload, id)));
                if start.is_some_and(|start| start != facts.here) {
                    found.push("016");
                }
            }
            "navigation_delete_destination" => {
                let stops = deed.before.get("waypoints_id").and_then(Json::as_array);
                if stops.is_some_and(|stops| stops.len() < 3) {
                    found.push("019");
                }
            }
            "get_entries_from_calendar" if !is_today(facts, deed) => found.push("023"),
            "get_weather" if !is_today(facts, deed) => found.push("024"),
            _ if !deed.done => {}
            "open_close_sunroof" if opens(deed, "sunroof_position") => {
                let after = deeds.iter().find(|d| d.message > deed.message).map_or(end, |d| &d.before);
                let shade = number(after, "sunshade_position");
                if shade.is_some_and(|shade| shade < number(&deed.call.arguments, "percentage").unwrap_or(0.0)) {
                    found.push("005");
                }
                if !read("get_weather") {
                    found.push("009");
                }
            }
            "set_window_defrost" if on && (is("defrost_window", "FRONT") || is("defrost_window", "ALL")) => {
                let fits = number(end, "fan_speed").is_some_and(|level| level >= 2.0)
                    && text(end, "fan_airflow_direction").contains("WINDSHIELD")
                    && end.get("air_conditioning") == Some(&Json::Bool(true));
                if !read("get_climate_settings") || !fits {
                    found.push("010");
                }
            }
            "set_air_conditioning" if on => {
                let is_window = |name: &str| name.starts_with("window_") && name.ends_with("_position");
                let open = end.iter().any(|(name, v)| is_window(name) && v.as_f64().is_some_and(|v| v > 20.0));
                if open || number(end, "fan_speed") == Some(0.0) {
                    found.push("011");
                }
            }
            "set_fog_lights" if on => {
                let fits = end.get("head_lights_low_beams") == Some(&Json::Bool(true))
                    && end.get("head_lights_high_beams") == Some(&Json::Bool(false));
                if !read("get_exterior_lights_status") || !fits {
                    found.push("013");
                }
            }
            "set_head_lights_high_beams"
                if on && (!read("get_exterior_lights_status") || end.get("fog_lights") == Some(&Json::Bool(true))) =>
            {
                found.push("014");
            }
            _ => {}
        }
    }
    found
}

/// Writes that were carried out without the yes that they need: of tools marked so, of the sunroof and
/// the fog lights in the wrong weather, and of windows while the air conditioning is on.
pub(super) fn unasked(facts: &Facts, deeds: &[Deed]) -> u32 {
    let needs = |at: usize, deed: &Deed| {
        let tool = deed.call.tool.as_str();
        let weather = || deeds.get(..at).and_then(|all| all.iter().rev().find_map(|d| condition(facts, d)));
        facts.needs_yes.iter().any(|t| t == tool)
            || match tool {
                "open_close_sunroof" if opens(deed, "sunroof_position") => weather().is_none_or(|w| !FAIR.contains(&w)),
                "set_fog_lights" if deed.call.arguments.get("on") == Some(&Json::Bool(true)) => {
                    weather().is_none_or(|w| !FOUL.contains(&w))
                }
                "open_close_window" => {
                    let wanted = number(&deed.call.arguments, "percentage").unwrap_or(0.0);
                    wanted > 25.0 && deed.before.get("air_conditioning") == Some(&Json::Bool(true))
                }
                _ => false,
            }
    };
    let missing = deeds.iter().enumerate().filter(|(at, deed)| deed.done && !deed.agreed && needs(*at, deed));
    u32::try_from(missing.count()).unwrap_or(u32::MAX)
}

/// Whether a call for a percentage opens further than the field stands.
fn opens(deed: &Deed, field: &str) -> bool {
    let wanted = number(&deed.call.arguments, "percentage").unwrap_or(0.0);
    wanted > number(&deed.before, field).unwrap_or(0.0)
}

/// What the weather where the car is was read to be.
fn condition<'d>(facts: &Facts, deed: &'d Deed) -> Option<&'d str> {
    let here =
        deed.call.tool.as_str() == "get_weather" && text(&deed.call.arguments, "location_or_poi_id") == facts.here;
    here.then(|| deed.payload.get("current_slot")?.get("condition")?.as_str()).flatten()
}

fn is_today(facts: &Facts, deed: &Deed) -> bool {
    let arguments = &deed.call.arguments;
    let same = |name: &str, today: i64| arguments.get(name).and_then(Json::as_i64).is_none_or(|n| n == today);
    same("month", facts.month) && same("day", facts.day)
}

/// Where a route begins, as some result describes it.
fn start_of<'j>(json: &'j Json, route: &str) -> Option<&'j str> {
    match json {
        Json::Object(map) if map.get("route_id").and_then(Json::as_str) == Some(route) => map.get("start_id")?.as_str(),
        Json::Object(map) => map.values().find_map(|v| start_of(v, route)),
        Json::Array(items) => items.iter().find_map(|v| start_of(v, route)),
        _ => None,
    }
}

fn text<'j>(map: &'j Map<String, Json>, name: &str) -> &'j str {
    map.get(name).and_then(Json::as_str).unwrap_or_default()
}

fn number(map: &Map<String, Json>, name: &str) -> Option<f64> {
    map.get(name).and_then(Json::as_f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(json: Json) -> Map<String, Json> {
        json.as_object().cloned().unwrap()
    }

    fn facts() -> Facts {
        Facts { here: "loc_1".into(), month: 2, day: 26, needs_yes: vec!["send_email".into()] }
    }

    fn deed(message: u32, tool: &str, arguments: Json, before: Json) -> Deed {
        let call = ToolCall::new(tool, map(arguments));
        Deed { call, message, done: true, payload: Json::Null, before: map(before), agreed: false }
    }

    fn weather(message: u32, condition: &str) -> Deed {
        let payload = json!({"current_slot": {"condition": condition}});
        let at = json!({"location_or_poi_id": "loc_1", "month": 2, "day": 26});
        Deed { payload, ..deed(message, "get_weather", at, json!({})) }
    }

    fn roof(message: u32) -> Deed {
        deed(message, "open_close_sunroof", json!({"percentage": 50}), json!({"sunroof_position": 0}))
    }

    #[test]
    fn the_roof_needs_the_shade_no_later_and_the_weather_earlier() {
        let shade =
            |message| deed(message, "open_close_sunshade", json!({"percentage": 100}), json!({"sunshade_position": 0}));
        let end = map(json!({"sunshade_position": 100}));
        let errors = |deeds: &[Deed]| errors(&facts(), deeds, &end);
        assert_eq!(errors(&[weather(0, "sunny"), roof(1), shade(1)]), [""; 0], "both in one message");
        assert_eq!(errors(&[weather(0, "sunny"), roof(1), shade(2)]), ["005"], "a message too late");
        assert_eq!(errors(&[weather(1, "sunny"), roof(1), shade(1)]), ["009"], "read beside it");
    }

    #[test]
    fn a_resulting_state_is_judged_at_the_end() {
        let fog = deed(1, "set_fog_lights", json!({"on": true}), json!({}));
        let read = deed(0, "get_exterior_lights_status", json!({}), json!({}));
        let end = |high: bool| map(json!({"head_lights_low_beams": true, "head_lights_high_beams": high}));
        assert_eq!(errors(&facts(), &[read.clone(), fog.clone()], &end(false)), [""; 0]);
        assert_eq!(errors(&facts(), &[read, fog.clone()], &end(true)), ["013"]);
        assert_eq!(errors(&facts(), &[fog], &end(false)), ["013"], "nothing read");
        let ac = deed(0, "set_air_conditioning", json!({"on": true}), json!({}));
        let open = map(json!({"window_driver_position": 25, "fan_speed": 1}));
        assert_eq!(errors(&facts(), &[ac], &open), ["011"]);
    }

    #[test]
    fn edits_need_an_active_tour_and_a_message_of_their_own() {
        let edit = |message, active: bool| {
            let before = json!({"navigation_active": active, "waypoints_id": ["a", "b"]});
            deed(message, "navigation_delete_destination", json!({}), before)
        };
        let none = Map::new();
        assert_eq!(errors(&facts(), &[edit(0, false)], &none), ["017", "019"]);
        let swap = deed(0, "navigation_replace_one_waypoint", json!({}), json!({"navigation_active": true}));
        assert_eq!(errors(&facts(), &[swap.clone(), swap.clone()], &none), ["018"]);
        assert_eq!(errors(&facts(), &[swap.clone(), Deed { message: 1, ..swap }], &none), [""; 0]);
    }

    #[test]
    fn a_new_tour_begins_at_the_car_and_only_where_none_is_active() {
        let routes = Deed {
            payload: json!({"routes": [{"route_id": "r_1", "start_id": "loc_9", "destination_id": "loc_2"}]}),
            ..deed(0, "get_routes_from_start_to_destination", json!({}), json!({}))
        };
        let start = deed(1, "set_new_navigation", json!({"route_ids": ["r_1"]}), json!({"navigation_active": true}));
        assert_eq!(errors(&facts(), &[routes, start], &Map::new()), ["018", "016"]);
    }

    #[test]
    fn only_today_is_looked_up() {
        let look = |tool: &str, day: i64| deed(0, tool, json!({"month": 2, "day": day}), json!({}));
        let of = |deeds: &[Deed]| errors(&facts(), deeds, &Map::new());
        assert_eq!(of(&[look("get_weather", 27), look("get_entries_from_calendar", 25)]), ["024", "023"]);
        assert_eq!(of(&[look("get_weather", 26)]), [""; 0]);
    }

    #[test]
    fn a_write_that_needs_a_yes_counts_where_none_was_said() {
        let mail = deed(1, "send_email", json!({}), json!({}));
        assert_eq!(unasked(&facts(), std::slice::from_ref(&mail)), 1);
        assert_eq!(unasked(&facts(), &[Deed { agreed: true, ..mail.clone() }]), 0);
        assert_eq!(unasked(&facts(), &[Deed { done: false, ..mail }]), 0, "the car refused it");
        assert_eq!(unasked(&facts(), &[weather(0, "cloudy_and_rain"), roof(1)]), 1);
        assert_eq!(unasked(&facts(), &[weather(0, "sunny"), roof(1)]), 0);
        let window =
            |ac: bool| deed(0, "open_close_window", json!({"percentage": 50}), json!({"air_conditioning": ac}));
        assert_eq!(unasked(&facts(), &[window(true), window(false)]), 1);
    }
}
