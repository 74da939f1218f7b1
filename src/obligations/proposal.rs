//! Which sentences of a question propose exactly a call.
//!
//! `Shall I open the trunk?` does. A question that negates the action, puts it off, puts another
//! action before it (`remind you to open`, `cancel opening`) or only speaks of a state does not.

use super::answer::{Proposal, alike, is_report};
use crate::model::{ToolCall, Words};
use crate::policy::{Hit, Meaning, PhraseRole, Policy, Reading};
use crate::tools::{Tool, ToolIx};

/// What defers an action or makes it hang on something.
const DEFERS: [PhraseRole; 3] = [PhraseRole::Contingent, PhraseRole::Future, PhraseRole::Clock];
/// What may stand before the verb of a proposal.
const LEADS: [PhraseRole; 8] = [
    PhraseRole::Courtesy,
    PhraseRole::Proceed,
    PhraseRole::Confirm,
    PhraseRole::Intent,
    PhraseRole::Offer,
    PhraseRole::Modal,
    PhraseRole::Common,
    PhraseRole::Yes,
];

/// The question as a proposal of a call; none where it proposes something else, or nothing.
pub(super) fn proposal<'a, 'p>(
    policy: &'p Policy,
    question: &'a Reading<'p>,
    tool: ToolIx,
    call: &'a ToolCall,
) -> Option<Proposal<'a, 'p>> {
    let asked = Asked::new(policy, question, tool, call);
    let leave: Vec<u16> = (0..question.words().sentences()).filter(|s| asked.asks_leave(*s)).collect();
    let mut asking = Vec::new();
    let mut bare = Vec::new();
    let mut beside = false;
    for sentence in &leave {
        match asked.proposes(*sentence) {
            Form::Proposal => asking.push(*sentence),
            Form::Bare => bare.push(*sentence),
            Form::Other => beside = true,
        }
    }
    if asking.is_empty() {
        // `Shall I?` asks for what was said right before it.
        let last = bare.last()?;
        let before = (0..*last).rev().filter(|s| !bare.contains(s));
        let subject = before.into_iter().find(|s| asked.carries(*s) || asked.is_about_something(*s));
        match subject {
            Some(s) if asked.carries(s) || asked.proposes(s) == Form::Proposal => asking.push(s),
            None if asked.carries_text() => {}
            _ => return None,
        }
    }
    asking.extend(bare);
    let words = question.words();
    let others = (0..words.sentences()).filter(|s| !leave.contains(s) && words.is_question(*s));
    beside |= others.into_iter().any(|s| asked.has_content(s) && !asked.quoted_whole(s));
    beside |= asking.iter().any(|s| asked.offers_choice(*s));
    Some(Proposal { policy, question, asking, calls: vec![(tool, call)], beside })
}

/// What a sentence that asks for leave is to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// It proposes the call.
    Proposal,
    /// It proposes what stands elsewhere.
    Bare,
    /// It proposes something else, or nothing.
    Other,
}

struct Asked<'a, 'p> {
    policy: &'p Policy,
    question: &'a Reading<'p>,
    tool: ToolIx,
    /// Words that are the call's own texts: said about, not said.
    quoted: Vec<bool>,
    /// The words of the call's arguments, lower-case.
    parts: Vec<String>,
    /// What these mean.
    own: Vec<Meaning>,
    /// What other members of the same enumerations mean.
    others: Vec<Meaning>,
}

impl<'a, 'p> Asked<'a, 'p> {
    fn new(policy: &'p Policy, question: &'a Reading<'p>, tool: ToolIx, call: &'a ToolCall) -> Self {
        let texts = call.arguments.values().filter_map(serde_json::Value::as_str).filter(|t| t.len() <= 64);
        let parts: Vec<String> = texts.flat_map(|t| t.split(['_', ' ']).map(str::to_lowercase)).collect();
        let params = policy.inventory.at(tool).into_iter().flat_map(|t| &t.params);
        let members = params.filter(|p| call.arguments.contains_key(&p.name)).flat_map(|p| p.members());
        let members: Vec<String> = members.flat_map(|m| m.split('_')).map(str::to_lowercase).collect();
        let meanings = |words: &[String]| words.iter().filter_map(|w| policy.lexicon().value(w)).collect();
        Self {
            own: meanings(&parts),
            others: meanings(&members),
            quoted: said_by(question, call),
            policy,
            question,
            tool,
            parts,
        }
    }

