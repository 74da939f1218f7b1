//! One run of one faulty student, with the harness or without.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Serialize;
use tokio::runtime::Handle;

use super::allowed::Allowed;
use super::car::Car;
use super::course::Course;
use super::fault::Planned;
use super::judge::{self, Facts};
use super::script::{Fallible, Shared};
use super::sentence::wish;
use crate::model::{Decision, Draft, Message, RequestedCall, Resolution, Role, Tier};
use crate::obligations::is_plain_yes;
use crate::policy::{HardLimits, PhraseRole, Policy};
use crate::state::{NowField, Outcome};
use crate::student::Cancel;
use crate::turn::{Config, Event, Heard, Models, Replies, Session};
use crate::verify::SessionId;

/// Most drafts a student without a harness makes in one turn.
const DRAFTS: usize = 40;
/// Most questions of the harness that the driver answers in one turn.
const QUESTIONS: usize = 6;

/// What one run came to.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Outcomes {
    /// The car ends as the ground truth leaves it.
    pub(super) right: bool,
    /// Writes that made the car what the ground truth never makes of it.
    pub(super) wrong_writes: u32,
    /// Writes made without the yes that they need.
    pub(super) unasked: u32,
    /// Policies that the benchmark checks by code and that the run broke.
    pub(super) policy_errors: Vec<&'static str>,
    /// Calls made.
    pub(super) calls: u32,
    /// Drafts asked for.
    pub(super) drafts: u32,
    /// Drafts asked for because of an objection: the extra model calls.
    pub(super) revisions: u32,
    /// Questions of the harness.
    pub(super) questions: u32,
    /// Questions of the student, where an objection to what is right left it nothing else.
    pub(super) asked: u32,
    /// Attempts of the call that fails.
    pub(super) tried: u32,
    /// Gates and reasons that objected, for the reader of a report.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) objections: Vec<String>,
}

/// The fixed parts of all runs of one course.
pub(super) struct Track {
    pub(super) policy: Arc<Policy>,
    pub(super) course: Arc<Course>,
    pub(super) truth: Car,
    pub(super) allowed: Allowed,
}

impl Track {
    fn car(&self, plan: &Planned) -> Car {
        Car::new(&self.policy, &self.course, plan.removed.clone(), plan.broken.clone()).watch(self.allowed.clone())
    }

    /// What the judge has to know of this course.
    fn facts(&self) -> Facts {
        let now = |field| self.course.history.now().get(field).to_json(Resolution::ONE);
        let marked = self.policy.inventory.iter().filter(|t| t.needs_consent).map(|t| t.name.to_string());
        Facts {
            here: now(NowField::Location).as_str().unwrap_or_default().to_owned(),
            month: now(NowField::Month).as_i64().unwrap_or_default(),
            day: now(NowField::Day).as_i64().unwrap_or_default(),
            needs_yes: marked.collect(),
        }
    }

    fn outcome(&self, car: &Car, shared: &Shared) -> Outcomes {
        let (facts, (deeds, end)) = (self.facts(), car.record());
        Outcomes {
            right: self.truth.is_like(car),
            wrong_writes: car.wrong(),
            unasked: judge::unasked(&facts, &deeds),
            policy_errors: judge::errors(&facts, &deeds, &end),
            tried: car.tried(),
            drafts: shared.asked.load(Ordering::Relaxed),
            revisions: shared.revised.load(Ordering::Relaxed),
            asked: shared.questions.load(Ordering::Relaxed),
            ..Outcomes::default()
        }
    }

