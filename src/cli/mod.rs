//! The command line: one file a subcommand, human text by default, `--json` for machines.
//!
//! Exit codes: 0 done; 1 the answer is no (a draft that is not cleared, a test that fails);
//! 2 the input is wrong; 3 a peer (service, model, vehicle) cannot be reached. Updates of the policy
//! (`policy`, `sign`, `inspect`) end with codes of their own, which update tools may rely on:
//!
//! | code | what |
//! |---|---|
//! | 10 | no intact update: truncated, trailing bytes, oversized, a symbolic link or a device |
//! | 11 | not authentic: bad signature, unknown or revoked key |
//! | 12 | older than what the car has committed to (rollback attack) |
//! | 13 | expired (freeze attack) |
//! | 14 | not valid yet |
//! | 15 | the clock is not set: try again |
//! | 16 | not for this car: target, policy set, format, inventory, hard limits |
//! | 17 | its own tests fail here; the last good policy is in force |
//! | 18 | nothing staged, nothing on trial |
//! | 19 | a policy is on trial, or another process works on the slots: try again |
//! | 20 | storage or set-up |
//! | 21 | the caller may not update |
//! | 22 | this image takes no updates |
//! | 23 | the version that was named was undone, replaced by another one, or is committed |

#[cfg(feature = "bench")]
mod bench;
mod chat;
mod client;
#[cfg(feature = "compile")]
mod compile;
#[cfg(feature = "compile")]
mod coverage;
#[cfg(feature = "compile")]
mod critic;
mod daemon;
mod diff;
mod explain;
#[cfg(feature = "compile")]
mod fmt;
#[cfg(feature = "compile")]
mod formalize;
mod inspect;
mod keygen;
mod load;
mod log;
#[cfg(feature = "man")]
mod man;
mod output;
mod page;
mod policy;
mod readable;
mod replay;
mod say;
mod show;
mod sign;
#[cfg(feature = "compile")]
mod test;
#[cfg(feature = "kuksa")]
mod vehicle;
mod verify;

pub use daemon::main as daemon_main;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::policy::update::{Class, UpdateError};

/// The guard between an in-car language model and the car.
#[derive(Debug, Parser)]
#[command(name = "obligato", version, about, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(feature = "compile")]
    Compile(compile::Args),
    #[cfg(feature = "compile")]
    Coverage(coverage::Args),
    #[cfg(feature = "compile")]
    Critic(critic::Args),
    #[cfg(feature = "compile")]
    Test(test::Args),
    #[cfg(feature = "compile")]
    Fmt(fmt::Args),
    #[cfg(feature = "compile")]
    Formalize(formalize::Args),
    Diff(diff::Args),
    Verify(verify::Args),
    Replay(replay::Args),
    #[cfg(feature = "bench")]
    Bench(bench::Args),
    Explain(explain::Args),
    Log(log::Args),
    #[cfg(feature = "man")]
    Man(man::Args),
    Keygen(keygen::Args),
    Sign(sign::Args),
    Inspect(inspect::Args),
    Policy(policy::Args),
    Say(say::Args),
    Chat(chat::Args),
    #[cfg(feature = "kuksa")]
    Vehicle(vehicle::Args),
}

/// What a subcommand ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// The answer is no.
    No = 1,
    /// The input is wrong.
    Input = 2,
    /// A peer cannot be reached.
    Peer = 3,
    /// No intact update.
    Malformed = 10,
    /// No key in use vouches for it.
    NotAuthentic = 11,
    /// Older than what was committed to.
    Rollback = 12,
    /// Expired.
    Expired = 13,
    /// Not valid yet.
    NotYetValid = 14,
    /// The clock is not set.
    ClockUnset = 15,
    /// Not for this car as it is.
    DoesNotFit = 16,
    /// Its own tests fail here.
    Unhealthy = 17,
    /// Nothing to do.
    NothingToDo = 18,
    /// Something else must end first.
    Undecided = 19,
    /// Storage or set-up.
    Storage = 20,
    /// The caller may not.
    NotAllowed = 21,
    /// This image takes no updates.
    NoUpdates = 22,
    /// The version that was named is not where the step needs it.
    OtherVersion = 23,
}

