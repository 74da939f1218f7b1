//! A disk that remembers what is on the medium and what is only in memory, and that dies on demand.
//!
//! The model is POSIX's: a file's content lasts from the `fsync` of the file on, a name from the `fsync` of
//! its folder on. Whatever was not synced may have reached the medium or not, each operation by itself and
//! in any order.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use obligato::policy::update::Disk;

/// One operation that has not surely reached the medium.
#[derive(Debug, Clone)]
enum Op {
    Content { file: usize, bytes: Vec<u8> },
    Name { path: PathBuf, file: usize },
    Move { from: PathBuf, to: PathBuf, file: usize },
    Gone { path: PathBuf },
}

impl Op {
    fn folders(&self) -> Vec<&Path> {
        match self {
            Self::Content { .. } => Vec::new(),
            Self::Name { path, .. } | Self::Gone { path } => path.parent().into_iter().collect(),
            Self::Move { to, .. } => to.parent().into_iter().collect(),
        }
    }
}

/// Names and contents.
#[derive(Debug, Clone, Default, PartialEq)]
struct View {
    names: BTreeMap<PathBuf, usize>,
    contents: BTreeMap<usize, Vec<u8>>,
}

impl View {
    fn apply(&mut self, op: &Op) {
        match op {
            Op::Content { file, bytes } => drop(self.contents.insert(*file, bytes.clone())),
            Op::Name { path, file } => {
                self.names.insert(path.clone(), *file);
                self.contents.entry(*file).or_default();
            }
            Op::Move { from, to, file } => {
                if self.names.get(from) == Some(file) {
                    self.names.remove(from);
                }
                self.names.insert(to.clone(), *file);
                self.contents.entry(*file).or_default();
            }
            Op::Gone { path } => drop(self.names.remove(path)),
        }
    }
}

#[derive(Debug, Clone, Default)]
struct State {
    /// What surely is on the medium.
    medium: View,
    /// What a reader sees.
    memory: View,
    pending: Vec<Op>,
    files: usize,
    /// Changing operations so far.
    done: usize,
    /// Names that hold one of these texts cannot be read.
    denied: Vec<String>,
    /// How many bytes there is room for; none: any.
    room: Option<usize>,
    /// The operation during which the machine dies, and how much of a write it still does, in percent.
    dies: Option<(usize, usize)>,
}

/// The disk.
#[derive(Debug, Default)]
pub struct MemoryDisk(Mutex<State>);

/// What is left of a pending operation after a power loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    Lost,
    /// Half of a content; of anything else: all of it.
    Torn,
    Kept,
}

impl MemoryDisk {
    /// How many changing operations there were.
    pub fn operations(&self) -> usize {
        self.0.lock().unwrap().done
    }

    /// The same disk, as memory shows it, whose machine dies during an operation.
    pub fn dying(&self, at: usize, percent: usize) -> Self {
        let mut state = self.0.lock().unwrap().clone();
        (state.done, state.dies) = (0, Some((at, percent)));
        Self(Mutex::new(state))
    }

    /// The disk after the process was killed: what was done is done.
    pub fn after_kill(&self) -> Self {
        let mut state = self.0.lock().unwrap().clone();
        (state.done, state.dies) = (0, None);
        Self(Mutex::new(state))
    }

    /// How many operations a power loss decides on.
    pub fn pending(&self) -> usize {
        self.0.lock().unwrap().pending.len()
    }

    /// Whether a pending operation is a content, which may be torn.
    pub fn tears(&self, at: usize) -> bool {
        matches!(self.0.lock().unwrap().pending[at], Op::Content { .. })
    }

    /// The disk after a power loss that left of each pending operation what `fates` say.
    pub fn after_power_loss(&self, fates: &[Fate]) -> Self {
        let state = self.0.lock().unwrap();
        let mut view = state.medium.clone();
        for (op, fate) in state.pending.iter().zip(fates) {
            match (fate, op) {
                (Fate::Lost, _) => {}
                (Fate::Torn, Op::Content { file, bytes }) => {
                    view.apply(&Op::Content { file: *file, bytes: bytes[..bytes.len() / 2].to_vec() });
                }
                _ => view.apply(op),
            }
        }
        let state = State { medium: view.clone(), memory: view, files: state.files, ..State::default() };
        Self(Mutex::new(state))
    }

    /// Changes bytes where they lie, as bad flash or a thief does.
    pub fn spoil(&self, wanted: &str, change: impl Fn(&mut Vec<u8>)) -> usize {
        let mut state = self.0.lock().unwrap();
        let names: Vec<(PathBuf, usize)> = state.memory.names.iter().map(|(p, f)| (p.clone(), *f)).collect();
        let hit: Vec<usize> =
            names.iter().filter(|(path, _)| path.to_string_lossy().contains(wanted)).map(|(_, file)| *file).collect();
        for file in &hit {
            change(state.memory.contents.get_mut(file).unwrap());
            let bytes = state.memory.contents[file].clone();
            state.medium.contents.insert(*file, bytes);
        }
        hit.len()
    }

