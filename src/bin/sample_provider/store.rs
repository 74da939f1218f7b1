//! Its database: one transaction a call, on disk before the call is answered.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use crate::seed;

const SCHEMA: &str = include_str!("schema.sql");
/// Version of the schema, kept in the file.
const VERSION: i64 = 1;

/// Why the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// SQLite says no.
    #[error("the database cannot be used: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// Made by another version.
    #[error("the database has schema {0}, this program knows {VERSION}")]
    Version(i64),
    /// The sample data are wrong.
    #[error("the sample data cannot be read: {0}")]
    Sample(String),
    /// What a call asks for cannot be done; nothing changed.
    #[error("{0}")]
    Refused(String),
}

/// The database.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Connection,
}

impl Store {
    /// Opens a database, makes and fills it where it is new.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let mut connection = Connection::open(path)?;
        // What was answered as done has to be so after the power failed.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version: i64 = change.pragma_query_value(None, "user_version", |row| row.get(0))?;
        match version {
            0 => {
                change.execute_batch(SCHEMA)?;
                seed::fill(&change)?;
                change.pragma_update(None, "user_version", VERSION)?;
            }
            VERSION => {}
            other => return Err(StoreError::Version(other)),
        }
        change.commit()?;
        Ok(Self { connection })
    }

    /// Works on the data: all of it, or nothing where there is an error.
    pub(crate) fn call<R>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        let change = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = work(&change)?;
        change.commit()?;
        Ok(result)
    }
}

/// Notes that a write is carried out; an error where it was before.
pub(crate) fn once(data: &Transaction<'_>, call: &str) -> Result<(), StoreError> {
    let before = data.query_row("SELECT 1 FROM carried_out WHERE call = ?1", [call], |_| Ok(())).optional()?;
    if before.is_some() {
        return Err(StoreError::Refused("This call was carried out already.".to_owned()));
    }
    data.execute("INSERT INTO carried_out VALUES (?1)", [call])?;
    Ok(())
}

/// All rows of a query, as JSON or whatever else is made of each.
pub(crate) fn rows<R>(
    data: &Transaction<'_>,
    query: &str,
    arguments: impl rusqlite::Params,
    each: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<R>,
) -> Result<Vec<R>, StoreError> {
    let mut statement = data.prepare(query)?;
    Ok(statement.query_map(arguments, each)?.collect::<Result<_, _>>()?)
}

/// A number as the tools write it: whole ones without a fraction.
pub(crate) fn number(value: f64) -> serde_json::Value {
    #[expect(clippy::cast_possible_truncation, reason = "distances are far below 2^53")]
    if value.fract() == 0.0 { (value as i64).into() } else { value.into() }
}
