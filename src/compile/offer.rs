//! Policy text that a session brings along, compiled for the policy in force (paper 1, §2.2).

use super::formalize::{Author, FormalizeError, ROUNDS, Standing, Work};
use super::ground::Ground;
use super::source::SourceFile;
use crate::policy::{Forbid, Offer, Policy, Rule};

/// What became of an offered text.
#[derive(Debug)]
pub struct Offered {
    /// What the session may add.
    pub offer: Offer,
    /// Sentences that nothing keeps, each with the reason.
    pub unkept: Vec<String>,
    /// Whether every sentence came to an end by itself. What ran out of rounds may come out better the next
    /// time, so it is not kept.
    pub whole: bool,
}

/// Compiles an offered text for a policy. Only what forbids is taken: a remedy is left out (the call is
/// denied until its condition is gone), and a disclosure becomes a hint, because forbidding in its place
/// would deny what the text lets pass.
///
/// # Errors
/// [`FormalizeError`] when the author cannot be asked.
pub fn offer(policy: &Policy, text: &str, author: &mut dyn Author) -> Result<Offered, FormalizeError> {
    let ground = Ground {
        id: policy.id.clone(),
        inventory: policy.inventory.clone(),
        model: policy.model.clone(),
        derived: policy.derived.clone(),
    };
    let prose = SourceFile::new("offer", text);
    let (made, rules) = Work::new(&ground, &prose)?.run(author)?;
    let (kept, hints): (Vec<Rule>, Vec<Rule>) =
        rules.rules.into_iter().partition(|rule| rule.advise.is_none() && rule.disclose.is_none());
    let mut advice: Vec<String> = hints.iter().map(|rule| rule.sentence.to_string()).collect();
    advice.dedup();
    let sentences = &made.account.sentences;
    let lost = sentences.iter().filter(|entry| entry.standing == Standing::OutOfReach);
    let lost = lost.map(|entry| format!("{}: {}", entry.text, entry.why.as_deref().unwrap_or_default()));
    let ended = |attempts: usize| u32::try_from(attempts).unwrap_or(u32::MAX) < ROUNDS;
    Ok(Offered {
        offer: Offer { forbids: kept.into_iter().map(forbid).collect(), tables: rules.tables, advice },
        unkept: lost.collect(),
        whole: sentences.iter().all(|entry| ended(entry.attempts.len())),
    })
}

fn forbid(rule: Rule) -> Forbid {
    Forbid {
        id: rule.id.to_string(),
        sentence: rule.sentence.to_string(),
        trigger: rule.trigger,
        entity: rule.entity,
        guard: rule.guard,
        when: rule.when,
        reads_after: rule.reads_after,
        read: rule.read,
        consent: rule.consent,
    }
}
