//! `obligato inspect`: what a compiled policy, an update or a list of keys holds.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::{CliError, Exit, load};
use crate::cli::output::screen;
use crate::policy::Policy;
use crate::policy::update::{
    Header, Installed, InventoryDigest, KeyList, Reading, Trust, UpdateError, accept, largest_list, largest_update,
    read_delivered, unverified, utc,
};
use crate::trials::unpack;

/// Show what a compiled policy, a signed update or a list of keys holds
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file
    file: PathBuf,
    /// Trust file of an image: decide as a car would that runs this image and has no update yet
    #[arg(long, value_name = "FILE")]
    trust: Option<PathBuf>,
    /// List of keys that the car has in use
    #[arg(long, value_name = "FILE", requires = "trust")]
    keys: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let bytes = read_delivered(&args.file, largest_update())?;
    let trust = args.trust.as_deref().map(|path| trusted(path, args.keys.as_deref())).transpose()?;
    let mut report = json!({});
    let decision = match bytes.get(..8) {
        Some(b"OBLIPOLU") => update(&bytes, trust.as_ref(), &mut report)?,
        Some(b"OBLIKEYS") => list(&bytes, trust.as_ref(), &mut report)?,
        _ => {
            blob(&bytes, &args.file, &mut report)?;
            Ok(())
        }
    };
    let (verdict, exit) = match &decision {
        Ok(()) if trust.is_none() => ("not looked at (no --trust)".to_owned(), Exit::Done),
        Ok(()) => ("accepted".to_owned(), Exit::Done),
        Err(error) => (error.to_string(), error.class().into()),
    };
    if report.get("kind") != Some(&json!("policy")) {
        set(&mut report, "decision", verdict.into());
    }
    print(&report, args.json).map_err(CliError::output)?;
    Ok(exit)
}

/// What a car trusts, with the list that it has in use.
fn trusted(path: &Path, keys: Option<&Path>) -> Result<Trust, CliError> {
    let trust = Trust::parse(&load::text(path)?)?;
    let read = |path| KeyList::verify(&read_delivered(path, largest_list())?, &trust);
    let list = keys.map(read).transpose()?;
    Ok(trust.with_list(list))
}

type Decision = Result<Result<(), UpdateError>, CliError>;

fn update(bytes: &[u8], trust: Option<&Trust>, report: &mut Json) -> Decision {
    let (header, content) = unverified(bytes)?;
    set(report, "kind", "update".into());
    describe(&header, report);
    let loaded = Policy::from_blob(content);
    match &loaded {
        Ok(policy) => contents(policy, content.len(), report)?,
        Err(error) => set(report, "content", error.to_string().into()),
    }
    let decide = |trust| accept(bytes, trust, &Installed::default(), Reading::system()).map(|_| ());
    // Without a trust file nobody decides, and what cannot be loaded is no update for anybody.
    Ok(trust.map_or(loaded.map(|_| ()).map_err(UpdateError::from), decide))
}

fn list(bytes: &[u8], trust: Option<&Trust>, report: &mut Json) -> Decision {
    set(report, "kind", "list of keys".into());
    let list = KeyList::unverified(bytes)?;
    let ids = |keys: &[crate::policy::update::PublicKey]| keys.iter().map(|k| k.id().to_string()).collect::<Vec<_>>();
    set(report, "version", list.version().into());
    set(report, "keys", ids(list.keys()).into());
    set(report, "revoked", ids(list.revoked()).into());
    Ok(trust.map_or(Ok(()), |trust| KeyList::verify(bytes, trust).map(|_| ())))
}

fn blob(bytes: &[u8], path: &Path, report: &mut Json) -> Result<(), CliError> {
    let wrong = |source| CliError::Policy { path: path.display().to_string(), source };
    let policy = Policy::from_blob(bytes).map_err(wrong)?;
    set(report, "kind", "policy".into());
    contents(&policy, bytes.len(), report)
}

fn describe(header: &Header, report: &mut Json) {
    set(report, "key", header.key.to_string().into());
    set(report, "version", header.version.into());
    set(report, "target", header.target.clone().into());
    set(report, "formats", format!("{} to {}", header.oldest, header.newest).into());
    set(report, "not_before", utc(header.not_before).into());
    set(report, "expires", utc(header.expires).into());
}

fn contents(policy: &Policy, bytes: usize, report: &mut Json) -> Result<(), CliError> {
    let tests = unpack(&policy.tests).map_err(|e| CliError::Unknown(e.to_string()))?;
    set(report, "policy", policy.id.clone().into());
    set(report, "hash", policy.hash.to_string().into());
    set(report, "bytes", bytes.into());
    set(report, "inventory", InventoryDigest::of(&policy.inventory).to_string().into());
    set(report, "tools", policy.inventory.len().into());
    set(report, "rules", policy.rules().len().into());
    set(report, "tests", tests.len().into());
    set(report, "tests_bytes", policy.tests.0.len().into());
    Ok(())
}

fn set(report: &mut Json, name: &str, value: Json) {
    if let Some(members) = report.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}

fn print(report: &Json, json: bool) -> io::Result<()> {
    let mut out = screen();
    if json {
        return writeln!(out, "{report}");
    }
    for (name, value) in report.as_object().into_iter().flatten() {
        match value {
            Json::String(text) => writeln!(out, "{name:<12}{text}")?,
            other => writeln!(out, "{name:<12}{other}")?,
        }
    }
    Ok(())
}
