//! What a result tells about the car.

use serde_json::Value as Json;

use super::{AttrType, Attribute, CallRef, EffectModel, Origin, Outcome, ResultShape, World};
use crate::model::Value;
use crate::tools::ToolIx;

/// What a result text means.
pub(super) enum Reading {
    /// It succeeded with this payload.
    Success(Json),
    /// It failed; why, as the tool says.
    Failure(String),
    /// It is no object, so it carries no mark of success although the shape declares one. Prose is how
    /// tools of the planning kind answer; for a write it vouches for nothing.
    Unmarked(Json),
}

impl ResultShape {
    /// Reads a result text.
    pub(super) fn read(&self, text: &str) -> Reading {
        if self.errors.iter().any(|prefix| text.trim_start().starts_with(prefix.as_str())) {
            return Reading::Failure(text.trim().to_owned());
        }
        let Ok(json) = serde_json::from_str::<Json>(text) else {
            let prose = Json::String(text.to_owned());
            return if self.success.is_some() { Reading::Unmarked(prose) } else { Reading::Success(prose) };
        };
        if let Some((field, wanted)) = &self.success {
            match json.get(field).and_then(Json::as_str) {
                Some(word) if word == wanted => {}
                Some(_) => return Reading::Failure(text.to_owned()),
                None if json.is_object() => return Reading::Failure(format!("the result has no `{field}`: {text}")),
                None => return Reading::Unmarked(json),
            }
        }
        let payload = self.payload.as_ref().and_then(|member| json.get(member)).cloned();
        Reading::Success(payload.unwrap_or(json))
    }

    /// What a result text carries when it claims success.
    pub fn success(&self, text: &str) -> Option<Json> {
        match self.read(text) {
            Reading::Success(payload) => Some(payload),
            Reading::Failure(_) | Reading::Unmarked(_) => None,
        }
    }

    /// The result text of an outcome, as a message carries it: reading it gives the outcome back,
    /// where an outcome that nobody can vouch for reads as a failure. None while there is no result.
    pub fn text(&self, outcome: &Outcome) -> Option<String> {
        match outcome {
            Outcome::Pending => None,
            Outcome::Done(payload) => Some(self.success_text(payload)),
            Outcome::Failed(why) => Some(self.failure_text(why)),
            Outcome::Unknown(why) => Some(self.failure_text(&format!("nobody can tell whether it took effect: {why}"))),
        }
    }

    fn success_text(&self, payload: &Json) -> String {
        let mark = self.success.iter().map(|(field, word)| (field.clone(), Json::from(word.as_str())));
        match (&self.payload, payload) {
            (Some(member), _) => mark.chain([(member.clone(), payload.clone())]).collect::<Json>().to_string(),
            (None, Json::Object(map)) => mark.chain(map.clone()).collect::<Json>().to_string(),
            (None, Json::String(prose)) => prose.clone(),
            (None, other) => other.to_string(),
        }
    }

    fn failure_text(&self, why: &str) -> String {
        match (self.errors.first(), &self.success) {
            _ if self.errors.iter().any(|prefix| why.trim_start().starts_with(prefix.as_str())) => why.to_owned(),
            (Some(prefix), _) => format!("{prefix} {why}"),
            (None, Some((field, _))) => serde_json::json!({field: "FAILURE", "why": why}).to_string(),
            (None, None) => serde_json::json!({ "error": why }).to_string(),
        }
    }
}

impl World {
    /// Takes in a reading that belongs to no conversation, such as a read-back under comparison.
    pub fn observe_payload(&mut self, model: &EffectModel, tool: ToolIx, payload: &Json) {
        self.observe(model, tool, payload, CallRef(u32::MAX));
    }

