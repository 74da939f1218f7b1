//! Addresses and phone numbers in a draft: where they come from and whose they are.
//!
//! Neither looks like an identifier, so their provenance is judged by what they are: a mail address or
//! a number is known when a result, the system message or the driver gave it, and belongs to whoever
//! a result showed it with. Running text is written by whoever sent it: an address in the topic of an
//! invitation is no address that a result gives.

use serde_json::Value as Json;

use super::{Exhausted, View};
use crate::model::{Finding, Tier, ToolCall, Words};
use crate::obligations::{is_plain_yes, phones};
use crate::policy::Reading;
use crate::state::{Owners, digits, is_mail, is_phone, same};
use crate::tools::{Param, ParamType};

/// An address of a draft that is not what it should be: the call, the argument and why.
pub(super) struct Stray {
    /// The draft's call.
    pub at: usize,
    /// Why it is wrong.
    pub because: String,
    /// Whether a yes to exactly this call settles it.
    pub open: bool,
}

impl Stray {
    /// What a gate says of it.
    pub(super) fn finding(self, view: &View<'_>, gate: &'static str) -> Finding {
        let finding = Finding::new(gate, Tier::Hard, self.because).at(self.at);
        match view.draft.calls.get(self.at).filter(|_| self.open) {
            Some(call) => finding.settled_by_yes(view.shall_i(call)),
            None => finding,
        }
    }
}

