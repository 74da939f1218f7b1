//! Finds what was redacted where other texts quote it: in whole or in part, in other letters, other spacing, or
//! with the escapes of a JSON text or of a Rust string.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;

/// Letters in a row that count as a quotation. What is longer is found by any part of this length.
pub(super) const WINDOW: usize = 16;

/// Letters below which a text is not looked for: "yes" is no secret, and cutting it out of every sentence would
/// make the journal unreadable.
pub(super) const SHORTEST: usize = 4;

/// Bytes of texts that are remembered: a day's mails. What is older is no longer quoted, as a rule.
const REMEMBERED: usize = 64 << 10;

/// Base of the rolling hash. Two windows that happen to share a hash cost a few readable words, nothing else.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// A letter of a text and where it stands. Letters and digits count, and signs beyond ASCII; spaces,
/// punctuation and case do not.
#[derive(Debug, Clone)]
struct Letter {
    of: char,
    at: Range<usize>,
}

/// Texts that were redacted.
#[derive(Debug, Default)]
pub(super) struct Quotes {
    /// Letters of each, newest first, with the bytes it had.
    texts: VecDeque<(Vec<Letters>, usize)>,
    bytes: usize,
    /// By length: the hashes of what is looked for, and how many texts hold it.
    windows: BTreeMap<usize, HashMap<u64, u32>>,
    /// Whole texts, with the mark that stands for each.
    marks: HashMap<Letters, String>,
}

/// Letters of a text in one reading.
type Letters = String;

