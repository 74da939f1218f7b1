//! Lines of a page: a label, text that breaks between words, and asides in a faint ink.

use std::io::{self, IsTerminal, Write};

/// Width of the first column.
const LABEL: usize = 10;
/// Width of a line where no terminal says otherwise.
const WIDTH: usize = 110;

/// A page.
pub(super) struct Page<W> {
    out: W,
    colour: bool,
    width: usize,
}

impl Page<io::Stdout> {
    /// Standard output; colours on a terminal only, and not where `NO_COLOR` is set.
    pub(super) fn stdout() -> Self {
        let colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        let width = terminal_size::terminal_size().map_or(WIDTH, |(width, _)| usize::from(width.0));
        Self::new(io::stdout(), colour, width)
    }
}

impl<W: Write> Page<W> {
    pub(super) fn new(out: W, colour: bool, width: usize) -> Self {
        Self { out, colour, width }
    }

    #[cfg(test)]
    pub(super) fn into_inner(self) -> W {
        self.out
    }

    /// A line that stands for itself.
    pub(super) fn note(&mut self, text: &str) -> io::Result<()> {
        let text = self.paint(Ink::Dim, text);
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }

    /// A line as it is.
    pub(super) fn raw(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{line}")?;
        self.out.flush()
    }

    /// A label, and the rest of the line left open.
    pub(super) fn label(&mut self, label: &str, ink: Ink) -> io::Result<()> {
        let label = self.paint(ink, &format!("{label:<LABEL$}"));
        write!(self.out, "{label}")?;
        self.out.flush()
    }

    /// A line with a label; `aside` follows it in a faint ink.
    pub(super) fn line(&mut self, label: &str, ink: Ink, text: &str, aside: &str) -> io::Result<()> {
        self.label(label, ink)?;
        self.text(LABEL, Ink::Plain, text, aside)
    }

    /// A line below one with a label.
    pub(super) fn more(&mut self, indent: usize, ink: Ink, text: &str, aside: &str) -> io::Result<()> {
        let indent = LABEL + indent;
        write!(self.out, "{:indent$}", "")?;
        self.text(indent, ink, text, aside)
    }

    /// Text from a column on, broken between words where it gets too wide.
    fn text(&mut self, column: usize, ink: Ink, text: &str, aside: &str) -> io::Result<()> {
        let mut at = column;
        for (piece, ink) in [(text, ink), (aside, Ink::Dim)] {
            for (i, word) in piece.split(' ').enumerate().filter(|(_, word)| !word.is_empty()) {
                let gap = if at == column {
                    0
                } else if i == 0 {
                    2
                } else {
                    1
                };
                let wide = word.chars().count();
                if at > column && at + gap + wide > self.width {
                    write!(self.out, "\n{:column$}", "")?;
                    at = column + wide;
                } else {
                    write!(self.out, "{:gap$}", "")?;
                    at += gap + wide;
                }
                let word = self.paint(ink, word);
                write!(self.out, "{word}")?;
            }
        }
        writeln!(self.out)?;
        self.out.flush()
    }

    fn paint(&self, ink: Ink, text: &str) -> String {
        match (self.colour, ink.code()) {
            (true, Some(code)) if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }
}

/// How text is set.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ink {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn set(width: usize, colour: bool, text: &str, aside: &str) -> String {
        let mut page = Page::new(Vec::new(), colour, width);
        page.line("says", Ink::Bold, text, aside).unwrap();
        String::from_utf8(page.into_inner()).unwrap()
    }

    #[test]
    fn long_lines_break_between_words_under_their_text() {
        assert_eq!(set(24, false, "one two three four five", ""), "says      one two three\n          four five\n");
        assert_eq!(set(12, false, "unbreakable", ""), "says      unbreakable\n");
    }

    #[test]
    fn nothing_is_coloured_outside_a_terminal() {
        assert!(!set(80, false, "one", "aside").contains('\x1b'));
        assert!(set(80, true, "one", "aside").contains("\x1b[2maside\x1b[0m"));
    }
}
