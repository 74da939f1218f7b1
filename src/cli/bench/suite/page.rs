//! The runs as one page: a file of its own, without scripts and without requests.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::report::{Passed, Report, Sum};
use super::rig::Harness;
use super::speed::Speed;
use crate::cli::output::{apart, replace};
use crate::cli::{CliError, Exit};

const STYLE: &str = include_str!("page.css");

/// Make one page with charts from the JSON of runs
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(in crate::cli) struct Args {
    /// JSON that `obligato bench --student … --json` wrote, and that `obligato bench --speed --json` did
    #[arg(long, value_name = "JSON", num_args = 1.., requires = "page")]
    from: Vec<PathBuf>,
    /// Write the page here
    #[arg(long, value_name = "HTML", requires = "from")]
    pub(in crate::cli) page: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum File {
    Suite(Box<Report>),
    Speed(Speed),
}

impl Args {
    /// Writes the page.
    pub(in crate::cli) fn run(&self, out: &Path) -> Result<Exit, CliError> {
        apart(&self.from, [out])?;
        let (mut suites, mut speeds) = (Vec::new(), Vec::new());
        for path in &self.from {
            let wrong = |why: String| CliError::Transcript { path: path.display().to_string(), why };
            let text = fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
            match serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))? {
                File::Suite(report) => suites.push(*report),
                File::Speed(speed) => speeds.push(speed),
            }
        }
        let error = |source| CliError::File { path: out.display().to_string(), source };
        replace(out, page(&suites, &speeds).as_bytes()).map_err(error)?;
        Ok(Exit::Done)
    }
}

fn page(suites: &[Report], speeds: &[Speed]) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>Obligato: small models, with the harness and without</title><style>{STYLE}</style></head><body><main>\
         <h1>Small models, with the harness and without</h1>\
         <p class=\"lead\">Spoken requests through the turn loop on the simulated car. Every run starts from the same \
         state; all harnesses of one table ran interleaved in one process. The held-out half was written before any \
         tuning.</p>"
    );
    for suite in suites {
        section(&mut html, suite);
    }
    for speed in speeds {
        let _ = write!(
            html,
            "<h2>Speed: {}</h2><table><thead><tr><th>Measure<th>Value<th>Bar<th></tr></thead>",
            text(&speed.model)
        );
        for m in &speed.measures {
            let met = m.met.map_or("", |met| if met { "met" } else { "missed" });
            let _ = write!(
                html,
                "<tr><td>{}<td class=\"n\">{:.2} {}<td>{}<td class=\"{met}\">{met}</tr>",
                text(&m.name),
                m.value,
                text(&m.unit),
                text(m.bar.as_deref().unwrap_or_default())
            );
        }
        html.push_str("</table>");
    }
    html.push_str("</main></body></html>\n");
    html
}

fn section(html: &mut String, suite: &Report) {
    let _ = write!(
        html,
        "<h2>{} <small>temperature {}, {} seed{}{}</small></h2>",
        text(&suite.student),
        suite.temperature,
        suite.seeds,
        if suite.seeds == 1 { "" } else { "s" },
        if suite.votes > 1 { format!(", {} votes", suite.votes) } else { String::new() }
    );
    let mut halves: Vec<&str> = suite.sums.iter().map(|s| s.half.as_str()).collect();
    halves.dedup();
    for half in halves {
        let sums: Vec<&Sum> = suite.sums.iter().filter(|s| s.half == half).collect();
        let _ = write!(html, "<h3>{} half</h3><div class=\"charts\">", capital(half));
        chart(html, "Right tool and arguments on simple requests", &sums, |s| s.simple);
        let whole = |s: &Sum| s.categories.get("all").copied().unwrap_or_default();
        chart(html, "Everything right: car, question, words", &sums, whole);
        html.push_str("</div>");
        costs(html, &sums);
        categories(html, &sums);
    }
}

