//! Execution against the simulated car.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::*;
use crate::model::{Draft, PolicyHash, Resolution, RuleId, ToolCall, Value};
use crate::policy::{
    Advice, ArgumentTemplate, CallTemplate, Compare, HardLimits, Op, Policy, PolicyParts, Program, Rule, RuleKind,
    Slot, SlotIx, Tables, Trigger, When,
};
use crate::state::{
    AttrIx, AttrType, CellIx, Clock, EffectModel, EntityIx, History, Literal, ManualClock, Observation,
    ObservationField, Outcome, SystemClock,
};
use crate::vehicle::testcar::{self, STATE, call};
use crate::vehicle::{Answer, Cause, Fault, FaultMode, Pending, Sim, Trouble, Vehicle, grace};
use crate::verify::{Binding, Cleared, SessionId, Step, Verdict};

const TRUNK: CellIx = CellIx(1);
const DRIVER: CellIx = CellIx(3);

/// Opening the trunk closes the windows; where one of them does not close, the trunk is closed again.
fn rule() -> Rule {
    let tool = |name: &str| testcar::inventory().position(name).unwrap();
    let constant = |literal| ArgumentTemplate::Constant(literal);
    Rule {
        id: "closed-windows".into(),
        kind: RuleKind::AutoAction,
        source: "policy.md:1".into(),
        sentence: "When the trunk opens, the windows close.".into(),
        trigger: Trigger::Calls(vec![tool("move_trunk")]),
        entity: EntityIx(1),
        guard: Program::default(),
        when: Program { ops: vec![Op::Constant(0), Op::Load(SlotIx(0)), Op::Compare(Compare::Lt)] },
        reads_after: vec![AttrIx(3)],
        remedy: vec![CallTemplate {
            tool: tool("move_window"),
            arguments: vec![
                ("window".to_owned(), ArgumentTemplate::Resource),
                ("percentage".to_owned(), constant(Literal::Int(0))),
            ],
        }],
        read: None,
        consent: None,
        disclose: None,
        said: Vec::new(),
        on_failure: vec![CallTemplate {
            tool: tool("move_trunk"),
            arguments: vec![("action".to_owned(), constant(Literal::Text("CLOSE".to_owned())))],
        }],
        fresh: None,
        advise: None,
        shadow: false,
    }
}

/// A session with a car of which everything is known.
struct Bench {
    policy: Policy,
    history: History,
    sim: Sim,
    clock: Arc<ManualClock>,
    session: SessionId,
    limits: HardLimits,
}

impl Bench {
    async fn new(rules: Vec<Rule>) -> Self {
        let tables = Tables {
            slots: vec![Slot::Resource { attribute: AttrIx(3), when: When::After }],
            constants: vec![Literal::Int(0)],
            ..Tables::default()
        };
        let parts = PolicyParts {
            inventory: testcar::inventory().into(),
            model: testcar::model(),
            rules,
            tables,
            ..PolicyParts::default()
        };
        let policy = Policy::new(parts, PolicyHash([1; 32])).unwrap();
        let (sim, clock) = testcar::sim(STATE);
        let history = History::new(&policy.model);
        let mut bench =
            Self { policy, history, sim, clock, session: SessionId::from("1"), limits: HardLimits::default() };
        bench.history.heard("open the trunk and close the driver's window");
        for read in ["read_windows", "read_trunk", "read_motion"] {
            let read = call(read, json!({}));
            let outcome = bench.sim.call(&read, Duration::MAX).await.into();
            let reference = bench.history.called(&bench.policy.inventory, read);
            bench.history.settle(&bench.policy.model, &bench.policy.inventory, reference, outcome, None);
        }
        bench
    }

    /// A clearance for a draft of these calls.
    fn cleared(&self, calls: Vec<ToolCall>) -> Cleared {
        let step = Step {
            policy: &self.policy,
            limits: &HardLimits::default(),
            history: &self.history,
            advice: Advice::Remedies,
            binding: Binding { session: self.session.clone(), policy: self.policy.hash, epoch: self.sim.epoch() },
            critic: None,
            valve: None,
        };
        match step.check(&Draft::calls(calls)).verdict {
            Verdict::Clear { cleared } | Verdict::Amend { cleared } => cleared,
            other => panic!("{other:?}"),
        }
    }

    async fn carry(&mut self, cleared: Cleared) -> Result<Executed, Stale> {
        let conditions = Conditions {
            session: &self.session,
            policy: &self.policy,
            limits: &self.limits,
            cleared_at: Duration::ZERO,
            now: self.clock.since_boot(),
            clock: &SystemClock,
            valid_for: Duration::from_secs(30),
        };
        carry_out(cleared, &conditions, &self.sim, &mut self.history).await
    }

