//! Is this file a whole GGUF model? Asked before llama.cpp maps it, because a memory map that ends
//! early is a bus error and not a message.
//!
//! Only the header is read: key-value pairs are skipped, the tensor table says where the last byte
//! of the data must lie. Layout: GGUF specification, versions 2 and 3.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// Why a file is not loaded.
#[derive(Debug, thiserror::Error)]
pub(super) enum GgufError {
    #[error("there is no such file; put a GGUF model there or correct the path")]
    Missing,
    #[error("it is a folder; name the GGUF file in it")]
    Folder,
    #[error("it cannot be read: {0}")]
    Read(io::Error),
    #[error("it is no GGUF model: it begins with {0:02x?} and not with `GGUF`; fetch the model again")]
    Magic(Vec<u8>),
    #[error("it is GGUF version {0}; versions 2 and 3 can be read, convert the model again")]
    Version(u32),
    #[error("it is truncated: it holds {found} bytes of at least {needed}; copy the model again")]
    Truncated { found: u64, needed: u64 },
    #[error("its header is damaged: {0}; fetch the model again")]
    Damaged(&'static str),
    #[error("its SHA-256 is {found} and not {wanted}; fetch the model again")]
    Digest { found: String, wanted: String },
}

/// Header counts beyond these are damage: the largest public models have some thousands.
const MAX_ENTRIES: u64 = 1 << 20;
/// Alignment of the tensor data where the header names none.
const DEFAULT_ALIGNMENT: u64 = 32;

/// Checks that the file is a GGUF model and holds all the data that its header describes; with a
/// digest (64 hexadecimal digits) also that it is the very file that was meant.
///
/// # Errors
/// [`GgufError`], one cause each.
pub(super) fn check(path: &Path, sha256: Option<&str>) -> Result<(), GgufError> {
    let file = File::open(path).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => GgufError::Missing,
        _ => GgufError::Read(e),
    })?;
    let meta = file.metadata().map_err(GgufError::Read)?;
    if meta.is_dir() {
        return Err(GgufError::Folder);
    }
    Header { size: meta.len(), at: 0, reader: BufReader::new(file) }.check()?;
    sha256.map_or(Ok(()), |wanted| digest(path, wanted))
}

fn digest(path: &Path, wanted: &str) -> Result<(), GgufError> {
    let mut hasher = Sha256::new();
    let mut file = File::open(path).map_err(GgufError::Read)?;
    io::copy(&mut file, &mut hasher).map_err(GgufError::Read)?;
    let found: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if found.eq_ignore_ascii_case(wanted) {
        Ok(())
    } else {
        Err(GgufError::Digest { found, wanted: wanted.to_owned() })
    }
}

struct Header {
    reader: BufReader<File>,
    /// Bytes read or skipped so far.
    at: u64,
    /// Bytes of the file.
    size: u64,
}

impl Header {
    fn check(mut self) -> Result<(), GgufError> {
        let mut magic = vec![0; 4.min(self.size as usize)];
        self.reader.read_exact(&mut magic).map_err(GgufError::Read)?;
        if magic != b"GGUF" {
            return Err(GgufError::Magic(magic));
        }
        self.at = 4;
        let version = self.u32()?;
        if !(2..=3).contains(&version) {
            return Err(GgufError::Version(version));
        }
        let (tensors, pairs) = (self.u64()?, self.u64()?);
        if tensors > MAX_ENTRIES || pairs > MAX_ENTRIES {
            return Err(GgufError::Damaged("it counts more entries than any model has"));
        }
        let mut alignment = DEFAULT_ALIGNMENT;
        for _ in 0..pairs {
            let key = self.text()?;
            let kind = self.u32()?;
            if key == b"general.alignment" && kind == UINT32 {
                alignment = u64::from(self.u32()?);
            } else {
                self.skip_value(kind)?;
            }
        }
        if !alignment.is_power_of_two() {
            return Err(GgufError::Damaged("its alignment is no power of two"));
        }
        let mut end = 0;
        for _ in 0..tensors {
            end = end.max(self.tensor_end()?);
        }
        let data = self.at.checked_next_multiple_of(alignment);
        match data.and_then(|start| start.checked_add(end)) {
            None => Err(GgufError::Damaged("a tensor lies beyond any file")),
            Some(needed) if needed > self.size => Err(GgufError::Truncated { found: self.size, needed }),
            Some(_) => Ok(()),
        }
    }

    /// End of one tensor, counted from the start of the tensor data.
    fn tensor_end(&mut self) -> Result<u64, GgufError> {
        self.text()?;
        let dimensions = self.u32()?;
        if dimensions > 8 {
            return Err(GgufError::Damaged("a tensor has more than eight dimensions"));
        }
        let mut elements = 1_u64;
        for _ in 0..dimensions {
            let length = self.u64()?;
            elements = elements.checked_mul(length).ok_or(GgufError::Damaged("a tensor is larger than any file"))?;
        }
        let kind = self.u32()?;
        let offset = self.u64()?;
        offset.checked_add(tensor_bytes(kind, elements)).ok_or(GgufError::Damaged("a tensor lies beyond any file"))
    }

