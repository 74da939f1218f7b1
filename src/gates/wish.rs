//! Whether a write is what the driver asked for: the item, the switch, or anything at all.
//!
//! Only what the driver plainly said otherwise counts. A rule that demands such a call, a preference, an
//! earlier wish or the assistant's own question explains it, and then nothing is found.

use serde_json::Value as Json;

use super::related::is_spoken_of;
use super::said::names;
use super::{Exhausted, View, addresses, stored};
use crate::model::ToolCall;
use crate::obligations::Said;
use crate::policy::{Hit, Meaning, PhraseRole, Reading};
use crate::state::{ItemRef, SetFrom, Side};
use crate::tools::{Tool, ToolIx};

/// Why a write is not what was asked for, if it is not.
pub(super) fn strayed(view: &View<'_>, call: &ToolCall, tool: ToolIx) -> Result<Option<String>, Exhausted> {
    if view.policy.model.tool(tool).is_none_or(|e| e.sets.is_empty()) {
        return Ok(None);
    }
    if view.heard()?.iter().all(|said| !asks_anything(said)) && !was_offered(view, tool)? {
        return Ok(Some(format!("nobody asked for {call}: the driver said nothing that it could follow from")));
    }
    let Some(driver) = view.driver().filter(|d| d.language().is_some() && names(view.policy, d, tool)) else {
        return Ok(None);
    };
    view.spend(driver.words().len())?;
    if is_demanded(view, tool) || is_earlier(view, tool)? {
        return Ok(None);
    }
    let sentences: Vec<u16> = (0..driver.words().sentences()).filter(|s| speaks(driver, *s, tool)).collect();
    let spoils =
        [PhraseRole::Contingent, PhraseRole::Negation, PhraseRole::No, PhraseRole::Relative, PhraseRole::Alternative];
    let clear = |h: &Hit<'_>| !sentences.contains(&driver.sentence(h)) || !spoils.iter().any(|r| h.is(*r));
    if !driver.hits().iter().all(clear) {
        return Ok(None);
    }
    let said = Said::only(driver, sentences);
    let Some(known) = view.policy.inventory.at(tool) else { return Ok(None) };
    Ok(other_item(view, &said, call, tool, known)?.or_else(|| other_switch(view, &said, call, tool)))
}

/// Whether a write of the student must follow from what was said: it sets something or reaches outside, not by
/// identifiers, which are judged by themselves, no rule demands it, and nobody said yes to exactly this call.
pub(super) fn needs_wish(view: &View<'_>, call: &ToolCall, tool: ToolIx) -> bool {
    let changes = view.policy.model.tool(tool).is_some_and(|e| !e.sets.is_empty())
        || view.policy.inventory.at(tool).is_some_and(|t| t.outward);
    // What an identifier stands for is what was spoken of: `take me to Bonn` names no navigation.
    let identifiers = view.history.identifiers();
    let opaque = |value: &Json| value.as_str().is_some_and(|word| identifiers.looks_like_one(word));
    let by_name = |v: &Json| v.as_array().map_or(std::slice::from_ref(v), Vec::as_slice).iter().any(opaque);
    changes
        && !call.arguments.values().any(by_name)
        && call.by.is_none()
        && !is_demanded(view, tool)
        && !view.history.grants(&call.key())
}

/// Why a write has nothing to do with anything that was said, if it has not.
pub(super) fn unrelated(view: &View<'_>, call: &ToolCall, tool: ToolIx) -> Result<Option<String>, Exhausted> {
    let related = is_spoken_of(view, tool)? || is_ordered(view, call, tool)?;
    Ok((!related).then(|| format!("nothing that was said has to do with {call}; draft what was asked for, or ask")))
}

/// Whether the driver said what a tool that reaches outside does, or where it is to reach: `ring Anna` names no phone,
/// and a number is said to be dialled. What is done inside the car shares its verbs with too much else.
fn is_ordered(view: &View<'_>, call: &ToolCall, tool: ToolIx) -> Result<bool, Exhausted> {
    if !view.policy.inventory.at(tool).is_some_and(|t| t.outward) {
        return Ok(false);
    }
    let ordered = view.heard()?.iter().any(|said| said.hits().iter().any(|h| h.means(Meaning::Verb(tool))));
    Ok(ordered || addresses::is_said(view, call)?)
}

/// Whether a sentence names what a tool acts on, and nothing that another write acts on.
fn speaks(driver: &Reading<'_>, sentence: u16, tool: ToolIx) -> bool {
    let mut nouns = driver.nouns().filter(|h| driver.sentence(h) == sentence).peekable();
    nouns.peek().is_some() && nouns.all(|h| h.names(tool))
}

/// Whether words say more than a greeting: a remark may be a wish too.
fn asks_anything(said: &Reading<'_>) -> bool {
    let idle = [PhraseRole::Greeting, PhraseRole::Courtesy];
    let covered = |at: usize| said.hits().iter().any(|h| h.start <= at && at < h.end && idle.iter().any(|r| h.is(*r)));
    (0..said.words().len()).any(|at| !covered(at))
}

/// Whether the assistant spoke of what a tool acts on, so that a bare answer may be to that.
fn was_offered(view: &View<'_>, tool: ToolIx) -> Result<bool, Exhausted> {
    let answered = view.heard()?.iter().any(|said| !said.words().is_empty());
    Ok(answered && view.spoken()?.iter().any(|said| names(view.policy, said, tool)))
}

