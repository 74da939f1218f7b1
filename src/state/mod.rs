//! What is known of the car and of the conversation.
//!
//! [`EffectModel`] says what tools read and write, [`History`] takes in messages one by one and
//! keeps the [`World`] up to date, [`World::apply`] projects a draft. Taking in a message costs the
//! same at the first and at the thousandth one, so a long drive is not a slow one.

mod apply;
mod clock;
mod contents;
mod effects;
mod ground;
mod history;
mod identifiers;
mod ingest;
mod legs;
mod listing;
mod now;
mod observe;
mod owners;
mod tour;
mod vss;
mod world;

pub use apply::Written;
pub use clock::{Clock, ManualClock, SystemClock};
pub use contents::{Contents, Numbers};
pub use effects::{
    Also, AttrIx, AttrType, Attribute, Condition, EffectModel, Entity, EntityIx, GroupIx, ItemArgument, ItemRef,
    Literal, NowPaths, Observation, ObservationField, ResultShape, Roles, Set, SetFrom, Side, ToolEffect,
};
pub use ground::{Ground, Mark};
pub use history::{CallRef, History, Outcome, PastCall, Utterance};
pub use identifiers::{Identifiers, Seen};
pub use ingest::IngestError;
pub use legs::{LegFact, LegFacts, LegFn, is_picked};
pub use listing::{Listing, Told};
pub use now::{Moment, Now, NowField};
pub use observe::select;
pub use owners::{Owners, digits, is_address, is_mail, is_phone, same};
pub use tour::{Leg, OfferedLeg, Stop, Tour, TourEdit};
pub use vss::{Signal, SignalForm, SignalPath, Vss};
pub use world::{Cell, CellIx, Origin, World};
