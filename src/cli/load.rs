//! Reading what subcommands take.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use super::CliError;
use crate::policy::{HardLimits, Policy};
use crate::tools::{Inventory, Tool, import, lacking};

/// Reads a file; one that ends in `.gz` is unpacked.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, CliError> {
    let error = |source: io::Error| CliError::File { path: path.display().to_string(), source };
    let raw = fs::read(path).map_err(error)?;
    if path.extension().is_some_and(|e| e == "gz") {
        let mut unpacked = Vec::new();
        flate2::read::MultiGzDecoder::new(raw.as_slice()).read_to_end(&mut unpacked).map_err(|source| {
            let why =
                format!("it ends in .gz and is not whole gzip ({source}); get it again, or name the unpacked file");
            CliError::Transcript { path: path.display().to_string(), why }
        })?;
        return Ok(unpacked);
    }
    Ok(raw)
}

/// Reads a text file.
pub(super) fn text(path: &Path) -> Result<String, CliError> {
    String::from_utf8(bytes(path)?).map_err(|e| CliError::Transcript {
        path: path.display().to_string(),
        why: format!("not valid UTF-8 at byte {}", e.utf8_error().valid_up_to()),
    })
}

/// Loads a compiled policy.
pub(super) fn policy(path: &Path) -> Result<Policy, CliError> {
    if path.is_dir() {
        let shown = path.display();
        let what =
            format!("{shown}: is a folder; compile it first (`obligato compile {shown} -o FILE`) and name the file");
        return Err(CliError::Unknown(what));
    }
    Policy::from_blob(&bytes(path)?).map_err(|source| CliError::Policy { path: path.display().to_string(), source })
}

/// What the tools of a file lack against those of a policy. Tools that the policy does not know get a word:
/// whoever calls them is objected to.
pub(super) fn lacks(path: &Path, policy: &Policy) -> Result<Vec<String>, CliError> {
    let wrong = |source| CliError::Tools { path: path.display().to_string(), source };
    let imported = import(&text(path)?).map_err(wrong)?;
    let tools: Result<Vec<Tool>, _> = imported.iter().map(Tool::from_import).collect();
    let car: Inventory = tools.map_err(wrong)?.into();
    let unknown = car.iter().filter(|tool| policy.inventory.get(tool.name.as_str()).is_none());
    let unknown: Vec<&str> = unknown.map(|tool| tool.name.as_str()).collect();
    if !unknown.is_empty() {
        eprintln!("obligato: {}: tools that the policy does not know: {}", path.display(), unknown.join(", "));
    }
    Ok(lacking(&policy.inventory, &car).iter().map(str::to_owned).collect())
}

/// Loads hard limits and drops, with a word, those that read a field the policy does not declare.
pub(super) fn limits(path: Option<&Path>, policy: &Policy) -> Result<HardLimits, CliError> {
    let Some(path) = path else { return Ok(HardLimits::default()) };
    let error = |source| CliError::Limits { path: path.display().to_string(), source };
    let mut limits = HardLimits::parse(&text(path)?).map_err(error)?;
    limits.limit.retain(|limit| {
        let alone = HardLimits { limit: vec![limit.clone()] };
        match alone.fit(&policy.model) {
            Ok(()) => true,
            Err(why) => {
                eprintln!("obligato: skipped here: {why}");
                false
            }
        }
    });
    Ok(limits)
}
