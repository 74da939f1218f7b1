//! Whether an answer agrees to what was asked.
//!
//! A yes is not a yes-word somewhere: the answer opens with it or orders the very action that was
//! proposed, and nothing else in it says more than the question did. `Yes, the charge port` and
//! `Okay, I changed my mind` hold words that nobody asked about, so they are no yes.

use crate::model::ToolCall;
use crate::policy::{Hit, Meaning, PhraseRole, Policy, Reading};
use crate::tools::ToolIx;

/// What makes a yes something less, or no yes at all.
const SPOILS: [PhraseRole; 8] = [
    PhraseRole::No,
    PhraseRole::Negation,
    PhraseRole::Qualifier,
    PhraseRole::Contingent,
    PhraseRole::Future,
    PhraseRole::Clock,
    PhraseRole::Or,
    PhraseRole::AskValue,
];

/// Words that say what is done or how something stands: out of the question's context they may turn a
/// yes around (`Yes, it stays closed`), so they count only where the asking sentence holds them.
const ACTS: [PhraseRole; 7] = [
    PhraseRole::Change,
    PhraseRole::Changed,
    PhraseRole::On,
    PhraseRole::Off,
    PhraseRole::Least,
    PhraseRole::Copula,
    PhraseRole::Remove,
];

/// A question that proposes calls.
#[derive(Debug)]
pub struct Proposal<'a, 'p> {
    /// The policy.
    pub policy: &'p Policy,
    /// What was asked.
    pub question: &'a Reading<'p>,
    /// The sentences that propose.
    pub asking: Vec<u16>,
    /// The calls proposed, with their tools.
    pub calls: Vec<(ToolIx, &'a ToolCall)>,
    /// Whether something else was asked in the same breath, so that a bare yes leaves open what it is to.
    pub beside: bool,
}

impl<'a, 'p> Proposal<'a, 'p> {
    /// A question of the harness itself: every sentence of it is about its calls.
    pub fn own(policy: &'p Policy, question: &'a Reading<'p>, calls: &'a [ToolCall]) -> Self {
        let position = |c: &'a ToolCall| Some((policy.inventory.position(c.tool.as_str())?, c));
        Self {
            policy,
            question,
            asking: (0..question.words().sentences()).collect(),
            calls: calls.iter().filter_map(position).collect(),
            beside: false,
        }
    }

    /// Whether an answer is an unqualified yes to it.
    pub fn agreed(&self, answer: &Reading<'_>) -> bool {
        let mut agreed = false;
        for sentence in 0..answer.words().sentences() {
            let acts = !self.is_elsewhere(answer, sentence) && self.orders(answer, sentence);
            let yes = acts || (opens_with_yes(answer, sentence) && !answer.words().is_question(sentence));
            if !yes && self.is_elsewhere(answer, sentence) {
                continue;
            }
            let asks = answer.words().is_question(sentence) && !acts;
            if asks || spoils(answer, sentence) || !self.says_no_more(answer, sentence, agreed) {
                return false;
            }
            agreed |= yes && (!self.beside || self.picks(answer, sentence));
        }
        agreed
    }

    fn names(&self, hit: &Hit<'_>) -> bool {
        self.calls.iter().any(|(tool, _)| hit.names(*tool))
    }

    /// Whether a sentence is about other things only, as a further wish is.
    fn is_elsewhere(&self, answer: &Reading<'_>, sentence: u16) -> bool {
        let mut nouns = nouns(answer, sentence).peekable();
        nouns.peek().is_some() && nouns.all(|h| !self.names(h))
    }

    /// Whether a sentence orders what was proposed: after fillers at most, by its own verb.
    fn orders(&self, answer: &Reading<'_>, sentence: u16) -> bool {
        let acting = |h: &&Hit<'_>| {
            self.calls.iter().any(|(tool, _)| h.means(Meaning::Verb(*tool)) || h.is(PhraseRole::Change))
                && !is_report(answer, h)
                && self.was_asked(answer, h)
        };
        let words = answer.words();
        let mut at = start(answer, sentence);
        while words.get(at).is_some_and(|w| w.sentence == sentence) {
            if answer.hits().iter().filter(|h| h.start == at).any(|h| acting(&h)) {
                return true;
            }
            let skips = |h: &&Hit<'_>| h.start == at && (h.is(PhraseRole::Courtesy) || h.is(PhraseRole::Yes));
            match answer.hits().iter().filter(skips).map(|h| h.end).max() {
                Some(end) => at = end,
                None if nouns(answer, sentence).any(|h| h.start <= at && at < h.end && self.names(h)) => at += 1,
                None => return false,
            }
        }
        false
    }

