//! The account of a formalised policy: as text, as JSON, and as a page beside the prose.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::sentence::{Entry, Standing};
use super::{PROMPTS, ROUNDS};

const STYLE: &str = include_str!("report.css");

/// What became of each sentence, and by whom.
#[derive(Debug, Clone, Serialize)]
pub struct Account {
    /// Who wrote and judged the rules.
    pub author: String,
    /// Version of the prompts.
    pub prompts: u32,
    /// SHA-256 of what the author was told besides the sentences.
    pub told: String,
    /// Sentences by standing.
    pub counts: BTreeMap<&'static str, usize>,
    /// The sentences in the order of the prose.
    pub sentences: Vec<Entry>,
}

impl Account {
    pub(super) fn new(author: String, told: String, sentences: Vec<Entry>) -> Self {
        let mut counts: BTreeMap<&'static str, usize> = Standing::ALL.map(|s| (s.as_str(), 0)).into();
        sentences.iter().for_each(|entry| *counts.entry(entry.standing.as_str()).or_default() += 1);
        Self { author, prompts: PROMPTS, told, counts, sentences }
    }

    /// All rules as one Cedar text.
    pub(super) fn rules(&self) -> String {
        let mut text = format!(
            "// Written by `obligato formalize`: author {}, prompts {}, at most {ROUNDS} rounds a sentence.\n// Nobody has reviewed these rules by being listed here; read the account beside them.\n",
            self.author, self.prompts
        );
        for rule in self.sentences.iter().flat_map(|entry| &entry.rules) {
            text.push('\n');
            text.push_str(&rule.cedar);
        }
        text
    }

    /// For a person at a terminal.
    ///
    /// # Errors
    /// What writing fails with.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        for entry in &self.sentences {
            let standing = entry.standing.as_str();
            writeln!(out, "{:>4}  {standing:<13}{}", entry.line, entry.text)?;
            for rule in &entry.rules {
                writeln!(out, "{:19}rule {}", "", rule.id)?;
            }
            if let Some(why) = &entry.why {
                writeln!(out, "{:19}{why}", "")?;
            }
            for attempt in &entry.attempts {
                for error in &attempt.errors {
                    writeln!(out, "{:19}round {}: {error}", "", attempt.round)?;
                }
            }
        }
        let counts: Vec<String> = self.counts.iter().map(|(standing, n)| format!("{standing} {n}")).collect();
        writeln!(out, "{} sentences: {} (by {})", self.sentences.len(), counts.join(", "), self.author)
    }

    /// One self-contained page: the prose on the left, what became of it on the right. Everything from the
    /// policy and the author is text; the page's own security policy allows no script and no request.
    pub fn html(&self, prose: &str) -> String {
        let mut rows = String::new();
        let mut by_line: BTreeMap<usize, Vec<&Entry>> = BTreeMap::new();
        self.sentences.iter().for_each(|entry| by_line.entry(entry.line).or_default().push(entry));
        for (line, text) in prose.lines().enumerate().map(|(at, text)| (at + 1, text)) {
            let entries: String = by_line.get(&line).into_iter().flatten().map(|entry| cell(entry)).collect();
            rows.push_str(&format!(
                "<tr id=\"L{line}\"><td class=\"n\">{line}</td><td class=\"prose\">{}</td><td>{entries}</td></tr>\n",
                escape(text)
            ));
        }
        let counts: Vec<String> = self
            .counts
            .iter()
            .map(|(standing, n)| format!("<span class=\"{standing}\">{standing} {n}</span>"))
            .collect();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width\"><title>Policy and rules</title>\n<style>{STYLE}</style></head>\n\
             <body><h1>Policy and rules</h1><p>{} sentences: {}. Author {}, prompts {}.</p>\n\
             <table><thead><tr><th>Line</th><th>Policy</th><th>What became of it</th></tr></thead><tbody>\n{rows}</tbody></table></body></html>\n",
            self.sentences.len(),
            counts.join(" "),
            escape(&self.author),
            self.prompts
        )
    }
}

fn cell(entry: &Entry) -> String {
    let standing = entry.standing.as_str();
    let mut html = format!("<div class=\"{standing}\"><b>{standing}</b> {}", escape(&entry.text));
    for rule in &entry.rules {
        html.push_str(&format!("<pre>{}</pre>", escape(&rule.cedar)));
    }
    if let Some(why) = &entry.why {
        html.push_str(&format!("<p>{}</p>", escape(why)));
    }
    for attempt in &entry.attempts {
        let errors: String = attempt.errors.iter().map(|e| format!("<li>{}</li>", escape(e))).collect();
        html.push_str(&format!("<details><summary>round {}</summary><ul>{errors}</ul></details>", attempt.round));
    }
    html.push_str("</div>");
    html
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
