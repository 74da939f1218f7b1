//! One reconnecting connection to the broker; every question on it has a deadline.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status, Streaming, TimeoutExpired};

use super::proto::val_client::ValClient;
use super::proto::{
    ActuateRequest, Datapoint, GetServerInfoRequest, GetValuesRequest, ListMetadataRequest, Metadata, SignalId,
    SubscribeRequest, SubscribeResponse, Value, signal_id,
};
use super::settings::{KuksaError, Settings};
use super::token::Bearer;
use crate::vehicle::Cause;

/// A connection that says nothing for so long is asked whether it is still there, and given as much
/// again to answer.
const KEEP_ALIVE: Duration = Duration::from_secs(2);

/// Time for a connection to come up.
const CONNECT: Duration = Duration::from_secs(1);

/// Most bytes of an answer: the whole tree of VSS 6.0 with its descriptions is a fifth of it.
const MESSAGE: usize = 8 * 1024 * 1024;

/// Messages that the broker keeps for a slow subscriber before it drops the oldest.
const BUFFER: u32 = 1_000;

/// Why the broker did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {detail}")]
pub struct CallError {
    /// What was asked.
    pub what: String,
    /// Its kind.
    pub cause: Cause,
    /// Whether the question certainly never took effect.
    pub untouched: bool,
    /// What the broker or the connection says.
    pub detail: String,
}

/// The way to the broker.
#[derive(Debug, Clone)]
pub(super) struct Link {
    client: ValClient<InterceptedService<Channel, Bearer>>,
    bearer: Bearer,
    timeout: Duration,
}

impl Link {
    /// Prepares the connection; it comes up with the first question. Must be called in a runtime.
    pub(super) fn open(settings: &Settings) -> Result<Self, KuksaError> {
        let error = |why: &dyn std::fmt::Display| KuksaError::Address {
            address: settings.address.clone(),
            why: why.to_string(),
        };
        let mut endpoint = Endpoint::from_shared(settings.address.clone())
            .map_err(|e| error(&e))?
            .connect_timeout(CONNECT)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE)
            .keep_alive_while_idle(true);
        match settings.address.split(':').next() {
            Some("http" | "unix") => {}
            Some("https") => endpoint = endpoint.tls_config(tls(settings)?).map_err(|e| error(&e))?,
            _ => return Err(error(&"it names no way to get there")),
        }
        let bearer = Bearer::new(settings.token.clone());
        let client = ValClient::with_interceptor(endpoint.connect_lazy(), bearer.clone());
        Ok(Self { client: client.max_decoding_message_size(MESSAGE), bearer, timeout: settings.timeout() })
    }

    /// Name and version of the broker.
    pub(super) async fn about(&self) -> Result<String, CallError> {
        let what = || "the broker's version".to_owned();
        let mut client = self.client.clone();
        let info = self.bounded(what, self.timeout, client.get_server_info(GetServerInfoRequest {})).await?;
        Ok(format!("{} {}", info.name, info.version))
    }

    /// Everything that the broker knows of its signals.
    pub(super) async fn metadata(&self) -> Result<Vec<Metadata>, CallError> {
        let request = ListMetadataRequest { root: "Vehicle".to_owned(), filter: String::new() };
        let what = || "the list of signals".to_owned();
        Ok(self.bounded(what, self.timeout, self.client.clone().list_metadata(request)).await?.metadata)
    }

    /// The current values of some signals, in their order.
    pub(super) async fn values(&self, paths: &[&str], limit: Duration) -> Result<Vec<Datapoint>, CallError> {
        let request = GetValuesRequest { signal_ids: paths.iter().map(|p| by_path(p)).collect() };
        let what = || format!("the values of {}", paths.join(", "));
        Ok(self.bounded(what, limit.min(self.timeout), self.client.clone().get_values(request)).await?.data_points)
    }

    /// Changes of some signals, their current values first.
    pub(super) async fn subscribe(&self, paths: Vec<String>) -> Result<Streaming<SubscribeResponse>, CallError> {
        let request = SubscribeRequest { signal_paths: paths, buffer_size: BUFFER };
        let what = || "the subscription".to_owned();
        self.bounded(what, self.timeout, self.client.clone().subscribe(request)).await
    }

    /// Orders a value. That the broker took the order does not say that anybody carries it out.
    pub(super) async fn actuate(&self, path: &str, value: Value, limit: Duration) -> Result<(), CallError> {
        if limit.is_zero() {
            let detail = "its time was over before it was sent".to_owned();
            return Err(CallError { what: path.to_owned(), cause: Cause::Late, untouched: true, detail });
        }
        let mut request = Request::new(ActuateRequest { signal_id: Some(by_path(path)), value: Some(value) });
        // The broker is told the deadline too, so that an order in its queue does not outlive it.
        request.set_timeout(limit);
        self.bounded(|| path.to_owned(), limit, self.client.clone().actuate(request)).await.map(drop)
    }

    async fn bounded<T>(
        &self,
        what: impl Fn() -> String,
        limit: Duration,
        asked: impl Future<Output = Result<tonic::Response<T>, Status>>,
    ) -> Result<T, CallError> {
        let deadline = Instant::now() + limit;
        match timeout_at(deadline, self.bearer.renew()).await {
            Ok(Ok(())) => {}
            Ok(Err(status)) => return Err(refused(what(), &status)),
            // Nothing was asked yet: it is not the broker that keeps silent.
            Err(_) => {
                let detail = format!("the token file could not be read within {} ms", limit.as_millis());
                return Err(CallError { what: what(), cause: Cause::Token, untouched: true, detail });
            }
        }
        match timeout_at(deadline, asked).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(refused(what(), &status)),
            Err(_) => Err(frozen(what(), limit)),
        }
    }
}