    /// Whether a yes says itself what it is to.
    fn picks(&self, answer: &Reading<'_>, sentence: u16) -> bool {
        nouns(answer, sentence).any(|h| self.names(h)) || self.orders(answer, sentence)
    }

    /// Whether every word of a sentence is polite, agrees, or stands in the proposal already. After a yes
    /// a sentence may hold further wishes: clauses about something else.
    fn says_no_more(&self, answer: &Reading<'_>, sentence: u16, agreed: bool) -> bool {
        let mut own = nouns(answer, sentence).peekable();
        if own.peek().is_some() && !own.any(|h| self.names(h)) {
            return false;
        }
        let elsewhere = |clause: u16| {
            let mut there = nouns(answer, sentence).filter(|h| answer.clause(h) == clause).peekable();
            agreed && there.peek().is_some() && there.all(|h| !self.names(h))
        };
        let numbers: Vec<(usize, f64)> = answer.numbers().collect();
        let words = answer.words();
        (start(answer, sentence)..words.len())
            .take_while(|at| words.get(*at).is_some_and(|w| w.sentence == sentence))
            .all(|at| words.get(at).is_some_and(|w| elsewhere(w.clause)) || self.is_known(answer, at, &numbers))
    }

    fn is_known(&self, answer: &Reading<'_>, at: usize, numbers: &[(usize, f64)]) -> bool {
        let covering = || answer.hits().iter().filter(move |h| h.start <= at && at < h.end);
        let polite = [PhraseRole::Courtesy, PhraseRole::Yes, PhraseRole::Current, PhraseRole::Confirm];
        if covering().any(|h| polite.iter().any(|r| h.is(*r))) {
            return true;
        }
        if let Some((_, n)) = numbers.iter().find(|(here, _)| *here == at) {
            return self.numbers().any(|m| (m - n).abs() < 1e-9);
        }
        let text = answer.words().text(at);
        let words = self.question.words();
        if words.iter().any(|(w, t)| t == text && self.asking.contains(&w.sentence)) || self.argues(text) {
            return true;
        }
        if covering().any(|h| self.was_asked(answer, h) || self.switches(h)) {
            return true;
        }
        // `On eco`, `to 50`: a small word before the value it belongs to.
        let next = at + 1;
        let valued = self.argues(answer.words().text(next)) || numbers.iter().any(|(here, _)| *here == next);
        if valued
            && covering().any(|h| [PhraseRole::On, PhraseRole::Target, PhraseRole::Common].iter().any(|r| h.is(*r)))
        {
            return true;
        }
        // The context of the question is known too, as long as it does nothing.
        let noun = |h: &Hit<'_>| h.nouns().next().is_some();
        let acts = covering().any(|h| ACTS.iter().any(|r| h.is(*r)) || h.value().is_some() || noun(h));
        !acts && words.iter().any(|(_, t)| is_form(t, text) || is_form(text, t))
    }

    /// Numbers of the asking sentences and of the calls.
    fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        let words = self.question.words();
        let asked =
            self.question.numbers().filter(|(at, _)| words.get(*at).is_some_and(|w| self.asking.contains(&w.sentence)));
        let arguments = self.calls.iter().flat_map(|(_, c)| c.arguments.values()).filter_map(serde_json::Value::as_f64);
        asked.map(|(_, n)| n).chain(arguments)
    }

    /// Whether a word is part of an argument.
    fn argues(&self, word: &str) -> bool {
        let texts = self.calls.iter().flat_map(|(_, c)| c.arguments.values()).filter_map(serde_json::Value::as_str);
        texts.into_iter().any(|t| t.split(|c: char| !c.is_alphanumeric()).any(|part| part.to_lowercase() == word))
    }

    /// Whether the asking sentences say the same, or say it in another form.
    fn was_asked(&self, answer: &Reading<'_>, hit: &Hit<'_>) -> bool {
        let asked = |h: &&Hit<'_>| self.asking.contains(&self.question.sentence(h));
        let text = |r: &Reading<'_>, at: usize| r.words().text(at).to_owned();
        let first = text(answer, hit.start);
        // A call that switches nothing and sets no number has one verb, however it is called.
        let turns = alike(answer, hit).any(|h| {
            let role = [PhraseRole::Off, PhraseRole::Least, PhraseRole::Remove].iter().any(|r| h.is(*r));
            role || h.value().is_some()
        });
        let plain = |v: &serde_json::Value| !v.is_boolean() && !v.is_number();
        let carries = |(tool, call): &(ToolIx, &ToolCall)| {
            !turns && hit.means(Meaning::Verb(*tool)) && call.arguments.values().all(plain)
        };
        self.calls.iter().any(|(tool, _)| hit.names(*tool))
            || self.calls.iter().any(carries)
            || self.question.hits().iter().filter(asked).any(|h| {
                let value = hit.value().is_some_and(|v| h.means(v));
                let verb = self.calls.iter().any(|(t, _)| h.means(Meaning::Verb(*t)) && hit.means(Meaning::Verb(*t)));
                value || (text(self.question, h.start) == first && (verb || h.is(PhraseRole::Change)))
            })
            || self.calls.iter().flat_map(|(_, c)| c.arguments.values()).filter_map(|v| v.as_str()).any(|v| {
                v.to_lowercase().split('_').any(|part| self.policy.lexicon().value(part).is_some_and(|m| hit.means(m)))
            })
    }

    /// Whether a phrase switches the way a call does.
    fn switches(&self, hit: &Hit<'_>) -> bool {
        let sets =
            |on: bool| self.calls.iter().flat_map(|(_, c)| c.arguments.values()).any(|v| v.as_bool() == Some(on));
        let (on, off) = (hit.is(PhraseRole::On), hit.is(PhraseRole::Off));
        on != off && sets(on) && !sets(off)
    }
}