    fn is_said(&self, at: usize) -> bool {
        !self.quoted.get(at).copied().unwrap_or(false) && self.question.words().get(at).is_some_and(|w| !w.quoted)
    }

    fn hits(&self, sentence: u16) -> impl Iterator<Item = &Hit<'p>> {
        self.question.hits().iter().filter(move |h| self.question.sentence(h) == sentence && self.is_said(h.start))
    }

    fn asks_leave(&self, sentence: u16) -> bool {
        let asks = self.question.words().is_question(sentence);
        self.hits(sentence).any(|h| (h.is(PhraseRole::Proceed) && asks) || h.is(PhraseRole::Confirm))
    }

    /// Whether a sentence holds the call's own text, as a mail that is shown does.
    fn carries(&self, sentence: u16) -> bool {
        let words = self.question.words().iter().zip(&self.quoted);
        words.into_iter().any(|((w, _), quoted)| w.sentence == sentence && *quoted)
    }

    fn carries_text(&self) -> bool {
        self.quoted.contains(&true)
    }

    fn quoted_whole(&self, sentence: u16) -> bool {
        let words = self.question.words().iter().enumerate();
        words.filter(|(_, (w, _))| w.sentence == sentence).all(|(at, _)| !self.is_said(at))
    }

    /// Whether a sentence says more than that something is asked.
    fn has_content(&self, sentence: u16) -> bool {
        let words = self.question.words();
        let empty = |at: usize| {
            let covering = self.question.hits().iter().filter(|h| h.start <= at && at < h.end);
            covering.into_iter().any(|h| LEADS.iter().any(|r| h.is(*r)) && h.nouns().next().is_none())
        };
        let inside = words.iter().enumerate().filter(|(_, (w, _))| w.sentence == sentence);
        inside.into_iter().any(|(at, _)| !empty(at))
    }

    /// Whether a sentence speaks of doing something, or of what a tool acts on.
    fn is_about_something(&self, sentence: u16) -> bool {
        let does = [PhraseRole::Change, PhraseRole::On, PhraseRole::Off];
        self.proposes(sentence) != Form::Bare
            && self.hits(sentence).any(|h| h.nouns().next().is_some() || does.iter().any(|r| h.is(*r)))
    }

    /// Whether a phrase is the action of the call, not a state or another action.
    fn acts(&self, hit: &Hit<'_>) -> bool {
        let takes_away = hit.is(PhraseRole::Remove) || hit.is(PhraseRole::No) || hit.is(PhraseRole::Look);
        let does = [PhraseRole::Change, PhraseRole::On, PhraseRole::Off, PhraseRole::Least].iter().any(|r| hit.is(*r));
        let verb = hit.means(Meaning::Verb(self.tool));
        if is_report(self.question, hit) {
            return false;
        }
        (verb || ((does || self.is_argument(hit)) && !takes_away))
            && !self.is_state(hit)
            && !alike(self.question, hit).any(|h| self.contradicts(h))
    }

    /// Whether a phrase says how something stands: a copula comes before it, save for adverbs. `I'll be
    /// opening` is no state.
    fn is_state(&self, hit: &Hit<'_>) -> bool {
        let adverb = [PhraseRole::Courtesy, PhraseRole::Current, PhraseRole::Most];
        let mut at = hit.start;
        loop {
            let before = || self.question.hits().iter().filter(|h| h.end == at);
            let intended = |c: &Hit<'_>| self.question.role(PhraseRole::Intent).any(|i| i.end == c.start);
            if let Some(copula) = before().find(|h| h.is(PhraseRole::Copula)) {
                return !intended(copula);
            }
            match before().filter(|h| adverb.iter().any(|r| h.is(*r))).map(|h| h.start).min() {
                Some(earlier) => at = earlier,
                None => return false,
            }
        }
    }

    /// Whether a phrase says the value of one of the call's words.
    fn is_argument(&self, hit: &Hit<'_>) -> bool {
        self.own.iter().any(|m| hit.means(*m))
    }

    /// Whether a phrase says another member of an enumeration than the call has.
    fn contradicts(&self, hit: &Hit<'_>) -> bool {
        self.others.iter().any(|m| hit.means(*m)) && !self.is_argument(hit)
    }

    fn proposes(&self, sentence: u16) -> Form {
        let confirms = self.hits(sentence).any(|h| h.is(PhraseRole::Confirm));
        let own =
            self.hits(sentence).any(|h| h.names(self.tool)) || !self.hits(sentence).any(|h| h.nouns().next().is_some());
        match self.form(sentence) {
            // Where a confirmation is asked for, something was proposed; this sentence need not say it.
            Form::Other if confirms && own => Form::Bare,
            form => form,
        }
    }

    fn form(&self, sentence: u16) -> Form {
        let end = self.first_choice(sentence);
        let hits = || self.hits(sentence).filter(|h| h.start < end);
        let acting: Vec<&Hit<'p>> = hits().filter(|h| self.acts(h)).collect();
        let mut nouns = hits().filter(|h| h.nouns().next().is_some()).peekable();
        let named = hits().any(|h| h.names(self.tool));
        let mut asks = hits().filter(|h| h.is(PhraseRole::Proceed) || h.is(PhraseRole::Confirm)).peekable();
        if nouns.peek().is_none() && acting.is_empty() && asks.peek().is_some() {
            let opening = asks.map(|h| h.end).min().unwrap_or(0);
            let mut rest = (opening..end).take_while(|at| self.sentence(*at) == Some(sentence));
            return if rest.all(|at| self.leads(at)) { Form::Bare } else { Form::Other };
        }
        if acting.is_empty() || (nouns.peek().is_some() && !named) || self.is_put_off(sentence) {
            return Form::Other;
        }
        let first = self.question.words().iter().position(|(w, _)| w.sentence == sentence).unwrap_or(0);
        let leads = asks.map(|h| h.end).filter(|end| acting.iter().any(|a| a.start >= *end));
        let mut openings: Vec<usize> = leads.collect();
        if openings.is_empty() {
            openings.extend(acting.first().map(|a| self.clause_start(first, a.start)));
        }
        let proposed = openings.into_iter().any(|from| {
            let verb = acting.iter().filter(|a| a.start >= from).min_by_key(|a| a.start);
            let own = hits().filter(|h| h.start >= from && self.is_own(h)).map(|h| h.start).min();
            verb.is_some_and(|verb| {
                let own = own.unwrap_or(verb.start);
                let acts = |at: usize| acting.iter().any(|a| a.start <= at && at < a.end);
                (from..own).all(|at| acts(at) || self.leads(at)) && !(from..verb.end).any(|at| self.denies(at))
            })
        });
        if proposed { Form::Proposal } else { Form::Other }
    }

    /// Where a sentence that asks something turns to an alternative; the end of the text without one.
    fn first_choice(&self, sentence: u16) -> usize {
        let asks = |at: usize| self.hits(sentence).any(|h| h.is(PhraseRole::Proceed) && h.end <= at);
        let mut choices = self.hits(sentence).filter(|h| h.is(PhraseRole::Or)).map(|h| h.start);
        choices.find(|at| asks(*at)).unwrap_or(self.question.words().len())
    }

    fn sentence(&self, at: usize) -> Option<u16> {
        self.question.words().get(at).map(|w| w.sentence)
    }

    /// Whether a phrase can only mean this call: its verb, what it acts on, or a value of it.
    fn is_own(&self, hit: &Hit<'_>) -> bool {
        hit.names(self.tool) || (self.acts(hit) && (hit.means(Meaning::Verb(self.tool)) || self.is_argument(hit)))
    }

    /// Whether the action is made to wait, or ends in a denial (`… lieber nicht?`).
    fn is_put_off(&self, sentence: u16) -> bool {
        let words = self.question.words();
        let last = (0..words.len()).rev().find(|at| self.sentence(*at) == Some(sentence));
        // `Your confirmation before opening it` makes the yes come first, not the action later.
        let confirmed = |h: &Hit<'_>| {
            self.hits(sentence).any(|c| c.is(PhraseRole::Confirm) && c.end <= h.start)
                && self.hits(sentence).any(|a| a.start == h.end && self.acts(a))
        };
        let defers = |h: &&Hit<'_>| {
            DEFERS.iter().any(|r| h.is(*r))
                && !h.is(PhraseRole::Courtesy)
                && !(h.is(PhraseRole::Contingent) && confirmed(h))
        };
        self.hits(sentence).any(|h| defers(&h)) || last.is_some_and(|at| self.denies(at))
    }

    /// The first word of the clause that holds the verb, or of the sentence where the clause is all verb.
    fn clause_start(&self, first: usize, acting: usize) -> usize {
        let words = self.question.words();
        let clause = words.get(acting).map(|w| w.clause);
        (first..=acting).find(|at| words.get(*at).map(|w| w.clause) == clause).unwrap_or(first)
    }

    /// Whether a word may stand before the verb: polite words and the object, never another verb.
    fn leads(&self, at: usize) -> bool {
        let text = self.question.words().text(at);
        let covering = || self.question.hits().iter().filter(|h| h.start <= at && at < h.end);
        let object = |h: &Hit<'_>| h.names(self.tool) || h.number().is_some() || h.value().is_some();
        let role = |h: &Hit<'_>| LEADS.iter().any(|r| h.is(*r)) || h.is(PhraseRole::All) || h.is(PhraseRole::Current);
        let number = text.starts_with(|c: char| c.is_ascii_digit());
        let tool = self.policy.inventory.at(self.tool);
        let member = |t: &Tool| {
            t.params.iter().flat_map(|p| p.members()).flat_map(|m| m.split('_')).any(|m| m.to_lowercase() == text)
        };
        let param = |t: &Tool| t.params.iter().flat_map(|p| p.name.split('_')).any(|part| is_form(text, part));
        let before = covering().any(|h| h.is(PhraseRole::Contingent));
        !self.is_said(at)
            || number
            || before
            || self.parts.iter().any(|part| part == text)
            || tool.is_some_and(|t| param(t) || member(t))
            || covering().any(|h| object(h) || role(h))
    }

    /// Whether a word denies. `Not open` is a phrase of its own for being shut, and denies all the same.
    fn denies(&self, at: usize) -> bool {
        let word = self.question.words().text(at);
        let agrees = self.question.role(PhraseRole::Yes).any(|h| h.start <= at && at < h.end && h.end - h.start > 1);
        let denial = |role| self.policy.phrases.iter().any(|t| t.role(role).iter().any(|p| p == word));
        self.is_said(at) && !agrees && (denial(PhraseRole::Negation) || denial(PhraseRole::No))
    }

    /// Whether a sentence leaves a choice, so that a bare yes picks none.
    fn offers_choice(&self, sentence: u16) -> bool {
        self.hits(sentence).any(|h| h.is(PhraseRole::Or))
    }
}

/// Whether a word is a form of a parameter's word (`Programm` of `program`).
fn is_form(word: &str, part: &str) -> bool {
    let part = part.to_lowercase();
    part.len() >= 4 && word.strip_prefix(&*part).is_some_and(|rest| rest.chars().count() <= 2)
}

/// Which words of a text are a text that the call carries.
fn said_by(question: &Reading<'_>, call: &ToolCall) -> Vec<bool> {
    let words: Vec<&str> = question.words().iter().map(|(_, t)| t).collect();
    let mut said = vec![false; words.len()];
    for text in call.arguments.values().filter_map(serde_json::Value::as_str).filter(|t| t.contains(' ')) {
        let own = Words::new(text);
        let own: Vec<&str> = own.iter().map(|(_, t)| t).collect();
        if own.len() < 2 {
            continue;
        }
        for at in 0..words.len().saturating_sub(own.len() - 1) {
            if words.get(at..at + own.len()) == Some(own.as_slice()) {
                said.iter_mut().skip(at).take(own.len()).for_each(|s| *s = true);
            }
        }
    }
    said
}
