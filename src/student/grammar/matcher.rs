//! Follows a text through a grammar: what may come next, what must, and how welcome it is.
//!
//! Masking a whole vocabulary at every token halves the speed of generation. This follows the text that
//! was written and answers about one candidate at a time; and where the grammar leaves a single way on, it
//! gives that text, so that nothing is generated that is not a choice.

use std::rc::Rc;

use super::{Grammar, Node};

/// Longest text that is forced at once, in characters: a draft's fixed parts are far shorter.
const FORCED: usize = 400;

/// What one thread still has to see, the next piece first.
type Stack<'g> = Option<Rc<Link<'g>>>;

#[derive(Debug)]
struct Link<'g> {
    item: Item<'g>,
    rest: Stack<'g>,
}

#[derive(Debug, Clone, Copy)]
enum Item<'g> {
    Node(&'g Node),
    /// What is left of a literal; never empty.
    Text(&'g str),
    Class(&'g [(char, char)]),
    Again {
        node: &'g Node,
        min: usize,
        max: usize,
    },
}

/// One way through the grammar, with the weight of the choices on it, in nats.
#[derive(Debug, Clone)]
struct Thread<'g> {
    stack: Stack<'g>,
    weight: f32,
}

/// A place in a grammar.
#[derive(Debug, Clone)]
pub(in crate::student) struct Matcher<'g> {
    grammar: &'g Grammar,
    /// Each has a literal or a class on top, or nothing left.
    threads: Vec<Thread<'g>>,
    /// Bytes of a character that is not complete yet.
    partial: Vec<u8>,
}

impl<'g> Matcher<'g> {
    /// The start of a grammar.
    pub(in crate::student) fn new(grammar: &'g Grammar) -> Self {
        let start = Thread { stack: push(Item::Node(&grammar.root), None), weight: 0.0 };
        let mut matcher = Self { grammar, threads: Vec::new(), partial: Vec::new() };
        let mut threads = Vec::new();
        matcher.expand(start, &mut threads);
        matcher.threads = threads;
        matcher
    }

