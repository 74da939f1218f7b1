//! One run of one faulty student, with the harness or without.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Serialize;
use tokio::runtime::Handle;

use super::car::{Allowed, Car};
use super::course::Course;
use super::fault::Planned;
use super::script::{Fallible, Shared};
use crate::model::{Decision, Draft, Limits, Message, RequestedCall, Role, Tier};
use crate::policy::{Advice, HardLimits, PhraseRole, Policy};
use crate::state::{History, Outcome};
use crate::student::Cancel;
use crate::turn::{Config, Event, Heard, Models, Replies, Session};
use crate::verify::{Binding, SessionId, Step};

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
    /// Drafts that reached the car although the policy objects to them.
    pub(super) policy_errors: u32,
    /// Calls made.
    pub(super) calls: u32,
    /// Drafts asked for.
    pub(super) drafts: u32,
    /// Drafts asked for because of an objection: the extra model calls.
    pub(super) revisions: u32,
    /// Questions of the harness.
    pub(super) questions: u32,
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

    fn outcome(&self, car: &Car, shared: &Shared) -> Outcomes {
        Outcomes {
            right: self.truth.is_like(car),
            wrong_writes: car.wrong(),
            tried: car.tried(),
            drafts: shared.asked.load(Ordering::Relaxed),
            revisions: shared.revised.load(Ordering::Relaxed),
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
        let yes =
            self.policy.phrases.first().and_then(|p| p.role(PhraseRole::Yes).first().cloned()).unwrap_or_default();
        let no = self.policy.phrases.first().and_then(|p| p.role(PhraseRole::No).first().cloned()).unwrap_or_default();
        for (at, (driver, _)) in plan.script.turns.iter().enumerate() {
            shared.turn.store(at, Ordering::Relaxed);
            let mut says = driver.clone();
            for _ in 0..=QUESTIONS {
                let mut wanted = None;
                let mut listen = |event: Event| match event {
                    Event::Executed { .. } => calls += 1,
                    Event::Question { bound, .. } => {
                        wanted = Some(bound.iter().all(|c| car.wants(&c.tool, &c.arguments)));
                    }
                    Event::Judged { report } if report.verdict != Decision::Clear => {
                        let hard = report.findings.iter().filter(|f| f.tier != Tier::Advisory);
                        objections
                            .extend(hard.map(|f| format!("{}: [{}] {}", report.verdict.as_str(), f.gate, f.because)));
                    }
                    _ => {}
                };
                session.turn(&mut models, runtime, &Heard::text(&says), &Cancel::default(), &mut listen);
                let Some(wanted) = wanted else { break };
                questions += 1;
                says = if wanted { yes.clone() } else { no.clone() };
            }
        }
        // What was carried out was cleared on the spot: the policy errors of a guarded run are what
        // nobody objected to and that is wrong all the same, which `wrong_writes` counts.
        Outcomes { calls, questions, objections, ..self.outcome(&car, &shared) }
    }

    /// Without it.
    pub(super) fn bare(&self, plan: &Planned) -> Outcomes {
        let (car, shared) = (self.car(plan), Arc::new(Shared::default()));
        let mut student = Fallible::new(plan.script.clone(), shared.clone());
        let mut conversation = vec![said(Role::System, &self.course.system)];
        let mut history = History::new(&self.policy.model);
        history.set_removed(plan.removed.clone());
        self.push(&mut history, &conversation);
        let (mut calls, mut policy_errors) = (0, 0);
        for (at, (driver, _)) in plan.script.turns.iter().enumerate() {
            shared.turn.store(at, Ordering::Relaxed);
            let mut news = vec![said(Role::User, driver)];
            for _ in 0..DRAFTS {
                self.push(&mut history, &news);
                conversation.append(&mut news);
                let draft = student.next(&conversation, false);
                policy_errors += u32::from(self.objects(&history, &draft));
                news.push(self.message(&draft, calls));
                for (call, asked) in
                    draft.calls.iter().zip(news.first().map(|m| m.tool_calls.clone()).unwrap_or_default())
                {
                    calls += 1;
                    let outcome = Outcome::from(car.perform(call));
                    let text = self.policy.model.result.text(&outcome).unwrap_or_default();
                    news.push(Message { tool_call_id: Some(asked.id), ..said(Role::Tool, &text) });
                }
                if draft.calls.is_empty() {
                    break;
                }
            }
            self.push(&mut history, &news);
            conversation.append(&mut news);
        }
        Outcomes { calls, policy_errors, ..self.outcome(&car, &shared) }
    }

    fn push(&self, history: &mut History, messages: &[Message]) {
        for message in messages {
            if let Err(error) = history.push(&self.policy.model, &self.policy.inventory, message, &Limits::default()) {
                tracing::warn!(%error, "a message of a bare run was skipped");
            }
        }
    }

    fn objects(&self, history: &History, draft: &Draft) -> bool {
        let limits = HardLimits::default();
        let binding = Binding { session: SessionId::from("bare"), policy: self.policy.hash, epoch: 0 };
        let step = Step {
            policy: &self.policy,
            limits: &limits,
            history,
            advice: Advice::Remedies,
            binding,
            critic: None,
            valve: None,
        };
        step.check(draft).verdict.decision() != Decision::Clear
    }

    fn message(&self, draft: &Draft, before: u32) -> Message {
        let requested = draft.calls.iter().zip(before..).map(|(call, at)| RequestedCall {
            id: format!("bare_{at}"),
            tool: call.tool.to_string(),
            arguments: serde_json::Value::Object(call.arguments.clone()).to_string(),
        });
        Message { content: draft.reply.clone(), tool_calls: requested.collect(), ..said(Role::Assistant, "") }
    }
}

fn said(role: Role, text: &str) -> Message {
    Message { role, content: Some(text.to_owned()), tool_calls: Vec::new(), tool_call_id: None }
}
