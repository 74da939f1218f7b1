//! Annotations: which there are, what each kind of rule needs.

use std::collections::BTreeMap;
use std::time::Duration;

use super::fault::{Refusal, RuleFault};
use crate::compile::names::Near;
use crate::compile::source::SourceFile;
use crate::policy::RuleKind;

/// All annotations that a rule can have.
const KNOWN: [&str; 12] = [
    "id",
    "source",
    "kind",
    "remedy",
    "read",
    "consent",
    "disclose",
    "said",
    "on_failure",
    "fresh",
    "advise",
    "shadow",
];

/// The annotations of one rule, as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Annotations {
    texts: BTreeMap<&'static str, String>,
}

impl Annotations {
    /// Takes the annotations of a policy; the errors name every one that is unknown or empty.
    pub(super) fn read<'a>(found: impl Iterator<Item = (&'a str, &'a str)>) -> (Self, Vec<Refusal>) {
        let mut annotations = Self::default();
        let mut refusals = Vec::new();
        for (name, text) in found {
            match KNOWN.into_iter().find(|known| *known == name) {
                Some("shadow") => {
                    annotations.texts.insert("shadow", text.to_owned());
                }
                Some(known) if text.trim().is_empty() => {
                    refusals.push(Refusal::at(RuleFault::Empty(known), format!("@{known}")));
                }
                Some(known) => {
                    annotations.texts.insert(known, text.trim().to_owned());
                }
                None => {
                    let near = Near::among(name, KNOWN.into_iter());
                    let fault = RuleFault::Annotation { name: name.to_owned(), near };
                    refusals.push(Refusal::at(fault, format!("@{name}")));
                }
            }
        }
        (annotations, refusals)
    }

    /// The text of an annotation.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// The text of an annotation that every rule has.
    pub(super) fn need(&self, name: &'static str) -> Result<&str, RuleFault> {
        self.get(name).ok_or(RuleFault::Missing(name))
    }

    /// The kind, once it agrees with what resolves the rule.
    pub(super) fn kind(&self) -> Result<RuleKind, Refusal> {
        let name = self.need("kind")?;
        let kind = RuleKind::by_name(name).ok_or_else(|| {
            let near = Near::among(name, RuleKind::ALL.iter().map(|k| k.as_str()));
            Refusal::at(RuleFault::Kind { name: name.to_owned(), near }, "@kind")
        })?;
        let (needs, allowed) = resolution(kind);
        if let Some(needs) = needs.filter(|needs| self.get(needs).is_none() && self.get("advise").is_none()) {
            return Err(Refusal::at(RuleFault::KindNeeds { kind: kind.as_str(), needs }, "@kind"));
        }
        let resolving = ["remedy", "consent", "disclose", "advise"];
        let excluded = |has: &&str| {
            self.get(has).is_some() && *has != "advise" && (!allowed.contains(has) || self.get("advise").is_some())
        };
        if let Some(has) = resolving.into_iter().find(excluded) {
            let fault = RuleFault::KindExcludes { kind: kind.as_str(), has };
            return Err(Refusal::at(fault, format!("@{has}")));
        }
        if allowed.iter().filter(|a| self.get(a).is_some()).count() > 1 {
            let has = if self.get("remedy").is_some() { "remedy" } else { "consent" };
            return Err(Refusal::at(RuleFault::KindExcludes { kind: kind.as_str(), has }, format!("@{has}")));
        }
        for (has, needs) in [("said", "disclose"), ("on_failure", "remedy")] {
            if self.get(has).is_some() && self.get(needs).is_none() {
                return Err(Refusal::at(RuleFault::Without { has, needs }, format!("@{has}")));
            }
        }
        Ok(kind)
    }

    /// `@fresh("2s")`, `@fresh("500ms")`: how old an observation may be.
    pub(super) fn fresh(&self) -> Result<Option<Duration>, Refusal> {
        let Some(text) = self.get("fresh") else { return Ok(None) };
        let wrong = || Refusal::at(RuleFault::Fresh(text.to_owned()), "@fresh");
        let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let number: u64 = number.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?;
        match unit {
            "ms" => Ok(Some(Duration::from_millis(number))),
            "s" => Ok(Some(Duration::from_secs(number))),
            _ => Err(wrong()),
        }
    }

    /// `@said("tomorrow | next day")`: the alternatives.
    pub(super) fn said(&self) -> Vec<String> {
        let words = self.get("said").unwrap_or_default().split('|');
        words.map(|w| w.trim().to_owned()).filter(|w| !w.is_empty()).collect()
    }

    /// Where the policy says so, and the sentence that stands there.
    pub(super) fn source(&self, prose: &SourceFile) -> Result<(String, String), Refusal> {
        let text = self.need("source")?;
        let fault = |fault| Refusal::at(fault, "@source");
        let (file, line) = text.rsplit_once(':').ok_or_else(|| fault(RuleFault::Source(text.to_owned())))?;
        let line: usize = line.parse().map_err(|_| fault(RuleFault::Source(text.to_owned())))?;
        if file != prose.name() {
            let expected = prose.name().to_owned();
            return Err(fault(RuleFault::SourceFile { found: file.to_owned(), expected }));
        }
        let lines = prose.text().lines().count();
        let Some(sentence) = line.checked_sub(1).and_then(|at| prose.text().lines().nth(at)) else {
            let what = format!("which has {lines} lines");
            return Err(fault(RuleFault::SourceLine { line, what }));
        };
        let sentence = plain(sentence);
        if sentence.is_empty() {
            let what = "which is empty".to_owned();
            return Err(fault(RuleFault::SourceLine { line, what }));
        }
        Ok((text.to_owned(), sentence))
    }
}

