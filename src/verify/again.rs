//! Judging once more what was judged before: from a record, or beside a judgement that is being made.

use super::{Binding, SessionId, Step, Valve, report};
use crate::critic::{Case, Judge, JudgeError, Ruling};
use crate::journal::Judgement;
use crate::model::{Draft, Tier, VerdictReport};
use crate::policy::{HardLimits, Policy};
use crate::state::History;

/// One conversation, as far as its judgements tell it.
#[derive(Debug)]
pub struct Again {
    history: History,
    valve: Valve,
    turn: u32,
    /// Whether the conversation is known from its beginning.
    grounded: bool,
}

impl Again {
    /// A conversation of which nothing is known yet.
    pub fn new(policy: &Policy) -> Self {
        Self { history: History::new(&policy.model), valve: Valve::default(), turn: 0, grounded: false }
    }

    /// Takes in what a judgement was reached from, and judges its draft under a policy. Nothing comes of a
    /// conversation whose beginning is not known.
    pub fn judge(
        &mut self,
        policy: &Policy,
        limits: &HardLimits,
        turn: u32,
        judgement: &Judgement,
    ) -> Option<VerdictReport> {
        self.grounded |= judgement.ground.whole;
        self.history.learn(&policy.model, &policy.inventory, &judgement.ground);
        if !self.grounded {
            return None;
        }
        policy.attend(&self.history);
        if turn != self.turn {
            (self.turn, self.valve) = (turn, Valve::default());
        }
        let mut critic = Recalled(judgement);
        let step = Step {
            policy,
            limits,
            history: &self.history,
            advice: judgement.apply,
            binding: Binding { session: SessionId::from("again"), policy: policy.hash, epoch: 0 },
            critic: judgement.critic.then_some((&mut critic as &mut dyn Judge, &[])),
            valve: judgement.in_turn.then_some(&mut self.valve),
        };
        Some(report(&step.check(&Draft::from(&judgement.draft))))
    }

    /// Forgets the conversation: something of it was lost.
    pub fn lose(&mut self) {
        self.grounded = false;
    }

    /// The conversation.
    pub fn history(&self) -> &History {
        &self.history
    }
}

/// A critic that rules as the one ruled whose words are on record: what it confirmed stands among the
/// hard findings.
struct Recalled<'a>(&'a Judgement);

impl Judge for Recalled<'_> {
    fn judge(&mut self, case: &Case<'_>) -> Result<Vec<Ruling>, JudgeError> {
        let found = &self.0.report.findings;
        if found.iter().any(|f| f.tier == Tier::Advisory) {
            return Err(JudgeError::Unavailable("it gave none when this was recorded".to_owned()));
        }
        let confirmed = |candidate: &crate::model::Finding| {
            let rule = candidate.rule.as_ref().map(ToString::to_string);
            found.iter().any(|f| f.tier == Tier::Hard && f.gate == candidate.gate && f.rule == rule)
        };
        let ruling = |c| if confirmed(c) { Ruling::Confirm } else { Ruling::Discard };
        Ok(case.candidates.iter().map(ruling).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Arguments, ToolCall};
    use crate::policy::testing::{Talk, kitchen};
    use crate::state::{Ground, Mark, Outcome};
    use crate::tools::Removed;
    use serde_json::json;
    use std::sync::Arc;
    use std::time::Duration;

    /// What two histories must agree in for every check to say the same of both.
    fn same(one: &History, other: &History) {
        assert_eq!(one.calls(), other.calls());
        assert_eq!((one.driver(), one.spoken(), one.world()), (other.driver(), other.spoken(), other.world()));
        assert_eq!((one.now(), one.removed(), one.side()), (other.now(), other.removed(), other.side()));
        assert_eq!((one.steps(), one.clock(), one.system()), (other.steps(), other.clock(), other.system()));
        assert_eq!(one.words_agree(), other.words_agree());
    }

    fn written(ground: &Ground) -> Ground {
        serde_json::from_str(&serde_json::to_string(ground).unwrap()).unwrap()
    }

    #[test]
    fn a_history_that_is_written_down_piece_by_piece_is_the_same_when_it_is_read() {
        let policy = kitchen();
        let mut live = Talk::new(&policy).driver("turn on the oven").history();
        live.set_removed(Removed::from_iter(["a.b"]));
        live.set_clock(Duration::from_micros(1_500_000));
        let mut again = History::new(&policy.model);
        let mut mark = Mark::default();
        let first = live.gained(&mut mark);
        assert!(first.whole);
        again.learn(&policy.model, &policy.inventory, &written(&first));
        same(&live, &again);

        let call = ToolCall::new("get_oven_state", Arguments::default());
        let made = live.called(&policy.inventory, call.clone());
        let read = Outcome::Done(Arc::new(json!({"oven_on": false})));
        live.settle(&policy.model, &policy.inventory, made, read, Some(Duration::from_micros(7)));
        live.set_ages(made, vec![("oven_on".to_owned(), Duration::from_micros(3))]);
        live.end_step();
        live.forget_car();
        live.grant(call.key());
        let arguments = Arguments::from_iter([("on".to_owned(), json!(true))]);
        let made = live.called(&policy.inventory, ToolCall::new("switch_oven", arguments));
        let outcome = Outcome::Failed("no power".into());
        live.settle(&policy.model, &policy.inventory, made, outcome, None);
        live.said("Done.");
        live.let_words_agree(false);
        let second = live.gained(&mut mark);
        assert!(!second.whole, "only what is new: {second:?}");
        again.learn(&policy.model, &policy.inventory, &written(&second));
        same(&live, &again);
        assert!(again.grants(&call.key()));
    }

    #[test]
    fn another_history_in_place_of_the_old_one_is_given_whole() {
        let policy = kitchen();
        let mut mark = Mark::default();
        let _ = Talk::new(&policy).driver("turn on the oven").history().gained(&mut mark);
        assert!(History::new(&policy.model).gained(&mut mark).whole);
    }
}
