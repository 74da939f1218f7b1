//! Words of a text: lower-cased, with the clause and the sentence each stands in.
//!
//! This knows letters, digits and punctuation, of any script; it knows no language. What the words
//! mean is the business of a policy's phrase tables.

use std::sync::OnceLock;

/// One word of a [`Words`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    start: u32,
    end: u32,
    /// The clause it stands in, counted from 0; commas, dashes and brackets end one too.
    pub clause: u16,
    /// The sentence it stands in, counted from 0.
    pub sentence: u16,
    /// Whether it stands between double quotation marks: said about, not said.
    pub quoted: bool,
}

/// A text as words.
///
/// A word is a run of letters and digits. A dot, comma or colon between digits belongs to the number
/// (`22.5`, `13:30`), its unit does not (`7pm`), dots and `@` inside an address to the address. An apostrophe parts words, so
/// that `can't` reads `can t` however it is typed. `%` and `°` are words of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// The words in lower case, each with a space before and after: what one text is searched for in
    /// another, so it is laid out once.
    spaced: String,
    words: Vec<Word>,
    questions: Vec<bool>,
    found: Notes,
}

/// What a lexicon found in a text.
#[derive(Debug, Clone)]
pub struct Found {
    /// Each phrase: its first word, the word after its last, its number in the lexicon.
    pub phrases: Box<[(u32, u32, u32)]>,
    /// The language of the text by its position in the lexicon, if one stands out.
    pub language: Option<u8>,
}

/// A place beside the words for what was found in them: every check of a conversation reads the same
/// texts, and finding phrases is most of the work. It is no part of the text.
#[derive(Debug, Clone, Default)]
struct Notes(OnceLock<(u64, Found)>);

impl PartialEq for Notes {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Notes {}

/// Longest text that is split, in bytes: the longest reply a draft may hold, four times over.
const MAX_BYTES: usize = 64 * 1024;

impl Words {
    /// Splits a text. What lies beyond 64 KiB is not looked at: nobody says it.
    pub fn new(text: &str) -> Self {
        let mut at = text.len().min(MAX_BYTES);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let mut splitter = Splitter::new(at);
        let mut rest = text.get(..at).unwrap_or_default();
        loop {
            // Most of a text are runs of plain letters, taken at one go.
            let run = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
            let (letters, after) = rest.split_at_checked(run).unwrap_or((rest, ""));
            if let Some(first) = letters.chars().next() {
                splitter.begin(first);
                splitter.letters(letters);
            }
            let mut chars = after.chars();
            let Some(c) = chars.next() else { return splitter.finish() };
            rest = chars.as_str();
            splitter.take(c, rest.chars().next());
        }
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The word at a position.
    pub fn get(&self, at: usize) -> Option<&Word> {
        self.words.get(at)
    }

    /// The letters of the word at a position; empty outside the text.
    pub fn text(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |w| self.slice(w))
    }

    /// All words with their letters.
    pub fn iter(&self) -> impl Iterator<Item = (&Word, &str)> {
        self.words.iter().map(|w| (w, self.slice(w)))
    }

    /// How many sentences there are.
    pub fn sentences(&self) -> u16 {
        u16::try_from(self.questions.len()).unwrap_or(u16::MAX)
    }

    /// Whether a sentence ends in a question mark.
    pub fn is_question(&self, sentence: u16) -> bool {
        self.questions.get(usize::from(sentence)).copied().unwrap_or(false)
    }

    /// Whether any sentence is a question.
    pub fn asks(&self) -> bool {
        self.questions.contains(&true)
    }

    /// What the lexicon with this number found in the text; `find` looks where nobody has.
    ///
    /// The first lexicon that reads a text is remembered. Another one, after a change of policy, looks
    /// anew each time until the text is forgotten.
    pub fn found<R>(&self, lexicon: u64, find: impl Fn() -> Found, then: impl FnOnce(&Found) -> R) -> R {
        let (by, found) = self.found.0.get_or_init(|| (lexicon, find()));
        if *by == lexicon { then(found) } else { then(&find()) }
    }

    /// All words, each with a space before and after: for the search of one text in another,
    /// whatever their punctuation, line breaks and markup.
    pub fn spaced(&self) -> &str {
        &self.spaced
    }

