//! Digest of a policy.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// SHA-256 of a compiled policy: what a verdict, a consent and a journal entry are bound to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct PolicyHash(pub [u8; 32]);

/// Text that is no digest.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a SHA-256 digest of 64 hexadecimal digits")]
pub struct HexError(String);

impl fmt::Display for PolicyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PolicyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PolicyHash {
    type Err = HexError;

    fn from_str(text: &str) -> Result<Self, HexError> {
        let error = || HexError(text.to_owned());
        let digits: Vec<u8> =
            text.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect::<Option<_>>().ok_or_else(error)?;
        let bytes: Vec<u8> = digits
            .chunks(2)
            .filter_map(|pair| match pair {
                [high, low] => Some(high << 4 | low),
                _ => None,
            })
            .collect();
        <[u8; 32]>::try_from(bytes).ok().filter(|_| text.len() == 64).map(Self).ok_or_else(error)
    }
}
