//! `obligato vehicle`: what a databroker has of the car that a policy knows.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Subcommand;
use serde_json::json;

use super::{CliError, Exit, block_on, load};
use crate::cli::output::screen;
use crate::service::Config;
use crate::vehicle::Cause;
use crate::vehicle::kuksa::{CallError, Field, Fit, KuksaError, Settings, Survey};

/// Look at the car behind a KUKSA databroker: does the policy's mapping fit, what do the signals say.
///
/// Exit codes: 0 all is well; 1 something does not fit or has no value; 2 the input is wrong; 3 the
/// databroker cannot be reached.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check the mapping against the databroker's metadata: a table of what does not fit
    Check {
        #[command(flatten)]
        common: Common,
        /// Also list what fits
        #[arg(long)]
        all: bool,
    },
    /// Print fields of the car, with their age
    Get {
        #[command(flatten)]
        common: Common,
        /// Fields as results spell them, such as `window_driver_position`; none: all
        fields: Vec<String>,
    },
    /// Print fields whenever they change, until Ctrl-C
    Watch {
        #[command(flatten)]
        common: Common,
        /// Fields as results spell them; none: all
        fields: Vec<String>,
        /// Stop after so many seconds
        #[arg(long, value_name = "N")]
        seconds: Option<u64>,
    },
}

#[derive(Debug, clap::Args)]
struct Common {
    /// Compiled policy, whose mapping is looked at
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Configuration of the service, for policy and databroker; flags override it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// `http://host:port`, `https://host:port` or `unix:/path`
    #[arg(long)]
    address: Option<String>,
    /// Authority of the databroker's certificate (PEM), for https
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Name in the databroker's certificate, where it is not the host
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,
    /// File with the bearer token
    #[arg(long, value_name = "FILE")]
    token: Option<PathBuf>,
    /// Machine-readable output
    #[arg(long)]
    json: bool,
}

impl Common {
    async fn survey(&self) -> Result<(Survey, Peer), CliError> {
        let config = match &self.config {
            Some(path) => Config::read(path).map_err(|e| CliError::Unknown(e.to_string()))?,
            None => Config::default(),
        };
        let policy = self.policy.clone().or(config.policy).ok_or_else(|| {
            CliError::Unknown("whose mapping? name a compiled policy with --policy, or a --config that does".to_owned())
        })?;
        let policy = Arc::new(load::policy(&policy)?);
        let whence = self.whence();
        let known = config.vehicle.kuksa;
        let settings = Settings {
            address: self.address.clone().unwrap_or(known.address),
            ca: self.ca.clone().or(known.ca),
            server_name: self.server_name.clone().or(known.server_name),
            token: self.token.clone().or(known.token),
            timeout_ms: known.timeout_ms,
        };
        let peer = Peer { address: settings.address.clone(), whence };
        match Survey::take(&settings, policy).await {
            Ok(survey) => Ok((survey, peer)),
            Err(KuksaError::Call(error)) => Err(peer.lost(&error)),
            Err(other) => Err(CliError::Unknown(other.to_string())),
        }
    }

    /// Where the address comes from.
    fn whence(&self) -> String {
        match (&self.address, &self.config) {
            (Some(_), _) => "as --address says".to_owned(),
            (None, Some(path)) => format!("by [vehicle.kuksa] of {}, or its default", path.display()),
            (None, None) => "the default".to_owned(),
        }
    }
}

/// The databroker that is asked.
struct Peer {
    address: String,
    whence: String,
}

impl Peer {
    /// It did not give what it was asked for: what to do about it.
    fn lost(&self, error: &CallError) -> CliError {
        let remedy = match error.cause {
            Cause::Unreachable => {
                "is it running there? --address, or `address` in [vehicle.kuksa] of --config, names another place"
            }
            Cause::Frozen => "it is there and does not answer in time; look at its log, or raise `timeout_ms`",
            Cause::Token => "a token that it accepts is named by --token, or `token` in [vehicle.kuksa]",
            Cause::Denied => "the token needs the scope `read`",
            _ => "look at its log",
        };
        let Self { address, whence } = self;
        CliError::Peer(format!("the databroker at {address} ({whence}) did not give {error}; {remedy}"))
    }
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    block_on(async {
        match &args.command {
            Command::Check { common, all } => check(&common.survey().await?.0, *all, common.json),
            Command::Get { common, fields } => {
                let (survey, peer) = common.survey().await?;
                get(&survey, &peer, fields, common.json).await
            }
            Command::Watch { common, fields, seconds } => {
                let (survey, peer) = common.survey().await?;
                watch(&survey, &peer, fields, *seconds, common.json).await
            }
        }
    })
}

