//! Errors: on the bus, and at the start of the service.

use std::path::PathBuf;

use crate::model::DraftError;
use crate::policy::update::{Class, UpdateError};
use crate::policy::{BlobError, HardLimitError};
use crate::vehicle::Rejected;

/// What a client is told when a method does nothing: `org.obligato.Error.*`, each with a sentence.
#[derive(Debug, Clone, PartialEq, zbus::DBusError)]
#[zbus(prefix = "org.obligato.Error")]
pub enum Refusal {
    /// The bus itself failed.
    #[zbus(error)]
    ZBus(zbus::Error),
    /// The session has a turn running.
    Busy(String),
    /// The model is still loading.
    NotReady(String),
    /// There is no model.
    NoModel(String),
    /// No such session.
    NoSession(String),
    /// The session belongs to somebody else.
    NotYours(String),
    /// No more sessions are given out, no more is taken in, or it was called too often.
    TooMany(String),
    /// That turn is not running.
    NoTurn(String),
    /// The draft cannot be read.
    BadDraft(String),
    /// An argument cannot be used.
    BadArgument(String),
    /// There is nothing on board that compiles policy text.
    NoCompiler(String),
    /// The offered text could not be compiled.
    NotCompiled(String),
    /// The configuration lets nobody like the caller provide tools.
    NotAProvider(String),
    /// The policy has no such tool, so no rule has seen it.
    UnknownTool(String),
    /// The policy takes the tool for a read where the provider registers a write, or the reverse.
    WrongKind(String),
    /// What the provider takes is not seen to cover the policy's schema of the tool.
    WrongSchema(String),
    /// Somebody else provides the tool, or the car itself carries it out.
    AlreadyProvided(String),
    /// No such rule.
    NoRule(String),
    /// The caller may not update the policy.
    NotAllowed(String),
    /// This image takes no updates, or cannot at the moment.
    NoUpdates(String),
    /// What was delivered is no intact update.
    Malformed(String),
    /// No key in use vouches for it (arbitrary software attack, key compromise).
    NotAuthentic(String),
    /// Nobody vouches for its key, as yet; a list of keys may (arbitrary software attack).
    UnknownKey(String),
    /// It is older than what the car has committed to (rollback attack).
    Rollback(String),
    /// It has expired (freeze attack).
    Expired(String),
    /// It has expired if the clock is right (freeze attack).
    ExpiredByClock(String),
    /// It is not valid yet.
    NotYetValid(String),
    /// The clock is not set, so its validity cannot be told.
    ClockUnset(String),
    /// It is genuine, and not for this car.
    DoesNotFit(String),
    /// It is not for this car as it is: what it serves, its set-up or its image may change.
    NotYetFit(String),
    /// Its own tests fail on this machine.
    Unhealthy(String),
    /// Nothing is staged, or nothing is on trial.
    NothingToDo(String),
    /// The version that the caller means was undone, replaced by another one, or is committed.
    OtherVersion(String),
    /// A policy on trial has to be committed or rolled back first.
    Undecided(String),
    /// The storage is at fault.
    Storage(String),
    /// The service is shutting down.
    Stopping(String),
    /// The service broke down over this request.
    Internal(String),
}

impl Refusal {
    /// A turn is running in this session.
    pub(super) fn busy(turn: u32) -> Self {
        Self::Busy(format!("turn {turn} of this session is still running; wait for its Reply or cancel it"))
    }

    /// What was refused were words of the driver, who may have taken something back.
    pub(super) fn of_words(self) -> Self {
        let more = |why| format!("{why}; what was said is not taken in, and no yes and no question of before holds");
        match self {
            Self::Busy(why) => Self::Busy(more(why)),
            Self::TooMany(why) => Self::TooMany(more(why)),
            Self::BadArgument(why) => Self::BadArgument(more(why)),
            Self::NotReady(why) => Self::NotReady(more(why)),
            Self::NoModel(why) => Self::NoModel(more(why)),
            other => other,
        }
    }

    /// The session is gone.
    pub(super) fn no_session(path: &str) -> Self {
        Self::NoSession(format!("there is no session `{path}`; it was closed or has expired, open another one"))
    }

