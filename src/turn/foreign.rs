//! Sessions of assistants that bring their own model: they tell what was heard and said, and hand in
//! drafts. What they say of the car counts for nothing; results come from the executor alone.

use tokio::runtime::Handle;

use super::answer::{Answer, answer};
use super::propose::Absent;
use super::run::{End, GATHERS, Run, hard, message, question};
use super::session::{Models, Pending, Session};
use super::{Events, Heard};
use crate::journal::Entry;
use crate::model::{Draft, Role, VerdictReport};
use crate::student::Cancel;
use crate::verify::{Checked, Verdict, report};

impl Session {
    /// Takes in what the driver said. A yes to an open question grants exactly what was asked; one
    /// that is not the driver's, or was hardly heard, is not taken in at all.
    pub fn heard(&mut self, heard: &Heard) {
        self.look_around();
        self.refresh();
        self.note(|place| Entry::turn(place, &heard.text));
        self.history.revoke_grants();
        self.sent_back = false;
        // A question that the assistant has not put to the driver yet cannot be answered.
        let spoken = |p: &Pending| self.history.spoken().last().is_some_and(|u| u.step >= p.step);
        let pending = self.pending.take().filter(spoken);
        let said = answer(&self.policy, &self.config, heard, pending.as_ref());
        if let Some(pending) = pending.as_ref().filter(|_| said != Answer::Other) {
            self.note(|place| Entry::grant(place, said == Answer::Yes, &pending.bound));
        }
        if said == Answer::NotTheDriver {
            self.spoken_under = None; // the question died with this answer
            return;
        }
        let outdated = self.is_outdated();
        let agree = !outdated && self.is_unchanged();
        self.history.let_words_agree(agree);
        self.history.heard(&heard.text);
        self.history.end_step();
        self.policy.attend(&self.history);
        self.conversation.push(message(Role::User, &heard.text));
        self.ledger.take_in(&self.policy, &heard.text);
        let holds = |p: &Pending| p.policy == self.policy.hash && p.epoch == self.epoch;
        if let Some(pending) = pending.filter(|p| said == Answer::Yes && !outdated && holds(p)) {
            pending.bound.iter().for_each(|call| self.history.grant(call.key()));
        }
    }

    /// Takes in what the assistant said to the driver.
    pub fn spoken(&mut self, text: &str) {
        self.told(text);
    }

    /// Judges a draft and carries it out when it is cleared. Reads that it needs are made; a question
    /// it needs is asked by the assistant, and a yes that is then [`heard`](Self::heard) holds for
    /// the same draft. What a yes would settle is sent back once and asked at the next draft to the same
    /// words. `speak` of the report says why the rest was not done, if it was not.
    pub fn execute(
        &mut self,
        draft: &Draft,
        runtime: &Handle,
        cancel: &Cancel,
        events: &mut Events<'_>,
    ) -> VerdictReport {
        let mut models = Models { student: Box::new(Absent), escalation: None };
        Run::new(self, &mut models, runtime, cancel, events).foreign(draft)
    }
}

impl Run<'_> {
    fn foreign(mut self, draft: &Draft) -> VerdictReport {
        self.session.look_around();
        let mut gathers = 0;
        loop {
            let mut checked = self.judge(draft, false);
            if let Verdict::Revise = checked.verdict {
                checked.verdict = self.sent_back(&checked);
            }
            let mut report = report(&checked);
            let Checked { verdict, owed, .. } = checked;
            let acted = match verdict {
                Verdict::Gather { reads } if gathers < GATHERS => {
                    gathers += 1;
                    match self.gather(reads) {
                        Ok(()) => continue,
                        Err(end) => Err(end),
                    }
                }
                Verdict::Ask { question, bound } => {
                    self.ask(question, bound);
                    return report;
                }
                Verdict::Amend { cleared } | Verdict::Clear { cleared } if !cleared.draft().calls.is_empty() => {
                    self.carry(cleared, &owed).map(|acted| acted.stopped)
                }
                _ => return report,
            };
            match acted {
                Ok(Some(why)) | Err(End::Refused(why) | End::Asked(why)) => report.speak = Some(why),
                Err(End::Cancelled) if self.has_slept() => report.speak = Some(self.say("slept", &[])),
                Ok(None) | Err(End::Cancelled) => {}
            }
            return report;
        }
    }

    /// What a draft that must change comes to. The assistant is told once; if it stays at it and a yes would settle
    /// all that stands against it, the driver knows, as in a turn of the local student.
    fn sent_back(&mut self, checked: &Checked) -> Verdict {
        let again = std::mem::replace(&mut self.session.sent_back, true);
        match question(&hard(&checked.findings), &checked.owed.amended).filter(|_| again) {
            Some((question, bound)) => Verdict::Ask { question, bound },
            None => Verdict::Revise,
        }
    }
}
