//! The fallible student: drafts the ground truth step by step, with one fault in it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::{Draft, Message, ToolCall};
use crate::student::{Answer, Prompt, Student, StudentError, Usage};

/// How the recordings ask for what the driver has not said.
const ASK: &str = "I need one detail from you first: what exactly you want set. What would you like?";

/// What the student does where the ground truth has one step.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Step {
    /// The step of the ground truth.
    pub(super) right: Draft,
    /// What is drafted first instead; an empty draft is an omission that nobody hears.
    pub(super) wrong: Option<Draft>,
}

/// The script of one conversation: per turn what the driver says and the steps that follow.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Script {
    pub(super) turns: Vec<(String, Vec<Step>)>,
    /// What is said when nothing is left to do.
    pub(super) bare: String,
}

/// What the runner and the student tell each other.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The driver's turn, counted from 0.
    pub(super) turn: AtomicUsize,
    /// Drafts asked for.
    pub(super) asked: AtomicU32,
    /// Of which after an objection: the extra model calls.
    pub(super) revised: AtomicU32,
    /// Questions that the student asks because what is right was objected to.
    pub(super) questions: AtomicU32,
    /// The calls that the last such question is about.
    wish: Mutex<Option<Vec<ToolCall>>>,
    /// The calls that were right and are not made yet, for when the harness asks what only the driver
    /// knows.
    due: Mutex<Option<Vec<ToolCall>>>,
    /// The driver has answered the harness: what was due is drafted again.
    again: AtomicBool,
}

impl Shared {
    /// What the student has just asked about.
    pub(super) fn take_wish(&self) -> Option<Vec<ToolCall>> {
        self.wish.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What the student would have done, had the harness not asked the driver.
    pub(super) fn take_due(&self) -> Option<Vec<ToolCall>> {
        let due = self.due.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.again.store(due.is_some(), Ordering::Relaxed);
        due
    }

    fn set_due(&self, right: &Draft) {
        let calls = (!right.calls.is_empty()).then(|| right.calls.clone());
        *self.due.lock().unwrap_or_else(PoisonError::into_inner) = calls;
    }
}

/// The student.
pub(super) struct Fallible {
    script: Script,
    shared: Arc<Shared>,
    turn: usize,
    step: usize,
    /// Calls drafted as the ground truth has them, by canonical form.
    passed: HashMap<String, usize>,
    /// Steps left out so far, and the step drafted last: what an objection brings back.
    owed: Vec<Draft>,
    /// The step of the ground truth that was drafted last, as it is.
    last: Option<Draft>,
    /// The step that waits for the driver's word.
    waiting: Option<Draft>,
    /// Steps that the driver was asked about.
    told: Vec<Draft>,
}

impl Fallible {
    pub(super) fn new(script: Script, shared: Arc<Shared>) -> Self {
        Self {
            script,
            shared,
            turn: 0,
            step: 0,
            passed: HashMap::new(),
            owed: Vec::new(),
            last: None,
            waiting: None,
            told: Vec::new(),
        }
    }

    /// The next draft. With an objection, what was left out or drafted wrongly is drafted rightly.
    pub(super) fn next(&mut self, conversation: &[Message], objected: bool) -> Draft {
        self.shared.asked.fetch_add(1, Ordering::Relaxed);
        self.shared.revised.fetch_add(u32::from(objected), Ordering::Relaxed);
        let turn = self.shared.turn.load(Ordering::Relaxed);
        if turn != self.turn {
            (self.turn, self.step) = (turn, 0);
        }
        let last = self.last.take();
        if let Some(right) = last.as_ref().filter(|_| self.shared.again.swap(false, Ordering::Relaxed)) {
            self.told.push(right.clone());
            return right.clone();
        }
        if objected && !self.owed.is_empty() {
            let right = merged(std::mem::take(&mut self.owed));
            if right != Draft::default() {
                self.shared.set_due(&right);
                self.last = Some(right.clone());
                return right;
            }
        }
        // What is right was objected to: only the driver's word can help.
        if let Some(right) = last.filter(|d| objected && !self.told.contains(d))
            && !right.calls.is_empty()
        {
            self.shared.questions.fetch_add(1, Ordering::Relaxed);
            *self.shared.wish.lock().unwrap_or_else(PoisonError::into_inner) = Some(right.calls.clone());
            self.told.push(right.clone());
            self.waiting = Some(right);
            return Draft::reply(ASK);
        }
        if let Some(right) = self.waiting.take() {
            return right;
        }
        let steps = self.script.turns.get(turn).map(|(_, steps)| steps.clone()).unwrap_or_default();
        while let Some(step) = steps.get(self.step) {
            self.step += 1;
            match &step.wrong {
                Some(omitted) if *omitted == Draft::default() => self.owed.push(step.right.clone()),
                Some(wrong) => {
                    self.owed.push(step.right.clone());
                    return wrong.clone();
                }
                None if self.is_done(&step.right, conversation) => {}
                None => {
                    step.right.calls.iter().for_each(|c| *self.passed.entry(key(c)).or_default() += 1);
                    self.owed.retain(|d| !d.calls.is_empty());
                    let mut due = self.owed.clone();
                    due.push(step.right.clone());
                    // What an objection brings back holds the draft that is objected to as well.
                    if self.owed.is_empty() {
                        self.shared.set_due(&step.right);
                        self.last = Some(step.right.clone());
                        return step.right.clone();
                    }
                    self.owed = due;
                    return step.right.clone();
                }
            }
        }
        Draft::reply(self.script.bare.clone())
    }

