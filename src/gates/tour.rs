//! Legs of a tour that a call sets, with what results say of them.

use serde_json::Value as Json;

use super::{Exhausted, View};
use crate::model::{ToolCall, Value};
use crate::state::{Leg, NowField, OfferedLeg, Stop, Tour, TourEdit, World};
use crate::tools::ToolIx;

/// A leg that a call sets.
#[derive(Debug)]
pub(super) struct SetLeg<'a> {
    /// The argument that names it.
    pub argument: &'a str,
    /// Its identifier.
    pub id: &'a str,
    /// Where it has to begin, as far as that is known.
    pub from: Option<&'a str>,
    /// Where it has to end.
    pub to: Option<&'a str>,
    /// What a result says of it.
    pub offered: Option<Offered<'a>>,
}

/// What a result says of a leg.
#[derive(Debug)]
pub(super) struct Offered<'a> {
    /// The leg itself.
    pub leg: OfferedLeg<'a>,
    /// The others between the same stops.
    pub others: Vec<OfferedLeg<'a>>,
    /// The message that asked for the look-up.
    pub step: usize,
}

/// Results that are looked at for a leg.
const RESULTS: usize = 64;

/// The edit that a tool makes to the tour, if it makes one.
pub(super) fn edit<'a>(view: &View<'a>, tool: ToolIx) -> Option<(&'a Tour, &'a TourEdit)> {
    let edit = &view.policy.model.tool(tool)?.tour;
    let tour = view.policy.model.tour.as_ref()?;
    (!edit.legs.is_empty() || !edit.present.is_empty()).then_some((tour, edit))
}

/// The stops as they are set in a world; none when they are not known.
pub(super) fn stops<'w>(view: &View<'_>, tour: &Tour, world: &'w World) -> Option<&'w [std::sync::Arc<str>]> {
    let Value::List(stops) = &world.get(view.policy.model.cell(tour.stops, 0)?).value else { return None };
    Some(stops)
}

/// The legs that a call sets, in order.
pub(super) fn legs<'a>(
    view: &View<'a>,
    call: &'a ToolCall,
    world: &'a World,
    tour: &'a Tour,
    edit: &'a TourEdit,
) -> Result<Vec<SetLeg<'a>>, Exhausted> {
    let mut found = Vec::new();
    for leg in &edit.legs {
        let ids: Vec<&str> = match call.arguments.get(&leg.argument) {
            Some(Json::String(id)) => vec![id],
            Some(Json::Array(items)) => items.iter().filter_map(Json::as_str).collect(),
            _ => continue,
        };
        let end = |stop: &'a Option<Stop>| stop.as_ref().and_then(|s| resolve(view, call, world, tour, s));
        let mut from = end(&leg.from);
        for (nth, id) in ids.iter().enumerate() {
            let offered = offered(view, tour, id)?;
            let to = if nth + 1 == ids.len() { end(&leg.to) } else { None };
            let next = offered.as_ref().map(|o| o.leg.to);
            found.push(SetLeg { argument: &leg.argument, id, from, to, offered });
            from = next;
        }
    }
    Ok(found)
}

/// Whether a call leaves a tour of one single leg, as far as that is known.
pub(super) fn is_single(view: &View<'_>, call: &ToolCall, world: &World, tour: &Tour, edit: &TourEdit) -> bool {
    let named = |leg: &&Leg| call.arguments.contains_key(&leg.argument);
    let mut set = edit.legs.iter().filter(named);
    let (Some(leg), None) = (set.next(), set.next()) else { return false };
    if leg.from == Some(Stop::Here) {
        return call.arguments.get(&leg.argument).and_then(Json::as_array).is_some_and(|ids| ids.len() == 1);
    }
    let left = match (&leg.from, &leg.to) {
        (Some(Stop::BeforeLast), _) => 2,
        (Some(Stop::Before(_)), Some(Stop::After(_))) => 3,
        _ => return false,
    };
    stops(view, tour, world).is_some_and(|s| s.len() == left)
}

fn resolve<'a>(view: &View<'a>, call: &'a ToolCall, world: &'a World, tour: &Tour, stop: &Stop) -> Option<&'a str> {
    let named = |argument: &String| call.arguments.get(argument).and_then(Json::as_str);
    let stops = || stops(view, tour, world);
    let at = |argument: &String| {
        let id = named(argument)?;
        stops()?.iter().position(|s| s.as_ref() == id)
    };
    match stop {
        Stop::Here => match view.history.now().get(NowField::Location) {
            Value::Str(place) => Some(place),
            _ => None,
        },
        Stop::Argument(argument) => named(argument),
        Stop::Before(argument) => stops()?.get(at(argument)?.checked_sub(1)?).map(AsRef::as_ref),
        Stop::After(argument) => stops()?.get(at(argument)? + 1).map(AsRef::as_ref),
        Stop::BeforeLast => stops()?.iter().rev().nth(1).map(AsRef::as_ref),
    }
}

/// What the first result that describes a leg says of it.
pub(super) fn offered<'a>(view: &View<'a>, tour: &Tour, id: &str) -> Result<Option<Offered<'a>>, Exhausted> {
    let find = |past: &'a crate::state::PastCall| {
        let (leg, others) = tour.find(past.payload()?, id)?;
        Some(Offered { leg, others, step: past.step })
    };
    let first = view.history.identifiers().get(id).and_then(|seen| view.history.call(seen.call?));
    if let Some(found) = first.and_then(find) {
        return Ok(Some(found));
    }
    let calls = view.history.calls();
    for past in calls.iter().rev().take(RESULTS) {
        view.spend(8)?;
        if let Some(found) = find(past) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Whether the driver's latest words pick a leg among its alternatives.
pub(super) fn is_picked(view: &View<'_>, offered: &Offered<'_>) -> Result<bool, Exhausted> {
    for said in view.history.driver().iter().rev().take(SAID) {
        view.spend(said.words.len())?;
    }
    let others: Vec<&Json> = offered.others.iter().map(|o| o.said).collect();
    Ok(crate::state::is_picked(view.history, offered.leg.said, &others))
}

/// Messages of the driver that are looked through for a pick.
const SAID: usize = 6;
