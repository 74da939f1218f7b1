//! Questions that a read would answer.

use super::said::{steps, subjects, takes_choice};
use super::{Exhausted, Findings, View, gate, stored};
use crate::model::{Finding, Tier};
use crate::policy::{Hit, PhraseRole, Reading};
use crate::tools::{ToolIx, Topic};

gate! {
    /// The driver is not asked for a value before the preferences that may name it were read.
    ///
    /// # Why
    /// Whoever told the car once how they like it does not want to be asked again at 130 km/h.
    ///
    /// # Blocks
    /// A reply that asks openly (`which`, `how far`) for what a tool sets, while the category of stored
    /// preferences of that tool is unread; also for what a search of a category would need. And, once it
    /// was read: a first question for the value of one tool, where the driver named neither that tool's
    /// subject nor any other ("I'm too warm" has many answers).
    ///
    /// # Allows
    /// Questions for a yes, for what is now, and among results of this turn's own look-up; questions about
    /// subjects without such a category; wishes for more, less or the same, which count from a reading.
    ///
    /// # Remedy
    /// The read of exactly that category. No other read is demanded.
    "ask-guard", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(reply) = view.reply() else { return Ok(()) };
    let Some(asked) = question(view, reply)? else { return Ok(()) };
    let mut topics: Vec<&Topic> = Vec::new();
    for tool in asked.about.iter().filter(|t| !is_relative(view, **t)) {
        topics.extend(view.policy.model.tool(*tool).and_then(|e| e.preference.as_ref()));
    }
    let searched = if reply.words().is_question(asked.sentence) { searched(view, reply)? } else { Vec::new() };
    topics.extend(searched.iter());
    let mut demanded = Vec::new();
    for topic in topics {
        let Some(read) = stored::unread_topic(view, topic) else { continue };
        if demanded.contains(&read.key()) {
            continue;
        }
        demanded.push(read.key());
        let because = format!("the driver is asked before the stored preferences about `{}` were read", topic.name());
        findings.push(Finding::new(NAME, Tier::Owed, because).with_remedy(vec![read]));
    }
    if let Some(because) = narrowed(view, &asked).filter(|_| demanded.is_empty()) {
        findings.push(Finding::new(NAME, Tier::Hard, because));
    }
    Ok(())
}

/// An open question: what it is about.
struct Asked {
    sentence: u16,
    about: Vec<ToolIx>,
    /// Whether the question itself names that, not only the words around it.
    itself: bool,
}

/// The reply's open question for a value, if it asks one. A question for leave to act, which may go on
/// with `which`, is none, and neither is one for what is now.
fn question(view: &View<'_>, reply: &Reading<'_>) -> Result<Option<Asked>, Exhausted> {
    for sentence in 0..reply.words().sentences() {
        let is_question = reply.words().is_question(sentence);
        let before =
            |role, ask: &Hit<'_>| reply.role(role).any(|h| reply.sentence(h) == sentence && h.start < ask.start);
        let open = reply
            .role(PhraseRole::AskValue)
            .filter(|h| reply.sentence(h) == sentence)
            .any(|ask| (is_question && !before(PhraseRole::Proceed, ask)) || before(PhraseRole::Request, ask));
        let either = is_question && reply.sentence_has(sentence, PhraseRole::Or);
        if !(open || either) || reply.sentence_has(sentence, PhraseRole::Current) {
            continue;
        }
        let mut about = about_sentence(view, reply, Some(sentence))?;
        if !open && !about.iter().any(|tool| offered_words(view, reply, sentence, *tool) > 1) {
            continue;
        }
        let itself = !about.is_empty();
        if about.is_empty() {
            about = about_sentence(view, reply, None)?;
        }
        if let Some(driver) = view.driver().filter(|_| about.is_empty()) {
            about = about_sentence(view, driver, None)?;
        }
        return Ok(Some(Asked { sentence, about, itself }));
    }
    Ok(None)
}

/// How many words of a tool's enumerations a sentence puts to choice.
fn offered_words(view: &View<'_>, reply: &Reading<'_>, sentence: u16, tool: ToolIx) -> usize {
    let params = view.policy.inventory.at(tool).map_or(&[][..], |t| &t.params);
    let says = |member: &&String| {
        member.split('_').all(|part| {
            let part = part.to_lowercase();
            let listed = view.policy.lexicon().value(&part);
            let inside = |h: &&Hit<'_>| reply.sentence(h) == sentence;
            reply.hits().iter().filter(inside).any(|h| listed.is_some_and(|l| h.means(l)))
                || reply.words().iter().any(|(w, text)| w.sentence == sentence && text == part)
        })
    };
    params.iter().map(|p| p.members().iter().filter(says).count()).max().unwrap_or_default()
}

/// Whether the driver wants more, less or the same of what a tool sets: that counts from a reading.
fn is_relative(view: &View<'_>, tool: ToolIx) -> bool {
    view.driver().is_some_and(|driver| steps(view.policy, driver, tool).iter().any(|step| !step.other))
}

