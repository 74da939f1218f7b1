//! A turn as a person wants to see it.

use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};

use serde::Deserialize;

use crate::model::{Decision, ReportedCall, ReportedFinding, Tier, ToolCall, VerdictReport};
use crate::turn::Event;

/// Width of the first column.
const LABEL: usize = 10;

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

/// Writes turns to a terminal or a file.
pub(super) struct Screen<W> {
    out: W,
    colour: bool,
    model_ms: u64,
    model_calls: u32,
    check_us: f64,
    car_ms: u64,
    took_ms: u64,
}

impl Screen<io::Stdout> {
    /// Standard output; colours on a terminal only, and not where `NO_COLOR` is set.
    pub(super) fn stdout() -> Self {
        let colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        Self::new(io::stdout(), colour)
    }
}

impl<W: Write> Screen<W> {
    pub(super) fn new(out: W, colour: bool) -> Self {
        Self { out, colour, model_ms: 0, model_calls: 0, check_us: 0.0, car_ms: 0, took_ms: 0 }
    }

    /// What the driver says.
    pub(super) fn driver(&mut self, text: &str) -> io::Result<()> {
        self.line("driver", Ink::Bold, text)
    }

    /// A prompt for what the driver says.
    pub(super) fn prompt(&mut self) -> io::Result<()> {
        let label = self.paint(Ink::Bold, &format!("{:<LABEL$}", "driver"));
        write!(self.out, "{label}")?;
        self.out.flush()
    }

    /// A word beside the conversation.
    pub(super) fn note(&mut self, text: &str) -> io::Result<()> {
        let text = self.paint(Ink::Dim, text);
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }

    /// One step of a turn.
    pub(super) fn event(&mut self, event: &Event, rules: &HashMap<String, Explained>) -> io::Result<()> {
        match event {
            Event::Asks { asks } if asks.len() > 1 => self.line("asks", Ink::Dim, &asks.join(" | ")),
            Event::Asks { .. } => Ok(()),
            Event::Answered { yes } => {
                self.line("consent", Ink::Bold, if *yes { "yes: exactly what was asked" } else { "no: nothing is done" })
            }
            Event::Drafted { round, reply, calls, prompt_tokens, generated_tokens, millis, .. } => {
                self.model_ms += millis;
                self.model_calls += 1;
                let label = if *round == 0 { "student" } else { "revision" };
                let cost = format!("{millis} ms, {prompt_tokens} + {generated_tokens} tokens");
                self.drafted(label, reply.as_deref(), calls, &cost)
            }
            Event::Judged { report } => self.judged(report, rules),
            Event::Executed { call, wanted_by, outcome, detail, millis } => {
                self.car_ms += millis;
                let ink = if outcome == "done" { Ink::Green } else { Ink::Red };
                let why = if wanted_by == "student" { String::new() } else { format!(" for {wanted_by}") };
                self.line("car", ink, &format!("{}{why}", text(call)))?;
                self.more(ink, &format!("{outcome}: {detail}"), &format!("{millis} ms"))
            }
            Event::Question { question, bound } => {
                self.line("asks", Ink::Yellow, question)?;
                bound.iter().try_for_each(|call| self.more(Ink::Dim, &format!("a yes does {}", text(call)), ""))
            }
            Event::Reply { text } => self.line("says", Ink::Bold, text),
            Event::Fault { why } => self.line("fault", Ink::Red, why),
        }
    }

    /// A step that is not one of the above.
    pub(super) fn other(&mut self, json: &str) {
        if let Ok(finished) = serde_json::from_str::<Finished>(json) {
            self.took_ms = finished.took_ms;
        }
    }

    /// The end of a turn.
    pub(super) fn end(&mut self, done: &str) -> io::Result<()> {
        let calls = if self.model_calls == 1 { "call" } else { "calls" };
        let line = format!(
            "{done} in {} ms: model {} ms in {} {calls}, checks {:.0} µs, car {} ms",
            self.took_ms, self.model_ms, self.model_calls, self.check_us, self.car_ms
        );
        self.line("", Ink::Dim, &line)?;
        writeln!(self.out)?;
        (self.model_ms, self.model_calls, self.check_us, self.car_ms, self.took_ms) = (0, 0, 0.0, 0, 0);
        self.out.flush()
    }

    fn drafted(&mut self, label: &str, reply: Option<&str>, calls: &[ReportedCall], cost: &str) -> io::Result<()> {
        let said = reply.map(|r| format!("“{r}”"));
        let mut lines = calls.iter().map(text).chain(said);
        let first = lines.next().unwrap_or_else(|| "nothing".to_owned());
        let cost = self.paint(Ink::Dim, &format!("  {cost}"));
        self.line(label, Ink::Blue, &format!("{first}{cost}"))?;
        lines.try_for_each(|line| self.more(Ink::Plain, &line, ""))
    }

    fn judged(&mut self, report: &VerdictReport, rules: &HashMap<String, Explained>) -> io::Result<()> {
        self.check_us += report.micros;
        let ink = match report.verdict {
            Decision::Clear => Ink::Green,
            Decision::Amend | Decision::Gather | Decision::Ask => Ink::Yellow,
            Decision::Revise | Decision::Refuse => Ink::Red,
        };
        let took = self.paint(Ink::Dim, &format!("  {:.0} µs", report.micros));
        self.line("policy", ink, &format!("{}{took}", report.verdict.as_str()))?;
        // Without a critic an advisory finding changes nothing, so it is no news for the driver.
        report.findings.iter().filter(|f| f.tier != Tier::Advisory).try_for_each(|f| self.finding(f, rules))
    }

    fn finding(&mut self, finding: &ReportedFinding, rules: &HashMap<String, Explained>) -> io::Result<()> {
        match finding.rule.as_ref().and_then(|id| Some((id, rules.get(id)?))) {
            Some((id, rule)) => self.more(Ink::Bold, &format!("{id}: {}", rule.sentence), &rule.source)?,
            None => self.more(Ink::Bold, &finding.gate, "")?,
        }
        self.more(Ink::Plain, &format!("  because {}", finding.because), "")?;
        finding.remedy.iter().try_for_each(|call| self.more(Ink::Plain, &format!("  remedy  {}", text(call)), ""))
    }

    fn line(&mut self, label: &str, ink: Ink, text: &str) -> io::Result<()> {
        let label = self.paint(ink, &format!("{label:<LABEL$}"));
        writeln!(self.out, "{label}{text}")?;
        self.out.flush()
    }

    fn more(&mut self, ink: Ink, text: &str, aside: &str) -> io::Result<()> {
        let text = self.paint(ink, text);
        let aside = if aside.is_empty() { String::new() } else { self.paint(Ink::Dim, &format!("  {aside}")) };
        writeln!(self.out, "{:LABEL$}{text}{aside}", "")
    }

    fn paint(&self, ink: Ink, text: &str) -> String {
        match (self.colour, ink.code()) {
            (true, Some(code)) if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }
}

/// `open_close_window(percentage: 0, window: "DRIVER")`
fn text(call: &ReportedCall) -> String {
    ToolCall::new(&call.tool, call.arguments.clone()).to_string()
}

#[derive(Debug, Clone, Copy)]
enum Ink {
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Blue,
}

impl Ink {
    /// The SGR parameter of ECMA-48.
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Bold => Some("1"),
            Self::Dim => Some("2"),
            Self::Red => Some("31"),
            Self::Green => Some("32"),
            Self::Yellow => Some("33"),
            Self::Blue => Some("34"),
        }
    }
}
