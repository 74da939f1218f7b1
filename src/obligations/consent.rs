//! Whether the driver agreed to exactly this call (design §6).
//!
//! A live session binds a yes to its calls; then nothing has to be read out of words. In a foreign
//! transcript the words have to do: the last question names the action and every argument that the
//! driver left free, and the next thing the driver says is an unqualified yes. Free is what neither
//! the driver's words nor a stored preference settle.

use std::sync::Arc;

use serde_json::Value as Json;

use super::answer::{Proposal, turns_down};
use super::naming::Said;
use super::preferences::stored_preferences;
use super::proposal::proposal;
use crate::model::ToolCall;
use crate::policy::{Policy, Reading};
use crate::state::{CallRef, History, Utterance, is_mail, is_phone, same};
use crate::tools::{Param, ParamType, Tool, ToolIx};

/// What the driver's last words are to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consent {
    /// A yes to exactly this call.
    Given,
    /// Nobody asked about it, or the driver did not answer the question.
    Unasked,
    /// The answer was a no, or a yes with a condition.
    Refused,
    /// The yes came before the observation that made it necessary.
    Stale,
    /// The question was about another form of this call: the argument it did not name.
    Other(String),
    /// The yes was used up by an earlier call.
    Spent,
}

/// Whether the driver has agreed to this call, and after the result `since` made it necessary.
pub fn granted(policy: &Policy, history: &History, call: &ToolCall, since: Option<CallRef>) -> bool {
    consent(policy, history, call, since) == Consent::Given
}

/// What the driver's last words are to a call that needs a yes. A yes said in the same breath as the
/// request counts for nothing: what was not asked yet cannot be confirmed.
pub fn consent(policy: &Policy, history: &History, call: &ToolCall, since: Option<CallRef>) -> Consent {
    let key = call.key();
    if history.grants(&key) {
        return Consent::Given;
    }
    if !history.words_agree() {
        return Consent::Unasked;
    }
    let Some(tool) = policy.inventory.position(call.tool.as_str()) else { return Consent::Unasked };
    let Some(exchange) = Exchange::last(history) else { return Consent::Unasked };
    let question = policy.lexicon().read(Arc::clone(&exchange.question.words));
    let Some(description) = policy.inventory.at(tool) else { return Consent::Unasked };
    let Some(proposal) = proposal(policy, &question, tool, call) else { return Consent::Unasked };
    let answer = policy.lexicon().read(Arc::clone(&exchange.answer.words));
    let request = exchange.request.map(|u| policy.lexicon().read(Arc::clone(&u.words)));
    let asked: &str = &exchange.question.text;
    let sources = Sources {
        answer: Said::about(&answer, tool).written(&exchange.answer.text),
        asking: Said::only(&question, proposal.asking.clone()).written(asked),
        question: Said::about(&question, tool).written(asked),
        request: request.as_ref().map(|r| Said::about(r, tool)),
        preferences: stored_preferences(policy, history),
    };
    let mut arguments = call.arguments.iter();
    let unnamed = arguments.find(|(name, value)| {
        description.param(name).is_none_or(|param| !sources.name(policy, history, tool, param, value))
    });
    if !is_named(description, call, tool, &question, unnamed.is_none()) {
        return Consent::Unasked;
    }
    let made = history.calls_of(tool).rev().take_while(|(_, past)| past.step > exchange.answer.step);
    if made.into_iter().any(|(_, past)| spends(policy, tool, &past.call, call)) {
        return Consent::Spent;
    }
    if !proposal.agreed(&answer) {
        return Consent::Refused;
    }
    if let Some((argument, _)) = unnamed {
        return Consent::Other(argument.clone());
    }
    if since.and_then(|c| history.call(c)).is_some_and(|past| past.step > exchange.question.step) {
        return Consent::Stale;
    }
    Consent::Given
}

/// The driver's last words, where they turn down exactly this call: the question before them proposed it with every
/// argument, or is the harness's `own` one for it. Whatever else was said of it before, it is not wanted now.
pub fn declined<'h>(
    policy: &Policy,
    history: &'h History,
    call: &ToolCall,
    own: impl FnOnce() -> String,
) -> Option<&'h str> {
    let exchange = Exchange::last(history).filter(|_| !history.grants(&call.key()))?;
    let answer = policy.lexicon().read(Arc::clone(&exchange.answer.words));
    if !turns_down(&answer) {
        return None;
    }
    let tool = policy.inventory.position(call.tool.as_str())?;
    let description = policy.inventory.at(tool)?;
    let question = policy.lexicon().read(Arc::clone(&exchange.question.words));
    let agreed = if *exchange.question.text == *own() {
        Proposal::own(policy, &question, std::slice::from_ref(call)).agreed(&answer)
    } else {
        let proposal = proposal(policy, &question, tool, call)?;
        let asking = Said::only(&question, proposal.asking.clone()).written(&exchange.question.text);
        let mut arguments = call.arguments.iter();
        let named = arguments.all(|(name, value)| {
            description.param(name).is_some_and(|param| asking.names(policy, history, tool, param, value))
        });
        !named || proposal.agreed(&answer)
    };
    (!agreed).then_some(&*exchange.answer.text)
}