    async fn run(&mut self, calls: Vec<ToolCall>) -> Executed {
        let cleared = self.cleared(calls);
        self.carry(cleared).await.unwrap()
    }

    fn known(&self, cell: CellIx) -> &Value {
        &self.history.world().get(cell).value
    }

    fn delivered(&self) -> usize {
        self.sim.handle().delivered().len()
    }
}

fn window(window: &str, percentage: i64) -> ToolCall {
    call("move_window", json!({"window": window, "percentage": percentage}))
}

fn open_trunk() -> ToolCall {
    call("move_trunk", json!({"action": "OPEN"}))
}

fn state(bench: &Bench, field: &str) -> Json {
    bench.sim.handle().get(field).unwrap()
}

#[tokio::test]
async fn a_write_is_done_when_the_car_says_so() {
    let mut bench = Bench::new(Vec::new()).await;
    let executed = bench.run(vec![window("DRIVER", 0)]).await;
    assert!(matches!(executed.outcome, Outcome::Done(_)));
    let [read] = &executed.read_back[..] else { panic!("one field") };
    assert_eq!((read.field.as_str(), read.read.as_str(), read.confirmed), ("window_driver_position", "0", true));
    assert_eq!(bench.known(DRIVER), &Value::Int(0));
}

#[tokio::test]
async fn a_write_that_claims_success_and_changes_nothing_may_still_arrive() {
    let mut bench = Bench::new(Vec::new()).await;
    bench.sim.handle().inject(Fault::of("move_window", FaultMode::Ignore));
    let executed = bench.run(vec![window("DRIVER", 0)]).await;
    assert_eq!(
        executed.outcome,
        Outcome::Unknown("nothing changed: window_driver_position reads 25, not 0".into()),
        "whoever took the order may have it in a queue"
    );
    assert_eq!(executed.cause, Some(Cause::Ignored));
    assert_eq!(bench.known(DRIVER), &Value::Int(25), "what was read back is known");
}

#[tokio::test]
async fn a_companion_of_which_nothing_was_seen_stops_the_rest_like_one_that_failed() {
    let mut bench = Bench::new(vec![rule()]).await;
    let opened = bench.run(vec![open_trunk()]).await;
    let Remainder::Continue { rest, .. } = remainder(&bench.policy, &bench.history, &opened) else { panic!("more") };
    bench.sim.handle().inject(Fault::of("move_window", FaultMode::Ignore));
    let closed = bench.run(rest.calls).await;
    assert_eq!(closed.cause, Some(Cause::Ignored));
    let Remainder::Stopped { instead, .. } = remainder(&bench.policy, &bench.history, &closed) else {
        panic!("stopped")
    };
    assert_eq!(instead.calls.len(), 1);
}

#[tokio::test]
async fn an_unconfirmed_write_is_unknown_where_nobody_knows_what_was_there_before() {
    let mut bench = Bench::new(Vec::new()).await;
    bench.history.reported(DRIVER, Value::Unknown);
    bench.sim.handle().inject(Fault::of("move_window", FaultMode::Ignore));
    let executed = bench.run(vec![window("DRIVER", 0)]).await;
    assert_eq!(executed.outcome, Outcome::Unknown("window_driver_position reads 25, not 0".into()));
}

#[tokio::test]
async fn a_slow_actuator_is_read_until_it_has_arrived() {
    let mut bench = Bench::new(Vec::new()).await;
    bench.policy.model.tools[1].deadline_ms = 2_000;
    bench.sim.handle().inject(Fault::of("move_window", FaultMode::Ignore));
    let cleared = bench.cleared(vec![window("DRIVER", 0)]);
    let handle = bench.sim.handle();
    let arrive = async {
        tokio::time::sleep(Duration::from_millis(120)).await;
        handle.set("read_windows.window_driver_position", 0).unwrap();
    };
    let (executed, ()) = tokio::join!(bench.carry(cleared), arrive);
    assert!(matches!(executed.unwrap().outcome, Outcome::Done(_)));
}

#[tokio::test]
async fn a_refused_write_has_failed_and_its_fields_are_unknown() {
    let mut bench = Bench::new(Vec::new()).await;
    bench.sim.handle().inject(Fault::of("move_window", FaultMode::Fail { why: "jammed".to_owned() }));
    let executed = bench.run(vec![window("DRIVER", 0)]).await;
    assert_eq!(executed.outcome, Outcome::Failed("jammed".into()));
    assert_eq!(bench.known(DRIVER), &Value::Unknown);
}

