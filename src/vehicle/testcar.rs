//! A small car for the tests of this module and of `execute`: two windows, a trunk, a tour.

use std::sync::Arc;

use serde_json::Value as Json;

use super::{Scenario, Sim};
use crate::model::{Resolution, ToolCall};
use crate::state::{
    Also, AttrIx, AttrType, Attribute, CellIx, Clock, EffectModel, Entity, EntityIx, ItemArgument, ItemRef,
    ManualClock, Set, SetFrom, ToolEffect,
};
use crate::tools::{Inventory, Kind, Tool, ToolIx, import};

/// The tools, in the order of the inventory.
const TOOLS: &str = r#"[
    {"name": "read_windows", "annotations": {"readOnlyHint": true}, "inputSchema": {"type": "object", "properties": {}}},
    {"name": "move_window", "inputSchema": {"type": "object", "required": ["window", "percentage"], "properties": {
        "window": {"type": "string", "enum": ["DRIVER", "PASSENGER", "ALL"]}, "percentage": {"type": "integer"}}}},
    {"name": "read_trunk", "annotations": {"readOnlyHint": true}, "inputSchema": {"type": "object", "properties": {}}},
    {"name": "move_trunk", "inputSchema": {"type": "object", "properties": {"action": {"type": "string"}}}},
    {"name": "read_motion", "annotations": {"readOnlyHint": true}, "inputSchema": {"type": "object", "properties": {}}},
    {"name": "read_tour", "annotations": {"readOnlyHint": true}, "inputSchema": {"type": "object", "properties": {}}},
    {"name": "add_stop", "inputSchema": {"type": "object", "properties": {"stop": {"type": "string"}, "before": {"type": "string"}}}},
    {"name": "send_note", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
    {"name": "guess", "inputSchema": {"type": "object", "properties": {}}}
]"#;

/// The state the car starts in.
pub(crate) const STATE: &str = r#"
    [read_windows]
    window_driver_position = 25
    window_passenger_position = 100
    [read_trunk]
    trunk = "closed"
    [read_motion]
    speed_kph = 50
    [read_tour]
    stops = ["home", "work"]
    [[edit]]
    tool = "add_stop"
    list = "read_tour.stops"
    at = { argument = "before" }
    insert = ["stop"]
    [[invariant]]
    name = "trunk closed above walking pace"
    never = { "read_trunk.trunk" = "open", "read_motion.speed_kph" = { above = 6 } }
"#;

pub(crate) fn inventory() -> Inventory {
    let imported = import(TOOLS).unwrap();
    let mut tools: Vec<Tool> = imported.iter().map(|t| Tool::from_import(t).unwrap()).collect();
    tools[8].kind = Kind::Compute;
    tools.into()
}

/// What the tools read and write; the cells are speed, trunk, stops, then the two windows.
pub(crate) fn model() -> EffectModel {
    let inventory = inventory();
    let ix = |name: &str| inventory.position(name).unwrap();
    let entity = |name: &str, items: &[&str]| Entity {
        name: name.to_owned(),
        items: items.iter().map(|i| (*i).to_owned()).collect(),
        names: Default::default(),
    };
    let attribute = |entity, name: &str, kind, field: &str, read: &str, base| Attribute {
        entity: EntityIx(entity),
        name: name.to_owned(),
        kind,
        resolution: Resolution::ONE,
        unit: String::new(),
        field: field.to_owned(),
        read: Some(ix(read)),
        also: Vec::new(),
        base: CellIx(base),
    };
    let from = |name: &str, map: &[(&str, &str)]| SetFrom::Argument {
        name: name.to_owned(),
        map: map.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
    };
    let set = |attribute, from| vec![Set { attribute: AttrIx(attribute), from, when: Vec::new() }];
    let mut stops = attribute(0, "stops", AttrType::List, "stops", "read_tour", 2);
    stops.also = vec![Also { tool: ix("add_stop"), field: "stop_ids".to_owned() }];
    let words = [("DRIVER", ItemRef::One(0)), ("PASSENGER", ItemRef::One(1)), ("ALL", ItemRef::All)];
    let mut tools = vec![ToolEffect { deadline_ms: 50, ..ToolEffect::default() }; inventory.len()];
    let mut effect = |tool: ToolIx, item, sets, touches| {
        tools[usize::from(tool.0)] = ToolEffect { item, sets, touches, deadline_ms: 50, ..ToolEffect::default() };
    };
    let window = ItemArgument {
        argument: "window".to_owned(),
        entity: EntityIx(1),
        words: words.iter().map(|(w, r)| ((*w).to_owned(), *r)).collect(),
    };
    effect(ix("move_window"), Some(window), set(3, from("percentage", &[])), Vec::new());
    effect(ix("move_trunk"), None, set(1, from("action", &[("OPEN", "open"), ("CLOSE", "closed")])), Vec::new());
    effect(ix("add_stop"), None, Vec::new(), vec![AttrIx(2)]);
    EffectModel {
        entities: vec![entity("Car", &[""]), entity("Window", &["driver", "passenger"])],
        attributes: vec![
            attribute(0, "speed", AttrType::Int, "speed_kph", "read_motion", 0),
            attribute(0, "trunk", AttrType::Word, "trunk", "read_trunk", 1),
            stops,
            attribute(1, "position", AttrType::Int, "window_*_position", "read_windows", 3),
        ],
        tools,
        cells: 5,
        ..EffectModel::default()
    }
}

/// The car in a state, with a clock that stands still until it is moved.
pub(crate) fn sim(state: &str) -> (Sim, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    let scenario = Scenario::parse(state, &inventory(), &model()).unwrap();
    (Sim::new(inventory(), model(), scenario, clock.clone() as Arc<dyn Clock>), clock)
}

/// A call from its name and JSON arguments.
pub(crate) fn call(tool: &str, arguments: Json) -> ToolCall {
    let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
    ToolCall { id: tool.into(), ..ToolCall::new(tool, arguments) }
}
