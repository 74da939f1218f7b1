//! The grammar of one draft over the tools that are offered.

use serde_json::Value as Json;

use super::schema::{Values, text};
use super::{Grammar, Node, Rules};
use crate::student::form;
use crate::tools::{Removed, Tool};

/// Most calls in one draft: the longest chain of single steps in one request that people say in one
/// breath; a model that copies itself stops here.
pub const MAX_CALLS: usize = 4;
/// Longest reply, in characters: some twenty seconds of speech.
pub const MAX_REPLY_CHARS: usize = 240;

/// What a draft may be at this moment.
#[derive(Debug, Clone, Copy)]
pub struct DraftGrammar<'a> {
    /// The tools on offer, in any order; none leaves only a reply.
    pub tools: &'a [&'a Tool],
    /// What this car lacks.
    pub removed: &'a Removed,
}

impl DraftGrammar<'_> {
    /// Builds the grammar: calls of the offered tools or a reply, then the end of the line.
    pub fn build(&self) -> Grammar {
        let mut rules = Rules::default();
        let calls: Vec<Node> = self.tools.iter().filter_map(|tool| self.call(tool, &mut rules)).collect();
        let reply = text(&mut rules, 1, MAX_REPLY_CHARS);
        let reply = Node::Sequence(vec![Node::literal(form::SAY_OPEN), reply, Node::literal(form::SAY_CLOSE)]);
        let mut ways = Vec::new();
        if !calls.is_empty() {
            let call = rules.add(Node::one_of(calls));
            let more = Node::Sequence(vec![Node::literal(form::BETWEEN), call.clone()]);
            ways.push(Node::Sequence(vec![
                Node::literal(form::OPEN),
                call,
                Node::Repeat { node: Box::new(more), min: 0, max: MAX_CALLS - 1 },
                Node::literal(form::CLOSE),
            ]));
        }
        ways.push(reply);
        let root = Node::Sequence(vec![Node::one_of(ways), Node::literal("\n")]);
        rules.into_grammar(root)
    }

    /// One call; `None` where the tool cannot be called here and now, or its schema is no schema.
    fn call(&self, tool: &Tool, rules: &mut Rules) -> Option<Node> {
        let name = tool.name.as_str();
        let lacks = |p: &crate::tools::Param| p.required && self.removed.parameter(name, &p.name);
        if self.removed.tool(name) || tool.params.iter().any(lacks) {
            return None;
        }
        let schema: Json = serde_json::from_str(&tool.schema).ok()?;
        let mut values = Values { rules, tool: name, removed: self.removed };
        let members = values.members(&schema, "", 0);
        let node = Node::Sequence(vec![
            Node::literal(format!("{}{name}{}", form::CALL_OPEN, form::CALL_MID)),
            members,
            Node::literal(form::CALL_CLOSE),
        ]);
        Some(rules.add(node))
    }
}
