//! Rules that were made of a prose, held against the ones that were written by hand for it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Against, Compare, Proof, Relation, Text, other_remedy};
use crate::compile::error::CompileErrors;
use crate::compile::ground;
use crate::compile::source::{SetSource, SourceFile};
use crate::policy::Rule;

/// One hand-written rule with the best that was made for its sentence, or a made rule without one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Held {
    /// The line of the sentence.
    pub line: usize,
    /// The hand-written rule.
    pub hand: Option<String>,
    /// The rule that was made.
    pub made: Option<String>,
    /// How the made one stands to the hand-written one.
    pub against: Against,
    /// Whether it demands another remedy.
    pub other_remedy: bool,
}

/// What rules are worth, sentence by sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quality {
    /// The file of the hand-written rules.
    pub file: String,
    /// Hand-written rules by how the best that was made stands to them, and made rules without a counterpart.
    pub counts: BTreeMap<&'static str, usize>,
    /// All of them, in the order of the lines.
    pub rules: Vec<Held>,
}

/// Holds rules that were made of a set's prose against those of the set.
///
/// # Errors
/// [`CompileErrors`] when the set or one of the two texts does not compile.
pub fn quality(set: &SetSource, made: &SourceFile) -> Result<Quality, CompileErrors> {
    let ground = ground(set)?;
    let proof = Proof::over(set, &ground)?;
    let (hand, made) = (proof.text(&set.rules)?, proof.text(made)?);
    let mut held: Vec<Held> = Vec::new();
    for own in &hand.rules.rules {
        let peers = made.rules.rules.iter().filter(|rule| line(rule) == line(own));
        held.push(if own.advise.is_some() {
            advised(own, peers)
        } else {
            compared(&proof, (&hand, own), &made, peers)
        });
    }
    let alone =
        |rule: &&Rule| rule.advise.is_none() && !held.iter().any(|h| h.made.as_deref() == Some(rule.id.as_str()));
    let alone: Vec<Held> = made.rules.rules.iter().filter(alone).map(without).collect();
    held.extend(alone);
    held.sort_by_key(|h| h.line);
    let mut counts = BTreeMap::new();
    held.iter().for_each(|h| *counts.entry(h.against.as_str()).or_default() += 1);
    Ok(Quality { file: set.rules.name().to_owned(), counts, rules: held })
}

/// The line of the prose that a rule cites.
fn line(rule: &Rule) -> usize {
    rule.source.rsplit_once(':').and_then(|(_, line)| line.parse().ok()).unwrap_or_default()
}

fn advised<'a>(own: &Rule, mut peers: impl Iterator<Item = &'a Rule>) -> Held {
    let made = peers.find(|rule| rule.advise.is_some());
    Held {
        line: line(own),
        hand: Some(own.id.to_string()),
        made: made.map(|rule| rule.id.to_string()),
        against: if made.is_some() { Against::BothAdvise } else { Against::Missing },
        other_remedy: false,
    }
}

/// The best of what was made for the sentence; the same remedy breaks a tie.
fn compared<'a>(
    proof: &Proof<'_>,
    (hand, own): (&Text, &Rule),
    made: &Text,
    peers: impl Iterator<Item = &'a Rule>,
) -> Held {
    let compared = peers.filter(|rule| rule.advise.is_none()).map(|rule| {
        let found = proof.compare(made.side(rule), hand.side(own));
        (found, other_remedy(rule, own), rule.id.to_string())
    });
    let rank = |relation: Relation| match relation {
        Relation::Equivalent => 0,
        Relation::Broader => 1,
        Relation::Narrower => 2,
        Relation::Different => 3,
    };
    let best = compared.min_by_key(|(found, other, _)| (rank(found.relation), *other));
    let (against, other_remedy, made) = match best {
        Some((found, other, id)) => (Against::Compared(found), other, Some(id)),
        None => (Against::Missing, false, None),
    };
    Held { line: line(own), hand: Some(own.id.to_string()), made, against, other_remedy }
}

fn without(rule: &Rule) -> Held {
    let made = Some(rule.id.to_string());
    Held { line: line(rule), hand: None, made, against: Against::NoCounterpart, other_remedy: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::testing::{VEHICLE, prohibition, set};

    #[test]
    fn each_hand_written_rule_gets_the_best_of_its_sentence_and_the_rest_stands_alone() {
        let own = prohibition("set_fan", "Car", "resource.warmth > 250");
        let rule =
            |id: &str, tool: &str, when: &str| prohibition(tool, "Car", when).replace("\"r\"", &format!("{id:?}"));
        let made = [
            rule("a", "set_fan", "resource.warmth > 260"),
            rule("b", "set_fan", "!(resource.warmth <= 250)"),
            rule("c", "set_vent", "resource.fan"),
        ]
        .join("\n");
        let found = quality(&set(VEHICLE, &own), &SourceFile::new("made.cedar", made)).unwrap();
        let told: Vec<(Option<&str>, Option<&str>, &str)> =
            found.rules.iter().map(|h| (h.hand.as_deref(), h.made.as_deref(), h.against.as_str())).collect();
        let expected = [
            (Some("r"), Some("b"), "equivalent"),
            (None, Some("a"), "no-counterpart"),
            (None, Some("c"), "no-counterpart"),
        ];
        assert_eq!(told, expected);
        let nothing = quality(&set(VEHICLE, &own), &SourceFile::new("made.cedar", "")).unwrap();
        assert_eq!(nothing.counts, BTreeMap::from([("missing", 1)]));
    }
}
