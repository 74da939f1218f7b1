//! `obligato log --verify`: whether the chain is whole, and goes on to where it should.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::line::SHORT;
use super::service::Service;
use crate::cli::{CliError, Exit, output};
use crate::journal::{JournalError, Verified, records, verify};
use crate::service::Bus;

/// Looks at a journal that is written to meanwhile. A line may stand there in part, and a segment may be gone that was
/// there a moment ago: what is wrong with the journal is wrong each time.
const LOOKS: u32 = 4;

/// Time between two of them.
const PAUSE: Duration = Duration::from_millis(100);

/// A hash that a record must have.
enum Kept {
    /// It was kept elsewhere.
    Elsewhere(String),
    /// The running service has it.
    Service { head: String, folder: String },
}

impl Kept {
    fn hash(&self) -> &str {
        match self {
            Self::Elsewhere(hash) | Self::Service { head: hash, .. } => hash,
        }
    }

    /// What it means that no record has it.
    fn missing(&self) -> String {
        match self {
            Self::Elsewhere(hash) => format!(
                "the chain is whole, and no record has the hash {hash}: its end was cut off, it is another journal, or \
                 the record was dropped for space"
            ),
            Self::Service { head, folder } => format!(
                "the chain is whole, and the newest record of the running service, {head}, is not in it: its end was \
                 cut off, or it is another journal than that of the service, {folder}"
            ),
        }
    }
}

/// Proves a journal as it stands, with a hash that was kept elsewhere, if any.
pub(super) fn alone(folder: &Path, hash: Option<&str>, as_json: bool) -> Result<Exit, CliError> {
    let kept = hash.map(hexadecimal).transpose()?.map(Kept::Elsewhere);
    let mut look = look(folder, kept.as_ref());
    for _ in 1..LOOKS {
        if is_whole(&look) {
            break;
        }
        std::thread::sleep(PAUSE);
        look = self::look(folder, kept.as_ref());
    }
    tell(look?, kept.as_ref(), as_json)
}

/// Proves the journal of the running service, up to its newest record. None named: the folder that the service names.
pub(super) async fn live(folder: Option<&Path>, bus: &Bus, as_json: bool) -> Result<Exit, CliError> {
    let service = Service::connect(bus).await?;
    let mut looks = 1;
    loop {
        // The service says of a record only when it is written: whatever it names is there afterwards. The next look
        // asks again, as that record may have been dropped for space by then.
        let (head, own) = service.newest().await?;
        let at = folder.unwrap_or(Path::new(&own)).to_owned();
        let kept = Kept::Service { head, folder: own };
        let look = look(&at, Some(&kept));
        if is_whole(&look) || looks == LOOKS {
            return tell(look?, Some(&kept), as_json);
        }
        looks += 1;
        tokio::time::sleep(PAUSE).await;
    }
}

/// What one look finds: the proof, and whether the kept hash is missing.
type Look = Result<(Result<Verified, JournalError>, bool), CliError>;

fn look(folder: &Path, kept: Option<&Kept>) -> Look {
    let found = match verify(folder) {
        Err(error @ JournalError::Broken(_)) => Err(error),
        Err(other) => return Err(other.into()),
        Ok(found) => Ok(found),
    };
    let missing = match kept {
        Some(kept) if found.is_ok() => !has(folder, kept.hash())?,
        _ => false,
    };
    Ok((found, missing))
}

fn is_whole(look: &Look) -> bool {
    matches!(look, Ok((Ok(found), false)) if found.records > 0 && found.torn.is_none())
}

/// A hash as records write it, or the beginning of one.
fn hexadecimal(hash: &str) -> Result<String, CliError> {
    let hash = hash.trim().to_ascii_lowercase();
    if hash.len() < SHORT || !hash.bytes().all(|b| b.is_ascii_hexdigit()) {
        let what = format!("`{hash}` is no hash of a record: at least {SHORT} hexadecimal digits");
        return Err(CliError::Unknown(what));
    }
    Ok(hash)
}

/// Whether a record has a hash, or one that begins so.
fn has(folder: &Path, hash: &str) -> Result<bool, CliError> {
    for record in records(folder)? {
        if record?.hash.starts_with(hash) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn tell(
    (found, missing): (Result<Verified, JournalError>, bool),
    kept: Option<&Kept>,
    as_json: bool,
) -> Result<Exit, CliError> {
    let (told, exit) = match found {
        // A journal that was ever opened has a record.
        Ok(found) if found.records == 0 => no("there is no record: nothing is proved".to_owned(), as_json),
        Ok(_) if missing => no(kept.map(Kept::missing).unwrap_or_default(), as_json),
        Ok(found) => (whole(&found, kept, as_json), Exit::Done),
        Err(JournalError::Broken(broken)) if as_json => {
            let told = json!({
                "whole": false, "file": broken.file, "line": broken.line, "seq": broken.seq, "why": broken.to_string(),
            });
            (told.to_string(), Exit::No)
        }
        Err(JournalError::Broken(broken)) => (format!("the chain is broken: {broken}"), Exit::No),
        Err(other) => return Err(other.into()),
    };
    writeln!(output::screen(), "{told}").map_err(CliError::output)?;
    Ok(exit)
}

fn no(why: String, as_json: bool) -> (String, Exit) {
    (if as_json { json!({"whole": false, "why": why}).to_string() } else { why }, Exit::No)
}

fn whole(found: &Verified, kept: Option<&Kept>, as_json: bool) -> String {
    let Verified { records, first, last, head, torn } = found;
    let service = match kept {
        Some(Kept::Service { head, .. }) => Some(head),
        _ => None,
    };
    if as_json {
        let mut told = json!({
            "whole": true, "records": records, "first": first, "last": last, "head": head,
            "torn_bytes": torn.as_ref().map(|torn| torn.bytes),
        });
        if let (Some(head), Json::Object(told)) = (service, &mut told) {
            told.insert("service_head".to_owned(), head.as_str().into());
        }
        return told.to_string();
    }
    let torn = torn
        .as_ref()
        .map(|torn| format!("; {} bytes at the end are no whole record (a write that was cut off)", torn.bytes));
    let service = service.map(|head| format!("; the newest record of the running service, {head}, is in it"));
    format!(
        "the chain is whole: {records} records, {first} to {last}, newest hash {head}{}{}",
        service.unwrap_or_default(),
        torn.unwrap_or_default()
    )
}
