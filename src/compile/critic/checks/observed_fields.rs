//! Field patterns against what tools really returned.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::check;
use crate::compile::critic::{Case, CriticFinding, Level};
use crate::model::Value;
use crate::policy::PolicyParts;
use crate::state::{AttrType, select};

check! {
    /// Finds a field pattern of `vehicle.toml` that matches nothing in any recorded result of its tool, or
    /// only values of another type. Without recordings the compiler holds patterns against the tools'
    /// `outputSchema`, where there is one.
    ///
    /// # Why
    /// What is never read stays unknown, and a rule over it is never decided: silence instead of an error.
    ///
    /// # Example
    /// `field = "fog_light"`, while all results of the tool say `fog_lights`.
    ///
    /// # Mend
    /// Correct the pattern in `vehicle.toml`; the fields that the tool does return are listed.
    "observed-fields"
}

/// One pattern to look for.
struct Pattern<'a> {
    what: String,
    /// Its name and its field as the effect model writes them.
    written: (&'a str, &'a str),
    tool: &'a str,
    fields: Vec<String>,
    kind: Option<&'a AttrType>,
    /// A number may be a text with this unit behind it.
    worded: bool,
}

fn run(case: &mut Case<'_>) {
    let (Some(observed), Some(parts)) = (case.observed, &case.subject.parts) else { return };
    let payloads = observed.of(parts);
    let mut silent: Vec<&str> = Vec::new();
    for pattern in patterns(parts) {
        let results = payloads.get(pattern.tool).map(Vec::as_slice).unwrap_or_default();
        if results.is_empty() {
            if !silent.contains(&pattern.tool) {
                silent.push(pattern.tool);
            }
            continue;
        }
        for field in &pattern.fields {
            let found: Vec<&Json> = results.iter().filter_map(|payload| select(payload, field)).collect();
            let known: Vec<&&Json> = found.iter().filter(|json| !json.is_null()).collect();
            let fits = known.iter().any(|json| pattern.kind.is_none_or(|kind| is(kind, json, pattern.worded)));
            let what = if found.is_empty() {
                let fields = returned(results);
                format!(
                    "{}: no result of `{}` has `{field}` ({} recorded); they have {fields}",
                    pattern.what,
                    pattern.tool,
                    results.len()
                )
            } else if !known.is_empty() && !fits {
                let shown = known.first().map(ToString::to_string).unwrap_or_default();
                format!("{}: `{field}` of `{}` is never of its declared type, but {shown}", pattern.what, pattern.tool)
            } else {
                continue;
            };
            let finding = CriticFinding {
                check: case.now,
                level: Level::Error,
                place: case.subject.line_of(pattern.written.0, pattern.written.1),
                rules: Vec::new(),
                what,
                example: None,
            };
            case.findings.push(finding);
        }
    }
    for tool in silent {
        case.note(None, format!("no result of `{tool}` is recorded, so its fields were not looked for"));
    }
}

fn patterns(parts: &PolicyParts) -> Vec<Pattern<'_>> {
    let tool = |ix: crate::tools::ToolIx| parts.inventory.get(usize::from(ix.0)).map(|t| t.name.as_str());
    let mut found = Vec::new();
    for attribute in &parts.model.attributes {
        let Some(entity) = parts.model.entity(attribute.entity) else { continue };
        let read = attribute.read.map(|ix| (ix, &attribute.field));
        for (ix, field) in read.into_iter().chain(attribute.also.iter().map(|a| (a.tool, &a.field))) {
            let Some(tool) = tool(ix) else { continue };
            let fields = if field.contains('*') {
                entity.items.iter().map(|item| field.replacen('*', item, 1)).collect()
            } else {
                vec![field.clone()]
            };
            let what = format!("{}.{}", entity.name, attribute.name);
            let written = (attribute.name.as_str(), field.as_str());
            found.push(Pattern { what, written, tool, fields, kind: Some(&attribute.kind), worded: false });
        }
    }
    for observation in &parts.model.observations {
        let Some(tool) = tool(observation.read) else { continue };
        for field in &observation.fields {
            let what = format!("{}.{}", observation.name, field.name);
            let (fields, worded) = (vec![field.field.clone()], !field.unit.is_empty());
            let written = (field.name.as_str(), field.field.as_str());
            found.push(Pattern { what, written, tool, fields, kind: Some(&field.kind), worded });
        }
    }
    found
}

fn is(kind: &AttrType, json: &Json, worded: bool) -> bool {
    match kind {
        AttrType::Bool => json.is_boolean(),
        AttrType::Int => json.is_number() || worded && json.is_string(),
        AttrType::Word | AttrType::Parts(_) => json.as_str().is_some_and(|word| Value::word(word) != Value::Unknown),
        AttrType::List => json.is_array(),
    }
}

/// The fields that results do have, each once.
fn returned(results: &[Json]) -> String {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for name in results.iter().filter_map(Json::as_object).flat_map(|o| o.keys()) {
        *names.entry(name).or_default() += 1;
    }
    let named: Vec<&str> = names.into_keys().take(12).collect();
    if named.is_empty() { "no fields at all".to_owned() } else { named.join(", ") }
}
