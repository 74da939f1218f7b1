//! `obligato coverage`: what becomes of each sentence of a policy.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::output::{apart, complain_as, replace, screen};
use super::replay::{Firings, firings};
use super::{CliError, Exit};
use crate::compile::beside::{self, Beside};
use crate::compile::coverage::{Account, Standing, coverage};
use crate::compile::{CompileErrors, SetSource, SourceFile, compile};
use crate::gates::GATES;
use crate::policy::Policy;

/// Account for every sentence of a policy's prose
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder of the set, with coverage.toml for what no rule cites
    folder: PathBuf,
    /// Prose in place of the folder's policy.md
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Tool inventory in place of the folder's tools.json
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Recorded conversations in which rules and gates are counted, `.gz` or plain
    #[arg(long, value_name = "FILE", num_args = 1..)]
    replay: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write the account as a page beside the prose here
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
}

/// Prints the table, or what is not accounted for.
pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let files = SetSource::files(&args.folder, args.policy.as_deref(), args.tools.as_deref());
    apart(files.iter().chain(&args.replay), &args.html)?;
    match accounts(args) {
        Ok((policy, accounts, prose)) => {
            let policy = policy.map_err(|source| {
                let path = args.folder.display().to_string();
                CliError::Policy { path, source }
            })?;
            let counted = if args.replay.is_empty() { None } else { Some(firings(&policy, &args.replay)?) };
            let table = Table { policy: &policy, accounts: &accounts, firings: counted.as_ref() };
            if let Some(out) = &args.html {
                let error = |source| CliError::File { path: out.display().to_string(), source };
                replace(out, table.html(prose.text()).as_bytes()).map_err(error)?;
            }
            let mut out = screen();
            let printed = if args.json { writeln!(out, "{}", table.json()) } else { table.print(&mut out) };
            printed.map_err(CliError::output)?;
            Ok(Exit::Done)
        }
        Err(errors) => {
            complain_as(&errors, args.json).map_err(CliError::output)?;
            Ok(Exit::Input)
        }
    }
}

type Loaded = Result<Policy, crate::policy::BlobError>;

fn accounts(args: &Args) -> Result<(Loaded, Vec<Account>, SourceFile), CompileErrors> {
    let set = SetSource::read(&args.folder, args.policy.as_deref(), args.tools.as_deref())?;
    let compiled = compile(&set)?;
    let accounts = coverage(&set, &compiled.parts.rules)?;
    Ok((compiled.parts.to_blob().and_then(|blob| Policy::from_blob(&blob)), accounts, set.prose))
}

struct Table<'a> {
    policy: &'a Policy,
    accounts: &'a [Account],
    firings: Option<&'a Firings>,
}

impl Table<'_> {
    fn counts(&self) -> BTreeMap<Standing, usize> {
        let mut counts: BTreeMap<Standing, usize> = Standing::ALL.into_iter().map(|s| (s, 0)).collect();
        self.accounts.iter().for_each(|a| *counts.entry(a.standing).or_default() += 1);
        counts
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        for account in self.accounts {
            let labels: String = account.sentence.labels.iter().map(|label| format!("{label} ")).collect();
            let standing = account.standing.as_str();
            writeln!(out, "{:>4}  {standing:<12}{labels}{}", account.sentence.line, account.sentence.text)?;
            for (what, names, counts) in [
                ("rule", &account.rules, self.firings.map(|f| &f.rules)),
                ("gate", &account.gates, self.firings.map(|f| &f.gates)),
            ] {
                for name in names {
                    writeln!(out, "{:18}{what} {name}{}", "", fired(counts, name))?;
                }
            }
            if let Some(why) = &account.why {
                writeln!(out, "{:18}{why}", "")?;
            }
        }
        let counts = self.counts();
        let counts: Vec<String> = counts.iter().map(|(standing, n)| format!("{} {n}", standing.as_str())).collect();
        writeln!(out, "{}: {} sentences: {}", self.policy.id, self.accounts.len(), counts.join(", "))?;
        let Some(firings) = self.firings else { return Ok(()) };
        let [passing, failing] = firings.conversations;
        writeln!(out, "messages with a finding in {passing} passing and {failing} failing conversations")?;
        let rules = self.policy.rules().iter().map(|r| r.id.as_str());
        list(out, "rule", rules, &firings.rules)?;
        list(out, "gate", GATES.iter().map(|g| g.name), &firings.gates)
    }

    /// The page: each sentence with its rules, its gates and the reason where it has neither.
    fn html(&self, prose: &str) -> String {
        let mut page = Beside::default();
        for account in self.accounts {
            let rules = account.rules.iter().map(|name| {
                let rule = self.policy.rules().iter().find(|r| r.id.as_str() == name);
                let kind = rule.map_or("", |r| r.kind.as_str());
                format!("rule {name} ({kind}){}", fired(self.firings.map(|f| &f.rules), name))
            });
            let gates = account.gates.iter();
            let gates = gates.map(|name| format!("gate {name}{}", fired(self.firings.map(|f| &f.gates), name)));
            let said: Vec<String> =
                rules.chain(gates).chain(account.why.iter().cloned()).map(|line| beside::words(&line)).collect();
            page.entry(account.sentence.line, account.standing.as_str(), &account.sentence.text, &said);
        }
        let counts = self.counts();
        let sentence = format!("{} sentences of {}.", self.accounts.len(), self.policy.id);
        page.summary(counts.iter().map(|(standing, n)| (standing.as_str(), *n)), &sentence);
        page.html(&format!("Coverage of {}", self.policy.id), prose)
    }

    fn json(&self) -> Json {
        let counted = |names: &[String], counts: Option<&BTreeMap<String, [usize; 2]>>| -> Vec<Json> {
            let one = |name: &String| match counts {
                Some(counts) => {
                    let [passing, failing] = counts.get(name).copied().unwrap_or_default();
                    json!({"name": name, "passing": passing, "failing": failing})
                }
                None => json!({"name": name}),
            };
            names.iter().map(one).collect()
        };
        let sentence = |account: &Account| {
            json!({
                "line": account.sentence.line,
                "labels": account.sentence.labels,
                "text": account.sentence.text,
                "standing": account.standing.as_str(),
                "rules": counted(&account.rules, self.firings.map(|f| &f.rules)),
                "gates": counted(&account.gates, self.firings.map(|f| &f.gates)),
                "why": account.why,
            })
        };
        let rules: Vec<String> = self.policy.rules().iter().map(|r| r.id.as_str().to_owned()).collect();
        let gates: Vec<String> = GATES.iter().map(|g| g.name.to_owned()).collect();
        json!({
            "set": self.policy.id,
            "counts": self.counts().into_iter().map(|(s, n)| (s.as_str(), n)).collect::<BTreeMap<_, _>>(),
            "sentences": self.accounts.iter().map(sentence).collect::<Vec<_>>(),
            "rules": self.firings.map(|f| counted(&rules, Some(&f.rules))),
            "gates": self.firings.map(|f| counted(&gates, Some(&f.gates))),
        })
    }
}

