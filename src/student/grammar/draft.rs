//! The grammar of one draft over the tools that are offered.

use serde_json::Value as Json;

use super::schema::{Values, text};
use super::{Grammar, Node, Rules};
use crate::student::{Branch, form};
use crate::tools::{Removed, Tool};

/// Most calls in one draft: the longest chain of single steps in one request that people say in one
/// breath; a model that copies itself stops here.
pub const MAX_CALLS: usize = 4;
/// Longest reply, in characters: some twenty seconds of speech.
pub const MAX_REPLY_CHARS: usize = 240;

/// How much more welcome a call for each thing that was asked for is than one call, in nats.
const SEVERAL: f32 = 8.0;

/// A tool on offer.
#[derive(Debug, Clone, Copy)]
pub struct Offered<'a> {
    /// The tool.
    pub tool: &'a Tool,
    /// How welcome it is, in nats.
    pub weight: f32,
    /// The argument lists it may be called with; none: whatever its schema allows.
    pub arguments: Option<&'a [Branch]>,
}

impl<'a> Offered<'a> {
    /// A tool with whatever its schema allows.
    pub fn any(tool: &'a Tool) -> Self {
        Self { tool, weight: 0.0, arguments: None }
    }
}

/// What a draft may be at this moment.
#[derive(Debug, Clone, Copy)]
pub struct DraftGrammar<'a> {
    /// The tools on offer, in any order; none leaves only a reply.
    pub tools: &'a [Offered<'a>],
    /// The tools of each thing that is asked for, where there are several: one call each, in order.
    pub each: &'a [Vec<Offered<'a>>],
    /// What this car lacks.
    pub removed: &'a Removed,
    /// Identifiers that were observed; none: any text may stand for one.
    pub identifiers: Option<&'a [String]>,
    /// Most calls, at most [`MAX_CALLS`].
    pub calls: usize,
    /// How welcome a reply is, in nats.
    pub reply: f32,
}

impl DraftGrammar<'_> {
    /// Builds the grammar: calls of the offered tools or a reply, then the end of the line.
    pub fn build(&self) -> Grammar {
        let mut rules = Rules::default();
        let calls: Vec<(f32, Node)> =
            self.tools.iter().filter_map(|t| Some((t.weight, self.call(t, &mut rules)?))).collect();
        let reply = text(&mut rules, 1, MAX_REPLY_CHARS);
        let reply = Node::Sequence(vec![Node::literal(form::SAY_OPEN), reply, Node::literal(form::SAY_CLOSE)]);
        let mut ways = vec![(self.reply, reply)];
        if let Some(all) = self.sequence(&mut rules) {
            ways.insert(0, (SEVERAL, all));
        }
        if !calls.is_empty() {
            let call = rules.add(Node::weighed(calls));
            let more = Node::Sequence(vec![Node::literal(form::BETWEEN), call.clone()]);
            let most = self.calls.clamp(1, MAX_CALLS);
            let calls = Node::Sequence(vec![
                Node::literal(form::OPEN),
                call,
                Node::Repeat { node: Box::new(more), min: 0, max: most - 1 },
                Node::literal(form::CLOSE),
            ]);
            ways.insert(0, (0.0, calls));
        }
        let root = Node::Sequence(vec![Node::weighed(ways), Node::literal("\n")]);
        rules.into_grammar(root)
    }

    /// One call for each thing that is asked for; `None` where there is one alone.
    fn sequence(&self, rules: &mut Rules) -> Option<Node> {
        if self.each.len() < 2 {
            return None;
        }
        let mut parts = vec![Node::literal(form::OPEN)];
        for (at, tools) in self.each.iter().enumerate() {
            if at > 0 {
                parts.push(Node::literal(form::BETWEEN));
            }
            let calls: Vec<(f32, Node)> = tools.iter().filter_map(|t| Some((t.weight, self.call(t, rules)?))).collect();
            if calls.is_empty() {
                return None;
            }
            parts.push(rules.add(Node::weighed(calls)));
        }
        parts.push(Node::literal(form::CLOSE));
        Some(Node::Sequence(parts))
    }

    /// One call; `None` where the tool cannot be called here and now, or its schema is no schema.
    fn call(&self, offered: &Offered<'_>, rules: &mut Rules) -> Option<Node> {
        let tool = offered.tool;
        let name = tool.name.as_str();
        let lacks = |p: &crate::tools::Param| p.required && self.removed.parameter(name, &p.name);
        if self.removed.tool(name) || tool.params.iter().any(lacks) {
            return None;
        }
        let schema: Json = serde_json::from_str(&tool.schema).ok()?;
        let mut values = Values { rules, tool: name, removed: self.removed, identifiers: self.identifiers };
        let members = match offered.arguments {
            Some(branches) => values.branches(&schema, branches, false),
            None => values.members(&schema, "", 0),
        };
        let node = Node::Sequence(vec![
            Node::literal(format!("{}{name}{}", form::CALL_OPEN, form::CALL_MID)),
            members,
            Node::literal(form::CALL_CLOSE),
        ]);
        Some(rules.add(node))
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Choices;
    use super::*;
    use crate::tools::{Inventory, import};
    use std::path::Path;

    fn inventory(file: &str) -> Option<Inventory> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let Ok(text) = std::fs::read_to_string(&path) else {
            println!("skipped: {} is not here", path.display());
            return None;
        };
        let tools = import(&text).unwrap();
        Some(tools.iter().map(|t| Tool::from_import(t).unwrap()).collect::<Vec<_>>().into())
    }

    fn grammar(inventory: &Inventory, removed: &Removed) -> Grammar {
        let tools: Vec<Offered<'_>> = inventory.iter().map(Offered::any).collect();
        DraftGrammar { tools: &tools, each: &[], removed, identifiers: None, calls: MAX_CALLS, reply: 0.0 }.build()
    }

    #[test]
    fn every_line_it_accepts_is_a_draft_of_valid_calls() {
        for file in ["policies/cabin/tools.json", "../shared/carbench/tools.json"] {
            let Some(inventory) = inventory(file) else { continue };
            let removed = Removed::default();
            let grammar = grammar(&inventory, &removed);
            let mut choices = Choices::new(1);
            let mut called = std::collections::BTreeSet::new();
            for _ in 0..3000 {
                let line = grammar.random(&mut choices);
                let draft = form::read(line.trim_end_matches('\n')).unwrap_or_else(|e| panic!("{e}: {line}"));
                for call in &draft.calls {
                    // A clause about the object as a whole (`anyOf` over what is required) is no grammar's
                    // business; the schema gate has it.
                    let faults = inventory.check(call, &removed);
                    assert!(faults.iter().all(|f| f.parameter.is_empty()), "{line}: {faults:?}");
                    called.insert(call.tool.clone());
                }
            }
            assert_eq!(called.len(), inventory.len(), "{file}: every tool is written sooner or later");
        }
    }

    #[test]
    fn what_this_car_lacks_cannot_be_written() {
        let Some(inventory) = inventory("policies/cabin/tools.json") else { return };
        let removed = Removed::from_iter(["set_fan_speed", "open_close_window.percentage"]);
        let text = grammar(&inventory, &removed).text();
        assert!(!text.contains("set_fan_speed") && !text.contains("open_close_window"), "{text}");
    }
}
