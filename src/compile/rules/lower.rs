//! From a Cedar expression to instructions.
//!
//! Cedar's operators map one to one; `>`, `>=` and `!=` turn round or negate, `containsAny` and
//! `containsAll` with a literal set spread out. Whatever the evaluator does not have is refused
//! with what to write instead.

use cedar_policy::pst::{BinaryOp, Expr, Literal as CedarLiteral, PatternElem, UnaryOp, Var};

use super::fault::{Refusal, RuleFault};
use super::reading::{Kind, Reading, Root};
use super::tables::TableBuilder;
use crate::model::Resolution;
use crate::policy::{Compare, Op, Slot};
use crate::state::Literal;

/// Instructions and what they leave on the stack.
type Lowered = Result<(Vec<Op>, Kind), Refusal>;

/// What the names of a rule mean.
pub(super) trait Vocabulary {
    /// What a path yields.
    fn read(&self, root: Root, path: &[&str]) -> Result<Reading, RuleFault>;

    /// The slots that must be there for `has` to hold, from the outermost on. The last `names` members
    /// of the path are asked for, the others are read.
    fn has(&self, root: Root, path: &[&str], names: usize) -> Result<Vec<Slot>, Refusal>;

    /// The slot that answers `collection.contains(needle)` where the collection is no value of its own.
    fn membership(&self, collection: &Expr, needle: &Expr) -> Option<Result<Slot, Refusal>>;
}

/// Lowers the expressions of one rule.
pub(super) struct Lowering<'a> {
    pub(super) names: &'a dyn Vocabulary,
    pub(super) tables: &'a mut TableBuilder,
}

