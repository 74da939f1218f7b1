//! `obligato sign`: a compiled policy into its signed envelope, or a list of keys.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{CliError, Exit, load, output};
use crate::policy::Policy;
use crate::policy::update::{Issue, PublicKey, Reading, SecretKey, UpdateError, sign, sign_keys, utc};
use crate::trials::Health;

/// Seconds of a day.
const DAY: u64 = 86_400;

/// Sign a compiled policy for a product, after its own tests passed; with --list sign a list of keys
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The compiled policy
    #[arg(required_unless_present = "list", conflicts_with = "list")]
    blob: Option<PathBuf>,
    /// Secret key to sign with; of a list: the root key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Product it is for, as the image's trust file names it
    #[arg(long, value_name = "NAME", required_unless_present = "list", conflicts_with = "list")]
    target: Option<String>,
    /// Version; every content has its own, and later ones are greater
    #[arg(long, value_name = "N")]
    number: u64,
    /// Seconds since 1970 (UTC) from which it is valid; now where it is left out
    #[arg(long, value_name = "SECONDS", conflicts_with = "list")]
    not_before: Option<u64>,
    /// Days that it is valid
    #[arg(long, value_name = "N", default_value_t = 365, conflicts_with = "list")]
    days: u64,
    /// Sign a list of keys in place of a policy
    #[arg(long)]
    list: bool,
    /// A public key that signs policies besides those of the image
    #[arg(long, value_name = "FILE", requires = "list")]
    add: Vec<PathBuf>,
    /// A public key that signs nothing any more
    #[arg(long, value_name = "FILE", requires = "list")]
    revoke: Vec<PathBuf>,
    /// Where the signed file goes
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let inputs = args.blob.iter().chain([&args.key]).chain(&args.add).chain(&args.revoke);
    output::apart(inputs, [&args.output])?;
    let key = secret(&args.key)?;
    let (signed, told) = match (&args.blob, &args.target) {
        (Some(blob), Some(target)) => policy(args, blob, target, &key)?,
        _ => list(args, &key)?,
    };
    let error = |source| CliError::File { path: args.output.display().to_string(), source };
    output::whole(&args.output, |file| file.write_all(&signed)).map_err(error)?;
    writeln!(output::screen(), "{}: {told}, {} bytes", args.output.display(), signed.len())
        .map_err(CliError::output)?;
    Ok(Exit::Done)
}

fn policy(args: &Args, path: &Path, target: &str, key: &SecretKey) -> Result<(Vec<u8>, String), CliError> {
    let blob = load::bytes(path)?;
    let wrong = |source| CliError::Policy { path: path.display().to_string(), source };
    let policy = Policy::from_blob(&blob).map_err(wrong)?;
    // No car would keep a policy whose own tests fail.
    let health = Health::check(&policy).map_err(|why| {
        let why =
            format!("{}: {why}; mend the set or its tests (`obligato test`) and compile it again", path.display());
        CliError::Refused { exit: Exit::Unhealthy, why }
    })?;
    let not_before = args.not_before.or(Reading::system().0).unwrap_or_default();
    let expires = not_before.saturating_add(args.days.saturating_mul(DAY));
    let issue = Issue { target, version: args.number, not_before, expires };
    let (header, signed) = sign(&blob, &issue, key)?;
    let told = format!(
        "policy `{}` version {} for `{target}`, {} tests passed, valid until {}",
        header.policy,
        header.version,
        health.tests,
        utc(expires)
    );
    Ok((signed, told))
}

fn list(args: &Args, root: &SecretKey) -> Result<(Vec<u8>, String), CliError> {
    let keys = |paths: &[PathBuf]| paths.iter().map(|path| public(path)).collect::<Result<Vec<_>, _>>();
    let (add, revoke) = (keys(&args.add)?, keys(&args.revoke)?);
    let signed = sign_keys(args.number, &add, &revoke, root)?;
    Ok((signed, format!("list {} of keys: {} added, {} revoked", args.number, add.len(), revoke.len())))
}

fn public(path: &Path) -> Result<PublicKey, CliError> {
    Ok(load::text(path)?.parse()?)
}

/// Reads a secret key. One that others can read is not secret.
fn secret(path: &Path) -> Result<SecretKey, CliError> {
    let error = |source| CliError::File { path: path.display().to_string(), source };
    let mut file = File::open(path).map_err(error)?;
    let mode = file.metadata().map_err(error)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let path = path.display();
        let why = format!("{path} can be read by others (mode {mode:03o}); replace the key, or `chmod 600 {path}`");
        return Err(UpdateError::Key(why).into());
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(error)?;
    Ok(SecretKey::from_text(&text)?)
}
