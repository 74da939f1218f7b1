//! `obligato keygen`: a fresh key to sign policies, or lists of keys, with.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{CliError, Exit};
use crate::cli::output::screen;
use crate::policy::update::SecretKey;

/// Make a key: NAME.secret, for its owner alone, and NAME.pub
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name of the two files, without an ending; neither may exist
    name: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let key = SecretKey::generate()?;
    let (secret, public) = (ending(&args.name, "secret"), ending(&args.name, "pub"));
    write(&secret, 0o600, &key.to_text())?;
    if let Err(error) = write(&public, 0o644, &format!("{}\n", key.public())) {
        // Half a key is none; this file was made a moment ago.
        let _ = fs::remove_file(&secret);
        return Err(error);
    }
    let (id, secret, public) = (key.public().id(), secret.display(), public.display());
    writeln!(screen(), "{secret}: keep it off the car and off the network\n{public}: key {id}")
        .map_err(CliError::output)?;
    Ok(Exit::Done)
}

fn ending(name: &Path, ending: &str) -> PathBuf {
    let mut name = name.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

/// Writes a file that does not exist; an existing key is never overwritten.
fn write(path: &Path, mode: u32, text: &str) -> Result<(), CliError> {
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    written.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => {
            CliError::Unknown(format!("{} exists; a key is never overwritten, choose another name", path.display()))
        }
        _ => CliError::File { path: path.display().to_string(), source },
    })
}
