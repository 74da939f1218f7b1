//! One verification step: the only place where a draft can become [`Cleared`] (paper 1, Algorithm 2).
//!
//! ```text
//! draft ─ repair spelling ─▶ obligations ─▶ amended draft ─▶ gates ─▶ critic ─▶ valve ─▶ verdict
//! ```

mod again;
mod cleared;
mod decide;
mod question;
mod repair;
mod report;
mod step;
mod valve;

pub use again::Again;
pub use cleared::{Binding, Cleared, SessionId};
pub use report::report;
pub use step::{Checked, Step, Verdict};
pub use valve::Valve;
