//! The bearer token: a file that somebody else renews.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::watch;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::{Request, Status};

/// How long a look at the file may take before another one is tried: the disk may be back, or the file another.
const HANGS: Duration = Duration::from_secs(10);

/// Most looks at a time. Each that hangs keeps a thread for as long as it does.
const LOOKS: usize = 3;

/// Puts the token on every request.
#[derive(Debug, Clone)]
pub(super) struct Bearer {
    file: Option<Arc<TokenFile>>,
}

#[derive(Debug)]
struct TokenFile {
    path: PathBuf,
    known: Mutex<Option<(Stamp, MetadataValue<Ascii>)>>,
    /// Looks that are under way, the newest last.
    looks: Mutex<Vec<Look>>,
}

/// A look at the file; every request that comes meanwhile waits for it.
#[derive(Debug)]
struct Look {
    begun: Instant,
    /// None until it is over.
    seen: watch::Receiver<Option<Result<(), String>>>,
}

/// Tells one content of a file from the next.
type Stamp = (SystemTime, u64);

impl Bearer {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self { file: path.map(|path| Arc::new(TokenFile { path, known: Mutex::default(), looks: Mutex::default() })) }
    }

    /// Looks at the file, and reads it anew when it is another than before: due before every request. It may
    /// be on a disk that hangs, so it is looked at where waiting holds nobody up, and once for all who wait.
    pub(super) async fn renew(&self) -> Result<(), Status> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut seen = TokenFile::look(file);
        let looked = match seen.wait_for(Option::is_some).await {
            Ok(looked) => looked.clone().unwrap_or(Ok(())),
            Err(_) => Err(format!("the token file {}: the look at it broke off", file.path.display())),
        };
        looked.map_err(Status::unauthenticated)
    }
}

impl TokenFile {
    /// The look that is under way, or another one.
    fn look(file: &Arc<Self>) -> watch::Receiver<Option<Result<(), String>>> {
        let mut looks = file.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.retain(|look| look.seen.borrow().is_none() && look.seen.has_changed().is_ok());
        let full = looks.len() >= LOOKS;
        if let Some(newest) = looks.last().filter(|newest| full || newest.begun.elapsed() < HANGS) {
            return newest.seen.clone();
        }
        let (told, seen) = watch::channel(None);
        let own = file.clone();
        tokio::task::spawn_blocking(move || told.send_replace(Some(own.renew())));
        looks.push(Look { begun: Instant::now(), seen: seen.clone() });
        seen
    }

    fn renew(&self) -> Result<(), String> {
        let renewed = self.read();
        if renewed.is_err() {
            *self.known() = None;
        }
        renewed
    }

    fn read(&self) -> Result<(), String> {
        let error = |what: &dyn std::fmt::Display| format!("the token file {}: {what}", self.path.display());
        let meta = std::fs::metadata(&self.path).map_err(|e| error(&e))?;
        let stamp = (meta.modified().unwrap_or(SystemTime::UNIX_EPOCH), meta.len());
        if self.known().as_ref().is_some_and(|(then, _)| *then == stamp) {
            return Ok(());
        }
        let token = std::fs::read_to_string(&self.path).map_err(|e| error(&e))?;
        let mut header: MetadataValue<Ascii> =
            format!("Bearer {}", token.trim()).parse().map_err(|_| error(&"it holds no token"))?;
        // Logs and debug output leave it out.
        header.set_sensitive(true);
        *self.known() = Some((stamp, header));
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, Option<(Stamp, MetadataValue<Ascii>)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(file) = &self.file {
            let known = file.known().as_ref().map(|(_, header)| header.clone());
            let header = known.ok_or_else(|| Status::unauthenticated("the token file was not read yet"))?;
            request.metadata_mut().insert("authorization", header);
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_renewed_token_is_sent_and_a_lost_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let mut bearer = Bearer::new(Some(path.clone()));
        let missing = bearer.renew().await.unwrap_err();
        assert!(missing.message().contains("token: "), "a missing file is no missing token");
        let mut sent = async || {
            bearer.renew().await?;
            bearer.call(Request::new(())).map(|r| r.metadata().get("authorization").cloned())
        };
        for token in ["one", "another"] {
            std::fs::write(&path, format!("{token}\n")).unwrap();
            assert_eq!(sent().await.unwrap().unwrap(), format!("Bearer {token}"));
        }
        std::fs::remove_file(&path).unwrap();
        assert!(sent().await.is_err(), "a token that was taken away is not used any more");
    }

    #[test]
    fn a_file_that_hangs_holds_nobody_up_and_one_thread_for_all_who_ask() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        // Nobody ever writes: its thread is never done, as that of a disk that is gone.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let bearer = Bearer::new(Some(path.clone()));
            // There is one thread: whoever waits on it would not even hear that the time is up.
            for _ in 0..20 {
                let both = async { tokio::join!(bearer.renew(), bearer.renew()) };
                assert!(timeout(Duration::from_millis(5), both).await.is_err());
            }
            let file = bearer.file.as_ref().unwrap();
            assert_eq!(file.looks.lock().unwrap().len(), 1);
            // A look that has hung for long does not stand for the file for ever, and a few do.
            for expected in [2, 3, 3, 3] {
                let long_ago = Instant::now().checked_sub(HANGS).unwrap();
                file.looks.lock().unwrap().iter_mut().for_each(|look| look.begun = long_ago);
                assert!(timeout(Duration::from_millis(5), bearer.renew()).await.is_err());
                assert_eq!(file.looks.lock().unwrap().len(), expected);
            }
        });
        runtime.shutdown_background();
    }

    #[tokio::test]
    async fn a_look_that_is_over_stands_for_no_later_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let bearer = Bearer::new(Some(path.clone()));
        for there in [false, true, false] {
            match there {
                true => std::fs::write(&path, "token\n").unwrap(),
                false => drop(std::fs::remove_file(&path)),
            }
            assert_eq!(bearer.renew().await.is_ok(), there);
        }
    }
}
