//! One HTTP request, cancellable and bounded in time and size.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use serde_json::Value as Json;

use super::RemoteConfig;
use crate::student::{Cancel, StudentError};

/// How often a waiting request looks at the cancel flag.
const POLL: Duration = Duration::from_millis(20);
/// How much of an error page is repeated.
const EXCERPT: usize = 200;

pub(super) struct Client {
    agent: ureq::Agent,
    address: String,
    authorization: Option<String>,
    timeout: Duration,
    answer_bytes: u64,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Client {
    pub(super) fn new(config: &RemoteConfig) -> Result<Self, StudentError> {
        let key = config.key_variable.as_ref().map(|variable| {
            std::env::var(variable).map_err(|_| {
                StudentError::Remote(format!(
                    "the environment variable `{variable}`, which holds its key, is not set; set it or name another one"
                ))
            })
        });
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(config.timeout))
            .http_status_as_error(false)
            // A redirect would carry the key to somebody else.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .build()
            .new_agent();
        Ok(Self {
            agent,
            address: format!("{}/chat/completions", config.base.trim_end_matches('/')),
            authorization: key.transpose()?.map(|key| format!("Bearer {key}")),
            timeout: config.timeout,
            answer_bytes: config.answer_bytes,
        })
    }

    /// The body of the answer. The request runs on a thread of its own; cancelling leaves that
    /// thread to its timeout, because a socket that waits cannot be told.
    pub(super) fn post(&self, body: Json, cancel: &Cancel) -> Result<Vec<u8>, StudentError> {
        let (sender, receiver) = sync_channel(1);
        let request = self.request();
        let limit = self.answer_bytes;
        thread::spawn(move || {
            // The receiver is gone when the turn was cancelled.
            let _ = sender.send(exchange(request, &body, limit));
        });
        loop {
            if cancel.is_cancelled() {
                return Err(StudentError::Cancelled);
            }
            match receiver.recv_timeout(POLL) {
                Ok(Ok((status, bytes))) => return self.judged(status, bytes),
                Ok(Err(e)) => return Err(self.sentence(&e)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(StudentError::Remote(format!("the request to {} broke off", self.address)));
                }
            }
        }
    }

    fn request(&self) -> ureq::RequestBuilder<ureq::typestate::WithBody> {
        let request = self.agent.post(&self.address);
        match &self.authorization {
            Some(value) => request.header("Authorization", value),
            None => request,
        }
    }

    fn judged(&self, status: u16, bytes: Vec<u8>) -> Result<Vec<u8>, StudentError> {
        if (200..300).contains(&status) {
            return Ok(bytes);
        }
        let text = String::from_utf8_lossy(&bytes);
        let excerpt: String = text.chars().filter(|c| !c.is_control()).take(EXCERPT).collect();
        let said = if excerpt.is_empty() { String::new() } else { format!(": {excerpt}") };
        Err(StudentError::Remote(format!("{} answered with HTTP {status}{said}", self.address)))
    }

    fn sentence(&self, error: &ureq::Error) -> StudentError {
        let address = &self.address;
        StudentError::Remote(match error {
            ureq::Error::Timeout(_) => format!("{address} took longer than {} s", self.timeout.as_secs_f32()),
            ureq::Error::BodyExceedsLimit(limit) => format!("{address} sent more than {limit} bytes"),
            ureq::Error::HostNotFound => format!("the host of {address} is unknown; check its name"),
            ureq::Error::Io(e) => format!("{address} cannot be reached: {e}"),
            ureq::Error::TlsRequired => format!("{address} wants TLS, which is not built in; use http and a tunnel"),
            other => format!("{address}: {other}"),
        })
    }
}

type Request = ureq::RequestBuilder<ureq::typestate::WithBody>;

fn exchange(request: Request, body: &Json, limit: u64) -> Result<(u16, Vec<u8>), ureq::Error> {
    let mut response = request.send_json(body)?;
    let status = response.status().as_u16();
    let bytes = response.body_mut().with_config().limit(limit).read_to_vec()?;
    Ok((status, bytes))
}
