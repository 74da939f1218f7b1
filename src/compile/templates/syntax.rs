//! The syntax of calls in annotations and tests: `open(window: DRIVER, percentage: <input.x>); …`

/// A call as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallText {
    /// The tool's name.
    pub(crate) tool: String,
    /// Arguments by name, in their order.
    pub(crate) arguments: Vec<(String, ValueText)>,
}

/// A value as written. What a bare word means, the argument's type says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValueText {
    /// `DRIVER`, `22.5`, `true`
    Word(String),
    /// `"any text"`
    Quoted(String),
    /// `[a, b]`
    List(Vec<ValueText>),
    /// `{a: 1}`
    Object(Vec<(String, ValueText)>),
    /// `<input.x>`
    Hole(String),
    /// `merge(<resource.airflow>, WINDSHIELD)`
    Merge {
        /// The path between the angle brackets.
        hole: String,
        /// The part.
        part: String,
    },
}

/// Where a text stops being calls.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} before `{rest}`; a call is written `tool(name: value, name: value)`")]
pub struct SyntaxError {
    expected: &'static str,
    rest: String,
}

/// Deepest nesting of lists and objects.
const DEPTH: usize = 16;
/// Characters that end a bare word.
const ENDS: [char; 10] = [',', '(', ')', '[', ']', '{', '}', '<', '>', ';'];

/// Reads calls separated by `;`.
pub(crate) fn calls(text: &str) -> Result<Vec<CallText>, SyntaxError> {
    let mut parser = Parser { rest: text.trim() };
    let mut calls = Vec::new();
    loop {
        calls.push(parser.call()?);
        if !parser.take(";") && !parser.rest.is_empty() {
            return Err(parser.expected("`;` or the end"));
        }
        if parser.rest.is_empty() {
            return Ok(calls);
        }
    }
}

/// Reads one call.
pub(crate) fn call(text: &str) -> Result<CallText, SyntaxError> {
    let mut parser = Parser { rest: text.trim() };
    let call = parser.call()?;
    if parser.rest.is_empty() { Ok(call) } else { Err(parser.expected("the end of the call")) }
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn expected(&self, expected: &'static str) -> SyntaxError {
        let rest: String = self.rest.chars().take(24).collect();
        SyntaxError { expected, rest: if rest.is_empty() { "the end".to_owned() } else { rest } }
    }

    /// Takes a piece of punctuation and the space behind it.
    fn take(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn need(&mut self, token: &'static str, expected: &'static str) -> Result<(), SyntaxError> {
        if self.take(token) { Ok(()) } else { Err(self.expected(expected)) }
    }

    /// Takes characters as long as they satisfy a condition.
    fn run(&mut self, accept: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        let (run, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        run
    }

    fn name(&mut self) -> Result<String, SyntaxError> {
        if self.rest.starts_with(['"', '\'']) {
            return self.quoted();
        }
        let name = self.run(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
        if name.is_empty() {
            return Err(self.expected("a name"));
        }
        self.rest = self.rest.trim_start();
        Ok(name.to_owned())
    }

    fn call(&mut self) -> Result<CallText, SyntaxError> {
        let tool = self.name()?;
        self.need("(", "`(`")?;
        let arguments = self.members(")", DEPTH)?;
        Ok(CallText { tool, arguments })
    }

    /// `name: value, …` up to a closing bracket.
    fn members(&mut self, close: &'static str, depth: usize) -> Result<Vec<(String, ValueText)>, SyntaxError> {
        let mut members = Vec::new();
        while !self.take(close) {
            let name = self.name()?;
            self.need(":", "`:`")?;
            members.push((name, self.value(depth)?));
            if !self.take(",") && !self.rest.starts_with(close) {
                return Err(self.expected("`,` or the closing bracket"));
            }
        }
        Ok(members)
    }

    fn value(&mut self, depth: usize) -> Result<ValueText, SyntaxError> {
        let Some(depth) = depth.checked_sub(1) else { return Err(self.expected("fewer nested brackets")) };
        if self.rest.starts_with(['"', '\'']) {
            return self.quoted().map(ValueText::Quoted);
        }
        if self.rest.starts_with('<') {
            return self.hole().map(ValueText::Hole);
        }
        if self.take("{") {
            return self.members("}", depth).map(ValueText::Object);
        }
        if self.take("[") {
            let mut items = Vec::new();
            while !self.take("]") {
                items.push(self.value(depth)?);
                if !self.take(",") && !self.rest.starts_with(']') {
                    return Err(self.expected("`,` or `]`"));
                }
            }
            return Ok(ValueText::List(items));
        }
        if self.take("merge(") {
            let hole = self.hole()?;
            self.need(",", "`,`")?;
            let part = self.word()?;
            self.need(")", "`)`")?;
            return Ok(ValueText::Merge { hole, part });
        }
        self.word().map(ValueText::Word)
    }

    fn hole(&mut self) -> Result<String, SyntaxError> {
        self.need("<", "`<`")?;
        let path = self.run(|c| c != '>').trim();
        self.need(">", "`>`")?;
        Ok(path.to_owned())
    }

    fn word(&mut self) -> Result<String, SyntaxError> {
        let word = self.run(|c| !ENDS.contains(&c)).trim();
        if word.is_empty() { Err(self.expected("a value")) } else { Ok(word.to_owned()) }
    }

    fn quoted(&mut self) -> Result<String, SyntaxError> {
        let mut chars = self.rest.chars();
        let Some(quote) = chars.next() else { return Err(self.expected("a quote")) };
        let mut text = String::new();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('n') => text.push('\n'),
                    Some(escaped) => text.push(escaped),
                    None => break,
                },
                c if c == quote => {
                    self.rest = chars.as_str().trim_start();
                    return Ok(text);
                }
                c => text.push(c),
            }
        }
        Err(self.expected("the closing quote of the text"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn word(text: &str) -> ValueText {
        ValueText::Word(text.to_owned())
    }

    #[test]
    fn reads_calls_with_every_form_of_value() {
        let text = r#"a(x: DRIVER, y: 22.5); b(t: "one, \"two\"", l: [p, 'q r'], o: {k: <input.x>}, m: merge(<resource.air>, FEET));"#;
        let calls = calls(text).unwrap();
        assert_eq!(calls[0].arguments, [("x".to_owned(), word("DRIVER")), ("y".to_owned(), word("22.5"))]);
        let values: Vec<&ValueText> = calls[1].arguments.iter().map(|(_, v)| v).collect();
        assert_eq!(values[0], &ValueText::Quoted("one, \"two\"".to_owned()));
        assert_eq!(values[1], &ValueText::List(vec![word("p"), ValueText::Quoted("q r".to_owned())]));
        assert_eq!(values[2], &ValueText::Object(vec![("k".to_owned(), ValueText::Hole("input.x".to_owned()))]));
        assert_eq!(values[3], &ValueText::Merge { hole: "resource.air".to_owned(), part: "FEET".to_owned() });
    }

    #[test]
    fn says_what_is_expected_and_where() {
        let error = |text: &str| calls(text).unwrap_err().to_string();
        assert!(error("open").contains("expected `(` before `the end`"));
        assert!(error("open(window DRIVER)").contains("expected `:` before `DRIVER)`"));
        assert!(error("open(a: 1) close(b: 2)").contains("expected `;` or the end"));
        assert!(error("open(a: )").contains("expected a value before `)`"));
        assert!(error("open(a: \"x)").contains("closing quote"));
        assert!(calls(&format!("open(a: {}", "[".repeat(1000))).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_and_never_panics(text in "\\PC{0,60}") {
            let _ = calls(&text);
            let _ = call(&text);
        }
    }
}
