//! Files that callers hand over open. The medium behind one may be slow, or never answer: nobody else waits
//! for it.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use zbus::wire::OwnedFd;

use super::Refusal;
use crate::policy::update::{UpdateError, read_open};

/// How long a file may take. Eight megabytes from a slow card take two seconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many files are read at a time, and so many of one user: somebody else can still deliver.
const AT_A_TIME: usize = 3;
const AT_A_TIME_OF_ONE: usize = 2;
/// So many threads may hang on files that never answered, and so many of one user.
const HANGING: usize = 8;
const HANGING_OF_ONE: usize = 6;

/// Whoever delivers; none where the bus does not say.
type User = Option<u32>;

#[derive(Default)]
struct Reading {
    /// Users whose file is waited for.
    waited: Vec<User>,
    /// Threads that nobody waits for any more.
    hanging: HashMap<User, usize>,
}

/// Reads what is delivered, each file on a thread of its own that no shutdown waits for.
#[derive(Default)]
pub(super) struct Delivered(Arc<Mutex<Reading>>);

/// The place of a file that is waited for. It is free again when the file was read, or when it took too long.
struct Place<'d>(&'d Delivered, User);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut reading = self.0.lock();
        if let Some(at) = reading.waited.iter().position(|user| *user == self.1) {
            reading.waited.swap_remove(at);
        }
    }
}

/// A thread, from its start to its end.
struct Thread(Arc<Mutex<Reading>>, User);

impl Drop for Thread {
    fn drop(&mut self) {
        let mut reading = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(threads) = reading.hanging.get_mut(&self.1) {
            *threads = threads.saturating_sub(1);
        }
        reading.hanging.retain(|_, threads| *threads > 0);
    }
}

impl Delivered {
    fn lock(&self) -> MutexGuard<'_, Reading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a file of at most so many bytes, as anything that was delivered is read.
    ///
    /// # Errors
    /// [`Refusal::TooMany`] while others are being read; [`Refusal::Storage`] where too many never answered. The inner
    /// error is about the file.
    pub(super) async fn read(
        &self,
        user: User,
        fd: OwnedFd,
        most: u64,
    ) -> Result<Result<Vec<u8>, UpdateError>, Refusal> {
        let file = File::from(std::os::fd::OwnedFd::from(fd));
        self.within(user, PATIENCE, move || read_open(file, Path::new("the delivered file"), most)).await
    }

    async fn within(
        &self,
        user: User,
        patience: Duration,
        read: impl FnOnce() -> Result<Vec<u8>, UpdateError> + Send + 'static,
    ) -> Result<Result<Vec<u8>, UpdateError>, Refusal> {
        let (place, running) = self.begin(user)?;
        let (done, bytes) = oneshot::channel();
        let thread = thread::Builder::new().name("delivered".to_owned()).spawn(move || {
            let read = read();
            drop(running);
            // Nobody waits any more when it took too long.
            let _ = done.send(read);
        });
        thread.map_err(|error| Refusal::Internal(format!("the delivered file cannot be read: {error}")))?;
        let read = match timeout(patience, bytes).await {
            Ok(Ok(read)) => Ok(read),
            Ok(Err(_)) => Err(Refusal::Internal("reading the delivered file broke down; nothing was changed".into())),
            Err(_) => Ok(Err(UpdateError::Slow(patience.as_secs()))),
        };
        drop(place);
        read
    }

    /// Takes a place for a file, and counts its thread.
    fn begin(&self, user: User) -> Result<(Place<'_>, Thread), Refusal> {
        let mut reading = self.lock();
        let waited_of_one = reading.waited.iter().filter(|other| **other == user).count();
        if waited_of_one >= AT_A_TIME_OF_ONE || reading.waited.len() >= AT_A_TIME {
            return Err(Refusal::TooMany("other delivered files are being read; deliver this one again".into()));
        }
        // A thread of a file that is waited for counts as hanging until it has ended.
        let of_one = reading.hanging.get(&user).copied().unwrap_or_default();
        if of_one >= HANGING_OF_ONE || reading.hanging.values().sum::<usize>() >= HANGING {
            return Err(Refusal::Storage(
                "too many delivered files lie on a medium that never answers; restart the service to let go of them"
                    .into(),
            ));
        }
        reading.waited.push(user);
        *reading.hanging.entry(user).or_default() += 1;
        drop(reading);
        Ok((Place(self, user), Thread(self.0.clone(), user)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Duration = Duration::from_millis(20);

    fn never() -> Result<Vec<u8>, UpdateError> {
        loop {
            thread::park();
        }
    }

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
        // The runtime ends although some threads never do.
    }

    #[test]
    fn files_that_never_answer_keep_nobody_from_delivering_and_hold_a_bounded_number_of_threads() {
        run(async {
            let delivered = Delivered::default();
            for _ in 0..HANGING_OF_ONE {
                let slow = delivered.within(Some(7), MOMENT, never).await.unwrap();
                assert!(matches!(slow, Err(UpdateError::Slow(_))), "{slow:?}");
                assert_eq!(delivered.within(Some(8), PATIENCE, || Ok(vec![7])).await.unwrap().unwrap(), [7]);
            }
            let refused = delivered.within(Some(7), PATIENCE, || Ok(vec![7])).await;
            assert!(matches!(&refused, Err(Refusal::Storage(why)) if why.contains("restart")), "{refused:?}");
            for _ in HANGING_OF_ONE..HANGING {
                let slow = delivered.within(Some(8), MOMENT, never).await.unwrap();
                assert!(matches!(slow, Err(UpdateError::Slow(_))), "{slow:?}");
            }
            let refused = delivered.within(Some(9), PATIENCE, || Ok(vec![7])).await;
            assert!(matches!(refused, Err(Refusal::Storage(_))), "{refused:?}");
        });
    }

    #[test]
    fn one_user_has_two_files_read_at_a_time_and_leaves_a_place_for_another() {
        run(async {
            let delivered = Delivered::default();
            let waiting = delivered.within(Some(7), MOMENT, never);
            let second = delivered.within(Some(7), MOMENT, never);
            let others = async {
                let refused = delivered.within(Some(7), PATIENCE, || Ok(vec![7])).await;
                assert!(matches!(refused, Err(Refusal::TooMany(_))), "{refused:?}");
                assert_eq!(delivered.within(Some(8), PATIENCE, || Ok(vec![7])).await.unwrap().unwrap(), [7]);
            };
            let (first, second, ()) = tokio::join!(waiting, second, others);
            for slow in [first, second] {
                assert!(matches!(slow, Ok(Err(UpdateError::Slow(_)))), "{slow:?}");
            }
        });
    }

    #[test]
    fn places_are_free_again_once_files_were_read() {
        run(async {
            let delivered = Delivered::default();
            for _ in 0..50 {
                assert!(delivered.within(Some(7), PATIENCE, || Ok(Vec::new())).await.unwrap().is_ok());
            }
            assert!(delivered.lock().hanging.is_empty());
        });
    }
}
