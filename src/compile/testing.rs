//! A greenhouse: the smallest set that has one of everything the compiler reads.

use super::{Compiled, SetSource, SourceFile, compile};

pub(crate) const PROSE: &str = "# Greenhouse\n\n- Vents close when the fan runs.\n";

pub(crate) const VEHICLE: &str = r#"id = "greenhouse"
[group]
airing = ["set_vent", "set_fan"]
nobody = []
[entity.Vent]
items = ["north", "south"]
read = "get_vents"
[entity.Vent.attributes]
opening = { field = "vent_*", type = "int" }
[entity.Car.attributes]
warmth = { field = "warmth", read = "get_air", type = "int", resolution = 10 }
fan = { field = "fan", read = "get_air", type = "bool" }
flow = { field = "flow", read = "get_air", type = "parts", parts = ["ROOF", "FLOOR"] }
log = { field = "log", read = "get_air", type = "list" }
[observation.forecast]
read = "get_forecast"
sky = { field = "sky", type = "word" }
[derived]
entries = { count = "Car.log" }
[tool.set_vent]
item = { argument = "vent", entity = "Vent", all = "ALL" }
sets = { "Vent.opening" = "opening" }
[tool.set_fan]
sets = [{ attribute = "Car.fan", argument = "on" }, { attribute = "Car.flow", argument = "flow" }]
[tool.set_warmth]
sets = { "Car.warmth" = "degrees" }
"#;

pub(crate) const TOOLS: &str = r#"{"tools": [
{"name": "get_vents", "annotations": {"readOnlyHint": true}, "inputSchema": {"type": "object"},
 "outputSchema": {"type": "object", "properties": {"vent_north": {"type": "integer"}, "vent_south": {"type": "integer"}}}},
{"name": "get_air", "annotations": {"readOnlyHint": true}, "inputSchema": {"type": "object"},
 "outputSchema": {"type": "object", "properties": {"warmth": {"type": "number"}, "fan": {"type": "boolean"},
  "flow": {"type": "string", "enum": ["ROOF", "FLOOR", "ROOF_FLOOR"]}, "log": {"type": "array"}}}},
{"name": "get_forecast", "annotations": {"readOnlyHint": true},
 "inputSchema": {"type": "object", "properties": {"day": {"type": "integer", "minimum": 1, "maximum": 31}}, "required": ["day"]}},
{"name": "set_vent", "annotations": {"readOnlyHint": false}, "inputSchema": {"type": "object", "properties": {
  "vent": {"type": "string", "enum": ["NORTH", "SOUTH", "ALL"]}, "opening": {"type": "integer", "minimum": 0, "maximum": 100}},
  "required": ["vent", "opening"]}},
{"name": "set_fan", "annotations": {"readOnlyHint": false}, "inputSchema": {"type": "object", "properties": {
  "on": {"type": "boolean"}, "flow": {"type": "string", "enum": ["ROOF", "FLOOR", "ROOF_FLOOR"]}}, "required": ["on"]}},
{"name": "set_warmth", "annotations": {"readOnlyHint": false}, "inputSchema": {"type": "object", "properties": {
  "degrees": {"type": "number", "multipleOf": 0.5}}, "required": ["degrees"]}},
{"name": "send_note", "annotations": {"readOnlyHint": false, "openWorldHint": true}, "inputSchema": {"type": "object", "properties": {
  "to": {"type": "array", "items": {"type": "string"}}, "text": {"type": "string"}, "urgent": {"type": "boolean"},
  "sizes": {"type": "array", "items": {"type": "number"}},
  "place": {"type": "object", "properties": {"row": {"type": "integer"}}}}, "required": ["to", "text"]}}
]}"#;

/// The greenhouse with another effect model and these rules.
pub(crate) fn set(vehicle: &str, rules: &str) -> SetSource {
    SetSource {
        prose: SourceFile::new("greenhouse/policy.md", PROSE),
        tools: SourceFile::new("greenhouse/tools.json", TOOLS),
        vehicle: SourceFile::new("greenhouse/vehicle.toml", vehicle),
        rules: SourceFile::new("greenhouse/rules.cedar", rules),
        tests: Vec::new(),
        folder: "greenhouse".into(),
    }
}

/// Compiles the greenhouse with these rules.
pub(crate) fn compiled(rules: &str) -> Compiled {
    compile(&set(VEHICLE, rules)).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Compiles the greenhouse with another effect model.
pub(crate) fn compiled_vehicle(vehicle: &str) -> Compiled {
    compile(&set(vehicle, "")).unwrap_or_else(|errors| panic!("{errors}"))
}

/// All errors of these rules, one a line.
pub(crate) fn rule_errors(rules: &str) -> String {
    compile(&set(VEHICLE, rules)).err().map(|errors| errors.to_string()).unwrap_or_default()
}

/// All errors of an effect model, one a line.
pub(crate) fn vehicle_errors(vehicle: &str) -> String {
    compile(&set(vehicle, "")).err().map(|errors| errors.to_string()).unwrap_or_default()
}

/// The effect model with one line exchanged.
pub(crate) fn exchange(line: &str, with: &str) -> String {
    assert_eq!(VEHICLE.matches(line).count(), 1, "`{line}` stands once in the effect model");
    VEHICLE.replace(line, with)
}

/// A rule of kind prohibition about a call of one tool.
pub(crate) fn prohibition(tool: &str, entity: &str, when: &str) -> String {
    format!(
        "@id(\"r\") @source(\"policy.md:3\") @kind(\"prohibition\")\nforbid (principal, action == Action::\"{tool}\", resource is {entity})\nwhen {{ {when} }};"
    )
}
