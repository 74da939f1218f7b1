//! A schema from its JSON.

use rustc_hash::FxHashMap;
use serde_json::{Map, Number, Value as Json};

use super::pattern::Pattern;
use super::{At, Clause, Count, Node, Object, Schema, SchemaError, Type};

/// Words that narrow what is valid and have no meaning here, with what to write in their place.
const UNKNOWN: &[(&str, &str)] = &[
    ("$dynamicRef", "refer by `$ref`"),
    ("$recursiveRef", "refer by `$ref`"),
    ("$anchor", "refer by a path, as in `#/$defs/name`"),
    ("$dynamicAnchor", "refer by a path, as in `#/$defs/name`"),
    ("unevaluatedProperties", "say `additionalProperties` where the properties are named"),
    ("unevaluatedItems", "say `items`"),
    ("additionalItems", "say `prefixItems` and `items`, as version 2020-12 does"),
    ("dependencies", "say `dependentRequired` or `dependentSchemas`"),
];

/// Versions in which the words that are understood mean what they mean here.
const VERSIONS: &[&str] = &["draft/2020-12/schema", "draft/2019-09/schema", "draft-07/schema"];

type Result<T> = std::result::Result<T, SchemaError>;

pub(super) fn read(json: &Json) -> Result<Schema> {
    let mut reader = Reader { root: json, nodes: Vec::new(), known: FxHashMap::default(), draft7: false };
    reader.version()?;
    reader.known.insert(String::new(), At(0));
    reader.schema(json, "")?;
    let schema = Schema { nodes: reader.nodes };
    if (0..schema.nodes.len()).any(|start| comes_back(&schema, At(start))) {
        Err(SchemaError::Endless)
    } else {
        Ok(schema)
    }
}

struct Reader<'a> {
    root: &'a Json,
    nodes: Vec<Node>,
    /// What references lead to, by JSON pointer.
    known: FxHashMap<String, At>,
    draft7: bool,
}

impl<'a> Reader<'a> {
    fn version(&mut self) -> Result<()> {
        let Some(version) = self.root.get("$schema") else { return Ok(()) };
        let name = version.as_str().unwrap_or_default().trim_end_matches('#');
        if !VERSIONS.iter().any(|known| name.ends_with(known)) {
            return Err(unknown("", "$schema", "write it for version 2020-12"));
        }
        self.draft7 = name.ends_with("draft-07/schema");
        Ok(())
    }

    fn schema(&mut self, json: &'a Json, place: &str) -> Result<At> {
        let at = At(self.nodes.len());
        self.nodes.push(Node::default());
        self.fill(at, json, place)?;
        Ok(at)
    }

    fn fill(&mut self, at: At, json: &'a Json, place: &str) -> Result<()> {
        let node = match json {
            Json::Bool(truth) => Node { never: !truth, clauses: Vec::new() },
            Json::Object(words) => Node { never: false, clauses: self.clauses(words, place)? },
            _ => return Err(SchemaError::Schema { place: shown(place) }),
        };
        if let Some(empty) = self.nodes.get_mut(at.0) {
            *empty = node;
        }
        Ok(())
    }

    fn clauses(&mut self, words: &'a Map<String, Json>, place: &str) -> Result<Vec<Clause>> {
        self.refuse(words, place)?;
        let word = Words { words, place };
        let mut clauses = Vec::new();
        clauses.extend(word.types()?.map(Clause::Types));
        clauses.extend(word.list("enum")?.map(|members| Clause::Members(members.to_vec())));
        clauses.extend(words.get("const").map(|constant| Clause::Constant(constant.clone())));
        clauses.extend(word.number("exclusiveMaximum")?.map(Clause::Below));
        clauses.extend(word.number("exclusiveMinimum")?.map(Clause::Above));
        clauses.extend(word.number("maximum")?.map(Clause::AtMost));
        clauses.extend(word.number("minimum")?.map(Clause::AtLeast));
        clauses.extend(word.step()?.map(Clause::MultipleOf));
        clauses.extend(word.range("minLength", "maxLength")?.map(Clause::Length));
        clauses.extend(word.text("pattern")?.map(|text| word.pattern(text)).transpose()?.map(Clause::Pattern));
        clauses.extend(word.range("minItems", "maxItems")?.map(Clause::Items));
        clauses.extend(word.flag("uniqueItems")?.then_some(Clause::Unique));
        clauses.extend(word.range("minProperties", "maxProperties")?.map(Clause::Size));
        clauses.extend(word.names("required")?.map(Clause::Required));
        self.of_objects(&word, &mut clauses)?;
        self.of_lists(&word, &mut clauses)?;
        self.of_schemas(&word, &mut clauses)?;
        Ok(clauses)
    }

