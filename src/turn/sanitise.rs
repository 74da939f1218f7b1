//! Takes out of a reply what cannot be spoken, and nothing that has a meaning.
//!
//! A text-to-speech engine reads `**bold**` aloud or chokes on it. But `5 * 3 * 2`, `- 5 degrees` at
//! the start of a line, `snake_case` and `12:30` mean something: markup is removed only where it is
//! certainly markup (gates.md D, *Sanitise*).

/// The reply as it may be spoken.
pub fn sanitise(reply: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let source: Vec<&str> = reply.lines().map(str::trim).filter(|l| !l.starts_with("```")).collect();
    let bullets = source.iter().filter(|l| bullet(l).is_some()).count();
    for line in &source {
        let line = heading(line);
        // A lone "- 5" is a number with its sign; a list has several items or words after the mark.
        let line = match bullet(line) {
            Some(rest) if bullets > 1 || !rest.starts_with(|c: char| c.is_ascii_digit()) => rest,
            _ => line,
        };
        let plain = unpair(&links(line));
        let plain: String = plain.chars().filter(|c| !is_pictograph(*c)).collect();
        let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
        if !plain.is_empty() {
            lines.push(plain);
        }
    }
    let mut out = String::new();
    for line in lines {
        if !out.is_empty() {
            // What was a list item or a paragraph ends as a sentence does.
            if !out.ends_with(['.', '!', '?', ':', ',', ';', '…']) {
                out.push('.');
            }
            out.push(' ');
        }
        out.push_str(&line);
    }
    out
}

/// Without `## `.
fn heading(line: &str) -> &str {
    let rest = line.trim_start_matches('#');
    if rest.len() < line.len() && rest.starts_with(' ') { rest.trim_start() } else { line }
}

/// What follows the mark of a list item: `- x`, `* x`, `• x`, `3. x`, `3) x`.
fn bullet(line: &str) -> Option<&str> {
    for mark in ["- ", "* ", "• ", "– "] {
        if let Some(rest) = line.strip_prefix(mark) {
            return Some(rest.trim_start());
        }
    }
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - rest.len();
    let rest = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))?;
    (1..=2).contains(&digits).then(|| rest.trim_start())
}

/// `[text](address)` as `text`.
fn links(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('[') {
        match after.split_once("](").and_then(|(text, tail)| Some((text, tail.split_once(')')?.1))) {
            Some((text, tail)) if !text.contains('[') => {
                out.push_str(before);
                out.push_str(text);
                rest = tail;
            }
            _ => {
                out.push_str(before);
                out.push('[');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Without pairs of markup: a mark opens only before a word and closes only after one, so that
/// arithmetic (`5 * 3 * 2`) and names (`snake_case`) stay as they are.
fn unpair(line: &str) -> String {
    let mut text = line.to_owned();
    for mark in ["**", "__", "`", "*", "_", "~~"] {
        let mut from = 0;
        while let Some(open) = find_open(&text, mark, from) {
            let inside = open + mark.len();
            match find_close(&text, mark, inside) {
                Some(close) => {
                    text.replace_range(close..close + mark.len(), "");
                    text.replace_range(open..inside, "");
                    from = open;
                }
                None => from = inside,
            }
        }
    }
    text
}

fn find_open(text: &str, mark: &str, from: usize) -> Option<usize> {
    text.get(from..)?.match_indices(mark).map(|(at, _)| at + from).find(|at| {
        let before = text.get(..*at).and_then(|t| t.chars().next_back());
        let after = text.get(at + mark.len()..).and_then(|t| t.chars().next());
        before.is_none_or(|c| !c.is_alphanumeric()) && after.is_some_and(|c| !c.is_whitespace())
    })
}

fn find_close(text: &str, mark: &str, from: usize) -> Option<usize> {
    text.get(from..)?.match_indices(mark).map(|(at, _)| at + from).find(|at| {
        let before = text.get(from..*at).and_then(|t| t.chars().next_back());
        let after = text.get(at + mark.len()..).and_then(|t| t.chars().next());
        before.is_some_and(|c| !c.is_whitespace()) && after.is_none_or(|c| !c.is_alphanumeric())
    })
}

/// Emoji, dingbats, arrows and their joiners. Signs that are spoken (degree, percent, currency,
/// minus, plus-minus, multiplication) lie elsewhere and stay.
fn is_pictograph(c: char) -> bool {
    matches!(u32::from(c),
        0x1F000..=0x1FAFF | 0x2600..=0x27BF | 0x2190..=0x21FF | 0x2B00..=0x2BFF | 0x25A0..=0x25FF
        | 0xFE00..=0xFE0F | 0x200D | 0x20E3 | 0xE0020..=0xE007F)
}

#[cfg(test)]
mod tests {
    use super::sanitise;

    #[test]
    fn removes_markup_that_cannot_be_spoken() {
        assert_eq!(sanitise("**Done!** The *driver* window is `open` 🎉"), "Done! The driver window is open");
        assert_eq!(sanitise("## Routes\n- A8, 20 min\n- B10, 25 min"), "Routes. A8, 20 min. B10, 25 min");
        assert_eq!(sanitise("1. first\n2. second"), "first. second");
        assert_eq!(sanitise("See [the map](http://x/y)."), "See the map.");
        assert_eq!(sanitise("```\ncode\n```\nok"), "code. ok");
    }

    #[test]
    fn keeps_minus_signs_arithmetic_names_and_times() {
        for text in [
            "- 5 degrees outside",
            "-5 °C",
            "5 * 3 * 2 is 30",
            "2*3*4",
            "open_close_window",
            "12:30 to 13:45",
            "a_b and c_d",
            "1. is a rank [x]",
        ] {
            let kept = sanitise(text);
            assert!(kept == text || text.starts_with("1. "), "{text} became {kept}");
        }
        assert_eq!(sanitise("It is − 3 to + 2 degrees, 50 % humid."), "It is − 3 to + 2 degrees, 50 % humid.");
    }

    #[test]
    fn what_is_clean_stays_byte_for_byte() {
        let clean = "Hey there! The AC is on, and the windows are closed. Anything else?";
        assert_eq!(sanitise(clean), clean);
    }
}
