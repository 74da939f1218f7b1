//! An invented domain for tests: a kitchen with an oven, a hood and a dishwasher.
//!
//! Gates and consent are tried on it, so that nothing in them can know a car.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{Phrases, Policy, PolicyParts};
use crate::model::{Arguments, Draft, Limits, Message, PolicyHash, RequestedCall, Resolution, Role, ToolCall};
use crate::state::{
    AttrIx, AttrType, Attribute, CellIx, EffectModel, Entity, EntityIx, History, ItemArgument, ItemRef, Leg, LegFact,
    LegFn, Set, SetFrom, Stop, ToolEffect, Tour,
};
use crate::tools::{Inventory, Kind, Tool, import};

const TOOLS: &str = r#"[
 {"name":"get_oven_state","inputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":true}},
 {"name":"get_door_positions","inputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":true}},
 {"name":"get_hood_state","inputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":true}},
 {"name":"get_habits","inputSchema":{"type":"object","properties":{"topic":{"type":"string","enum":["baking","washing"]}}},
  "annotations":{"readOnlyHint":true}},
 {"name":"search_recipes","inputSchema":{"type":"object","required":["dish"],"properties":{"dish":{"type":"string","enum":["bread_rolls_1","cakes"]},
  "filters":{"type":"array","items":{"type":"string","enum":["any::currently_in_season","cakes::vegan"]}}}},"annotations":{"readOnlyHint":true}},
 {"name":"switch_oven","inputSchema":{"type":"object","required":["on"],"properties":{"on":{"type":"boolean"}}}},
 {"name":"set_oven_temperature","inputSchema":{"type":"object","required":["degrees"],
  "properties":{"degrees":{"type":"number","minimum":50,"maximum":250,"multipleOf":5}}}},
 {"name":"move_door","inputSchema":{"type":"object","required":["door","percentage"],"properties":{
  "door":{"type":"string","enum":["ALL","OVEN","DISHWASHER"]},"percentage":{"type":"number","minimum":0,"maximum":100,"multipleOf":1}}}},
 {"name":"set_hood_speed","inputSchema":{"type":"object","required":["level"],"properties":{"level":{"type":"number","minimum":0,"maximum":4}}}},
 {"name":"start_dishwasher","inputSchema":{"type":"object","required":["program"],"properties":{
  "program":{"type":"string","enum":["ECO","QUICK_WASH"]},"delay_minutes":{"type":"number"}}}},
 {"name":"load_recipe","inputSchema":{"type":"object","required":["recipe_id"],"properties":{"recipe_id":{"type":"string"},
  "step_ids":{"type":"array","items":{"type":"string"}}}}},
 {"name":"send_list","inputSchema":{"type":"object","required":["text","addresses"],"properties":{"text":{"type":"string"},
  "addresses":{"type":"array","items":{"type":"string"},"description":"Mail addresses or phone numbers."}}}},
 {"name":"get_tour","inputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":true}},
 {"name":"search_paths","inputSchema":{"type":"object","required":["from_id","to_id"],"properties":{"from_id":{"type":"string"},
  "to_id":{"type":"string"},"hour":{"type":"integer"}}},"annotations":{"readOnlyHint":true}},
 {"name":"find_guest","inputSchema":{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}},"annotations":{"readOnlyHint":true}},
 {"name":"start_tour","inputSchema":{"type":"object","required":["path_ids"],"properties":{"path_ids":{"type":"array","items":{"type":"string"}}}}},
 {"name":"swap_table","inputSchema":{"type":"object","required":["table_id","new_table_id","path_id_to","path_id_from"],"properties":{
  "table_id":{"type":"string"},"new_table_id":{"type":"string"},"path_id_to":{"type":"string"},"path_id_from":{"type":"string"}}}},
 {"name":"skip_table","inputSchema":{"type":"object","required":["table_id","path_id"],"properties":{
  "table_id":{"type":"string"},"path_id":{"type":"string"}}}},
 {"name":"set_shelf_light","inputSchema":{"type":"object","required":["on","colour"],"properties":{"on":{"type":"boolean"},
  "colour":{"type":"string","enum":["WARM_WHITE","COLD_BLUE"]}}}},
 {"name":"set_stove_light","inputSchema":{"type":"object","required":["on"],"properties":{"on":{"type":"boolean"}}}},
 {"name":"keep_plan","inputSchema":{"type":"object","properties":{"plan_id":{"type":"string"},"steps":{"type":"array","items":{"type":"string"}}}}}
]"#;

/// The kitchen's policy, without rules.
pub(crate) fn kitchen() -> Policy {
    Policy::new(parts(), PolicyHash([7; 32])).unwrap()
}

