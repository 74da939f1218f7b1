//! Whom this image trusts, and what it is: a file of the image, which only the image's own update changes.

use serde::Deserialize;

use super::key::{KeyId, PublicKey};
use super::{InventoryDigest, KeyList, UpdateError};

/// What the image says of updates.
#[derive(Debug, Clone)]
pub struct Trust {
    /// The product that this is.
    pub(super) target: String,
    /// The policy set that it runs.
    pub(super) policy: String,
    /// A moment that has passed: when the image was built, in seconds since 1970, UTC.
    pub(super) epoch: u64,
    /// Inventories that the image's vehicle layer implements; none: any.
    pub(super) inventories: Vec<InventoryDigest>,
    /// The key that signs lists of keys; none: the keys of the image are all there are.
    pub(super) root: Option<PublicKey>,
    /// Keys of the image.
    keys: Vec<PublicKey>,
    /// The list in use, which adds to the keys of the image and takes from them.
    pub(super) list: Option<KeyList>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    target: String,
    policy: String,
    #[serde(default)]
    epoch: u64,
    #[serde(default)]
    inventory: Vec<String>,
    root: Option<String>,
    #[serde(default)]
    key: Vec<FileKey>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileKey {
    /// For people: who holds it.
    #[serde(rename = "name")]
    _name: String,
    public: String,
}

/// How a key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    InUse(PublicKey),
    Revoked(PublicKey),
    Unknown,
}

impl Trust {
    /// Reads the image's file.
    ///
    /// # Errors
    /// [`UpdateError::Trust`] with what is wrong.
    pub fn parse(text: &str) -> Result<Self, UpdateError> {
        let file: File = toml::from_str(text).map_err(|e| UpdateError::Trust(e.to_string()))?;
        let key = |text: &String| text.parse::<PublicKey>().map_err(|e| UpdateError::Trust(e.to_string()));
        let digest = |text: &String| {
            let wrong = || UpdateError::Trust(format!("`{text}` of `inventory` is no digest of 64 hexadecimal digits"));
            InventoryDigest::from_hex(text).ok_or_else(wrong)
        };
        if file.key.is_empty() && file.root.is_none() {
            return Err(UpdateError::Trust(
                "it names neither a `[[key]]` nor a `root`, so nothing could be verified".to_owned(),
            ));
        }
        Ok(Self {
            target: file.target,
            policy: file.policy,
            epoch: file.epoch,
            inventories: file.inventory.iter().map(digest).collect::<Result<_, _>>()?,
            root: file.root.as_ref().map(key).transpose()?,
            keys: file.key.iter().map(|k| key(&k.public)).collect::<Result<_, _>>()?,
            list: None,
        })
    }

    /// The same with a list of keys in use.
    #[must_use]
    pub fn with_list(&self, list: Option<KeyList>) -> Self {
        Self { list, ..self.clone() }
    }

    /// How a key stands: what the list revokes is revoked, wherever else it is named (Uptane 5.1.1, the
    /// Root role revokes keys). The root key signs lists of keys alone, whatever a list says of it (TUF 6.1:
    /// it is kept offline, which a key that signs every release is not).
    pub(super) fn standing(&self, id: KeyId) -> Standing {
        if self.root.is_some_and(|root| root.id() == id) {
            return Standing::Unknown;
        }
        let (listed, revoked) = self.list.as_ref().map_or((&[][..], &[][..]), |l| (l.keys(), l.revoked()));
        if let Some(key) = revoked.iter().find(|key| key.id() == id) {
            return Standing::Revoked(*key);
        }
        let known = listed.iter().chain(&self.keys).find(|key| key.id() == id);
        known.map_or(Standing::Unknown, |key| Standing::InUse(*key))
    }
}
