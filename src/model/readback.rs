//! What was read after a write.

use serde::{Deserialize, Serialize};

/// One field after a write: what the write should have made of it and what the car says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadBack {
    /// The field, as results spell it.
    pub field: String,
    /// What the write should have made of it, in natural units.
    pub wanted: String,
    /// What the car reads, in natural units; `unknown` where it reads nothing.
    pub read: String,
    /// Whether the two agree.
    pub confirmed: bool,
}