    /// Whether these bytes may come next, and then the place after them.
    pub(in crate::student) fn after(&self, bytes: &[u8]) -> Option<Self> {
        let mut next = self.clone();
        next.partial.extend_from_slice(bytes);
        let (text, rest) = match std::str::from_utf8(&next.partial) {
            Ok(text) => (text.to_owned(), Vec::new()),
            Err(error) if error.error_len().is_none() => {
                let (good, rest) = next.partial.split_at(error.valid_up_to());
                (String::from_utf8(good.to_vec()).ok()?, rest.to_vec())
            }
            Err(_) => return None,
        };
        for c in text.chars() {
            next.threads = next.step(c);
            if next.threads.is_empty() {
                return None;
            }
        }
        // A character that is not whole yet can only become one of a class beyond ASCII.
        let wide = |t: &Thread<'_>| match t.stack.as_deref().map(|l| l.item) {
            Some(Item::Class(ranges)) => ranges.iter().any(|(_, high)| !high.is_ascii()),
            Some(Item::Text(text)) => text.bytes().zip(&rest).all(|(a, b)| a == *b),
            _ => false,
        };
        if !rest.is_empty() && !next.threads.iter().any(wide) {
            return None;
        }
        next.partial = rest;
        Some(next)
    }

    /// The texts that may come next, where nothing but a choice between texts is left: each begins with what must
    /// come anyway, because a token may reach from there into the choice.
    pub(in crate::student) fn literals(&self) -> Option<Vec<String>> {
        let forced = self.forced();
        let here = self.after(forced.as_bytes())?;
        let mut found: Vec<String> = Vec::new();
        for link in here.threads.iter().filter_map(|t| t.stack.as_deref()) {
            let Item::Text(text) = link.item else { return None };
            let text = format!("{forced}{text}");
            if !found.contains(&text) {
                found.push(text);
            }
        }
        if found.is_empty() && !forced.is_empty() {
            found.push(forced);
        }
        self.partial.is_empty().then_some(found)
    }

    /// How welcome the best way on from here is, in nats; 0 where no choice was weighed.
    pub(in crate::student) fn weight(&self) -> f32 {
        self.threads.iter().map(|t| t.weight).fold(f32::NEG_INFINITY, f32::max)
    }

    /// Whether the text may end here.
    pub(in crate::student) fn is_complete(&self) -> bool {
        self.partial.is_empty() && self.threads.iter().any(|t| t.stack.is_none())
    }

    /// The text that must come next whatever is chosen later; empty at a choice.
    pub(in crate::student) fn forced(&self) -> String {
        let mut text = String::new();
        if !self.partial.is_empty() {
            return text;
        }
        let mut here = self.clone();
        while text.len() < FORCED
            && let Some(c) = here.only()
        {
            here.threads = here.step(c);
            text.push(c);
        }
        text
    }

    /// The only character that may come next, if there is one and the text cannot end here.
    fn only(&self) -> Option<char> {
        let mut only = None;
        for thread in &self.threads {
            let c = match thread.stack.as_deref()?.item {
                Item::Text(text) => text.chars().next()?,
                Item::Class(&[(low, high)]) if low == high => low,
                _ => return None,
            };
            if only.is_some_and(|o| o != c) {
                return None;
            }
            only = Some(c);
        }
        only
    }

    fn step(&self, c: char) -> Vec<Thread<'g>> {
        let mut next = Vec::new();
        for thread in &self.threads {
            let Some(link) = thread.stack.as_deref() else { continue };
            let stack = match link.item {
                Item::Text(text) => match text.strip_prefix(c) {
                    Some("") => link.rest.clone(),
                    Some(rest) => push(Item::Text(rest), link.rest.clone()),
                    None => continue,
                },
                Item::Class(ranges) if ranges.iter().any(|(low, high)| (low..=high).contains(&&c)) => link.rest.clone(),
                _ => continue,
            };
            self.expand(Thread { stack, weight: thread.weight }, &mut next);
        }
        next
    }

    /// Opens what stands on top until every way begins with a literal or a class, or is at its end.
    fn expand(&self, thread: Thread<'g>, into: &mut Vec<Thread<'g>>) {
        let mut open = vec![thread];
        while let Some(Thread { stack, weight }) = open.pop() {
            let Some(link) = stack.as_deref() else {
                into.push(Thread { stack, weight });
                continue;
            };
            let rest = link.rest.clone();
            let mut go = |stack, weight| open.push(Thread { stack, weight });
            match link.item {
                Item::Text(_) | Item::Class(_) => into.push(Thread { stack, weight }),
                Item::Node(Node::Literal(text)) if text.is_empty() => go(rest, weight),
                Item::Node(Node::Literal(text)) => into.push(Thread { stack: push(Item::Text(text), rest), weight }),
                Item::Node(Node::Class(ranges)) => into.push(Thread { stack: push(Item::Class(ranges), rest), weight }),
                Item::Node(Node::Sequence(parts)) => {
                    go(parts.iter().rev().fold(rest, |rest, part| push(Item::Node(part), rest)), weight);
                }
                Item::Node(Node::Choice(parts)) => {
                    parts.iter().rev().for_each(|part| go(push(Item::Node(part), rest.clone()), weight));
                }
                Item::Node(Node::Weighed(parts)) => {
                    parts.iter().rev().for_each(|(w, part)| {
                        go(push(Item::Node(part), rest.clone()), weight + w.0);
                    });
                }
                Item::Node(Node::Repeat { node, min, max }) => {
                    go(push(Item::Again { node, min: *min, max: *max }, rest), weight);
                }
                Item::Node(Node::Rule(index)) => {
                    if let Some(node) = self.grammar.rules.get(*index) {
                        go(push(Item::Node(node), rest), weight);
                    }
                }
                Item::Again { node, min, max } => {
                    if min == 0 {
                        go(rest.clone(), weight);
                    }
                    if max > 0 {
                        let again = push(Item::Again { node, min: min.saturating_sub(1), max: max - 1 }, rest);
                        go(push(Item::Node(node), again), weight);
                    }
                }
            }
        }
    }
}

