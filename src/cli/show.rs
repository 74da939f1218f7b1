//! A turn as a person wants to see it.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::page::{Ink, Page};
use crate::model::{Decision, ReportedCall, ReportedFinding, Tier, ToolCall, VerdictReport};
use crate::turn::Event;

/// What a rule says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Explained {
    /// Where the policy says so.
    pub(super) source: String,
    /// The sentence there.
    pub(super) sentence: String,
}

/// The measured end of a turn.
#[derive(Debug, Default, Deserialize)]
struct Finished {
    #[serde(default)]
    took_ms: u64,
}

/// What a turn cost so far.
#[derive(Debug, Default)]
struct Cost {
    model_ms: u64,
    model_calls: u32,
    check_us: f64,
    car_ms: u64,
    took_ms: u64,
}

/// Writes turns to a terminal or a file.
pub(super) struct Screen<W> {
    page: Page<W>,
    cost: Cost,
    /// Whether the next verdict is on something new. What is left of a draft is judged again after
    /// every call; that it still stands is no news.
    fresh: bool,
    /// The last question, which is then also what is said.
    question: String,
    /// Rules whose sentence stands on the page already.
    told: HashSet<String>,
}

impl Screen<io::Stdout> {
    /// Standard output.
    pub(super) fn stdout() -> Self {
        Self::new(Page::stdout())
    }
}

impl<W: Write> Screen<W> {
    pub(super) fn new(page: Page<W>) -> Self {
        Self { page, cost: Cost::default(), fresh: true, question: String::new(), told: HashSet::new() }
    }

    /// What the driver says.
    pub(super) fn driver(&mut self, text: &str) -> io::Result<()> {
        self.page.line("driver", Ink::Bold, text, "")
    }

    /// A prompt for what the driver says.
    pub(super) fn prompt(&mut self) -> io::Result<()> {
        self.page.label("driver", Ink::Bold)
    }

    /// A word beside the conversation.
    pub(super) fn note(&mut self, text: &str) -> io::Result<()> {
        self.page.note(text)
    }

    /// A line for a machine.
    pub(super) fn raw(&mut self, line: &str) -> io::Result<()> {
        self.page.raw(line)
    }

    /// One step of a turn.
    pub(super) fn event(&mut self, event: &Event, rules: &HashMap<String, Explained>) -> io::Result<()> {
        match event {
            Event::Asks { asks } if asks.len() > 1 => self.page.line("open", Ink::Dim, &asks.join(" | "), ""),
            Event::Asks { .. } => Ok(()),
            Event::Answered { yes } => {
                self.fresh = true;
                let meaning = if *yes { "yes, to exactly what was asked" } else { "no: nothing is done" };
                self.page.line("consent", Ink::Bold, meaning, "")
            }
            Event::Drafted { round, reply, calls, prompt_tokens, generated_tokens, millis, .. } => {
                self.fresh = true;
                self.cost.model_ms += millis;
                self.cost.model_calls += 1;
                let label = if *round == 0 { "student" } else { "revision" };
                let cost = format!("{millis} ms, {prompt_tokens} + {generated_tokens} tokens");
                self.drafted(label, reply.as_deref(), calls, &cost)
            }
            Event::Judged { report } => self.judged(report, rules),
            Event::Executed { call, wanted_by, outcome, detail, millis } => {
                self.cost.car_ms += millis;
                let ink = if outcome == "done" { Ink::Green } else { Ink::Red };
                let why = if wanted_by == "student" { String::new() } else { format!("for {wanted_by}") };
                self.page.line("car", ink, &text(call), &why)?;
                self.page.more(0, Ink::Plain, &format!("{outcome}: {}", fields(detail)), &format!("{millis} ms"))
            }
            Event::Question { question, bound } => {
                self.question.clone_from(question);
                self.page.line("asks", Ink::Yellow, question, "")?;
                bound.iter().try_for_each(|call| self.page.more(0, Ink::Dim, &format!("a yes does {}", text(call)), ""))
            }
            Event::Reply { text } if text.is_empty() || *text == self.question => Ok(()),
            Event::Reply { text } => self.page.line("says", Ink::Bold, text, ""),
            Event::Fault { why } => self.page.line("fault", Ink::Red, why, ""),
        }
    }

    /// A step that is not one of the above.
    pub(super) fn other(&mut self, json: &str) {
        if let Ok(finished) = serde_json::from_str::<Finished>(json) {
            self.cost.took_ms = finished.took_ms;
        }
    }

    /// The end of a turn.
    pub(super) fn end(&mut self, done: &str) -> io::Result<()> {
        let Cost { model_ms, model_calls, check_us, car_ms, took_ms } = std::mem::take(&mut self.cost);
        let calls = if model_calls == 1 { "call" } else { "calls" };
        let line = format!(
            "{done} in {took_ms} ms: model {model_ms} ms in {model_calls} {calls}, checks {check_us:.0} µs, car {car_ms} ms"
        );
        self.page.line("", Ink::Dim, "", &line)?;
        self.fresh = true;
        self.question.clear();
        self.told.clear();
        self.page.note("")
    }

