//! Keys: ed25519, named by the SHA-256 of the public key as TUF 1.0.34, 4.2 names them.

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{UpdateError, hex, unhex};

/// Bytes of a signature.
pub(super) const SIGNATURE: usize = 64;
const PUBLIC: &str = "obligato-public-key ed25519 ";
const SECRET: &str = "obligato-secret-key ed25519 ";

/// Name of a key: the SHA-256 of its public half.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KeyId(pub [u8; 32]);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The public half of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// A key from its 32 bytes. Keys of small order are refused: signatures by them prove nothing
    /// (RFC 8032, 5.1.7 leaves that to the verifier).
    ///
    /// # Errors
    /// [`UpdateError::Key`].
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, UpdateError> {
        let key = VerifyingKey::from_bytes(bytes).ok().filter(|key| !key.is_weak());
        key.map(Self).ok_or_else(|| UpdateError::Key(format!("`{}` is no ed25519 public key", hex(bytes))))
    }

    /// Its 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Its name.
    pub fn id(&self) -> KeyId {
        KeyId(Sha256::digest(self.0.as_bytes()).into())
    }

    /// Whether a signature belongs to a message. Strict: one message has one signature by a key, nothing
    /// malleable and no key of small order passes.
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8; SIGNATURE]) -> bool {
        self.0.verify_strict(message, &Signature::from_bytes(signature)).is_ok()
    }
}

impl FromStr for PublicKey {
    type Err = UpdateError;

    /// The line of a public key file, or its 64 hexadecimal digits alone.
    fn from_str(text: &str) -> Result<Self, UpdateError> {
        let digits = text.trim();
        let digits = digits.strip_prefix(PUBLIC).unwrap_or(digits);
        let bytes = unhex(digits).ok_or_else(|| {
            UpdateError::Key(
                "a public key is the line `obligato keygen` wrote, or its 64 hexadecimal digits".to_owned(),
            )
        })?;
        Self::from_bytes(&bytes)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PUBLIC}{}", hex(self.as_bytes()))
    }
}

/// The secret half of a key; it is wiped from memory when it is dropped and never printed.
pub struct SecretKey(SigningKey);

impl SecretKey {
    /// A fresh key from the system's random numbers.
    ///
    /// # Errors
    /// [`UpdateError::Key`] when there are none.
    pub fn generate() -> Result<Self, UpdateError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)
            .map_err(|e| UpdateError::Key(format!("no random numbers for a key: {e}; no key was made")))?;
        let key = SigningKey::from_bytes(&seed);
        seed.fill(0);
        Ok(Self(key))
    }

    /// The key of a secret key file.
    ///
    /// # Errors
    /// [`UpdateError::Key`]; the text is not repeated in it.
    pub fn from_text(text: &str) -> Result<Self, UpdateError> {
        let seed = text.trim().strip_prefix(SECRET).and_then(unhex);
        seed.map(|seed| Self(SigningKey::from_bytes(&seed))).ok_or_else(|| {
            UpdateError::Key("a secret key file holds the one line that `obligato keygen` wrote".to_owned())
        })
    }

    /// What a secret key file holds.
    pub fn to_text(&self) -> String {
        format!("{SECRET}{}\n", hex(&self.0.to_bytes()))
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; SIGNATURE] {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.public().id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_from_its_text_and_never_shows_its_secret() {
        let key = SecretKey::generate().unwrap();
        let again = SecretKey::from_text(&key.to_text()).unwrap();
        assert_eq!(key.public(), again.public());
        assert_eq!(key.public().to_string().parse::<PublicKey>().unwrap(), key.public());
        let secret = key.to_text().trim().strip_prefix(SECRET).unwrap().to_owned();
        assert!(!format!("{key:?}").contains(&secret));
        let error = SecretKey::from_text(&format!("secret {secret}")).unwrap_err().to_string();
        assert!(!error.contains(&secret), "{error}");
    }

    #[test]
    fn keys_of_small_order_are_no_keys() {
        // The neutral element, and a point of order 8.
        let mut one = [0; 32];
        one[0] = 1;
        assert!(PublicKey::from_bytes(&one).is_err());
        let eight: PublicKey = match "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a".parse() {
            Ok(key) => key,
            Err(error) => return assert!(error.to_string().contains("no ed25519 public key")),
        };
        panic!("{eight} was taken");
    }
}
