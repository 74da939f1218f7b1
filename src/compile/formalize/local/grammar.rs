//! The grammar of one line: rules over the names of a sentence, or why there are none.

use super::words::Words;
use crate::compile::ground::{Ground, REPLY};
use crate::state::{AttrType, Attribute, EntityIx};
use crate::student::grammar::{Node, Rules};
use crate::tools::{Param, ParamType, Tool, ToolIx};

/// How a line begins that names the tool at which a sentence matters.
pub(super) const ADVISORY: &str = "advisory: ";
/// How a line begins that says why a sentence demands nothing of calls.
pub(super) const OUT_OF_REACH: &str = "out-of-reach: ";
/// Rules of one line, and conjuncts of one rule: what one sentence of a policy needs.
const RULES: usize = 3;
const CONJUNCTS: usize = 4;
/// Characters of a question or a reason.
const TEXT: usize = 120;

/// The grammar of a line about these names.
pub(super) fn rules(words: &Words<'_>) -> String {
    let mut rules = Rules::default();
    let statement = statement(words, &mut rules);
    let mut ways = vec![line(OUT_OF_REACH, text(&mut rules))];
    let mut places: Vec<Node> = words.tools.iter().map(|(_, tool)| Node::literal(tool.name.as_str())).collect();
    places.push(Node::literal(REPLY));
    ways.push(line(ADVISORY, Node::one_of(places)));
    if let Some(statement) = statement {
        let more = Node::Sequence(vec![Node::literal(" "), statement.clone()]);
        let more = Node::Repeat { node: Box::new(more), min: 0, max: RULES - 1 };
        ways.push(Node::Sequence(vec![statement, more]));
    }
    let root = Node::Sequence(vec![Node::one_of(ways), Node::literal("\n")]);
    rules.into_grammar(root).text()
}

/// The grammar of a verifier's line.
pub(super) fn verdict() -> String {
    let mut rules = Rules::default();
    let case = Node::Sequence(vec![Node::literal("\""), text(&mut rules), Node::literal("\"")]);
    let answer = Node::one_of(vec![Node::literal("null"), case]);
    let root = vec![Node::literal("{\"counterexample\": "), answer, Node::literal("}\n")];
    rules.into_grammar(Node::Sequence(root)).text()
}

fn line(beginning: &str, rest: Node) -> Node {
    Node::Sequence(vec![Node::literal(beginning), rest])
}

fn text(rules: &mut Rules) -> Node {
    let plain = vec![('a', 'z'), ('A', 'Z'), ('0', '9'), (' ', ' '), (',', ','), ('.', '.'), ('?', '?')];
    let character = rules.add(Node::Class(plain));
    rules.add(Node::Repeat { node: Box::new(character), min: 4, max: TEXT })
}

/// Annotations, then a forbid; none where the sentence is about no tool.
fn statement(words: &Words<'_>, rules: &mut Rules) -> Option<Node> {
    let mut forbids = Vec::new();
    for (ix, tool) in &words.tools {
        for entity in words.entities() {
            let name = &words.ground.model.entity(entity)?.name;
            let scope = format!("forbid (principal, action == Action::\"{}\", resource is {name})", tool.name);
            let condition = condition(words, *ix, tool, entity, rules);
            forbids.push(Node::Sequence(vec![Node::literal(scope), condition, Node::literal(";")]));
        }
    }
    if forbids.is_empty() {
        return None;
    }
    let said = text(rules);
    let with = |kind: &str, annotation: &str, inner: Node| {
        let open = format!("@kind(\"{kind}\") @{annotation}(\"");
        Node::Sequence(vec![Node::literal(open), inner, Node::literal("\") ")])
    };
    let mut kinds = vec![
        Node::literal("@kind(\"prohibition\") "),
        with("confirmation", "consent", said.clone()),
        with("disclosure", "disclose", said),
    ];
    let calls: Vec<Node> = words.tools.iter().filter_map(|(ix, tool)| call(words.ground, *ix, tool, rules)).collect();
    if !calls.is_empty() {
        let call = rules.add(Node::one_of(calls));
        kinds.push(with("auto-action", "remedy", call.clone()));
        kinds.push(with("precondition", "remedy", call));
    }
    let parts = vec![rules.add(Node::one_of(kinds)), rules.add(Node::one_of(forbids))];
    Some(rules.add(Node::Sequence(parts)))
}

