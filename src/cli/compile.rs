//! `obligato compile`: the sources of a policy set to its blob.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{CliError, Exit};
use crate::compile::{CompileErrors, Compiled, SetSource, compile};
use crate::policy::{Policy, RuleKind};
use crate::tools::Kind;

/// Compile a policy set to one blob
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder of the set: policy.md, tools.json, vehicle.toml, rules.cedar
    folder: PathBuf,
    /// Where the blob goes; without it the set is only checked
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Prose in place of the folder's policy.md
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Tool inventory in place of the folder's tools.json
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Compiles, writes the blob and the schema, prints a summary. On any error no file is touched.
pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let set = SetSource::read(&args.folder, args.policy.as_deref(), args.tools.as_deref());
    let (set, compiled) = match set.and_then(|set| compile(&set).map(|compiled| (set, compiled))) {
        Ok(done) => done,
        Err(errors) => {
            report_errors(&errors, args.json);
            return Ok(Exit::Input);
        }
    };
    let blob_error = |source| CliError::Policy { path: args.folder.display().to_string(), source };
    let blob = compiled.parts.to_blob().map_err(blob_error)?;
    // What was written is what the engine will load: every program is checked once more.
    let policy = Policy::from_blob(&blob).map_err(blob_error)?;
    if let Some(output) = &args.output {
        replace(output, &blob).map_err(|source| CliError::File { path: output.display().to_string(), source })?;
    }
    let schema = set.folder.join("rules.cedarschema");
    if fs::read_to_string(&schema).ok().as_deref() != Some(&compiled.schema)
        && let Err(error) = replace(&schema, compiled.schema.as_bytes())
    {
        // A read-only source tree still compiles; the schema is for editors.
        eprintln!("{}: not written: {error}", schema.display());
    }
    summary(args, &compiled, &policy, blob.len());
    Ok(Exit::Done)
}

fn report_errors(errors: &CompileErrors, json: bool) {
    if json {
        let list: Vec<_> = errors
            .0
            .iter()
            .map(|error| {
                let place = error.place();
                json!({"file": place.map(|p| &*p.file), "line": place.map(|p| p.line), "error": error.to_string()})
            })
            .collect();
        println!("{}", json!({ "errors": list }));
    } else {
        eprintln!("{errors}");
        let count = errors.0.len();
        eprintln!("obligato: {count} error{}, nothing was written", if count == 1 { "" } else { "s" });
    }
}

fn summary(args: &Args, compiled: &Compiled, policy: &Policy, bytes: usize) {
    let kinds = |kind: RuleKind| policy.rules().iter().filter(|r| r.kind == kind).count();
    let rules: BTreeMap<&str, usize> = RuleKind::ALL.into_iter().map(|k| (k.as_str(), kinds(k))).collect();
    let tools = |kind: Kind| policy.inventory.iter().filter(|t| t.kind == kind).count();
    if args.json {
        let warnings: Vec<_> = compiled
            .warnings
            .iter()
            .map(|w| json!({"file": &*w.place.file, "line": w.place.line, "warning": w.what}))
            .collect();
        let report = json!({
            "policy": policy.id, "hash": policy.hash.to_string(), "bytes": bytes,
            "tools": policy.inventory.len(), "fields": policy.model.cells, "rules": rules, "warnings": warnings,
        });
        println!("{report}");
        return;
    }
    for warning in &compiled.warnings {
        eprintln!("warning: {warning}");
    }
    let written = args.output.as_ref().map_or("not written (no --output)".to_owned(), |o| o.display().to_string());
    println!("{}: {written}, {bytes} bytes, sha256 {}", policy.id, policy.hash);
    println!(
        "  {} tools: {} read, {} write, {} compute, {} planning; {} fields of the car",
        policy.inventory.len(),
        tools(Kind::Read),
        tools(Kind::Write),
        tools(Kind::Compute),
        tools(Kind::Planning),
        policy.model.cells
    );
    let listed: Vec<String> = rules.iter().filter(|(_, n)| **n > 0).map(|(kind, n)| format!("{n} {kind}")).collect();
    println!("  {} rules: {}", policy.rules().len(), listed.join(", "));
}

/// Replaces a file as a whole: readers see the old one or the new one, and an error leaves the old.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::other("this names no file"))?.to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = File::create(&beside)
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // The error that matters is the first one.
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(folder: &Path, output: &Path) -> Args {
        Args { folder: folder.to_owned(), output: Some(output.to_owned()), policy: None, tools: None, json: false }
    }

    fn copy_of_the_kitchen() -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        let kitchen = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policies/kitchen");
        for name in ["policy.md", "tools.json", "vehicle.toml", "rules.cedar"] {
            fs::copy(kitchen.join(name), copy.path().join(name)).unwrap();
        }
        copy
    }

    #[test]
    fn writes_a_blob_that_loads_and_the_schema_beside_the_rules() {
        let set = copy_of_the_kitchen();
        let output = set.path().join("kitchen.obl");
        assert_eq!(run(&args(set.path(), &output)).unwrap(), Exit::Done);
        assert_eq!(Policy::from_blob(&fs::read(&output).unwrap()).unwrap().id, "kitchen");
        assert!(fs::read_to_string(set.path().join("rules.cedarschema")).unwrap().contains("entity Burner"));
    }

    #[test]
    fn an_error_leaves_the_old_blob_and_no_other_file() {
        let set = copy_of_the_kitchen();
        let output = set.path().join("kitchen.obl");
        fs::write(&output, "the old one").unwrap();
        fs::write(set.path().join("rules.cedar"), "permit (principal, action, resource);").unwrap();
        assert_eq!(run(&args(set.path(), &output)).unwrap(), Exit::Input);
        assert_eq!(fs::read_to_string(&output).unwrap(), "the old one");
        assert_eq!(fs::read_dir(set.path()).unwrap().count(), 5);
    }

    #[test]
    fn an_output_that_cannot_be_written_is_named_and_leaves_nothing() {
        let set = copy_of_the_kitchen();
        let error = run(&args(set.path(), &set.path().join("nowhere/kitchen.obl"))).unwrap_err();
        assert!(error.to_string().contains("nowhere/kitchen.obl"));
        assert!(!set.path().join("rules.cedarschema").exists());
    }
}