/// Whether a rule demands such a call along with something that is drafted or was done.
fn is_demanded(view: &View<'_>, tool: ToolIx) -> bool {
    let drafted = |t: &ToolIx| {
        let name = view.policy.inventory.at(*t).map(|t| &t.name);
        view.draft.calls.iter().any(|c| Some(&c.tool) == name)
    };
    let tied = view.policy.subject(tool).map_or(&[] as &[ToolIx], |s| &s.tied);
    tied.iter().any(|t| *t != tool && (drafted(t) || view.executed(*t)))
}

/// Whether something before the latest message may explain the call: the tool was spoken of by either
/// side, or a preference is about it.
fn is_earlier(view: &View<'_>, tool: ToolIx) -> Result<bool, Exhausted> {
    let before = view.heard()?.iter().skip(1).chain(view.spoken()?.iter());
    if before.into_iter().any(|said| names(view.policy, said, tool)) {
        return Ok(true);
    }
    stored::names(view, tool)
}

/// Why a call reaches another item than the one that was named.
fn other_item(
    view: &View<'_>,
    said: &Said<'_, '_>,
    call: &ToolCall,
    tool: ToolIx,
    known: &Tool,
) -> Result<Option<String>, Exhausted> {
    let Some(item) = view.policy.model.tool(tool).and_then(|e| e.item.as_ref()) else { return Ok(None) };
    let (Some(param), Some(word)) =
        (known.param(&item.argument), call.arguments.get(&item.argument).and_then(Json::as_str))
    else {
        return Ok(None);
    };
    let Some(wanted) = item.resolve(word) else { return Ok(None) };
    let mut named: Vec<&String> = Vec::new();
    for member in param.members() {
        view.spend(1)?;
        if said.names(view.policy, view.history, tool, param, &Json::String(member.clone())) {
            named.push(member);
        }
    }
    let reached = |m: &&String| item.resolve(m).is_some_and(|r| r == ItemRef::All || is_same(view, r, wanted));
    // Whoever names every item one by one means all of them.
    let single = |m: &&String| item.resolve(m).is_some_and(|r| r != ItemRef::All);
    let said_too = |m: &String| {
        named.iter().any(|n| item.resolve(n).zip(item.resolve(m)).is_some_and(|(a, b)| is_same(view, a, b)))
    };
    let every = wanted == ItemRef::All && param.members().iter().filter(single).all(said_too);
    if named.is_empty() || every || named.iter().any(reached) {
        return Ok(None);
    }
    let named: Vec<&str> = named.iter().map(|m| m.as_str()).collect();
    Ok(Some(format!("the driver named {}, and {call} acts on another item", named.join(" and "))))
}

fn is_same(view: &View<'_>, a: ItemRef, b: ItemRef) -> bool {
    let one = |r: ItemRef| match r {
        ItemRef::One(i) => Some(i),
        ItemRef::Side { left, .. } if view.history.side() == Side::Left => Some(left),
        ItemRef::Side { right, .. } => Some(right),
        ItemRef::All => None,
    };
    one(a) == one(b)
}

/// Why a call switches the other way than was said.
fn other_switch(view: &View<'_>, said: &Said<'_, '_>, call: &ToolCall, tool: ToolIx) -> Option<String> {
    let effect = view.policy.model.tool(tool)?;
    let sets =
        |name: &str| effect.sets.iter().any(|s| matches!(&s.from, SetFrom::Argument { name: n, .. } if n == name));
    let (name, on) = call.arguments.iter().find_map(|(name, v)| Some((name, v.as_bool()?)).filter(|_| sets(name)))?;
    let wanted = said.switched()?;
    (wanted != on).then(|| {
        let way = if wanted { "on" } else { "off" };
        format!("the driver wants it {way}, and `{name}` of {call} says the opposite")
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, call, calls, kitchen};
    use super::*;
    use crate::obligations::Owed;
    use serde_json::json;

    fn found(talk: impl FnOnce(Talk<'_>) -> Talk<'_>, on: bool) -> Option<String> {
        let policy = kitchen();
        let history = talk(Talk::new(&policy)).history();
        let draft = calls(&[("set_stove_light", json!({"on": on}))]);
        let owed = Owed { amended: draft.clone(), ..Owed::default() };
        let view = View::new(&policy, &history, &draft, &owed);
        let tool = policy.inventory.position("set_stove_light").unwrap();
        strayed(&view, &call("set_stove_light", json!({"on": on})), tool).unwrap()
    }

    #[test]
    fn the_opposite_switch_is_not_what_was_asked_for() {
        assert!(found(|t| t.driver("turn off the stove light"), true).is_some());
        assert!(found(|t| t.driver("stove light off please"), true).is_some());
        assert!(found(|t| t.driver("schalte das Herdlicht ein"), false).is_some());
        assert_eq!(found(|t| t.driver("turn off the stove light"), false), None);
    }

    #[test]
    fn a_condition_a_denial_or_an_earlier_word_leaves_it_open() {
        for driver in ["turn off the stove light if it is on", "don't turn off the stove light"] {
            assert_eq!(found(|t| t.driver(driver), true), None, "{driver}");
        }
        let said = ["I need the stove light", "turn off the stove light"];
        assert_eq!(found(|t| t.driver(said[0]).assistant("Now?").driver(said[1]), true), None);
    }

    #[test]
    fn a_greeting_asks_for_nothing_and_a_remark_may_ask_for_something() {
        assert!(found(|t| t, true).is_some());
        assert!(found(|t| t.driver("Hello there!"), true).is_some());
        assert!(found(|t| t.driver("Guten Morgen"), true).is_some());
        assert_eq!(found(|t| t.driver("it is dark here"), true), None);
        assert_eq!(found(|t| t.driver("allume la lampe"), true), None);
    }
}
