//! What can be wrong with an update. Each variant names the attack or the fault.

use std::io;
use std::path::PathBuf;

use super::{KeyId, utc};
use crate::policy::{BlobError, HardLimitError};

/// What is tried with a delivered file, which lies elsewhere than our own.
pub(super) const DELIVERED: &str = "read the delivered";

/// What an inventory is compared with that no change of the car mends.
pub(super) const ITSELF: &str = "the inventory inside it";

/// Why an update is not taken, or cannot be carried on with. Nothing is changed then, unless it says so.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// A symbolic link, a pipe, a device or a folder in the place of a file.
    #[error("{path} is {what}, not a regular file; it may lead anywhere and is not read")]
    NotAFile {
        /// What was delivered.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Larger than any update, so that reading it would exhaust the head unit (endless data attack).
    #[error("the update takes {found} bytes or more, more than the {most} that are accepted (endless data attack)")]
    Oversized {
        /// Bytes found or claimed.
        found: u64,
        /// The cap.
        most: u64,
    },
    /// The medium that it lies on does not answer.
    #[error("the delivered file could not be read in {0} s; deliver it from a medium that answers")]
    Slow(u64),
    /// Something else.
    #[error("this is not {expected} (its first bytes say so); deliver what `obligato sign` wrote")]
    NotAnUpdate {
        /// What was expected.
        expected: &'static str,
    },
    /// Cut off.
    #[error("the update is truncated: {found} bytes of {expected}; deliver it again")]
    Truncated {
        /// Bytes found.
        found: usize,
        /// Bytes that its header promises.
        expected: usize,
    },
    /// More than it should be.
    #[error("the update has {0} trailing bytes that no signature covers; deliver it again")]
    Trailing(usize),
    /// A later format of the envelope, or a policy for later engines alone.
    #[error("the update needs the {what} format {found}, this release knows up to {known}; update the release first")]
    NewerFormat {
        /// Which format.
        what: &'static str,
        /// What it needs.
        found: u16,
        /// What this release knows.
        known: u16,
    },
    /// A policy for earlier engines alone.
    #[error("the policy was made for blob formats up to {found}, this release reads {known}; compile and sign it anew")]
    OlderFormat {
        /// The newest format it is for.
        found: u16,
        /// The format of this release.
        known: u16,
    },
    /// A header that no `obligato sign` writes.
    #[error("the header of the update cannot be used: {0}; sign it again")]
    Header(String),
    /// Signed by a key that nobody vouches for (arbitrary software attack).
    #[error(
        "the update is signed by the unknown key {0} (arbitrary software attack); deliver the list of keys first if it is new"
    )]
    UnknownKey(KeyId),
    /// Signed by a key that was withdrawn (compromised key).
    #[error("the update is signed by the revoked key {0} (key compromise); sign it with a key in use")]
    RevokedKey(KeyId),
    /// The signature does not belong to these bytes (arbitrary software attack).
    #[error("the signature by key {0} does not belong to these bytes (arbitrary software attack, or damage)")]
    BadSignature(KeyId),
    /// For another product.
    #[error("the update is for the target `{found}`, this one is `{expected}`; deliver it there")]
    WrongTarget {
        /// Its target.
        found: String,
        /// This target.
        expected: String,
    },
    /// Another policy set.
    #[error("the update is the policy `{found}`, this car runs `{expected}`; one set does not replace another")]
    WrongPolicy {
        /// Its policy.
        found: String,
        /// This car's policy.
        expected: String,
    },
    /// Older than what was committed (rollback attack).
    #[error("version {found} is older than version {floor}, which this car has committed to (rollback attack)")]
    Rollback {
        /// Its version.
        found: u64,
        /// The rollback floor.
        floor: u64,
    },
    /// Another content under a version that is taken (rollback attack).
    #[error(
        "version {0} was committed with another content (rollback attack); every content needs a version of its own"
    )]
    SameVersion(u64),
    /// Older than the list of keys in use (rollback attack).
    #[error("list {found} of keys is older than list {floor}, which is in use (rollback attack)")]
    KeysRollback {
        /// Its version.
        found: u64,
        /// The list in use.
        floor: u64,
    },
    /// A list that would leave the policy in force without a key.
    #[error("the list of keys does not know {0}, which signed a policy in use; list it, among the revoked if need be")]
    KeysForget(KeyId),
    /// Past its expiry (freeze attack).
    #[error(
        "the update expired on {}, {} (freeze attack: somebody holds back newer ones); sign it anew{}",
        utc(*.expires),
        known(*.now, *.clock),
        if *.clock { ", or set the clock if it is ahead" } else { "" }
    )]
    Expired {
        /// When, in seconds since 1970, UTC.
        expires: u64,
        /// What time it is at least, in seconds since 1970, UTC.
        now: u64,
        /// Whether the clock says so; else the car remembers it.
        clock: bool,
    },
    /// Before its time.
    #[error("the update is not valid before {}; deliver it then", utc(*.0))]
    NotYetValid(u64),
    /// The time cannot be told.
    #[error(
        "the clock is not set ({}, the car remembers that {} has passed), so nobody can tell whether the update is \
         valid yet or expired; try again when it is",
        clock_says(*.reading),
        utc(*.passed)
    )]
    ClockUnset {
        /// What the clock says, in seconds since 1970, UTC.
        reading: Option<u64>,
        /// A moment that has passed: the image was built, the policy in force became valid.
        passed: u64,
    },
    /// The blob inside cannot be used.
    #[error("the policy inside the update cannot be used: {0}")]
    Blob(#[from] BlobError),
    /// Signed for tools that are not these.
    #[error("the policy was signed for the tool inventory {signed}, {against} is {found}; compile and sign it for it")]
    Inventory {
        /// The digest in the header.
        signed: String,
        /// What it was compared with.
        against: &'static str,
        /// Its digest.
        found: String,
    },
    /// The car lacks something that this policy does not know.
    #[error("the car is configured for `{0}`, which the policy does not know: its inventory no longer fits the car")]
    UnknownPart(String),
    /// A rule that the car could not keep.
    #[error(
        "the rule `{rule}` needs the tool `{tool}`, which nothing in this car serves: the inventory breaks the rule"
    )]
    BrokenRule {
        /// The rule.
        rule: String,
        /// The tool.
        tool: String,
    },
    /// The car cannot be set up for what this policy says of it.
    #[error("the car cannot be set up for this policy: {0}")]
    Car(String),
    /// The hard limits of the image do not fit.
    #[error(transparent)]
    Limits(#[from] HardLimitError),
    /// Its own tests fail; the last good policy is in force.
    #[error("the health check of version {version} failed: {why}; version {back} is in force again")]
    Unhealthy {
        /// Its version.
        version: u64,
        /// What failed.
        why: String,
        /// The version in force; 0: the factory's.
        back: u64,
    },
    /// Its own tests fail before it was put in force; it is still staged.
    #[error("the health check of the staged version {version} failed: {why}; it cannot be put in force")]
    Unfit {
        /// Its version.
        version: u64,
        /// What failed.
        why: String,
    },
    /// Nothing is staged.
    #[error("nothing is staged; stage an update first")]
    NothingStaged,
    /// Nothing waits for a decision.
    #[error("no policy is on trial; there is nothing to {0}")]
    NothingToDo(&'static str),
    /// Another version is where the named one was to be: somebody else's, which is left alone.
    #[error(
        "version {meant} is not {place}, {found} is: it was undone or another one took its place; deliver it again"
    )]
    OtherVersion {
        /// The version that was named.
        meant: u64,
        /// Where it was to be.
        place: &'static str,
        /// What is there.
        found: String,
    },
    /// From what was committed there is no way back.
    #[error("version {0} is committed and cannot be rolled back; deliver a newer one")]
    Committed(u64),
    /// What is on trial is not in force, so nobody has seen how it does.
    #[error(
        "version {0} is on trial and not in force: its start could not be recorded; roll it back, or restart the service once the disk takes it"
    )]
    PassedOver(u64),
    /// A policy on trial has to be decided upon first.
    #[error("version {0} is on trial; commit it or roll it back first")]
    OnTrial(u64),
    /// Another process works on the slots.
    #[error("the slots in {0} are in use by another process; while obligatod runs, it alone works on them")]
    InUse(PathBuf),
    /// Root, in the folder of somebody who could not use what root leaves there.
    #[error("{folder} belongs to user {owner}, not to root; work on it as that user (`runuser`, `setpriv`)")]
    NotOurs {
        /// The folder.
        folder: PathBuf,
        /// The number of the user.
        owner: u32,
    },
    /// A record of ours is damaged.
    #[error("{path} is damaged: {why}; {remedy}")]
    Damaged {
        /// The record.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
        /// What helps.
        remedy: &'static str,
    },
    /// The trust file of the image cannot be used.
    #[error("the trust file cannot be used: {0}")]
    Trust(String),
    /// A key cannot be read.
    #[error("{0}")]
    Key(String),
    /// The file system refused.
    #[error("cannot {what} {path}: {source}{}", remedy(.what, .source))]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Kinds of errors, for whoever branches on them: a name on D-Bus, an exit code on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// It is not an intact update.
    Malformed,
    /// No key in use vouches for it, and none ever will.
    NotAuthentic,
    /// Nobody vouches for its key, as yet: a list of keys may.
    UnknownKey,
    /// Older than what was committed to.
    Rollback,
    /// Expired, as a moment shows that has surely passed.
    Expired,
    /// Expired if the clock is right.
    ExpiredByClock,
    /// Not valid yet.
    NotYetValid,
    /// The clock is not set.
    ClockUnset,
    /// Genuine, but not for this car.
    DoesNotFit,
    /// Not for this car as it is: what it serves, its set-up or its image may change.
    NotYetFit,
    /// Its own tests fail here.
    Unhealthy,
    /// There is nothing to do.
    NothingToDo,
    /// The version that was named is not where the step needs it.
    OtherVersion,
    /// Something else must end first.
    Busy,
    /// The storage or the set-up is at fault.
    Storage,
}