fn by_path(path: &str) -> SignalId {
    SignalId { signal: Some(signal_id::Signal::Path(path.to_owned())) }
}

fn tls(settings: &Settings) -> Result<ClientTlsConfig, KuksaError> {
    let path = settings.ca.clone().ok_or_else(|| KuksaError::NoAuthority(settings.address.clone()))?;
    let pem = std::fs::read(&path).map_err(|source| KuksaError::File { path, what: "authority", source })?;
    let config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem));
    Ok(match &settings.server_name {
        Some(name) => config.domain_name(name),
        None => config,
    })
}

/// The broker did not answer in time, and may have taken the question all the same.
pub(super) fn frozen(what: String, limit: Duration) -> CallError {
    let detail = format!("the broker did not answer within {} ms", limit.as_millis());
    CallError { what, cause: Cause::Frozen, untouched: false, detail }
}

/// What a status of the broker means. It says UNAVAILABLE both where nobody provides a signal and where
/// it cannot be reached; only the latter comes with an error of the transport.
pub(super) fn refused(what: String, status: &Status) -> CallError {
    let source = std::error::Error::source(status);
    let (cause, untouched) = match status.code() {
        Code::Unavailable if source.is_none() => (Cause::NoProvider, true),
        Code::NotFound => (Cause::NoSignal, true),
        Code::InvalidArgument | Code::OutOfRange => (Cause::OutOfRange, true),
        Code::Unauthenticated => (Cause::Token, true),
        Code::PermissionDenied => (Cause::Denied, true),
        Code::DeadlineExceeded => (Cause::Frozen, false),
        // How the connection itself reports that its deadline is over.
        Code::Cancelled if source.is_none() || causes(source).any(|error| error.is::<TimeoutExpired>()) => {
            (Cause::Frozen, false)
        }
        _ => (Cause::Unreachable, false),
    };
    let mut detail = match status.message() {
        "" => status.code().to_string(),
        message => message.to_owned(),
    };
    // The transport's own words stand at the bottom: `transport error` alone helps nobody.
    for text in causes(source).map(ToString::to_string) {
        if !detail.contains(&text) {
            detail = format!("{detail}: {text}");
        }
    }
    CallError { what, cause, untouched, detail }
}

type Error = dyn std::error::Error + 'static;

/// An error and what it was caused by.
fn causes(first: Option<&Error>) -> impl Iterator<Item = &Error> {
    std::iter::successors(first, |error| error.source())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever looks for the fault is sent to the disk, not to the broker, and knows that nothing was ordered.
    #[test]
    fn a_token_file_that_hangs_is_told_apart_from_a_silent_broker() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let settings = Settings { token: Some(path.clone()), timeout_ms: 50, ..Settings::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let error = runtime.block_on(async { Link::open(&settings).unwrap().about().await.unwrap_err() });
        assert_eq!((error.cause, error.untouched), (Cause::Token, true), "{error}");
        assert!(error.detail.contains("the token file could not be read within 50 ms"), "{error}");
        // Nobody ever writes.
        runtime.shutdown_background();
    }
}