/// Addresses and numbers that nobody gave.
pub(super) fn invented(view: &View<'_>) -> Result<Vec<Stray>, Exhausted> {
    let mut found = Vec::new();
    for (at, argument, values) in addressed(view) {
        for value in values {
            let (because, open) = match given(view, at, argument, value)? {
                Given::Yes => continue,
                Given::InText(tool) => (
                    format!(
                        "`{value}` in `{argument}` stands only in a text of `{tool}`, which somebody else wrote; ask the driver whether it is meant"
                    ),
                    true,
                ),
                Given::No => (
                    format!("`{value}` in `{argument}` stands in no result, and the driver did not say it; look it up"),
                    false,
                ),
            };
            found.push(Stray { at, because, open });
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
        let (mut own, mut unowned) = (false, false);
        for value in &values {
            unowned |= !owners.knows(value);
            own |= spoken(value)?;
        }
        let Some(like) = values.first() else { continue };
        let mut meant: Vec<&str> = Vec::new();
        // What belongs to nobody may be what an older request was not about: only the last one counts for it.
        let heard = view.heard()?;
        for said in heard.iter().take(if unowned { 1 } else { usize::MAX }) {
            view.spend(said.words().len().saturating_mul(owners.longest().max(1)))?;
            meant.extend(owners.meant(like, said.words().spaced()));
        }
        if own || values.iter().any(|v| meant.iter().any(|m| same(m, v))) {
            continue;
        }
        if meant.is_empty() {
            let latest = heard.iter().next();
            let shared = latest.and_then(|said| values.iter().find_map(|v| owners.shared(v, said.words().spaced())));
            if let Some(name) = shared.filter(|_| !granted(view, at)) {
                let because = format!("`{like}` in `{argument}` belongs to one of several whom \"{name}\" names");
                found.push(Stray { at, because, open: true });
            }
            continue;
        }
        // What nobody gave is told by its provenance.
        if unowned && !matches!(given(view, at, argument, like)?, Given::Yes) {
            continue;
        }
        let because = format!("`{like}` in `{argument}` belongs to somebody else than the driver named");
        found.push(Stray { at, because, open: false });
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

/// Whether somebody said yes to exactly this call.
fn granted(view: &View<'_>, at: usize) -> bool {
    view.draft.calls.get(at).is_some_and(|call| view.history.grants(&call.key()))
}

/// Whether somebody gave an address.
enum Given {
    Yes,
    /// It stands in what this tool's result shows as text, and nowhere else.
    InText(String),
    No,
}

fn given(view: &View<'_>, at: usize, argument: &str, value: &str) -> Result<Given, Exhausted> {
    let call = view.draft.calls.get(at);
    if granted(view, at)
        || view.history.identifiers().get(value).is_some_and(|seen| seen.call.is_none())
        || holds(view.history.system(), value)
    {
        return Ok(Given::Yes);
    }
    for said in view.heard()?.iter() {
        view.spend(said.words().len())?;
        if says(said, value) {
            return Ok(Given::Yes);
        }
    }
    if is_agreed(view, value)? {
        return Ok(Given::Yes);
    }
    let tool = call.and_then(|call| view.policy.inventory.get(call.tool.as_str()));
    let param = tool.and_then(|tool| tool.param(argument));
    let kin = param.map(|p| Words::new(&format!("{} {}", p.name.replace('_', " "), p.description)).into_spaced());
    let mut text = None;
    for past in view.history.calls() {
        view.spend(1)?;
        match past.payload().map(|json| shows(json, value, None, kin.as_deref().unwrap_or_default(), 0)) {
            Some(Shown::Member) => return Ok(Given::Yes),
            Some(Shown::Text) => text = Some(past.call.tool.to_string()),
            Some(Shown::Not) | None => {}
        }
    }
    Ok(text.map_or(Given::No, Given::InText))
}

/// Whether the driver said an address or a number that a call goes to.
pub(super) fn is_said(view: &View<'_>, call: &ToolCall) -> Result<bool, Exhausted> {
    let texts = call.arguments.values().flat_map(|v| v.as_array().map_or(std::slice::from_ref(v), Vec::as_slice));
    for address in texts.filter_map(Json::as_str).filter(|text| is_reachable(text)) {
        for said in view.heard()?.iter() {
            view.spend(said.words().len())?;
            if says(said, address) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether the assistant asked about an address and the driver's next words were a yes: whatever else he said left
/// it where it was found.
fn is_agreed(view: &View<'_>, value: &str) -> Result<bool, Exhausted> {
    for (asked, answer) in view.exchanges()? {
        view.spend(asked.words().len())?;
        if asked.words().asks() && is_plain_yes(answer) && says(asked, value) {
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

/// How a result shows an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    Not,
    /// Within a text, or as the text of a member that is no address.
    Text,
    /// As the whole of a member that is called like what is asked for.
    Member,
}

/// `called` says whether a name that stands over what is looked at is one of its kind, where one does; `kin` holds the
/// words of the parameter that the address is for.
fn shows(json: &Json, value: &str, called: Option<bool>, kin: &str, depth: usize) -> Shown {
    if depth > 8 {
        return Shown::Not;
    }
    let whole = if called == Some(false) { Shown::Text } else { Shown::Member };
    match json {
        Json::String(text) if same(text, value) => whole,
        Json::String(text) if holds(text, value) => Shown::Text,
        Json::Number(n) if is_phone(value) && n.to_string() == digits(value) => whole,
        Json::Array(items) => most(items.iter().map(|item| shows(item, value, called, kin, depth + 1))),
        Json::Object(map) => most(map.iter().map(|(key, inner)| {
            // `{"phones": {"mobile": …}}`: one name on the way is enough.
            let called = is_kin(key, kin) || called == Some(true);
            if same(key, value) { Shown::Member } else { shows(inner, value, Some(called), kin, depth + 1) }
        })),
        _ => Shown::Not,
    }
}

fn most(each: impl Iterator<Item = Shown>) -> Shown {
    each.max().unwrap_or(Shown::Not)
}

/// Whether the name of a member shares a word with what it is to be used for, whole or as a part: `email` and
/// `mail`. A `topic` is no phone number, whatever it holds.
fn is_kin(key: &str, kin: &str) -> bool {
    let key = Words::new(&key.replace(['_', '-'], " ")).into_spaced();
    let long = |word: &&str| word.len() >= 4;
    key.split(' ').filter(long).any(|own| kin.split(' ').filter(long).any(|w| w.contains(own) || own.contains(w)))
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

    /// The same with a result of one's own in place of the guests.
    fn found_in(result: Json, said: &[&str], asked: Option<&str>, address: &str) -> (usize, usize) {
        let policy = kitchen();
        let mut talk = Talk::new(&policy).driver("read me the plan").done("get_habits", json!({}), result);
        for said in said {
            talk = talk.driver(said);
        }
        if let Some(asked) = asked {
            talk = talk.assistant(asked).driver("yes");
        }
        let history = talk.history();
        let draft = calls(&[("send_list", json!({"text": "Eggs.", "addresses": [address]}))]);
        let owed = Owed { amended: draft.clone(), ..Owed::default() };
        let view = View::new(&policy, &history, &draft, &owed);
        (invented(&view).unwrap().len(), misdirected(&view).unwrap().len())
    }

    #[test]
    fn an_address_in_running_text_or_in_place_of_another_is_asked_about() {
        let number = "+498005555555";
        for result in [
            json!({"topic": "Call +498005555555 to confirm", "place": "Room 4"}),
            json!({"topic": "+498005555555"}),
            json!([{"entries": [{"topic": "+498005555555", "guest": "Jonas Keller"}]}]),
            json!({"note": "Jonas Keller, new phone number +498005555555."}),
        ] {
            assert_eq!(found_in(result.clone(), &["send it to Jonas Keller"], None, number).0, 1, "{result}");
            assert_eq!(found_in(result, &["send it there"], Some("To +49 800 5555555?"), number).0, 0);
        }
        for result in [
            json!({"phone": "+498005555555"}),
            json!([{"phones": {"mobile": "+49 800 5555555"}}]),
            json!({"numbers": ["+498005555555"]}),
            json!(["+498005555555"]),
            json!({"+498005555555": {"last": "Lee"}}),
        ] {
            assert_eq!(found_in(result.clone(), &["send it to the bakery"], None, number).0, 0, "{result}");
        }
    }

    #[test]
    fn an_address_of_nobody_is_not_for_somebody_whose_own_is_known() {
        let shown = json!({"guests": [{"id": "gue_1", "name": "Ann Lee", "phone": "+49 111 111"}],
            "phones": ["+498005555555"]});
        let number = "+498005555555";
        assert_eq!(found_in(shown.clone(), &["send it to Ann Lee"], None, number), (0, 1));
        assert_eq!(found_in(shown.clone(), &["send it to Ann Lee", "and to the other number"], None, number), (0, 0));
        assert_eq!(found_in(shown, &["send it to Ann Lee"], None, "+49 111 111"), (0, 0));
    }

    #[test]
    fn an_address_of_one_of_several_of_a_name_is_asked_about() {
        assert_eq!(found("send Lee the list", &["ann@x.org"]), (0, 1));
        assert_eq!(found("send Ann the list", &["ann@x.org"]), (0, 0));
    }

    #[test]
    fn the_address_of_somebody_else_is_misdirected_unless_its_owner_was_meant_too() {
        assert_eq!(found("send Ann Lee the list", &["bob@x.org"]), (0, 1));
        assert_eq!(found("send Ann Lee and Bob Lee the list", &["bob@x.org"]), (0, 0));
        assert_eq!(found("send my brother the list", &["bob@x.org"]), (0, 0), "who that is nobody can tell");
        assert_eq!(found("send Ann Lee the list and copy bob@x.org", &["bob@x.org"]), (0, 0));
    }
}
