//! What the driver's words are to an open question, and in which language we answer.

use super::session::Pending;
use super::{Config, Heard};
use crate::obligations::{Proposal, is_plain_yes};
use crate::policy::{PhraseRole, Policy};

/// What an utterance is to an open question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// An unqualified yes of the driver.
    Yes,
    /// A no, or a yes with a condition: neither lets anything happen.
    No,
    /// An answer from somebody else, or one that was hardly heard.
    NotTheDriver,
    /// Something else: the question dies with it.
    Other,
}

/// Reads an utterance as an answer. A yes counts only from the driver's own speech, where the
/// assistant reports zone and confidence (design §6), and only to what was asked: words that the
/// question does not hold make it something else.
pub(super) fn answer(policy: &Policy, config: &Config, heard: &Heard, pending: Option<&Pending>) -> Answer {
    let reading = policy.read(&heard.text);
    let yes = match pending {
        Some(pending) => {
            let question = policy.read(&pending.question);
            Proposal::own(policy, &question, &pending.bound).agreed(&reading)
        }
        None => is_plain_yes(&reading),
    };
    let no =
        !yes && (reading.has(PhraseRole::No) || (reading.has(PhraseRole::Yes) && reading.nouns().next().is_none()));
    let foreign = |zone: &String| config.consent_zone.as_ref().is_some_and(|wanted| wanted != zone);
    let unheard = heard.confidence.is_some_and(|c| c < config.consent_confidence);
    if yes && (heard.relayed || heard.zone.as_ref().is_some_and(foreign) || unheard) {
        return Answer::NotTheDriver;
    }
    match (yes, no) {
        (true, _) => Answer::Yes,
        (false, true) => Answer::No,
        (false, false) => Answer::Other,
    }
}

/// The language to answer in: the recogniser's word, else what the sentence itself is written in.
pub(super) fn language(policy: &Policy, heard: &Heard) -> String {
    let spoken = || {
        let at = policy.read(&heard.text).language()?;
        Some(policy.phrases.get(usize::from(at))?.language.clone())
    };
    heard
        .language
        .clone()
        .filter(|code| policy.phrases.iter().any(|p| p.language == *code))
        .or_else(spoken)
        .or_else(|| policy.phrases.first().map(|p| p.language.clone()))
        .unwrap_or_default()
}
