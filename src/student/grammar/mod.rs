//! The grammar of a draft: what a local model can write at all.
//!
//! A grammar is built from the tools that are offered at this moment, as plain data ([`Grammar`]),
//! and handed to llama.cpp as GBNF text ([`Grammar::text`]). What it accepts is one line that
//! [`super::form::read`] turns into a draft, and each call in it passes
//! [`crate::tools::Inventory::check`]. It gives form, not sense: the gates still judge what was said.

mod draft;
#[cfg(any(test, feature = "llama"))]
mod matcher;
mod number;
#[cfg(test)]
pub(in crate::student) mod random;
mod schema;

pub use draft::{DraftGrammar, MAX_CALLS, MAX_REPLY_CHARS, Offered};
#[cfg(any(test, feature = "llama"))]
pub(super) use matcher::Matcher;
pub(super) use schema::order;

use std::collections::HashMap;
use std::fmt::Write as _;

/// One piece of a grammar.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// Exactly this text.
    Literal(String),
    /// One character of these inclusive ranges.
    Class(Vec<(char, char)>),
    /// All of these, in order.
    Sequence(Vec<Node>),
    /// One of these.
    Choice(Vec<Node>),
    /// One of these, each with how welcome it is, in nats: a prior beside what the model thinks.
    Weighed(Vec<(Weight, Node)>),
    /// Between `min` and `max` repetitions.
    Repeat {
        /// What is repeated.
        node: Box<Node>,
        /// Fewest times.
        min: usize,
        /// Most times.
        max: usize,
    },
    /// The rule at this position.
    Rule(usize),
}

/// A weight in nats. Equal when the bits are, so that nodes can be compared and hashed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weight(pub(crate) f32);

impl PartialEq for Weight {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Weight {}

impl std::hash::Hash for Weight {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl Node {
    pub(crate) fn weighed(ways: Vec<(f32, Node)>) -> Self {
        Self::Weighed(ways.into_iter().map(|(weight, node)| (Weight(weight), node)).collect())
    }

    pub(crate) fn literal(text: impl Into<String>) -> Self {
        Self::Literal(text.into())
    }

    pub(crate) fn optional(node: Node) -> Self {
        Self::Repeat { node: Box::new(node), min: 0, max: 1 }
    }

    pub(crate) fn digits(low: char, high: char) -> Self {
        Self::Class(vec![(low, high)])
    }

    /// A choice without the wrapper where there is only one way.
    pub(crate) fn one_of(mut nodes: Vec<Node>) -> Self {
        match (nodes.pop(), nodes.is_empty()) {
            (Some(only), true) => only,
            (Some(last), false) => {
                nodes.push(last);
                Self::Choice(nodes)
            }
            (None, _) => Self::Sequence(Vec::new()),
        }
    }
}

/// Rules and the one to start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grammar {
    rules: Vec<Node>,
    root: Node,
}

impl Grammar {
    /// Whether any choice is weighed, so that the likeliest tokens alone do not decide it.
    #[cfg(feature = "llama")]
    pub(super) fn is_weighed(&self) -> bool {
        let weighed = |node: &Node| matches!(node, Node::Weighed(ways) if ways.iter().any(|(w, _)| w.0 != 0.0));
        fn any(node: &Node, of: &impl Fn(&Node) -> bool) -> bool {
            let below = match node {
                Node::Sequence(parts) | Node::Choice(parts) => parts.iter().any(|p| any(p, of)),
                Node::Weighed(parts) => parts.iter().any(|(_, p)| any(p, of)),
                Node::Repeat { node, .. } => any(node, of),
                Node::Literal(_) | Node::Class(_) | Node::Rule(_) => false,
            };
            of(node) || below
        }
        any(&self.root, &weighed) || self.rules.iter().any(|rule| any(rule, &weighed))
    }