fn check(survey: &Survey, all: bool, json: bool) -> Result<Exit, CliError> {
    let table = survey.table();
    let misfits = table.iter().filter(|row| row.fit != Fit::Fits).count();
    let (served, unserved) = (survey.served(), survey.unserved());
    let mut out = screen();
    let mut write = || -> io::Result<()> {
        if json {
            let report = json!({
                "broker": survey.broker, "vss": survey.version(), "signals": table, "misfits": misfits, "served": served, "unserved": unserved,
            });
            return writeln!(out, "{report}");
        }
        let (broker, version, signals) = (&survey.broker, survey.version(), table.len());
        writeln!(out, "{broker}: {signals} signals mapped for VSS {version}, {misfits} do not fit")?;
        let rows: Vec<[String; 3]> = table
            .iter()
            .filter(|row| all || row.fit != Fit::Fits)
            .map(|row| [row.field.clone(), row.path.clone(), row.fit.to_string()])
            .collect();
        columns(&mut out, ["FIELD", "SIGNAL", "FIT"], &rows)?;
        writeln!(out, "tools served here: {}", listed(&served))?;
        writeln!(out, "tools of the mapping that are not: {}", listed(&unserved))
    };
    write().map_err(CliError::output)?;
    Ok(if misfits == 0 { Exit::Done } else { Exit::No })
}

async fn get(survey: &Survey, peer: &Peer, wanted: &[String], json: bool) -> Result<Exit, CliError> {
    let fields = survey.read().await.map_err(|error| peer.lost(&error))?;
    known(&fields, wanted)?;
    let fields: Vec<Field> = fields.into_iter().filter(|f| wanted.is_empty() || wanted.contains(&f.field)).collect();
    let mut out = screen();
    let mut write = || {
        if json {
            return writeln!(out, "{}", json!({ "broker": survey.broker, "fields": fields }));
        }
        let rows: Vec<[String; 4]> = fields.iter().map(row).collect();
        columns(&mut out, ["FIELD", "VALUE", "AGE", "SIGNALS"], &rows)
    };
    write().map_err(CliError::output)?;
    Ok(if fields.iter().any(|f| f.value.is_null()) { Exit::No } else { Exit::Done })
}

async fn watch(
    survey: &Survey,
    peer: &Peer,
    wanted: &[String],
    seconds: Option<u64>,
    json: bool,
) -> Result<Exit, CliError> {
    let mut before: HashMap<String, serde_json::Value> = HashMap::new();
    let mut failed = None;
    let mut unknown = None;
    let follow = survey.watch(|fields| {
        if let Err(error) = known(&fields, wanted) {
            unknown = Some(error);
            return false;
        }
        let mut out = screen();
        for field in fields.iter().filter(|f| wanted.is_empty() || wanted.contains(&f.field)) {
            if before.insert(field.field.clone(), field.value.clone()).as_ref() == Some(&field.value) {
                continue;
            }
            let line = match json {
                true => serde_json::to_string(field).unwrap_or_default(),
                false => format!("{:<32} {}", field.field, shown(field)),
            };
            if let Err(error) = writeln!(out, "{line}").and_then(|()| out.flush()) {
                failed = Some(CliError::output(error));
                return false;
            }
        }
        true
    });
    let limit = seconds.map_or(Duration::MAX, Duration::from_secs);
    let ended = tokio::select! {
        ended = follow => ended,
        () = tokio::time::sleep(limit) => Ok(()),
        _ = tokio::signal::ctrl_c() => Ok(()),
    };
    ended.map_err(|error| peer.lost(&error))?;
    match failed.or(unknown) {
        Some(error) => Err(error),
        None => Ok(Exit::Done),
    }
}

/// Names of fields that there are.
fn known(fields: &[Field], wanted: &[String]) -> Result<(), CliError> {
    match wanted.iter().find(|name| !fields.iter().any(|f| f.field == **name)) {
        Some(name) => Err(CliError::Unknown(format!(
            "no signal here carries `{name}`; without a name `obligato vehicle get` lists all fields"
        ))),
        None => Ok(()),
    }
}

fn shown(field: &Field) -> String {
    match &field.value {
        serde_json::Value::Null => "unknown".to_owned(),
        serde_json::Value::String(word) => word.clone(),
        value => format!("{value} {}", field.unit).trim_end().to_owned(),
    }
}

fn row(field: &Field) -> [String; 4] {
    let age = field.age_ms.map_or_else(|| "never".to_owned(), |ms| format!("{}.{} s", ms / 1000, ms % 1000 / 100));
    let signals: Vec<String> =
        field.signals.iter().map(|(path, raw)| format!("{path} = {}", raw.as_deref().unwrap_or("nothing"))).collect();
    [field.field.clone(), shown(field), age, signals.join(", ")]
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Rows under a heading, each column as wide as its widest cell, the last one open.
fn columns<const N: usize>(out: &mut impl Write, heading: [&str; N], rows: &[[String; N]]) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let heading = heading.map(str::to_owned);
    let all = || std::iter::once(&heading).chain(rows);
    let widths: Vec<usize> =
        (0..N).map(|at| all().filter_map(|row| Some(row.get(at)?.chars().count())).max().unwrap_or_default()).collect();
    for row in all() {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_lines_up_and_has_no_trailing_blanks() {
        let mut out = Vec::new();
        let rows = [["a".to_owned(), "long one".to_owned()], ["bcd".to_owned(), "x".to_owned()]];
        columns(&mut out, ["N", "VALUE"], &rows).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "N    VALUE\na    long one\nbcd  x\n");
    }
}
