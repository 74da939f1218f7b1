//! The blob: how a compiled policy is stored.
//!
//! ```text
//! magic "OBLIGATO" | format u16 LE | length u32 LE | SHA-256 of content | content (postcard)
//! ```
//!
//! The digest names the policy in verdicts, consents and journals; authenticity is the business of
//! the signed envelope around it (design §9).

use sha2::{Digest, Sha256};

use super::{Policy, PolicyParts, ProgramError};
use crate::model::{PolicyHash, RuleId};

/// Format version that this engine writes and reads.
pub const FORMAT: u16 = 2;
const MAGIC: &[u8; 8] = b"OBLIGATO";
/// What a foreign Cedar set begins with: nothing that guards a car mistakes it for its policy.
pub(super) const FOREIGN_MAGIC: &[u8; 8] = b"OBLIGFOR";

/// Whether bytes begin as a blob does, of whatever format and set.
pub fn is_blob(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(FOREIGN_MAGIC)
}
const HEADER: usize = 8 + 2 + 4 + 32;
/// Largest content, in bytes: thirty times the cabin set.
const MAX_CONTENT: usize = 8 * 1024 * 1024;

/// Why a blob cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// Not a blob.
    #[error("this is not a compiled policy (no `OBLIGATO` at its beginning); run `obligato compile` on its sources")]
    Magic,
    /// A foreign Cedar set.
    #[error(
        "this is a foreign Cedar set, which judges requests and knows no car; `obligato replay` takes it, for a car compile a folder with a vehicle.toml"
    )]
    Foreign,
    /// A foreign set whose parts do not fit together.
    #[error("the foreign set cannot be used: {0}; compile it again")]
    Parts(#[from] super::foreign::PartsError),
    /// Cut off.
    #[error("the compiled policy is truncated: {found} bytes of {expected}; deliver it again")]
    Truncated {
        /// Bytes found.
        found: usize,
        /// Bytes the header promises.
        expected: usize,
    },
    /// More than it should be.
    #[error("the compiled policy has {0} bytes after its end; deliver it again")]
    Trailing(usize),
    /// Too large.
    #[error("the compiled policy claims {0} bytes, more than the {MAX_CONTENT} that are accepted")]
    Oversized(usize),
    /// Another format.
    #[error("the compiled policy has format {found}, this engine reads {FORMAT}; compile it with the same release")]
    Format {
        /// Its format.
        found: u16,
    },
    /// Changed.
    #[error("the content of the compiled policy does not match its digest; deliver it again")]
    Digest,
    /// Unreadable content.
    #[error("the compiled policy cannot be decoded: {0}")]
    Content(#[from] postcard::Error),
    /// A program that cannot be run.
    #[error("rule `{rule}` of the compiled policy cannot be run: {error}")]
    Program {
        /// The rule.
        rule: RuleId,
        /// What is wrong.
        error: ProgramError,
    },
}

/// A header and its content.
pub(super) fn seal(magic: &[u8; 8], content: &[u8]) -> Result<Vec<u8>, BlobError> {
    let length = u32::try_from(content.len()).ok().filter(|_| content.len() <= MAX_CONTENT);
    let length = length.ok_or(BlobError::Oversized(content.len()))?;
    let mut blob = Vec::with_capacity(HEADER + content.len());
    blob.extend_from_slice(magic);
    blob.extend_from_slice(&FORMAT.to_le_bytes());
    blob.extend_from_slice(&length.to_le_bytes());
    blob.extend_from_slice(&Sha256::digest(content));
    blob.extend_from_slice(content);
    Ok(blob)
}

/// The content behind a header, and its digest.
pub(super) fn open<'b>(magic: &[u8; 8], blob: &'b [u8]) -> Result<(&'b [u8], PolicyHash), BlobError> {
    let rest = blob.strip_prefix(magic).ok_or(BlobError::Magic)?;
    let short = || BlobError::Truncated { found: blob.len(), expected: HEADER };
    let (format, rest) = rest.split_first_chunk::<2>().ok_or_else(short)?;
    let format = u16::from_le_bytes(*format);
    if format != FORMAT {
        return Err(BlobError::Format { found: format });
    }
    let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let (digest, content) = rest.split_first_chunk::<32>().ok_or_else(short)?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > MAX_CONTENT {
        return Err(BlobError::Oversized(length));
    }
    match content.len().checked_sub(length) {
        None => return Err(BlobError::Truncated { found: blob.len(), expected: HEADER + length }),
        Some(0) => {}
        Some(extra) => return Err(BlobError::Trailing(extra)),
    }
    if Sha256::digest(content).as_slice() != digest {
        return Err(BlobError::Digest);
    }
    Ok((content, PolicyHash(*digest)))
}

/// Decodes a content of which every byte must count.
pub(super) fn decode<'b, T: serde::Deserialize<'b>>(content: &'b [u8]) -> Result<T, BlobError> {
    match postcard::take_from_bytes(content)? {
        (parts, []) => Ok(parts),
        (_, left) => Err(BlobError::Trailing(left.len())),
    }
}

impl PolicyParts {
    /// The blob of these parts.
    ///
    /// # Errors
    /// [`BlobError::Content`] or [`BlobError::Oversized`].
    pub fn to_blob(&self) -> Result<Vec<u8>, BlobError> {
        seal(MAGIC, &postcard::to_allocvec(self)?)
    }
}

impl Policy {
    /// Loads a blob. Every byte is accounted for, every program is checked.
    ///
    /// # Errors
    /// [`BlobError`] naming what is wrong.
    pub fn from_blob(blob: &[u8]) -> Result<Self, BlobError> {
        if blob.starts_with(FOREIGN_MAGIC) {
            return Err(BlobError::Foreign);
        }
        let (content, hash) = open(MAGIC, blob)?;
        Self::new(decode(content)?, hash).map_err(|(rule, error)| BlobError::Program { rule, error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_and_every_flipped_byte_is_an_error() {
        let blob = PolicyParts { id: "x".into(), prose: vec!["a sentence".into()], ..PolicyParts::default() }
            .to_blob()
            .unwrap();
        assert_eq!(Policy::from_blob(&blob).unwrap().id, "x");
        for cut in 0..blob.len() {
            assert!(Policy::from_blob(&blob[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..blob.len() {
            let mut flipped = blob.clone();
            flipped[at] ^= 1;
            assert!(Policy::from_blob(&flipped).is_err(), "flipped at {at}");
        }
        let mut longer = blob.clone();
        longer.push(0);
        assert!(matches!(Policy::from_blob(&longer), Err(BlobError::Trailing(1))));
    }

    #[test]
    fn a_blob_of_an_earlier_or_a_later_format_is_refused_by_its_format() {
        let blob = PolicyParts::default().to_blob().unwrap();
        for found in [FORMAT - 1, FORMAT + 1] {
            let other = [MAGIC.as_slice(), &found.to_le_bytes(), &blob[10..]].concat();
            let error = Policy::from_blob(&other).unwrap_err();
            assert!(matches!(error, BlobError::Format { found: f } if f == found), "{error}");
            assert!(error.to_string().contains("compile it with the same release"), "{error}");
        }
    }
}
