//! The signed envelope around a compiled policy.

use serde::{Deserialize, Serialize};

use super::frame::{self, Frame, Kind};
use super::key::{KeyId, SecretKey};
use super::{InventoryDigest, UpdateError};
use crate::policy::{FORMAT, Policy};

/// Longest name of a policy or a target, in bytes.
const NAME: usize = 128;

pub(super) const ENVELOPE: Kind = Kind {
    magic: b"OBLIPOLU",
    format: 1,
    name: "envelope",
    expected: "a policy update",
    header: 1024,
    // A blob is capped at 8 MiB of content behind a header of its own.
    content: 8 * 1024 * 1024 + 64,
};

/// Largest update that is read, in bytes.
pub fn largest_update() -> u64 {
    ENVELOPE.most() as u64
}

/// What the signer says of a policy (design §9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The key that signs.
    pub key: KeyId,
    /// Name of the policy set.
    pub policy: String,
    /// Version of the policy: every content has its own, later ones are greater.
    pub version: u64,
    /// The product it is for.
    pub target: String,
    /// Oldest blob format of an engine that may run it.
    pub oldest: u16,
    /// Newest blob format of an engine that may run it.
    pub newest: u16,
    /// The tools it was compiled for.
    pub inventory: InventoryDigest,
    /// Valid from, in seconds since 1970, UTC.
    pub not_before: u64,
    /// No longer valid from, in seconds since 1970, UTC.
    pub expires: u64,
}

/// What the signer decides on.
#[derive(Debug, Clone)]
pub struct Issue<'a> {
    /// The product it is for.
    pub target: &'a str,
    /// Version of the policy.
    pub version: u64,
    /// Valid from, in seconds since 1970, UTC.
    pub not_before: u64,
    /// No longer valid from, in seconds since 1970, UTC.
    pub expires: u64,
}

impl Header {
    /// Whether a signer could have meant it.
    pub(super) fn check(&self) -> Result<(), UpdateError> {
        let wrong = |why: &str| Err(UpdateError::Header(why.to_owned()));
        if self.policy.is_empty() || self.policy.len() > NAME || self.target.is_empty() || self.target.len() > NAME {
            return wrong("the names of policy and target have 1 to 128 bytes");
        }
        if self.version == 0 {
            return wrong("versions count from 1; 0 is the factory policy");
        }
        if self.not_before >= self.expires {
            return wrong("it expires before it becomes valid");
        }
        if self.oldest > self.newest {
            return wrong("its range of formats is empty");
        }
        Ok(())
    }
}

/// Signs a compiled policy.
///
/// # Errors
/// [`UpdateError`] when the blob cannot be loaded, or when nobody could accept the result.
pub fn sign(blob: &[u8], issue: &Issue<'_>, key: &SecretKey) -> Result<(Header, Vec<u8>), UpdateError> {
    let policy = Policy::from_blob(blob)?;
    let header = Header {
        key: key.public().id(),
        policy: policy.id.clone(),
        version: issue.version,
        target: issue.target.to_owned(),
        oldest: FORMAT,
        newest: FORMAT,
        inventory: InventoryDigest::of(&policy.inventory),
        not_before: issue.not_before,
        expires: issue.expires,
    };
    header.check()?;
    let envelope = frame::seal(&ENVELOPE, &header, blob, key)?;
    Ok((header, envelope))
}

/// What an update says of itself, with nothing verified: for people to look at.
///
/// # Errors
/// [`UpdateError`] when it is not a whole update.
pub fn unverified(bytes: &[u8]) -> Result<(Header, &[u8]), UpdateError> {
    let frame = Frame::parse(&ENVELOPE, bytes)?;
    let header: Header = frame.header()?;
    header.check()?;
    Ok((header, frame.content))
}
