//! What the compiler finds.

use super::check;
use crate::compile::critic::Case;

check! {
    /// Finds whatever keeps the set from compiling: a text that is no Cedar, a type that does not fit, a
    /// tool, attribute, argument or field that does not exist, a remedy or a read that the tool's schema
    /// refuses, a sentence that is not there.
    ///
    /// # Why
    /// A rule over a name that nothing provides never fires, and nobody notices.
    ///
    /// # Example
    /// `field = "window_*_positon"`, while the tool returns `window_driver_position`.
    ///
    /// # Mend
    /// Correct the name at the line given; the nearest known name stands beside it. The other checks wait
    /// until the set compiles.
    "grounding"
}

/// A set that compiles has nothing to find here: its errors were findings before any check ran.
fn run(_: &mut Case<'_>) {}