    fn drafted(&mut self, label: &str, reply: Option<&str>, calls: &[ReportedCall], cost: &str) -> io::Result<()> {
        let said = reply.map(|r| format!("“{r}”"));
        let mut lines = calls.iter().map(text).chain(said);
        let first = lines.next().unwrap_or_else(|| "nothing".to_owned());
        self.page.line(label, Ink::Blue, &first, cost)?;
        lines.try_for_each(|line| self.page.more(0, Ink::Plain, &line, ""))
    }

    fn judged(&mut self, report: &VerdictReport, rules: &HashMap<String, Explained>) -> io::Result<()> {
        self.cost.check_us += report.micros;
        let fresh = std::mem::take(&mut self.fresh);
        if report.verdict == Decision::Clear && !fresh {
            return Ok(());
        }
        let ink = match report.verdict {
            Decision::Clear => Ink::Green,
            Decision::Amend | Decision::Gather | Decision::Ask => Ink::Yellow,
            Decision::Revise | Decision::Refuse => Ink::Red,
        };
        self.page.line("policy", ink, report.verdict.as_str(), &format!("{:.0} µs", report.micros))?;
        // Without a critic an advisory finding changes nothing, so it is no news for the driver.
        report.findings.iter().filter(|f| f.tier != Tier::Advisory).try_for_each(|f| self.finding(f, rules))
    }

    fn finding(&mut self, finding: &ReportedFinding, rules: &HashMap<String, Explained>) -> io::Result<()> {
        let mut because = finding.because.as_str();
        match finding.rule.as_ref().and_then(|id| Some((id, rules.get(id)?))) {
            Some((id, rule)) => {
                if self.told.insert(id.clone()) {
                    self.page.more(0, Ink::Bold, &format!("{id}: {}", rule.sentence), &rule.source)?;
                } else {
                    self.page.more(0, Ink::Bold, id, "")?;
                }
                because = because.strip_suffix(rule.sentence.as_str()).unwrap_or(because).trim_end_matches([':', ' ']);
            }
            None => self.page.more(0, Ink::Bold, &finding.gate, "")?,
        }
        self.page.more(2, Ink::Plain, &format!("because {because}"), "")?;
        finding.remedy.iter().try_for_each(|call| self.page.more(2, Ink::Plain, &format!("remedy {}", text(call)), ""))
    }
}

/// A JSON object as `field = value, …`; anything else as it is.
fn fields(detail: &str) -> String {
    match serde_json::from_str::<Map<String, Json>>(detail) {
        Ok(object) => object.iter().map(|(k, v)| format!("{k} = {v}")).collect::<Vec<_>>().join(", "),
        Err(_) => detail.to_owned(),
    }
}

/// `open_close_window(percentage: 0, window: "DRIVER")`
fn text(call: &ReportedCall) -> String {
    ToolCall::new(&call.tool, call.arguments.clone()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(events: &[Event]) -> String {
        let rules = HashMap::from([(
            "ac".to_owned(),
            Explained { source: "policy.md:41".to_owned(), sentence: "Close the windows.".to_owned() },
        )]);
        let mut screen = Screen::new(Page::new(Vec::new(), false, 110));
        events.iter().for_each(|event| screen.event(event, &rules).unwrap());
        screen.end("replied").unwrap();
        String::from_utf8(screen.page.into_inner()).unwrap()
    }

    fn judged(verdict: &str, findings: Json) -> Event {
        let report = json!({"verdict": verdict, "micros": 12.4, "findings": findings});
        Event::Judged { report: serde_json::from_value(report).unwrap() }
    }

    fn executed() -> Event {
        let call = serde_json::from_value(json!({"tool": "set_fan", "arguments": {"level": 1}})).unwrap();
        Event::Executed {
            call,
            wanted_by: "rule ac".to_owned(),
            outcome: "done".to_owned(),
            detail: r#"{"fan_speed":1}"#.to_owned(),
            millis: 3,
        }
    }

    #[test]
    fn a_finding_shows_sentence_evidence_and_remedy_and_says_nothing_twice() {
        let finding = json!([{"gate": "obligations", "tier": "owed", "rule": "ac", "source": "policy.md:41",
            "because": "window = 25 > 20: Close the windows.",
            "remedy": [{"tool": "close", "arguments": {"window": "DRIVER"}}]}]);
        let expected = "policy    amend  12 µs\n          ac: Close the windows.  policy.md:41\n            because \
            window = 25 > 20\n            remedy close(window: \"DRIVER\")\n          replied in 0 ms: model 0 ms \
            in 0 calls, checks 12 µs, car 0 ms\n\n";
        assert_eq!(shown(&[judged("amend", finding)]), expected);
    }

    #[test]
    fn that_the_rest_of_a_draft_still_stands_is_no_news_but_an_objection_to_it_is() {
        let quiet = shown(&[judged("clear", json!([])), executed(), judged("clear", json!([]))]);
        assert_eq!(quiet.matches("policy").count(), 1);
        let loud = shown(&[judged("clear", json!([])), executed(), judged("ask", json!([]))]);
        assert_eq!(loud.matches("policy").count(), 2);
        assert!(quiet.contains("car       set_fan(level: 1)  for rule ac\n          done: fan_speed = 1  3 ms\n"));
    }

    #[test]
    fn a_question_is_not_said_twice() {
        let question = "Open it anyway?".to_owned();
        let asked =
            shown(&[Event::Question { question: question.clone(), bound: vec![] }, Event::Reply { text: question }]);
        assert_eq!(asked.matches("Open it anyway?").count(), 1);
    }
}
