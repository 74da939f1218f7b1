//! One pass over a context: each declared member's value, and the first thing that the schema
//! does not allow.

use serde_json::{Map, Value};

use super::set::{Context, MEMBERS, Member, Type};
use crate::policy::{Frame, SlotIx, Val};

/// Records of up to this many entries are scanned, larger ones are looked up.
const SCANNED: usize = 48;

/// A context bound to the members of its schema.
pub(super) struct Bound<'a> {
    values: [Val<'a>; MEMBERS],
    slots: &'a [Option<u16>],
    /// Path of the first member that the schema does not allow as it is: missing, of another type, or
    /// a record with members beyond the declared ones (`context` itself where the path is empty).
    pub(super) mismatch: Option<&'a str>,
}

/// The record whose members are being bound.
struct Open<'a> {
    of: Option<u16>,
    path: &'a str,
    members: Option<&'a Map<String, Value>>,
    /// The entries after the last one that was found in order.
    next: Option<serde_json::map::Iter<'a>>,
    found: usize,
    /// Whether these are all members that it may have.
    declared: bool,
}

impl<'a> Open<'a> {
    fn new(of: Option<u16>, path: &'a str, members: Option<&'a Map<String, Value>>) -> Self {
        Self { of, path, members, next: members.map(Map::iter), found: 0, declared: true }
    }

    /// The entry of a name. Contexts come mostly in the order of the schema, so it is looked for from the last
    /// entry on; a record of many entries is looked up, or its length would count once a member.
    fn get(&mut self, name: &str) -> Option<&'a Value> {
        let members = self.members?;
        let value = if members.len() > SCANNED {
            members.get(name)
        } else {
            let mut ahead = self.next.clone()?;
            match ahead.find(|(key, _)| *key == name) {
                Some((_, value)) => {
                    self.next = Some(ahead);
                    Some(value)
                }
                None if self.found == members.len() => None,
                None => members.iter().find(|(key, _)| *key == name).map(|(_, value)| value),
            }
        };
        self.found += usize::from(value.is_some());
        value
    }

    /// Whether it has more than its members.
    fn overfull(&self) -> bool {
        self.members.is_some_and(|m| m.len() > self.found)
    }
}

impl<'a> Bound<'a> {
    /// Binds a context. Members whose path is in `unknown`, or lies beneath one that is, are not known.
    pub(super) fn new(
        context: &'a Context,
        slots: &'a [Option<u16>],
        root: &'a Map<String, Value>,
        unknown: &[&str],
    ) -> Self {
        let mut bound = Self { values: [Val::Absent; MEMBERS], slots, mismatch: None };
        let mut open = Open::new(None, "", Some(root));
        for (at, member) in context.members.iter().enumerate() {
            if member.parent != open.of || member.kind == Type::Undeclared {
                bound.close(&open);
                let parent = member.parent.and_then(|parent| context.members.get(usize::from(parent)));
                let record = match member.parent.map(|parent| bound.at(parent)) {
                    None => Some(root),
                    Some(Val::Record(record)) => Some(record),
                    Some(_) => None,
                };
                open = Open::new(member.parent, parent.map_or("", |p| p.path.as_str()), record);
                open.declared = member.kind != Type::Undeclared;
            }
            let value = bound.value(member, &mut open, unknown);
            if let Some(place) = bound.values.get_mut(at) {
                *place = value;
            }
        }
        bound.close(&open);
        bound
    }

    fn value(&mut self, member: &'a Member, open: &mut Open<'a>, unknown: &[&str]) -> Val<'a> {
        if unknown.iter().any(|path| beneath(&member.path, path)) {
            // An entry that stands there all the same is not an undeclared one.
            open.get(&member.name);
            return Val::Unknown;
        }
        if open.members.is_none() {
            // Reading a member of what is not there, or no record, is an error in Cedar.
            return Val::Error;
        }
        match open.get(&member.name) {
            None => {
                if member.required {
                    self.wrong(&member.path);
                }
                Val::Absent
            }
            Some(value) => {
                if !member.kind.admits(value) {
                    self.wrong(&member.path);
                }
                val(value)
            }
        }
    }

    fn close(&mut self, open: &Open<'a>) {
        if open.declared && open.overfull() {
            self.wrong(open.path);
        }
    }

    fn wrong(&mut self, path: &'a str) {
        self.mismatch = self.mismatch.or(Some(path));
    }

    /// The value of a member.
    pub(super) fn at(&self, member: u16) -> Val<'a> {
        self.values.get(usize::from(member)).copied().unwrap_or(Val::Error)
    }
}

impl Frame for Bound<'_> {
    fn load(&self, slot: SlotIx) -> Val<'_> {
        self.slots.get(usize::from(slot.0)).copied().flatten().map_or(Val::Error, |member| self.at(member))
    }

    /// Whether an optional member is there is as unknown as its value.
    fn has(&self, slot: SlotIx) -> Val<'_> {
        match self.load(slot) {
            Val::Absent => Val::Bool(false),
            known @ (Val::Error | Val::Unknown) => known,
            _ => Val::Bool(true),
        }
    }
}

/// Whether a path is another one or lies beneath it.
fn beneath(path: &str, of: &str) -> bool {
    path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A JSON value as rules see it. Cedar has neither null nor fractions.
fn val(value: &Value) -> Val<'_> {
    match value {
        Value::Bool(b) => Val::Bool(*b),
        Value::Number(n) => n.as_i64().map_or(Val::Error, Val::Int),
        Value::String(s) => Val::Word(s),
        Value::Array(items) => Val::Json(items),
        Value::Object(members) => Val::Record(members),
        Value::Null => Val::Error,
    }
}

impl Type {
    /// Whether a value is of this type. The compiler bounds how deep types nest.
    pub fn admits(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Bool, Value::Bool(_)) | (Self::Text, Value::String(_)) => true,
            (Self::Long, Value::Number(n)) => n.as_i64().is_some(),
            (Self::Set(of), Value::Array(items)) => items.iter().all(|item| of.admits(item)),
            (Self::Record | Self::AnyRecord, Value::Object(_)) | (Self::Extension(_), Value::String(_)) => true,
            (Self::Extension(name), Value::Object(o)) => {
                o.get("__extn").and_then(|e| e.get("fn")).and_then(Value::as_str) == Some(name)
            }
            (Self::Entity(name), Value::Object(o)) => {
                let named = o.get("__entity").unwrap_or(value);
                let text = |member| named.get(member).and_then(Value::as_str);
                text("type") == Some(name) && text("id").is_some()
            }
            _ => false,
        }
    }
}
