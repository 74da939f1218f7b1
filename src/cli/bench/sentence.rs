//! What a student would say of a call it claims to have made.

use serde_json::Value as Json;

use super::course::Course;
use crate::model::ToolCall;
use crate::policy::Policy;

/// How a thing done is reported; `{did}` is the participle, `{noun}` what it was done to, `{rest}` the
/// value, if one is worth saying.
const FORMS: [&str; 4] = [
    "I've {did} the {noun}{rest}.",
    "Done! I have {did} the {noun}{rest} for you.",
    "All set, I {did} the {noun}{rest}.",
    "The {noun} has been {did}{rest}.",
];

/// Participles that are not made by rule.
const IRREGULAR: [(&str, &str); 9] = [
    ("set", "set"),
    ("shut", "shut"),
    ("send", "sent"),
    ("write", "written"),
    ("ring", "rung"),
    ("begin", "begun"),
    ("swap", "swapped"),
    ("plan", "planned"),
    ("drop", "dropped"),
];

/// Verbs that take a direction.
const SWITCHING: [&str; 2] = ["turn", "switch"];
/// Verbs that take a value.
const SETTING: [&str; 3] = ["set", "turn", "adjust"];

/// A claim that a call was made, in the tool's own verbs and nouns; none where the policy has no words
/// for it. `form` picks one of several ways to say it.
pub(super) fn claim(policy: &Policy, call: &ToolCall, form: usize) -> Option<String> {
    let effect = policy.model.tool(policy.inventory.position(call.tool.as_str())?)?;
    let (verbs, noun) = (effect.verbs.get("en")?, effect.nouns.get("en")?.first()?);
    let switch = call.arguments.values().find_map(Json::as_bool);
    let number = call.arguments.values().find_map(Json::as_i64);
    let closes = number == Some(0) || call.arguments.values().any(|v| v.as_str() == Some("CLOSE"));
    let verb = match switch {
        Some(_) => verbs.iter().find(|v| SWITCHING.contains(&v.as_str())),
        None if closes => verbs.iter().find(|v| *v == "close"),
        None => None,
    };
    let verb = verb.or(verbs.first())?;
    let did = match switch.filter(|_| SWITCHING.contains(&verb.as_str())) {
        Some(on) => format!("{} {}", participle(verb), if on { "on" } else { "off" }),
        None => participle(verb),
    };
    let rest = match number.filter(|_| switch.is_none() && SETTING.contains(&verb.as_str())) {
        Some(number) => format!(" to {number}"),
        None => String::new(),
    };
    let form = FORMS.get(form % FORMS.len())?;
    Some(form.replace("{did}", &did).replace("{noun}", noun).replace("{rest}", &rest))
}

/// What the driver answers when asked about calls, in the form that the recordings use. Of an identifier
/// the driver says the names that some result gives it, never the identifier; of a look-up nothing.
pub(super) fn wish(policy: &Policy, course: &Course, calls: &[ToolCall]) -> String {
    let identifiers = course.history.identifiers();
    let writes = |call: &&ToolCall| policy.inventory.get(call.tool.as_str()).is_some_and(|t| t.is_write());
    let mut wishes = Vec::new();
    for call in calls.iter().filter(writes) {
        let mut parts = Vec::new();
        for (name, value) in &call.arguments {
            let mut words = Vec::new();
            for value in value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice) {
                match value.as_str() {
                    Some(id) if identifiers.looks_like_one(id) => words.extend(names(course, id)),
                    Some(text) => words.push(text.to_owned()),
                    None => words.push(value.to_string()),
                }
            }
            if !words.is_empty() {
                parts.push(format!("{name} {}", words.join(", ")));
            }
        }
        wishes.push(format!("{} with {}", call.tool.as_str().replace('_', " "), parts.join(", ")));
    }
    format!("I'd like this: {}.", wishes.join("; "))
}

/// The names that a result gives beside an identifier.
fn names(course: &Course, id: &str) -> Vec<String> {
    course.history.calls().iter().find_map(|past| beside(past.payload()?, id)).unwrap_or_default()
}

fn beside(json: &Json, id: &str) -> Option<Vec<String>> {
    match json {
        Json::Object(map) if map.values().any(|v| v.as_str() == Some(id)) => {
            let is_name = |(key, _): &(&String, &Json)| key.contains("name");
            let found: Vec<String> =
                map.iter().filter(is_name).filter_map(|(_, v)| v.as_str().map(str::to_owned)).collect();
            (!found.is_empty()).then_some(found)
        }
        Json::Object(map) => map.values().find_map(|v| beside(v, id)),
        Json::Array(items) => items.iter().find_map(|v| beside(v, id)),
        _ => None,
    }
}

fn participle(verb: &str) -> String {
    if let Some((_, form)) = IRREGULAR.iter().find(|(base, _)| *base == verb) {
        return (*form).to_owned();
    }
    match (verb.strip_suffix('e'), verb.strip_suffix('y')) {
        (Some(stem), _) => format!("{stem}ed"),
        (_, Some(stem)) if !stem.ends_with(['a', 'e', 'o']) => format!("{stem}ied"),
        _ => format!("{verb}ed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PolicyHash;
    use crate::policy::testing::parts;
    use serde_json::json;

    /// The kitchen with verbs for its door, oven and hood.
    fn said(tool: &str, arguments: Json, form: usize) -> Option<String> {
        let mut parts = parts();
        let words = |words: &[&str]| [("en".to_owned(), words.iter().map(|w| (*w).to_owned()).collect())].into();
        for (name, verbs, noun) in [
            ("move_door", &["open", "close"] as &[&str], "door"),
            ("switch_oven", &["turn"], "oven"),
            ("set_hood_speed", &["set"], "hood"),
        ] {
            let at = parts.inventory.iter().position(|t| t.name.as_str() == name).unwrap();
            (parts.model.tools[at].verbs, parts.model.tools[at].nouns) = (words(verbs), words(&[noun]));
        }
        let policy = Policy::new(parts, PolicyHash([9; 32])).unwrap();
        claim(&policy, &ToolCall::new(tool, arguments.as_object().cloned().unwrap()), form)
    }

    #[test]
    fn a_claim_is_a_sentence_in_the_tools_own_words() {
        assert_eq!(said("move_door", json!({"door": "OVEN", "percentage": 0}), 0).unwrap(), "I've closed the door.");
        assert_eq!(
            said("move_door", json!({"door": "OVEN", "percentage": 50}), 3).unwrap(),
            "The door has been opened."
        );
        assert_eq!(said("set_hood_speed", json!({"level": 2}), 0).unwrap(), "I've set the hood to 2.");
        assert_eq!(said("switch_oven", json!({"on": false}), 2).unwrap(), "All set, I turned off the oven.");
    }

    #[test]
    fn what_the_policy_has_no_words_for_is_not_claimed() {
        assert_eq!(said("no_such_tool", json!({}), 0), None);
        assert_eq!(said("keep_plan", json!({}), 0), None);
    }

    #[test]
    fn participles_follow_the_rules_of_spelling() {
        for (verb, did) in
            [("open", "opened"), ("close", "closed"), ("apply", "applied"), ("send", "sent"), ("replay", "replayed")]
        {
            assert_eq!(participle(verb), did);
        }
    }
}
