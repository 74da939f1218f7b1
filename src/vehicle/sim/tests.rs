use super::*;
use crate::state::Outcome;
use crate::vehicle::testcar::{STATE, call, inventory, model, sim};
use serde_json::{Value as Json, json};

const DEADLINE: Duration = Duration::from_millis(50);

async fn ask(sim: &Sim, tool: &str, arguments: Json) -> Answer {
    sim.call(&call(tool, arguments), DEADLINE).await
}

fn done(json: Json) -> Answer {
    Answer::Done(Arc::new(json))
}

#[tokio::test]
async fn a_write_is_read_back_through_the_fields_of_its_read() {
    let (sim, _) = sim(STATE);
    let closed = ask(&sim, "move_window", json!({"window": "PASSENGER", "percentage": 0})).await;
    assert_eq!(closed, done(json!({"window_passenger_position": 0})));
    let read = ask(&sim, "read_windows", json!({})).await;
    assert_eq!(read, done(json!({"window_driver_position": 25, "window_passenger_position": 0})));
}

#[tokio::test]
async fn the_collective_value_moves_every_item() {
    let (sim, _) = sim(STATE);
    ask(&sim, "move_window", json!({"window": "ALL", "percentage": 50})).await;
    assert_eq!(sim.handle().get("read_windows.window_driver_position"), Some(json!(50)));
    assert_eq!(sim.handle().get("read_windows.window_passenger_position"), Some(json!(50)));
}

