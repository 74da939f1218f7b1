//! Whole turns on a broker: what the driver hears, whatever becomes of it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use obligato::model::{Draft, Limits};
use obligato::policy::HardLimits;
use obligato::student::{Answer, Cancel, Prompt, Student, StudentError, Usage};
use obligato::turn::{Config, Event, Heard, Models, Session, TurnReport};
use obligato::vehicle::{Cause, Vehicle};
use obligato::verify::SessionId;
use serde_json::{Value as Json, json};
use tokio::runtime::{Builder, Runtime};

use crate::bench::{AC, ACTUATORS, Bench, DOME, DRIVER_SIDE, DRIVER_WINDOW, FANS, SPOTS};
use crate::broker::{Broker, Place};
use crate::provider::{self, Act, Provider};
use crate::tree::{self, switch, uint};

/// Place and time, as a service says them.
const SITUATION: &str = r#"DATETIME = {"year": 2026, "month": 6, "day": 12, "hour": 12}
CURRENT_LOCATION = {"id": "loc_1"}"#;

struct Script(VecDeque<Draft>);

impl Student for Script {
    fn draft(&mut self, _: &Prompt<'_>) -> Result<Answer, StudentError> {
        let draft = self.0.pop_front().ok_or(StudentError::ScriptEnd(0))?;
        Ok(Answer { draft, usage: Usage::default() })
    }

    fn name(&self) -> &str {
        "scripted"
    }
}

struct Scene {
    broker: Broker,
    runtime: Runtime,
    bench: Option<Bench>,
}

impl Scene {
    fn new() -> Self {
        Self::on(Broker::start())
    }

    fn on(broker: Broker) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let bench = runtime.block_on(Bench::at(&broker.address()));
        Self { broker, runtime, bench: Some(bench) }
    }

    fn bench(&mut self) -> &mut Bench {
        self.bench.as_mut().unwrap()
    }

    /// One turn of a session of its own; `world` acts on whatever happens in it.
    fn says(&mut self, heard: &Heard, draft: &Json, mut world: impl FnMut(&Event, &mut Broker, &Bench)) -> TurnReport {
        let bench = self.bench.as_ref().unwrap();
        let limits = Arc::new(HardLimits::default());
        let car: Arc<dyn Vehicle> = bench.car.clone();
        let mut session = Session::new(SessionId::from("1"), bench.policy.clone(), limits, Config::default(), car);
        session.set_system(SITUATION);
        let draft = Draft::from_bytes(draft.to_string().as_bytes(), &Limits::default()).unwrap();
        let student = Box::new(Script([draft].into()));
        let mut models = Models { student, escalation: None };
        let broker = &mut self.broker;
        let mut listen = |event: Event| world(&event, broker, bench);
        session.turn(&mut models, self.runtime.handle(), heard, &Cancel::default(), &mut listen)
    }
}

