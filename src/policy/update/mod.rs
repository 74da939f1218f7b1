//! Updates of the policy (design §9).
//!
//! ```text
//! delivered file ─▶ intake ─▶ accept ─▶ stage ─▶ verify ─▶ activate ─▶ commit
//!   (CLI, D-Bus,     regular?   signature,  staged   again,    current,    the floor
//!    drop folder)    small?     version,    slot     and its   on trial    rises
//!                               time, …      │       tests        │
//!                                            └▶ unstage           └▶ roll back: previous, else factory
//! ```
//!
//! Several update tools may deliver at a time. A step therefore says which update it means ([`Meant`]),
//! and leaves what somebody else delivered alone.
//!
//! The service verifies an update itself, whoever delivered it. [`accept`] is the only maker of
//! [`Accepted`], and nothing else is put into a slot. Each step cites what asks for it: TUF (The Update
//! Framework, 1.0.34), Uptane (Uptane Standard, 2.1.0; its steps are numbered as in its section "How to
//! check Targets metadata") or design §9.

mod accept;
mod disk;
mod envelope;
mod error;
mod floor;
mod frame;
mod intake;
mod inventory;
mod key;
mod key_list;
mod lists;
mod meant;
mod owner;
mod record;
mod slots;
mod start;
mod steps;
mod time;
mod trust;

pub use accept::{Accepted, Installed, accept};
pub use disk::{Disk, FolderLock, RealDisk};
pub use envelope::{Header, Issue, largest_update, sign, unverified};
pub use error::{Class, UpdateError};
pub use floor::{Counter, Floor, Floors};
pub use intake::{open_delivered, read_delivered, read_open};
pub use inventory::{InventoryDigest, LiveCar};
pub use key::{KeyId, PublicKey, SecretKey};
pub use key_list::{KeyList, largest_list, sign_keys};
pub use meant::Meant;
pub use owner::Owner;
pub use slots::{Checkup, Mark, Setup, Slots, Status};
pub use start::{Slot, Started};
pub use steps::Activated;
pub use time::{Reading, utc};
pub use trust::Trust;

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Thirty-two bytes from 64 hexadecimal digits.
pub(crate) fn unhex(text: &str) -> Option<[u8; 32]> {
    text.parse().ok().map(|hash: crate::model::PolicyHash| hash.0)
}
