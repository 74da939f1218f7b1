//! What a write does to the simulated car beyond the effect model.
//!
//! The effect model leaves lists to results (`touches`), because a policy needs no more. A car has to
//! have the result, so its state file says how: a list is cut and filled at a place that an argument
//! names, and a switch is derived from what is known of the list's members. The data name the tools;
//! nothing here does.

use serde::Deserialize;
use serde_json::Value as Json;

use super::car::Car;
use crate::model::Arguments;

/// Cuts members out of a list and puts others in their place.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    /// The write.
    pub(super) tool: String,
    /// The list, as `read tool.path`.
    pub(super) list: String,
    /// Where to start.
    #[serde(default)]
    at: Spot,
    /// How many members to remove there; fewer where the list ends.
    #[serde(default)]
    remove: usize,
    /// Arguments whose values are put in, in this order; an absent one is left out.
    #[serde(default)]
    insert: Vec<String>,
}

/// A place in a list; without an argument the first one.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spot {
    /// The argument that names a member.
    argument: Option<String>,
    /// The list that has the member, where that is another one, as `read tool.path`.
    r#in: Option<String>,
    /// The last member instead of a named one.
    #[serde(default)]
    last: bool,
    /// Places further on; negative: further back.
    #[serde(default)]
    plus: isize,
}

/// A switch that follows from a list: on when any of its members is known to have it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Derive {
    /// The switch, as `read tool.path`.
    pub(super) field: String,
    /// The list, as `read tool.path`.
    pub(super) of: String,
    /// The member by which anything that the car can answer describes an item of the list.
    by: String,
    /// The switch in that description.
    any: String,
}

impl Edit {
    /// Edits the list; the error says which member is not there. `before` is the car before the call.
    pub(super) fn apply(&self, before: &Car, arguments: &Arguments, car: &mut Car) -> Result<(), String> {
        let mut list = members(before, &self.list);
        let at = self.at.resolve(before, &self.list, arguments)?.min(list.len());
        let end = at.saturating_add(self.remove).min(list.len());
        list.splice(at..end, self.insert.iter().filter_map(|name| arguments.get(name)).cloned());
        car.set_field(&self.list, &Json::Array(list));
        Ok(())
    }
}

impl Spot {
    fn resolve(&self, car: &Car, list: &str, arguments: &Arguments) -> Result<usize, String> {
        let all = members(car, self.r#in.as_deref().unwrap_or(list));
        let base = match &self.argument {
            Some(argument) => {
                let wanted = arguments.get(argument).ok_or_else(|| format!("`{argument}` is missing"))?;
                let at = all.iter().position(|m| m == wanted);
                at.ok_or_else(|| format!("{wanted} is not among {}", Json::from(all)))?
            }
            None if self.last => all.len().saturating_sub(1),
            None => 0,
        };
        Ok(base.saturating_add_signed(self.plus))
    }
}

impl Derive {
    /// Sets the switch to what follows from the car as it is.
    pub(super) fn settle(&self, car: &mut Car) {
        let on = members(car, &self.of).iter().filter_map(Json::as_str).any(|id| {
            let described = car.find(&self.by, id);
            described.and_then(|d| d.get(&self.any)).and_then(Json::as_bool) == Some(true)
        });
        car.set_field(&self.field, &Json::Bool(on));
    }
}

fn members(car: &Car, list: &str) -> Vec<Json> {
    car.get(list).and_then(Json::as_array).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn car() -> Car {
        let mut car = Car::default();
        car.set("nav", "stops", &json!(["a", "b", "c"]));
        car.set("nav", "routes", &json!(["ab", "bc"]));
        car.set("nav", "toll", &json!(false));
        car.set("known", "routes", &json!([{"route": "ax", "toll": true}, {"route": "bc", "toll": false}]));
        car
    }

    fn edited(edit: &str, arguments: Json) -> Result<Json, String> {
        let edit: Edit = toml::from_str(&format!("tool = \"t\"\n{edit}")).unwrap();
        let mut after = car();
        edit.apply(&car(), arguments.as_object().unwrap(), &mut after)?;
        Ok(after.get(&edit.list).unwrap().clone())
    }

    #[test]
    fn a_stop_is_put_in_behind_the_one_that_is_named() {
        let stops = r#"list = "nav.stops"
            at = { argument = "after", plus = 1 }
            insert = ["new"]"#;
        assert_eq!(edited(stops, json!({"after": "a", "new": "x"})), Ok(json!(["a", "x", "b", "c"])));
        assert_eq!(edited(stops, json!({"after": "c", "new": "x"})), Ok(json!(["a", "b", "c", "x"])));
        let routes = r#"list = "nav.routes"
            at = { argument = "after", in = "nav.stops" }
            remove = 1
            insert = ["to", "from"]"#;
        assert_eq!(edited(routes, json!({"after": "a", "to": "ax", "from": "xb"})), Ok(json!(["ax", "xb", "bc"])));
        assert_eq!(edited(routes, json!({"after": "c", "to": "cx"})), Ok(json!(["ab", "bc", "cx"])));
    }

    #[test]
    fn a_stop_that_is_not_there_fails_the_call() {
        let edit = r#"list = "nav.stops"
            at = { argument = "gone" }
            remove = 1"#;
        assert_eq!(edited(edit, json!({"gone": "z"})), Err(r#""z" is not among ["a","b","c"]"#.to_owned()));
    }

    #[test]
    fn the_last_stop_is_replaced_and_a_list_is_cleared() {
        let last = r#"list = "nav.stops"
            at = { last = true }
            remove = 1
            insert = ["new"]"#;
        assert_eq!(edited(last, json!({"new": "x"})), Ok(json!(["a", "b", "x"])));
        assert_eq!(edited("list = \"nav.stops\"\nremove = 99", json!({})), Ok(json!([])));
    }

    #[test]
    fn a_switch_follows_from_the_members_of_a_list() {
        let derive: Derive =
            toml::from_str("field = \"nav.toll\"\nof = \"nav.routes\"\nby = \"route\"\nany = \"toll\"").unwrap();
        let mut car = car();
        derive.settle(&mut car);
        assert_eq!(car.get("nav.toll"), Some(&json!(false)));
        car.set("nav", "routes", &json!(["ax"]));
        derive.settle(&mut car);
        assert_eq!(car.get("nav.toll"), Some(&json!(true)));
    }
}
