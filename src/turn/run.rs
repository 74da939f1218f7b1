//! The loop of one turn.

use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use super::answer::Answer;
use super::budget::{Account, Exhausted};
use super::missing::missing;
use super::session::{Models, Pending, Session};
use super::{Done, Event, Events, Heard, Replies, TurnReport};
use crate::journal::Entry;
use crate::model::{Draft, Finding, Message, ReportedCall, Role, Tier, ToolCall};
use crate::obligations::Owed;
use crate::student::{Cancel, StudentError};
use crate::verify::{Checked, Cleared, Step, Valve, Verdict, report};

/// Most reads that are gathered for one draft before it counts as undecidable.
pub(super) const GATHERS: u32 = 6;

/// The gate that tells what a call leaves out.
const MISSING: &str = "required-parameters";

/// How a turn ends before its normal end.
pub(super) enum End {
    /// The driver is asked.
    Asked(String),
    /// It cannot be done.
    Refused(String),
    /// Stopped from outside.
    Cancelled,
}

/// What one draft came to.
enum Settled {
    /// Calls were carried out.
    Acted(super::carry::Acted),
    /// A reply was cleared.
    Reply(String),
}

/// One running turn.
pub(super) struct Run<'a> {
    pub(super) session: &'a mut Session,
    pub(super) models: &'a mut Models,
    pub(super) runtime: &'a Handle,
    pub(super) cancel: &'a Cancel,
    pub(super) events: &'a mut Events<'a>,
    pub(super) account: Account,
    pub(super) valve: Valve,
    pub(super) language: String,
    pub(super) harness: Duration,
    /// How often the machine had slept when the turn began.
    sleeps: u64,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        session: &'a mut Session,
        models: &'a mut Models,
        runtime: &'a Handle,
        cancel: &'a Cancel,
        events: &'a mut Events<'a>,
    ) -> Self {
        let account = Account::new(session.config.budget);
        let sleeps = session.vehicle.sleeps();
        Self {
            sleeps,
            session,
            models,
            runtime,
            cancel,
            events,
            account,
            valve: Valve::default(),
            language: String::new(),
            harness: Duration::ZERO,
        }
    }

    pub(super) fn turn(mut self, heard: &Heard) -> TurnReport {
        let (done, text) = match self.run(heard) {
            Ok(text) => (Done::Replied, text),
            Err(End::Asked(question)) => (Done::Asked, question),
            Err(End::Refused(say)) => (Done::Refused, say),
            Err(End::Cancelled) if self.has_slept() => (Done::Refused, self.say("slept", &[])),
            Err(End::Cancelled) => (Done::Cancelled, String::new()),
        };
        let text = super::sanitise(&text);
        if !text.is_empty() {
            self.session.told(&text);
        }
        (self.events)(Event::Reply { text: text.clone() });
        TurnReport {
            done,
            text,
            model_calls: self.account.model_calls,
            tokens: self.account.tokens,
            took: self.account.elapsed(),
            harness: self.harness,
        }
    }

    fn run(&mut self, heard: &Heard) -> Result<String, End> {
        self.session.look_around();
        self.session.refresh();
        self.language = super::answer::language(&self.session.policy, heard);
        let bound = self.hear(heard)?;
        let lost = missing(&self.session.policy, &self.session.history, &heard.text).filter(|_| bound.is_none());
        if let Some(what) = lost {
            return Err(End::Refused(self.say("no-tool", &[("what", &what)])));
        }
        let mut first = bound.map(Draft::calls);
        loop {
            let draft = match first.take() {
                Some(draft) => draft,
                None => {
                    self.read_ahead()?;
                    self.draft(None)?
                }
            };
            match self.settle(draft)? {
                Settled::Reply(text) => return Ok(text),
                Settled::Acted(acted)
                    if self.session.config.replies == Replies::Template || acted.stopped.is_some() =>
                {
                    return self.report(&acted);
                }
                Settled::Acted(_) => {}
            }
        }
    }

    /// Takes in what the driver said. With a question open, a yes brings back the calls it covers, a
    /// no ends the turn; anything else lets the question die.
    fn hear(&mut self, heard: &Heard) -> Result<Option<Vec<ToolCall>>, End> {
        let session = &mut *self.session;
        session.note(|place| Entry::turn(place, &heard.text));
        session.history.revoke_grants();
        session.sent_back = false;
        let answer = super::answer::answer(&session.policy, &session.config, heard, session.pending.as_ref());
        let outdated = session.is_outdated();
        let agree = answer != Answer::NotTheDriver && !outdated && session.is_unchanged();
        session.history.let_words_agree(agree);
        session.history.heard(&heard.text);
        session.history.end_step();
        session.conversation.push(message(Role::User, &heard.text));
        let Some(pending) = session.pending.take() else {
            session.ledger.take_in(&session.policy, &heard.text);
            let asks = session.ledger.open();
            (self.events)(Event::Asks { asks });
            return Ok(None);
        };
        if answer != Answer::Other {
            (self.events)(Event::Answered { yes: answer == Answer::Yes });
            session.note(|place| Entry::grant(place, answer == Answer::Yes, &pending.bound));
        }
        // The yes covers the state in which it was asked: a car that changed since must be asked anew.
        let unchanged = pending.policy == session.policy.hash && pending.epoch == session.vehicle.epoch();
        let holds = unchanged && !outdated;
        match answer {
            Answer::Yes if holds => {
                pending.bound.iter().for_each(|call| session.history.grant(call.key()));
                Ok(Some(pending.bound))
            }
            Answer::Yes => Ok(Some(pending.bound)),
            Answer::No => Err(End::Refused(self.say("left-undone", &[]))),
            Answer::NotTheDriver => Err(End::Refused(self.say("not-the-driver", &[]))),
            Answer::Other => {
                session.ledger.take_in(&session.policy, &heard.text);
                Ok(None)
            }
        }
    }

    /// Brings one draft to an end: rounds of verify and revise, reads, questions, execution.
    fn settle(&mut self, mut draft: Draft) -> Result<Settled, End> {
        let (mut round, mut gathers, mut escalated) = (0, 0, false);
        loop {
            self.cancelled()?;
            let checked = self.judge(&draft, true);
            let Checked { verdict, findings, owed, .. } = checked;
            match verdict {
                Verdict::Refuse { say } => return Err(End::Refused(say)),
                Verdict::Gather { reads } if gathers < GATHERS => {
                    gathers += 1;
                    self.gather(reads)?;
                }
                Verdict::Gather { .. } => return Err(End::Refused(self.say("undecidable", &[]))),
                Verdict::Ask { question, bound } => return Err(self.ask(question, bound)),
                Verdict::Amend { cleared } | Verdict::Clear { cleared } => {
                    return match cleared.draft().calls.is_empty() {
                        false => Ok(Settled::Acted(self.carry(cleared, &owed)?)),
                        true => Ok(Settled::Reply(cleared.draft().reply.clone().unwrap_or_default())),
                    };
                }
                Verdict::Revise => {
                    let hard = hard(&findings);
                    if hard.is_empty() && complete(&mut draft, &owed) {
                        continue; // only sentences were missing, and they are computed
                    }
                    // What nobody gave is asked for; what else stands against the call cannot be told without it.
                    let missing = hard.iter().find(|f| f.gate == MISSING && f.say.is_some());
                    if let Some(say) = missing.filter(|_| self.grounds()).and_then(|f| f.say.clone()) {
                        return Err(self.ask(say, Vec::new()));
                    }
                    // A student that was told once and still guesses will guess again, and one that could only
                    // draft what was given has nothing else to draft: the driver knows.
                    if (round > 0 || self.grounds())
                        && let Some((question, bound)) = question(&hard, &owed.amended)
                    {
                        return Err(self.ask(question, bound));
                    }
                    if round < self.account.rounds() {
                        round += 1;
                        draft = self.draft(Some((round, &draft, &findings)))?;
                    } else if !escalated {
                        escalated = true;
                        draft = self.escalate(round + 1, &draft, &hard)?;
                    } else {
                        return Err(match question(&hard, &owed.amended) {
                            Some((question, bound)) => self.ask(question, bound),
                            None => End::Refused(self.cannot(&hard)),
                        });
                    }
                }
            }
        }
    }

    /// One verification step with everything a turn has. The critic is asked about drafts of the
    /// student only, not about what the harness composed itself.
    pub(super) fn judge(&mut self, draft: &Draft, critic: bool) -> Checked {
        let start = Instant::now();
        let session = &mut *self.session;
        session.refresh();
        let asked = critic && session.config.critic;
        let judge = if asked { self.models.student.as_judge() } else { None };
        let ruled = judge.is_some();
        let checked = Step {
            policy: &session.policy,
            limits: &session.limits,
            history: &session.history,
            advice: session.config.apply,
            binding: session.binding(),
            critic: judge.map(|j| (j, session.conversation.as_slice())),
            valve: Some(&mut self.valve),
        }
        .check(draft);
        if ruled {
            self.account.book(self.models.student.take_ruled());
        }
        self.harness += checked.took.min(start.elapsed());
        for fault in &checked.health.faults {
            (self.events)(Event::Fault { why: fault.to_string() });
        }
        session.note_verdict(draft, &checked, ruled, true);
        (self.events)(Event::Judged { report: report(&checked) });
        checked
    }

    pub(super) fn ask(&mut self, question: String, bound: Vec<ToolCall>) -> End {
        let bound_calls: Vec<ReportedCall> = bound.iter().map(ReportedCall::from).collect();
        let (policy, epoch) = (self.session.policy.hash, self.session.epoch);
        let step = self.session.history.steps();
        // A question that no call waits for is answered by what the driver wants next.
        let waits = !bound.is_empty();
        let pending = Pending { question: question.clone(), bound: bound.clone(), policy, epoch, step };
        self.session.pending = waits.then_some(pending);
        (self.events)(Event::Question { question: question.clone(), bound: bound_calls });
        self.session.note(|place| Entry::question(place, &question, bound.as_slice()));
        End::Asked(question)
    }

    /// What the driver hears when no draft could be cleared: what stands in the way, not how often
    /// it was tried.
    fn cannot(&self, hard: &[Finding]) -> String {
        match hard.first() {
            Some(Finding { say: Some(say), .. }) => say.clone(),
            other => self.say("cannot", &[("why", other.map(|f| f.because.as_str()).unwrap_or_default())]),
        }
    }

    /// Whether the turn is over: it was stopped, or the machine slept since it began. What was wanted
    /// yesterday evening is not done this morning.
    pub(super) fn cancelled(&self) -> Result<(), End> {
        if self.cancel.is_cancelled() || self.has_slept() { Err(End::Cancelled) } else { Ok(()) }
    }

    /// Whether the machine slept since the turn began.
    pub(super) fn has_slept(&self) -> bool {
        self.session.vehicle.sleeps() != self.sleeps
    }

    /// Turns an exhausted budget into a refusal that names it.
    pub(super) fn afford(&mut self, asked: Result<(), Exhausted>) -> Result<(), End> {
        asked.map_err(|budget| {
            tracing::warn!(%budget, session = %self.session.id, "turn refused");
            (self.events)(Event::Fault { why: budget.to_string() });
            self.session.note(|place| Entry::fault(Some(place), "budget", &budget.to_string()));
            End::Refused(self.say("budget", &[("budget", &self.say(budget.occasion(), &[]))]))
        })
    }

    /// A model that failed ends the turn with its cause; nothing was executed by it.
    pub(super) fn failed(&mut self, error: &StudentError) -> End {
        if matches!(error, StudentError::Cancelled) {
            return End::Cancelled;
        }
        (self.events)(Event::Fault { why: error.to_string() });
        self.session.note(|place| Entry::fault(Some(place), "student", &error.to_string()));
        End::Refused(self.say("no-draft", &[("why", &self.say(error.occasion(), &[]))]))
    }

    /// What the harness says on an occasion, in the driver's language where the tables have it.
    pub(super) fn say(&self, occasion: &str, holes: &[(&str, &str)]) -> String {
        self.session.policy.say(&self.language, occasion, holes)
    }

    /// Reads that a verdict demanded, each on a clearance of its own.
    pub(super) fn gather(&mut self, reads: Cleared) -> Result<(), End> {
        let acted = self.carry(reads, &Owed::default())?;
        for executed in acted.executed.iter().filter(|e| !matches!(e.outcome, crate::state::Outcome::Done(_))) {
            tracing::info!(call = %executed.call, "a demanded read failed");
        }
        Ok(())
    }
}