/// What the driver's last words are to a call after `earlier` ones of the same draft, any of which may use
/// the yes up.
pub(crate) fn consent_after<'c>(
    policy: &Policy,
    history: &History,
    call: &ToolCall,
    earlier: impl IntoIterator<Item = &'c ToolCall>,
    since: Option<CallRef>,
) -> Consent {
    let answer = consent(policy, history, call, since);
    let tool = policy.inventory.position(call.tool.as_str());
    let mut earlier = earlier.into_iter().filter(|c| c.tool == call.tool);
    let spent = answer == Consent::Given && tool.is_some_and(|t| earlier.any(|c| spends(policy, t, c, call)));
    if spent { Consent::Spent } else { answer }
}

/// Whether a call uses up the yes to another: it is the same, or does the same to the same target. A
/// target is the item of the car, or the addresses a call goes to; a tool without either has one target.
fn spends(policy: &Policy, tool: ToolIx, made: &ToolCall, call: &ToolCall) -> bool {
    if made.key() == call.key() {
        return true;
    }
    let item = policy.model.tool(tool).and_then(|e| e.item.as_ref());
    if let Some(item) = item {
        let target = |c: &ToolCall| c.arguments.get(&item.argument).and_then(Json::as_str).map(|w| item.resolve(w));
        return target(made) == target(call);
    }
    let addresses = |c: &ToolCall| -> Vec<String> {
        let mut found = Vec::new();
        c.arguments.values().for_each(|v| addressed(v, &mut found));
        found
    };
    let (made, call) = (addresses(made), addresses(call));
    made.is_empty() || call.is_empty() || made.iter().any(|a| call.iter().any(|b| same(a, b)))
}

fn addressed(value: &Json, found: &mut Vec<String>) {
    match value {
        Json::String(text) if is_mail(text) || is_phone(text) => found.push(text.clone()),
        Json::Array(items) => items.iter().for_each(|item| addressed(item, found)),
        _ => {}
    }
}

/// The last question, its answer, and the request before it.
struct Exchange<'a> {
    request: Option<&'a Utterance>,
    question: &'a Utterance,
    answer: &'a Utterance,
}

impl<'a> Exchange<'a> {
    /// A yes dies with the next driver turn: only the latest two turns of the driver matter.
    fn last(history: &'a History) -> Option<Self> {
        let (answer, before) = history.driver().split_last()?;
        let request = before.last();
        let question = history.spoken().iter().rev().find(|u| u.step < answer.step)?;
        (request.is_none_or(|r| r.step < question.step)).then_some(Self { request, question, answer })
    }
}

/// Where the arguments of a call may have been named.
struct Sources<'a, 'p> {
    answer: Said<'a, 'p>,
    asking: Said<'a, 'p>,
    question: Said<'a, 'p>,
    request: Option<Said<'a, 'p>>,
    preferences: Vec<&'a str>,
}

impl Sources<'_, '_> {
    /// Whether the question or the driver named an argument. Where the answer or the asking sentence
    /// speaks of it, they decide: a yes to 50 is no yes to the 100 that was first requested.
    fn name(&self, policy: &Policy, history: &History, tool: ToolIx, param: &Param, value: &Json) -> bool {
        let names = |said: &Said<'_, '_>| said.names(policy, history, tool, param, value);
        for said in [&self.answer, &self.asking] {
            if names(said) {
                return true;
            }
            if said.speaks_of(policy, tool, param, value) {
                return false;
            }
        }
        names(&self.question)
            || self.request.as_ref().is_some_and(names)
            || self.preferences.iter().any(|text| {
                let preference = policy.read(text);
                preference.names(tool) && names(&Said::new(&preference))
            })
    }
}

/// Whether the question names the action: what it acts on, or what it does together with a text that
/// only this call carries.
fn is_named(description: &Tool, call: &ToolCall, tool: ToolIx, question: &Reading<'_>, all_named: bool) -> bool {
    let carries_text = call.arguments.keys().filter_map(|name| description.param(name)).any(|p| is_free_text(&p.kind));
    question.names(tool) || (question.does(tool) && carries_text && all_named)
}

