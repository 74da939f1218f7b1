//! Files that callers hand over open. The medium behind one may be slow, or never answer: nobody else waits
//! for it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;
use zbus::wire::OwnedFd;

use super::Refusal;
use crate::policy::update::{UpdateError, read_open};

/// How long a file may take. Eight megabytes from a slow card take two seconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many files are read at a time. One that never answers keeps its place.
const AT_A_TIME: usize = 2;

/// Reads what is delivered, each file on a thread of its own that no shutdown waits for.
pub(super) struct Delivered(Arc<Semaphore>);

impl Default for Delivered {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_A_TIME)))
    }
}

impl Delivered {
    /// Reads a file of at most so many bytes, as anything that was delivered is read.
    ///
    /// # Errors
    /// [`Refusal::TooMany`] while others are being read. The inner error is about the file.
    pub(super) async fn read(&self, fd: OwnedFd, most: u64) -> Result<Result<Vec<u8>, UpdateError>, Refusal> {
        let file = File::from(std::os::fd::OwnedFd::from(fd));
        self.within(PATIENCE, move || read_open(file, Path::new("the delivered file"), most)).await
    }

    async fn within(
        &self,
        patience: Duration,
        read: impl FnOnce() -> Result<Vec<u8>, UpdateError> + Send + 'static,
    ) -> Result<Result<Vec<u8>, UpdateError>, Refusal> {
        let busy = |_| Refusal::TooMany(format!("{AT_A_TIME} delivered files are being read; deliver this one again"));
        let place = self.0.clone().try_acquire_owned().map_err(busy)?;
        let (done, bytes) = oneshot::channel();
        let reading = thread::Builder::new().name("delivered".to_owned()).spawn(move || {
            // Nobody waits any more when it took too long.
            let _ = done.send(read());
            drop(place);
        });
        reading.map_err(|error| Refusal::Internal(format!("the delivered file cannot be read: {error}")))?;
        match timeout(patience, bytes).await {
            Ok(Ok(read)) => Ok(read),
            Ok(Err(_)) => Err(Refusal::Internal("reading the delivered file broke down; nothing was changed".into())),
            Err(_) => Ok(Err(UpdateError::Slow(patience.as_secs()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn never() -> Result<Vec<u8>, UpdateError> {
        loop {
            thread::park();
        }
    }

    #[test]
    fn a_file_that_never_answers_keeps_nobody_waiting_and_a_bounded_number_of_threads() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let delivered = Delivered::default();
            assert_eq!(delivered.within(PATIENCE, || Ok(vec![7])).await.unwrap().unwrap(), [7]);
            for _ in 0..AT_A_TIME {
                let slow = delivered.within(Duration::from_millis(20), never).await.unwrap();
                assert!(matches!(slow, Err(UpdateError::Slow(_))), "{slow:?}");
            }
            let refused = delivered.within(PATIENCE, || Ok(vec![7])).await;
            assert!(matches!(refused, Err(Refusal::TooMany(_))), "{refused:?}");
        });
        // The runtime ends although two threads never do.
    }

    #[test]
    fn places_are_free_again_once_files_were_read() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let delivered = Delivered::default();
            for _ in 0..50 {
                // The thread gives its place back a moment after its answer.
                while let Err(refused) = delivered.within(PATIENCE, || Ok(Vec::new())).await {
                    assert!(matches!(refused, Refusal::TooMany(_)), "{refused:?}");
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        });
    }
}