    fn skip_value(&mut self, kind: u32) -> Result<(), GgufError> {
        match kind {
            STRING => self.text().map(drop),
            ARRAY => {
                let (item, count) = (self.u32()?, self.u64()?);
                if item == STRING {
                    return (0..count).try_for_each(|_| self.skip_text());
                }
                let bytes = scalar_bytes(item)?.checked_mul(count);
                self.skip(bytes.ok_or(GgufError::Damaged("a list is longer than any file"))?)
            }
            scalar => self.skip(scalar_bytes(scalar)?),
        }
    }

    fn text(&mut self) -> Result<Vec<u8>, GgufError> {
        let length = self.u64()?;
        self.ahead(length)?;
        // Names are short; a long text is a chat template or a licence and is not looked at.
        if length > 256 {
            return self.skip(length).map(|()| Vec::new());
        }
        let mut bytes = vec![0; length as usize];
        self.reader.read_exact(&mut bytes).map_err(GgufError::Read)?;
        self.at += length;
        Ok(bytes)
    }

    fn skip_text(&mut self) -> Result<(), GgufError> {
        let length = self.u64()?;
        self.skip(length)
    }

    fn u32(&mut self) -> Result<u32, GgufError> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, GgufError> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], GgufError> {
        self.ahead(N as u64)?;
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes).map_err(GgufError::Read)?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), GgufError> {
        self.ahead(bytes)?;
        let offset = i64::try_from(bytes).map_err(|_| GgufError::Damaged("an entry is larger than any file"))?;
        self.reader.seek_relative(offset).map_err(GgufError::Read)?;
        self.at += bytes;
        Ok(())
    }

    /// That many bytes must still come.
    fn ahead(&self, bytes: u64) -> Result<(), GgufError> {
        let needed = self.at.saturating_add(bytes);
        if needed > self.size { Err(GgufError::Truncated { found: self.size, needed }) } else { Ok(()) }
    }
}

const UINT32: u32 = 4;
const STRING: u32 = 8;
const ARRAY: u32 = 9;

fn scalar_bytes(kind: u32) -> Result<u64, GgufError> {
    match kind {
        0 | 1 | 7 => Ok(1),
        2 | 3 => Ok(2),
        4..=6 => Ok(4),
        10..=12 => Ok(8),
        _ => Err(GgufError::Damaged("it holds a value of an unknown type")),
    }
}

/// Bytes of a tensor of that ggml type. Of a type that is newer than this table only the offset
/// counts: llama.cpp then says itself what it cannot read.
fn tensor_bytes(kind: u32, elements: u64) -> u64 {
    let (block, bytes) = match kind {
        0 | 26 => (1, 4),      // F32, I32
        1 | 25 | 30 => (1, 2), // F16, I16, BF16
        24 => (1, 1),          // I8
        27 | 28 => (1, 8),     // I64, F64
        2 | 20 => (32, 18),    // Q4_0, IQ4_NL
        3 => (32, 20),         // Q4_1
        6 => (32, 22),         // Q5_0
        7 => (32, 24),         // Q5_1
        8 => (32, 34),         // Q8_0
        10 => (256, 84),       // Q2_K
        11 => (256, 110),      // Q3_K
        12 => (256, 144),      // Q4_K
        13 => (256, 176),      // Q5_K
        14 => (256, 210),      // Q6_K
        23 => (256, 136),      // IQ4_XS
        39 => (32, 17),        // MXFP4
        _ => return 0,
    };
    elements.div_ceil(block).saturating_mul(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A GGUF file with one key and one F32 tensor of eight elements, cut to `keep` bytes.
    fn file(keep: usize) -> tempfile::NamedTempFile {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3_u32.to_le_bytes());
        bytes.extend(1_u64.to_le_bytes());
        bytes.extend(1_u64.to_le_bytes());
        let text = |bytes: &mut Vec<u8>, text: &str| {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        };
        text(&mut bytes, "general.name");
        bytes.extend(STRING.to_le_bytes());
        text(&mut bytes, "tiny");
        text(&mut bytes, "weights");
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(8_u64.to_le_bytes());
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend(0_u64.to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(32) + 32, 0);
        bytes.truncate(keep);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    fn whole() -> usize {
        file(usize::MAX).path().metadata().unwrap().len() as usize
    }

    #[test]
    fn accepts_a_whole_file_and_nothing_shorter() {
        check(file(usize::MAX).path(), None).unwrap();
        for keep in 0..whole() {
            let error = check(file(keep).path(), None).unwrap_err();
            match keep {
                0..4 => assert!(matches!(error, GgufError::Magic(_)), "{keep}: {error}"),
                _ => assert!(matches!(error, GgufError::Truncated { .. }), "{keep}: {error}"),
            }
        }
    }

    #[test]
    fn no_flipped_byte_makes_it_panic_or_read_on_forever() {
        for position in 4..whole() {
            for value in [0x00, 0x7f, 0xff] {
                let damaged = file(usize::MAX);
                let mut bytes = std::fs::read(damaged.path()).unwrap();
                bytes[position] = value;
                std::fs::write(damaged.path(), bytes).unwrap();
                let _ = check(damaged.path(), None);
            }
        }
    }

    #[test]
    fn a_wrong_digest_is_named() {
        let error = check(file(usize::MAX).path(), Some(&"0".repeat(64))).unwrap_err();
        assert!(matches!(error, GgufError::Digest { .. }), "{error}");
    }
}