    /// Whether the harness or an earlier draft has made the calls of a step already.
    fn is_done(&self, draft: &Draft, conversation: &[Message]) -> bool {
        !draft.calls.is_empty()
            && draft.calls.iter().all(|c| {
                let made = conversation.iter().flat_map(|m| &m.tool_calls).filter(|r| {
                    let arguments = serde_json::from_str(&r.arguments).unwrap_or_default();
                    ToolCall::new(&r.tool, arguments).key() == c.key()
                });
                made.count() > self.passed.get(&key(c)).copied().unwrap_or_default()
            })
    }
}

fn key(call: &ToolCall) -> String {
    call.key().as_str().to_owned()
}

fn merged(drafts: Vec<Draft>) -> Draft {
    let reply = drafts.last().and_then(|d| d.reply.clone());
    let calls: Vec<ToolCall> = drafts.into_iter().flat_map(|d| d.calls).collect();
    if calls.is_empty() { Draft { reply, ..Draft::default() } } else { Draft::calls(calls) }
}

impl Student for Fallible {
    fn draft(&mut self, prompt: &Prompt<'_>) -> Result<Answer, StudentError> {
        let draft = self.next(prompt.conversation, prompt.objection.is_some());
        Ok(Answer { draft, usage: Usage::default() })
    }

    fn name(&self) -> &str {
        "fallible"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::calls;
    use serde_json::json;

    fn hood(level: u32) -> Draft {
        calls(&[("set_hood_speed", json!({"level": level}))])
    }

    /// A student with these steps in its only turn.
    fn student(steps: &[(Draft, Option<Draft>)]) -> Fallible {
        let steps = steps.iter().map(|(right, wrong)| Step { right: right.clone(), wrong: wrong.clone() }).collect();
        let script = Script { turns: vec![("go on".to_owned(), steps)], bare: "Done.".to_owned() };
        Fallible::new(script, Arc::new(Shared::default()))
    }

    #[test]
    fn an_objection_brings_back_what_was_wrong_or_left_out() {
        let mut student = student(&[(hood(1), Some(Draft::default())), (hood(2), Some(hood(9)))]);
        assert_eq!(student.next(&[], false), hood(9));
        let mended = student.next(&[], true);
        assert_eq!(mended.calls.iter().map(|c| c.arguments["level"].clone()).collect::<Vec<_>>(), [json!(1), json!(2)]);
        assert_eq!(student.next(&[], false), Draft::reply("Done."));
    }

    #[test]
    fn an_objection_to_what_is_right_is_put_to_the_driver_once() {
        let mut student = student(&[(hood(2), None)]);
        assert_eq!(student.next(&[], false), hood(2));
        assert_eq!(student.next(&[], true), Draft::reply(ASK));
        assert_eq!(student.shared.take_wish(), Some(hood(2).calls));
        assert_eq!(student.next(&[], false), hood(2), "with the driver's word");
        assert_eq!(student.next(&[], true), Draft::reply("Done."), "and not again without it");
        assert_eq!((student.shared.take_wish(), student.shared.revised.load(Ordering::Relaxed)), (None, 2));
    }

    #[test]
    fn a_call_that_was_to_be_left_out_stays_out() {
        let mut student = student(&[(Draft::default(), Some(hood(2)))]);
        assert_eq!(student.next(&[], false), hood(2));
        assert_eq!(student.next(&[], true), Draft::reply("Done."));
    }
}