impl Quotes {
    /// Remembers a text that was replaced by a mark.
    pub(super) fn remember(&mut self, text: &str, mark: &str) {
        let readings = readings(text);
        if readings.iter().all(|letters| self.marks.contains_key(letters)) {
            return;
        }
        for letters in &readings {
            each_window(letters, |length, hash| {
                *self.windows.entry(length).or_default().entry(hash).or_default() += 1;
            });
            self.marks.insert(letters.clone(), mark.to_owned());
        }
        self.bytes += text.len();
        self.texts.push_front((readings, text.len()));
        while self.bytes > REMEMBERED && self.texts.len() > 1 {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((readings, bytes)) = self.texts.pop_back() else { return };
        self.bytes -= bytes;
        for letters in &readings {
            self.marks.remove(letters);
            each_window(letters, |length, hash| {
                let Some(of_length) = self.windows.get_mut(&length) else { return };
                if let Some(count) = of_length.get_mut(&hash) {
                    *count -= 1;
                    if *count == 0 {
                        of_length.remove(&hash);
                    }
                }
            });
        }
        self.windows.retain(|_, of_length| !of_length.is_empty());
    }

    /// The text without what it quotes; none where it quotes nothing.
    pub(super) fn cut(&self, text: &str) -> Option<String> {
        if self.windows.is_empty() {
            return None;
        }
        let mut found = self.found(&letters(text, false));
        if text.contains('\\') {
            found.extend(self.found(&letters(text, true)));
        }
        if found.is_empty() {
            return None;
        }
        found.sort_unstable_by_key(|(range, _)| range.start);
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for (range, mark) in joined(found) {
            out.push_str(text.get(from..range.start).unwrap_or_default());
            match mark {
                Some(mark) => out.push_str(&format!("[redacted {mark}]")),
                None => out.push_str("[redacted in part]"),
            }
            from = range.end;
        }
        out.push_str(text.get(from..).unwrap_or_default());
        Some(out)
    }

    /// Where a reading of a text quotes what is remembered, with the mark of a text that is quoted whole.
    fn found(&self, letters: &[Letter]) -> Vec<(Range<usize>, Option<String>)> {
        let mut hit = vec![false; letters.len()];
        for (&length, hashes) in &self.windows {
            rolling(letters.iter().map(|l| l.of), length, |first, hash| {
                let last = first + length - 1;
                if hashes.contains_key(&hash) && (length == WINDOW || stands_alone(letters, first, last)) {
                    hit.iter_mut().take(last + 1).skip(first).for_each(|hit| *hit = true);
                }
            });
        }
        let runs = hit.chunk_by(|a, b| a == b).scan(0, |at, run| {
            let first = *at;
            *at += run.len();
            Some((run.first() == Some(&true), first..*at))
        });
        let quoted = |range: Range<usize>| {
            let quoted = letters.get(range)?;
            let at = quoted.first()?.at.start..quoted.last()?.at.end;
            let text: String = quoted.iter().map(|l| l.of).collect();
            Some((at, self.marks.get(&text).cloned()))
        };
        runs.filter(|(hit, _)| *hit).filter_map(|(_, range)| quoted(range)).collect()
    }
}

/// Ranges in order, without overlaps. What two readings agree in keeps its mark.
fn joined(found: Vec<(Range<usize>, Option<String>)>) -> Vec<(Range<usize>, Option<String>)> {
    let mut joined: Vec<(Range<usize>, Option<String>)> = Vec::new();
    for (range, mark) in found {
        match joined.last_mut() {
            Some((last, known)) if range.start < last.end => {
                let both = last.start..last.end.max(range.end);
                let of_the_first = known.take().filter(|_| *last == both);
                *known = of_the_first.or(mark.filter(|_| range == both));
                *last = both;
            }
            _ => joined.push((range, mark)),
        }
    }
    joined
}

/// Whether a short text is one word, or several, and no part of a longer one.
fn stands_alone(letters: &[Letter], first: usize, last: usize) -> bool {
    let apart = |one: Option<&Letter>, next: Option<&Letter>| match (one, next) {
        (Some(one), Some(next)) => one.at.end < next.at.start,
        _ => true,
    };
    let before = first.checked_sub(1).and_then(|at| letters.get(at));
    apart(before, letters.get(first)) && apart(letters.get(last), letters.get(last + 1))
}

/// The letters of a text that is to be remembered, as it stands and with its escapes read.
fn readings(text: &str) -> Vec<Letters> {
    let of = |escapes| letters(text, escapes).into_iter().map(|l| l.of).collect::<Letters>();
    let mut readings = vec![of(false)];
    if text.contains('\\') {
        readings.push(of(true));
    }
    readings.dedup();
    readings.retain(|letters| letters.chars().count() >= SHORTEST);
    readings
}

fn each_window(letters: &str, mut each: impl FnMut(usize, u64)) {
    let length = letters.chars().count().min(WINDOW);
    rolling(letters.chars(), length, |_, hash| each(length, hash));
}

/// The hash of every window, with the position of its first letter.
fn rolling(letters: impl Iterator<Item = char>, length: usize, mut each: impl FnMut(usize, u64)) {
    let top = (1..length).fold(1_u64, |top, _| top.wrapping_mul(BASE));
    let mut window = VecDeque::with_capacity(length);
    let mut hash = 0_u64;
    for (at, letter) in letters.enumerate() {
        if window.len() == length
            && let Some(gone) = window.pop_front()
        {
            hash = hash.wrapping_sub(u64::from(gone).wrapping_mul(top));
        }
        let letter = u32::from(letter);
        hash = hash.wrapping_mul(BASE).wrapping_add(u64::from(letter));
        window.push_back(letter);
        if window.len() == length {
            each(at + 1 - length, hash);
        }
    }
}

/// The letters of a text; with `escapes`, those that JSON or Rust writes with a backslash are read as what they
/// stand for.
fn letters(text: &str, escapes: bool) -> Vec<Letter> {
    let mut letters = Vec::new();
    let mut take = |c: char, at: Range<usize>| {
        if c.is_alphanumeric() || (!c.is_ascii() && !c.is_whitespace() && !c.is_control()) {
            letters.extend(c.to_lowercase().map(|of| Letter { of, at: at.clone() }));
        }
    };
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let at = text.len() - rest.len();
        let (read, length) = match (escapes && c == '\\').then(|| escape(rest)).flatten() {
            Some(read) => read,
            None => (Some(c), c.len_utf8()),
        };
        if let Some(c) = read {
            take(c, at..at + length);
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    letters
}

/// What an escape at the beginning of a text stands for, none for a sign that counts for nothing, and its length.
/// A text that was written into a text has its backslashes doubled.
fn escape(text: &str) -> Option<(Option<char>, usize)> {
    let after = text.trim_start_matches('\\');
    let slashes = text.len() - after.len();
    let kind = after.chars().next()?;
    if kind != 'u' {
        return "\"/bfnrt0'".contains(kind).then_some((None, slashes + 1));
    }
    let (digits, length) = match after.get(1..)?.strip_prefix('{') {
        Some(braced) => {
            let digits = braced.split_once('}')?.0;
            (digits, digits.len() + 3)
        }
        None => (after.get(1..5)?, 5),
    };
    let code = u32::from_str_radix(digits, 16).ok()?;
    Some((char::from_u32(code), slashes + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knowing(texts: &[&str]) -> Quotes {
        let mut quotes = Quotes::default();
        texts.iter().for_each(|text| quotes.remember(text, "m"));
        quotes
    }

    fn cut(secret: &str, text: &str) -> String {
        knowing(&[secret]).cut(text).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn a_quotation_is_found_in_other_letters_spacing_and_escapes() {
        let secret = "PIN 4711\nof the \"Safe\"";
        for quoted in [
            secret.to_owned(),
            secret.to_lowercase(),
            secret.to_uppercase(),
            secret.replace('\n', " "),
            format!("{secret:?}"),
            serde_json::to_string(secret).unwrap(),
            serde_json::to_string(&serde_json::to_string(secret).unwrap()).unwrap(),
        ] {
            let left = cut(secret, &format!("It says: {quoted}. Shall I?"));
            assert!(left.starts_with("It says: ") && left.ends_with("Shall I?"), "{left}");
            assert!(!left.to_lowercase().contains("4711") && !left.to_lowercase().contains("safe"), "{left}");
        }
        assert_eq!(cut("PIN4711", "content message pin4711. Shall I?"), "content message [redacted m]. Shall I?");
    }

    #[test]
    fn a_part_of_a_long_text_is_found_and_a_short_one_only_as_a_word() {
        let secret = "meet me behind the old mill at nine";
        assert_eq!(cut(secret, "(\"behind the old mill\" is too long)"), "(\"[redacted in part]\" is too long)");
        assert_eq!(cut(secret, "the old mill"), "the old mill", "fewer letters than a window");
        assert_eq!(cut("nine", "at Nine, or ninety"), "at [redacted m], or ninety");
        assert_eq!(cut("no", "no"), "no");
        assert_eq!(cut("💘💘💘💘", "it says 💘💘💘💘!"), "it says [redacted m]!");
    }

    #[test]
    fn what_reads_as_an_escape_and_is_none_is_found_as_well() {
        let secret = r"look into C:\new\table\files";
        assert_eq!(cut(secret, &format!("<{secret}>")), "<[redacted m]>");
        let written = serde_json::to_string(secret).unwrap();
        assert!(!cut(secret, &written).contains("table"), "{}", cut(secret, &written));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_what_is_forgotten_leaves_nothing_behind() {
        let mut quotes = Quotes::default();
        for i in 0..2_000_u32 {
            quotes.remember(&format!("{i} {}", "a long and winding text ".repeat(8)), "m");
        }
        assert!(quotes.bytes <= REMEMBERED && quotes.texts.len() < 1_000);
        assert!(quotes.cut("1999 a long and winding text").is_some());
        assert!(quotes.marks.len() <= quotes.texts.len());
        while quotes.texts.len() > 1 {
            quotes.forget_oldest();
        }
        quotes.forget_oldest();
        assert!(quotes.windows.is_empty() && quotes.marks.is_empty() && quotes.bytes == 0);
    }
}
