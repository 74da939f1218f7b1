//! Random strings of a grammar, and whether it accepts one: for tests only.

use std::collections::BTreeSet;

use super::{Grammar, Node};

/// A seeded source of choices (xorshift64).
pub(in crate::student) struct Choices(u64);

impl Choices {
    pub(in crate::student) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(in crate::student) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

impl Grammar {
    /// One string that the grammar accepts.
    pub(in crate::student) fn random(&self, choices: &mut Choices) -> String {
        let mut out = String::new();
        self.write_random(&self.root, choices, &mut out);
        out
    }

    fn write_random(&self, node: &Node, choices: &mut Choices, out: &mut String) {
        match node {
            Node::Literal(text) => out.push_str(text),
            Node::Class(ranges) => {
                let (low, high) = ranges[choices.below(ranges.len())];
                let code = low as u32 + choices.below((high as u32 - low as u32 + 1) as usize) as u32;
                out.push(char::from_u32(code).unwrap());
            }
            Node::Sequence(parts) => parts.iter().for_each(|part| self.write_random(part, choices, out)),
            Node::Choice(parts) => self.write_random(&parts[choices.below(parts.len())], choices, out),
            Node::Weighed(parts) => self.write_random(&parts[choices.below(parts.len())].1, choices, out),
            Node::Repeat { node, min, max } => {
                for _ in 0..min + choices.below(max - min + 1) {
                    self.write_random(node, choices, out);
                }
            }
            Node::Rule(index) => self.write_random(&self.rules[*index], choices, out),
        }
    }
}

/// Whether a node without rules accepts exactly this text.
pub(super) fn accepts(node: &Node, text: &str) -> bool {
    ends(node, &[], text, 0).contains(&text.len())
}

/// Every position at which the node can end when it starts at `from`.
fn ends(node: &Node, rules: &[Node], text: &str, from: usize) -> BTreeSet<usize> {
    match node {
        Node::Literal(literal) => text
            .get(from..)
            .is_some_and(|t| t.starts_with(literal.as_str()))
            .then_some(from + literal.len())
            .into_iter()
            .collect(),
        Node::Class(ranges) => text
            .get(from..)
            .unwrap_or_default()
            .chars()
            .next()
            .filter(|c| ranges.iter().any(|(low, high)| (low..=high).contains(&c)))
            .map(|c| from + c.len_utf8())
            .into_iter()
            .collect(),
        Node::Sequence(parts) => parts.iter().fold(BTreeSet::from([from]), |starts, part| {
            starts.into_iter().flat_map(|start| ends(part, rules, text, start)).collect()
        }),
        Node::Choice(parts) => parts.iter().flat_map(|part| ends(part, rules, text, from)).collect(),
        Node::Weighed(parts) => parts.iter().flat_map(|(_, part)| ends(part, rules, text, from)).collect(),
        Node::Repeat { node, min, max } => {
            let (mut reached, mut starts) = (BTreeSet::new(), BTreeSet::from([from]));
            for round in 0..=*max {
                if round >= *min {
                    reached.extend(&starts);
                }
                starts = starts.into_iter().flat_map(|start| ends(node, rules, text, start)).collect();
                if starts.is_empty() {
                    break;
                }
            }
            reached
        }
        Node::Rule(index) => ends(&rules[*index], rules, text, from),
    }
}