    /// The grammar as GBNF, the text form that llama.cpp reads. The start rule is `root`.
    pub fn text(&self) -> String {
        let mut out = String::from("root ::= ");
        write_node(&self.root, Place::Top, &mut out);
        out.push('\n');
        for (index, rule) in self.rules.iter().enumerate() {
            // Writing to a String cannot fail.
            let _ = write!(out, "r{index} ::= ");
            write_node(rule, Place::Top, &mut out);
            out.push('\n');
        }
        out
    }
}

/// Collects rules; equal rules are kept once, so that sixty percentages share one.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    rules: Vec<Node>,
    known: HashMap<Node, usize>,
}

impl Rules {
    /// A reference to a rule with that body.
    pub(crate) fn add(&mut self, node: Node) -> Node {
        if let Some(&index) = self.known.get(&node) {
            return Node::Rule(index);
        }
        let index = self.rules.len();
        self.rules.push(node.clone());
        self.known.insert(node, index);
        Node::Rule(index)
    }

    pub(crate) fn into_grammar(self, root: Node) -> Grammar {
        Grammar { rules: self.rules, root }
    }
}

/// Where a node stands, which decides whether it needs parentheses.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Top,
    InSequence,
    Repeated,
}

fn write_node(node: &Node, place: Place, out: &mut String) {
    match node {
        Node::Literal(text) => write_literal(text, out),
        Node::Class(ranges) => write_class(ranges, out),
        Node::Rule(index) => {
            let _ = write!(out, "r{index}");
        }
        Node::Sequence(parts) if parts.is_empty() => out.push_str("\"\""),
        Node::Sequence(parts) => bracketed(place == Place::Repeated, out, |out| {
            for (i, part) in parts.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                write_node(part, Place::InSequence, out);
            }
        }),
        Node::Choice(parts) => write_choice(parts.iter(), place, out),
        // GBNF knows no weights.
        Node::Weighed(parts) => write_choice(parts.iter().map(|(_, part)| part), place, out),
        Node::Repeat { node, min, max } => {
            write_node(node, Place::Repeated, out);
            match (min, max) {
                (0, 1) => out.push('?'),
                _ => {
                    let _ = write!(out, "{{{min},{max}}}");
                }
            }
        }
    }
}

fn write_choice<'n>(parts: impl Iterator<Item = &'n Node>, place: Place, out: &mut String) {
    bracketed(place != Place::Top, out, |out| {
        for (i, part) in parts.enumerate() {
            if i > 0 {
                out.push_str(" | ");
            }
            write_node(part, Place::InSequence, out);
        }
    });
}

fn bracketed(needed: bool, out: &mut String, inner: impl FnOnce(&mut String)) {
    if needed {
        out.push('(');
    }
    inner(out);
    if needed {
        out.push(')');
    }
}

fn write_literal(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn write_class(ranges: &[(char, char)], out: &mut String) {
    out.push('[');
    for (low, high) in ranges {
        write_class_char(*low, out);
        if low != high {
            out.push('-');
            write_class_char(*high, out);
        }
    }
    out.push(']');
}

fn write_class_char(c: char, out: &mut String) {
    if c.is_ascii_alphanumeric() {
        out.push(c);
    } else {
        let _ = match u32::from(c) {
            code @ 0..=0xff => write!(out, "\\x{code:02X}"),
            code @ 0x100..=0xffff => write!(out, "\\u{code:04X}"),
            code => write!(out, "\\U{code:08X}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rules_are_kept_once() {
        let mut rules = Rules::default();
        let first = rules.add(Node::literal("x"));
        assert_eq!(rules.add(Node::literal("x")), first);
        assert_ne!(rules.add(Node::literal("y")), first);
    }

    #[test]
    fn text_escapes_and_brackets_what_gbnf_would_misread() {
        let mut rules = Rules::default();
        let quote = rules.add(Node::literal("say \"\\\n"));
        let either = Node::Choice(vec![Node::literal("a"), quote]);
        let root = Node::Sequence(vec![
            Node::Repeat { node: Box::new(either), min: 0, max: 3 },
            Node::optional(Node::Class(vec![(' ', '!'), ('ä', 'ä')])),
        ]);
        assert_eq!(
            rules.into_grammar(root).text(),
            "root ::= (\"a\" | r0){0,3} [\\x20-\\x21\\xE4]?\nr0 ::= \"say \\\"\\\\\\n\"\n"
        );
    }
}