impl Lowering<'_> {
    /// The instructions of one truth value.
    pub(super) fn condition(&mut self, expr: &Expr) -> Result<Vec<Op>, Refusal> {
        match self.expr(expr)? {
            (ops, Kind::Bool) => Ok(ops),
            // Strict validation refuses conditions of another type.
            _ => Err(RuleFault::NotAValue(expr.to_string()).into()),
        }
    }

    fn expr(&mut self, expr: &Expr) -> Lowered {
        match expr {
            Expr::Literal(literal) => self.literal(literal),
            Expr::GetAttr { .. } => {
                let (root, path) = path(expr)?;
                let near = path.last().copied().unwrap_or_default();
                let reading = self.names.read(root, &path).map_err(|f| Refusal::at(f, near))?;
                Ok((vec![Op::Load(self.tables.slot(reading.slot)?)], reading.kind))
            }
            Expr::UnaryOp { op, expr } => self.unary(*op, expr),
            Expr::BinaryOp { op, left, right } => self.binary(*op, left, right),
            Expr::HasAttr { expr, attrs } => self.has(expr, attrs.iter().map(|a| a.as_str())),
            Expr::Like { expr, pattern } => self.like(expr, pattern),
            Expr::IfThenElse { .. } => Err(refuse("`if … then … else …`", "write `a && b || !a && c`", "if")),
            Expr::Is { .. } => Err(refuse("`is` in a condition", "say it in the scope: `resource is …`", "is")),
            Expr::Set(_) => Err(refuse("a set on its own", "ask `[…].contains(x)`", "[")),
            Expr::Record(_) => Err(refuse("a record", "compare its members one by one", "{")),
            Expr::Var(var) => Err(RuleFault::NotAValue(variable(var).to_owned()).into()),
            other => Err(refuse(&format!("`{other}`"), "use the operators of the policy README", "")),
        }
    }

    fn literal(&mut self, literal: &CedarLiteral) -> Lowered {
        let (literal, kind) = match literal {
            CedarLiteral::Bool(b) => (Literal::Bool(*b), Kind::Bool),
            CedarLiteral::Long(i) => (Literal::Int(*i), Kind::Number(None)),
            CedarLiteral::String(s) => (Literal::Text(s.to_string()), Kind::Word),
            _ => return Err(refuse("an entity as a value", "say it in the scope, or compare an attribute", "::")),
        };
        Ok((vec![Op::Constant(self.tables.constant(literal)?)], kind))
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) -> Lowered {
        let op = match op {
            UnaryOp::Not => Op::Not,
            UnaryOp::Neg => Op::Negate,
            UnaryOp::IsEmpty => {
                return Err(refuse(
                    "`isEmpty`",
                    "declare a `count` under `[derived]` and compare it with 0",
                    "isEmpty",
                ));
            }
            other => return Err(extension(&other.to_string())),
        };
        let (mut ops, kind) = self.expr(operand)?;
        ops.push(op);
        Ok((ops, kind))
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Lowered {
        match op {
            BinaryOp::And | BinaryOp::Or => {
                let left = self.condition(left)?;
                let right = self.condition(right)?;
                Ok((connect(op == BinaryOp::And, left, right)?, Kind::Bool))
            }
            BinaryOp::Eq => self.compare(Compare::Eq, left, right),
            BinaryOp::NotEq => {
                let (mut ops, kind) = self.compare(Compare::Eq, left, right)?;
                ops.push(Op::Not);
                Ok((ops, kind))
            }
            BinaryOp::Less => self.compare(Compare::Lt, left, right),
            BinaryOp::LessEq => self.compare(Compare::Le, left, right),
            BinaryOp::Greater => self.compare(Compare::Lt, right, left),
            BinaryOp::GreaterEq => self.compare(Compare::Le, right, left),
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => self.arithmetic(op, left, right),
            BinaryOp::Contains => self.contains(left, right),
            BinaryOp::ContainsAny | BinaryOp::ContainsAll => self.contains_several(op, left, right),
            BinaryOp::In => Err(refuse("`in` on entities", "say it in the scope, or ask `[…].contains(x)`", "in")),
            BinaryOp::GetTag | BinaryOp::HasTag => Err(refuse("a tag", "declare an attribute", "Tag")),
            other => Err(extension(&other.to_string())),
        }
    }

    fn compare(&mut self, how: Compare, left: &Expr, right: &Expr) -> Lowered {
        let (mut ops, left_kind) = self.expr(left)?;
        let (right_ops, right_kind) = self.expr(right)?;
        let set = |kind: &Kind| matches!(kind, Kind::Words | Kind::Numbers(_));
        if set(&left_kind) || set(&right_kind) {
            return Err(refuse("`==` on sets", "ask `contains` for each member that matters", "=="));
        }
        same_steps(left, left_kind, right, right_kind)?;
        ops.extend(right_ops);
        ops.push(Op::Compare(how));
        Ok((ops, Kind::Bool))
    }

    fn arithmetic(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Lowered {
        let (mut ops, left_kind) = self.expr(left)?;
        let (right_ops, right_kind) = self.expr(right)?;
        ops.extend(right_ops);
        let kind = match (left_kind, right_kind) {
            (Kind::Number(Some(l)), Kind::Number(Some(r))) if op == BinaryOp::Mul => {
                // The product of two scaled numbers counts steps of steps.
                if l != Resolution::ONE && r != Resolution::ONE {
                    return Err(refuse("the product of two fractions", "multiply by a whole number", "*"));
                }
                Kind::Number(Some(if l == Resolution::ONE { r } else { l }))
            }
            (Kind::Number(l), Kind::Number(r)) => Kind::Number(l.or(r)),
            (kind, _) => kind,
        };
        ops.push(match op {
            BinaryOp::Add => Op::Add,
            BinaryOp::Sub => Op::Subtract,
            _ => Op::Multiply,
        });
        if op != BinaryOp::Mul {
            same_steps(left, left_kind, right, right_kind)?;
        }
        Ok((ops, kind))
    }

    fn contains(&mut self, collection: &Expr, needle: &Expr) -> Lowered {
        if let Some(slot) = self.names.membership(collection, needle) {
            return Ok((vec![Op::Load(self.tables.slot(slot?)?)], Kind::Bool));
        }
        if let Expr::Set(members) = collection {
            let set = literals(members)?;
            let (mut ops, _) = self.expr(needle)?;
            ops.push(Op::InSet(self.tables.set(set)?));
            return Ok((ops, Kind::Bool));
        }
        let (mut ops, kind) = self.expr(collection)?;
        let (needle_ops, _) = self.expr(needle)?;
        match kind {
            Kind::Numbers(steps) if steps != Resolution::ONE => {
                return Err(Refusal::at(RuleFault::FractionSet(collection.to_string()), "contains"));
            }
            _ => ops.extend(needle_ops),
        }
        ops.push(Op::Contains);
        Ok((ops, Kind::Bool))
    }

    /// `x.containsAny(["a", "b"])` is `x.contains("a") || x.contains("b")`.
    fn contains_several(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Lowered {
        let any = op == BinaryOp::ContainsAny;
        let (collection, members) = match (left, right) {
            (collection, Expr::Set(members)) => (collection, members),
            (Expr::Set(members), collection) if any => (collection, members),
            _ => {
                let operator =
                    if any { "`containsAny` without a literal set" } else { "`containsAll` without a literal set" };
                let near = if any { "containsAny" } else { "containsAll" };
                return Err(refuse(operator, "write `x.contains(…)` for each member", near));
            }
        };
        let mut whole: Option<Vec<Op>> = None;
        for member in members {
            let (ops, _) = self.contains(collection, member)?;
            whole = Some(match whole {
                None => ops,
                Some(before) => connect(!any, before, ops)?,
            });
        }
        // Strict validation refuses an empty set.
        whole.map(|ops| (ops, Kind::Bool)).ok_or_else(|| refuse("an empty set", "name its members", "[]"))
    }

    fn has<'e>(&mut self, of: &'e Expr, names: impl Iterator<Item = &'e str>) -> Lowered {
        let (root, mut whole) = match of {
            Expr::Var(Var::Context) => (Root::Context, Vec::new()),
            Expr::Var(Var::Resource) => (Root::Resource, Vec::new()),
            _ => path(of)?,
        };
        let read = whole.len();
        whole.extend(names);
        let mut all: Option<Vec<Op>> = None;
        for slot in self.names.has(root, &whole, whole.len() - read)? {
            let ops = vec![Op::Has(self.tables.slot(slot)?)];
            all = Some(match all {
                None => ops,
                Some(before) => connect(true, before, ops)?,
            });
        }
        all.map(|ops| (ops, Kind::Bool)).ok_or_else(|| refuse("`has` without a name", "name a member", "has"))
    }

    fn like(&mut self, word: &Expr, pattern: &[PatternElem]) -> Lowered {
        let (mut ops, _) = self.expr(word)?;
        let mut pieces = vec![String::new()];
        for element in pattern {
            match (element, pieces.last_mut()) {
                (PatternElem::Char(c), Some(piece)) => piece.push(*c),
                _ => pieces.push(String::new()),
            }
        }
        ops.push(Op::Like(self.tables.pattern(pieces)?));
        Ok((ops, Kind::Bool))
    }
}

/// `left && right` or `left || right`, with Cedar's short circuit.
pub(super) fn connect(and: bool, left: Vec<Op>, right: Vec<Op>) -> Result<Vec<Op>, RuleFault> {
    let skip = u16::try_from(right.len() + 1).map_err(|_| RuleFault::TooLarge)?;
    let mut ops = left;
    ops.push(if and { Op::SkipIfFalse(skip) } else { Op::SkipIfTrue(skip) });
    ops.extend(right);
    ops.push(if and { Op::And } else { Op::Or });
    Ok(ops)
}

/// `resource.position` as its root and its members.
pub(super) fn path(expr: &Expr) -> Result<(Root, Vec<&str>), Refusal> {
    let mut members = Vec::new();
    let mut at = expr;
    loop {
        match at {
            Expr::GetAttr { expr, attr } => {
                members.push(attr.as_str());
                at = expr;
            }
            Expr::Var(Var::Resource | Var::Context) => break,
            other => return Err(RuleFault::NotAValue(other.to_string()).into()),
        }
    }
    members.reverse();
    Ok((if matches!(at, Expr::Var(Var::Resource)) { Root::Resource } else { Root::Context }, members))
}

fn literals(members: &[std::sync::Arc<Expr>]) -> Result<Vec<Literal>, Refusal> {
    let literal = |member: &std::sync::Arc<Expr>| match member.as_ref() {
        Expr::Literal(CedarLiteral::Bool(b)) => Ok(Literal::Bool(*b)),
        Expr::Literal(CedarLiteral::Long(i)) => Ok(Literal::Int(*i)),
        Expr::Literal(CedarLiteral::String(s)) => Ok(Literal::Text(s.to_string())),
        _ => Err(refuse("a set with members that are not constants", "compare with `==` and `||`", "[")),
    };
    members.iter().map(literal).collect()
}

fn same_steps(left: &Expr, left_kind: Kind, right: &Expr, right_kind: Kind) -> Result<(), RuleFault> {
    match (left_kind, right_kind) {
        (Kind::Number(Some(l)), Kind::Number(Some(r))) if l != r => Err(RuleFault::Steps {
            left: left.to_string(),
            left_steps: l.steps(),
            right: right.to_string(),
            right_steps: r.steps(),
        }),
        _ => Ok(()),
    }
}

fn variable(var: &Var) -> &'static str {
    match var {
        Var::Principal => "principal",
        Var::Action => "action",
        Var::Resource => "resource",
        Var::Context => "context",
    }
}

pub(super) fn refuse(operator: &str, instead: &'static str, near: &str) -> Refusal {
    Refusal::at(RuleFault::Operator { operator: operator.to_owned(), instead }, near)
}

fn extension(name: &str) -> Refusal {
    refuse(&format!("the extension function `{name}`"), "declare a field with the type it needs", name)
}