impl UpdateError {
    /// Which kind it is.
    pub fn class(&self) -> Class {
        match self {
            Self::NotAFile { .. }
            | Self::Oversized { .. }
            | Self::NotAnUpdate { .. }
            | Self::Truncated { .. }
            | Self::Trailing(_)
            | Self::Header(_)
            | Self::Blob(_) => Class::Malformed,
            Self::UnknownKey(_) => Class::UnknownKey,
            Self::RevokedKey(_) | Self::BadSignature(_) => Class::NotAuthentic,
            Self::Rollback { .. } | Self::SameVersion(_) | Self::KeysRollback { .. } => Class::Rollback,
            Self::Expired { clock: false, .. } => Class::Expired,
            Self::Expired { clock: true, .. } => Class::ExpiredByClock,
            Self::NotYetValid(_) => Class::NotYetValid,
            Self::ClockUnset { .. } => Class::ClockUnset,
            Self::OlderFormat { .. } | Self::WrongTarget { .. } | Self::WrongPolicy { .. } => Class::DoesNotFit,
            Self::Inventory { against: ITSELF, .. } => Class::DoesNotFit,
            Self::Inventory { .. }
            | Self::NewerFormat { .. }
            | Self::KeysForget(_)
            | Self::UnknownPart(_)
            | Self::BrokenRule { .. }
            | Self::Car(_)
            | Self::Limits(_) => Class::NotYetFit,
            Self::Unhealthy { .. } | Self::Unfit { .. } => Class::Unhealthy,
            Self::NothingStaged | Self::NothingToDo(_) => Class::NothingToDo,
            Self::OtherVersion { .. } | Self::Committed(_) | Self::PassedOver(_) => Class::OtherVersion,
            Self::OnTrial(_) | Self::InUse(_) => Class::Busy,
            Self::Slow(_)
            | Self::NotOurs { .. }
            | Self::Damaged { .. }
            | Self::Trust(_)
            | Self::Key(_)
            | Self::Io { .. } => Class::Storage,
        }
    }

    /// An error of the file system, with what was tried.
    pub(super) fn io<'a>(what: &'static str, path: &'a std::path::Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { what, path: path.to_owned(), source }
    }
}

/// How the time is known.
fn known(now: u64, clock: bool) -> String {
    match clock {
        true => format!("and it is {} now", utc(now)),
        false => format!("and the car remembers that {} has passed", utc(now)),
    }
}

fn clock_says(clock: Option<u64>) -> String {
    clock.map_or_else(|| "it says nothing".to_owned(), |clock| format!("it says {}", utc(clock)))
}

/// What helps, where that is known.
fn remedy(what: &str, source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied if what == DELIVERED => "; whoever runs this has to be let read it",
        io::ErrorKind::PermissionDenied => "; what lies there has to belong to the user that the service runs as",
        io::ErrorKind::ReadOnlyFilesystem => "; make it writable and restart the service",
        io::ErrorKind::StorageFull => "; make room and try again",
        _ => "",
    }
}
