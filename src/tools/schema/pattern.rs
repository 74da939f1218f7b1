//! Regular expressions of schemas: ECMA-262 with Unicode, as far as it has no look-around and no back-references.

use regex_lite::Regex;

/// What ECMA-262 means by `\s`, inside of brackets.
const SPACE: &str = r"\t\n\x0B\x0C\r \u{A0}\u{1680}\u{2000}-\u{200A}\u{2028}\u{2029}\u{202F}\u{205F}\u{3000}\u{FEFF}";
/// What `.` does not match.
const LINE_ENDS: &str = r"\n\r\u{2028}\u{2029}";

/// A regular expression that is ready to match.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    text: String,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What cannot be used in it, in words.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let regex = Regex::new(&translated(text)?).map_err(|error| error.to_string())?;
        Ok(Self { regex, text: text.to_owned() })
    }

    /// Whether it matches anywhere in the text.
    pub(super) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// As it was written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// The expression in the syntax of our matcher, whose `.`, `\s` and `\S` mean something else, and which knows set
/// operations and switches that ECMA-262 does not.
fn translated(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len());
    let mut characters = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(character) = characters.next() {
        match (character, in_class) {
            ('\\', _) => {
                let escaped = characters.next().ok_or("it ends in a backslash")?;
                escape(escaped, in_class, &mut out)?;
            }
            ('.', false) => out.push_str(&format!("[^{LINE_ENDS}]")),
            ('[', false) => {
                in_class = true;
                out.push('[');
                if characters.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                if characters.peek() == Some(&']') {
                    return Err("an empty class".to_owned());
                }
            }
            (']', true) => {
                in_class = false;
                out.push(']');
            }
            // Inside of a class they are themselves in one syntax and operators in the other.
            ('[' | '&' | '~', true) => {
                out.push('\\');
                out.push(character);
            }
            ('-', true) if characters.peek() == Some(&'-') => return Err("`--` in a class".to_owned()),
            ('(', false) => {
                out.push('(');
                if characters.next_if_eq(&'?').is_some() {
                    match characters.next() {
                        Some(':') => out.push_str("?:"),
                        Some('<') if !matches!(characters.peek(), Some('=' | '!')) => out.push_str("?<"),
                        other => return Err(format!("`(?{}`", other.unwrap_or(' '))),
                    }
                }
            }
            _ => out.push(character),
        }
    }
    Ok(out)
}

fn escape(escaped: char, in_class: bool, out: &mut String) -> Result<(), String> {
    match escaped {
        's' if in_class => out.push_str(SPACE),
        's' => out.push_str(&format!("[{SPACE}]")),
        'S' if !in_class => out.push_str(&format!("[^{SPACE}]")),
        '/' => out.push('/'),
        'b' | 'B' if in_class => return Err(format!("`\\{escaped}` in a class")),
        'd' | 'D' | 'w' | 'W' | 'b' | 'B' | 't' | 'n' | 'r' | 'f' | 'v' | 'x' | 'u' => out.extend(['\\', escaped]),
        '^' | '$' | '\\' | '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '-' => {
            out.extend(['\\', escaped]);
        }
        _ => return Err(format!("`\\{escaped}`")),
    }
    Ok(())
}