#[tokio::test]
async fn a_write_that_is_never_answered_is_unknown_and_is_delivered_once() {
    let mut bench = Bench::new(Vec::new()).await;
    bench.sim.handle().inject(Fault::of("move_window", FaultMode::Stall));
    let executed = bench.run(vec![window("DRIVER", 0)]).await;
    assert_eq!(executed.outcome, Outcome::Unknown("no answer within 50 ms".into()));
    assert_eq!(bench.known(DRIVER), &Value::Unknown);
    assert_eq!(bench.delivered(), 1);
}

#[tokio::test]
async fn a_write_that_cannot_be_read_back_is_unknown() {
    let mut bench = Bench::new(Vec::new()).await;
    bench.sim.handle().inject(Fault::of("read_windows", FaultMode::Stall));
    let executed = bench.run(vec![window("DRIVER", 0)]).await;
    let Outcome::Unknown(why) = &executed.outcome else { panic!("{:?}", executed.outcome) };
    assert!(why.starts_with("it could not be read back: no answer within"), "{why}");
    assert_eq!(bench.known(DRIVER), &Value::Unknown);
}

#[tokio::test]
async fn a_late_effect_is_never_taken_for_a_success_and_makes_later_clearances_stale() {
    let mut bench = Bench::new(Vec::new()).await;
    bench.sim.handle().inject(Fault::of("move_window", FaultMode::Late { after_ms: 1_000 }).times(1));
    let executed = bench.run(vec![window("DRIVER", 0)]).await;
    assert!(matches!(executed.outcome, Outcome::Unknown(_)));
    let cleared = bench.cleared(vec![window("PASSENGER", 50)]);
    bench.clock.advance(Duration::from_secs(1));
    assert!(matches!(bench.carry(cleared).await, Err(Stale::Epoch { .. })));
    assert_eq!(state(&bench, "read_windows.window_passenger_position"), json!(100), "nothing was executed");
}

#[tokio::test]
async fn a_turn_that_is_cut_off_in_a_call_leaves_its_fields_unknown() {
    let mut bench = Bench::new(Vec::new()).await;
    bench.sim.handle().inject(Fault::of("move_window", FaultMode::Stall));
    let cleared = bench.cleared(vec![window("DRIVER", 0)]);
    let cut = tokio::time::timeout(Duration::from_millis(5), bench.carry(cleared)).await;
    assert!(cut.is_err());
    assert_eq!(bench.known(DRIVER), &Value::Unknown);
    assert!(matches!(bench.history.calls().last().unwrap().outcome, Outcome::Unknown(_)));
}

#[tokio::test]
async fn suspending_the_car_ends_a_call_at_once() {
    let mut bench = Bench::new(Vec::new()).await;
    let handle = bench.sim.handle();
    handle.inject(Fault::of("move_window", FaultMode::Stall));
    let cleared = bench.cleared(vec![window("DRIVER", 0)]);
    let suspend = async { handle.suspend() };
    let (executed, ()) = tokio::join!(bench.carry(cleared), suspend);
    assert_eq!(executed.unwrap().outcome, Outcome::Unknown("the car was suspended before it answered".into()));
}

#[tokio::test]
async fn a_clearance_holds_for_its_session_its_policy_its_car_and_its_time_only() {
    let mut bench = Bench::new(Vec::new()).await;
    let close = || vec![window("DRIVER", 0)];

    let cleared = bench.cleared(close());
    bench.session = SessionId::from("2");
    assert!(matches!(bench.carry(cleared).await, Err(Stale::Session { .. })));

    let cleared = bench.cleared(close());
    bench.policy.hash = PolicyHash([2; 32]);
    assert!(matches!(bench.carry(cleared).await, Err(Stale::Policy { .. })));

    let cleared = bench.cleared(close());
    bench.sim.handle().set("read_windows.window_driver_position", 80).unwrap();
    assert!(matches!(bench.carry(cleared).await, Err(Stale::Epoch { .. })));

    let cleared = bench.cleared(close());
    bench.clock.advance(Duration::from_secs(31));
    assert!(matches!(bench.carry(cleared).await, Err(Stale::Expired { .. })));

    assert_eq!(bench.delivered(), 0);
}

#[tokio::test]
async fn one_clearance_makes_one_call_and_gives_the_rest_back() {
    let mut bench = Bench::new(Vec::new()).await;
    let executed = bench.run(vec![window("DRIVER", 0), window("PASSENGER", 0)]).await;
    assert_eq!(bench.delivered(), 1);
    let remainder = remainder(&bench.policy, &bench.history, &executed);
    let rest = Draft::calls(vec![window("PASSENGER", 0)]);
    assert_eq!(remainder, Remainder::Continue { rest, dropped: Vec::new() });
}

