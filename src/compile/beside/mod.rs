//! One self-contained page: a prose on the left, what became of it on the right.
//!
//! Everything that comes from a policy or a model is text; the page's own security policy allows no script
//! and no request.

use std::collections::BTreeMap;

const STYLE: &str = include_str!("style.css");

/// A page over a prose.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// By line of the prose, from 1: kind, own text, HTML.
    cells: BTreeMap<usize, Vec<(String, String, String)>>,
    /// HTML above and below the table.
    above: String,
    below: String,
}

impl Beside {
    /// Adds an entry at a line: its kind, its own text, and parts of [`pre`], [`words`] and [`more`].
    pub(crate) fn entry(&mut self, line: usize, kind: &str, text: &str, parts: &[String]) {
        self.cells.entry(line).or_default().push((kind.to_owned(), text.to_owned(), parts.concat()));
    }

    /// Says what the page is about: how often each kind stands in it, then a sentence.
    pub(crate) fn summary<'a>(&mut self, counts: impl Iterator<Item = (&'a str, usize)>, sentence: &str) {
        let counts: Vec<String> = counts
            .filter(|(_, n)| *n > 0)
            .map(|(kind, n)| format!("<span class=\"{0}\">{0} {n}</span>", escape(kind)))
            .collect();
        self.above.push_str(&format!("<p>{} {}</p>\n", counts.join(" "), escape(sentence)));
    }

    /// Adds a heading with a list below the table.
    pub(crate) fn list(&mut self, heading: &str, lines: &[String]) {
        if !lines.is_empty() {
            let lines: String = lines.iter().map(|line| format!("<li>{}</li>", escape(line))).collect();
            self.below.push_str(&format!("<h2>{}</h2><ul>{lines}</ul>\n", escape(heading)));
        }
    }

    /// The page.
    pub(crate) fn html(&self, title: &str, prose: &str) -> String {
        let mut rows = String::new();
        for (line, text) in prose.lines().enumerate().map(|(at, text)| (at + 1, text)) {
            let cell: String = self.cells.get(&line).into_iter().flatten().map(|entry| cell(entry, text)).collect();
            let heading = if text.starts_with('#') { " heading" } else { "" };
            rows.push_str(&format!(
                "<tr id=\"L{line}\"><td class=\"n\">{line}</td><td class=\"prose{heading}\">{}</td><td>{cell}</td></tr>\n",
                escape(text)
            ));
        }
        let title = escape(title);
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\n<style>{STYLE}</style></head>\n\
             <body><h1>{title}</h1>{}\
             <table><thead><tr><th>Line</th><th>Policy</th><th>What became of it</th></tr></thead><tbody>\n{rows}</tbody></table>\n{}</body></html>\n",
            self.above, self.below
        )
    }
}

/// One entry; its text is left out where it is all that the line says.
fn cell((kind, text, parts): &(String, String, String), line: &str) -> String {
    let kind = escape(kind);
    let whole = line.trim_start_matches(['-', '*', ' ']).trim() == text;
    let text = if whole { String::new() } else { escape(text) };
    format!("<div class=\"{kind}\"><b>{kind}</b> {text}{parts}</div>")
}

/// A block of code.
pub(crate) fn pre(code: &str) -> String {
    format!("<pre>{}</pre>", escape(code))
}

/// A paragraph.
pub(crate) fn words(text: &str) -> String {
    format!("<p>{}</p>", escape(text))
}

/// Lines that open on a click.
pub(crate) fn more(summary: &str, lines: &[String]) -> String {
    let lines: String = lines.iter().map(|line| format!("<li>{}</li>", escape(line))).collect();
    format!("<details><summary>{}</summary><ul>{lines}</ul></details>", escape(summary))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_text_holds_stays_text_wherever_it_stands() {
        let evil = "</style><script>alert(\"x\")</script><img src=x onerror='y'>";
        let mut page = Beside::default();
        page.entry(1, evil, &format!("{evil} and more"), &[pre(evil), words(evil), more(evil, &[evil.to_owned()])]);
        page.summary([(evil, 1)].into_iter(), evil);
        page.list(evil, &[evil.to_owned()]);
        let html = page.html(evil, &format!("{evil}\n# {evil}"));
        assert!(!html.contains("<script") && !html.contains("<img"), "{html}");
        assert_eq!(html.matches("</style>").count(), 1);
        assert_eq!(html.matches("&lt;script&gt;").count(), 16, "{html}");
    }

    #[test]
    fn a_sentence_that_is_all_of_its_line_is_not_said_twice() {
        let mut page = Beside::default();
        page.entry(1, "advisory", "Be kind.", &[]);
        page.entry(2, "advisory", "Be quick.", &[]);
        let html = page.html("x", "- Be kind.\nBe quick. Be good.");
        assert_eq!((html.matches("Be kind.").count(), html.matches("Be quick.").count()), (1, 2), "{html}");
    }
}
