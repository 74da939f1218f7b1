//! Tool inventories: of a student, and of a provider that registers.

use obligato::model::ToolCall;
use obligato::tools::{Inventory, Removed, Tool, covers, import};
use serde_json::{Value as Json, json};

pub(super) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(imported) = import(text) else { return };
    let arguments =
        [json!({}), json!({"a": 1, "b": "x", "percentage": 50}), json!({"window": ["DRIVER", null, 1e300]})];
    for pair in imported.windows(2) {
        if let [wide, narrow] = pair {
            let _ = covers(&wide.parameters, &narrow.parameters);
        }
    }
    let tools: Vec<Tool> = imported.iter().filter_map(|tool| Tool::from_import(tool).ok()).collect();
    let inventory = Inventory::from(tools);
    for tool in inventory.iter() {
        let schema: Json = serde_json::from_str(&tool.schema).expect("a schema that was taken is JSON");
        let _ = covers(&schema, &schema);
        for arguments in &arguments {
            let Json::Object(members) = arguments else { continue };
            let call = ToolCall::new(tool.name.as_str(), members.clone().into_iter().collect());
            let _ = inventory.check(&call, &Removed::default());
            let _ = tool.repaired(&call);
            let _ = tool.check_result(arguments);
        }
        let _ = tool.topics();
    }
}
