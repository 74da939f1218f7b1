//! What nobody decided.

use super::check;
use crate::compile::critic::Case;

check! {
    /// Lists what was not checked, and why: questions that the solver gave up, tools that the recordings
    /// never call, rules that cannot be enumerated.
    ///
    /// # Why
    /// A check that could not look must not read like one that found nothing.
    ///
    /// # Example
    /// No solver on this machine: rules over free numbers stay unproven.
    ///
    /// # Mend
    /// Install cvc5, give more recordings with `--results`, or write the condition with simpler operators.
    "left-open"
}

/// Rules that no solver decided and whose conditions are too large to be enumerated.
fn run(case: &mut Case<'_>) {
    let subject = case.subject;
    let proves = case.proves();
    for rule in subject.rules.iter().filter(|r| r.conditional) {
        let undecided = !proves || case.open.contains(&rule.id);
        if undecided && super::never_fires::enumerated(case, rule).is_none_or(|counts| !counts.whole) {
            let what = format!("`{}` was not proven: its condition is too large to enumerate", rule.id);
            case.note(Some(rule), what);
        }
    }
}
