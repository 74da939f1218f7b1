//! Places, routes and the tour.

use rusqlite::{OptionalExtension, Transaction, params};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::store::{StoreError, number, rows};

fn refused<R>(why: impl Into<String>) -> Result<R, StoreError> {
    Err(StoreError::Refused(why.into()))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ByName {
    location: String,
}

pub(crate) fn find_location(data: &Transaction<'_>, asked: ByName) -> Result<Json, StoreError> {
    let wanted = asked.location.to_lowercase();
    let all =
        rows(data, "SELECT id, name FROM location", [], |r| Ok((r.get::<_, String>(0)?, r.get::<_, String>(1)?)))?;
    match all.into_iter().find(|(_, name)| name.to_lowercase() == wanted) {
        Some((id, name)) => Ok(json!({"location_id": id, "name": name})),
        None => refused("No location of this name is known."),
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct At {
    location_id: String,
    category: String,
}

pub(crate) fn search_at(data: &Transaction<'_>, asked: At) -> Result<Json, StoreError> {
    search(data, &asked.location_id, &asked.category, "Nothing of this category was found at this location.")
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Along {
    route_id: String,
    category: String,
    /// The sample knows detours, not where along the route they are: it finds all of them.
    #[serde(rename = "at_kilometer")]
    _at: Option<f64>,
}

pub(crate) fn search_along(data: &Transaction<'_>, asked: Along) -> Result<Json, StoreError> {
    search(data, &asked.route_id, &asked.category, "Nothing of this category was found along this route.")
}

fn search(data: &Transaction<'_>, place: &str, category: &str, nothing: &str) -> Result<Json, StoreError> {
    let query =
        "SELECT id, name, distance_km, open_from, open_until, phone_number FROM near JOIN poi ON poi.id = near.poi
                 WHERE place = ?1 AND category = ?2 ORDER BY distance_km, id";
    let found = rows(data, query, [place, category], |row| {
        let mut poi = json!({
            "poi_id": row.get::<_, String>(0)?, "name": row.get::<_, String>(1)?, "distance_km": number(row.get(2)?),
        });
        for (at, name) in [(3, "open_from"), (4, "open_until"), (5, "phone_number")] {
            if let (Some(value), Json::Object(poi)) = (row.get::<_, Option<String>>(at)?, &mut poi) {
                poi.insert(name.to_owned(), value.into());
            }
        }
        Ok(poi)
    })?;
    if found.is_empty() { refused(nothing) } else { Ok(json!({"pois": found})) }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Between {
    start_id: String,
    destination_id: String,
}

pub(crate) fn routes(data: &Transaction<'_>, asked: Between) -> Result<Json, StoreError> {
    let query = "SELECT id, name_via, distance_km, duration_minutes, includes_toll, alias FROM route
                 WHERE start = ?1 AND destination = ?2 ORDER BY position";
    let found = rows(data, query, [&asked.start_id, &asked.destination_id], |row| {
        let alias: Json = serde_json::from_str(&row.get::<_, String>(5)?).unwrap_or_default();
        Ok(json!({
            "route_id": row.get::<_, String>(0)?, "start_id": asked.start_id, "destination_id": asked.destination_id,
            "name_via": row.get::<_, String>(1)?, "distance_km": number(row.get(2)?),
            "duration_minutes": row.get::<_, i64>(3)?, "includes_toll": row.get::<_, bool>(4)?, "alias": alias,
        }))
    })?;
    if found.is_empty() { refused("There is no route between these places.") } else { Ok(json!({"routes": found})) }
}

/// The waypoints and the routes between them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tour {
    stops: Vec<String>,
    legs: Vec<String>,
}

impl Tour {
    fn read(data: &Transaction<'_>) -> Result<Self, StoreError> {
        let text = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
        Ok(Self {
            stops: rows(data, "SELECT place FROM stop ORDER BY position", [], text)?,
            legs: rows(data, "SELECT route FROM leg ORDER BY position", [], text)?,
        })
    }

    /// Sets the tour, where its routes lead from waypoint to waypoint.
    fn write(&self, data: &Transaction<'_>) -> Result<(), StoreError> {
        if self.legs.len() + 1 != self.stops.len() && !(self.stops.is_empty() && self.legs.is_empty()) {
            return refused("A tour has one route for each leg between two waypoints.");
        }
        for ((leg, from), to) in self.legs.iter().zip(&self.stops).zip(self.stops.iter().skip(1)) {
            let known = "SELECT 1 FROM route WHERE id = ?1 AND start = ?2 AND destination = ?3";
            if data.query_row(known, [leg, from, to], |_| Ok(())).optional()?.is_none() {
                return refused(format!("The route {leg} does not lead from {from} to {to}."));
            }
        }
        data.execute_batch("DELETE FROM stop; DELETE FROM leg;")?;
        for (at, place) in (0_u32..).zip(&self.stops) {
            data.execute("INSERT INTO stop VALUES (?1, ?2)", params![at, place])?;
        }
        for (at, route) in (0_u32..).zip(&self.legs) {
            data.execute("INSERT INTO leg VALUES (?1, ?2)", params![at, route])?;
        }
        Ok(())
    }

    fn position(&self, place: &str) -> Result<usize, StoreError> {
        let at = self.stops.iter().position(|stop| stop == place);
        at.map_or_else(|| refused(format!("{place} is no waypoint of the tour.")), Ok)
    }

    /// Replaces `gone` waypoints from a place on, and the routes that touch them.
    fn replace(&mut self, at: usize, gone: usize, stops: &[&str], legs: &[Option<&str>]) {
        self.stops.splice(at..at + gone, stops.iter().map(|s| (*s).to_owned()));
        let first = at.saturating_sub(1);
        let last = (at + gone).min(self.legs.len());
        self.legs.splice(first..last, legs.iter().flatten().map(|l| (*l).to_owned()));
    }
}

/// The tour as reads and writes tell it.
fn told(data: &Transaction<'_>, with_activity: bool) -> Result<Json, StoreError> {
    let tour = Tour::read(data)?;
    let query = "SELECT EXISTS (SELECT 1 FROM leg JOIN route ON route.id = leg.route WHERE includes_toll)";
    let toll: bool = data.query_row(query, [], |row| row.get(0))?;
    let mut told = json!({"waypoint_ids": tour.stops, "route_ids": tour.legs, "includes_toll": toll});
    if let (true, Json::Object(map)) = (with_activity, &mut told) {
        map.insert("navigation_active".to_owned(), (!tour.stops.is_empty()).into());
    }
    Ok(told)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

pub(crate) fn state(data: &Transaction<'_>, _: Nothing) -> Result<Json, StoreError> {
    told(data, true)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct New {
    waypoint_ids: Vec<String>,
    route_ids: Vec<String>,
}

pub(crate) fn set(data: &Transaction<'_>, asked: New) -> Result<Json, StoreError> {
    if asked.waypoint_ids.len() < 2 {
        return refused("A tour has a start and a destination.");
    }
    Tour { stops: asked.waypoint_ids, legs: asked.route_ids }.write(data)?;
    told(data, true)
}

pub(crate) fn stop(data: &Transaction<'_>, _: Nothing) -> Result<Json, StoreError> {
    Tour { stops: Vec::new(), legs: Vec::new() }.write(data)?;
    told(data, true)
}

/// Edits the running tour.
fn edit(data: &Transaction<'_>, change: impl FnOnce(&mut Tour) -> Result<(), StoreError>) -> Result<Json, StoreError> {
    let mut tour = Tour::read(data)?;
    if tour.stops.is_empty() {
        return refused("Navigation is not running.");
    }
    change(&mut tour)?;
    if tour.stops.len() < 2 {
        return refused("A tour keeps a start and a destination.");
    }
    tour.write(data)?;
    told(data, false)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Add {
    waypoint_id_to_add: String,
    waypoint_id_before: String,
    route_id_to_waypoint: String,
    route_id_from_waypoint: Option<String>,
}

pub(crate) fn add(data: &Transaction<'_>, asked: Add) -> Result<Json, StoreError> {
    edit(data, |tour| {
        let at = tour.position(&asked.waypoint_id_before)? + 1;
        let legs = [Some(asked.route_id_to_waypoint.as_str()), asked.route_id_from_waypoint.as_deref()];
        tour.replace(at, 0, &[&asked.waypoint_id_to_add], &legs);
        Ok(())
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Replace {
    waypoint_id_to_replace: String,
    new_waypoint_id: String,
    route_id_to_waypoint: String,
    route_id_from_waypoint: String,
}

pub(crate) fn replace(data: &Transaction<'_>, asked: Replace) -> Result<Json, StoreError> {
    edit(data, |tour| {
        let at = tour.position(&asked.waypoint_id_to_replace)?;
        let legs = [Some(asked.route_id_to_waypoint.as_str()), Some(asked.route_id_from_waypoint.as_str())];
        tour.replace(at, 1, &[&asked.new_waypoint_id], &legs);
        Ok(())
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Destination {
    new_destination_id: String,
    route_id_to_destination: String,
}

pub(crate) fn replace_destination(data: &Transaction<'_>, asked: Destination) -> Result<Json, StoreError> {
    edit(data, |tour| {
        let at = tour.stops.len().saturating_sub(1);
        tour.replace(at, 1, &[&asked.new_destination_id], &[Some(&asked.route_id_to_destination)]);
        Ok(())
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Delete {
    waypoint_id_to_delete: String,
    route_id_without_waypoint: String,
}

pub(crate) fn delete(data: &Transaction<'_>, asked: Delete) -> Result<Json, StoreError> {
    edit(data, |tour| {
        let at = tour.position(&asked.waypoint_id_to_delete)?;
        tour.replace(at, 1, &[], &[Some(&asked.route_id_without_waypoint)]);
        Ok(())
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeleteDestination {
    destination_id_to_delete: String,
}

pub(crate) fn delete_destination(data: &Transaction<'_>, asked: DeleteDestination) -> Result<Json, StoreError> {
    edit(data, |tour| {
        if tour.stops.last() != Some(&asked.destination_id_to_delete) {
            return refused(format!("{} is not the destination of the tour.", asked.destination_id_to_delete));
        }
        tour.replace(tour.stops.len().saturating_sub(1), 1, &[], &[]);
        Ok(())
    })
}
