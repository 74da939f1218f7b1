//! The list of keys in the slots' folder, in two copies: without it nobody vouches for what its keys signed.

use std::io;
use std::path::PathBuf;

use super::disk::replace;
use super::floor::Floor;
use super::slots::Slots;
use super::trust::{Standing, Trust};
use super::{KeyList, UpdateError, largest_list};

/// The two files, of which either is enough. Both are as the root key signed them (Uptane 5.1.1).
const COPIES: [&str; 2] = ["keys", "keys.copy"];

impl Slots {
    /// Takes a list of keys into use.
    ///
    /// # Errors
    /// [`UpdateError`]; the list in use stays.
    pub fn keys(&self, bytes: &[u8]) -> Result<KeyList, UpdateError> {
        let (places, floor) = (self.decided()?, self.floors.load()?);
        let list = KeyList::verify(bytes, &self.trust)?;
        // A list that cannot be used any more is what a new one is delivered for.
        list.follows(floor.keys, self.list(&floor).ok().flatten().as_ref())?;
        let (before, trust) = (self.trusted(&floor).0, self.trust.with_list(Some(list.clone())));
        for held in places.held() {
            // A file that is gone is no reason to keep a compromised key.
            let Ok((header, _)) = self.open(held, &before) else { continue };
            if trust.standing(header.key) == Standing::Unknown {
                return Err(UpdateError::KeysForget(header.key));
            }
        }
        self.disk.make_folder(&self.folder).map_err(UpdateError::io("create", &self.folder))?;
        for copy in self.copies() {
            replace(self.disk.as_ref(), &copy, list.bytes())?;
        }
        self.floors.raise(Floor { keys: list.version(), ..floor })?;
        Ok(list)
    }

    /// The list of keys in use, from whichever copy is whole.
    pub(super) fn list(&self, floor: &Floor) -> Result<Option<KeyList>, UpdateError> {
        let [first, second] = self.copies();
        self.copy(first, floor).or_else(|error| match self.copy(second, floor) {
            Ok(Some(list)) => Ok(Some(list)),
            _ => Err(error),
        })
    }

    /// Whom to believe about what is in a slot already: the image's keys and the list's, as far as there
    /// is one; and why there is none that should be.
    pub(super) fn trusted(&self, floor: &Floor) -> (Trust, Option<UpdateError>) {
        match self.list(floor) {
            Ok(list) => (self.trust.with_list(list), None),
            Err(error) => (self.trust.with_list(None), Some(error)),
        }
    }

    /// Writes the copy of the list in use anew that is not as the other one is. What was done is noted.
    pub(super) fn mend_list(&self, floor: &Floor, notes: &mut Vec<String>) {
        let Ok(Some(list)) = self.list(floor) else { return };
        for copy in self.copies() {
            if self.copy(copy.clone(), floor).is_ok_and(|found| found.as_ref() == Some(&list)) {
                continue;
            }
            notes.push(match replace(self.disk.as_ref(), &copy, list.bytes()) {
                Ok(()) => format!("{} was not the list of keys in use and was written anew", copy.display()),
                Err(error) => error.to_string(),
            });
        }
    }

    fn copies(&self) -> [PathBuf; 2] {
        COPIES.map(|name| self.folder.join(name))
    }

    fn copy(&self, path: PathBuf, floor: &Floor) -> Result<Option<KeyList>, UpdateError> {
        let damaged = |why| UpdateError::Damaged { path: path.clone(), why, remedy: "deliver the list of keys again" };
        let list = match self.disk.read(&path, largest_list()) {
            Ok(bytes) => Some(KeyList::verify(&bytes, &self.trust).map_err(|_| damaged("it is not as it was signed"))?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(UpdateError::io("read", &path)(error)),
        };
        // Taking the list away must not bring a revoked key back.
        match list.as_ref().map_or(0, KeyList::version) < floor.keys {
            true => Err(damaged("it is older than the one that was in use, or gone")),
            false => Ok(list),
        }
    }
}
