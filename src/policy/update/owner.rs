//! Whose folder it is: root works on the slots of a service as the service's user, never as root.
//!
//! What root wrote there the service could neither read nor replace. And in a folder that somebody else may
//! change root is led anywhere by a link.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{io, thread};

use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// A user, and the group of the user's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    uid: u32,
    gid: u32,
}

impl Owner {
    /// Whom a folder belongs to, where this process is root and the folder is not root's; none: this process
    /// works there as it is, as far as it may.
    ///
    /// The first part of the path that is not root's decides: from there on its owner may have put anything,
    /// folders of root's among it. The folder need not be there yet.
    pub fn other(folder: &Path) -> Option<Self> {
        if !geteuid().is_root() {
            return None;
        }
        let path = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        // Root's own links lead where root wants; what they lead to may still be somebody else's.
        let led: Option<PathBuf> = path.ancestors().find_map(|part| part.canonicalize().ok());
        first_foreign(&path).or_else(|| first_foreign(&led?))
    }

    /// The user's number.
    pub fn uid(self) -> u32 {
        self.uid
    }

    /// Does something with the rights of this user and no others. Rights belong to threads on Linux: it is
    /// done on a thread of its own, which ends with them, and everybody else keeps theirs.
    ///
    /// # Errors
    /// What the system says; nothing was done then.
    pub fn act<R: Send>(self, work: impl FnOnce() -> R + Send) -> io::Result<R> {
        thread::scope(|scope| {
            let doing = thread::Builder::new().spawn_scoped(scope, move || {
                self.become_owner()?;
                Ok(work())
            })?;
            doing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Gives this thread's rights up for those of the user: groups first, while it still may.
    fn become_owner(self) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        set_thread_groups(&[])?;
        set_thread_res_gid(gid, gid, gid)?;
        Ok(set_thread_res_uid(uid, uid, uid)?)
    }
}

/// The first part of a path that is not root's. A link counts as itself.
fn first_foreign(path: &Path) -> Option<Owner> {
    let mut parts: Vec<&Path> = path.ancestors().collect();
    parts.reverse();
    let seen = |part: &Path| part.symlink_metadata().ok();
    let foreign = |seen: Metadata| (seen.uid() != 0).then(|| Owner { uid: seen.uid(), gid: seen.gid() });
    parts.into_iter().map_while(seen).find_map(foreign)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, lchown, symlink};

    use super::*;

    /// A folder below which a part belongs to user 4711; none where nobody can make one.
    fn foreign() -> Option<tempfile::TempDir> {
        let folder = tempfile::tempdir().unwrap();
        let owned = folder.path().join("state");
        std::fs::create_dir(&owned).unwrap();
        match chown(&owned, Some(4711), Some(4712)) {
            Ok(()) => Some(folder),
            Err(error) => {
                println!("skipped: only root gives folders away: {error}");
                None
            }
        }
    }

    #[test]
    fn the_first_part_that_is_not_roots_decides_whether_the_rest_is_there_or_not() {
        let Some(folder) = foreign() else { return };
        let state = folder.path().join("state");
        let owner = Some(Owner { uid: 4711, gid: 4712 });
        std::fs::create_dir(state.join("policy")).unwrap(); // root's, in somebody else's folder
        for inside in ["", "policy", "not/yet/there"] {
            assert_eq!(Owner::other(&state.join(inside)), owner, "{inside}");
        }
        assert_eq!(Owner::other(folder.path()), None);
        assert_eq!(Owner::other(&folder.path().join("not/yet/there")), None);
    }

    #[test]
    fn a_link_that_somebody_else_made_and_one_that_leads_to_somebody_else_count() {
        let Some(folder) = foreign() else { return };
        let at = |name: &str| folder.path().join(name);
        symlink("/etc", at("theirs")).unwrap();
        lchown(at("theirs"), Some(4711), Some(4712)).unwrap();
        symlink(at("state"), at("roots")).unwrap();
        for link in ["theirs", "roots"] {
            assert_eq!(Owner::other(&at(link).join("deeper")).map(Owner::uid), Some(4711), "{link}");
        }
    }

    #[test]
    fn what_is_done_as_the_owner_is_done_with_the_owners_rights_alone() {
        let Some(folder) = foreign() else { return };
        let owner = Owner::other(&folder.path().join("state")).unwrap();
        let (theirs, roots) = (folder.path().join("state/file"), folder.path().join("file"));
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let (inside, outside) = owner.act(|| (std::fs::write(&theirs, "x"), std::fs::write(&roots, "x"))).unwrap();
        inside.unwrap();
        assert_eq!(outside.err().map(|error| error.kind()), Some(io::ErrorKind::PermissionDenied));
        let seen = theirs.metadata().unwrap();
        assert_eq!((seen.uid(), seen.gid()), (4711, 4712));
        assert!(geteuid().is_root(), "this thread kept its rights");
    }
}