    /// What would be judged wrongly if it were passed over.
    fn refuse(&self, words: &Map<String, Json>, place: &str) -> Result<()> {
        if let Some((word, instead)) = UNKNOWN.iter().find(|(word, _)| words.contains_key(*word)) {
            return Err(unknown(place, word, instead));
        }
        if !place.is_empty() && words.contains_key("$id") {
            return Err(unknown(place, "$id", "only the schema as a whole may have a name"));
        }
        if self.draft7 && words.contains_key("format") {
            return Err(unknown(place, "format", "in draft 7 it narrows; say it by a `pattern`"));
        }
        if self.draft7 && words.contains_key("$ref") && words.len() > 1 {
            return Err(unknown(
                place,
                "$ref",
                "in draft 7 what stands beside it does not count; write it for version 2020-12",
            ));
        }
        Ok(())
    }

    fn of_objects(&mut self, word: &Words<'a, '_>, clauses: &mut Vec<Clause>) -> Result<()> {
        let named = self.each_member(word, "properties")?;
        let mut alike = Vec::new();
        for (pattern, part) in self.each_member(word, "patternProperties")? {
            alike.push((word.pattern(&pattern)?, part));
        }
        let others = self.part(word, "additionalProperties")?;
        // An empty list says that there are none to be named.
        let listed = word.words.contains_key("properties");
        if listed || !alike.is_empty() || others.is_some() {
            clauses.push(Clause::Object(Object { named, alike, others }));
        }
        clauses.extend(self.part(word, "propertyNames")?.map(Clause::Names));
        if let Some(needs) = word.object("dependentRequired")? {
            for name in needs.keys() {
                let inner = Words { words: needs, place: &format!("{}/dependentRequired", word.place) };
                clauses.extend(inner.names(name)?.map(|others| Clause::Needs(name.clone(), others)));
            }
        }
        clauses.extend(
            self.each_member(word, "dependentSchemas")?.into_iter().map(|(name, part)| Clause::Then(name, part)),
        );
        Ok(())
    }

    fn of_lists(&mut self, word: &Words<'a, '_>, clauses: &mut Vec<Clause>) -> Result<()> {
        let first = self.each_item(word, "prefixItems")?.unwrap_or_default();
        if word.words.get("items").is_some_and(Json::is_array) {
            return Err(unknown(word.place, "items", "as a list it is `prefixItems` in version 2020-12"));
        }
        let rest = self.part(word, "items")?;
        if !first.is_empty() || rest.is_some() {
            clauses.push(Clause::Each(first, rest));
        }
        if let Some(what) = self.part(word, "contains")? {
            let least = word.count("minContains")?.unwrap_or(1);
            clauses.push(Clause::Contains(what, Count { least, most: word.count("maxContains")? }));
        }
        Ok(())
    }

    fn of_schemas(&mut self, word: &Words<'a, '_>, clauses: &mut Vec<Clause>) -> Result<()> {
        clauses.extend(self.each_item(word, "allOf")?.map(Clause::All));
        clauses.extend(self.each_item(word, "anyOf")?.map(Clause::Any));
        clauses.extend(self.each_item(word, "oneOf")?.map(Clause::One));
        clauses.extend(self.part(word, "not")?.map(Clause::Not));
        if let Some(condition) = self.part(word, "if")? {
            let (then, otherwise) = (self.part(word, "then")?, self.part(word, "else")?);
            clauses.push(Clause::If(condition, then, otherwise));
        }
        if let Some(target) = word.text("$ref")? {
            clauses.push(Clause::Refers(self.refer(word.place, target)?));
        }
        // What is only defined is read as well: a mistake in it shows at once.
        for word_of_definitions in ["$defs", "definitions"] {
            self.each_member(word, word_of_definitions)?;
        }
        Ok(())
    }

    fn refer(&mut self, place: &str, target: &str) -> Result<At> {
        let nowhere = || SchemaError::Reference { place: shown(place), target: target.to_owned() };
        let pointer = target.strip_prefix('#').filter(|pointer| !pointer.contains('%')).ok_or_else(nowhere)?;
        if let Some(at) = self.known.get(pointer) {
            return Ok(*at);
        }
        let json = self.root.pointer(pointer).ok_or_else(nowhere)?;
        let at = At(self.nodes.len());
        self.nodes.push(Node::default());
        self.known.insert(pointer.to_owned(), at);
        self.fill(at, json, pointer)?;
        Ok(at)
    }

    fn part(&mut self, word: &Words<'a, '_>, name: &str) -> Result<Option<At>> {
        word.words.get(name).map(|json| self.schema(json, &format!("{}/{name}", word.place))).transpose()
    }

    fn each_item(&mut self, word: &Words<'a, '_>, name: &str) -> Result<Option<Vec<At>>> {
        let Some(items) = word.list(name)? else { return Ok(None) };
        if items.is_empty() {
            return Err(word.form(name, "a list of at least one schema"));
        }
        let place = |at: usize| format!("{}/{name}/{at}", word.place);
        items.iter().enumerate().map(|(at, json)| self.schema(json, &place(at))).collect::<Result<_>>().map(Some)
    }