    /// An argument is too long.
    pub(super) fn too_long(what: &str, found: usize, limit: usize) -> Self {
        Self::BadArgument(format!("the {what} takes {found} bytes, more than the {limit} that are accepted"))
    }

    /// The session's state was lost in a crash of its turn.
    pub(super) fn broken() -> Self {
        Self::Internal("a turn of this session broke down, its state cannot be trusted; open another session".into())
    }
}

impl From<Rejected> for Refusal {
    fn from(rejected: Rejected) -> Self {
        let why = rejected.to_string();
        match rejected {
            Rejected::Shape(_) => Self::BadArgument(why),
            Rejected::UnknownTool { .. } | Rejected::Planning(_) => Self::UnknownTool(why),
            Rejected::NotYours(_) => Self::NotAProvider(why),
            Rejected::Kind { .. } => Self::WrongKind(why),
            Rejected::Unreadable { .. } | Rejected::Schema { .. } => Self::WrongSchema(why),
            Rejected::Provided { .. } | Rejected::Served(_) => Self::AlreadyProvided(why),
            Rejected::Unanswered { .. } => Self::TooMany(why),
        }
    }
}

impl From<DraftError> for Refusal {
    fn from(error: DraftError) -> Self {
        Self::BadDraft(super::fit::sentence(&error.to_string()))
    }
}

impl From<UpdateError> for Refusal {
    fn from(error: UpdateError) -> Self {
        let why = error.to_string();
        match error.class() {
            Class::Malformed => Self::Malformed(why),
            Class::NotAuthentic => Self::NotAuthentic(why),
            Class::UnknownKey => Self::UnknownKey(why),
            Class::Rollback => Self::Rollback(why),
            Class::Expired => Self::Expired(why),
            Class::ExpiredByClock => Self::ExpiredByClock(why),
            Class::NotYetValid => Self::NotYetValid(why),
            Class::ClockUnset => Self::ClockUnset(why),
            Class::DoesNotFit => Self::DoesNotFit(why),
            Class::NotYetFit => Self::NotYetFit(why),
            Class::Unhealthy => Self::Unhealthy(why),
            Class::NothingToDo => Self::NothingToDo(why),
            Class::OtherVersion => Self::OtherVersion(why),
            Class::Busy => Self::Undecided(why),
            Class::Storage => Self::Storage(why),
        }
    }
}

/// Why the service cannot start, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// A file cannot be read.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The configuration cannot be used.
    #[error("{path}: the configuration cannot be read: {source}", path = path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: Box<toml::de::Error>,
    },
    /// A setting is missing or is not supported by this build.
    #[error("{0}")]
    Setting(String),
    /// The policy cannot be loaded.
    #[error("{path}: {source}", path = path.display())]
    Policy {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: BlobError,
    },
    /// The hard limits cannot be used with this policy.
    #[error("{path}: {source}", path = path.display())]
    Limits {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: HardLimitError,
    },
    /// Updates cannot be set up.
    #[error(transparent)]
    Update(#[from] UpdateError),
    /// The vehicle cannot be set up.
    #[error("{path}: the vehicle cannot be set up: {why}", path = path.display())]
    Vehicle {
        /// The file that describes it.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A thread or the runtime cannot be started.
    #[error("the service cannot start its threads: {0}")]
    Threads(std::io::Error),
    /// The bus went away.
    #[error("{0} closed the connection; the service must be started again once the bus is back")]
    Lost(String),
    /// The bus cannot be reached or refuses the name.
    #[error("{bus}: {source}; is the bus running, and may this user own `{name}`?", name = super::BUS_NAME)]
    Bus {
        /// The bus.
        bus: String,
        /// What it says.
        source: zbus::Error,
    },
}

impl ServiceError {
    /// Exit status of the daemon: 3 when the bus is at fault, else 2.
    pub fn exit(&self) -> u8 {
        match self {
            Self::Bus { .. } | Self::Lost(_) | Self::Threads(_) => 3,
            _ => 2,
        }
    }
}