    /// The same with the file of one name.
    pub fn spoil_exactly(&self, name: &str, change: impl Fn(&mut Vec<u8>)) {
        let mut state = self.0.lock().unwrap();
        let named = |path: &&PathBuf| path.file_name().unwrap().to_string_lossy() == name;
        let path = state.memory.names.keys().find(named).unwrap();
        let file = state.memory.names[path];
        change(state.memory.contents.get_mut(&file).unwrap());
        let bytes = state.memory.contents[&file].clone();
        state.medium.contents.insert(file, bytes);
    }

    /// Files whose names hold a text cannot be read any more.
    pub fn deny(&self, wanted: &str) {
        self.0.lock().unwrap().denied.push(wanted.to_owned());
    }

    /// There is room for so many bytes more than lie there, and no more.
    pub fn fill(&self, left: usize) {
        let mut state = self.0.lock().unwrap();
        state.room = Some(state.bytes() + left);
    }

    /// Removes files whose names hold a text.
    pub fn lose(&self, wanted: &str) {
        let mut state = self.0.lock().unwrap();
        let keep = |path: &PathBuf, _: &mut usize| !path.to_string_lossy().contains(wanted);
        state.memory.names.retain(keep);
        state.medium.names.retain(keep);
    }

    /// Removes the file of a name; without a name none.
    pub fn lose_exactly(&self, wanted: &str) {
        let mut state = self.0.lock().unwrap();
        let keep = |path: &PathBuf, _: &mut usize| path.file_name().unwrap().to_string_lossy() != wanted;
        state.memory.names.retain(keep);
        state.medium.names.retain(keep);
    }

    pub fn names(&self) -> Vec<String> {
        let state = self.0.lock().unwrap();
        state.memory.names.keys().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    fn step<R>(&self, act: impl FnOnce(&mut State, usize) -> io::Result<R>) -> io::Result<R> {
        let mut state = self.0.lock().unwrap();
        let at = state.done;
        state.done += 1;
        match state.dies {
            Some((dies, _)) if at > dies => Err(io::Error::other("the machine is dead")),
            Some((dies, percent)) if at == dies => {
                let _ = act(&mut state, percent);
                Err(io::Error::other("the machine died"))
            }
            _ => act(&mut state, 100),
        }
    }
}

fn missing() -> io::Error {
    io::Error::from(io::ErrorKind::NotFound)
}

impl State {
    /// How many bytes lie there.
    fn bytes(&self) -> usize {
        self.memory.names.values().map(|file| self.memory.contents[file].len()).sum()
    }

    fn push(&mut self, op: Op) {
        self.memory.apply(&op);
        self.pending.push(op);
    }
}

impl Disk for MemoryDisk {
    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let state = self.0.lock().unwrap();
        let file = state.memory.names.get(path).ok_or_else(missing)?;
        if state.denied.iter().any(|denied| path.to_string_lossy().contains(denied)) {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        let bytes = state.memory.contents[file].clone();
        if bytes.len() as u64 > most { Err(io::Error::from(io::ErrorKind::InvalidData)) } else { Ok(bytes) }
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let state = self.0.lock().unwrap();
        let inside = state.memory.names.keys().filter(|path| path.parent() == Some(folder));
        Ok(inside.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect())
    }

    fn make_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.step(|state, percent| {
            let file = match state.memory.names.get(path) {
                Some(file) => *file,
                None => {
                    state.files += 1;
                    let file = state.files;
                    state.push(Op::Name { path: path.to_owned(), file });
                    file
                }
            };
            // It is emptied first; that may be all that reaches the medium.
            state.push(Op::Content { file, bytes: Vec::new() });
            let left = state.room.map_or(usize::MAX, |room| room.saturating_sub(state.bytes()));
            let fits = left.min(content.len() * percent / 100);
            state.push(Op::Content { file, bytes: content[..fits].to_vec() });
            if left < content.len() { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(()) }
        })
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.step(|state, percent| {
            let file = *state.memory.names.get(path).ok_or_else(missing)?;
            if percent == 100 {
                let synced = |op: &Op| matches!(op, Op::Content { file: of, .. } if *of == file);
                let ops: Vec<Op> = state.pending.extract_if(.., |op| synced(op)).collect();
                ops.iter().for_each(|op| state.medium.apply(op));
            }
            Ok(())
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(|state, percent| {
            let file = *state.memory.names.get(from).ok_or_else(missing)?;
            if percent > 0 {
                state.push(Op::Move { from: from.to_owned(), to: to.to_owned(), file });
            }
            Ok(())
        })
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.step(|state, percent| {
            if percent == 100 {
                let ops: Vec<Op> = state.pending.extract_if(.., |op| op.folders().contains(&folder)).collect();
                ops.iter().for_each(|op| state.medium.apply(op));
            }
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step(|state, percent| {
            state.memory.names.get(path).ok_or_else(missing)?;
            if percent > 0 {
                state.push(Op::Gone { path: path.to_owned() });
            }
            Ok(())
        })
    }
}