    /// The same, where the words themselves are not needed any more.
    pub fn into_spaced(self) -> String {
        self.spaced
    }

    fn slice(&self, word: &Word) -> &str {
        self.spaced.get(word.start as usize..word.end as usize).unwrap_or_default()
    }
}

struct Splitter {
    out: Words,
    /// Where the current word began, if one is open.
    open: Option<u32>,
    last: Option<char>,
    clause: u16,
    sentence: u16,
    /// Whether the current clause and sentence hold a word yet.
    clause_used: bool,
    sentence_used: bool,
    quoted: bool,
    /// Whether the text last quoted ended as a sentence does.
    quote_ended: bool,
}

impl Splitter {
    fn new(bytes: usize) -> Self {
        let mut spaced = String::with_capacity(bytes + bytes / 8 + 2);
        spaced.push(' ');
        Self {
            // A word and its space take some six letters.
            out: Words { spaced, words: Vec::with_capacity(bytes / 6 + 1), ..Words::default() },
            open: None,
            last: None,
            clause: 0,
            sentence: 0,
            clause_used: false,
            sentence_used: false,
            quoted: false,
            quote_ended: false,
        }
    }

    /// Makes room for a letter or mark of a word: the open one goes on, or one is opened.
    fn begin(&mut self, c: char) {
        if c.is_alphabetic() && self.is_number() {
            self.close(); // the unit of a number is a word of its own
        }
        if self.open.is_some() {
            return;
        }
        // A quotation is part of its sentence (`send "I am late." to Jo?`), unless a new one
        // plainly begins after it.
        if !self.quoted && std::mem::take(&mut self.quote_ended) && c.is_uppercase() {
            self.end_sentence(false);
        }
        self.open = Some(self.end());
    }

    /// Takes plain letters into the open word.
    fn letters(&mut self, run: &str) {
        let start = self.out.spaced.len();
        self.out.spaced.push_str(run);
        self.out.spaced.get_mut(start..).into_iter().for_each(str::make_ascii_lowercase);
        self.last = run.chars().next_back();
    }

    fn take(&mut self, c: char, next: Option<char>) {
        if is_letter(c) || self.joins(c, next) {
            self.begin(c);
            if c.is_ascii() {
                self.out.spaced.push(c.to_ascii_lowercase());
            } else {
                self.out.spaced.extend(c.to_lowercase());
            }
            self.last = Some(c);
            return;
        }
        self.close();
        self.last = None;
        match c {
            '%' | '°' => {
                self.open = Some(self.end());
                self.out.spaced.push(c);
                self.close();
            }
            '"' => self.quoted = !self.quoted,
            '“' | '„' | '«' => self.quoted = true,
            '”' | '»' => self.quoted = false,
            '.' | '!' | '?' | '…' | '。' | '？' | '！' if self.quoted => {
                self.end_clause();
                self.quote_ended = true;
            }
            '\n' => {
                // No quotation in speech spans lines: a stray mark must not swallow the rest.
                self.quoted = false;
                self.end_sentence(false);
            }
            '.' | '!' | '?' | '…' | '。' | '？' | '！' => self.end_sentence(matches!(c, '?' | '？')),
            ',' | ';' | ':' | '(' | ')' | '[' | ']' | '–' | '—' | '、' => self.end_clause(),
            '-' if next.is_none_or(char::is_whitespace) => self.end_clause(),
            _ => {}
        }
    }

    /// Whether a mark belongs to the word it stands in.
    fn joins(&self, c: char, next: Option<char>) -> bool {
        let (Some(last), Some(next)) = (self.last, next) else { return false };
        match c {
            '.' | '@' => is_letter(last) && is_letter(next),
            ',' | ':' => last.is_ascii_digit() && next.is_ascii_digit(),
            _ => false,
        }
    }

