//! Cuts a rules file into its policies, so that each error has its line.

use std::ops::Range;

/// The byte ranges of the policies in a Cedar text, each from its first annotation or effect to its
/// `;`. What follows the last `;` is a statement of its own when it is more than comments.
pub(in crate::compile) fn statements(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start: Option<usize> = None;
    let mut end = 0;
    let mut state = State::Code;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match state {
            State::Comment if c == '\n' => state = State::Code,
            State::Comment => {}
            State::Text if c == '\\' => {
                chars.next();
            }
            State::Text if c == '"' => {
                state = State::Code;
                end = at + 1;
            }
            State::Text => {}
            State::Code if c == '/' && chars.peek().is_some_and(|(_, next)| *next == '/') => state = State::Comment,
            State::Code if c.is_whitespace() => {}
            State::Code => {
                let first = *start.get_or_insert(at);
                end = at + c.len_utf8();
                match c {
                    '"' => state = State::Text,
                    ';' => {
                        found.push(first..end);
                        start = None;
                    }
                    _ => {}
                }
            }
        }
    }
    found.extend(start.map(|first| first..end.max(first)));
    found
}

/// Brackets within brackets that one rule may have. Cedar's parser calls itself for each, and for each operator;
/// a stack that ends takes the whole process with it.
const DEPTH: usize = 48;
/// Operators that one rule may have.
const OPERATORS: usize = 150;

/// `if` expressions that one rule may have: checking their types doubles the work with each.
const CHOICES: usize = 8;

/// Where a schema nests deeper than is parsed; none where it may be parsed.
pub(in crate::compile) fn schema_too_deep(text: &str) -> Option<usize> {
    let quotes_and_comments = outside(text);
    let mut depth = 0_usize;
    let code = text.char_indices().filter(|(at, _)| !quotes_and_comments.iter().any(|range| range.contains(at)));
    code.into_iter().find_map(|(at, c)| {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth > DEPTH).then_some(at)
    })
}

/// Where a rule nests deeper, or chains more operators, than is parsed; none where it may be parsed.
pub(in crate::compile) fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut operators, mut members) = (0_usize, 0_usize, 0_usize);
    let mut choices = std::iter::successors(find_code(text, "if", 0), |at| find_code(text, "if", at + 1));
    if let Some(at) = choices.nth(CHOICES) {
        return Some(at);
    }
    let mut before = ' ';
    let mut quotes_and_comments = outside(text).into_iter().peekable();
    for (at, c) in text.char_indices() {
        while quotes_and_comments.next_if(|range| range.end <= at).is_some() {}
        if quotes_and_comments.peek().is_some_and(|range| range.contains(&at)) {
            continue;
        }
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            // Two of a kind are one operator, but for those that may stand alone.
            '!' | '-' | '+' | '*' => operators += 1,
            '.' => members += 1,
            '&' | '|' | '=' | '<' | '>' if before != c => operators += 1,
            _ => {}
        }
        // `a.b.c` nests as brackets do; `a.b && c.d` does not.
        if c != '.' && c != '_' && !c.is_alphanumeric() {
            members = 0;
        }
        if depth.max(members) > DEPTH || operators > OPERATORS {
            return Some(at);
        }
        before = c;
    }
    None
}

/// What is said of such a rule.
pub(in crate::compile) const TOO_DEEP: &str = "the rule nests more than 48 brackets, chains more than 150 operators or has more than 8 `if`; split it into several rules";

/// What is said of such a schema.
pub(in crate::compile) const SCHEMA_TOO_DEEP: &str =
    "the schema nests more than 48 brackets; give inner records a type of their own";

#[derive(Clone, Copy)]
enum State {
    Code,
    Text,
    Comment,
}

/// Where a word stands in a Cedar text from some byte on, as code, not within a string or a comment.
pub(in crate::compile) fn find_code(text: &str, word: &str, from: usize) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let quotes_and_comments = outside(text);
    text.match_indices(word).map(|(at, _)| at).filter(|at| *at >= from).find(|at| {
        let before = text.get(..*at).and_then(|t| t.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|t| t.chars().next());
        let whole = !word.starts_with(is_word)
            || !(before.is_some_and(is_word) || word.ends_with(is_word) && after.is_some_and(is_word));
        whole && quotes_and_comments.iter().all(|range| !range.contains(at))
    })
}