fn is_free_text(kind: &ParamType) -> bool {
    match kind {
        ParamType::Text => true,
        ParamType::List(item) => is_free_text(item),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{Talk, call, kitchen};
    use serde_json::json;

    /// What a question and an answer are to starting the ECO program.
    fn eco(question: &str, answer: &str) -> Consent {
        let policy = kitchen();
        let history = Talk::new(&policy).driver("wash up").assistant(question).driver(answer).history();
        consent(&policy, &history, &call("start_dishwasher", json!({"program": "ECO"})), None)
    }

    #[test]
    fn a_plain_yes_to_a_question_that_names_action_and_argument_counts() {
        for question in [
            "Shall I start the dishwasher on eco?",
            "Just to confirm, the dishwasher will run the ECO program. Good to go?",
            "I'd run the dishwasher, program ECO. Please confirm with a yes.",
            "You want me to start the dishwasher in eco mode, right?",
        ] {
            for answer in
                ["Yes.", "Absolutely", "Yeah, go ahead and start it.", "Why not", "Sure, that's not a problem!"]
            {
                assert_eq!(eco(question, answer), Consent::Given, "{question} {answer}");
            }
        }
    }

    #[test]
    fn german_counts_like_english() {
        assert_eq!(eco("Soll ich die Spülmaschine mit dem Programm Eco starten?", "Ja, gerne."), Consent::Given);
        assert_eq!(eco("Soll ich die Spülmaschine mit Eco starten?", "Nein, lieber nicht"), Consent::Refused);
        assert_eq!(eco("Soll ich die Spülmaschine mit Eco starten?", "Ja, aber erst später"), Consent::Refused);
    }

    #[test]
    fn negation_and_qualification_void_it() {
        let question = "Shall I start the dishwasher on eco?";
        for answer in [
            "No, I don't want that",
            "No, that's okay, leave it off",
            "Yes but not now",
            "Yes, in ten minutes",
            "Do you think that is right?",
            "The quick one",
        ] {
            assert_eq!(eco(question, answer), Consent::Refused, "{answer}");
        }
    }

    #[test]
    fn what_is_said_of_something_else_does_not_touch_it() {
        let question = "Shall I start the dishwasher on eco?";
        assert_eq!(eco(question, "Yeah, do it. And if the oven is still on, turn that off."), Consent::Given);
        assert_eq!(eco(question, "Yeah, do it. But not if the dishwasher is empty."), Consent::Refused);
        assert_eq!(eco(question, "Yeah, do it. But wait a minute."), Consent::Refused);
    }

    #[test]
    fn a_statement_or_another_question_asks_for_nothing() {
        assert_eq!(eco("The dishwasher will run eco.", "Yes"), Consent::Unasked);
        assert_eq!(eco("Do you like the music?", "Yes, sure"), Consent::Unasked);
        assert_eq!(eco("Which program should the dishwasher run, eco or quick wash?", "Yes"), Consent::Unasked);
        assert_eq!(eco("The dishwasher is on eco. Shall I open the door?", "Yes"), Consent::Unasked);
    }

    #[test]
    fn the_question_must_name_every_argument_that_the_driver_left_free() {
        assert_eq!(eco("Shall I start the dishwasher?", "Yes"), Consent::Other("program".into()));
        assert_eq!(eco("Shall I start the dishwasher?", "Yes, on eco"), Consent::Given);
        assert_eq!(eco("Shall I start the dishwasher with a quick wash?", "Yes"), Consent::Other("program".into()));
    }

    #[test]
    fn what_the_driver_requested_is_not_free_but_the_question_has_the_last_word() {
        let policy = kitchen();
        let talk = |question: &str| {
            Talk::new(&policy).driver("open the oven door to 80 percent").assistant(question).driver("yes").history()
        };
        let opened = call("move_door", json!({"door": "OVEN", "percentage": 80}));
        let given = |question: &str| consent(&policy, &talk(question), &opened, None);
        assert_eq!(given("It is hot. Do you still want me to open the oven door?"), Consent::Given);
        let also = Talk::new(&policy)
            .driver("open the oven door to 80 percent")
            .assistant("It is hot. Do you still want me to open the oven door?")
            .driver("Yes, I still want to open it. And set the hood to 4, please.")
            .history();
        assert_eq!(consent(&policy, &also, &opened, None), Consent::Given);
        assert_eq!(given("Shall I open the oven door to 40 percent?"), Consent::Other("percentage".into()));
        assert_eq!(given("Shall I open the oven door to 40 or 80 percent?"), Consent::Refused, "it leaves a choice");
        assert_eq!(given("Shall I open the dishwasher door to 80 percent?"), Consent::Other("door".into()));
    }

    #[test]
    fn a_stored_preference_settles_an_argument_as_well() {
        let policy = kitchen();
        let habits = json!({"baking": ["opens the oven door to 40 percent, never fully"]});
        let history = Talk::new(&policy)
            .driver("open the oven door")
            .done("get_habits", json!({}), habits)
            .assistant("It is hot. Do you still want me to open the oven door?")
            .driver("yes")
            .history();
        let given =
            |to: u8| consent(&policy, &history, &call("move_door", json!({"door": "OVEN", "percentage": to})), None);
        assert_eq!(given(40), Consent::Given);
        assert_eq!(given(100), Consent::Other("percentage".into()));
    }

    #[test]
    fn fully_is_the_most_that_can_be_set_and_all_the_collective_value() {
        let policy = kitchen();
        let history = Talk::new(&policy)
            .driver("air the kitchen")
            .assistant("Shall I open all doors fully?")
            .driver("yes please")
            .history();
        let given = |arguments| consent(&policy, &history, &call("move_door", arguments), None);
        assert_eq!(given(json!({"door": "ALL", "percentage": 100})), Consent::Given);
        assert_eq!(given(json!({"door": "OVEN", "percentage": 100})), Consent::Other("door".into()));
    }

    #[test]
    fn on_and_off_are_told_apart() {
        let policy = kitchen();
        let history = Talk::new(&policy)
            .driver("it burns")
            .assistant("Shall I turn off the oven on the left?")
            .driver("yes")
            .history();
        let given = |on: bool| consent(&policy, &history, &call("switch_oven", json!({"on": on})), None);
        assert_eq!(given(false), Consent::Given);
        assert_eq!(given(true), Consent::Other("on".into()));
    }

    #[test]
    fn a_mail_is_bound_to_its_text_and_its_addresses() {
        let policy = kitchen();
        let contact = json!({"con_7": {"id": "con_7", "name": {"first": "Grace"}, "email": "grace@x.org"}});
        let talk = |question: &str| {
            Talk::new(&policy)
                .driver("tell grace what we need")
                .done("get_habits", json!({}), contact.clone())
                .assistant(question)
                .driver("Yes, that works perfectly! Please send it.")
                .history()
        };
        let mail = |text: &str, to: &str| call("send_list", json!({"text": text, "addresses": [to]}));
        let shown = talk("To: grace@x.org\n**Message:** \"Eggs,\nand milk.\"\n\nShall I send it?");
        assert_eq!(consent(&policy, &shown, &mail("Eggs, and milk.", "grace@x.org"), None), Consent::Given);
        assert_ne!(consent(&policy, &shown, &mail("Eggs, and milk.", "bob@x.org"), None), Consent::Given);
        assert_ne!(consent(&policy, &shown, &mail("Eggs.  And beer.", "grace@x.org"), None), Consent::Given);
        let by_name = talk("I'd send \"Eggs, and milk.\" to Grace. Shall I?");
        assert_eq!(consent(&policy, &by_name, &mail("Eggs, and milk.", "grace@x.org"), None), Consent::Given);
    }

    #[test]
    fn it_is_used_up_by_its_call_and_dies_with_the_next_turn() {
        let policy = kitchen();
        let eco = json!({"program": "ECO"});
        let asked =
            || Talk::new(&policy).driver("wash up").assistant("Shall I start the dishwasher on eco?").driver("yes");
        let given = |history: &History| consent(&policy, history, &call("start_dishwasher", eco.clone()), None);
        let read = asked().done("get_door_positions", json!({}), json!({})).history();
        assert_eq!(given(&read), Consent::Given);
        let used = asked().done("start_dishwasher", eco.clone(), json!({})).history();
        assert_eq!(given(&used), Consent::Spent);
        let later = asked().assistant("Hm.").driver("Thanks!").history();
        assert_eq!(given(&later), Consent::Unasked);
    }

    #[test]
    fn it_must_follow_the_observation_that_made_it_necessary() {
        let policy = kitchen();
        let history = Talk::new(&policy)
            .driver("wash up")
            .assistant("Shall I start the dishwasher on eco?")
            .driver("yes")
            .done("get_door_positions", json!({}), json!({}))
            .history();
        let eco = call("start_dishwasher", json!({"program": "ECO"}));
        assert_eq!(consent(&policy, &history, &eco, Some(CallRef(0))), Consent::Stale);
    }

    #[test]
    fn a_bound_yes_needs_no_words() {
        let policy = kitchen();
        let eco = call("start_dishwasher", json!({"program": "ECO"}));
        let mut history = Talk::new(&policy).driver("mach mal").history();
        history.grant(eco.key());
        assert!(granted(&policy, &history, &eco, None));
    }
}
