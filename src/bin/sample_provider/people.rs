//! Contacts and calendar.

use rusqlite::{OptionalExtension, Transaction};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::store::{StoreError, rows};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ByName {
    first_name: Option<String>,
    last_name: Option<String>,
}

pub(crate) fn find(data: &Transaction<'_>, asked: ByName) -> Result<Json, StoreError> {
    let fits = |wanted: &Option<String>, name: &str| {
        wanted.as_ref().is_none_or(|wanted| wanted.to_lowercase() == name.to_lowercase())
    };
    let all = rows(data, "SELECT id, first_name, last_name FROM contact ORDER BY id", [], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
    })?;
    let named = asked.first_name.is_some() || asked.last_name.is_some();
    let found: Vec<Json> = all
        .into_iter()
        .filter(|(_, first, last)| named && fits(&asked.first_name, first) && fits(&asked.last_name, last))
        .map(|(id, first, last)| json!({"contact_id": id, "name": format!("{first} {last}")}))
        .collect();
    match found.is_empty() {
        true => Err(StoreError::Refused("No contact of this name is known.".to_owned())),
        false => Ok(json!({"contacts": found})),
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ById {
    contact_id: String,
}

pub(crate) fn information(data: &Transaction<'_>, asked: ById) -> Result<Json, StoreError> {
    let query = "SELECT first_name, last_name, phone_number, email_address FROM contact WHERE id = ?1";
    let found = data.query_row(query, [&asked.contact_id], |row| {
        Ok(json!({
            "contact_id": asked.contact_id, "first_name": row.get::<_, String>(0)?, "last_name": row.get::<_, String>(1)?,
            "phone_number": row.get::<_, String>(2)?, "email_address": row.get::<_, String>(3)?,
        }))
    });
    found.optional()?.ok_or_else(|| StoreError::Refused("There is no such contact.".to_owned()))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Day {
    /// The sample has appointments of the current day alone, and the calendar is asked for no other.
    #[serde(rename = "month")]
    _month: u8,
    #[serde(rename = "day")]
    _day: u8,
}

pub(crate) fn entries(data: &Transaction<'_>, _: Day) -> Result<Json, StoreError> {
    let query = "SELECT id, start, duration_minutes, topic, location FROM entry ORDER BY start, id";
    let mut entries = rows(data, query, [], |row| {
        Ok(json!({
            "entry_id": row.get::<_, String>(0)?, "start": row.get::<_, String>(1)?,
            "duration_minutes": row.get::<_, i64>(2)?, "topic": row.get::<_, String>(3)?,
            "location": row.get::<_, String>(4)?,
        }))
    })?;
    for entry in entries.iter_mut().filter_map(Json::as_object_mut) {
        let id = entry.get("entry_id").and_then(Json::as_str).unwrap_or_default().to_owned();
        let query = "SELECT contact FROM attendee WHERE entry = ?1 ORDER BY position";
        let attendees = rows(data, query, [id], |row| row.get::<_, String>(0))?;
        entry.insert("attendees".to_owned(), attendees.into());
    }
    Ok(json!({"entries": entries}))
}