/// An answer that opens with a yes and takes nothing of it back, whatever else it says.
pub fn is_plain_yes(answer: &Reading<'_>) -> bool {
    let words = answer.words();
    let yes = |s: &u16| opens_with_yes(answer, *s) && !words.is_question(*s);
    let spoils = |h: &&Hit<'_>| h.is(PhraseRole::No) || h.is(PhraseRole::Qualifier);
    (0..words.sentences()).any(|s| yes(&s)) && !answer.hits().iter().any(|h| spoils(&h))
}

/// Whether an answer is a no, or a yes that is put off or hangs on something: `No, leave it`, `Yes, but not now`.
pub(super) fn turns_down(answer: &Reading<'_>) -> bool {
    let no = |s| opens_with(answer, s, PhraseRole::No);
    let put_off = |s: u16| {
        let off = [PhraseRole::Qualifier, PhraseRole::Contingent, PhraseRole::Future, PhraseRole::Clock];
        opens_with_yes(answer, s) && off.iter().any(|role| answer.sentence_has(s, *role))
    };
    let sentences = || 0..answer.words().sentences();
    (sentences().any(no) && !answer.has(PhraseRole::Yes)) || sentences().any(put_off)
}

fn opens_with_yes(answer: &Reading<'_>, sentence: u16) -> bool {
    opens_with(answer, sentence, PhraseRole::Yes)
}

fn opens_with(answer: &Reading<'_>, sentence: u16, role: PhraseRole) -> bool {
    let words = answer.words();
    let mut at = start(answer, sentence);
    while words.get(at).is_some_and(|w| w.sentence == sentence) {
        let here = || answer.hits().iter().filter(|h| h.start == at);
        if here().any(|h| h.is(role)) {
            return true;
        }
        match here().filter(|h| h.is(PhraseRole::Courtesy)).map(|h| h.end).max() {
            Some(end) => at = end,
            None => return false,
        }
    }
    false
}

fn spoils(answer: &Reading<'_>, sentence: u16) -> bool {
    let kind = |h: &&Hit<'_>| SPOILS.iter().any(|r| h.is(*r)) && !h.is(PhraseRole::Yes) && !h.is(PhraseRole::Courtesy);
    answer.hits().iter().filter(|h| answer.sentence(h) == sentence).any(|h| kind(&h))
}

fn nouns<'s, 'p>(answer: &'s Reading<'p>, sentence: u16) -> impl Iterator<Item = &'s Hit<'p>> {
    answer.nouns().filter(move |h| answer.sentence(h) == sentence)
}

/// The first word of a sentence.
fn start(answer: &Reading<'_>, sentence: u16) -> usize {
    answer.words().iter().position(|(w, _)| w.sentence == sentence).unwrap_or(usize::MAX)
}

/// Whether a word is another or a longer form of it (`raining` of `rain`).
fn is_form(word: &str, base: &str) -> bool {
    word == base || (base.len() >= 4 && word.strip_prefix(base).is_some_and(|rest| rest.chars().count() <= 3))
}

/// Everything that the words of a phrase stand for.
pub(super) fn alike<'s, 'p>(reading: &'s Reading<'p>, hit: &Hit<'_>) -> impl Iterator<Item = &'s Hit<'p>> {
    let (start, end) = (hit.start, hit.end);
    reading.hits().iter().filter(move |h| h.start == start && h.end == end)
}

/// Whether a phrase reports what was done (`opened`) rather than names the doing.
pub(super) fn is_report(reading: &Reading<'_>, hit: &Hit<'_>) -> bool {
    let is = |role| alike(reading, hit).any(|h| h.is(role));
    is(PhraseRole::Changed) && !is(PhraseRole::Change)
}
