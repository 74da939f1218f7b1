//! Whether whoever takes values of one JSON Schema takes every value of another.
//!
//! The general question has no practical answer, so this one is on the safe side: yes is certain, no
//! may only mean that it cannot be seen. A clause of the wider schema that is not understood is a no,
//! unless the narrower one has the very same subschema; a clause of the narrower one that is not
//! understood only narrows it further.

use serde_json::{Map, Value as Json};

/// Words that say nothing about values. What `$defs` define counts only where it is referred to.
const NOTES: &[&str] = &[
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "$defs",
    "definitions",
];

/// Words whose clause means the same wherever it stands, understood or not.
const ALONE: &[&str] = &[
    "$schema",
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "required",
    "not",
    "anyOf",
    "oneOf",
    "allOf",
];

const TYPES: &[&str] = &["null", "boolean", "object", "array", "number", "string"];

/// Why a schema is not seen to take every value of another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}", place = if self.path.is_empty() { "the arguments" } else { self.path.as_str() })]
pub struct Uncovered {
    /// Where, as a dotted path; empty for the arguments as a whole.
    pub path: String,
    /// What stands in the way.
    pub why: String,
}

/// Whether every arguments object that is valid under `narrow` is valid under `wide`. No tool is ever
/// called with a parameter that its schema does not name, so `narrow` counts as closed.
///
/// # Errors
/// [`Uncovered`] with the first clause of `wide` that stands in the way.
pub fn covers(wide: &Json, narrow: &Json) -> Result<(), Uncovered> {
    if wide == narrow {
        return Ok(());
    }
    let mut narrow = narrow.clone();
    if let Json::Object(map) = &mut narrow {
        map.insert("additionalProperties".to_owned(), Json::Bool(false));
        map.entry("type").or_insert_with(|| "object".into());
    }
    cover(wide, &narrow, "")
}

fn cover(wide: &Json, narrow: &Json, path: &str) -> Result<(), Uncovered> {
    let fault = |why: String| Err(Uncovered { path: path.to_owned(), why });
    if *narrow == Json::Bool(false) || (wide == narrow && !refers(wide)) {
        return Ok(());
    }
    let wide = match wide {
        Json::Bool(true) => return Ok(()),
        Json::Object(map) => map,
        _ => return fault(format!("`{wide}` accepts nothing")),
    };
    let empty = Map::new();
    // Words beside a reference count in some versions of JSON Schema and not in others.
    let narrow = narrow.as_object().filter(|map| !map.contains_key("$ref")).unwrap_or(&empty);
    for (word, clause) in wide.iter().filter(|(word, _)| !NOTES.contains(&word.as_str())) {
        let clause = Clause { word, clause, wide, narrow, path };
        let same = narrow.get(word) == Some(clause.clause) && ALONE.contains(&word.as_str());
        if !same || refers(clause.clause) {
            clause.holds()?;
        }
    }
    Ok(())
}

/// One clause of the wider schema, with what it stands between.
struct Clause<'a> {
    word: &'a str,
    clause: &'a Json,
    wide: &'a Map<String, Json>,
    narrow: &'a Map<String, Json>,
    path: &'a str,
}

