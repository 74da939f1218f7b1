//! Addresses and phone numbers in a draft: where they come from and whose they are.
//!
//! Neither looks like an identifier, so their provenance is judged by what they are: a mail address or
//! a number is known when a result, the system message or the driver gave it, and belongs to whoever
//! a result showed it with.

use serde_json::Value as Json;

use super::{Exhausted, View};
use crate::obligations::phones;
use crate::policy::Reading;
use crate::state::{Owners, digits, is_mail, is_phone, same};
use crate::tools::{Param, ParamType};

/// An address of a draft that is not what it should be: the call, the argument and why.
pub(super) struct Stray {
    /// The draft's call.
    pub at: usize,
    /// Why it is wrong.
    pub because: String,
}

/// Addresses and numbers that nobody gave.
pub(super) fn invented(view: &View<'_>) -> Result<Vec<Stray>, Exhausted> {
    let mut found = Vec::new();
    for (at, argument, values) in addressed(view) {
        for value in values {
            if !is_given(view, value)? {
                let because =
                    format!("`{value}` in `{argument}` stands in no result, and the driver did not say it; look it up");
                found.push(Stray { at, because });
            }
        }
    }
    Ok(found)
}

/// Addresses and numbers of somebody else than the driver named.
pub(super) fn misdirected(view: &View<'_>) -> Result<Vec<Stray>, Exhausted> {
    let mut found = Vec::new();
    let addressed = addressed(view);
    if addressed.is_empty() {
        return Ok(found);
    }
    let owners = Owners::seen(view.history, |steps| view.spend(steps))?;
    for (at, argument, values) in addressed {
        let spoken = |v: &&str| view.heard().map(|h| h.iter().any(|said| says(said, v)));
        let mut own = false;
        for value in &values {
            own |= !owners.knows(value) || spoken(value)?;
        }
        let Some(like) = values.first() else { continue };
        let mut meant: Vec<&str> = Vec::new();
        for said in view.heard()?.iter() {
            view.spend(said.words().len().saturating_mul(owners.longest().max(1)))?;
            meant.extend(owners.meant(like, said.words().spaced()));
        }
        if own || meant.is_empty() || values.iter().any(|v| meant.iter().any(|m| same(m, v))) {
            continue;
        }
        let because = format!("`{like}` in `{argument}` belongs to somebody else than the driver named");
        found.push(Stray { at, because });
    }
    Ok(found)
}

/// Every argument of a call that reaches outside which holds addresses or numbers.
fn addressed<'v>(view: &View<'v>) -> Vec<(usize, &'v str, Vec<&'v str>)> {
    let mut found = Vec::new();
    for (at, call) in view.draft.calls.iter().enumerate().filter(|(_, c)| c.by.is_none()) {
        let Some(tool) = view.policy.inventory.get(call.tool.as_str()).filter(|t| t.is_write()) else { continue };
        for (name, value) in &call.arguments {
            let Some(param) = tool.param(name).filter(|p| is_text(p)) else { continue };
            let texts: Vec<&str> = match value {
                Json::String(text) => vec![text.as_str()],
                Json::Array(items) => items.iter().filter_map(Json::as_str).collect(),
                _ => continue,
            };
            let values: Vec<&str> =
                texts.into_iter().filter(|t| !param.members().iter().any(|m| m == t) && is_reachable(t)).collect();
            if !values.is_empty() {
                found.push((at, name.as_str(), values));
            }
        }
    }
    found
}

fn is_text(param: &Param) -> bool {
    match &param.kind {
        ParamType::Text => true,
        ParamType::List(item) => **item == ParamType::Text,
        _ => false,
    }
}

/// Whether a text is where somebody can be reached.
fn is_reachable(text: &str) -> bool {
    is_mail(text) || is_phone(text)
}

