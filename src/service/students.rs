//! Which student a configuration names, and how it is loaded.

use super::ServiceError;
use super::config::{StudentConfig, StudentKind};
use super::worker::Load;

/// How to load the models; none where no student is configured. A setting that is missing or that
/// this build does not have is an error at the start; a file that is missing or broken is not: the
/// service then runs without a model and says why.
pub(super) fn loader(config: &StudentConfig) -> Result<Option<Load>, ServiceError> {
    match config.kind {
        StudentKind::None => Ok(None),
        _ => Err(ServiceError::Setting("not wired yet".to_owned())),
    }
}
