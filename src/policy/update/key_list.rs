//! The list of keys: rotation and revocation, signed by the root key.

use serde::{Deserialize, Serialize};

use super::UpdateError;
use super::frame::{self, Frame, Kind};
use super::key::{PublicKey, SecretKey};
use super::trust::Trust;

const LIST: Kind = Kind {
    magic: b"OBLIKEYS",
    format: 1,
    name: "key list",
    expected: "a list of keys",
    // A thousand keys.
    header: 64 * 1024,
    content: 0,
};

/// Largest list that is read, in bytes.
pub fn largest_list() -> u64 {
    LIST.most() as u64
}

#[derive(Serialize, Deserialize)]
struct Written {
    version: u64,
    keys: Vec<[u8; 32]>,
    revoked: Vec<[u8; 32]>,
}

/// A list of keys, whose signature was verified unless it comes from [`KeyList::unverified`]. Lists replace each other as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyList {
    version: u64,
    keys: Vec<PublicKey>,
    revoked: Vec<PublicKey>,
    bytes: Vec<u8>,
}

impl KeyList {
    /// Verifies a list against the root key of the image.
    ///
    /// # Errors
    /// [`UpdateError`] naming what is wrong.
    pub fn verify(bytes: &[u8], trust: &Trust) -> Result<Self, UpdateError> {
        let frame = Frame::parse(&LIST, bytes)?;
        let no_root = || UpdateError::Trust("it names no `root`, so no list of keys can be verified".to_owned());
        let root = trust.root.ok_or_else(no_root)?;
        // TUF 1.0.34, 5.3.4 and Uptane 5.4.4.3: an arbitrary software attack on the root of trust.
        if !root.verifies(frame.signed, frame.signature) {
            return Err(UpdateError::BadSignature(root.id()));
        }
        Self::read(&frame, bytes)
    }

    /// What a list says, with nothing verified: for people to look at.
    ///
    /// # Errors
    /// [`UpdateError`] when it is no list.
    pub fn unverified(bytes: &[u8]) -> Result<Self, UpdateError> {
        Self::read(&Frame::parse(&LIST, bytes)?, bytes)
    }

    fn read(frame: &Frame<'_>, bytes: &[u8]) -> Result<Self, UpdateError> {
        let written: Written = frame.header()?;
        let keys = |list: &[[u8; 32]]| list.iter().map(PublicKey::from_bytes).collect::<Result<Vec<_>, _>>();
        Ok(Self {
            version: written.version,
            keys: keys(&written.keys)?,
            revoked: keys(&written.revoked)?,
            bytes: bytes.to_vec(),
        })
    }

    /// Whether it may follow the list in use. TUF asks for exactly the next version (1.0.34, 5.3.5),
    /// because its lists are signed by the keys of the one before; ours are all signed by the root key, so
    /// a car that missed some goes on with the newest.
    pub(super) fn follows(&self, floor: u64, in_use: Option<&Self>) -> Result<(), UpdateError> {
        if self.version < floor {
            return Err(UpdateError::KeysRollback { found: self.version, floor });
        }
        match in_use.filter(|list| list.version == self.version && list.bytes != self.bytes) {
            Some(list) => Err(UpdateError::SameVersion(list.version)),
            None => Ok(()),
        }
    }

    /// Its version.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Keys in use besides those of the image.
    pub fn keys(&self) -> &[PublicKey] {
        &self.keys
    }

    /// Keys that sign nothing any more.
    pub fn revoked(&self) -> &[PublicKey] {
        &self.revoked
    }

    /// As it was delivered.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Signs a list of keys by the root key.
///
/// # Errors
/// [`UpdateError`] when a key is both listed and revoked, when the root key is among them, or when there are too
/// many.
pub fn sign_keys(
    version: u64,
    keys: &[PublicKey],
    revoked: &[PublicKey],
    root: &SecretKey,
) -> Result<Vec<u8>, UpdateError> {
    if version == 0 {
        return Err(UpdateError::Header("versions of lists count from 1".to_owned()));
    }
    if let Some(key) = keys.iter().find(|key| revoked.contains(key)) {
        return Err(UpdateError::Key(format!("{} is listed and revoked at once; decide", key.id())));
    }
    let own = root.public();
    if keys.iter().chain(revoked).any(|key| *key == own) {
        return Err(UpdateError::Key(format!(
            "{} is the root key, which signs lists of keys and nothing else; a new image replaces it",
            own.id()
        )));
    }
    let bytes = |list: &[PublicKey]| list.iter().map(|key| *key.as_bytes()).collect();
    frame::seal(&LIST, &Written { version, keys: bytes(keys), revoked: bytes(revoked) }, &[], root)
}
