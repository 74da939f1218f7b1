//! Prose cut into sentences, each with the line it begins on.

use crate::compile::source::SourceFile;

/// One sentence of the prose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The line it begins on, from 1.
    pub line: usize,
    /// Numbers that stand before it, as `008:009:` does; they hold for all sentences of the item.
    pub labels: Vec<String>,
    /// Its text, without markup, in one line.
    pub text: String,
    /// Whether it only leads to the items nested under it, which say what is demanded.
    pub leads: bool,
    /// Columns by which its paragraph or item is indented: it stands under what leads with fewer.
    pub indent: usize,
}

/// The sentences in the order of the text. Headings, rules and empty lines hold none.
pub fn sentences(prose: &SourceFile) -> Vec<Sentence> {
    let blocks = blocks(prose.text());
    let mut found = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let nested = blocks.get(at + 1).is_some_and(|next| next.item && next.indent > block.indent);
        let before = found.len();
        block.split(&mut found);
        if let Some(last) = found.get_mut(before..).and_then(<[Sentence]>::last_mut) {
            last.leads = nested && last.text.ends_with(':');
        }
    }
    found
}

/// A paragraph or a list item with its continuation lines.
struct Block {
    indent: usize,
    item: bool,
    labels: Vec<String>,
    /// Lines with their numbers, without markup.
    lines: Vec<(usize, String)>,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (number, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line)) {
        let trimmed = line.trim();
        let rule = trimmed.len() > 2 && trimmed.chars().all(|c| matches!(c, '-' | '*' | '_' | '='));
        if trimmed.is_empty() || trimmed.starts_with('#') || rule {
            open = false;
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let marked = unmark(trimmed);
        let plain = |text: &str| text.replace("**", "").replace('`', "");
        match (marked, blocks.last_mut().filter(|_| open)) {
            (None, Some(block)) => block.lines.push((number, plain(trimmed))),
            (marked, _) => {
                let (labels, rest) = labels(marked.unwrap_or(trimmed));
                blocks.push(Block { indent, item: marked.is_some(), labels, lines: vec![(number, plain(rest))] });
                open = true;
            }
        }
    }
    blocks
}

/// A list item without its mark: `- x`, `* x`, `+ x`, `1. x`, `1) x`.
fn unmark(line: &str) -> Option<&str> {
    let bullet = ["- ", "* ", "+ ", "> "].into_iter().find_map(|mark| line.strip_prefix(mark));
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = (digits.len() < line.len()).then(|| digits.strip_prefix(". ").or_else(|| digits.strip_prefix(") ")));
    bullet.or_else(|| numbered.flatten()).map(str::trim_start)
}

/// `008:009:In certain …` as its numbers and the rest.
fn labels(text: &str) -> (Vec<String>, &str) {
    let mut labels = Vec::new();
    let mut rest = text;
    while let Some((label, after)) = rest.split_once(':') {
        if label.is_empty() || !label.chars().all(|c| c.is_ascii_digit()) {
            break;
        }
        labels.push(label.to_owned());
        rest = after.trim_start();
    }
    // `24:00 is late` begins with a time.
    if rest.starts_with(|c: char| c.is_ascii_digit()) { (Vec::new(), text) } else { (labels, rest) }
}

impl Block {
    /// Cuts the block after each mark that ends a sentence. Text in quotes or parentheses belongs to the
    /// sentence around it.
    fn split(&self, found: &mut Vec<Sentence>) {
        let mut text = String::new();
        let mut line = 0;
        let mut nested = Nesting::default();
        for (at, (number, part)) in self.lines.iter().enumerate() {
            let below = self.lines.get(at + 1).and_then(|(_, text)| text.chars().next());
            let mut chars = part.chars().peekable();
            if !text.is_empty() {
                text.push(' ');
            }
            while let Some(c) = chars.next() {
                if text.is_empty() {
                    if c.is_whitespace() {
                        continue;
                    }
                    line = *number;
                }
                text.push(c);
                nested.see(c);
                let closes = matches!(c, '.' | '!' | '?' | '"' | '”' | '“' | ')') && !nested.open();
                let next = chars.clone().find(|c| !c.is_whitespace()).or(below);
                let apart = chars.peek().is_none_or(|c| c.is_whitespace());
                let begins = next.is_none_or(|c| !c.is_lowercase() && !matches!(c, '(' | ',' | ';'));
                if closes && apart && begins && ends(&text) {
                    self.push(line, &mut text, found);
                }
            }
        }
        self.push(line, &mut text, found);
    }