/// What the kitchen's policy is made of, for tests that change it.
pub(crate) fn parts() -> PolicyParts {
    let mut tools: Vec<Tool> = import(TOOLS).unwrap().iter().map(|t| Tool::from_import(t).unwrap()).collect();
    for tool in &mut tools {
        match tool.name.as_str() {
            "start_dishwasher" => tool.needs_consent = true,
            "send_list" => (tool.needs_consent, tool.outward, tool.irreversible) = (true, true, true),
            "keep_plan" => tool.kind = Kind::Planning,
            _ => {}
        }
    }
    let phrases = [include_str!("../gates/phrases/en.toml"), include_str!("../gates/phrases/de.toml")];
    PolicyParts {
        id: "kitchen".into(),
        model: model(&tools.clone().into()),
        inventory: tools,
        phrases: phrases.iter().map(|t| Phrases::parse(t).unwrap()).collect(),
        ..PolicyParts::default()
    }
}

fn names(en: &[&str], de: &[&str]) -> BTreeMap<String, Vec<String>> {
    let list = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
    [("en".to_owned(), list(en)), ("de".to_owned(), list(de))].into()
}

fn model(inventory: &Inventory) -> EffectModel {
    let tool = |name: &str| inventory.position(name).unwrap();
    let attribute = |entity, name: &str, kind, field: &str, read: &str, base| Attribute {
        entity: EntityIx(entity),
        name: name.into(),
        kind,
        resolution: Resolution::ONE,
        unit: String::new(),
        field: field.into(),
        read: Some(tool(read)),
        also: vec![],
        base: CellIx(base),
    };
    let mut model = EffectModel {
        entities: vec![
            Entity { name: "Car".into(), items: vec![String::new()], names: BTreeMap::new() },
            Entity {
                name: "Door".into(),
                items: vec!["oven".into(), "dishwasher".into()],
                names: names(&["door"], &["Tür", "Türen"]),
            },
        ],
        attributes: vec![
            attribute(0, "oven_on", AttrType::Bool, "oven_on", "get_oven_state", 0),
            attribute(0, "degrees", AttrType::Int, "oven_degrees", "get_oven_state", 1),
            attribute(0, "hood", AttrType::Int, "hood_level", "get_hood_state", 2),
            attribute(1, "position", AttrType::Int, "door_*_position", "get_door_positions", 3),
            attribute(0, "tables", AttrType::List, "table_ids", "get_tour", 5),
            attribute(0, "shelf_light", AttrType::Bool, "shelf_light", "get_hood_state", 6),
            attribute(0, "stove_light", AttrType::Bool, "stove_light", "get_hood_state", 7),
            attribute(0, "colour", AttrType::Word, "shelf_colour", "get_hood_state", 8),
        ],
        cells: 9,
        ..EffectModel::default()
    };
    model.roles.preferences = Some(tool("get_habits"));
    model.roles.planner = Some(tool("keep_plan"));
    model.result.success = Some(("status".into(), "OK".into()));
    model.result.payload = Some("result".into());
    model.result.errors = vec!["Error:".into()];
    model.tour = Some(Tour {
        stops: AttrIx(4),
        id: "path_id".into(),
        from: "from_id".into(),
        to: "to_id".into(),
        told: vec!["street".into()],
        facts: vec![
            LegFact { name: "dear".into(), function: LegFn::Any { field: "dear".into() } },
            LegFact {
                name: "lacks_fastest".into(),
                function: LegFn::Lacks { field: "alias".into(), word: "fastest".into() },
            },
        ],
    });
    let habits = inventory.get("get_habits").unwrap().topics();
    let habit = |topic: &str| habits.iter().find(|t| t.name() == topic).cloned();
    let leg = |argument: &str, from, to| Leg { argument: argument.into(), from, to };
    let before = |argument: &str| Some(Stop::Before(argument.into()));
    let after = |argument: &str| Some(Stop::After(argument.into()));
    let own = |argument: &str| Some(Stop::Argument(argument.into()));
    let argument = |name: &str| SetFrom::Argument { name: name.into(), map: vec![] };
    let set = |attribute, name: &str| Set { attribute: AttrIx(attribute), from: argument(name), when: vec![] };
    model.tools = inventory
        .iter()
        .map(|t| {
            let mut effect = ToolEffect::default();
            match t.name.as_str() {
                "switch_oven" => {
                    effect.sets = vec![set(0, "on")];
                    effect.nouns = names(&["oven"], &["Ofen", "Backofen"]);
                    effect.verbs = names(&["turn on", "turn off"], &["einschalten", "ausschalten"]);
                }
                "set_oven_temperature" => {
                    effect.sets = vec![set(1, "degrees")];
                    effect.preference = habit("baking");
                    effect.nouns = names(&["temperature", "oven temperature"], &["Temperatur"]);
                }
                "move_door" => {
                    effect.sets = vec![set(3, "percentage")];
                    effect.preference = habit("washing");
                    let words = vec![
                        ("ALL".to_owned(), ItemRef::All),
                        ("OVEN".to_owned(), ItemRef::One(0)),
                        ("DISHWASHER".to_owned(), ItemRef::One(1)),
                    ];
                    effect.item = Some(ItemArgument { argument: "door".into(), entity: EntityIx(1), words });
                }
                "set_hood_speed" => {
                    effect.sets = vec![set(2, "level")];
                    effect.preference = habit("baking");
                    effect.nouns = names(&["hood", "hood speed"], &["Abzug", "Dunstabzug"]);
                }
                "start_dishwasher" => {
                    effect.nouns = names(&["dishwasher", "washing"], &["Spülmaschine"]);
                    effect.verbs = names(&["start", "run"], &["starten"]);
                }
                "send_list" => {
                    effect.nouns = names(&["shopping list"], &["Einkaufsliste"]);
                    effect.verbs = names(&["send"], &["schicken", "senden"]);
                }
                "start_tour" => {
                    effect.touches = vec![AttrIx(4)];
                    effect.preference = habit("washing");
                    effect.tour.legs = vec![leg("path_ids", Some(Stop::Here), None)];
                    effect.nouns = names(&["tour", "round"], &["Runde"]);
                    effect.verbs = names(&["start", "serve"], &["starten"]);
                }
                "swap_table" => {
                    effect.touches = vec![AttrIx(4)];
                    effect.tour.legs = vec![
                        leg("path_id_to", before("table_id"), own("new_table_id")),
                        leg("path_id_from", own("new_table_id"), after("table_id")),
                    ];
                    effect.tour.present = vec!["table_id".into()];
                    effect.nouns = names(&["table"], &["Tisch"]);
                    effect.verbs = names(&["swap", "replace"], &["tauschen"]);
                }
                "skip_table" => {
                    effect.touches = vec![AttrIx(4)];
                    effect.preference = habit("washing");
                    effect.tour.legs = vec![leg("path_id", before("table_id"), after("table_id"))];
                    effect.tour.present = vec!["table_id".into()];
                    effect.nouns = names(&["table"], &["Tisch"]);
                    effect.verbs = names(&["skip"], &["auslassen"]);
                }
                "set_shelf_light" => {
                    effect.sets = vec![set(5, "on"), set(7, "colour")];
                    effect.preference = habit("baking");
                    effect.nouns = names(&["shelf light"], &["Regallicht"]);
                }
                "set_stove_light" => {
                    effect.sets = vec![set(6, "on")];
                    effect.nouns = names(&["stove light"], &["Herdlicht"]);
                }
                _ => {}
            }
            effect
        })
        .collect();
    model
}

