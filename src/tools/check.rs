//! Full JSON-Schema check of one call, with the faults a person and a student can act on.

use serde_json::Value as Json;

use super::{Inventory, ParamType, Removed, Tool, Why};
use crate::model::{ToolCall, canonical};

/// One thing wrong with a call's arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentFault {
    /// What kind of fault.
    pub kind: FaultKind,
    /// The parameter, as a dotted path; empty for the call itself.
    pub parameter: String,
    /// One sentence: what is wrong and what would be right.
    pub because: String,
}

/// Kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// No tool has this name.
    UnknownTool,
    /// The tool exists in this car line but not here and now.
    RemovedTool,
    /// The tool has no such parameter.
    UnknownParameter,
    /// The parameter exists in this car line but not here and now.
    RemovedParameter,
    /// A required parameter is missing.
    Missing,
    /// A value is not a member of its enumeration.
    NotAMember,
    /// A value breaks another clause of the schema.
    Value,
}

impl Inventory {
    /// Checks a call against the full JSON Schema of its tool and against what is removed.
    /// An empty list means that the call may be made as far as schemas can tell.
    pub fn check(&self, call: &ToolCall, removed: &Removed) -> Vec<ArgumentFault> {
        let Some(tool) = self.get(call.tool.as_str()) else {
            return vec![ArgumentFault {
                kind: FaultKind::UnknownTool,
                parameter: String::new(),
                because: format!("there is no tool `{}`", call.tool),
            }];
        };
        if removed.tool(call.tool.as_str()) {
            return vec![ArgumentFault {
                kind: FaultKind::RemovedTool,
                parameter: String::new(),
                because: format!("the tool `{}` is not available in this car", call.tool),
            }];
        }
        let mut faults = Vec::new();
        named(tool, call, removed, &mut faults);
        schema(tool, call, &mut faults);
        faults
    }
}

/// Unknown and removed parameters: schemas seldom say `additionalProperties: false`, yet a name the
/// tool does not have is always a mistake.
fn named(tool: &Tool, call: &ToolCall, removed: &Removed, faults: &mut Vec<ArgumentFault>) {
    for name in call.arguments.keys() {
        if removed.parameter(tool.name.as_str(), name) {
            faults.push(ArgumentFault {
                kind: FaultKind::RemovedParameter,
                parameter: name.clone(),
                because: format!("`{}` has no parameter `{name}` in this car", tool.name),
            });
        } else if tool.param(name).is_none() {
            let names: Vec<&str> = tool.params.iter().map(|p| p.name.as_str()).collect();
            let options =
                if names.is_empty() { "it takes none".to_owned() } else { format!("it takes {}", names.join(", ")) };
            faults.push(ArgumentFault {
                kind: FaultKind::UnknownParameter,
                parameter: name.clone(),
                because: format!("`{}` has no parameter `{name}`; {options}", tool.name),
            });
        }
    }
    for nested in removed.parameters(tool.name.as_str()).filter(|path| path.contains('.')) {
        let pointer = format!("/{}", nested.replace('.', "/"));
        if call.arguments.as_json().pointer(&pointer).is_some() {
            faults.push(ArgumentFault {
                kind: FaultKind::RemovedParameter,
                parameter: nested.to_owned(),
                because: format!("`{}` has no parameter `{nested}` in this car", tool.name),
            });
        }
    }
    for param in tool.params.iter().filter(|p| p.required && !call.arguments.contains_key(&p.name)) {
        // A removed parameter cannot be given; asking for it would only loop.
        if !removed.parameter(tool.name.as_str(), &param.name) {
            faults.push(ArgumentFault {
                kind: FaultKind::Missing,
                parameter: param.name.clone(),
                because: format!("`{}` needs `{}`", tool.name, param.name),
            });
        }
    }
}

fn schema(tool: &Tool, call: &ToolCall, faults: &mut Vec<ArgumentFault>) {
    let Some(validator) = tool.validator() else {
        faults.push(ArgumentFault {
            kind: FaultKind::Value,
            parameter: String::new(),
            because: format!("the schema of `{}` cannot be read, so no call of it can be checked", tool.name),
        });
        return;
    };
    let arguments = call.arguments.as_json();
    if validator.accepts(arguments) {
        return;
    }
    let mut unexplained = false;
    for violation in validator.violations(arguments) {
        if violation.path.is_empty() {
            // Missing and unknown names are dealt with above, by name; a name that is removed here is
            // rightly missing.
            unexplained |= violation.why == Why::Clause;
            continue;
        }
        let said = violation.sentence();
        let path = violation.path;
        if faults.iter().any(|f| f.parameter == path) {
            continue;
        }
        let given = canonical(violation.found);
        let members =
            tool.param(path.split('.').next().unwrap_or(&path)).map(|p| p.members().to_vec()).unwrap_or_default();
        let (kind, wanted) = if members.is_empty() {
            (FaultKind::Value, said)
        } else {
            (FaultKind::NotAMember, format!("it must be one of {}", members.join(", ")))
        };
        faults.push(ArgumentFault {
            kind,
            because: format!("`{}` of `{}` cannot be {given}: {wanted}", path, tool.name),
            parameter: path,
        });
    }
    if unexplained && faults.is_empty() {
        // A clause on the object as a whole (dependencies, anyOf): nothing above names it.
        faults.push(ArgumentFault {
            kind: FaultKind::Value,
            parameter: String::new(),
            because: format!("the arguments of `{}` break its schema", tool.name),
        });
    }
}

