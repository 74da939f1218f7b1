//! Which tool is answered by what.

use rusqlite::Transaction;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::messages;
use crate::navigation;
use crate::people;
use crate::store::{Store, StoreError, once};

/// The definitions of the cabin's tools; what is registered is taken from here.
const DEFINITIONS: &str = include_str!("../../../policies/cabin/tools.json");

type Work = Box<dyn Fn(&Transaction<'_>, Json) -> Result<Json, StoreError> + Send + Sync>;

/// A tool that is provided.
pub(crate) struct Tool {
    /// Its name.
    pub(crate) name: &'static str,
    /// Whether it changes something.
    pub(crate) writes: bool,
    work: Work,
}

fn tool<A: DeserializeOwned + 'static>(
    name: &'static str,
    writes: bool,
    work: fn(&Transaction<'_>, A) -> Result<Json, StoreError>,
) -> Tool {
    let work: Work = Box::new(move |data, arguments| {
        let arguments = serde_json::from_value(arguments)
            .map_err(|e| StoreError::Refused(format!("The arguments cannot be read: {e}.")))?;
        work(data, arguments)
    });
    Tool { name, writes, work }
}

/// All of them.
pub(crate) fn all() -> Vec<Tool> {
    vec![
        tool("get_location_id_by_location_name", false, navigation::find_location),
        tool("search_poi_at_location", false, navigation::search_at),
        tool("search_poi_along_the_route", false, navigation::search_along),
        tool("get_routes_from_start_to_destination", false, navigation::routes),
        tool("get_current_navigation_state", false, navigation::state),
        tool("set_new_navigation", true, navigation::set),
        tool("navigation_add_one_waypoint", true, navigation::add),
        tool("navigation_replace_one_waypoint", true, navigation::replace),
        tool("navigation_replace_final_destination", true, navigation::replace_destination),
        tool("navigation_delete_waypoint", true, navigation::delete),
        tool("navigation_delete_destination", true, navigation::delete_destination),
        tool("delete_current_navigation", true, navigation::stop),
        tool("get_entries_from_calendar", false, people::entries),
        tool("get_contact_id_by_contact_name", false, people::find),
        tool("get_contact_information", false, people::information),
        tool("call_phone_by_number", true, messages::call),
        tool("send_email", true, messages::send),
    ]
}

/// Name, kind and schema of each, as they are registered.
pub(crate) fn registration(tools: &[Tool]) -> Vec<(String, String, String)> {
    // The file is part of this program; without it nothing is registered, and the harness says so.
    let definitions = obligato::tools::import(DEFINITIONS).unwrap_or_default();
    let schema = |name: &str| definitions.iter().find(|d| d.name == name).map(|d| d.parameters.to_string());
    let kind = |tool: &Tool| if tool.writes { "write" } else { "read" }.to_owned();
    tools.iter().filter_map(|t| Some((t.name.to_owned(), kind(t), schema(t.name)?))).collect()
}

/// Carries out a call whose name was not used before, as long as `in_time` holds. Nothing changes where
/// it does not.
pub(crate) fn carry_out(
    store: &mut Store,
    tool: &Tool,
    arguments: &str,
    call: &str,
    in_time: impl Fn() -> bool,
) -> Result<Json, StoreError> {
    let late = || StoreError::Refused("The call had expired before it could be carried out.".to_owned());
    let arguments: Json = serde_json::from_str(arguments)
        .map_err(|e| StoreError::Refused(format!("The arguments cannot be read: {e}.")))?;
    store.call(|data| {
        if tool.writes {
            once(data, call)?;
        }
        let result = (tool.work)(data, arguments)?;
        // Waiting for the disk takes time as well.
        if in_time() { Ok(result) } else { Err(late()) }
    })
}