fn is_given(view: &View<'_>, value: &str) -> Result<bool, Exhausted> {
    if view.history.identifiers().get(value).is_some() || holds(view.history.system(), value) {
        return Ok(true);
    }
    for said in view.heard()?.iter() {
        view.spend(said.words().len())?;
        if says(said, value) {
            return Ok(true);
        }
    }
    for past in view.history.calls() {
        view.spend(1)?;
        if past.payload().is_some_and(|json| shows(json, value, 0)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether somebody said an address or a number, in whatever groups.
fn says(said: &Reading<'_>, value: &str) -> bool {
    let words = || said.words().iter().any(|(_, word)| same(word, value));
    words() || (is_phone(value) && phones(said).iter().any(|n| ends_alike(n, &digits(value))))
}

fn shows(json: &Json, value: &str, depth: usize) -> bool {
    if depth > 8 {
        return false;
    }
    match json {
        Json::String(text) => same(text, value) || holds(text, value),
        Json::Number(n) => is_phone(value) && n.to_string() == digits(value),
        Json::Array(items) => items.iter().any(|item| shows(item, value, depth + 1)),
        Json::Object(map) => map.iter().any(|(key, inner)| same(key, value) || shows(inner, value, depth + 1)),
        _ => false,
    }
}

/// Whether a prose text holds an address by itself, not as a part of a longer one.
fn holds(text: &str, value: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '@');
    text.match_indices(value).any(|(at, _)| {
        let (before, after) = (text.get(..at), text.get(at + value.len()..));
        edge(before.and_then(|b| b.chars().next_back())) && edge(after.and_then(|a| a.chars().next()))
    })
}

/// Whether two numbers are the same but for the country's code or the zero before the area's.
fn ends_alike(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    short.len() >= 5 && long.ends_with(short) && long.len() - short.len() <= 3
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, kitchen};
    use super::*;
    use crate::obligations::Owed;
    use serde_json::json;

    /// How many addresses are invented and how many misdirected.
    fn found(driver: &str, addresses: &[&str]) -> (usize, usize) {
        let policy = kitchen();
        let guest =
            |id: &str, name: &str, mail: &str| json!({"id": id, "name": {"first": name, "last": "Lee"}, "mail": mail});
        let guests = json!([guest("gue_1", "Ann", "ann@x.org"), guest("gue_2", "Bob", "bob@x.org")]);
        let history = Talk::new(&policy).driver(driver).done("get_habits", json!({}), guests).history();
        let draft = calls(&[("send_list", json!({"text": "Eggs.", "addresses": addresses}))]);
        let owed = Owed { amended: draft.clone(), ..Owed::default() };
        let view = View::new(&policy, &history, &draft, &owed);
        (invented(&view).unwrap().len(), misdirected(&view).unwrap().len())
    }

    #[test]
    fn what_a_result_or_the_driver_gave_is_known() {
        assert_eq!(found("send Ann Lee the list", &["ann@x.org"]), (0, 0));
        assert_eq!(found("send it to joe@y.org", &["joe@y.org"]), (0, 0));
        assert_eq!(found("send it to 0800 123456", &["0800123456"]), (0, 0));
        assert_eq!(found("send it to 0800 123456", &["+49 800 123456"]), (0, 0), "with the country's code");
    }

    #[test]
    fn what_nobody_gave_is_invented_however_alike() {
        assert_eq!(found("send Ann Lee the list", &["ann@y.org"]).0, 1);
        assert_eq!(found("send it to joe@y.org", &["joe@y.or"]).0, 1);
        assert_eq!(found("send it to 0800 123456", &["0800 123457", "0800 654321"]).0, 2);
    }

    #[test]
    fn the_address_of_somebody_else_is_misdirected_unless_its_owner_was_meant_too() {
        assert_eq!(found("send Ann Lee the list", &["bob@x.org"]), (0, 1));
        assert_eq!(found("send Ann Lee and Bob Lee the list", &["bob@x.org"]), (0, 0));
        assert_eq!(found("send my brother the list", &["bob@x.org"]), (0, 0), "who that is nobody can tell");
        assert_eq!(found("send Ann Lee the list and copy bob@x.org", &["bob@x.org"]), (0, 0));
    }
}
