//! Which bus: the same spelling for the daemon and its clients.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use zbus::connection;

/// A message bus.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
pub enum Bus {
    /// The system bus: the car.
    #[default]
    System,
    /// The session bus: a desk.
    Session,
    /// A D-Bus address: a test.
    Address(String),
}

/// Text that names no bus.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no bus; write `system`, `session` or a D-Bus address such as `unix:path=/run/bus`")]
pub struct BusError(String);

impl Bus {
    /// What a client takes when nothing is said: the session bus where there is one.
    pub fn of_environment() -> Self {
        match std::env::var_os("DBUS_SESSION_BUS_ADDRESS") {
            Some(_) => Self::Session,
            None => Self::System,
        }
    }

    /// Starts a connection.
    pub fn builder(&self) -> connection::Builder<'_> {
        match self {
            Self::System => connection::Builder::system(),
            Self::Session => connection::Builder::session(),
            Self::Address(address) => connection::Builder::address(address.as_str()),
        }
    }
}

impl FromStr for Bus {
    type Err = BusError;

    fn from_str(text: &str) -> Result<Self, BusError> {
        match text {
            "system" => Ok(Self::System),
            "session" => Ok(Self::Session),
            address if address.contains(':') => Ok(Self::Address(address.to_owned())),
            other => Err(BusError(other.to_owned())),
        }
    }
}

impl TryFrom<String> for Bus {
    type Error = BusError;

    fn try_from(text: String) -> Result<Self, BusError> {
        text.parse()
    }
}

impl fmt::Display for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("the system bus"),
            Self::Session => f.write_str("the session bus"),
            Self::Address(address) => write!(f, "the bus at `{address}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_transport_and_anything_else_is_named_in_the_error() {
        assert_eq!("system".parse(), Ok(Bus::System));
        assert_eq!("unix:path=/run/x".parse(), Ok(Bus::Address("unix:path=/run/x".into())));
        assert!("sesion".parse::<Bus>().unwrap_err().to_string().starts_with("`sesion` is no bus"));
    }
}