#[tokio::test]
async fn what_the_effect_model_leaves_open_is_done_by_an_edit() {
    let (sim, _) = sim(STATE);
    let added = ask(&sim, "add_stop", json!({"stop": "shop", "before": "work"})).await;
    assert_eq!(added, done(json!({"stop_ids": ["home", "shop", "work"]})));
    assert_eq!(sim.handle().get("read_tour.stops"), Some(json!(["home", "shop", "work"])));
    let refused = ask(&sim, "add_stop", json!({"stop": "shop", "before": "moon"})).await;
    assert_eq!(refused, Answer::Failed(r#""moon" is not among ["home","shop","work"]"#.to_owned()));
}

#[tokio::test]
async fn a_tool_without_an_answer_fails_with_a_sentence() {
    let (sim, _) = sim(STATE);
    let Answer::Failed(why) = ask(&sim, "guess", json!({})).await else { panic!("failed") };
    assert_eq!(why, "the simulated car has no answer to `guess` with these arguments");
    let Answer::Failed(why) = ask(&sim, "fly", json!({})).await else { panic!("failed") };
    assert_eq!(why, "this car has no `fly`");
}

#[tokio::test]
async fn an_ignored_write_claims_success_and_changes_nothing() {
    let (sim, _) = sim(STATE);
    sim.handle().inject(Fault::of("move_window", FaultMode::Ignore));
    let answer = ask(&sim, "move_window", json!({"window": "DRIVER", "percentage": 0})).await;
    assert_eq!(answer, done(json!({"window_driver_position": 0})));
    assert_eq!(sim.handle().get("read_windows.window_driver_position"), Some(json!(25)));
    assert!(sim.handle().delivered().iter().all(|d| !d.effective));
}

#[tokio::test]
async fn a_failed_write_changes_nothing_and_recovers_when_the_fault_is_used_up() {
    let state = format!("{STATE}\n[[fault]]\ntool = \"move_window\"\nmode = \"fail\"\nwhy = \"jammed\"\ntimes = 1\n");
    let (sim, _) = sim(&state);
    let close = json!({"window": "DRIVER", "percentage": 0});
    assert_eq!(ask(&sim, "move_window", close.clone()).await, Answer::Failed("jammed".to_owned()));
    assert_eq!(sim.handle().get("read_windows.window_driver_position"), Some(json!(25)));
    assert!(matches!(ask(&sim, "move_window", close).await, Answer::Done(_)));
}

#[tokio::test]
async fn a_stalled_call_never_answers_and_a_suspend_ends_the_wait() {
    let (sim, _) = sim(STATE);
    let sim = Arc::new(sim);
    sim.handle().inject(Fault::of("read_windows", FaultMode::Stall).times(1));
    assert!(tokio::time::timeout(DEADLINE, ask(&sim, "read_windows", json!({}))).await.is_err());

    sim.handle().inject(Fault::of("read_windows", FaultMode::Stall).times(1));
    let waiting = tokio::spawn({
        let sim = sim.clone();
        async move { ask(&sim, "read_windows", json!({})).await }
    });
    tokio::task::yield_now().await;
    sim.handle().suspend();
    assert!(matches!(waiting.await.unwrap(), Answer::Trouble(t) if t.cause == Cause::Suspended && !t.untouched));
    let Answer::Trouble(asleep) = ask(&sim, "read_windows", json!({})).await else { panic!("asleep") };
    assert_eq!((asleep.cause, asleep.untouched), (Cause::Suspended, true));
    sim.handle().resume();
    assert!(matches!(ask(&sim, "read_windows", json!({})).await, Answer::Done(_)));
}

#[tokio::test]
async fn a_late_effect_comes_when_its_time_has_come_and_makes_everything_stale() {
    let (sim, clock) = sim(STATE);
    sim.handle().inject(Fault::of("move_window", FaultMode::Late { after_ms: 5_000 }));
    let close = json!({"window": "DRIVER", "percentage": 0});
    assert!(tokio::time::timeout(DEADLINE, ask(&sim, "move_window", close)).await.is_err());
    let epoch = sim.epoch();
    assert_eq!(sim.handle().get("read_windows.window_driver_position"), Some(json!(25)));
    clock.advance(Duration::from_secs(5));
    assert_eq!(sim.handle().get("read_windows.window_driver_position"), Some(json!(0)));
    assert!(sim.epoch() > epoch);
}

#[tokio::test]
async fn the_epoch_counts_the_driver_and_the_key_but_not_our_own_calls() {
    let (sim, _) = sim(STATE);
    let start = sim.epoch();
    ask(&sim, "move_window", json!({"window": "DRIVER", "percentage": 0})).await;
    assert_eq!(sim.epoch(), start);
    let handle = sim.handle();
    handle.set("read_windows.window_driver_position", 80).unwrap();
    handle.suspend();
    handle.resume();
    assert_eq!(sim.epoch(), start + 3);
    assert!(matches!(handle.set("read_windows.sunroof", 1), Err(ScenarioError::Field { .. })));
}

#[tokio::test]
async fn a_write_into_an_unsafe_state_is_a_violation_and_the_drivers_own_doing_is_none() {
    let (sim, _) = sim(STATE);
    ask(&sim, "move_trunk", json!({"action": "OPEN"})).await;
    let handle = sim.handle();
    let [violation] = &handle.violations()[..] else { panic!("one violation") };
    assert_eq!(violation.invariant, "trunk closed above walking pace");
    assert_eq!(violation.call.tool.as_str(), "move_trunk");

    ask(&sim, "move_window", json!({"window": "DRIVER", "percentage": 0})).await;
    assert_eq!(handle.violations().len(), 1, "the trunk was open before the window moved");
    handle.set("read_trunk.trunk", "closed").unwrap();
    handle.set("read_trunk.trunk", "open").unwrap();
    assert_eq!(handle.violations().len(), 1, "the driver opened it");
}

#[test]
fn a_state_file_that_does_not_fit_names_what_is_wrong() {
    let parse = |text: &str| Scenario::parse(text, &inventory(), &model()).unwrap_err().to_string();
    assert!(parse("[read_widnows]\na = 1").contains("`read_widnows`"));
    assert!(parse("[otherwise]\nfly = \"no\"").contains("`fly`"));
    assert!(parse("[[fault]]\ntool = \"fly\"\nmode = \"stall\"").contains("`fly`"));
    assert!(parse("[[edit]]\ntool = \"add_stop\"\nlist = \"read_tour.legs\"").contains("`read_tour.legs`"));
    assert!(parse("[[fault]]\nmode = \"explode\"").contains("explode"));
    let invariant = "[read_trunk]\ntrunk = \"open\"\n[[invariant]]\nname = \"shut\"\n";
    assert!(parse(&format!("{invariant}never = {{ \"read_trunk.lid\" = 1 }}")).contains("`read_trunk.lid`"));
    assert!(parse(&format!("{invariant}never = {{ \"read_trunk.trunk\" = {{ abov = 1 }} }}")).contains("`shut`"));
    assert!(parse("[read_tour]\nstops = []").contains("what `add_stop` makes of `read_tour.stops`"));
}

#[test]
fn place_and_time_are_given_as_a_system_message_gives_them() {
    let text = "[now]\nPLACE = { id = \"loc_1\" }\nTIME = { hour = 17 }";
    let scenario = Scenario::parse(text, &inventory(), &model()).unwrap();
    assert_eq!(scenario.situation(), "PLACE = {\"id\":\"loc_1\"}\nTIME = {\"hour\":17}\n");
}

#[test]
fn an_answer_becomes_the_outcome_of_its_call() {
    assert_eq!(Outcome::from(Answer::Failed("jammed".to_owned())), Outcome::Failed("jammed".into()));
    assert_eq!(Outcome::from(done(json!(1))), Outcome::Done(Arc::new(json!(1))));
}