/// Why a question takes one of several ways for granted: it asks for the value of a tool whose subject
/// the driver never named, nor that of any other.
fn narrowed(view: &View<'_>, asked: &Asked) -> Option<String> {
    let [tool] = asked.about.as_slice() else { return None };
    let known = view.policy.inventory.at(*tool).filter(|_| asked.itself)?;
    let names_write = |reading: &Reading<'_>| {
        reading
            .nouns()
            .flat_map(Hit::nouns)
            .any(|t| view.policy.inventory.at(t).is_some_and(crate::tools::Tool::is_write))
    };
    let said = view.heard().ok()?;
    (view.history.spoken().is_empty() && !said.iter().any(names_write)).then(|| {
        format!("the driver named neither `{}` nor another way; name the ways there are and ask which one", known.name)
    })
}

/// Writes that set what a text, or one sentence of it, is about, as far as preferences may settle them.
fn about_sentence(view: &View<'_>, text: &Reading<'_>, sentence: Option<u16>) -> Result<Vec<ToolIx>, Exhausted> {
    let mut tools = Vec::new();
    for noun in text.nouns().filter(|h| sentence.is_none_or(|s| text.sentence(h) == s)) {
        for tool in subjects(view.policy, noun) {
            view.spend(1)?;
            if !tools.contains(&tool) && takes_choice(view.policy, tool) && view.available(tool).is_some() {
                tools.push(tool);
            }
        }
    }
    Ok(tools)
}

/// Topics that a search takes as a word of its own, spoken of here and not searched in this turn.
fn searched(view: &View<'_>, reply: &Reading<'_>) -> Result<Vec<Topic>, Exhausted> {
    let preferences = view.policy.model.roles.preferences.and_then(|ix| view.available(ix));
    let Some(preferences) = preferences else { return Ok(Vec::new()) };
    let mut topics = preferences.topics();
    topics.retain(|topic| is_category(view, topic.name()));
    let mut found = Vec::new();
    for topic in topics {
        view.spend(reply.words().len())?;
        let spoken = [Some(reply), view.driver()].into_iter().flatten().any(|text| speaks_of(text, topic.name()));
        let word = topic.name();
        let now = view.this_turn().any(|past| past.call.arguments.values().any(|v| v.as_str() == Some(word)));
        if spoken && !now {
            found.push(topic);
        }
    }
    Ok(found)
}

/// Whether some other read takes a topic as a word of its own.
fn is_category(view: &View<'_>, word: &str) -> bool {
    let own = view.policy.model.roles.preferences;
    let others =
        (0_u16..).map(ToolIx).zip(view.policy.inventory.iter()).filter(|(ix, t)| Some(*ix) != own && !t.is_write());
    others.flat_map(|(_, t)| &t.params).any(|p| p.members().iter().any(|m| m == word))
}

/// Whether a text speaks of a category: all words of its name, apart from their endings.
fn speaks_of(text: &Reading<'_>, name: &str) -> bool {
    name.split('_').any(|part| {
        let stem: String = part.chars().take(part.chars().count().saturating_sub(3).max(5)).collect();
        stem.len() >= 5 && text.words().iter().any(|(_, word)| word.starts_with(&stem))
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use crate::state::History;
    use serde_json::json;

    fn found(reply: &str, history: impl FnOnce(Talk<'_>) -> History) -> Vec<Finding> {
        let policy = kitchen();
        check(&GATE, &policy, &history(Talk::new(&policy)), &Draft::reply(reply))
    }

    fn asked(reply: &str) -> Vec<String> {
        let found = found(reply, |talk| talk.driver("please turn on the hood").history());
        found.iter().flat_map(|f| &f.remedy).map(ToString::to_string).collect()
    }

    #[test]
    fn blocks_an_open_question_with_the_read_of_its_category() {
        let read = vec![r#"get_habits(topic: "baking")"#.to_owned()];
        assert_eq!(asked("Which level would you like for the hood?"), read);
        assert_eq!(asked("Sure! How high would you like it?"), read, "the driver named the hood");
        assert_eq!(asked("Just let me know how high you want the hood."), read);
    }

    #[test]
    fn blocks_a_choice_among_words_of_an_enumeration() {
        let found = found("Do you want to open the oven door or the dishwasher door?", |talk| {
            talk.driver("open a door please").history()
        });
        assert_eq!(found[0].remedy[0].to_string(), r#"get_habits(topic: "washing")"#);
    }

    #[test]
    fn allows_questions_for_a_yes_for_what_is_now_and_relative_clauses() {
        for reply in [
            "Shall I set the hood to 3?",
            "Do you want me to tell you which hood this is?",
            "That opens the hood, which, by the way, lets air in. Shall I proceed?",
            "What is the hood's level right now, currently?",
            "The hood is on.",
        ] {
            assert_eq!(asked(reply), Vec::<String>::new(), "{reply}");
        }
    }

    #[test]
    fn allows_the_question_once_the_category_was_read() {
        let read = |talk: Talk<'_>| {
            talk.driver("please turn on the hood").done("get_habits", json!({"topic": "baking"}), json!([])).history()
        };
        assert_eq!(found("Which level would you like for the hood?", read), []);
    }

    #[test]
    fn blocks_a_question_that_takes_one_of_several_ways_for_granted() {
        let read = |said: &str, talk: Talk<'_>| {
            talk.driver(said).done("get_habits", json!({"topic": "baking"}), json!([])).history()
        };
        let reply = "What temperature would you like?";
        assert_eq!(found(reply, |talk| read("I am too warm in here", talk))[0].tier, Tier::Hard);
        assert_eq!(found(reply, |talk| read("it is too warm, change the temperature", talk)), []);
    }
}