#[tokio::test]
async fn a_failed_companion_stops_the_rest_and_the_rule_says_what_is_done_instead() {
    let mut bench = Bench::new(vec![rule()]).await;
    let opened = bench.run(vec![open_trunk()]).await;
    let Remainder::Continue { rest, .. } = remainder(&bench.policy, &bench.history, &opened) else { panic!("more") };
    assert_eq!(rest.calls.len(), 1, "both windows close with one call: {rest:?}");

    bench.sim.handle().inject(Fault::of("move_window", FaultMode::Fail { why: "jammed".to_owned() }));
    let mut rest = rest.calls;
    rest.push(call("send_note", json!({"text": "ready"})));
    let closed = bench.run(rest).await;
    let Remainder::Stopped { rule, dropped, instead } = remainder(&bench.policy, &bench.history, &closed) else {
        panic!("stopped")
    };
    assert_eq!(rule, RuleId::from("closed-windows"));
    assert_eq!(dropped.iter().map(|c| c.tool.as_str()).collect::<Vec<_>>(), ["send_note"]);
    assert_eq!(instead.calls.iter().map(ToString::to_string).collect::<Vec<_>>(), [r#"move_trunk(action: "CLOSE")"#]);
}

#[tokio::test]
async fn companions_of_a_call_that_failed_are_not_made() {
    let mut bench = Bench::new(vec![rule()]).await;
    bench.sim.handle().inject(Fault::of("move_trunk", FaultMode::Fail { why: "stuck".to_owned() }));
    let executed = bench.run(vec![open_trunk()]).await;
    let Remainder::Finished { dropped } = remainder(&bench.policy, &bench.history, &executed) else {
        panic!("finished")
    };
    assert_eq!(dropped.len(), 1, "nobody asked for windows to close under a shut trunk");
    assert_eq!(bench.known(TRUNK), &Value::Unknown);
}

#[tokio::test]
async fn what_grew_too_old_for_a_rule_since_the_verdict_makes_it_stale() {
    let fresh = Rule { fresh: Some(Duration::from_secs(2)), ..rule() };
    let mut bench = Bench::new(vec![fresh]).await;
    bench.history.set_clock(Duration::ZERO);
    let read = call("read_windows", json!({}));
    let outcome = bench.sim.call(&read, Duration::MAX).await.into();
    let reference = bench.history.called(&bench.policy.inventory, read);
    let (model, inventory) = (&bench.policy.model, &bench.policy.inventory);
    bench.history.settle(model, inventory, reference, outcome, Some(Duration::ZERO));
    let cleared = bench.cleared(vec![open_trunk()]);
    bench.clock.advance(Duration::from_secs(3));
    let Err(Stale::Outdated(outdated)) = bench.carry(cleared).await else { panic!("the windows are not new any more") };
    assert_eq!((outdated.field.as_str(), outdated.age), ("window_driver_position", Duration::from_secs(3)));
    assert_eq!(bench.delivered(), 0);
    let cleared = bench.cleared(vec![call("send_note", json!({"text": "ready"}))]);
    assert!(bench.carry(cleared).await.is_ok(), "no rule needs anything new for this");
}

#[tokio::test]
async fn a_hard_limit_is_judged_again_when_the_call_is_made() {
    let mut bench = Bench::new(Vec::new()).await;
    let cleared = bench.cleared(vec![call("move_window", json!({"window": "DRIVER", "percentage": 50}))]);
    let limit = "[[limit]]\nname = \"half\"\ntool = \"move_window\"\nargument = \"percentage\"\nminimum = 0\nmaximum = 40\nsay = \"No.\"";
    bench.limits = HardLimits::parse(limit).unwrap();
    assert_eq!(bench.carry(cleared).await, Err(Stale::Limit("half".to_owned())));
    assert!(bench.sim.handle().delivered().is_empty(), "nothing reached the car");
}

#[tokio::test]
async fn what_was_observed_and_grew_too_old_since_the_verdict_makes_it_stale_too() {
    let inventory = testcar::inventory();
    let seen = Observation {
        name: "motion".into(),
        read: inventory.position("read_motion").unwrap(),
        fields: vec![ObservationField {
            name: "speed".into(),
            field: "speed_kph".into(),
            kind: AttrType::Int,
            resolution: Resolution::ONE,
            unit: String::new(),
        }],
    };
    let tables = Tables {
        slots: vec![Slot::Observed { observation: 0, field: 0 }],
        constants: vec![Literal::Int(80)],
        ..Tables::default()
    };
    let fast = Rule {
        id: "slow".into(),
        kind: RuleKind::Prohibition,
        entity: EntityIx::CAR,
        fresh: Some(Duration::from_secs(2)),
        reads_after: Vec::new(),
        remedy: Vec::new(),
        on_failure: Vec::new(),
        ..rule()
    };
    let mut bench = Bench::new(Vec::new()).await;
    let model = EffectModel { observations: vec![seen], ..testcar::model() };
    let parts = PolicyParts { inventory: inventory.into(), model, rules: vec![fast], tables, ..PolicyParts::default() };
    bench.policy = Policy::new(parts, PolicyHash([1; 32])).unwrap();
    bench.history.set_clock(Duration::ZERO);
    let read = call("read_motion", json!({}));
    let outcome = bench.sim.call(&read, Duration::MAX).await.into();
    let reference = bench.history.called(&bench.policy.inventory, read);
    bench.history.settle(&bench.policy.model, &bench.policy.inventory, reference, outcome, Some(Duration::ZERO));
    for (passed, outdated) in [(2, false), (3, true)] {
        let cleared = bench.cleared(vec![open_trunk()]);
        let before = bench.delivered();
        bench.clock.advance(Duration::from_secs(passed) - bench.clock.since_boot());
        match bench.carry(cleared).await {
            Ok(_) => assert!(!outdated),
            Err(Stale::Outdated(old)) => {
                assert!(outdated);
                assert_eq!((old.field.as_str(), old.age), ("motion.speed", Duration::from_secs(3)));
                assert_eq!(bench.delivered(), before, "nothing reached the car");
            }
            Err(other) => panic!("{other}"),
        }
        bench.history.set_clock(Duration::ZERO);
    }
}

/// A vehicle that uses up its time and then tells exactly what the matter is.
struct Precise(Duration);

impl Vehicle for Precise {
    fn call<'a>(&'a self, _: &'a ToolCall, deadline: Duration) -> Pending<'a> {
        Box::pin(async move {
            tokio::time::sleep(deadline + grace(deadline) + self.0).await;
            Answer::Trouble(Trouble::open(Cause::Ignored, "nothing moved"))
        })
    }

    fn epoch(&self) -> u64 {
        0
    }
}

#[tokio::test]
async fn the_vehicle_itself_says_what_became_of_a_call_and_not_whoever_waits_for_it() {
    let mut bench = Bench::new(Vec::new()).await;
    // As long as it takes to say it.
    let cleared = bench.cleared(vec![window("DRIVER", 0)]);
    let conditions = Conditions {
        session: &bench.session,
        policy: &bench.policy,
        limits: &bench.limits,
        cleared_at: Duration::ZERO,
        now: Duration::ZERO,
        clock: &SystemClock,
        valid_for: Duration::from_secs(30),
    };
    let vehicle = Precise(Duration::from_millis(40));
    let executed = carry_out(cleared, &conditions, &vehicle, &mut bench.history).await.unwrap();
    assert_eq!(executed.cause, Some(Cause::Ignored), "{:?}", executed.outcome);
    assert_eq!(executed.outcome, Outcome::Unknown("nothing moved".into()));
}

#[tokio::test]
async fn a_call_that_was_slept_over_has_run_out_although_timers_stood_still() {
    let mut bench = Bench::new(Vec::new()).await;
    bench.policy.model.tools[1].deadline_ms = 3_600_000;
    bench.sim.handle().inject(Fault::of("move_window", FaultMode::Stall));
    let cleared = bench.cleared(vec![window("DRIVER", 0)]);
    let (clock, session, policy, limits) =
        (bench.clock.clone(), bench.session.clone(), bench.policy.clone(), bench.limits.clone());
    let conditions = Conditions {
        session: &session,
        policy: &policy,
        limits: &limits,
        cleared_at: Duration::ZERO,
        now: Duration::ZERO,
        clock: clock.as_ref(),
        valid_for: Duration::from_secs(30),
    };
    let night = async {
        tokio::task::yield_now().await;
        clock.advance(Duration::from_secs(8 * 3_600));
    };
    let called = carry_out(cleared, &conditions, &bench.sim, &mut bench.history);
    let (executed, ()) = tokio::join!(called, night);
    let executed = executed.unwrap();
    assert_eq!(executed.cause, Some(Cause::Silent), "{:?}", executed.outcome);
    assert_eq!(bench.delivered(), 1);
}
