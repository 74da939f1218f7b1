//! What an author may name: entities, tools and the rest of the context, in as few words as will do.

use std::fmt::Write;

use crate::compile::ground::{GROUPS, Ground};
use crate::policy::DerivedFn;
use crate::state::{AttrType, EntityIx};
use crate::tools::{Param, ParamType};

/// The vocabulary of a set. The same set gives the same text.
pub(super) fn grounding(ground: &Ground) -> String {
    let mut out = String::from("Entities and their attributes:\n");
    for (entity, ix) in ground.model.entities.iter().zip((0_u16..).map(EntityIx)) {
        let attributes: Vec<String> = ground
            .attributes(ix)
            .map(|(_, a)| format!("{}: {}{}", a.name, kind(&a.kind), steps(a.resolution.steps(), &a.unit)))
            .collect();
        let items = if entity.is_singleton() { String::new() } else { format!(" (items {})", entity.items.join(", ")) };
        line(&mut out, &format!("- {}{items}: {}", entity.name, attributes.join("; ")));
    }
    out.push_str("Observations (context.NAME.FIELD):\n");
    for observation in &ground.model.observations {
        let tool = ground.inventory.at(observation.read).map(|t| t.name.to_string()).unwrap_or_default();
        let fields: Vec<String> = observation.fields.iter().map(|f| format!("{}: {}", f.name, kind(&f.kind))).collect();
        line(&mut out, &format!("- {} (read by {tool}): {}", observation.name, fields.join("; ")));
    }
    out.push_str("Derived (context.NAME, context.before_NAME):\n");
    for derived in &ground.derived {
        let (function, _) =
            DerivedFn::ALL.into_iter().find(|(_, f)| *f == derived.function).unwrap_or(("?", derived.function));
        let attribute = ground.model.attribute(derived.attribute).map_or("?", |a| a.name.as_str());
        line(&mut out, &format!("- {}: {function} of {attribute}", derived.name));
    }
    let groups = GROUPS.into_iter().chain(ground.model.groups.iter().map(|(name, _)| name.as_str()));
    line(&mut out, &format!("Groups of tools: {}", groups.collect::<Vec<_>>().join(", ")));
    out.push_str("Tools (a ? marks what a call may leave out):\n");
    for tool in ground.inventory.iter() {
        let params: Vec<String> = tool.params.iter().map(param).collect();
        line(&mut out, &format!("- {}({})", tool.name, params.join(", ")));
    }
    out
}

fn kind(kind: &AttrType) -> String {
    match kind {
        AttrType::Bool => "bool".to_owned(),
        AttrType::Int => "number".to_owned(),
        AttrType::Word => "word".to_owned(),
        AttrType::Parts(parts) => format!("set of {}", parts.join("|")),
        AttrType::List => "list of words".to_owned(),
    }
}

fn steps(steps: u32, unit: &str) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    if steps == 1 { unit } else { format!("{unit} in {steps} steps per unit") }
}

fn param(param: &Param) -> String {
    let mark = if param.required { "" } else { "?" };
    let kind = match &param.kind {
        ParamType::Bool => "bool".to_owned(),
        ParamType::Number => format!("number{}", steps(param.resolution.steps(), "")),
        ParamType::Enum(members) => members.join("|"),
        ParamType::List(_) => "list".to_owned(),
        ParamType::Object(_) => "object".to_owned(),
        ParamType::Text | ParamType::Any => "text".to_owned(),
    };
    format!("{}{mark}: {kind}", param.name)
}

fn line(out: &mut String, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}