/// A call with its arguments.
pub(crate) fn call(tool: &str, arguments: Json) -> ToolCall {
    let Json::Object(arguments): Json = arguments else { panic!("arguments are an object") };
    ToolCall::new(tool, Arguments::from(arguments))
}

/// A draft of calls.
pub(crate) fn calls(calls: &[(&str, Json)]) -> Draft {
    Draft::calls(calls.iter().map(|(tool, arguments)| call(tool, arguments.clone())).collect())
}

/// A conversation in the making.
pub(crate) struct Talk<'a> {
    policy: &'a Policy,
    history: History,
}

impl<'a> Talk<'a> {
    /// Nothing said yet.
    pub(crate) fn new(policy: &'a Policy) -> Self {
        Self { policy, history: History::new(&policy.model) }
    }

    /// What the driver says.
    pub(crate) fn driver(self, text: &str) -> Self {
        self.message(Role::User, text)
    }

    /// What the assistant says.
    pub(crate) fn assistant(self, text: &str) -> Self {
        self.message(Role::Assistant, text)
    }

    /// A call that succeeds with this result.
    pub(crate) fn done(self, tool: &str, arguments: Json, result: Json) -> Self {
        self.made(tool, arguments, &json!({"status": "OK", "result": result}).to_string())
    }

    /// A call that fails.
    pub(crate) fn failed(self, tool: &str, arguments: Json) -> Self {
        self.made(tool, arguments, "Error: it is stuck")
    }

    /// What is known after all that.
    pub(crate) fn history(self) -> History {
        self.history
    }

    fn made(self, tool: &str, arguments: Json, result: &str) -> Self {
        let id = format!("call_{}", self.history.calls().len());
        let requested = RequestedCall { id: id.clone(), tool: tool.into(), arguments: arguments.to_string() };
        let message = Message { role: Role::Assistant, content: None, tool_calls: vec![requested], tool_call_id: None };
        let answer =
            Message { role: Role::Tool, content: Some(result.into()), tool_calls: vec![], tool_call_id: Some(id) };
        self.push(&message).push(&answer)
    }

    fn message(self, role: Role, text: &str) -> Self {
        self.push(&Message { role, content: Some(text.into()), tool_calls: vec![], tool_call_id: None })
    }

    fn push(mut self, message: &Message) -> Self {
        let (model, inventory) = (&self.policy.model, &self.policy.inventory);
        self.history.push(model, inventory, message, &Limits::default()).unwrap();
        self
    }
}
