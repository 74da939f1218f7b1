//! `obligato fmt`: the layout of `rules.cedar`, and the schema that editors read beside it.

use std::fs;
use std::path::{Path, PathBuf};

use super::output::{complain, replace};
use super::{CliError, Exit};
use crate::compile::{CompileErrors, SetSource, SourceFile, format, schema};

/// Lay out the rules of a set, and write the schema that editors check them with
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder of the set
    folder: PathBuf,
    /// Tool inventory in place of the folder's tools.json
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Write nothing; exit code 1 where a file is not as this command would write it
    #[arg(long)]
    check: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let files = match files(args) {
        Ok(files) => files,
        Err(errors) => {
            complain(&errors);
            return Ok(Exit::Input);
        }
    };
    let mut differs = false;
    for (path, text) in files {
        if fs::read_to_string(&path).ok().as_deref() == Some(&text) {
            continue;
        }
        differs = true;
        if args.check {
            println!("{}: not as `obligato fmt {}` writes it", path.display(), args.folder.display());
        } else {
            let error = |source| CliError::File { path: path.display().to_string(), source };
            replace(&path, text.as_bytes()).map_err(error)?;
            println!("{}: written", path.display());
        }
    }
    Ok(if differs && args.check { Exit::No } else { Exit::Done })
}

/// The files as they should be. Both are made before one is written.
fn files(args: &Args) -> Result<Vec<(PathBuf, String)>, CompileErrors> {
    let path = |name: &str| args.folder.join(name);
    let rules = SourceFile::read(&path("rules.cedar"))?;
    let mut files = vec![(path("rules.cedar"), format(&rules)?)];
    // A foreign set brings its schema with it; without an effect model there is none to generate.
    if path("vehicle.toml").exists() {
        files.push((path("rules.cedarschema"), schema(&source(args, rules)?)?));
    }
    Ok(files)
}

/// What a schema is made from; the prose has no part in it.
fn source(args: &Args, rules: SourceFile) -> Result<SetSource, CompileErrors> {
    let own = |name: &str| args.folder.join(name);
    let tools: &Path = &args.tools.clone().unwrap_or_else(|| own("tools.json"));
    Ok(SetSource {
        prose: SourceFile::new("policy.md", ""),
        tools: SourceFile::read(tools)?,
        vehicle: SourceFile::read(&own("vehicle.toml"))?,
        rules,
        tests: Vec::new(),
        folder: args.folder.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_objects_until_the_files_are_written_and_then_no_more() {
        let copy = tempfile::tempdir().unwrap();
        let kitchen = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policies/kitchen");
        for name in ["policy.md", "tools.json", "vehicle.toml", "rules.cedar"] {
            fs::copy(kitchen.join(name), copy.path().join(name)).unwrap();
        }
        let rules = copy.path().join("rules.cedar");
        let loose = fs::read_to_string(&rules).unwrap().replace(" == ", "==");
        fs::write(&rules, &loose).unwrap();
        let args = |check| Args { folder: copy.path().to_owned(), tools: None, check };
        assert_eq!(run(&args(true)).unwrap(), Exit::No);
        assert_eq!(fs::read_to_string(&rules).unwrap(), loose);
        assert!(!copy.path().join("rules.cedarschema").exists());
        assert_eq!(run(&args(false)).unwrap(), Exit::Done);
        assert!(copy.path().join("rules.cedarschema").exists());
        assert_eq!(run(&args(true)).unwrap(), Exit::Done);
        fs::write(&rules, "forbid (").unwrap();
        assert_eq!(run(&args(false)).unwrap(), Exit::Input);
        assert_eq!(fs::read_to_string(&rules).unwrap(), "forbid (");
    }
}
