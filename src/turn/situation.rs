//! Where the car is and what time it is, looked at anew for every turn.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json};

use super::Session;
use crate::state::{Clock, Moment, Now, NowField, NowPaths};
use crate::vehicle::Vehicle;

/// What is given of place and time; the rest comes from the car and from the clock.
#[derive(Debug, Clone)]
pub struct Situation {
    /// `NAME = {json}` assignments, as a system message has them.
    given: String,
    /// When the given time began to run, as time since boot.
    since: Duration,
}

impl Situation {
    /// Place and time as a configuration or the state of a simulated car gives them, `NAME = {json}` one a
    /// line; may be empty. A time that is given runs on from here, a place that is given stays.
    pub fn given(text: &str, clock: &dyn Clock) -> Self {
        Self { given: text.to_owned(), since: clock.since_boot() }
    }

    /// The system message of this moment.
    fn text(&self, paths: &NowPaths, clock: &dyn Clock, vehicle: &dyn Vehicle) -> String {
        let mut given = Now::default();
        given.read(paths, &self.given);
        let moment = match given.moment() {
            Some(start) => start.after(clock.since_boot().saturating_sub(self.since)),
            None => Moment::local(clock),
        };
        let mut objects = Map::new();
        for (_, name, path) in paths.fields.iter().filter(|(field, ..)| *field == NowField::Location) {
            let found = match given.get(NowField::Location).is_known() {
                true => assigned(&self.given, name),
                false => vehicle.place().map(|place| nested(path, place)),
            };
            objects.extend(found.map(|object| (name.clone(), object)));
        }
        let others = self.given.lines().filter(|line| !paths.fields.iter().any(|(_, name, _)| names(line, name)));
        let others: String = others.map(|line| format!("{line}\n")).collect();
        Now::at(moment).message_with(paths, &objects) + &others
    }
}

/// What a line assigns to a name.
fn value<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    line.strip_prefix(name)?.trim_start().strip_prefix('=')
}

fn names(line: &str, name: &str) -> bool {
    value(line, name).is_some()
}

/// The object that a text assigns to a name.
fn assigned(text: &str, name: &str) -> Option<Json> {
    serde_json::from_str(text.lines().find_map(|line| value(line, name))?).ok()
}

/// A place whose identifier stands at a path.
fn nested(path: &str, place: Json) -> Json {
    match path.rsplit_once('.') {
        Some((outer, _)) => outer
            .rsplit('.')
            .fold(place, |inner, member| Json::Object([(member.to_owned(), inner)].into_iter().collect())),
        None => place,
    }
}

impl Session {
    /// Sets what is given of place and time. From here on each turn begins with a look at the rest.
    pub fn set_situation(&mut self, situation: Situation) {
        self.situation = Some(Arc::new(situation));
        self.look_around();
    }

    /// Takes in where the car is and what time it is.
    pub(super) fn look_around(&mut self) {
        let Some(situation) = self.situation.clone() else { return };
        let text = situation.text(&self.policy.model.now, self.clock.as_ref(), self.vehicle.as_ref());
        if text != self.history.system() {
            // What nobody knows any more is not what it was.
            self.history.set_now(Now::default());
            self.set_system(&text);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;
    use crate::model::{ToolCall, Value};
    use crate::state::ManualClock;
    use crate::vehicle::{Answer, Pending};

    /// A car that is where it was put.
    #[derive(Default)]
    struct Parked(Mutex<Option<Json>>);

    impl Vehicle for Parked {
        fn call<'a>(&'a self, _: &'a ToolCall, _: Duration) -> Pending<'a> {
            Box::pin(async { Answer::Failed("it is parked".to_owned()) })
        }

        fn place(&self) -> Option<Json> {
            self.0.lock().unwrap().clone()
        }

        fn epoch(&self) -> u64 {
            0
        }
    }

    fn paths() -> NowPaths {
        let time = |field: NowField| (field, "TIME".to_owned(), field.name().to_owned());
        let mut fields: Vec<_> = NowField::ALL.into_iter().filter(|f| *f != NowField::Location).map(time).collect();
        fields.push((NowField::Location, "PLACE".to_owned(), "here.id".to_owned()));
        NowPaths { fields }
    }

    fn read(text: &str) -> (Value, Value, Value) {
        let mut now = Now::default();
        now.read(&paths(), text);
        let get = |field| now.get(field).clone();
        (get(NowField::Location), get(NowField::Hour), get(NowField::Minute))
    }

    #[test]
    fn the_place_is_the_cars_and_changes_with_it() {
        let (car, clock) = (Parked::default(), ManualClock::default());
        let situation = Situation::given("", &clock);
        let here = || read(&situation.text(&paths(), &clock, &car)).0;
        assert_eq!(here(), Value::Unknown);
        for id in ["geo:48.14,11.58", "geo:48.15,11.58"] {
            *car.0.lock().unwrap() = Some(json!({"id": id, "latitude": 48.1}));
            assert_eq!(here(), Value::word(id));
        }
        let fixed = Situation::given(
            "PLACE = {\"here\":{\"id\":\"loc_1\",\"name\":\"Hallbach\"}}\nMOOD = {\"is\":1}\n",
            &clock,
        );
        let text = fixed.text(&paths(), &clock, &car);
        assert_eq!(read(&text).0, Value::word("loc_1"));
        assert!(text.contains("Hallbach") && text.contains("MOOD = "), "{text}");
        *car.0.lock().unwrap() = None;
        assert_eq!(here(), Value::Unknown, "what nobody knows any more is not what it was");
    }

    #[test]
    fn a_time_that_is_given_runs_on_and_an_unset_clock_is_unknown() {
        let (car, clock) = (Parked::default(), ManualClock::default());
        let text = "TIME = {\"year\":2026,\"month\":6,\"day\":15,\"hour\":23,\"minute\":40}";
        let situation = Situation::given(text, &clock);
        let time = |situation: &Situation| {
            let (_, hour, minute) = read(&situation.text(&paths(), &clock, &car));
            (hour, minute)
        };
        assert_eq!(time(&situation), (Value::Int(23), Value::Int(40)));
        clock.advance(Duration::from_secs(50 * 60));
        assert_eq!(time(&situation), (Value::Int(0), Value::Int(30)));
        // This clock says that 1970 has just begun.
        assert_eq!(time(&Situation::given("", &clock)), (Value::Unknown, Value::Unknown));
    }
}
