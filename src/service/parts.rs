//! What a configuration names, loaded.

use std::path::Path;

use super::ServiceError;
use super::config::Config;
use super::run::Parts;
use crate::policy::{HardLimits, Policy};

/// Loads everything but the model, which takes seconds and is loaded by the worker's side.
pub(super) fn load(config: &Config) -> Result<Parts, ServiceError> {
    todo!()
}

fn read(path: &Path) -> Result<Vec<u8>, ServiceError> {
    std::fs::read(path).map_err(|source| ServiceError::File { path: path.to_owned(), source })
}
