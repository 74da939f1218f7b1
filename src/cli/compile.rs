//! `obligato compile`: the sources of a policy set to its blob.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::output::{apart, complain, complain_as, replace, screen};
use super::{CliError, Exit};
use crate::compile::{CompileErrors, Compiled, SetSource, SourceFile, Warning, compile, compile_foreign};
use crate::policy::foreign::{ForeignSet, Tier};
use crate::policy::{Policy, RuleKind, is_blob};
use crate::tools::Kind;

/// Compile a policy set to one blob
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder of the set: policy.md, tools.json, vehicle.toml, rules.cedar; with --schema a Cedar file
    folder: PathBuf,
    /// Compile the Cedar file as a foreign set over this schema: plain forbids, no car
    #[arg(long, value_name = "FILE", conflicts_with_all = ["policy", "tools"])]
    schema: Option<PathBuf>,
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

/// Asks whether the blob may go there: never over a file that is read, or that somebody wrote.
fn place(inputs: &[PathBuf], output: Option<&PathBuf>) -> Result<(), CliError> {
    apart(inputs, output)?;
    let Some(output) = output.filter(|output| output.is_file()) else { return Ok(()) };
    let there = fs::read(output).map_err(|source| CliError::File { path: output.display().to_string(), source })?;
    if there.is_empty() || is_blob(&there) {
        return Ok(());
    }
    let what = "is there and is no compiled policy; name another file, or remove it first";
    Err(CliError::Unknown(format!("{}: {what}", output.display())))
}

