//! Whether an update is taken: one total function over typed inputs.

use sha2::{Digest, Sha256};

use super::envelope::{ENVELOPE, Header};
use super::error::ITSELF;
use super::floor::Floor;
use super::frame::Frame;
use super::time::{Moment, Reading};
use super::trust::{Standing, Trust};
use super::{InventoryDigest, UpdateError};
use crate::policy::{FORMAT, Policy};

/// What the car has committed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Installed {
    /// The rollback floor.
    pub floor: Floor,
}

/// An update that was accepted: the only thing that goes into a slot. [`accept`] alone makes it.
#[derive(Debug)]
pub struct Accepted {
    header: Header,
    policy: Policy,
    digest: [u8; 32],
    envelope: Vec<u8>,
}

impl Accepted {
    /// What its signer says of it.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The policy, loaded and checked.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// SHA-256 of the whole envelope.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The envelope as it was delivered.
    pub(super) fn envelope(&self) -> &[u8] {
        &self.envelope
    }

    pub(super) fn into_policy(self) -> (Header, Policy) {
        (self.header, self.policy)
    }
}

/// Decides on an update. Nothing is read or written besides the arguments; the same arguments give the
/// same answer.
///
/// A clock that is not set decides nothing in the update's favour: what certainly is past (a moment known
/// to have passed lies behind its expiry) is [`UpdateError::Expired`], everything else is
/// [`UpdateError::ClockUnset`], which says to try again. It is never called "not yet valid" or "expired"
/// on the word of such a clock.
///
/// # Errors
/// [`UpdateError`], the first that applies in the order of the steps below.
pub fn accept(bytes: &[u8], trust: &Trust, installed: &Installed, now: Reading) -> Result<Accepted, UpdateError> {
    // Uptane 5.4.4.6, step 1; TUF 5.6.1: bounded, whole, and nothing behind its end.
    let frame = Frame::parse(&ENVELOPE, bytes)?;
    let header: Header = frame.header()?;
    authentic(&frame, &header, trust)?;
    // From here on the header says what its signer meant.
    header.check()?;
    addressed(&header, trust)?;
    readable(&header)?;
    let digest = Sha256::digest(bytes).into();
    newer(&header, &digest, &installed.floor)?;
    timely(&header, now, trust.epoch.max(installed.floor.seen))?;
    let policy = Policy::from_blob(frame.content)?;
    as_signed(&header, &policy, trust)?;
    Ok(Accepted { header, policy, digest, envelope: bytes.to_vec() })
}

/// Uptane 5.4.4.6, step 3; TUF 5.6.3: an arbitrary software attack. The key must be known and not revoked
/// (Uptane 5.1.1) before its signature counts.
fn authentic(frame: &Frame<'_>, header: &Header, trust: &Trust) -> Result<(), UpdateError> {
    match trust.standing(header.key) {
        Standing::Unknown => Err(UpdateError::UnknownKey(header.key)),
        Standing::Revoked(_) => Err(UpdateError::RevokedKey(header.key)),
        Standing::InUse(key) if key.verifies(frame.signed, frame.signature) => Ok(()),
        Standing::InUse(_) => Err(UpdateError::BadSignature(header.key)),
    }
}

/// Uptane 5.4.3.4, step 3: the hardware identifier is ours (a mix-and-match attack). Design §9: so is the
/// policy set.
pub(super) fn addressed(header: &Header, trust: &Trust) -> Result<(), UpdateError> {
    if header.target != trust.target {
        return Err(UpdateError::WrongTarget { found: header.target.clone(), expected: trust.target.clone() });
    }
    if header.policy != trust.policy {
        return Err(UpdateError::WrongPolicy { found: header.policy.clone(), expected: trust.policy.clone() });
    }
    Ok(())
}

/// Design §9: the engine's format lies in the signed range.
fn readable(header: &Header) -> Result<(), UpdateError> {
    if header.oldest > FORMAT {
        return Err(UpdateError::NewerFormat { what: "blob", found: header.oldest, known: FORMAT });
    }
    if header.newest < FORMAT {
        return Err(UpdateError::OlderFormat { found: header.newest, known: FORMAT });
    }
    Ok(())
}

/// Uptane 5.4.4.6, step 4; TUF 5.4.3: a rollback attack. The same version is the same content, so that a
/// delivery may be repeated, or nothing at all.
fn newer(header: &Header, digest: &[u8; 32], floor: &Floor) -> Result<(), UpdateError> {
    if header.version < floor.policy {
        return Err(UpdateError::Rollback { found: header.version, floor: floor.policy });
    }
    if header.version == floor.policy && *digest != floor.digest {
        return Err(UpdateError::SameVersion(header.version));
    }
    Ok(())
}

/// Uptane 5.4.4.6, step 5; TUF 5.6.5: a freeze attack. Uptane takes the latest securely attested time where
/// there is no clock; here that can only show that an update *is* expired.
fn timely(header: &Header, reading: Reading, passed: u64) -> Result<(), UpdateError> {
    let expires = header.expires;
    match Moment::of(reading, passed) {
        Moment::At(now) if now >= expires => Err(UpdateError::Expired { expires, now, clock: true }),
        Moment::After(now) if now >= expires => Err(UpdateError::Expired { expires, now, clock: false }),
        Moment::At(now) if now < header.not_before => Err(UpdateError::NotYetValid(header.not_before)),
        Moment::At(_) => Ok(()),
        Moment::After(passed) => Err(UpdateError::ClockUnset { reading: reading.0, passed }),
    }
}

/// Uptane 5.4.3.4, step 7: the content is what the header speaks of. Design §9: so are its tools, and they
/// are those that the image implements.
fn as_signed(header: &Header, policy: &Policy, trust: &Trust) -> Result<(), UpdateError> {
    if policy.id != header.policy {
        return Err(UpdateError::WrongPolicy { found: policy.id.clone(), expected: header.policy.clone() });
    }
    let signed = header.inventory.to_string();
    let found = InventoryDigest::of(&policy.inventory);
    if found != header.inventory {
        return Err(UpdateError::Inventory { signed, against: ITSELF, found: found.to_string() });
    }
    match trust.inventories.first() {
        Some(first) if !trust.inventories.contains(&header.inventory) => {
            Err(UpdateError::Inventory { signed, against: "the inventory of this image", found: first.to_string() })
        }
        _ => Ok(()),
    }
}
