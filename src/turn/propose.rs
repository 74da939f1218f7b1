//! Asking the student: first drafts, votes, revisions, escalation.

use super::Event;
use super::run::{End, Run};
use super::session::Session;
use super::vote::modal;
use crate::journal::Entry;
use crate::model::{Draft, Finding, ReportedCall};
use crate::policy::PhraseRole;
use crate::student::{Answer, Grounds, Objection, Prompt, Student};

impl Run<'_> {
    /// A draft of the student; with an objection, a revision. A first draft that writes is put to
    /// the vote where the configuration says so.
    pub(super) fn draft(&mut self, objection: Option<(u32, &Draft, &[Finding])>) -> Result<Draft, End> {
        let round = objection.map_or(0, |(round, ..)| round);
        let first = self.sample(round, 0.0, 0, objection.map(|(_, draft, findings)| Objection { draft, findings }))?;
        let votes = self.session.config.votes;
        let writes =
            first.calls.iter().any(|c| self.session.policy.inventory.get(c.tool.as_str()).is_none_or(|t| t.is_write()));
        if votes <= 1 || !writes || objection.is_some() {
            return Ok(first);
        }
        let temperature = self.session.config.temperature;
        let mut drafts = vec![first];
        for seed in 1..votes {
            drafts.push(self.sample(round, temperature, seed, None)?);
        }
        Ok(modal(drafts).unwrap_or_default())
    }

    /// The last resort before a refusal: another model where there is one, else the student once
    /// more, with the hard findings alone (paper 1, Algorithm 1, safety net).
    pub(super) fn escalate(&mut self, round: u32, draft: &Draft, hard: &[Finding]) -> Result<Draft, End> {
        let objection = Some(Objection { draft, findings: hard });
        match self.models.escalation.take() {
            Some(mut other) => {
                let answer = self.ask_student(other.as_mut(), round, 0.0, 0, objection);
                self.models.escalation = Some(other);
                answer
            }
            None => self.sample(round, 0.0, 0, objection),
        }
    }

    fn sample(
        &mut self,
        round: u32,
        temperature: f32,
        seed: u32,
        objection: Option<Objection<'_>>,
    ) -> Result<Draft, End> {
        // The student is taken out for the call, because the run that books the call borrows the rest.
        let mut student = std::mem::replace(&mut self.models.student, Box::new(Absent));
        let answer = self.ask_student(student.as_mut(), round, temperature, seed, objection);
        self.models.student = student;
        answer
    }

    fn ask_student(
        &mut self,
        student: &mut dyn Student,
        round: u32,
        temperature: f32,
        seed: u32,
        objection: Option<Objection<'_>>,
    ) -> Result<Draft, End> {
        self.cancelled()?;
        let affordable = self.account.model_call();
        self.afford(affordable)?;
        let session = &*self.session;
        let grounds = grounds(session);
        let prompt = Prompt {
            inventory: &session.policy.inventory,
            removed: session.history.removed(),
            conversation: &session.conversation,
            objection,
            grounds: &grounds,
            reply_only: false,
            temperature,
            seed,
            max_tokens: session.config.max_tokens,
            cancel: self.cancel,
        };
        match student.draft(&prompt) {
            Ok(Answer { draft, usage }) => {
                self.account.book(usage);
                self.session.note(|place| Entry::draft(place, round, &draft));
                (self.events)(Event::Drafted {
                    student: student.name().to_owned(),
                    round,
                    reply: draft.reply.clone(),
                    calls: draft.calls.iter().map(ReportedCall::from).collect(),
                    prompt_tokens: usage.prompt_tokens,
                    generated_tokens: usage.generated_tokens,
                    millis: u64::try_from(usage.wall.as_millis()).unwrap_or(u64::MAX),
                });
                Ok(draft)
            }
            Err(error) => Err(self.failed(&error)),
        }
    }
}

/// What the driver's last sentence says about values. A relative wish ("two levels up") names no
/// value, so its numbers narrow nothing.
fn grounds(session: &Session) -> Grounds {
    let Some(said) = session.history.driver().last() else { return Grounds::default() };
    let reading = session.policy.lexicon().read(said.words.clone());
    let (on, off) = (reading.has(PhraseRole::On), reading.has(PhraseRole::Off));
    let relative = reading.has(PhraseRole::Relative);
    Grounds {
        switch: (on != off).then_some(on),
        numbers: if relative { Vec::new() } else { reading.numbers().map(|(_, n)| n).collect() },
        most: !relative && reading.has(PhraseRole::Most),
        least: !relative && reading.has(PhraseRole::Least),
    }
}

/// Stands in the student's place while the student is drafting, and where there is none.
pub(super) struct Absent;

impl Student for Absent {
    fn draft(&mut self, _: &Prompt<'_>) -> Result<Answer, crate::student::StudentError> {
        Err(crate::student::StudentError::Unreadable("no student is at hand".to_owned()))
    }

    fn name(&self) -> &str {
        "absent"
    }
}
