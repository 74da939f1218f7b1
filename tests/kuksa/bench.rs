//! A car on a broker, with what the tests do to it.

use std::sync::Arc;
use std::time::Duration;

use obligato::execute::{Conditions, Executed, Stale, carry_out};
use obligato::model::{Draft, ToolCall};
use obligato::policy::{Advice, HardLimits, Policy};
use obligato::state::{Clock, History, Outcome, SystemClock};
use obligato::vehicle::kuksa::{Kuksa, Settings};
use obligato::vehicle::{Answer, Cause, Vehicle};
use obligato::verify::{Binding, Cleared, SessionId, Step, Verdict};
use serde_json::{Value as Json, json};
use tokio::runtime::Handle;
use tonic::transport::Channel;

use crate::broker::Broker;
use crate::proto::Value;
use crate::proto::val_client::ValClient;
use crate::provider::{self, Provider};
use crate::tree::{float, int, switch, text, uint};

pub const DRIVER_WINDOW: &str = "Vehicle.Cabin.Door.Row1.DriverSide.Window.Position";
pub const PASSENGER_WINDOW: &str = "Vehicle.Cabin.Door.Row1.PassengerSide.Window.Position";
pub const REAR_WINDOWS: [&str; 2] =
    ["Vehicle.Cabin.Door.Row2.DriverSide.Window.Position", "Vehicle.Cabin.Door.Row2.PassengerSide.Window.Position"];
pub const AC: &str = "Vehicle.Cabin.HVAC.IsAirConditioningActive";
pub const SPEED: &str = "Vehicle.Speed";
pub const TRUNK: &str = "Vehicle.Body.Trunk.Rear.IsOpen";
pub const DOME: &str = "Vehicle.Cabin.Light.IsDomeOn";
pub const SEAT: &str = "Vehicle.Cabin.Seat.Row1.DriverSide.HeatingCooling";
pub const TEMPERATURE: &str = "Vehicle.Cabin.HVAC.Station.Row1.Driver.Temperature";
pub const RECIRCULATION: &str = "Vehicle.Cabin.HVAC.IsRecirculationActive";

pub const DRIVER_SIDE: &str = "Vehicle.Cabin.DriverPosition";

pub const FANS: [&str; 2] =
    ["Vehicle.Cabin.HVAC.Station.Row1.Driver.FanSpeed", "Vehicle.Cabin.HVAC.Station.Row1.Passenger.FanSpeed"];
pub const SPOTS: [&str; 4] = [
    "Vehicle.Cabin.Light.Spotlight.Row1.DriverSide.IsLightOn",
    "Vehicle.Cabin.Light.Spotlight.Row1.PassengerSide.IsLightOn",
    "Vehicle.Cabin.Light.Spotlight.Row2.DriverSide.IsLightOn",
    "Vehicle.Cabin.Light.Spotlight.Row2.PassengerSide.IsLightOn",
];
pub const FLAP: &str = "Vehicle.Powertrain.TractionBattery.Charging.ChargingPort.AnyPosition.IsFlapOpen";

/// Actuators that tests move.
pub const ACTUATORS: [&str; 17] = [
    DRIVER_WINDOW,
    PASSENGER_WINDOW,
    REAR_WINDOWS[0],
    REAR_WINDOWS[1],
    AC,
    TRUNK,
    DOME,
    SEAT,
    TEMPERATURE,
    RECIRCULATION,
    FANS[0],
    FANS[1],
    SPOTS[0],
    SPOTS[1],
    SPOTS[2],
    SPOTS[3],
    FLAP,
];

/// The state that a test begins in.
pub fn parked() -> Vec<(&'static str, Value)> {
    let mut state = vec![
        (DRIVER_SIDE, text("LEFT")),
        (AC, switch(false)),
        (SPEED, float(0.0)),
        (TRUNK, switch(false)),
        (DOME, switch(false)),
        (SEAT, int(0)),
        (TEMPERATURE, float(21.0)),
        (RECIRCULATION, switch(false)),
        ("Vehicle.Cabin.Door.Row2.DriverSide.IsChildLockActive", switch(false)),
        ("Vehicle.Cabin.Seat.Row1.DriverSide.OccupancyStatus", text("OCCUPIED")),
    ];
    state.extend(FANS.map(|path| (path, uint(20))));
    state.extend(SPOTS.map(|path| (path, switch(false))));
    state.push((FLAP, switch(false)));
    state.extend([DRIVER_WINDOW, PASSENGER_WINDOW, REAR_WINDOWS[0], REAR_WINDOWS[1]].map(|path| (path, uint(0))));
    state
}

pub fn policy() -> Arc<Policy> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/policies/cabin/cabin.obl");
    Arc::new(Policy::from_blob(&std::fs::read(path).unwrap()).unwrap())
}

pub fn settings(address: &str) -> Settings {
    Settings { address: address.to_owned(), ..Settings::default() }
}

pub fn call(tool: &str, arguments: Json) -> ToolCall {
    let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
    ToolCall { id: tool.into(), ..ToolCall::new(tool, arguments) }
}

pub fn window(window: &str, percentage: i64) -> ToolCall {
    call("open_close_window", json!({"window": window, "percentage": percentage}))
}

