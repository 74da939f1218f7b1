//! Why a call came to nothing, where a carrier can tell.

use serde::Serialize;

use crate::model::Value;
use crate::state::CellIx;

/// Causes that are told apart, because each calls for another action of the driver or the workshop.
/// Each has a sentence of its own in the phrase tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Nothing in the car moves this part: its control unit is not there.
    NoProvider,
    /// The broker of the car's signals cannot be reached.
    Unreachable,
    /// The broker is there and does not answer.
    Frozen,
    /// The order was taken, and nothing moved.
    Ignored,
    /// Something moved, but to another value.
    OtherValue,
    /// It arrived after its deadline.
    Late,
    /// The car does not take this value.
    OutOfRange,
    /// This car has no such signal.
    NoSignal,
    /// The car does not say on which side the driver sits, and the call depends on it.
    Side,
    /// We may not do this here.
    Denied,
    /// Our token is not accepted (expired, unreadable, of another broker).
    Token,
    /// Some of the parts moved, others did not.
    Partial,
    /// The car fell asleep before it was done.
    Suspended,
    /// Nobody answered in time.
    Silent,
    /// What was done could not be read back.
    Unread,
    /// The answer makes no sense.
    Unusable,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 16] = [
        Self::NoProvider,
        Self::Unreachable,
        Self::Frozen,
        Self::Ignored,
        Self::OtherValue,
        Self::Late,
        Self::OutOfRange,
        Self::NoSignal,
        Self::Side,
        Self::Denied,
        Self::Token,
        Self::Partial,
        Self::Suspended,
        Self::Silent,
        Self::Unread,
        Self::Unusable,
    ];

    /// Whether it has a whole sentence of its own, because it says itself what became of the call. The
    /// others are a reason why it failed, or why nobody can tell whether it did.
    pub fn is_a_sentence(self) -> bool {
        matches!(self, Self::OtherValue | Self::Late | Self::Partial)
    }

    /// The occasion of the phrase tables on which it is spoken. A sentence has `{what}`, the call, and
    /// `{why}`, the fields as they are; a reason has no holes.
    pub fn occasion(self) -> &'static str {
        match self {
            Self::NoProvider => "cause-no-provider",
            Self::Unreachable => "cause-unreachable",
            Self::Frozen => "cause-frozen",
            Self::Ignored => "cause-ignored",
            Self::OtherValue => "cause-other-value",
            Self::Late => "cause-late",
            Self::OutOfRange => "cause-out-of-range",
            Self::NoSignal => "cause-no-signal",
            Self::Side => "cause-side",
            Self::Denied => "cause-denied",
            Self::Token => "cause-token",
            Self::Partial => "cause-partial",
            Self::Suspended => "cause-suspended",
            Self::Silent => "cause-silent",
            Self::Unread => "cause-unread",
            Self::Unusable => "cause-unusable",
        }
    }
}

/// What became of one field of a call, so that it can be said in any language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The field.
    pub cell: CellIx,
    /// What it says; unknown where nobody can tell.
    pub found: Value,
    /// Whether that is what was ordered.
    pub done: bool,
}

/// A call that was not done, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Why.
    pub cause: Cause,
    /// Whether the car is certainly as it was; otherwise nobody can tell what took effect.
    pub untouched: bool,
    /// What happened to which field, for journals and for the student; never spoken.
    pub detail: String,
    /// What became of its fields, where the vehicle can tell.
    pub parts: Vec<Part>,
}

impl Trouble {
    /// Nothing was sent, or what was sent took no effect.
    pub fn untouched(cause: Cause, detail: impl Into<String>) -> Self {
        Self { cause, untouched: true, detail: detail.into(), parts: Vec::new() }
    }

    /// It may have taken effect.
    pub fn open(cause: Cause, detail: impl Into<String>) -> Self {
        Self { cause, untouched: false, detail: detail.into(), parts: Vec::new() }
    }
}