fn calls(calls: &[(&str, Json)]) -> Json {
    let calls: Vec<Json> = calls
        .iter()
        .enumerate()
        .map(|(at, (tool, arguments))| {
            json!({"id": format!("c{at}"), "type": "function", "function": {"name": tool, "arguments": arguments.to_string()}})
        })
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn dome() -> Json {
    calls(&[("set_dome_light", json!({"on": true}))])
}

/// What each cause sounds like, without the holes.
fn sentence(scene: &Scene, language: &str, cause: Cause) -> Vec<String> {
    let policy = &scene.bench.as_ref().unwrap().policy;
    let text = policy.say(language, cause.occasion(), &[("what", "§"), ("why", "§")]);
    text.split('§').map(|part| part.trim_matches(|c: char| c == '.' || c.is_whitespace()).to_owned()).collect()
}

/// Brings the scene into a fault and says which draft meets it.
fn meet(cause: Cause) -> (Scene, Json) {
    let lights = calls(&[("set_reading_light", json!({"position": "ALL", "on": true}))]);
    let mut scene = match cause {
        Cause::NoSignal => {
            let mut tree = tree::vss();
            tree.retain(|m| m.path != "Vehicle.Body.Lights.Fog.Rear.IsOn");
            Scene::on(Broker::with(tree, Place::Tcp))
        }
        _ => Scene::new(),
    };
    let address = scene.broker.address();
    let (runtime, bench) = (&scene.runtime, scene.bench.as_mut().unwrap());
    match cause {
        Cause::NoProvider => {
            bench.provider = runtime.block_on(Provider::start(&address, &["Vehicle.Body.Lights.Beam.Low.IsOn"]));
            while scene.broker.state.provides(DOME) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Cause::Side => {
            scene.broker.set(DRIVER_SIDE, tree::text("MIDDLE"));
            while bench.car.side().is_some() || runtime.block_on(bench.car.ready(Duration::ZERO)).is_err() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Cause::Ignored | Cause::Suspended => bench.provider.act(DOME, Act::Reject),
        Cause::OtherValue => {}
        Cause::Late => bench.provider.act(DOME, Act::Late(Duration::from_millis(1_200))),
        Cause::Partial => bench.provider.act(SPOTS[1], Act::Reject),
        Cause::Denied => scene.broker.state.denies.store(true, std::sync::atomic::Ordering::SeqCst),
        Cause::Token => *scene.broker.state.token.lock().unwrap() = Some("another".to_owned()),
        Cause::Unreachable | Cause::Frozen | Cause::OutOfRange | Cause::NoSignal => {}
        Cause::Silent | Cause::Unread | Cause::Unusable => panic!("no broker does that"),
    }
    let draft = match cause {
        Cause::Partial => lights,
        Cause::Side => calls(&[("set_reading_light", json!({"position": "LEFT_REAR", "on": true}))]),
        Cause::OutOfRange => calls(&[("set_air_circulation", json!({"mode": "AUTO"}))]),
        Cause::NoSignal => calls(&[("set_fog_lights", json!({"position": "REAR", "on": false}))]),
        Cause::OtherValue => {
            scene.bench().provider.act("Vehicle.Cabin.Seat.Row1.DriverSide.HeatingCooling", Act::Other(tree::int(33)));
            calls(&[("set_seat_heating", json!({"seat": "DRIVER", "level": 2}))])
        }
        _ => dome(),
    };
    (scene, draft)
}

fn said_for(cause: Cause) -> &'static str {
    match cause {
        Cause::Partial => "turn on all reading lights",
        Cause::Side => "turn on the left rear reading light",
        Cause::OutOfRange => "set the air circulation to auto",
        Cause::NoSignal => "turn off the rear fog light",
        Cause::OtherValue => "driver's seat heating to 2",
        _ => "turn on the dome light",
    }
}

#[test]
fn every_cause_has_a_sentence_of_its_own_in_every_language() {
    let scene = Scene::new();
    for language in ["en", "de"] {
        let all: std::collections::BTreeSet<Vec<String>> =
            Cause::ALL.iter().map(|cause| sentence(&scene, language, *cause)).collect();
        assert_eq!(all.len(), Cause::ALL.len(), "{language}");
        assert!(all.iter().all(|s| s.iter().any(|part| part.len() > 10)), "{all:?}");
    }
}

#[test]
fn the_driver_hears_what_the_matter_is() {
    // The others are of cars without a broker; tests/turns has them.
    let elsewhere = [Cause::Silent, Cause::Unread, Cause::Unusable];
    for cause in Cause::ALL.into_iter().filter(|cause| !elsewhere.contains(cause)) {
        for language in ["en", "de"] {
            let (mut scene, draft) = meet(cause);
            let heard = Heard { language: Some(language.to_owned()), ..Heard::text(said_for(cause)) };
            let (mut struck, mut outcome) = (false, None);
            let report = scene.says(&heard, &draft, |event, broker, bench| {
                if let Event::Executed { outcome: became, call, .. } = event
                    && call.tool.starts_with("set_")
                {
                    outcome = Some(became.clone());
                }
                // A broker that goes away does so after the draft was judged and before it is carried out.
                if matches!(event, Event::Judged { .. }) && !std::mem::replace(&mut struck, true) {
                    match cause {
                        Cause::Unreachable => {
                            broker.kill();
                        }
                        Cause::Frozen => broker.freeze(true),
                        Cause::Suspended => {
                            let car = bench.car.clone();
                            std::thread::spawn(move || {
                                std::thread::sleep(Duration::from_millis(400));
                                car.slept();
                            });
                        }
                        _ => {}
                    }
                }
            });
            scene.broker.freeze(false);
            for part in sentence(&scene, language, cause) {
                assert!(report.text.contains(&part), "{cause:?} in {language}: {}", report.text);
            }
            // What nobody knows is not called a failure, and what did not happen not an open question.
            let policy = &scene.bench.as_ref().unwrap().policy;
            let frame = |occasion: &str| {
                let frame = policy.say(language, occasion, &[("what", "§"), ("why", "§")]);
                let part = frame.split('§').max_by_key(|part| part.len()).unwrap().trim().to_owned();
                report.text.contains(&part)
            };
            let open = outcome.as_deref() == Some("unknown");
            let own = cause.is_a_sentence();
            assert_eq!(frame("call-unknown"), open && !own, "{cause:?} in {language}: {}", report.text);
            assert_eq!(frame("call-failed"), !open && !own, "{cause:?} in {language}: {}", report.text);
            for raw in ["_", "Vehicle.", "did not change", "was set to"] {
                assert!(!report.text.contains(raw), "{cause:?} in {language}: {}", report.text);
            }
        }
    }
}

#[test]
fn parts_and_other_values_are_said_in_the_drivers_language() {
    for (cause, language, expected) in [
        (Cause::OtherValue, "en", "driver seat heating is 1"),
        (Cause::OtherValue, "de", "Sitzheizung Fahrer ist 1"),
        (Cause::Partial, "en", "passenger reading light is off"),
        (Cause::Partial, "de", "Leselampe Beifahrer ist aus"),
    ] {
        let (mut scene, draft) = meet(cause);
        let heard = Heard { language: Some(language.to_owned()), ..Heard::text(said_for(cause)) };
        let report = scene.says(&heard, &draft, |_, _, _| {});
        assert!(report.text.contains(expected), "{cause:?} in {language}: {}", report.text);
    }
}

#[test]
fn a_broker_killed_at_any_step_of_a_turn_leaves_no_order_twice_no_order_late_and_a_true_reply() {
    let draft = calls(&[("set_air_conditioning", json!({"on": true}))]);
    let heard = Heard::text("turn on the AC");
    let steps = {
        let mut scene = open_window();
        let mut steps = 0;
        let report = scene.says(&heard, &draft, |_, _, _| steps += 1);
        assert!(report.text.contains("Done"), "{}", report.text);
        let orders = scene.bench().provider.orders();
        assert!(orders.iter().any(|(path, _)| path == AC) && orders.iter().any(|(path, _)| path == DRIVER_WINDOW));
        steps
    };
    assert!(steps > 6, "reads, verdicts, calls and a reply: {steps}");
    for kill_at in 0..steps {
        let mut scene = open_window();
        let mut step = 0;
        let mut done: Vec<String> = Vec::new();
        let report = scene.says(&heard, &draft, |event, broker, _| {
            if step == kill_at {
                broker.kill();
            }
            step += 1;
            if let Event::Executed { call, outcome, .. } = event
                && outcome == "done"
                && call.tool.starts_with("set_air")
            {
                done.push(call.tool.clone());
            }
        });
        let orders = scene.bench().provider.orders();
        for path in ACTUATORS {
            let count = orders.iter().filter(|(p, _)| p == path).count();
            assert!(count <= 1, "killed at {kill_at}: {path} was ordered {count} times");
        }
        assert!(!report.text.is_empty(), "killed at {kill_at}: silence");
        let claims = report.text.contains("Done");
        assert!(!claims || !done.is_empty(), "killed at {kill_at}: {}", report.text);
        // The broker comes back, and nothing of the turn arrives any more.
        scene.broker.boot();
        let address = scene.broker.address();
        let (runtime, bench) = (&scene.runtime, scene.bench.as_ref().unwrap());
        let again = runtime.block_on(async {
            let provider = Provider::start(&address, &ACTUATORS).await;
            bench.car.ready(Duration::from_secs(6)).await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
            provider.orders()
        });
        assert_eq!(again, [], "killed at {kill_at}");
    }
}

/// The driver's window is open, so that the air conditioning has a companion.
fn open_window() -> Scene {
    let scene = Scene::new();
    let address = scene.broker.address();
    scene.runtime.block_on(async {
        let mut outside = provider::client(&address).await;
        provider::publish(&mut outside, DRIVER_WINDOW, uint(60)).await;
        for path in [
            "Vehicle.Cabin.HVAC.IsFrontDefrosterActive",
            "Vehicle.Cabin.HVAC.IsRearDefrosterActive",
            "Vehicle.Powertrain.TractionBattery.Charging.IsCharging",
        ] {
            provider::publish(&mut outside, path, switch(false)).await;
        }
        for path in FANS {
            provider::publish(&mut outside, path, uint(20)).await;
        }
        scene.bench.as_ref().unwrap().until(|bench| bench.car.epoch() > 0).await;
    });
    scene
}

#[test]
fn a_companion_that_fails_stops_the_rest_and_the_reply_says_so() {
    let mut scene = open_window();
    scene.bench().provider.act(DRIVER_WINDOW, Act::Other(uint(40)));
    let draft = calls(&[("set_air_conditioning", json!({"on": true})), ("set_dome_light", json!({"on": true}))]);
    let report = scene.says(&Heard::text("turn on the AC and the dome light"), &draft, |_, _, _| {});
    assert!(report.text.contains("did not work as asked"), "{}", report.text);
    assert!(report.text.contains("I did not do the rest"), "{}", report.text);
    assert_eq!(scene.bench().provider.count(DOME), 0);
}

#[test]
fn a_tool_without_signals_counts_as_removed() {
    let mut scene = Scene::new();
    let draft = calls(&[("open_close_sunroof", json!({"percentage": 50}))]);
    let report = scene.says(&Heard::text("open the sunroof to 50 percent"), &draft, |_, _, _| {});
    assert!(report.text.contains("can't do that") || report.text.contains("not available"), "{}", report.text);
    assert_eq!(scene.bench().provider.orders(), []);
}