/// A car on a broker.
pub struct Bench {
    pub policy: Arc<Policy>,
    pub car: Arc<Kuksa>,
    pub provider: Provider,
    pub outside: ValClient<Channel>,
    pub history: History,
}

impl Bench {
    /// A parked car with everything closed and off, and a provider that obeys.
    pub async fn at(address: &str) -> Self {
        Self::with(address, policy()).await
    }

    pub async fn with(address: &str, policy: Arc<Policy>) -> Self {
        let mut outside = provider::client(address).await;
        for (path, value) in parked() {
            provider::publish(&mut outside, path, value).await;
        }
        let provider = Provider::start(address, &ACTUATORS).await;
        let car = Arc::new(Kuksa::open(&settings(address), policy.clone(), &Handle::current()).unwrap());
        car.ready(Duration::from_secs(5)).await.unwrap();
        let history = History::new(&policy.model);
        Self { policy, car, provider, outside, history }
    }

    /// Somebody presses a switch, or the car moves.
    pub async fn press(&mut self, path: &str, value: Value) {
        let before = self.car.epoch();
        provider::publish(&mut self.outside, path, value).await;
        if path != SPEED {
            self.until(|bench| bench.car.epoch() != before).await;
        }
    }

    /// Waits for something that the car does by itself.
    pub async fn until(&self, holds: impl Fn(&Self) -> bool) {
        for _ in 0..1_000 {
            if holds(self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("it never came");
    }

    pub async fn order(&self, call: &ToolCall) -> Answer {
        self.order_within(call, Duration::from_millis(400)).await
    }

    pub async fn order_within(&self, call: &ToolCall, deadline: Duration) -> Answer {
        let limit = deadline + obligato::vehicle::grace(deadline) + Duration::from_secs(2);
        tokio::time::timeout(limit, self.car.call(call, deadline)).await.expect("every call ends")
    }

    /// Why a call is not done, and whether the car is said to be as it was.
    pub async fn trouble(&self, call: &ToolCall) -> (Cause, bool, String) {
        match self.order(call).await {
            Answer::Trouble(trouble) => (trouble.cause, trouble.untouched, trouble.detail),
            other => panic!("{other:?}"),
        }
    }

    pub async fn read(&self, tool: &str) -> Json {
        match self.order(&call(tool, json!({}))).await {
            Answer::Done(payload) => payload.as_ref().clone(),
            other => panic!("{other:?}"),
        }
    }

    /// A clearance for a draft of these calls; reads that it needs are made.
    pub async fn cleared(&mut self, calls: Vec<ToolCall>) -> Cleared {
        for _ in 0..4 {
            match self.judge(calls.clone()) {
                Verdict::Clear { cleared } | Verdict::Amend { cleared } => return cleared,
                Verdict::Gather { reads } => {
                    self.carry(reads).await.unwrap();
                }
                other => panic!("{other:?}"),
            }
        }
        panic!("no verdict");
    }

    pub fn judge(&mut self, calls: Vec<ToolCall>) -> Verdict {
        self.judge_after(calls, Duration::ZERO)
    }

    /// The verdict that there will be after so long.
    pub fn judge_after(&mut self, calls: Vec<ToolCall>, passed: Duration) -> Verdict {
        self.history.set_clock(SystemClock.since_boot() + passed);
        // The driver asked for exactly this.
        let words: Vec<String> = calls.iter().map(|call| self.policy.call_words("en", call, &self.history)).collect();
        let words = format!("please set the {}", words.join(" and the "));
        if self.history.driver().last().is_none_or(|last| *last.text != *words) {
            self.history.heard(&words);
        }
        let step = Step {
            policy: &self.policy,
            limits: &HardLimits::default(),
            history: &self.history,
            advice: Advice::Remedies,
            binding: Binding { session: SessionId::from("1"), policy: self.policy.hash, epoch: self.car.epoch() },
            critic: None,
            valve: None,
        };
        let checked = step.check(&Draft::calls(calls));
        if matches!(checked.verdict, Verdict::Revise) {
            eprintln!("{:?}", checked.findings);
        }
        checked.verdict
    }

    pub async fn carry(&mut self, cleared: Cleared) -> Result<Executed, Stale> {
        self.carry_after(cleared, Duration::ZERO).await
    }

    /// Executes a clearance that was given so long ago.
    pub async fn carry_after(&mut self, cleared: Cleared, passed: Duration) -> Result<Executed, Stale> {
        let now = SystemClock.since_boot() + passed;
        let session = SessionId::from("1");
        let policy = self.policy.clone();
        let conditions = Conditions {
            session: &session,
            policy: &policy,
            limits: &HardLimits::default(),
            cleared_at: now,
            now,
            clock: &SystemClock,
            valid_for: Duration::from_secs(2),
        };
        carry_out(cleared, &conditions, self.car.as_ref(), &mut self.history).await
    }

    /// Verifies and executes one call.
    pub async fn run(&mut self, call: ToolCall) -> Executed {
        let cleared = self.cleared(vec![call]).await;
        self.carry(cleared).await.unwrap()
    }
}

pub fn is_done(executed: &Executed) -> bool {
    matches!(executed.outcome, Outcome::Done(_))
}

/// A broker of our own with a car on it.
pub async fn own() -> (Broker, Bench) {
    let broker = Broker::start();
    let bench = Bench::at(&broker.address()).await;
    (broker, bench)
}
