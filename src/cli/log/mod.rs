//! `obligato log`: what the journal says.

mod filter;
mod line;
#[cfg(feature = "parquet")]
mod parquet;
mod proof;
mod service;
mod when;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::readable::{self, Read};
use super::{CliError, Exit, output};
use crate::journal::{Record, newer, records};
use crate::service::Bus;
use filter::Filter;

/// Where a journal is looked for when nobody says it.
const FOLDER: &str = "/var/lib/obligato/journal";

/// How often a followed journal is looked at.
const EVERY: Duration = Duration::from_millis(250);

/// Show, prove or export the decision journal
///
/// Exit code 1 when the chain is broken, or holds no record that it should: the message names what is altered,
/// missing or out of place. Without `--verify`, what can be read behind a break is shown all the same. Exit code 3 when
/// `--live` finds no service that could tell.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder of the journal [default: /var/lib/obligato/journal, with --live the folder that the service names]
    folder: Option<PathBuf>,
    /// Show what comes in, until interrupted
    #[arg(long, conflicts_with_all = ["verify", "export"])]
    follow: bool,
    /// Prove the whole chain
    #[arg(long, conflicts_with = "export")]
    verify: bool,
    /// With `--verify`: a hash that was kept elsewhere (the property `Head`), which a record must have
    #[arg(long, value_name = "HASH", requires = "verify")]
    head: Option<String>,
    /// With `--verify`: ask the running service for the hash of its newest record, so that an end that was cut off is
    /// found
    #[arg(long, requires = "verify", conflicts_with = "head")]
    live: bool,
    /// With `--live`: `system`, `session` or a D-Bus address [default: the session bus where there is one]
    #[arg(long, requires = "live")]
    bus: Option<Bus>,
    /// Write to a file: records a line, or, where it ends in `.parquet`, one row a finding
    #[arg(long, value_name = "OUT")]
    export: Option<PathBuf>,
    /// Only this session: its number or its object path
    #[arg(long, value_name = "N")]
    session: Option<String>,
    /// Only what this gate found
    #[arg(long, value_name = "GATE")]
    gate: Option<String>,
    /// Only what this rule found, demanded or had undone
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
    /// Only from then on: `90s`, `10m`, `2h`, `3d` ago, or `2026-11-30[T08:15[:00]]` in UTC
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    since: Option<u64>,
    /// Print records as they stand, one a line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let filter =
        Filter { session: args.session.clone(), gate: args.gate.clone(), rule: args.rule.clone(), since: args.since };
    if args.live {
        let bus = args.bus.clone().unwrap_or_else(Bus::of_environment);
        return super::block_on(proof::live(args.folder.as_deref(), &bus, args.json));
    }
    let folder = args.folder.as_deref().unwrap_or(Path::new(FOLDER));
    if args.verify {
        return proof::alone(folder, args.head.as_deref(), args.json);
    }
    if let Some(out) = &args.export {
        return export(folder, out, &filter);
    }
    let mut last = 0;
    let mut shown = 0;
    loop {
        let mut out = output::screen();
        let whole = readable::each(newer(folder, last)?, |read| {
            let Read::Record(record) = read else { return Ok(()) };
            last = last.max(record.seq);
            if filter.takes(&record) {
                shown += 1;
                show(&mut out, &record, args.json).map_err(CliError::output)?;
            }
            Ok(())
        })?;
        if !args.follow {
            if shown == 0 && !args.json {
                eprintln!("obligato: no record fits");
            }
            return Ok(if whole { Exit::Done } else { Exit::No });
        }
        out.flush().map_err(CliError::output)?;
        drop(out);
        wait(folder);
    }
}

/// Waits until the folder's files changed: proving the newest segment over and over would keep a core busy.
fn wait(folder: &Path) {
    let size = || -> u64 {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).fold(0, u64::wrapping_add)
    };
    let before = size();
    while size() == before {
        sleep(EVERY);
    }
}

fn show(out: &mut impl Write, record: &Record, json: bool) -> io::Result<()> {
    if json {
        return writeln!(out, "{}", whole(record));
    }
    line::print(out, record)
}

/// A record with its hash; one behind a break says that it is not proved.
fn whole(record: &Record) -> serde_json::Value {
    let mut json = serde_json::to_value(record).unwrap_or_default();
    if let Some(map) = json.as_object_mut() {
        map.insert("hash".to_owned(), record.hash.clone().into());
        if !record.proved {
            map.insert("proved".to_owned(), false.into());
        }
    }
    json
}

fn export(folder: &Path, path: &Path, filter: &Filter) -> Result<Exit, CliError> {
    let error = |source| CliError::File { path: path.display().to_string(), source };
    output::apart(output::inside(folder), [path])?;
    if lies_in(path, folder) {
        let what = format!(
            "{}: lies in the journal's own folder and might be read as a part of it; write elsewhere",
            path.display()
        );
        return Err(CliError::Unknown(what));
    }
    let mut taken = Vec::new();
    let proved = readable::each(records(folder)?, |read| {
        if let Read::Record(record) = read
            && filter.takes(&record)
        {
            taken.push(record);
        }
        Ok(())
    })?;
    if path.extension().is_some_and(|e| e == "parquet") {
        columns(path, &taken)?;
    } else {
        output::whole(path, |file| taken.iter().try_for_each(|record| writeln!(file, "{}", whole(record))))
            .map_err(error)?;
        println!("{} records", taken.len());
    }
    Ok(if proved { Exit::Done } else { Exit::No })
}

/// Whether a file that need not be there yet lies in a folder, or below it.
fn lies_in(path: &Path, folder: &Path) -> bool {
    let around = path.parent().filter(|around| !around.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (around.canonicalize(), folder.canonicalize()) {
        (Ok(around), Ok(folder)) => around.starts_with(folder),
        _ => false,
    }
}

#[cfg(feature = "parquet")]
fn columns(path: &Path, records: &[Record]) -> Result<(), CliError> {
    let rows = parquet::rows(records);
    output::whole(path, |file| parquet::write(file, &rows))
        .map_err(|source| CliError::File { path: path.display().to_string(), source })?;
    println!("{} rows", rows.len());
    Ok(())
}

#[cfg(not(feature = "parquet"))]
fn columns(path: &Path, _: &[Record]) -> Result<(), CliError> {
    let why = "this build writes no Parquet; build with the feature `parquet`, or export to a `.jsonl`";
    Err(CliError::Unknown(format!("{}: {why}", path.display())))
}