    fn each_member(&mut self, word: &Words<'a, '_>, name: &str) -> Result<Vec<(String, At)>> {
        let Some(members) = word.object(name)? else { return Ok(Vec::new()) };
        let place = |member: &str| format!("{}/{name}/{member}", word.place);
        members.iter().map(|(member, json)| Ok((member.clone(), self.schema(json, &place(member))?))).collect()
    }
}

/// The words of one subschema, and where it stands.
struct Words<'a, 'p> {
    words: &'a Map<String, Json>,
    place: &'p str,
}

impl<'a> Words<'a, '_> {
    fn form(&self, word: &str, wanted: &'static str) -> SchemaError {
        SchemaError::Form { place: shown(self.place), word: word.to_owned(), wanted }
    }

    fn read<T>(&self, word: &str, wanted: &'static str, as_: impl FnOnce(&'a Json) -> Option<T>) -> Result<Option<T>> {
        self.words.get(word).map(|json| as_(json).ok_or_else(|| self.form(word, wanted))).transpose()
    }

    fn list(&self, word: &str) -> Result<Option<&'a [Json]>> {
        self.read(word, "a list", |json| json.as_array().map(Vec::as_slice))
    }

    fn object(&self, word: &str) -> Result<Option<&'a Map<String, Json>>> {
        self.read(word, "an object", Json::as_object)
    }

    fn text(&self, word: &str) -> Result<Option<&'a str>> {
        self.read(word, "a text", Json::as_str)
    }

    fn flag(&self, word: &str) -> Result<bool> {
        Ok(self.read(word, "a truth value", Json::as_bool)?.unwrap_or(false))
    }

    fn number(&self, word: &str) -> Result<Option<Number>> {
        self.read(word, "a number", |json| json.as_number().cloned())
    }

    fn step(&self) -> Result<Option<Number>> {
        let above_zero = |json: &Json| json.as_number().filter(|n| n.as_f64().is_some_and(|n| n > 0.0)).cloned();
        self.read("multipleOf", "a number above 0", above_zero)
    }

    fn count(&self, word: &str) -> Result<Option<u64>> {
        let whole = |json: &Json| {
            // 3.0 is as good as 3.
            json.as_u64().or_else(|| {
                let float = json.as_f64().filter(|float| float.fract() == 0.0 && (0.0..1e15).contains(float))?;
                float.to_string().parse().ok()
            })
        };
        self.read(word, "a whole number from 0 on", whole)
    }

    fn range(&self, least: &str, most: &str) -> Result<Option<Count>> {
        let (least, most) = (self.count(least)?, self.count(most)?);
        Ok((least.is_some() || most.is_some()).then(|| Count { least: least.unwrap_or(0), most }))
    }

    fn names(&self, word: &str) -> Result<Option<Vec<String>>> {
        let names = |json: &Json| json.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect();
        self.read(word, "a list of names", names)
    }

    fn types(&self) -> Result<Option<Vec<Type>>> {
        let types = |json: &Json| match json {
            Json::String(name) => Type::named(name).map(|of| vec![of]),
            Json::Array(names) if !names.is_empty() => names.iter().map(|name| Type::named(name.as_str()?)).collect(),
            _ => None,
        };
        self.read("type", "the name of a type, or a list of them", types)
    }

    fn pattern(&self, text: &str) -> Result<Pattern> {
        Pattern::read(text).map_err(|why| SchemaError::Pattern {
            place: shown(self.place),
            pattern: text.to_owned(),
            why,
        })
    }
}

fn unknown(place: &str, word: &str, instead: &'static str) -> SchemaError {
    SchemaError::Unknown { place: shown(place), word: word.to_owned(), instead }
}

fn shown(place: &str) -> String {
    if place.is_empty() { "/".to_owned() } else { place.to_owned() }
}

/// Whether a subschema asks for itself of the same value.
fn comes_back(schema: &Schema, start: At) -> bool {
    let mut seen = vec![false; schema.nodes.len()];
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        let Some(node) = schema.nodes.get(at.0) else { continue };
        for next in node.clauses.iter().flat_map(of_the_same_value) {
            if next == start {
                return true;
            }
            if let Some(seen) = seen.get_mut(next.0).filter(|seen| !**seen) {
                *seen = true;
                open.push(next);
            }
        }
    }
    false
}

fn of_the_same_value(clause: &Clause) -> Vec<At> {
    match clause {
        Clause::All(parts) | Clause::Any(parts) | Clause::One(parts) => parts.clone(),
        Clause::Not(part) | Clause::Refers(part) | Clause::Then(_, part) => vec![*part],
        Clause::If(condition, then, otherwise) => [Some(*condition), *then, *otherwise].into_iter().flatten().collect(),
        _ => Vec::new(),
    }
}