/// The comments of a Cedar text, without their line breaks.
pub(in crate::compile) fn comments(text: &str) -> impl Iterator<Item = &str> {
    outside(text).into_iter().filter_map(|range| text.get(range)).filter(|part| part.starts_with("//"))
}

/// A Cedar text without its comments.
pub(in crate::compile) fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut from = 0;
    for range in outside(text) {
        if text.get(range.clone()).is_some_and(|part| part.starts_with("//")) {
            out.push_str(text.get(from..range.start).unwrap_or_default());
            from = range.end;
        }
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

/// The ranges of strings and comments.
fn outside(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let closing = match c {
            '"' => '"',
            '/' if chars.peek().is_some_and(|(_, next)| *next == '/') => '\n',
            _ => continue,
        };
        let mut end = text.len();
        while let Some((next, c)) = chars.next() {
            if c == '\\' && closing == '"' {
                chars.next();
            } else if c == closing {
                end = next;
                break;
            }
        }
        ranges.push(at..end);
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        statements(text).into_iter().map(|range| text.get(range).unwrap()).collect()
    }

    #[test]
    fn what_would_end_the_parsers_stack_is_found_before_it_is_parsed() {
        let when = |condition: String| format!("forbid (principal, action, resource) when {{ {condition} }};");
        let nested = |n: usize, open: &str, close: &str| when(open.repeat(n) + "true" + &close.repeat(n));
        for deep in [
            nested(60, "(", ")"),
            nested(60, "[", "]"),
            nested(200, "!", ""),
            nested(10_000, "!(", ")"),
            when("1".to_owned() + &"+1".repeat(200) + " > 0"),
            when("true".to_owned() + &" && true".repeat(5_000)),
            when("context".to_owned() + &".a".repeat(60)),
            when("if true then ".repeat(9) + "true" + &" else false".repeat(9)),
        ] {
            assert!(too_deep(&deep).is_some(), "{}", deep.get(..80).unwrap());
        }
        for fine in [
            nested(40, "(", ")"),
            when("context.input.on".to_owned() + &" && resource.position > 20".repeat(70)),
            format!("@consent(\"{}\") {}", "(".repeat(500), nested(1, "(", ")")),
            format!("// {}\n{}", "(".repeat(500), nested(1, "(", ")")),
        ] {
            assert_eq!(too_deep(&fine), None, "{}", fine.get(..80).unwrap());
        }
    }

    #[test]
    fn a_schema_that_nests_too_deep_is_told_before_it_is_parsed() {
        let deep = format!("type A = {}Long{};", "Set<".repeat(49), ">".repeat(49));
        assert_eq!(schema_too_deep(&deep), deep.match_indices('<').nth(48).map(|(at, _)| at));
        assert_eq!(schema_too_deep(&format!("// {}\ntype A = {{ a: Set<Long> }};", "{".repeat(99))), None);
    }

    #[test]
    fn semicolons_in_strings_and_comments_do_not_end_a_policy() {
        let text = "// a; b\n@remedy(\"x(); y(\\\"z;\\\")\")\nforbid(p, a, r); // tail;\npermit(p, a, r);\n// end";
        assert_eq!(cut(text), ["@remedy(\"x(); y(\\\"z;\\\")\")\nforbid(p, a, r);", "permit(p, a, r);"]);
    }

    #[test]
    fn what_has_no_end_is_still_a_statement() {
        assert_eq!(cut("forbid(p, a, r) // no end"), ["forbid(p, a, r)"]);
        assert_eq!(cut("forbid(\"open"), ["forbid(\""]);
    }

    #[test]
    fn finds_a_word_in_code_only() {
        let text = "@a(\"if\") forbid when { // if\n verify && if x };";
        assert_eq!(find_code(text, "if", 0), Some(text.rfind("if").unwrap()));
        assert_eq!(find_code(text, "then", 0), None);
    }
}
