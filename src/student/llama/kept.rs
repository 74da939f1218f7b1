//! The state of a fixed text, kept in a file from one start to the next.
//!
//! A state is a memory image that llama.cpp reads back without looking: it is only used when a header of our own
//! says that it is of this model, this library, this context and this text, and when its bytes have the digest that
//! the header names. Anything else is left alone and written anew.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Version of the header; the library's version belongs to the key.
const HEADER: &str = "obligato prefix 1";
/// The library whose states these are.
const LIBRARY: &str = "llama-cpp-2 0.1.160";
/// Parts of a model file that its fingerprint covers, besides its beginning and its end, and their size in bytes.
const PARTS: u64 = 64;
const PART: usize = 64 * 1024;
/// States that are kept in one folder; the oldest go first.
const MOST: usize = 4;

/// Where the state of one fixed text is kept.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    folder: PathBuf,
    key: String,
}

impl Kept {
    /// The place for a text's tokens under a model (by its fingerprint) and context parameters.
    pub(super) fn new(folder: &Path, model: &str, context: &str, tokens: &[i32]) -> Self {
        let mut hasher = Sha256::new();
        for part in [LIBRARY, model, context] {
            hasher.update(part.as_bytes());
            hasher.update([0]);
        }
        tokens.iter().for_each(|t| hasher.update(t.to_le_bytes()));
        Self { folder: folder.to_owned(), key: hex(hasher) }
    }

    /// The state's file, where it is whole and of this key.
    pub(super) fn whole(&self) -> Option<PathBuf> {
        let header = fs::read_to_string(self.header()).ok()?;
        let state = self.state();
        match header == self.headed(&state).ok()? {
            true => Some(state),
            false => {
                tracing::warn!(path = %state.display(), "a kept state is not what its header says; it is written anew");
                None
            }
        }
    }

    /// Writes a state: `write` puts it where it is told. Readers see a whole one or none.
    pub(super) fn keep(&self, write: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
        let say = |e: io::Error| format!("{}: {e}", self.folder.display());
        fs::create_dir_all(&self.folder).map_err(say)?;
        let fresh = self.folder.join(format!(".{}.{}", self.key, std::process::id()));
        let written = write(&fresh).and_then(|()| {
            let header = self.headed(&fresh).map_err(say)?;
            File::open(&fresh).and_then(|f| f.sync_all()).map_err(say)?;
            // Without its header a state is not looked at, so the header goes first and comes last.
            let _ = fs::remove_file(self.header());
            fs::rename(&fresh, self.state()).map_err(say)?;
            fs::write(self.header(), header).map_err(say)
        });
        if written.is_err() {
            let _ = fs::remove_file(&fresh);
        }
        self.tidy();
        written
    }

    fn state(&self) -> PathBuf {
        self.folder.join(format!("{}.state", self.key))
    }

    fn header(&self) -> PathBuf {
        self.folder.join(format!("{}.header", self.key))
    }

    fn headed(&self, state: &Path) -> io::Result<String> {
        let mut hasher = Sha256::new();
        let bytes = io::copy(&mut File::open(state)?, &mut hasher)?;
        Ok(format!("{HEADER}\nkey {}\nbytes {bytes}\nsha256 {}\n", self.key, hex(hasher)))
    }

    /// Removes states beyond those that are kept, the oldest first.
    fn tidy(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut states: Vec<_> = entries
            .flatten()
            .map(|e| e.path())
            .filter(|p| p.extension().is_some_and(|e| e == "state"))
            .filter_map(|p| Some((fs::metadata(&p).and_then(|m| m.modified()).ok()?, p)))
            .collect();
        states.sort();
        let surplus = states.len().saturating_sub(MOST);
        for (_, state) in states.into_iter().take(surplus) {
            let _ = fs::remove_file(state.with_extension("header"));
            let _ = fs::remove_file(state);
        }
    }
}

/// What tells a model file from every other: its size, its beginning and its end, and parts between them. A digest
/// of the whole takes longer than the restored prefix saves.
pub(super) fn fingerprint(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut hasher = Sha256::new();
    hasher.update(size.to_le_bytes());
    let mut part = vec![0; PART];
    let last = size.saturating_sub(PART as u64);
    for at in 0..=PARTS {
        file.seek(SeekFrom::Start(last / PARTS * at))?;
        let mut taken = (&mut file).take(PART as u64);
        let mut read = 0;
        while let Some(rest) = part.get_mut(read..).filter(|r| !r.is_empty()) {
            match taken.read(rest)? {
                0 => break,
                n => read += n,
            }
        }
        hasher.update(part.get(..read).unwrap_or_default());
    }
    file.seek(SeekFrom::Start(last))?;
    io::copy(&mut file, &mut hasher)?;
    Ok(hex(hasher))
}

fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(folder: &Path, model: &str) -> Kept {
        Kept::new(folder, model, "context 4096", &[1, 2, 3])
    }

    fn write(kept: &Kept, bytes: &[u8]) {
        kept.keep(|path| fs::write(path, bytes).map_err(|e| e.to_string())).unwrap();
    }

    #[test]
    fn a_whole_state_of_the_same_key_is_found_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let mine = kept(folder.path(), "a");
        assert!(mine.whole().is_none());
        write(&mine, b"state");
        assert_eq!(fs::read(mine.whole().unwrap()).unwrap(), b"state");
        assert!(kept(folder.path(), "b").whole().is_none());
        assert!(Kept::new(folder.path(), "a", "context 2048", &[1, 2, 3]).whole().is_none());
        assert!(Kept::new(folder.path(), "a", "context 4096", &[1, 2]).whole().is_none());
    }

    #[test]
    fn a_state_that_was_changed_cut_or_swapped_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let (mine, other) = (kept(folder.path(), "a"), kept(folder.path(), "b"));
        for damage in [&b"stat"[..], b"stase", b"", b"state and more"] {
            write(&mine, b"state");
            fs::write(mine.state(), damage).unwrap();
            assert!(mine.whole().is_none(), "{damage:?}");
        }
        write(&mine, b"state");
        write(&other, b"other");
        fs::copy(other.state(), mine.state()).unwrap();
        assert!(mine.whole().is_none());
        fs::copy(other.header(), mine.header()).unwrap();
        assert!(mine.whole().is_none(), "its header names another key");
    }

    #[test]
    fn only_the_latest_states_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        for model in 0..2 * MOST {
            write(&kept(folder.path(), &model.to_string()), b"state");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2 * MOST);
    }

    #[test]
    fn a_model_that_differs_in_its_head_or_size_has_another_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        let of = |bytes: &[u8]| {
            let path = folder.path().join("model");
            fs::write(&path, bytes).unwrap();
            fingerprint(&path).unwrap()
        };
        let mut model = vec![7_u8; 3 * PART];
        let whole = of(&model);
        assert_eq!(whole, of(&model));
        assert_ne!(whole, of(&model[..2 * PART]));
        model[100] = 8;
        assert_ne!(whole, of(&model));
    }
}