/// `, 3 passing, 9 failing`
fn fired(counts: Option<&BTreeMap<String, [usize; 2]>>, name: &str) -> String {
    counts.map_or_else(String::new, |counts| {
        let [passing, failing] = counts.get(name).copied().unwrap_or_default();
        format!(": {passing} passing, {failing} failing")
    })
}

fn list<'a>(
    out: &mut impl Write,
    heading: &str,
    names: impl Iterator<Item = &'a str>,
    counts: &BTreeMap<String, [usize; 2]>,
) -> io::Result<()> {
    writeln!(out, "{heading:<34}{:>9}{:>9}", "passing", "failing")?;
    for name in names {
        let [passing, failing] = counts.get(name).copied().unwrap_or_default();
        writeln!(out, "{name:<34}{passing:>9}{failing:>9}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn args(folder: &str, json: bool) -> Args {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        Args { folder, policy: None, tools: None, replay: Vec::new(), json, html: None }
    }

    #[test]
    fn a_set_that_is_accounted_for_is_done_and_one_that_is_not_is_wrong_input() {
        assert_eq!(run(&args("policies/cabin", true)).unwrap(), Exit::Done);
        assert_eq!(run(&args("tests/policies/kitchen", true)).unwrap(), Exit::Input);
    }

    #[test]
    fn the_table_shows_rule_gate_reason_and_firings_beside_the_sentence() {
        let Ok((Ok(policy), accounts, prose)) = accounts(&args("policies/cabin", false)) else {
            panic!("the cabin is accounted for")
        };
        let firings = Firings { rules: [("ac-needs-fan".to_owned(), [2, 3])].into(), ..Firings::default() };
        let table = Table { policy: &policy, accounts: &accounts, firings: Some(&firings) };
        let mut out = Vec::new();
        table.print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let rule = "the fan runs at level 1 at least.\n                  rule ac-needs-fan: 2 passing, 3 failing\n";
        assert!(text.contains(rule), "{text}");
        assert!(text.contains("gate mixed-message: 0 passing, 0 failing"), "{text}");
        let page = table.html(prose.text());
        assert!(page.contains("<p>rule ac-needs-fan (auto-action): 2 passing, 3 failing</p>"), "{page}");
        assert!(prose.text().lines().filter(|l| !l.contains(['&', '<', '>', '"', '\''])).all(|l| page.contains(l)));
        let json = table.json();
        let sentences = json["sentences"].as_array().unwrap();
        assert!(sentences.iter().all(|s| s["why"].is_string() || s["standing"] != "description"));
        assert_eq!(
            sentences.len() as u64,
            json["counts"].as_object().unwrap().values().filter_map(Json::as_u64).sum::<u64>()
        );
    }
}
