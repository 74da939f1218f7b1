//! What a local model is told. Every text of others stands on one line of its own: a line break would end it.

use super::words::Words;
use crate::state::AttrType;

/// The fixed text of the generator: the task, and a sentence of each kind from a boat.
pub(super) const FIXED: &str = r#"A policy for the assistant of a car is turned into Cedar rules, one sentence at a time. A rule forbids a call of a tool until it is satisfied: by a remedy, by the driver's consent, by a word said. What no sentence forbids is permitted.

Tools: set_engine(speed), set_pump(level)
State: Car.pump_level: number
Sentence: When the engine is set above speed 6, the pump has to run at level 2 at least.
Answer: @kind("auto-action") @remedy("set_pump(level: 2)") forbid (principal, action == Action::"set_engine", resource is Car) when { context.input.speed > 6 && resource.pump_level < 2 };

Tools: set_horn(on), set_engine(speed)
State: Car.anchor_down: bool
Sentence: The horn may not be switched on while the anchor is down.
Answer: @kind("prohibition") forbid (principal, action == Action::"set_horn", resource is Car) when { context.input.on && context.before.anchor_down };

Tools: open_hatch(percentage)
State: Car.waves: bool
Sentence: Ask before the hatch is opened among waves.
Answer: @kind("confirmation") @consent("There are waves. Open the hatch anyway?") forbid (principal, action == Action::"open_hatch", resource is Car) when { context.input.percentage > 0 && context.before.waves };

Tools: play_music(title)
State:
Sentence: Choose music that fits the mood.
Answer: advisory: play_music

Tools:
State:
Sentence: Be friendly.
Answer: out-of-reach: A tone is no call.

"#;

/// The fixed text before a question of the rubric.
pub(super) const JUDGE: &str = r#"A sentence of a policy was turned into rules. Answer the question about them with yes or no.

Sentence: The horn may not be switched on while the anchor is down.
Rules: forbid set_horn when context.input.on && context.before.anchor_down
Question: Do the rules say what the sentence says?
Right: yes

Sentence: The horn may not be switched on while the anchor is down.
Rules: forbid set_pump when context.input.level > 3
Question: Do the rules say what the sentence says?
Right: no

"#;

/// The fixed text before a search for a case.
pub(super) const VERIFY: &str = r#"A sentence of a policy was turned into rules. Name a call and a state in which they disagree, or null.

Sentence: When the engine is set above speed 6, the pump has to run.
Rules: forbid set_engine when context.input.speed > 4 && resource.pump_level == 0
Answer: {"counterexample": "set_engine with speed 5 is forbidden and the sentence lets it pass"}

Sentence: The horn may not be switched on while the anchor is down.
Rules: forbid set_horn when context.input.on && context.before.anchor_down
Answer: {"counterexample": null}

"#;

/// Characters of what was wrong with an answer.
const WRONG: usize = 400;

/// The tail of the generator's prompt.
pub(super) fn tail(words: &Words<'_>, sentence: &str, under: &[String], tried: Option<(&str, &[String])>) -> String {
    let tools: Vec<String> = words
        .tools
        .iter()
        .map(|(_, tool)| {
            let params: Vec<String> = tool.params.iter().map(|p| p.name.clone()).collect();
            format!("{}({})", tool.name, params.join(", "))
        })
        .collect();
    let attributes = words.attributes.iter().map(|a| {
        let entity = words.ground.model.entity(a.entity).map_or("Car", |e| e.name.as_str());
        let steps = a.resolution.steps();
        let steps = if steps == 1 { String::new() } else { format!(" in {steps} steps per unit") };
        format!("{entity}.{}: {}{steps}", a.name, kind(&a.kind))
    });
    let observed = words.observed.iter().map(|(o, f)| format!("context.{}.{}: {}", o.name, f.name, kind(&f.kind)));
    let derived = words.derived.iter().map(|d| format!("context.{}", d.name));
    let state: Vec<String> = attributes.chain(observed).chain(derived).collect();
    let leads: String = under.iter().map(|lead| format!("{} ", plain(lead))).collect();
    let mut text = String::new();
    if let Some((written, errors)) = tried {
        let why: String = plain(&errors.join("; ")).chars().take(WRONG).collect();
        text.push_str(&format!("Wrong: {}\nBecause: {why}\n\n", plain(written)));
    }
    text.push_str(&format!(
        "Tools: {}\nState: {}\nSentence: {leads}{}\nAnswer: ",
        tools.join(", "),
        state.join(", "),
        plain(sentence)
    ));
    text
}

/// A question of the rubric about rules.
pub(super) fn question(sentence: &str, rules: &str, question: &str) -> String {
    format!("Sentence: {}\nRules: {}\nQuestion: {question}\nRight:", plain(sentence), plain(rules))
}

/// A search for a case against rules.
pub(super) fn case(sentence: &str, rules: &str) -> String {
    format!("Sentence: {}\nRules: {}\nAnswer: ", plain(sentence), plain(rules))
}

fn kind(kind: &AttrType) -> &'static str {
    match kind {
        AttrType::Bool => "bool",
        AttrType::Int => "number",
        AttrType::Word => "word",
        AttrType::Parts(_) => "parts",
        AttrType::List => "list",
    }
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
