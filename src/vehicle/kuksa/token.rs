//! The bearer token: a file that somebody else renews.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
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
}

impl TokenFile {
    /// The header, read anew when the file is another than before.
    fn header(&self) -> Result<MetadataValue<Ascii>, String> {
        let error = |what: &dyn std::fmt::Display| format!("the token file {}: {what}", self.path.display());
        let meta = std::fs::metadata(&self.path).map_err(|e| error(&e))?;
        let stamp = (meta.modified().unwrap_or(SystemTime::UNIX_EPOCH), meta.len());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, header)) = known.as_ref().filter(|(then, _)| *then == stamp) {
            return Ok(header.clone());
        }
        let token = std::fs::read_to_string(&self.path).map_err(|e| error(&e))?;
        let mut header: MetadataValue<Ascii> =
            format!("Bearer {}", token.trim()).parse().map_err(|_| error(&"it holds no token"))?;
        // Logs and debug output leave it out.
        header.set_sensitive(true);
        *known = Some((stamp, header.clone()));
        Ok(header)
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(file) = &self.file {
            request.metadata_mut().insert("authorization", file.header().map_err(Status::unauthenticated)?);
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renewed_token_is_sent_and_a_lost_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let mut bearer = Bearer::new(Some(path.clone()));
        let mut header = || bearer.call(Request::new(())).map(|r| r.metadata().get("authorization").cloned());
        assert!(header().unwrap_err().message().contains("token: "), "a missing file is no missing token");
        for token in ["one", "another"] {
            std::fs::write(&path, format!("{token}\n")).unwrap();
            assert_eq!(header().unwrap().unwrap(), format!("Bearer {token}"));
        }
    }
}
