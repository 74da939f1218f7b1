//! Where the broker is, and how it is spoken to.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

/// The way to a databroker.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// `http://host:port`, `https://host:port` (TLS) or `unix:/path`.
    pub address: String,
    /// PEM file of the authority that signed the broker's certificate; needed with `https`.
    pub ca: Option<PathBuf>,
    /// The name in the broker's certificate, where it is not the host of the address.
    pub server_name: Option<String>,
    /// File with the bearer token (JWT). It is read again whenever it changes.
    pub token: Option<PathBuf>,
    /// Milliseconds that a question to the broker may take; actuations have the deadlines of their tools.
    pub timeout_ms: u64,
}

impl Default for Settings {
    /// The broker's own port on the same machine. Two seconds are a thousand times its usual answer.
    fn default() -> Self {
        Self {
            address: "http://127.0.0.1:55555".to_owned(),
            ca: None,
            server_name: None,
            token: None,
            timeout_ms: 2_000,
        }
    }
}

impl Settings {
    /// Time that a question to the broker may take.
    pub(super) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

/// Why the way to a broker cannot even be tried.
#[derive(Debug, thiserror::Error)]
pub enum KuksaError {
    /// Not an address.
    #[error(
        "`{address}` is no address of a databroker ({why}); write http://host:port, https://host:port or unix:/path"
    )]
    Address {
        /// The address.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file that is named and cannot be read.
    #[error("{path}: {source}; the {what} of the databroker is needed")]
    File {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// TLS without an authority.
    #[error("`{0}` is reached with TLS, so `ca` must name the PEM file of the authority that signed its certificate")]
    NoAuthority(String),
    /// A policy that knows no signals.
    #[error("the policy `{0}` maps nothing to the car's signals; add `[vss]` to its vehicle.toml and compile it again")]
    NoMapping(String),
    /// The broker, when it was asked something.
    #[error(transparent)]
    Call(#[from] super::link::CallError),
}
