//! How signed things are written: a policy update, a list of keys.
//!
//! ```text
//! magic (8) | format u16 LE | header length u32 LE | content length u32 LE | header (postcard) | content | signature (64)
//! ```
//!
//! The signature covers every byte before it, the magic included, so that what was signed as one kind of
//! thing is never taken for another.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::UpdateError;
use super::key::{SIGNATURE, SecretKey};

/// Bytes before the header.
const FIXED: usize = 8 + 2 + 4 + 4;

/// One kind of signed thing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    /// Its first bytes.
    pub(super) magic: &'static [u8; 8],
    /// The newest format that is known.
    pub(super) format: u16,
    /// What it is called.
    pub(super) name: &'static str,
    /// What it is called where something else was found.
    pub(super) expected: &'static str,
    /// Largest header, in bytes.
    pub(super) header: usize,
    /// Largest content, in bytes.
    pub(super) content: usize,
}

impl Kind {
    /// Largest whole, in bytes.
    pub(super) fn most(&self) -> usize {
        FIXED + self.header + self.content + SIGNATURE
    }
}

/// The parts of a signed thing. Nothing about them is verified but their lengths.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'b> {
    pub(super) header: &'b [u8],
    pub(super) content: &'b [u8],
    /// Everything that the signature covers.
    pub(super) signed: &'b [u8],
    pub(super) signature: &'b [u8; SIGNATURE],
}

impl<'b> Frame<'b> {
    /// Takes a thing apart. Its length is exactly what it says, to the byte.
    pub(super) fn parse(kind: &Kind, bytes: &'b [u8]) -> Result<Self, UpdateError> {
        // TUF 1.0.34, 5.6.1 and Uptane 5.4.4.6, step 1: never more than a known number of bytes.
        if bytes.len() > kind.most() {
            return Err(UpdateError::Oversized { found: bytes.len() as u64, most: kind.most() as u64 });
        }
        let short = |expected| UpdateError::Truncated { found: bytes.len(), expected };
        let Some(rest) = bytes.strip_prefix(kind.magic) else {
            return Err(match kind.magic.starts_with(bytes) {
                true => short(FIXED + SIGNATURE),
                false => UpdateError::NotAnUpdate { expected: kind.expected },
            });
        };
        let smallest = || short(FIXED + SIGNATURE);
        let (format, rest) = rest.split_first_chunk::<2>().ok_or_else(smallest)?;
        let format = u16::from_le_bytes(*format);
        if format > kind.format || format == 0 {
            return Err(UpdateError::NewerFormat { what: kind.name, found: format, known: kind.format });
        }
        let (header, rest) = rest.split_first_chunk::<4>().ok_or_else(smallest)?;
        let (content, rest) = rest.split_first_chunk::<4>().ok_or_else(smallest)?;
        let (header, content) = (u32::from_le_bytes(*header) as usize, u32::from_le_bytes(*content) as usize);
        for (found, most) in [(header, kind.header), (content, kind.content)] {
            if found > most {
                return Err(UpdateError::Oversized { found: found as u64, most: most as u64 });
            }
        }
        let expected = FIXED + header + content + SIGNATURE;
        if bytes.len() < expected {
            return Err(short(expected));
        }
        if bytes.len() > expected {
            return Err(UpdateError::Trailing(bytes.len() - expected));
        }
        let parts = rest.split_at_checked(header).and_then(|(header, rest)| {
            let (content, signature) = rest.split_at_checked(content)?;
            let (signed, _) = bytes.split_at_checked(expected - SIGNATURE)?;
            Some(Self { header, content, signed, signature: signature.first_chunk()? })
        });
        parts.ok_or_else(smallest)
    }

    /// The header, of which every byte counts and which is written in one way only.
    pub(super) fn header<T: DeserializeOwned + Serialize>(&self) -> Result<T, UpdateError> {
        let unusable = |why: &str| UpdateError::Header(why.to_owned());
        let (header, left) =
            postcard::take_from_bytes::<T>(self.header).map_err(|e| UpdateError::Header(e.to_string()))?;
        let again = postcard::to_allocvec(&header).map_err(|e| UpdateError::Header(e.to_string()))?;
        match (left, again == self.header) {
            ([], true) => Ok(header),
            ([], false) => Err(unusable("a number in it is not written in the shortest way")),
            _ => Err(unusable("it is longer than what it says")),
        }
    }
}

/// Writes and signs a thing.
pub(super) fn seal<T: Serialize>(
    kind: &Kind,
    header: &T,
    content: &[u8],
    key: &SecretKey,
) -> Result<Vec<u8>, UpdateError> {
    let header = postcard::to_allocvec(header).map_err(|e| UpdateError::Header(e.to_string()))?;
    let length = |bytes: &[u8], most: usize| {
        u32::try_from(bytes.len())
            .ok()
            .filter(|_| bytes.len() <= most)
            .ok_or(UpdateError::Oversized { found: bytes.len() as u64, most: most as u64 })
    };
    let (long, wide) = (length(&header, kind.header)?, length(content, kind.content)?);
    let mut out = Vec::with_capacity(FIXED + header.len() + content.len() + SIGNATURE);
    out.extend_from_slice(kind.magic);
    out.extend_from_slice(&kind.format.to_le_bytes());
    out.extend_from_slice(&long.to_le_bytes());
    out.extend_from_slice(&wide.to_le_bytes());
    out.extend_from_slice(&header);
    out.extend_from_slice(content);
    let signature = key.sign(&out);
    out.extend_from_slice(&signature);
    Ok(out)
}
