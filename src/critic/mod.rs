//! The critic: confirms or discards advisory findings, and can do nothing else (paper 1, §2.4).
//!
//! A judge answers by index into the list it was given, so there is no way for it to add a finding
//! of its own or to touch a hard one: a bad sample can only cost a missed advisory.

use crate::model::{Draft, Finding, Message};

/// What a judge sees.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The conversation so far, system message first.
    pub conversation: &'a [Message],
    /// The draft under judgement.
    pub draft: &'a Draft,
    /// The advisory candidates.
    pub candidates: &'a [Finding],
}

/// A judge's word on one candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// It holds: the draft must change.
    Confirm,
    /// It does not.
    Discard,
}

/// Why a judge gave no ruling. The candidates then stay advisory and change nothing.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The model could not be reached or broke down.
    #[error("the critic gave no answer: {0}; its candidates are only listed")]
    Unavailable(String),
    /// The answer could not be read, twice.
    #[error("the critic's answer could not be read: {0}; its candidates are only listed")]
    Unreadable(String),
    /// The turn was cancelled.
    #[error("the turn was cancelled while the critic was judging")]
    Cancelled,
}

/// Whoever rules on advisory candidates.
pub trait Judge {
    /// One ruling a candidate, in their order.
    ///
    /// # Errors
    /// [`JudgeError`]; the caller then keeps every candidate as advisory.
    fn judge(&mut self, case: &Case<'_>) -> Result<Vec<Ruling>, JudgeError>;
}

/// Splits advisory candidates into confirmed ones and the rest. A list of the wrong length is no
/// ruling at all: a judge that miscounts must not confirm the wrong finding.
///
/// # Errors
/// [`JudgeError`] of the judge, or [`JudgeError::Unreadable`] on a wrong count.
pub fn rule(judge: &mut dyn Judge, case: &Case<'_>) -> Result<Vec<Ruling>, JudgeError> {
    if case.candidates.is_empty() {
        return Ok(Vec::new());
    }
    let rulings = judge.judge(case)?;
    if rulings.len() != case.candidates.len() {
        return Err(JudgeError::Unreadable(format!(
            "{} rulings for {} candidates",
            rulings.len(),
            case.candidates.len()
        )));
    }
    Ok(rulings)
}