/// Appends owed sentences to a reply; false when none was owed.
pub(super) fn complete(draft: &mut Draft, owed: &Owed) -> bool {
    let Some(reply) = draft.reply.as_mut().filter(|_| !owed.disclosures.is_empty()) else { return false };
    for disclosure in &owed.disclosures {
        if reply.contains(&disclosure.sentence) {
            return false; // said, and still owed: the rule's `@said` does not know its own sentence
        }
        reply.push(' ');
        reply.push_str(&disclosure.sentence);
    }
    true
}

pub(super) fn message(role: Role, text: &str) -> Message {
    Message { role, content: Some(text.to_owned()), tool_calls: Vec::new(), tool_call_id: None }
}

/// What a draft must change for.
pub(super) fn hard(findings: &[Finding]) -> Vec<Finding> {
    findings.iter().filter(|f| f.tier == Tier::Hard).cloned().collect()
}

/// The question that would settle a draft where nothing else stands against it, with the calls that a
/// yes to it covers: all of the draft where leave is asked for, none where something is to be named.
pub(super) fn question(hard: &[Finding], draft: &Draft) -> Option<(String, Vec<ToolCall>)> {
    let asks = |f: &Finding| f.say.as_deref().is_some_and(|say| say.ends_with('?'));
    let question = hard.iter().all(asks).then(|| hard.first()?.say.clone()).flatten()?;
    let leave = hard.iter().all(|f| f.consent);
    Some((question, if leave { draft.calls.clone() } else { Vec::new() }))
}