/// What resolves a kind: the annotation it needs, and those of which it may have one.
fn resolution(kind: RuleKind) -> (Option<&'static str>, &'static [&'static str]) {
    match kind {
        RuleKind::AutoAction => (Some("remedy"), &["remedy"]),
        RuleKind::Confirmation => (Some("consent"), &["consent"]),
        RuleKind::Disclosure => (Some("disclose"), &["disclose"]),
        RuleKind::Precondition => (None, &["remedy"]),
        RuleKind::Prohibition => (None, &[]),
        RuleKind::Constraint => (None, &["remedy"]),
        RuleKind::Selection => (None, &["remedy", "consent"]),
    }
}

/// A line of prose without its markdown: list marks, headings, emphasis.
fn plain(line: &str) -> String {
    let trimmed = line.trim().trim_start_matches(['-', '*', '#', '>', '+']).trim_start();
    let digits = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = (digits.len() < trimmed.len()).then(|| digits.strip_prefix(". ").or(digits.strip_prefix(") ")));
    numbered.flatten().unwrap_or(trimmed).replace("**", "").replace('`', "").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&'static str, &str)]) -> Annotations {
        let (annotations, refusals) = Annotations::read(pairs.iter().map(|(n, t)| (*n, *t)));
        assert_eq!(refusals, []);
        annotations
    }

    #[test]
    fn unknown_and_empty_annotations_are_refused_by_name() {
        let (_, refusals) = Annotations::read([("remedi", "x()"), ("consent", " ")].into_iter());
        let texts: Vec<String> = refusals.iter().map(|r| r.fault.to_string()).collect();
        assert_eq!(texts[0], "there is no annotation `@remedi`; did you mean `remedy`?");
        assert_eq!(texts[1], "`@consent` is empty; say something or leave it out");
    }

    #[test]
    fn each_kind_needs_what_satisfies_it_unless_the_critic_judges() {
        for (kind, needs) in [("auto-action", "remedy"), ("confirmation", "consent"), ("disclosure", "disclose")] {
            let fault = with(&[("kind", kind)]).kind().unwrap_err().fault;
            assert!(fault.to_string().contains(&format!("needs `@{needs}`")), "{fault}");
            assert!(with(&[("kind", kind), (needs, "x")]).kind().is_ok());
            assert!(with(&[("kind", kind), ("advise", "x")]).kind().is_ok());
        }
        assert!(with(&[("kind", "prohibition")]).kind().is_ok());
    }

    #[test]
    fn what_would_satisfy_another_kind_is_refused() {
        let fault = |pairs: &[(&'static str, &str)]| with(pairs).kind().unwrap_err().fault.to_string();
        assert!(fault(&[("kind", "prohibition"), ("remedy", "x()")]).contains("cannot have `@remedy`"));
        assert!(fault(&[("kind", "confirmation"), ("consent", "x"), ("advise", "y")]).contains("`@consent`"));
        assert!(fault(&[("kind", "selection"), ("consent", "x"), ("remedy", "y()")]).contains("`@remedy`"));
        assert!(fault(&[("kind", "constraint"), ("said", "x")]).contains("without `@disclose`"));
        assert!(fault(&[("kind", "prohibiton")]).contains("did you mean `prohibition`?"));
    }

    #[test]
    fn a_sentence_is_quoted_without_its_markdown() {
        assert_eq!(plain("  - **017**: The oven `door` must be closed."), "017: The oven door must be closed.");
        assert_eq!(plain("12. Say so."), "Say so.");
        assert_eq!(plain("90 degrees is hot."), "90 degrees is hot.");
    }

    #[test]
    fn a_source_must_be_a_line_with_a_sentence() {
        let prose = SourceFile::new("x/policy.md", "# Rules\n\n- Close it.\n");
        let source = |text: &str| with(&[("source", text)]).source(&prose).map_err(|r| r.fault.to_string());
        assert_eq!(source("policy.md:3").unwrap().1, "Close it.");
        assert!(source("policy.md:2").unwrap_err().contains("which is empty"));
        assert!(source("policy.md:9").unwrap_err().contains("which has 3 lines"));
        assert!(source("policy.md:0").is_err());
        assert!(source("rules.md:3").unwrap_err().contains("`policy.md`"));
        assert!(source("policy.md").unwrap_err().contains("file:line"));
    }
}
