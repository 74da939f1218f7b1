//! A compiled policy: rules as flat programs, the model they read, and the blob they travel in.
//!
//! The compiler (`compile/`, host only) lowers Cedar to [`Program`]s; this module evaluates them
//! without recursion and without allocation, over a [`Frame`] that loads values on demand.

mod beginnings;
mod blob;
mod derived;
mod eval;
pub mod foreign;
mod lexicon;
mod limits;
mod offer;
mod packed;
mod phrases;
mod program;
mod reading;
mod rule;
mod set;
mod shown;
mod spoken;
mod subject;
mod template;
#[cfg(test)]
pub(crate) mod testing;
pub mod update;

pub use blob::{BlobError, FORMAT, is_blob};
pub use derived::{Derived, DerivedFn};
pub use eval::{Frame, Truth, Val, evaluate};
pub use lexicon::{Lexicon, Meaning};
pub use limits::{Broken, HardLimit, HardLimitError, HardLimits};
pub use offer::{Forbid, OFFER_COMPILER, Offer, OfferError};
pub use packed::PackedTests;
pub use phrases::{PhraseError, PhraseRole, Phrases};
pub use program::{
    Compare, DraftFeature, LegFeature, Op, Program, ProgramError, ReplyFeature, Slot, SlotIx, Tables, When,
};
pub use reading::{Hit, Reading};
pub use rule::{Rule, RuleIx, RuleKind, Trigger};
pub use set::{Advice, Policy, PolicyParts};
pub use shown::Vocabulary;
pub use spoken::label;
pub use subject::{SHORTEST, Subject};
pub use template::{ArgumentTemplate, CallTemplate, Piece, TextTemplate};
