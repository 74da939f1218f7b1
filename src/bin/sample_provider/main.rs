//! A provider to look at: navigation, calendar, contacts, phone and mail of the cabin as a service of
//! their own, with data that outlive it. Nothing of it is linked into `obligatod`.
//!
//! | module | what it holds |
//! |---|---|
//! | `seed` | the data it begins with |
//! | `store` | its database: one transaction a call |
//! | `navigation` | places, routes and the tour |
//! | `people` | contacts and calendar |
//! | `messages` | phone and mail |
//! | `tools` | which tool is answered by what |
//! | `serve` | registration and calls on the bus |

mod messages;
mod navigation;
mod people;
mod seed;
mod serve;
mod store;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests are tests")]
mod tests;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use obligato::service::Bus;

use crate::store::Store;

/// Provides navigation, calendar, contacts, phone and mail to obligatod.
#[derive(Debug, Parser)]
#[command(name = "obligato-sample-provider", version)]
struct Args {
    /// Its database (SQLite); made and filled with sample data where it is not there
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// `system`, `session` or a D-Bus address
    #[arg(long, default_value = "session")]
    bus: Bus,
    /// The bus name it takes
    #[arg(long, value_name = "NAME", default_value = "org.obligato.SampleProvider1")]
    name: String,
    /// Prints what was called, mailed and set as JSON, and ends
    #[arg(long)]
    show: bool,
}

/// Why it cannot start or go on.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// The database cannot be used.
    #[error("{path}: {source}; name another file with --data, or remove this one to begin anew")]
    Data {
        /// The file.
        path: String,
        /// What is wrong.
        source: store::StoreError,
    },
    /// The bus cannot be used.
    #[error("{0}; is the bus running, and may this user own the name?")]
    Bus(#[from] zbus::Error),
    /// obligatod does not take its tools.
    #[error("obligatod refuses the registration: {0}")]
    Refused(obligato::service::Refusal),
    /// The runtime cannot be started.
    #[error("the provider cannot start its threads: {0}")]
    Threads(#[from] std::io::Error),
}

fn run(args: &Args) -> Result<(), Error> {
    let error = |source| Error::Data { path: args.data.display().to_string(), source };
    let mut store = Store::open(&args.data).map_err(error)?;
    if args.show {
        println!("{:#}", store.call(messages::show).map_err(error)?);
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(serve::serve(&args.bus, &args.name, store))
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("obligato-sample-provider: {error}");
            ExitCode::FAILURE
        }
    }
}