impl Clause<'_> {
    fn holds(&self) -> Result<(), Uncovered> {
        match self.word {
            "type" => self.types(),
            "enum" => self.members(),
            "const" => self.each_value(|value| value == self.clause, "can be something else than its constant"),
            "minimum" => self.number(&["minimum", "exclusiveMinimum"], |own, given| given >= own),
            "maximum" => self.number(&["maximum", "exclusiveMaximum"], |own, given| given <= own),
            "exclusiveMinimum" => self.number(&["exclusiveMinimum"], |own, given| given >= own),
            "exclusiveMaximum" => self.number(&["exclusiveMaximum"], |own, given| given <= own),
            "multipleOf" => self.step(),
            "minLength" => self.least("string", 0.0),
            "minItems" => self.least("array", 0.0),
            "minProperties" => {
                let required = strings(self.narrow.get("required")).len();
                self.least("object", f64::from(u16::try_from(required).unwrap_or(u16::MAX)))
            }
            "maxLength" => self.most("string"),
            "maxItems" => self.most("array"),
            "maxProperties" => self.most("object"),
            "uniqueItems" => match (self.clause, self.may_be("array")) {
                (Json::Bool(false), _) | (_, false) => Ok(()),
                _ => self.fault("may hold an item twice"),
            },
            "items" => self.items(),
            "required" => self.required(),
            // A parameter that only the wider schema has is never given: see `additionalProperties`.
            "properties" => self.properties(),
            "additionalProperties" => self.additional(),
            other => self.fault(&format!("`{other}` is not understood; leave it out or use the policy's own schema")),
        }
    }

    fn fault(&self, why: &str) -> Result<(), Uncovered> {
        Err(Uncovered { path: self.path.to_owned(), why: why.to_owned() })
    }

    fn under(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// The values that the narrower schema lists, if it does.
    fn listed(&self) -> Option<Vec<&Json>> {
        let listed = self.narrow.get("enum").and_then(Json::as_array).map(|all| all.iter().collect());
        self.narrow.get("const").map(|one| vec![one]).or(listed)
    }

    /// Whether a value of the narrower schema may have a type.
    fn may_be(&self, kind: &str) -> bool {
        if let Some(listed) = self.listed() {
            return listed.iter().any(|value| type_of(value) == kind);
        }
        match self.narrow.get("type") {
            None => true,
            Some(types) => strings_or_one(types).iter().any(|t| *t == kind || (*t == "integer" && kind == "number")),
        }
    }

    fn each_value(&self, fits: impl Fn(&Json) -> bool, why: &str) -> Result<(), Uncovered> {
        match self.listed() {
            Some(listed) if listed.iter().all(|value| fits(value)) => Ok(()),
            _ => self.fault(why),
        }
    }

    fn types(&self) -> Result<(), Uncovered> {
        let taken = strings_or_one(self.clause);
        let whole_only = taken.contains(&"integer") && !taken.contains(&"number");
        for kind in TYPES.iter().filter(|kind| self.may_be(kind)) {
            let fits = match *kind {
                "number" if whole_only => self.is_whole(),
                kind => taken.contains(&kind),
            };
            if !fits {
                return self.fault(&format!("takes {} only, but may be a {kind}", taken.join(" or ")));
            }
        }
        Ok(())
    }

    /// Whether every number of the narrower schema is whole.
    fn is_whole(&self) -> bool {
        if let Some(listed) = self.listed() {
            return listed.iter().filter(|v| v.is_number()).all(|v| v.is_i64() || v.is_u64());
        }
        self.narrow.get("type").is_some_and(|types| !strings_or_one(types).contains(&"number"))
    }

    fn members(&self) -> Result<(), Uncovered> {
        let members = self.clause.as_array().map(Vec::as_slice).unwrap_or_default();
        let Some(listed) = self.listed() else { return self.fault("takes listed values only, but may be another") };
        match listed.iter().find(|value| !members.contains(value)) {
            Some(lacking) => self.fault(&format!("does not take {lacking}")),
            None => Ok(()),
        }
    }

    /// A bound on numbers: one of these clauses of the narrower schema is at least as tight.
    fn number(&self, words: &[&str], tight: impl Fn(f64, f64) -> bool) -> Result<(), Uncovered> {
        if !self.may_be("number") {
            return Ok(());
        }
        let Some(own) = self.clause.as_f64() else { return self.fault(&format!("`{}` is no number", self.word)) };
        if let Some(listed) = self.listed() {
            let open = self.word.starts_with("exclusive");
            let fits = |n: f64| tight(own, n) && !(open && n == own);
            return match listed.iter().filter_map(|v| v.as_f64()).find(|n| !fits(*n)) {
                Some(out) => self.fault(&format!("does not take {out}")),
                None => Ok(()),
            };
        }
        let given = words.iter().filter_map(|w| self.narrow.get(*w)).filter_map(Json::as_f64);
        match given.into_iter().any(|given| tight(own, given)) {
            true => Ok(()),
            false => self.fault(&format!("`{}` is {own}, which is tighter than the policy's schema", self.word)),
        }
    }

    fn step(&self) -> Result<(), Uncovered> {
        if !self.may_be("number") {
            return Ok(());
        }
        // Beyond 2^53 every double is whole.
        let whole = |n: f64| n.fract() == 0.0 && n.abs() < 9_007_199_254_740_992.0;
        let Some(own) = self.clause.as_f64().filter(|own| *own > 0.0) else {
            return self.fault("`multipleOf` is no step");
        };
        let given = self.narrow.get("multipleOf").and_then(Json::as_f64).or_else(|| self.is_whole().then_some(1.0));
        let fits = match self.listed() {
            Some(listed) => listed.iter().filter_map(|v| v.as_f64()).all(|n| whole(n / own)),
            None => given.is_some_and(|given| whole(given / own)),
        };
        if fits { Ok(()) } else { self.fault(&format!("takes steps of {own} only")) }
    }

    fn least(&self, kind: &str, always: f64) -> Result<(), Uncovered> {
        let given = self.narrow.get(self.word).and_then(Json::as_f64).unwrap_or(0.0).max(always);
        match (self.clause.as_f64(), self.may_be(kind)) {
            (_, false) => Ok(()),
            (Some(own), true) if own <= given => Ok(()),
            (_, true) => self.fault(&format!("`{}` is {}, more than the policy's schema asks", self.word, self.clause)),
        }
    }

    fn most(&self, kind: &str) -> Result<(), Uncovered> {
        let given = self.narrow.get(self.word).and_then(Json::as_f64);
        match (self.clause.as_f64(), given, self.may_be(kind)) {
            (_, _, false) => Ok(()),
            (Some(own), Some(given), true) if given <= own => Ok(()),
            _ => self.fault(&format!("`{}` is {}, less than the policy's schema allows", self.word, self.clause)),
        }
    }

    fn items(&self) -> Result<(), Uncovered> {
        if !self.may_be("array") || self.narrow.get("maxItems").and_then(Json::as_u64) == Some(0) {
            return Ok(());
        }
        // Tuples mean different things in different versions of JSON Schema.
        let tuples =
            |map: &Map<String, Json>| map.contains_key("prefixItems") || map.get("items").is_some_and(Json::is_array);
        if tuples(self.wide) || tuples(self.narrow) {
            return self.fault("lists of fixed places are not understood");
        }
        cover(self.clause, self.narrow.get("items").unwrap_or(&Json::Bool(true)), &self.under("items"))
    }

    fn required(&self) -> Result<(), Uncovered> {
        let given = strings(self.narrow.get("required"));
        let wanted = strings(Some(self.clause));
        match wanted.iter().find(|name| self.may_be("object") && !given.contains(name)) {
            Some(name) => self.fault(&format!("needs `{name}`, which the policy's schema does not require")),
            None => Ok(()),
        }
    }

    fn properties(&self) -> Result<(), Uncovered> {
        if !self.may_be("object") {
            return Ok(());
        }
        let own = self.clause.as_object();
        let given = self.narrow.get("properties").and_then(Json::as_object);
        for (name, schema) in own.into_iter().flatten() {
            let path = self.under(name);
            match (given.and_then(|g| g.get(name)), closed(self.narrow)) {
                (Some(property), _) => cover(schema, property, &path)?,
                (None, true) => {}
                (None, false) => {
                    cover(schema, self.narrow.get("additionalProperties").unwrap_or(&Json::Bool(true)), &path)?
                }
            }
        }
        Ok(())
    }

    fn additional(&self) -> Result<(), Uncovered> {
        if !self.may_be("object") || *self.clause == Json::Bool(true) {
            return Ok(());
        }
        if self.narrow.contains_key("patternProperties") || self.wide.contains_key("patternProperties") {
            return self.fault("`patternProperties` is not understood");
        }
        let known = self.wide.get("properties").and_then(Json::as_object);
        let given = self.narrow.get("properties").and_then(Json::as_object);
        for (name, schema) in given.into_iter().flatten().filter(|(n, _)| known.is_none_or(|k| !k.contains_key(*n))) {
            if *self.clause == Json::Bool(false) {
                return self.fault(&format!("does not take `{name}`"));
            }
            cover(self.clause, schema, &self.under(name))?;
        }
        match (closed(self.narrow), self.narrow.get("additionalProperties")) {
            (true, _) => Ok(()),
            (false, Some(rest)) if *self.clause != Json::Bool(false) => cover(self.clause, rest, &self.under("*")),
            (false, _) => self.fault("takes no further members, but the policy's schema does"),
        }
    }
}

/// Whether a schema refers to another one: the same reference means something else in another document.
fn refers(schema: &Json) -> bool {
    match schema {
        Json::Object(map) => {
            map.iter().any(|(word, inner)| word.ends_with("ef") && word.starts_with('$') || refers(inner))
        }
        Json::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

/// Whether an object schema takes no member that it does not name.
fn closed(schema: &Map<String, Json>) -> bool {
    schema.get("additionalProperties") == Some(&Json::Bool(false)) && !schema.contains_key("patternProperties")
}

fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Object(_) => "object",
        Json::Array(_) => "array",
        Json::Number(_) => "number",
        Json::String(_) => "string",
    }
}

fn strings(list: Option<&Json>) -> Vec<&str> {
    list.and_then(Json::as_array).map(|all| all.iter().filter_map(Json::as_str).collect()).unwrap_or_default()
}

fn strings_or_one(types: &Json) -> Vec<&str> {
    types.as_str().map_or_else(|| strings(Some(types)), |one| vec![one])
}

#[cfg(test)]
mod tests;
