//! Phone and mail. Nothing leaves the machine: a log takes the place of the network.

use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Transaction, params};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::navigation;
use crate::store::{StoreError, rows};

/// Seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Number {
    phone_number: String,
}

pub(crate) fn call(data: &Transaction<'_>, asked: Number) -> Result<Json, StoreError> {
    data.execute("INSERT INTO phone_call VALUES (?1, ?2)", params![now(), asked.phone_number])?;
    Ok(json!({}))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mail {
    email_addresses: Vec<String>,
    content_message: String,
}

pub(crate) fn send(data: &Transaction<'_>, asked: Mail) -> Result<Json, StoreError> {
    let all = params![now(), Json::from(asked.email_addresses).to_string(), asked.content_message];
    data.execute("INSERT INTO mail VALUES (?1, ?2, ?3)", all)?;
    Ok(json!({}))
}

/// Everything that was called, mailed and set.
pub(crate) fn show(data: &Transaction<'_>) -> Result<Json, StoreError> {
    let calls = rows(data, "SELECT at, phone_number FROM phone_call ORDER BY rowid", [], |row| {
        Ok(json!({"at": row.get::<_, i64>(0)?, "phone_number": row.get::<_, String>(1)?}))
    })?;
    let mails = rows(data, "SELECT at, recipients, content FROM mail ORDER BY rowid", [], |row| {
        let recipients: Json = serde_json::from_str(&row.get::<_, String>(1)?).unwrap_or_default();
        Ok(
            json!({"at": row.get::<_, i64>(0)?, "email_addresses": recipients, "content_message": row.get::<_, String>(2)?}),
        )
    })?;
    Ok(json!({"phone_calls": calls, "mails": mails, "navigation": navigation::state(data, navigation::Nothing {})?}))
}
