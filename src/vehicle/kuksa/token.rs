//! The bearer token: a file that somebody else renews.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::{Request, Status};

/// Puts the token on every request.
#[derive(Debug, Clone)]
pub(super) struct Bearer {
    file: Option<Arc<TokenFile>>,
}

#[derive(Debug)]
struct TokenFile {
    path: PathBuf,
    known: Mutex<Option<(Stamp, MetadataValue<Ascii>)>>,
}

/// Tells one content of a file from the next.
type Stamp = (SystemTime, u64);

impl Bearer {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self { file: path.map(|path| Arc::new(TokenFile { path, known: Mutex::default() })) }
    }

    /// Looks at the file, and reads it anew when it is another than before: due before every request. It may
    /// be on a disk that hangs, so it is looked at where waiting holds nobody up.
    pub(super) async fn renew(&self) -> Result<(), Status> {
        let Some(file) = self.file.clone() else { return Ok(()) };
        let looked = tokio::task::spawn_blocking(move || file.renew()).await;
        looked.unwrap_or_else(|error| Err(error.to_string())).map_err(Status::unauthenticated)
    }
}

impl TokenFile {
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
    use std::time::Duration;

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

    #[tokio::test]
    async fn a_file_that_hangs_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let bearer = Bearer::new(Some(path.clone()));
        // There is one thread: whoever waits on it would not even hear that the time is up.
        assert!(timeout(Duration::from_millis(50), bearer.renew()).await.is_err());
        // The reader goes on once somebody writes.
        std::fs::write(&path, "token\n").unwrap();
    }
}
