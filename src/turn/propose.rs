//! Asking the student: first drafts, votes, revisions, escalation.

use super::Event;
use super::run::{End, Run};
use super::vote::modal;
use crate::journal::Entry;
use crate::model::{Draft, Finding, ReportedCall};
use crate::student::{Answer, Grounding, Objection, Offer, Prompt, Student};
use crate::verify::Verdict;

/// Rounds of reads that are made before a draft: a preference first, then what it counts from.
const AHEAD: usize = 3;

impl Run<'_> {
    /// A draft of the student; with an objection, a revision. First drafts are put to the vote where the
    /// configuration says so.
    pub(super) fn draft(&mut self, objection: Option<(u32, &Draft, &[Finding])>) -> Result<Draft, End> {
        let round = objection.map_or(0, |(round, ..)| round);
        let config = &self.session.config;
        let (votes, temperature, seed) = (config.votes, config.draft_temperature, config.seed);
        let objection = objection.map(|(_, draft, findings)| Objection { draft, findings });
        if votes <= 1 || objection.is_some() {
            return self.sample(round, temperature, seed, objection);
        }
        let (temperature, seeds) = (config.temperature, (0..votes).map(|n| seed.wrapping_add(n)).collect::<Vec<_>>());
        let drafts = self.taken_out(|run, student| run.ask_student(student, round, temperature, &seeds, None))?;
        Ok(modal(drafts).unwrap_or_default())
    }

    /// The last resort before a refusal: another model where there is one, else the student once
    /// more, with the hard findings alone (paper 1, Algorithm 1, safety net).
    pub(super) fn escalate(&mut self, round: u32, draft: &Draft, hard: &[Finding]) -> Result<Draft, End> {
        let objection = Some(Objection { draft, findings: hard });
        match self.models.escalation.take() {
            Some(mut other) => {
                let answer = self.ask_student(other.as_mut(), round, 0.0, &[0], objection);
                self.models.escalation = Some(other);
                Ok(answer?.pop().unwrap_or_default())
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
        let drafts = self.taken_out(|run, student| run.ask_student(student, round, temperature, &[seed], objection))?;
        Ok(drafts.into_iter().next().unwrap_or_default())
    }

    /// The student is taken out for a call, because the run that books the call borrows the rest.
    fn taken_out<T>(&mut self, call: impl FnOnce(&mut Self, &mut dyn Student) -> T) -> T {
        let mut student = std::mem::replace(&mut self.models.student, Box::new(Absent));
        let answer = call(self, student.as_mut());
        self.models.student = student;
        answer
    }

    fn ask_student(
        &mut self,
        student: &mut dyn Student,
        round: u32,
        temperature: f32,
        seeds: &[u32],
        objection: Option<Objection<'_>>,
    ) -> Result<Vec<Draft>, End> {
        self.cancelled()?;
        for _ in seeds {
            let affordable = self.account.model_call();
            self.afford(affordable)?;
        }
        let session = &*self.session;
        let grounding = Grounding { policy: &session.policy, history: &session.history };
        let prompt = Prompt {
            inventory: &session.policy.inventory,
            removed: session.history.removed(),
            conversation: &session.conversation,
            objection,
            offer: if session.config.ground { Offer::Grounded(grounding) } else { Offer::All },
            temperature,
            seed: seeds.first().copied().unwrap_or_default(),
            max_tokens: session.config.max_tokens,
            cancel: self.cancel,
        };
        let answers = match seeds {
            [_] => student.draft(&prompt).map(|answer| vec![answer]),
            _ => student.drafts(&prompt, seeds),
        };
        let answers = answers.map_err(|error| self.failed(&error))?;
        let mut drafts = Vec::new();
        for Answer { draft, usage } in answers {
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
            drafts.push(draft);
        }
        Ok(drafts)
    }

    /// Whether the student can only draft what the conversation gives or implies.
    pub(super) fn grounds(&self) -> bool {
        self.session.config.ground && self.models.student.keeps_to_offer()
    }

    /// Makes the reads without which no value can be found for what the driver's words name, before anything is
    /// drafted: the student would guess, and be asked again.
    pub(super) fn read_ahead(&mut self) -> Result<(), End> {
        if !self.grounds() {
            return Ok(());
        }
        for _ in 0..AHEAD {
            let session = &*self.session;
            let reads = Grounding { policy: &session.policy, history: &session.history }.reads();
            if reads.is_empty() {
                break;
            }
            match self.judge(&Draft::calls(reads), false).verdict {
                Verdict::Clear { cleared } | Verdict::Amend { cleared } => self.gather(cleared)?,
                _ => break,
            }
        }
        Ok(())
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
