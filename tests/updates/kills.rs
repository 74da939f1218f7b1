//! Real processes on a real file system, killed by SIGKILL in the middle of an update.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use obligato::policy::update::{Disk, Floors, Meant, RealDisk, SecretKey, Setup, Slots, Trust};

use super::crashes::Dice;
use super::kit::{Well, blob, install, issue, started, trust_file};

/// A real disk whose process is killed at an operation, a write half done.
struct Killing {
    left: AtomicUsize,
    percent: usize,
}

impl Killing {
    fn due(&self) -> bool {
        self.left.fetch_sub(1, Ordering::SeqCst) == 0
    }

    fn step(&self, act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        if self.due() {
            die();
        }
        act()
    }
}

/// This program once more; where an emulator runs it (`cross/test`), by the same one.
fn this_program() -> Command {
    let program = std::env::current_exe().unwrap();
    let Ok(runner) = std::env::var("OBLIGATO_RUNNER") else { return Command::new(program) };
    let mut words = runner.split_whitespace();
    let mut command = Command::new(words.next().unwrap());
    command.args(words).arg(program);
    command
}

fn die() {
    let me = rustix::process::getpid();
    rustix::process::kill_process(me, rustix::process::Signal::KILL).unwrap();
    loop {
        std::thread::park();
    }
}

impl Disk for Killing {
    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        RealDisk.read(path, most)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        RealDisk.list(folder)
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        RealDisk.make_folder(folder)
    }

    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        if self.due() {
            RealDisk.write(path, &content[..content.len() * self.percent / 100])?;
            die();
        }
        RealDisk.write(path, content)
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.step(|| RealDisk.sync_file(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(|| RealDisk.rename(from, to))
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.step(|| RealDisk.sync_folder(folder))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step(|| RealDisk.remove(path))
    }
}

fn slots(folder: &Path, disk: Arc<dyn Disk>) -> Slots {
    let trust = Trust::parse(&std::fs::read_to_string(folder.join("trust.toml")).unwrap()).unwrap();
    let floors = Floors::new(disk.clone(), folder.join("floor"), None);
    Slots::new(Setup { disk, folder: folder.join("slots"), floors, trust, checkup: Arc::new(Well) })
}

/// The process that is killed; without its orders it does nothing.
#[test]
#[ignore = "started by the other tests of this file"]
fn child() {
    let Ok(orders) = std::env::var("OBLIGATO_KILL") else { return };
    let orders: Vec<&str> = orders.split(',').collect();
    let folder = PathBuf::from(orders[0]);
    let disk = Killing { left: AtomicUsize::new(orders[1].parse().unwrap()), percent: orders[2].parse().unwrap() };
    let slots = slots(&folder, Arc::new(disk));
    slots.start();
    let _ = install(&slots, &std::fs::read(folder.join("next.policy")).unwrap());
}

/// Kills that many updates; returns how many of them really ended in a kill.
fn kills(times: usize, seed: u64) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (root, key) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
    std::fs::write(path.join("trust.toml"), trust_file(&root, &key, "")).unwrap();
    let update = |version| obligato::policy::update::sign(&blob(version), &issue(version), &key).unwrap().1;
    install(&slots(path, Arc::new(RealDisk)), &update(1)).unwrap();
    let (mut dice, mut floor, mut next, mut killed) = (Dice(seed), 1, 2, 0);
    for time in 0..times {
        std::fs::write(path.join("next.policy"), update(next)).unwrap();
        let orders = format!("{},{},{}", path.display(), dice.roll(30), dice.roll(101));
        let child = this_program()
            .args(["--exact", "kills::child", "--ignored", "--test-threads=1"])
            .env("OBLIGATO_KILL", orders)
            .output()
            .unwrap();
        killed += usize::from(!child.status.success());
        let slots = slots(path, Arc::new(RealDisk));
        let version = started(&slots);
        let status = slots.status().unwrap();
        assert!(version == next - 1 || version == next, "kill {time}: version {version}, not {next} or the one before");
        assert!(version >= status.floor && status.floor >= floor, "kill {time}: {version} {status:?}");
        floor = status.floor;
        if status.on_trial {
            slots.commit(Meant::Any).unwrap();
        }
        next = slots.status().unwrap().current + 1;
    }
    assert!(next > 2, "nothing was ever installed");
    killed
}

#[test]
fn processes_that_are_killed_during_an_update_leave_a_valid_policy() {
    let killed = kills(60, 11);
    assert!(killed > 30, "{killed} of 60 updates were killed");
}

#[test]
#[ignore = "long: a thousand processes"]
fn a_thousand_random_kills_leave_a_valid_policy() {
    let killed = kills(1400, 12);
    println!("{killed} processes were killed");
    assert!(killed >= 1000, "{killed} of 1400 updates were killed");
}