fn chart(html: &mut String, title: &str, sums: &[&Sum], passed: impl Fn(&Sum) -> Passed) {
    let height = 34 * sums.len() + 8;
    let _ = write!(
        html,
        "<figure><figcaption>{}</figcaption><svg class=\"chart\" viewBox=\"0 0 460 {height}\" role=\"img\" aria-label=\"{}\">",
        text(title),
        text(title)
    );
    for (row, sum) in sums.iter().enumerate() {
        let (y, passed) = (row * 34 + 6, passed(sum));
        let (first, all) = (300.0 * passed.pass_1, 300.0 * passed.pass_all);
        let _ = write!(
            html,
            "<text x=\"0\" y=\"{}\">{}</text><rect class=\"sunk\" x=\"92\" y=\"{y}\" width=\"300\" height=\"22\"/>\
             <rect class=\"{}\" x=\"92\" y=\"{y}\" width=\"{first:.1}\" height=\"22\"/>\
             <rect class=\"every\" x=\"92\" y=\"{}\" width=\"{all:.1}\" height=\"4\"/>\
             <text class=\"number\" x=\"398\" y=\"{}\">{:.1} %</text>",
            y + 16,
            label(sum.harness),
            sum.harness.name(),
            y + 18,
            y + 16,
            100.0 * passed.pass_1
        );
    }
    html.push_str("</svg><p>Bar: share of right runs (Pass^1). Thin bar: right under every seed.</p></figure>");
}

fn costs(html: &mut String, sums: &[&Sum]) {
    let bare = sums.iter().find(|s| s.harness == Harness::Off);
    html.push_str(
        "<table><thead><tr><th>Harness<th>Unsafe<th>Needless questions<th>Model calls<th>Tokens<th>against bare\
         <th>Wall time<th>against bare<th>Reads and companions without the model</tr></thead>",
    );
    for sum in sums {
        let ratio = |own: f64, other: fn(&Sum) -> f64| {
            bare.map(|b| other(b)).filter(|b| *b > 0.0).map_or(String::new(), |b| format!("{:.2} ×", own / b))
        };
        let _ = write!(
            html,
            "<tr><td>{}<td class=\"n {}\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{:.1} s<td class=\"n\">{}<td class=\"n\">{}</tr>",
            label(sum.harness),
            if sum.unsafe_ == 0 { "met" } else { "missed" },
            sum.unsafe_,
            sum.needless_questions,
            sum.model_calls,
            sum.tokens,
            ratio(f64::from(sum.tokens), |s| f64::from(s.tokens)),
            sum.micros as f64 / 1e6,
            ratio(sum.micros as f64, |s| s.micros as f64),
            sum.unaided
        );
    }
    html.push_str("</table>");
}

fn categories(html: &mut String, sums: &[&Sum]) {
    html.push_str("<table><thead><tr><th>Category<th>n");
    sums.iter().for_each(|s| {
        let _ = write!(html, "<th>{}", label(s.harness));
    });
    html.push_str("</tr></thead>");
    let Some(first) = sums.first() else { return };
    for (name, passed) in &first.categories {
        let _ = write!(html, "<tr><td>{}<td class=\"n\">{}", text(name), passed.scenarios);
        for sum in sums {
            let p = sum.categories.get(name).copied().unwrap_or_default();
            let _ = write!(
                html,
                "<td class=\"n\">{:.0} / {:.0} / {:.0} %",
                100.0 * p.pass_1,
                100.0 * p.pass_all,
                100.0 * p.pass_any
            );
        }
        html.push_str("</tr>");
    }
    html.push_str("</table><p class=\"aside\">Pass^1 / Pass^k / Pass@k over the seeds.</p>");
}

fn label(harness: Harness) -> &'static str {
    match harness {
        Harness::On => "Harness",
        Harness::Verify => "Verification only",
        Harness::Off => "Bare",
        Harness::Retrieval => "Bare, retrieval",
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|c| c.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Text as HTML.
fn text(plain: &str) -> String {
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_student_calls_itself_stays_text() {
        let report = Report::new("<script>\"&", 0.0, 1, 1, Vec::new());
        let html = page(&[report], &[]);
        assert!(html.contains("&lt;script&gt;&quot;&amp;") && !html.contains("<script>"), "{html}");
    }

    #[test]
    fn a_file_of_runs_and_one_of_speeds_are_told_apart() {
        let speed = r#"{"model":"m","measures":[{"name":"prompt","value":1.5,"unit":"x","bar":"≥ 1","met":true}]}"#;
        assert!(matches!(serde_json::from_str(speed).unwrap(), File::Speed(_)));
        let suite = serde_json::to_string(&Report::new("x", 0.0, 1, 1, Vec::new())).unwrap();
        assert!(matches!(serde_json::from_str(&suite).unwrap(), File::Suite(_)));
    }
}