    /// With the harness.
    pub(super) fn guarded(&self, plan: &Planned, runtime: &Handle) -> Outcomes {
        let (car, shared) = (Arc::new(self.car(plan)), Arc::new(Shared::default()));
        let config = Config { replies: Replies::Student, ..Config::default() };
        let id = SessionId::from("bench");
        let mut session = Session::new(id, self.policy.clone(), Arc::new(HardLimits::default()), config, car.clone());
        session.set_system(&self.course.system);
        session.set_removed(plan.removed.clone());
        let mut models =
            Models { student: Box::new(Fallible::new(plan.script.clone(), shared.clone())), escalation: None };
        let (mut calls, mut questions, mut objections) = (0, 0, Vec::new());
        let mut gathered = false;
        let yes =
            self.policy.phrases.first().and_then(|p| p.role(PhraseRole::Yes).first().cloned()).unwrap_or_default();
        let no = self.policy.phrases.first().and_then(|p| p.role(PhraseRole::No).first().cloned()).unwrap_or_default();
        for (at, (driver, _)) in plan.script.turns.iter().enumerate() {
            shared.turn.store(at, Ordering::Relaxed);
            let mut says = driver.clone();
            for _ in 0..=QUESTIONS {
                let (mut wanted, mut open) = (None, false);
                car.heard(self.is_yes(&says));
                car.next_message();
                let mut listen = |event: Event| match event {
                    Event::Executed { .. } => calls += 1,
                    Event::Drafted { .. } => car.next_message(),
                    Event::Question { bound, .. } if bound.is_empty() => open = true,
                    Event::Question { bound, .. } => {
                        wanted = Some(bound.iter().all(|c| car.wants(&c.tool, &c.arguments)));
                    }
                    Event::Judged { report } => {
                        // Reads that the harness makes come before what waits for them.
                        let gathers = report.verdict == Decision::Gather;
                        if gathers || std::mem::take(&mut gathered) {
                            car.next_message();
                        }
                        gathered = gathers;
                        if report.verdict == Decision::Clear {
                            return;
                        }
                        let hard = report.findings.iter().filter(|f| f.tier != Tier::Advisory);
                        objections
                            .extend(hard.map(|f| format!("{}: [{}] {}", report.verdict.as_str(), f.gate, f.because)));
                    }
                    _ => {}
                };
                session.turn(&mut models, runtime, &Heard::text(&says), &Cancel::default(), &mut listen);
                questions += u32::from(open);
                let told = shared
                    .take_wish()
                    .or_else(|| shared.take_due().filter(|_| open))
                    .map(|calls| wish(&self.policy, &self.course, &calls));
                says = match (wanted, told) {
                    (Some(wanted), _) => {
                        questions += 1;
                        if wanted { yes.clone() } else { no.clone() }
                    }
                    (None, Some(told)) => told,
                    (None, None) => break,
                };
            }
        }
        Outcomes { calls, questions, objections, ..self.outcome(&car, &shared) }
    }

    /// Without it.
    pub(super) fn bare(&self, plan: &Planned) -> Outcomes {
        let (car, shared) = (self.car(plan), Arc::new(Shared::default()));
        let mut student = Fallible::new(plan.script.clone(), shared.clone());
        let mut conversation = vec![said(Role::System, &self.course.system)];
        let mut calls = 0;
        for (at, (driver, _)) in plan.script.turns.iter().enumerate() {
            shared.turn.store(at, Ordering::Relaxed);
            car.heard(self.is_yes(driver));
            conversation.push(said(Role::User, driver));
            for _ in 0..DRAFTS {
                car.next_message();
                let draft = student.next(&conversation, false);
                let message = self.message(&draft, calls);
                let asked = message.tool_calls.clone();
                conversation.push(message);
                for (call, asked) in draft.calls.iter().zip(asked) {
                    calls += 1;
                    let outcome = Outcome::from(car.perform(call));
                    let text = self.policy.model.result.text(&outcome).unwrap_or_default();
                    conversation.push(Message { tool_call_id: Some(asked.id), ..said(Role::Tool, &text) });
                }
                if draft.calls.is_empty() {
                    break;
                }
            }
        }
        Outcomes { calls, ..self.outcome(&car, &shared) }
    }

    fn is_yes(&self, text: &str) -> bool {
        is_plain_yes(&self.policy.read(text))
    }

    fn message(&self, draft: &Draft, before: u32) -> Message {
        let requested = draft.calls.iter().zip(before..).map(|(call, at)| RequestedCall {
            id: format!("bare_{at}"),
            tool: call.tool.to_string(),
            arguments: call.arguments.as_json().to_string(),
        });
        Message { content: draft.reply.clone(), tool_calls: requested.collect(), ..said(Role::Assistant, "") }
    }
}

fn said(role: Role, text: &str) -> Message {
    Message { role, content: Some(text.to_owned()), tool_calls: Vec::new(), tool_call_id: None }
}