    /// Whether the open word is all digits so far.
    fn is_number(&self) -> bool {
        let open = self.open.and_then(|start| self.out.spaced.get(start as usize..));
        open.is_some_and(|word| word.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | ':')))
    }

    fn end(&self) -> u32 {
        u32::try_from(self.out.spaced.len()).unwrap_or(u32::MAX)
    }

    fn close(&mut self) {
        let Some(start) = self.open.take() else { return };
        let end = self.end();
        self.out.spaced.push(' ');
        self.out.words.push(Word { start, end, clause: self.clause, sentence: self.sentence, quoted: self.quoted });
        self.clause_used = true;
        self.sentence_used = true;
    }

    fn end_clause(&mut self) {
        if std::mem::take(&mut self.clause_used) {
            self.clause = self.clause.saturating_add(1);
        }
    }

    fn end_sentence(&mut self, question: bool) {
        self.end_clause();
        if std::mem::take(&mut self.sentence_used) {
            self.out.questions.push(question);
            self.sentence = self.sentence.saturating_add(1);
        } else if question && let Some(last) = self.out.questions.last_mut() {
            *last = true; // `?!` and `!?` ask as well
        }
    }

    fn finish(mut self) -> Words {
        self.close();
        self.end_sentence(false);
        self.out
    }
}

fn is_letter(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric() || (!c.is_ascii() && c.is_alphanumeric())
}

/// The number that a word of digits writes: `22.5`, `22,5` and `1,168` as people mean them.
pub fn word_number(word: &str) -> Option<f64> {
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    match word.rsplit_once(',') {
        None => word.parse().ok(),
        Some((whole, tail)) if tail.len() == 3 && !whole.contains('.') => word.replace(',', "").parse().ok(),
        Some((whole, tail)) if !whole.contains([',', '.']) => format!("{whole}.{tail}").parse().ok(),
        Some(_) => word.replace('.', "").replace(',', ".").parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        Words::new(text).iter().map(|(_, w)| w.to_owned()).collect()
    }

    #[test]
    fn numbers_times_and_addresses_stay_whole() {
        assert_eq!(
            words("Set 22.5 °C at 13:30, then mail grace.n@x.org."),
            ["set", "22.5", "°", "c", "at", "13:30", "then", "mail", "grace.n@x.org"]
        );
        assert_eq!(words("50% now at 7pm, loc_12ab."), ["50", "%", "now", "at", "7", "pm", "loc_12ab"]);
    }

    #[test]
    fn an_apostrophe_parts_words_however_it_is_typed() {
        assert_eq!(words("I can't"), words("I can’t"));
        assert_eq!(words("Öffne die Tür"), ["öffne", "die", "tür"]);
    }

    #[test]
    fn a_quotation_is_part_of_its_sentence_unless_a_new_one_begins() {
        let text = Words::new("Shall I send \"I am late.\" to Jo?");
        assert_eq!((text.sentences(), text.is_question(0)), (1, true));
        let text = Words::new("It says \"I am late.\" Shall I send it?");
        assert_eq!((text.sentences(), text.is_question(0), text.is_question(1)), (2, false, true));
    }

    #[test]
    fn clauses_and_sentences_are_counted_and_questions_marked() {
        let text = Words::new("Fine, the oven is on. Shall I go on?! Or not");
        let clauses: Vec<u16> = text.iter().map(|(w, _)| w.clause).collect();
        assert_eq!(clauses, [0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3]);
        assert_eq!(text.sentences(), 3);
        assert!(!text.is_question(0) && text.is_question(1) && !text.is_question(2));
    }

    #[test]
    fn quoted_words_are_marked() {
        let text = Words::new("I'd send “I am late” to him");
        assert_eq!(text.iter().filter(|(w, _)| w.quoted).map(|(_, w)| w).collect::<Vec<_>>(), ["i", "am", "late"]);
    }

    #[test]
    fn markup_and_line_breaks_do_not_hide_a_text_in_another() {
        let shown = Words::new("**Message:**\n\"Hi Grace,\n\nI am late.\" Shall I send it?");
        assert!(shown.spaced().contains(Words::new("Hi Grace, I am late.").spaced()));
        assert!(!shown.spaced().contains(Words::new("Hi Grace, I am very late.").spaced()));
    }

    #[test]
    fn a_megabyte_is_cut_not_refused() {
        assert!(Words::new(&"ä ".repeat(1 << 19)).len() <= MAX_BYTES);
    }
}
