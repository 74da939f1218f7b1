//! Replies that break off.

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::policy::PhraseRole;

gate! {
    /// A reply is there and is whole.
    ///
    /// # Why
    /// A small model sometimes stops in the middle of a sentence, or says nothing at all.
    ///
    /// # Blocks
    /// An empty reply without calls, one without a single word, and one that breaks off: at a comma, an open
    /// bracket or a colon, or after a word that ends no sentence ("Hey there! I").
    ///
    /// # Allows
    /// Every other ending, with or without a full stop: marks, quotes and pictures after the last word do
    /// not count, as what will be spoken has none.
    ///
    /// # Remedy
    /// None: the reply is written anew.
    "output-integrity", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    if !view.draft.calls.is_empty() || !view.draft.malformed.is_empty() {
        return Ok(());
    }
    let text = view.draft.reply.as_deref().unwrap_or_default();
    let because = match view.reply().filter(|r| !r.words().is_empty()) {
        None => "the draft neither says nor does anything".to_owned(),
        Some(reply) => {
            let last = reply.words().len() - 1;
            let open = text.trim_end().ends_with([',', ':', ';', '(', '-', '–', '—']);
            let ended = text.trim_end_matches(|c: char| !c.is_alphanumeric()).len() < text.trim_end().len();
            let dangles = reply.role(PhraseRole::Dangling).any(|h| h.end == last + 1);
            if !open && (ended || !dangles) {
                return Ok(());
            }
            format!("the reply breaks off after \"{}\"", reply.words().text(last))
        }
    };
    findings.push(Finding::new(NAME, Tier::Hard, because));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use serde_json::json;

    fn found(draft: &Draft) -> usize {
        let policy = kitchen();
        check(&GATE, &policy, &Talk::new(&policy).driver("hello").history(), draft).len()
    }

    #[test]
    fn blocks_what_is_empty_or_breaks_off() {
        for reply in
            ["", "  ", "…", "Hey there! I", "The door is open and the", "Your options are:", "Ich schließe die Tür und"]
        {
            assert_eq!(found(&Draft::reply(reply)), 1, "{reply}");
        }
        assert_eq!(found(&Draft::default()), 1);
    }

    #[test]
    fn allows_every_whole_ending() {
        for reply in [
            "Done",
            "All set! 🎉",
            "(The door is open.)",
            "She said \"no\"",
            "Is that what you want me to do?",
            "Which one is it",
        ] {
            assert_eq!(found(&Draft::reply(reply)), 0, "{reply}");
        }
    }

    #[test]
    fn allows_calls_without_words() {
        assert_eq!(found(&calls(&[("switch_oven", json!({"on": true}))])), 0);
    }
}
