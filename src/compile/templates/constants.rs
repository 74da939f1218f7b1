//! Constants in calls: a bare word means what the argument's type says.

use serde_json::Value as Json;

use super::fault::TemplateFault;
use super::syntax::ValueText;
use crate::state::Literal;
use crate::tools::{Param, ParamType, Schema, Tool};

/// A written value as JSON for an argument of that type; `None` when it holds a hole.
pub(crate) fn json(value: &ValueText, kind: &ParamType) -> Option<Json> {
    Some(match value {
        ValueText::Word(word) => match kind {
            ParamType::Text | ParamType::Enum(_) => Json::String(word.clone()),
            _ => plain(word),
        },
        ValueText::Quoted(text) => Json::String(text.clone()),
        ValueText::List(items) => {
            let of = match kind {
                ParamType::List(item) => item.as_ref(),
                _ => &ParamType::Any,
            };
            Json::Array(items.iter().map(|item| json(item, of)).collect::<Option<_>>()?)
        }
        ValueText::Object(members) => {
            let of = |name: &str| match kind {
                ParamType::Object(params) => params.iter().find(|p| p.name == name).map(|p| &p.kind),
                _ => None,
            };
            let member = |(name, value): &(String, ValueText)| {
                Some((name.clone(), json(value, of(name).unwrap_or(&ParamType::Any))?))
            };
            Json::Object(members.iter().map(member).collect::<Option<_>>()?)
        }
        ValueText::Hole(_) | ValueText::Merge { .. } => return None,
    })
}

/// A word outside any text type: JSON where it is JSON, else the word itself.
fn plain(word: &str) -> Json {
    serde_json::from_str(word).unwrap_or_else(|_| Json::String(word.to_owned()))
}

/// A constant in a rule, checked against the schema of the argument.
pub(super) fn literal(value: &ValueText, tool: &Tool, param: &Param) -> Result<Literal, TemplateFault> {
    let Some(json) = json(value, &param.kind) else {
        return Err(TemplateFault::Compound(param.name.clone()));
    };
    admits(tool, param, &json)?;
    match json {
        Json::Bool(b) => Ok(Literal::Bool(b)),
        Json::String(s) => Ok(Literal::Text(s)),
        Json::Number(n) => match (n.as_i64(), n.as_f64()) {
            (Some(i), _) => Ok(Literal::Int(i)),
            (None, Some(f)) => Ok(Literal::Number(f)),
            (None, None) => Err(TemplateFault::Compound(n.to_string())),
        },
        other => Err(TemplateFault::Compound(other.to_string())),
    }
}

/// Members, ranges and steps: whatever the tool's own schema says of the argument.
fn admits(tool: &Tool, param: &Param, value: &Json) -> Result<(), TemplateFault> {
    let fault = |why: String| TemplateFault::Constant {
        tool: tool.name.to_string(),
        argument: param.name.clone(),
        value: value.to_string(),
        why,
    };
    let schema: Json = serde_json::from_str(&tool.schema).map_err(|e| fault(e.to_string()))?;
    let Some(of) = schema.get("properties").and_then(|p| p.get(&param.name)) else { return Ok(()) };
    // A reference into the whole schema cannot be followed from the argument alone; the engine
    // checks the finished call again.
    let Ok(of) = Schema::read(of) else { return Ok(()) };
    of.violations(value).first().map_or(Ok(()), |violation| Err(fault(violation.sentence())))
}