impl Tool {
    /// Checks a result against the schema that the tool declares for it; without one every object is
    /// taken.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn check_result(&self, result: &Json) -> Result<(), String> {
        if !result.is_object() {
            return Err("it is no JSON object".to_owned());
        }
        let Some(validator) = self.result_validator() else {
            return match self.output {
                None => Ok(()),
                Some(_) => Err("the schema of the result cannot be read".to_owned()),
            };
        };
        match validator.violations(result).first() {
            None => Ok(()),
            Some(violation) => {
                let path = &violation.path;
                let place = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
                Err(format!("{place}{}", violation.about(&"the value")))
            }
        }
    }

    /// Repairs that change only the spelling of an enumeration's member (`"driver"` for `DRIVER`):
    /// the meaning is certain, so no model needs to be asked again.
    pub fn repaired(&self, call: &ToolCall) -> Option<ToolCall> {
        let mut repaired: Option<ToolCall> = None;
        for param in &self.params {
            let ParamType::Enum(members) = &param.kind else { continue };
            let Some(Json::String(word)) = call.arguments.get(&param.name) else { continue };
            if members.contains(word) {
                continue;
            }
            let plain = spelling(word);
            let mut candidates = members.iter().filter(|m| spelling(m) == plain);
            let (Some(member), None) = (candidates.next(), candidates.next()) else { continue };
            let better = repaired.get_or_insert_with(|| call.clone());
            better.arguments.insert(param.name.clone(), Json::String(member.clone()));
        }
        repaired
    }
}

fn spelling(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::import;
    use serde_json::json;

    fn inventory() -> Inventory {
        let text = r#"[{"name":"move_window","inputSchema":{"type":"object","required":["window","percentage"],"properties":{
            "window":{"type":"string","enum":["ALL","DRIVER"]},
            "percentage":{"type":"number","minimum":0,"maximum":100,"multipleOf":1}}}}]"#;
        import(text).unwrap().iter().map(|t| Tool::from_import(t).unwrap()).collect::<Vec<_>>().into()
    }

    fn faults(arguments: Json) -> Vec<FaultKind> {
        let Json::Object(arguments) = arguments else { panic!("an object") };
        inventory()
            .check(&ToolCall::new("move_window", arguments), &Removed::default())
            .iter()
            .map(|f| f.kind)
            .collect()
    }

    #[test]
    fn checks_types_bounds_steps_and_members() {
        assert_eq!(faults(json!({"window": "DRIVER", "percentage": 50})), []);
        assert_eq!(faults(json!({"window": "DRIVER", "percentage": 50.0})), []);
        assert_eq!(faults(json!({"window": "DRIVER", "percentage": "fifty"})), [FaultKind::Value]);
        assert_eq!(faults(json!({"window": "DRIVER", "percentage": 150})), [FaultKind::Value]);
        assert_eq!(faults(json!({"window": "DRIVER", "percentage": 0.5})), [FaultKind::Value]);
        assert_eq!(faults(json!({"window": "FRONT", "percentage": 50})), [FaultKind::NotAMember]);
        assert_eq!(faults(json!({"window": ["DRIVER"], "percentage": 50})), [FaultKind::NotAMember]);
        assert_eq!(faults(json!({"window": "DRIVER"})), [FaultKind::Missing]);
        assert_eq!(faults(json!({"window": "DRIVER", "percentage": 1, "speed": 2})), [FaultKind::UnknownParameter]);
    }

    #[test]
    fn a_removed_tool_is_not_a_misspelt_one() {
        let call = ToolCall::new("move_window", Default::default());
        let removed = Removed::from_iter(["move_window"]);
        assert_eq!(inventory().check(&call, &removed)[0].kind, FaultKind::RemovedTool);
        let other = ToolCall::new("move_windows", Default::default());
        assert_eq!(inventory().check(&other, &removed)[0].kind, FaultKind::UnknownTool);
    }

    #[test]
    fn a_required_parameter_that_is_removed_is_rightly_missing() {
        let Json::Object(arguments) = json!({"window": "DRIVER"}) else { panic!("an object") };
        let call = ToolCall::new("move_window", arguments);
        assert_eq!(inventory().check(&call, &Removed::from_iter(["move_window.percentage"])), []);
    }

    #[test]
    fn repairs_only_the_spelling_of_a_member() {
        let Json::Object(arguments) = json!({"window": "driver", "percentage": 5}) else { panic!() };
        let call = ToolCall::new("move_window", arguments);
        let inventory = inventory();
        let repaired = inventory.get("move_window").unwrap().repaired(&call).unwrap();
        assert_eq!(repaired.arguments["window"], "DRIVER");
    }
}