impl From<Class> for Exit {
    fn from(class: Class) -> Self {
        match class {
            Class::Malformed => Self::Malformed,
            Class::NotAuthentic | Class::UnknownKey => Self::NotAuthentic,
            Class::Rollback => Self::Rollback,
            Class::Expired | Class::ExpiredByClock => Self::Expired,
            Class::NotYetValid => Self::NotYetValid,
            Class::ClockUnset => Self::ClockUnset,
            Class::DoesNotFit | Class::NotYetFit => Self::DoesNotFit,
            Class::Unhealthy => Self::Unhealthy,
            Class::NothingToDo => Self::NothingToDo,
            Class::OtherVersion => Self::OtherVersion,
            Class::Busy => Self::Undecided,
            Class::Storage => Self::Storage,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        #[cfg(feature = "compile")]
        Command::Compile(args) => compile::run(&args),
        #[cfg(feature = "compile")]
        Command::Coverage(args) => coverage::run(&args),
        #[cfg(feature = "compile")]
        Command::Critic(args) => critic::run(&args),
        #[cfg(feature = "compile")]
        Command::Test(args) => test::run(&args),
        #[cfg(feature = "compile")]
        Command::Fmt(args) => fmt::run(&args),
        #[cfg(feature = "compile")]
        Command::Formalize(args) => formalize::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Replay(args) => replay::run(&args),
        #[cfg(feature = "bench")]
        Command::Bench(args) => bench::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Log(args) => log::run(&args),
        #[cfg(feature = "man")]
        Command::Man(args) => man::run(&args),
        Command::Keygen(args) => keygen::run(&args),
        Command::Sign(args) => sign::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Policy(args) => policy::run(&args),
        Command::Say(args) => say::run(&args),
        Command::Chat(args) => chat::run(&args),
        #[cfg(feature = "kuksa")]
        Command::Vehicle(args) => vehicle::run(&args),
    };
    outcome
        .unwrap_or_else(|error| {
            // A reader that has seen enough (`head`) is no fault of anybody.
            if error.is_closed_pipe() {
                return Exit::Done;
            }
            output::complain(format_args!("obligato: {error}"));
            error.exit()
        })
        .into()
}

/// Why a subcommand could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A policy cannot be loaded.
    #[error("{path}: {source}")]
    Policy {
        /// The file.
        path: String,
        /// What is wrong.
        source: crate::policy::BlobError,
    },
    /// A transcript cannot be read.
    #[error("{path}: {why}")]
    Transcript {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// A draft cannot be read.
    #[error("{path}: {source}")]
    Draft {
        /// The file.
        path: String,
        /// What is wrong.
        source: crate::model::DraftError,
    },
    /// A tool inventory cannot be used.
    #[error("{path}: {source}")]
    Tools {
        /// The file.
        path: String,
        /// What is wrong.
        source: crate::tools::ImportError,
    },
    /// A limits file cannot be used.
    #[error("{path}: {source}")]
    Limits {
        /// The file.
        path: String,
        /// What is wrong.
        source: crate::policy::HardLimitError,
    },
    /// An expectation file cannot be used.
    #[error("{path}:{line}: {why}")]
    Expectation {
        /// The file.
        path: String,
        /// The line.
        line: usize,
        /// What is wrong and what to do.
        why: String,
    },
    /// Nothing has this name.
    #[error("{0}")]
    Unknown(String),
    /// Standard input or output is gone.
    #[error("standard {stream}: {source}")]
    Stream {
        /// Which.
        stream: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// A journal cannot be read.
    #[error(transparent)]
    Journal(#[from] crate::journal::JournalError),
    /// An update is not taken, or a key cannot be used.
    #[error(transparent)]
    Update(#[from] UpdateError),
    /// The service does not take an update.
    #[error("{why}")]
    Refused {
        /// How the command ends.
        exit: Exit,
        /// What the service says.
        why: String,
    },
    /// The service does not take an update for a reason that may pass, whatever the exit code alone says.
    #[error("{why}")]
    NotYet {
        /// How the command ends.
        exit: Exit,
        /// What the service says.
        why: String,
    },
    /// The service, or the way to it, does not answer or says no.
    #[error("{0}")]
    Peer(String),
}

impl CliError {
    fn exit(&self) -> Exit {
        match self {
            Self::Peer(_) => Exit::Peer,
            Self::Update(error) => error.class().into(),
            Self::Refused { exit, .. } | Self::NotYet { exit, .. } => *exit,
            _ => Exit::Input,
        }
    }

    fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Stream { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe)
    }

    fn output(source: std::io::Error) -> Self {
        Self::Stream { stream: "output", source }
    }

    fn input(source: std::io::Error) -> Self {
        Self::Stream { stream: "input", source }
    }
}

/// Runs what talks to the bus.
fn block_on<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| CliError::Peer(format!("the client cannot start: {e}")))?;
    let done = runtime.block_on(work);
    // A thread that waits for a disk which hangs would wait for ever.
    runtime.shutdown_background();
    done
}
