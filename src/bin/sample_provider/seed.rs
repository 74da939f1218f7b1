//! The data it begins with.

use std::collections::BTreeMap;

use rusqlite::{Transaction, params};
use serde::Deserialize;

use crate::store::StoreError;

const SAMPLE: &str = include_str!("sample.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    location: Vec<Location>,
    poi: Vec<Poi>,
    route: Vec<Route>,
    contact: Vec<Contact>,
    entry: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Location {
    id: String,
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Poi {
    id: String,
    name: String,
    category: String,
    open_from: Option<String>,
    open_until: Option<String>,
    phone_number: Option<String>,
    near: BTreeMap<String, f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Route {
    id: String,
    start: String,
    destination: String,
    name_via: String,
    distance_km: f64,
    duration_minutes: u32,
    includes_toll: bool,
    alias: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contact {
    id: String,
    first_name: String,
    last_name: String,
    phone_number: String,
    email_address: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    start: String,
    duration_minutes: u32,
    topic: String,
    location: String,
    attendees: Vec<String>,
}

/// Fills an empty database.
pub(crate) fn fill(data: &Transaction<'_>) -> Result<(), StoreError> {
    let sample: Sample = toml::from_str(SAMPLE).map_err(|e| StoreError::Sample(e.to_string()))?;
    for l in sample.location {
        data.execute("INSERT INTO location VALUES (?1, ?2)", params![l.id, l.name])?;
    }
    for p in sample.poi {
        let all = params![p.id, p.name, p.category, p.open_from, p.open_until, p.phone_number];
        data.execute("INSERT INTO poi VALUES (?1, ?2, ?3, ?4, ?5, ?6)", all)?;
        for (place, distance) in p.near {
            data.execute("INSERT INTO near VALUES (?1, ?2, ?3)", params![place, p.id, distance])?;
        }
    }
    for r in sample.route {
        let alias = serde_json::Value::from(r.alias).to_string();
        let (from, to, km) = (r.start, r.destination, r.distance_km);
        data.execute(
            "INSERT INTO route (id, start, destination, name_via, distance_km, duration_minutes, includes_toll, alias)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![r.id, from, to, r.name_via, km, r.duration_minutes, r.includes_toll, alias],
        )?;
    }
    for c in sample.contact {
        let all = params![c.id, c.first_name, c.last_name, c.phone_number, c.email_address];
        data.execute("INSERT INTO contact VALUES (?1, ?2, ?3, ?4, ?5)", all)?;
    }
    for e in sample.entry {
        let all = params![e.id, e.start, e.duration_minutes, e.topic, e.location];
        data.execute("INSERT INTO entry VALUES (?1, ?2, ?3, ?4, ?5)", all)?;
        for (position, contact) in (0_u32..).zip(e.attendees) {
            data.execute("INSERT INTO attendee VALUES (?1, ?2, ?3)", params![e.id, position, contact])?;
        }
    }
    Ok(())
}
