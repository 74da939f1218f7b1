//! A logind that says of the machine whatever a test wants.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::time::sleep;
use zbus::Connection;
use zbus::object_server::SignalEmitter;

use super::rig::{PATIENCE, Rig};

const PATH: &str = "/org/freedesktop/login1";

/// On a connection of its own; gone with it.
pub(crate) struct Logind {
    connection: Connection,
    locks: Arc<Mutex<Vec<Lock>>>,
}

/// A delay lock that was given out: what it is for, and our end of it.
struct Lock {
    what: String,
    mode: String,
    end: UnixStream,
}

struct Object(Arc<Mutex<Vec<Lock>>>);

#[zbus::interface(name = "org.freedesktop.login1.Manager")]
impl Object {
    async fn inhibit(&self, what: &str, _who: &str, _why: &str, mode: &str) -> zbus::wire::OwnedFd {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        self.0.lock().unwrap().push(Lock { what: what.to_owned(), mode: mode.to_owned(), end: ours });
        OwnedFd::from(theirs).into()
    }

    #[zbus(signal)]
    async fn prepare_for_sleep(emitter: &SignalEmitter<'_>, start: bool) -> zbus::Result<()>;
}

impl Logind {
    /// Comes up on the bus of a rig; the service asks it for time before a sleep.
    pub(crate) async fn start(rig: &Rig) -> Self {
        let (connection, locks) = (rig.connect().await, Arc::<Mutex<Vec<Lock>>>::default());
        connection.object_server().at(PATH, Object(locks.clone())).await.unwrap();
        connection.request_name("org.freedesktop.login1").await.unwrap();
        let logind = Self { connection, locks };
        logind.until_held(true).await;
        logind
    }

    /// Says that the machine is about to sleep, and waits until nobody asks for more time.
    pub(crate) async fn sleep(&self) {
        self.say(true).await;
        self.until_held(false).await;
    }

    /// Says that it woke, and waits until the service asks for time before the next sleep.
    pub(crate) async fn wake(&self) {
        self.say(false).await;
        self.until_held(true).await;
    }

    async fn say(&self, start: bool) {
        let object = self.connection.object_server().interface::<_, Object>(PATH).await.unwrap();
        Object::prepare_for_sleep(object.signal_emitter(), start).await.unwrap();
    }

    async fn until_held(&self, wanted: bool) {
        let deadline = Instant::now() + PATIENCE;
        while self.is_held() != wanted {
            assert!(Instant::now() < deadline, "the lock is held: {}", !wanted);
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Whether somebody holds a delay lock for sleep.
    fn is_held(&self) -> bool {
        let mut locks = self.locks.lock().unwrap();
        // The other end of one that was given back is closed.
        locks.retain_mut(|lock| !matches!(lock.end.read(&mut [0]), Ok(0)));
        assert!(locks.iter().all(|l| l.what == "sleep" && l.mode == "delay"));
        !locks.is_empty()
    }

    /// Leaves the bus, as a logind that crashed.
    pub(crate) async fn leave(self) {
        self.connection.close().await.unwrap();
    }
}