fn push<'g>(item: Item<'g>, rest: Stack<'g>) -> Stack<'g> {
    Some(Rc::new(Link { item, rest }))
}

#[cfg(test)]
mod tests {
    use super::super::Rules;
    use super::super::random::Choices;
    use super::*;

    fn grammar(root: Node) -> Grammar {
        Rules::default().into_grammar(root)
    }

    fn accepts(grammar: &Grammar, text: &str) -> bool {
        Matcher::new(grammar).after(text.as_bytes()).is_some_and(|m| m.is_complete())
    }

    fn calls() -> Grammar {
        let number = Node::Repeat { node: Box::new(Node::digits('0', '9')), min: 1, max: 3 };
        let text = Node::Repeat { node: Box::new(Node::Class(vec![('a', 'z'), ('ß', 'ü')])), min: 0, max: 5 };
        let ways = Node::Choice(vec![
            Node::Sequence(vec![Node::literal("open("), number, Node::literal(")")]),
            Node::Sequence(vec![Node::literal("open_all("), text, Node::literal(")")]),
        ]);
        grammar(Node::Sequence(vec![Node::literal("do "), ways, Node::literal("\n")]))
    }

    #[test]
    fn whatever_the_grammar_writes_is_accepted_in_pieces_of_any_size() {
        let grammar = calls();
        let mut choices = Choices::new(7);
        for _ in 0..300 {
            let text = grammar.random(&mut choices);
            let mut at = Matcher::new(&grammar);
            let mut rest = text.as_bytes();
            while !rest.is_empty() {
                let (piece, tail) = rest.split_at(1 + choices.below(rest.len().min(4)));
                at = at.after(piece).unwrap_or_else(|| panic!("{text}: {piece:?}"));
                rest = tail;
            }
            assert!(at.is_complete(), "{text}");
        }
    }

    #[test]
    fn what_the_grammar_does_not_write_is_rejected() {
        let grammar = calls();
        for text in
            ["do open(1)", "do open()\n", "do open(1234)\n", "do open_all(abcdef)\n", "do shut(1)\n", "do open_all(a\n"]
        {
            assert!(!accepts(&grammar, text), "{text}");
        }
        assert!(accepts(&grammar, "do open_all(äöü)\n"));
        assert!(Matcher::new(&grammar).after("do open(ä".as_bytes().split_last().unwrap().1).is_none());
    }

    #[test]
    fn what_must_come_is_forced_up_to_the_next_choice() {
        let grammar = calls();
        let start = Matcher::new(&grammar);
        assert_eq!(start.forced(), "do open");
        let all = start.after(b"do open_").unwrap();
        assert_eq!(all.forced(), "all(");
        let full = start.after(b"do open(123").unwrap();
        assert_eq!(full.forced(), ")\n");
        assert_eq!(full.after(b")\n").unwrap().forced(), "");
        assert_eq!(start.after(b"do open").unwrap().literals(), Some(vec!["(".to_owned(), "_all(".to_owned()]));
        assert_eq!(start.after(b"do").unwrap().literals(), Some(vec![" open(".to_owned(), " open_all(".to_owned()]));
        assert_eq!(start.after(b"do open(").unwrap().literals(), None, "a digit");
    }

    #[test]
    fn the_weight_is_that_of_the_best_way_left() {
        let ways = Node::weighed(vec![(0.0, Node::literal("close")), (-2.0, Node::literal("clear"))]);
        let grammar = grammar(ways);
        let start = Matcher::new(&grammar);
        assert!((start.weight() - 0.0).abs() < 1e-6);
        assert!((start.after(b"cl").unwrap().weight() - 0.0).abs() < 1e-6);
        assert!((start.after(b"cle").unwrap().weight() + 2.0).abs() < 1e-6);
    }
}
