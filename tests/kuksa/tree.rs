//! The part of VSS 6.0 that the cabin maps, as the broker lists it.

use crate::proto::value::TypedValue;
use crate::proto::{DataType, EntryType, Metadata, StringArray, Value};

pub fn value(typed: TypedValue) -> Value {
    Value { typed_value: Some(typed) }
}

pub fn uint(n: u32) -> Value {
    value(TypedValue::Uint32(n))
}

pub fn int(n: i32) -> Value {
    value(TypedValue::Int32(n))
}

pub fn float(n: f32) -> Value {
    value(TypedValue::Float(n))
}

pub fn double(n: f64) -> Value {
    value(TypedValue::Double(n))
}

pub fn switch(on: bool) -> Value {
    value(TypedValue::Bool(on))
}

pub fn text(word: &str) -> Value {
    value(TypedValue::String(word.to_owned()))
}

fn entry(path: &str, data: DataType, entry: EntryType) -> Metadata {
    Metadata {
        path: format!("Vehicle.{path}"),
        data_type: data.into(),
        entry_type: entry.into(),
        unit: unit(path).to_owned(),
        ..Metadata::default()
    }
}

/// The unit that the specification gives a signal.
fn unit(path: &str) -> &'static str {
    let ends = |names: &[&str]| names.iter().any(|name| path.ends_with(name));
    match path {
        "Cabin.DriverPosition" => "",
        "Speed" => "km/h",
        "Powertrain.TractionBattery.Range" => "m",
        _ if ends(&["Latitude", "Longitude"]) => "degrees",
        _ if ends(&["Temperature"]) => "Celsius",
        _ if ends(&["Position", "FanSpeed", "HeatingCooling", "ChargeLimit", "Displayed"]) => "percent",
        _ => "",
    }
}

fn bounded(path: &str, data: DataType, kind: EntryType, least: Value, most: Value) -> Metadata {
    Metadata { min: Some(least), max: Some(most), ..entry(path, data, kind) }
}

fn words(path: &str, kind: EntryType, words: &[&str]) -> Metadata {
    let values = words.iter().map(|w| (*w).to_owned()).collect();
    let allowed_values = Some(value(TypedValue::StringArray(StringArray { values })));
    Metadata { allowed_values, ..entry(path, DataType::String, kind) }
}

/// The tree; identifiers are given by the broker.
pub fn vss() -> Vec<Metadata> {
    use DataType::{Boolean, Double, Float, Int8, String as Text, Uint8, Uint32};
    use EntryType::{Actuator, Attribute, Sensor};
    let percent = |path: &str| bounded(path, Uint8, Actuator, uint(0), uint(100));
    let around = |path: &str, kind| bounded(path, Int8, kind, int(-100), int(100));
    let on = |path: &str| entry(path, Boolean, Actuator);
    let mut tree = vec![
        words("Cabin.DriverPosition", Attribute, &["LEFT", "MIDDLE", "RIGHT"]),
        around("Cabin.Sunroof.Position", Sensor),
        percent("Cabin.Sunroof.Shade.Position"),
        on("Body.Trunk.Rear.IsOpen"),
        on("Cabin.HVAC.IsAirConditioningActive"),
        on("Cabin.HVAC.IsRecirculationActive"),
        on("Cabin.HVAC.IsFrontDefrosterActive"),
        on("Cabin.HVAC.IsRearDefrosterActive"),
        around("Chassis.SteeringWheel.HeatingCooling", Actuator),
        on("Cabin.Light.IsDomeOn"),
        on("Body.Lights.Beam.Low.IsOn"),
        on("Body.Lights.Beam.High.IsOn"),
        on("Body.Lights.Fog.Front.IsOn"),
        on("Body.Lights.Fog.Rear.IsOn"),
        entry("Speed", Float, Sensor),
        bounded("Powertrain.TractionBattery.StateOfCharge.Displayed", Float, Sensor, float(0.0), float(100.0)),
        entry("Powertrain.TractionBattery.Range", Uint32, Sensor),
        entry("Powertrain.Transmission.SelectedGear", Int8, Actuator),
        on("Powertrain.TractionBattery.Charging.ChargingPort.AnyPosition.IsFlapOpen"),
        entry("Powertrain.TractionBattery.Charging.ChargingPort.AnyPosition.IsChargingCableConnected", Boolean, Sensor),
        percent("Powertrain.TractionBattery.Charging.ChargeLimit"),
        entry("Powertrain.TractionBattery.Charging.IsCharging", Boolean, Sensor),
        on("Cabin.IsWindowChildLockEngaged"),
        bounded("CurrentLocation.Latitude", Double, Sensor, double(-90.0), double(90.0)),
        bounded("CurrentLocation.Longitude", Double, Sensor, double(-180.0), double(180.0)),
    ];
    for row in ["Row1", "Row2"] {
        for (side, seat) in [("DriverSide", "Driver"), ("PassengerSide", "Passenger")] {
            tree.extend([
                percent(&format!("Cabin.Door.{row}.{side}.Window.Position")),
                entry(&format!("Cabin.Door.{row}.{side}.IsChildLockActive"), Boolean, Sensor),
                entry(&format!("Cabin.HVAC.Station.{row}.{seat}.Temperature"), Float, Actuator),
                percent(&format!("Cabin.HVAC.Station.{row}.{seat}.FanSpeed")),
                words(&format!("Cabin.HVAC.Station.{row}.{seat}.AirDistribution"), Actuator, &["UP", "MIDDLE", "DOWN"]),
                around(&format!("Cabin.Seat.{row}.{side}.HeatingCooling"), Actuator),
                words(&format!("Cabin.Seat.{row}.{side}.OccupancyStatus"), Sensor, &["UNKNOWN", "OCCUPIED", "EMPTY"]),
                on(&format!("Cabin.Light.Spotlight.{row}.{side}.IsLightOn")),
                on(&format!("Cabin.Light.AmbientLight.{row}.{side}.IsLightOn")),
                entry(&format!("Cabin.Light.AmbientLight.{row}.{side}.Color"), Text, Actuator),
            ]);
        }
    }
    tree
}