/// Compiles, writes the blob and the schema, prints a summary. On any error no file is touched.
pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    if let Some(schema) = &args.schema {
        place(&[args.folder.clone(), schema.clone()], args.output.as_ref())?;
        return foreign(args, schema);
    }
    let inputs = SetSource::files(&args.folder, args.policy.as_deref(), args.tools.as_deref());
    place(&inputs, args.output.as_ref())?;
    let set = SetSource::read(&args.folder, args.policy.as_deref(), args.tools.as_deref());
    let (set, compiled) = match set.and_then(|set| compile(&set).map(|compiled| (set, compiled))) {
        Ok(done) => done,
        Err(errors) => {
            report_errors(&errors, args.json).map_err(CliError::output)?;
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
    summary(args, &compiled, &policy, blob.len()).map_err(CliError::output)?;
    Ok(Exit::Done)
}

/// Compiles a foreign set. Nothing but the blob is written.
fn foreign(args: &Args, schema: &Path) -> Result<Exit, CliError> {
    let name = args.folder.file_stem().unwrap_or_default().to_string_lossy();
    let read = |path| SourceFile::read(path).map_err(CompileErrors::from);
    let sources = read(&args.folder).and_then(|rules| Ok((rules, read(schema)?)));
    let compiled = match sources.and_then(|(rules, schema)| compile_foreign(&name, &rules, &schema)) {
        Ok(compiled) => compiled,
        Err(errors) => {
            report_errors(&errors, args.json).map_err(CliError::output)?;
            return Ok(Exit::Input);
        }
    };
    let blob_error = |source| CliError::Policy { path: args.folder.display().to_string(), source };
    let blob = compiled.parts.to_blob().map_err(blob_error)?;
    let set = ForeignSet::from_blob(&blob).map_err(blob_error)?;
    if let Some(output) = &args.output {
        replace(output, &blob).map_err(|source| CliError::File { path: output.display().to_string(), source })?;
    }
    foreign_summary(args, &compiled.warnings, &set, blob.len()).map_err(CliError::output)?;
    Ok(Exit::Done)
}

/// What a compiled foreign set holds.
fn foreign_summary(args: &Args, found: &[Warning], set: &ForeignSet, bytes: usize) -> io::Result<()> {
    let mut out = screen();
    let parts = set.parts();
    let tiers = [Tier::Stateless, Tier::Typed, Tier::Session];
    let rules: BTreeMap<String, usize> = tiers
        .into_iter()
        .map(|tier| (tier.to_string(), parts.rules.iter().filter(|r| r.tier == tier).count()))
        .collect();
    if args.json {
        let report = json!({
            "policy": parts.id, "hash": set.hash.to_string(), "bytes": bytes, "rules": rules,
            "permits": parts.permits.len(), "environments": parts.environments.len(), "warnings": self::warnings(found),
        });
        return writeln!(out, "{report}");
    }
    for warning in found {
        complain(format_args!("warning: {warning}"));
    }
    let written = args.output.as_ref().map_or("not written (no --output)".to_owned(), |o| o.display().to_string());
    writeln!(out, "{}: {written}, {} bytes, sha256 {}", parts.id, bytes, set.hash)?;
    let listed: Vec<String> = rules.iter().map(|(tier, n)| format!("{n} {tier}")).collect();
    let (forbids, permits) = (parts.rules.len(), parts.permits.len());
    writeln!(out, "  {forbids} forbids: {}; {permits} permits of everything", listed.join(", "))?;
    writeln!(out, "  {} environments, {} programs", parts.environments.len(), parts.programs.len())?;
    Ok(())
}

fn warnings(warnings: &[Warning]) -> Vec<serde_json::Value> {
    let told = |w: &Warning| json!({"file": &*w.place.file, "line": w.place.line, "warning": w.what});
    warnings.iter().map(told).collect()
}

fn report_errors(errors: &CompileErrors, json: bool) -> io::Result<()> {
    complain_as(errors, json)?;
    if !json {
        let count = errors.0.len();
        eprintln!("obligato: {count} error{}, nothing was written", if count == 1 { "" } else { "s" });
    }
    Ok(())
}

fn summary(args: &Args, compiled: &Compiled, policy: &Policy, bytes: usize) -> io::Result<()> {
    let mut out = screen();
    let kinds = |kind: RuleKind| policy.rules().iter().filter(|r| r.kind == kind).count();
    let rules: BTreeMap<&str, usize> = RuleKind::ALL.into_iter().map(|k| (k.as_str(), kinds(k))).collect();
    let tools = |kind: Kind| policy.inventory.iter().filter(|t| t.kind == kind).count();
    if args.json {
        let report = json!({
            "policy": policy.id, "hash": policy.hash.to_string(), "bytes": bytes,
            "tools": policy.inventory.len(), "fields": policy.model.cells, "rules": rules, "warnings": warnings(&compiled.warnings),
        });
        return writeln!(out, "{report}");
    }
    for warning in &compiled.warnings {
        complain(format_args!("warning: {warning}"));
    }
    let written = args.output.as_ref().map_or("not written (no --output)".to_owned(), |o| o.display().to_string());
    writeln!(out, "{}: {written}, {bytes} bytes, sha256 {}", policy.id, policy.hash)?;
    writeln!(
        out,
        "  {} tools: {} read, {} write, {} compute, {} planning; {} fields of the car",
        policy.inventory.len(),
        tools(Kind::Read),
        tools(Kind::Write),
        tools(Kind::Compute),
        tools(Kind::Planning),
        policy.model.cells
    )?;
    let listed: Vec<String> = rules.iter().filter(|(_, n)| **n > 0).map(|(kind, n)| format!("{n} {kind}")).collect();
    writeln!(out, "  {} rules: {}", policy.rules().len(), listed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(folder: &Path, output: &Path) -> Args {
        Args {
            folder: folder.to_owned(),
            output: Some(output.to_owned()),
            schema: None,
            policy: None,
            tools: None,
            json: false,
        }
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
        let old = [b"OBLIGATO".as_slice(), b"the old one"].concat();
        fs::write(&output, &old).unwrap();
        fs::write(set.path().join("rules.cedar"), "permit (principal, action, resource);").unwrap();
        assert_eq!(run(&args(set.path(), &output)).unwrap(), Exit::Input);
        assert_eq!(fs::read(&output).unwrap(), old);
        assert_eq!(fs::read_dir(set.path()).unwrap().count(), 5);
    }

    #[test]
    fn a_file_that_is_no_blob_is_not_replaced_by_one() {
        let set = copy_of_the_kitchen();
        let mine = set.path().join("examples.toml");
        fs::write(&mine, "mine").unwrap();
        let told = run(&args(set.path(), &mine)).unwrap_err().to_string();
        assert!(told.ends_with("is there and is no compiled policy; name another file, or remove it first"), "{told}");
        assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
    }

    #[test]
    fn an_output_that_cannot_be_written_is_named_and_leaves_nothing() {
        let set = copy_of_the_kitchen();
        let error = run(&args(set.path(), &set.path().join("nowhere/kitchen.obl"))).unwrap_err();
        assert!(error.to_string().contains("nowhere/kitchen.obl"));
        assert!(!set.path().join("rules.cedarschema").exists());
    }
}
