//! A compiled policy: rules as flat programs, the model they read, and the blob they travel in.
//!
//! The compiler (`compile/`, host only) lowers Cedar to [`Program`]s; this module evaluates them
//! without recursion and without allocation, over a [`Frame`] that loads values on demand.

mod blob;
mod derived;
mod eval;
mod limits;
mod phrases;
mod program;
mod rule;
mod set;
mod spoken;
mod template;

pub use blob::{BlobError, FORMAT};
pub use derived::{Derived, DerivedFn};
pub use eval::{Frame, Truth, Val, evaluate};
pub use limits::{HardLimit, HardLimitError, HardLimits};
pub use phrases::Phrases;
pub use program::{Compare, DraftFeature, Op, Program, ProgramError, ReplyFeature, Slot, SlotIx, Tables, When};
pub use rule::{Rule, RuleIx, RuleKind, Trigger};
pub use set::{Advice, Policy, PolicyParts};
pub use template::{ArgumentTemplate, CallTemplate, Piece, TextTemplate};