    fn push(&self, line: usize, text: &mut String, found: &mut Vec<Sentence>) {
        let words: Vec<&str> = text.split_whitespace().collect();
        if !words.is_empty() {
            found.push(Sentence {
                line,
                labels: self.labels.clone(),
                text: words.join(" "),
                leads: false,
                indent: self.indent,
            });
        }
        text.clear();
    }
}

/// What of the text is open.
#[derive(Default)]
struct Nesting {
    quoted: bool,
    parentheses: usize,
}

impl Nesting {
    fn see(&mut self, c: char) {
        match c {
            '"' => self.quoted = !self.quoted,
            '„' => self.quoted = true,
            // English opens with the mark that German closes with.
            '“' => self.quoted = !self.quoted,
            '”' => self.quoted = false,
            '(' if !self.quoted => self.parentheses += 1,
            ')' if !self.quoted => self.parentheses = self.parentheses.saturating_sub(1),
            _ => {}
        }
    }

    fn open(&self) -> bool {
        self.quoted || self.parentheses > 0
    }
}

/// Words whose full stop ends no sentence.
const SHORT: [&str; 16] = [
    "e.g.", "i.e.", "etc.", "cf.", "vs.", "approx.", "no.", "incl.", "z.b.", "d.h.", "bzw.", "usw.", "ca.", "nr.",
    "ggf.", "z.",
];

/// Whether a text that stops here is a sentence: it ends in a stop, or in a quote or a parenthesis with
/// one, and its last word is no abbreviation.
fn ends(text: &str) -> bool {
    let bare = text.trim_end_matches(['"', '”', '“', ')']);
    let last = bare.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default().to_lowercase();
    bare.ends_with(['.', '!', '?']) && !SHORT.contains(&last.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<(usize, String)> {
        sentences(&SourceFile::new("policy.md", text)).into_iter().map(|s| (s.line, s.text)).collect()
    }

    fn texts(text: &str) -> Vec<String> {
        cut(text).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn headings_and_marks_are_no_part_of_a_sentence() {
        let found = cut("# Title\n\n- **Close** the `door`.\n  1. Then go. Or stay!\n");
        let expected = [(3, "Close the door."), (4, "Then go."), (4, "Or stay!")];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn abbreviations_numbers_quotes_and_parentheses_end_nothing() {
        for whole in [
            "Use kg, g, etc. and litres.",
            "Search for the town, e.g. \"Berlin\" instead of \"Berlin, Germany\".",
            "Levels (e.g. 1.5 or 2. That is all.) are fine.",
            "Say \"Hey! What's up?\" or \"Let me see.\" or nothing",
            "Turn it to 2.5 at 22:30.",
            "Es gilt z.B. Regel Nr. 3 bzw. 4.",
        ] {
            assert_eq!(texts(whole), [whole]);
        }
        assert_eq!(texts("He said \"Go.\" Then he went."), ["He said \"Go.\"", "Then he went."]);
    }

    #[test]
    fn a_line_without_a_mark_continues_the_one_above() {
        assert_eq!(texts("- First (of all).\n    e.g. like this."), ["First (of all). e.g. like this."]);
        assert_eq!(
            cut("- First: always follow,\n    e.g. like this.\n  And that.\n\nNext"),
            [
                (1, "First: always follow, e.g. like this.".to_owned()),
                (3, "And that.".to_owned()),
                (5, "Next".to_owned()),
            ]
        );
    }

    #[test]
    fn numbers_in_front_are_labels_of_every_sentence_of_the_item() {
        let found = sentences(&SourceFile::new("policy.md", "- 008:009:In rain: ask. Else go.\n- 24:00 is late."));
        assert_eq!(found[0].labels, ["008", "009"]);
        assert_eq!((found[0].text.as_str(), found[1].labels.len()), ("In rain: ask.", 2));
        assert_eq!((found[2].text.as_str(), found[2].labels.len()), ("24:00 is late.", 0));
    }

    #[test]
    fn what_ends_in_a_colon_above_nested_items_leads_to_them() {
        let found = sentences(&SourceFile::new("policy.md", "- When it rains:\n    - Close it.\n- Nothing else:\n"));
        assert_eq!(found.iter().map(|s| s.leads).collect::<Vec<_>>(), [true, false, false]);
    }
}
