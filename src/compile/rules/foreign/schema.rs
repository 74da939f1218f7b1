//! The contexts that a foreign schema declares, as the members that evaluation binds.

use serde_json::{Map, Value};

use crate::policy::foreign::{Context, MEMBERS, Member, Type};

/// Deepest nesting of records and sets in a context.
const DEPTH: usize = 8;

/// A schema in Cedar's JSON form.
pub(super) struct Declared(Map<String, Value>);

/// Why a context cannot be bound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ContextFault {
    #[error("`{0}` nests more than {DEPTH} deep; flatten it")]
    Deep(String),
    #[error("the context has more than {MEMBERS} members, nested ones included; leave out what no rule reads")]
    TooMany,
    #[error("`{0}` has a dot or no letters in its name, so no path names it; rename it")]
    Name(String),
    #[error("`{0}` is of the unknown type `{1}`")]
    Type(String, String),
}

impl Declared {
    pub(super) fn new(json: Value) -> Self {
        match json {
            Value::Object(namespaces) => Self(namespaces),
            _ => Self(Map::new()),
        }
    }

    /// The context of an action; `namespace` is empty where it has none.
    pub(super) fn context(&self, namespace: &str, action: &str) -> Result<Context, ContextFault> {
        let declared = self.0.get(namespace).and_then(|n| n.get("actions")).and_then(|a| a.get(action));
        let context = declared.and_then(|a| a.get("appliesTo")).and_then(|a| a.get("context"));
        let mut members = Vec::new();
        let mut level = match context {
            Some(kind) => vec![(None, String::new(), self.attributes(namespace, "context", kind)?)],
            None => Vec::new(),
        };
        // One level of records after the other, so that the members of a record stand together.
        for _ in 0..DEPTH {
            let mut next = Vec::new();
            for (parent, path, record) in level {
                for (name, (namespace, declared)) in record {
                    self.member(&mut members, &mut next, parent, &path, name, (&namespace, &declared))?;
                }
            }
            level = next;
        }
        match level.first() {
            Some((_, path, _)) => Err(ContextFault::Deep(path.clone())),
            None => Ok(Context { members }),
        }
    }

    fn member(
        &self,
        members: &mut Vec<Member>,
        next: &mut Vec<(Option<u16>, String, Record)>,
        parent: Option<u16>,
        path: &str,
        name: String,
        (namespace, declared): (&str, &Value),
    ) -> Result<(), ContextFault> {
        if name.is_empty() || name.contains('.') {
            return Err(ContextFault::Name(name));
        }
        let at = u16::try_from(members.len()).ok().filter(|at| usize::from(*at) < MEMBERS);
        let at = at.ok_or(ContextFault::TooMany)?;
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let kind = self.kind(namespace, &path, declared, DEPTH)?;
        if kind == Type::Record {
            let attributes = self.attributes(namespace, &path, declared)?;
            if !attributes.is_empty() {
                next.push((Some(at), path.clone(), attributes));
            }
        }
        let required = declared.get("required").and_then(Value::as_bool).unwrap_or(true);
        members.push(Member { parent, name, path, kind, required, slot: None });
        Ok(())
    }

    /// The attributes of a record, sorted by name, each with the namespace that its type names are
    /// looked up in.
    fn attributes(&self, namespace: &str, path: &str, declared: &Value) -> Result<Record, ContextFault> {
        let (namespace, record) = self.resolve(namespace, path, declared)?;
        let attributes = record.get("attributes").and_then(Value::as_object);
        let mut attributes: Record = attributes
            .into_iter()
            .flatten()
            .map(|(name, kind)| (name.clone(), (namespace.clone(), kind.clone())))
            .collect();
        attributes.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(attributes)
    }

    fn kind(&self, namespace: &str, path: &str, declared: &Value, depth: usize) -> Result<Type, ContextFault> {
        let depth = depth.checked_sub(1).ok_or_else(|| ContextFault::Deep(path.to_owned()))?;
        let (namespace, kind) = self.resolve(namespace, path, declared)?;
        let name = || text(&kind, "name").to_owned();
        match text(&kind, "type") {
            "Boolean" | "Bool" => Ok(Type::Bool),
            "Long" => Ok(Type::Long),
            "String" => Ok(Type::Text),
            "Record" => Ok(Type::Record),
            "Entity" => Ok(Type::Entity(self.entity(&namespace, &name()).unwrap_or_else(name))),
            "Extension" => Ok(Type::Extension(name())),
            "Set" => {
                let element = kind.get("element").cloned().unwrap_or_default();
                let element = match self.kind(&namespace, path, &element, depth)? {
                    Type::Record => Type::AnyRecord,
                    other => other,
                };
                Ok(Type::Set(Box::new(element)))
            }
            other => Err(ContextFault::Type(path.to_owned(), other.to_owned())),
        }
    }

    /// Follows names of common types to the type itself, as Cedar does: in its own namespace first.
    fn resolve(&self, namespace: &str, path: &str, declared: &Value) -> Result<(String, Value), ContextFault> {
        let (mut namespace, mut kind) = (namespace.to_owned(), declared.clone());
        for _ in 0..=DEPTH {
            let name = match (text(&kind, "type"), text(&kind, "name")) {
                ("EntityOrCommon", name) => name.to_owned(),
                ("Boolean" | "Bool" | "Long" | "String" | "Record" | "Set" | "Entity" | "Extension", _) => {
                    return Ok((namespace, kind));
                }
                (name, _) => name.to_owned(),
            };
            let found = candidates(&namespace, &name).into_iter().find_map(|(within, plain)| {
                let common = self.0.get(&within)?.get("commonTypes")?.get(&plain)?.clone();
                Some((within, common))
            });
            match found {
                Some((within, common)) => (namespace, kind) = (within, common),
                None => {
                    let plain = name.strip_prefix("__cedar::").unwrap_or(&name);
                    let type_ = match plain {
                        "Bool" | "Boolean" | "Long" | "String" => serde_json::json!({ "type": plain }),
                        _ if self.entity(&namespace, &name).is_some() => {
                            serde_json::json!({ "type": "Entity", "name": name })
                        }
                        "ipaddr" | "decimal" | "datetime" | "duration" => {
                            serde_json::json!({ "type": "Extension", "name": plain })
                        }
                        _ => return Err(ContextFault::Type(path.to_owned(), name)),
                    };
                    return Ok((namespace, type_));
                }
            }
        }
        Err(ContextFault::Deep(path.to_owned()))
    }

    /// The full name of an entity type.
    fn entity(&self, namespace: &str, name: &str) -> Option<String> {
        candidates(namespace, name).into_iter().find_map(|(within, plain)| {
            self.0.get(&within)?.get("entityTypes")?.get(&plain)?;
            Some(if within.is_empty() { plain } else { format!("{within}::{plain}") })
        })
    }
}

/// Attributes by name; each with the namespace it was declared in.
type Record = Vec<(String, (String, Value))>;

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// Where a type name can be declared: with its own namespace, else in the current one, else in none.
fn candidates(namespace: &str, name: &str) -> Vec<(String, String)> {
    match name.rsplit_once("::") {
        Some((within, plain)) => vec![(within.to_owned(), plain.to_owned())],
        None => vec![(namespace.to_owned(), name.to_owned()), (String::new(), name.to_owned())],
    }
}