/// A `when` with up to [`CONJUNCTS`] conjuncts; nothing where there is nothing to ask.
fn condition(words: &Words<'_>, ix: ToolIx, tool: &Tool, entity: EntityIx, rules: &mut Rules) -> Node {
    let mut atoms: Vec<Node> = tool.params.iter().filter_map(|p| argument(p, rules)).collect();
    for attribute in &words.attributes {
        let name = &attribute.name;
        if attribute.entity == entity {
            atoms.extend(field(&format!("resource.{name}"), attribute, rules));
        }
        if attribute.entity == EntityIx::CAR {
            atoms.extend(field(&format!("context.before.{name}"), attribute, rules));
        }
    }
    if entity != EntityIx::CAR && words.ground.model.tool(ix).is_some_and(|e| e.item.is_some()) {
        atoms.push(Node::literal("resource.addressed"));
    }
    for (observation, f) in &words.observed {
        atoms.extend(of_kind(&format!("context.{}.{}", observation.name, f.name), &f.kind, rules));
    }
    for derived in &words.derived {
        atoms.extend(of_kind(&format!("context.{}", derived.name), &Ground::derived_type(derived), rules));
    }
    if atoms.is_empty() {
        return Node::Sequence(Vec::new());
    }
    let atom = rules.add(Node::one_of(atoms));
    let more = Node::Sequence(vec![Node::literal(" && "), atom.clone()]);
    let more = Node::Repeat { node: Box::new(more), min: 0, max: CONJUNCTS - 1 };
    Node::optional(Node::Sequence(vec![Node::literal(" when { "), atom, more, Node::literal(" }")]))
}

fn field(path: &str, attribute: &Attribute, rules: &mut Rules) -> Option<Node> {
    of_kind(path, &attribute.kind, rules)
}

fn of_kind(path: &str, kind: &AttrType, rules: &mut Rules) -> Option<Node> {
    Some(match kind {
        AttrType::Bool => switch(path),
        AttrType::Int => number(path, rules),
        AttrType::Word => {
            let letter = rules.add(Node::Class(vec![('a', 'z'), ('A', 'Z'), ('_', '_')]));
            let word = rules.add(Node::Repeat { node: Box::new(letter), min: 1, max: 24 });
            compared(path, &["==", "!="], Node::Sequence(vec![Node::literal("\""), word, Node::literal("\"")]))
        }
        AttrType::Parts(parts) => {
            let part = Node::one_of(parts.iter().map(|p| Node::literal(format!("{p:?}"))).collect());
            let contains = vec![Node::literal(format!("{path}.contains(")), part, Node::literal(")")];
            Node::Sequence([vec![Node::optional(Node::literal("!"))], contains].concat())
        }
        AttrType::List => return None,
    })
}

/// A conjunct about an argument; an optional one is asked for first.
fn argument(param: &Param, rules: &mut Rules) -> Option<Node> {
    let path = format!("context.input.{}", param.name);
    let atom = match &param.kind {
        ParamType::Bool => switch(&path),
        ParamType::Number => number(&path, rules),
        ParamType::Enum(members) => {
            let member = rules.add(Node::one_of(members.iter().map(|m| Node::literal(format!("{m:?}"))).collect()));
            compared(&path, &["==", "!="], member)
        }
        ParamType::Text | ParamType::List(_) | ParamType::Object(_) | ParamType::Any => return None,
    };
    Some(if param.required {
        atom
    } else {
        Node::Sequence(vec![Node::literal(format!("context.input has {} && ", param.name)), atom])
    })
}

fn switch(path: &str) -> Node {
    Node::Sequence(vec![Node::optional(Node::literal("!")), Node::literal(path)])
}

fn number(path: &str, rules: &mut Rules) -> Node {
    let figure = whole(rules);
    compared(path, &["==", "!=", "<=", "<", ">=", ">"], figure)
}

fn whole(rules: &mut Rules) -> Node {
    let digits = Node::Repeat { node: Box::new(Node::digits('0', '9')), min: 0, max: 3 };
    let positive = Node::Sequence(vec![Node::digits('1', '9'), digits]);
    let signed = Node::Sequence(vec![Node::optional(Node::literal("-")), positive]);
    rules.add(Node::one_of(vec![Node::literal("0"), signed]))
}

fn compared(path: &str, operators: &[&str], value: Node) -> Node {
    let operators = operators.iter().map(|op| Node::literal(format!(" {op} "))).collect();
    Node::Sequence(vec![Node::literal(path), Node::one_of(operators), value])
}

/// A call that can satisfy a rule, with what it needs; none where it needs a text that nobody has said.
fn call(ground: &Ground, ix: ToolIx, tool: &Tool, rules: &mut Rules) -> Option<Node> {
    if !tool.is_write() || tool.outward {
        return None;
    }
    let item = ground.model.tool(ix).and_then(|e| e.item.as_ref()).map(|item| item.argument.as_str());
    let mut parts = vec![Node::literal(format!("{}(", tool.name))];
    for (at, param) in tool.params.iter().filter(|p| p.required).enumerate() {
        let mut values = match &param.kind {
            ParamType::Bool => vec![Node::literal("true"), Node::literal("false")],
            ParamType::Number => vec![whole(rules)],
            ParamType::Enum(members) => members.iter().map(Node::literal).collect(),
            _ => return None,
        };
        if item == Some(param.name.as_str()) {
            values.push(Node::literal("<resource>"));
        }
        let between = if at == 0 { "" } else { ", " };
        parts.push(Node::literal(format!("{between}{}: ", param.name)));
        parts.push(rules.add(Node::one_of(values)));
    }
    parts.push(Node::literal(")"));
    Some(Node::Sequence(parts))
}