    /// Takes in the result of a successful call: every field of the model that it carries.
    ///
    /// Fields that this tool reads and that the result leaves out become unknown: a result that has
    /// lost a field (a removed one) must not leave an older value standing as if it were fresh.
    pub(super) fn observe(&mut self, model: &EffectModel, tool: ToolIx, payload: &Json, call: CallRef) {
        for (_, attribute) in model.attributes() {
            let pattern = if attribute.read == Some(tool) {
                attribute.field.as_str()
            } else if let Some(also) = attribute.also.iter().find(|a| a.tool == tool) {
                also.field.as_str()
            } else {
                continue;
            };
            let Some(entity) = model.entity(attribute.entity) else { continue };
            for (item, index) in entity.items.iter().zip(0_u16..) {
                let cell = super::CellIx(attribute.base.0.saturating_add(index));
                let json = if pattern.contains('*') {
                    select(payload, &pattern.replacen('*', item, 1))
                } else {
                    select(payload, pattern)
                };
                let value = json.map_or(Value::Unknown, |json| read(attribute, json));
                if value.is_known() || attribute.read == Some(tool) {
                    self.set(cell, value, Origin::Observed(call));
                }
            }
        }
    }
}

fn read(attribute: &Attribute, json: &Json) -> Value {
    let value = Value::from_json(json, attribute.resolution);
    match (&attribute.kind, &value) {
        (AttrType::Bool, Value::Bool(_))
        | (AttrType::Int, Value::Int(_))
        | (AttrType::Word | AttrType::Parts(_), Value::Str(_))
        | (AttrType::List, Value::List(_)) => value,
        // A reading of another type than declared is no knowledge.
        _ => Value::Unknown,
    }
}

/// Walks a dotted path into a result. Where a member's own name has dots, the whole name is tried first.
pub fn select<'a>(json: &'a Json, path: &str) -> Option<&'a Json> {
    json.get(path).or_else(|| path.split('.').try_fold(json, |at, key| at.get(key)))
}

impl super::ObservationField {
    /// The field's value in a payload.
    pub fn value(&self, payload: &Json) -> Value {
        match select(payload, &self.field) {
            Some(Json::String(text)) if self.kind == AttrType::Int => {
                self.number(text).map_or(Value::Unknown, Value::Int)
            }
            Some(json) => Value::from_json(json, self.resolution),
            None => Value::Unknown,
        }
    }

    /// The number in a text that writes its unit behind it: `323.0km`, `37 min`.
    pub fn number(&self, text: &str) -> Option<i64> {
        let number = text.trim();
        let number = number.strip_suffix(self.unit.as_str()).unwrap_or(number).trim_end();
        self.resolution.scale(&number.parse().ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn shapes() -> [ResultShape; 3] {
        let success = Some(("status".to_owned(), "SUCCESS".to_owned()));
        [
            ResultShape {
                success: success.clone(),
                payload: Some("result".to_owned()),
                errors: vec!["Error:".to_owned()],
            },
            ResultShape { success, payload: None, errors: Vec::new() },
            ResultShape { success: None, payload: None, errors: vec!["Error:".to_owned()] },
        ]
    }

    #[test]
    fn a_number_is_read_with_its_unit_behind_it() {
        let field = |unit: &str, resolution| crate::state::ObservationField {
            name: "range".into(),
            field: "range".into(),
            kind: AttrType::Int,
            resolution: crate::model::Resolution::per_unit(resolution),
            unit: unit.into(),
        };
        for (unit, steps, text, expected) in [
            ("km", 1, json!("323.0km"), Value::Int(323)),
            ("km", 10, json!("323.4 km"), Value::Int(3234)),
            ("", 1, json!("12"), Value::Int(12)),
            ("km", 1, json!(7), Value::Int(7)),
            ("km", 1, json!("unknown"), Value::Unknown),
            ("km", 1, json!("3 mi"), Value::Unknown),
        ] {
            assert_eq!(field(unit, steps).value(&json!({"range": text})), expected, "{text}");
        }
    }

    #[test]
    fn a_written_result_reads_back_as_the_outcome_it_came_from() {
        for shape in shapes() {
            let done = shape.text(&Outcome::Done(Arc::new(json!({"position": 3})))).unwrap();
            let Reading::Success(payload) = shape.read(&done) else { panic!("{done}") };
            assert_eq!(payload["position"], 3, "{done}");
            for outcome in [Outcome::Failed("jammed".into()), Outcome::Unknown("no answer".into())] {
                let failed = shape.text(&outcome).unwrap();
                assert!(matches!(shape.read(&failed), Reading::Failure(_)), "{failed}");
            }
        }
    }
}
