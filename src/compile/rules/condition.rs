//! The conditions of a rule: whole, guard, and what they read.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr, UnaryOp};

use super::fault::{Refusal, RuleFault};
use super::lower::{Lowering, connect, path};
use super::reading::Root;
use crate::compile::ground::Ground;
use crate::policy::{Op, Program, Slot, Tables, When};
use crate::state::AttrIx;

/// The programs of a rule.
#[derive(Debug, Default)]
pub(super) struct Condition {
    pub(super) guard: Program,
    pub(super) when: Program,
    /// A disjunction that mixes arguments and state, as it is written.
    pub(super) mixed: Option<String>,
}

/// One top-level conjunct; an `unless` is its opposite.
struct Conjunct<'e> {
    expr: &'e Expr,
    negated: bool,
}

/// Lowers all clauses of a policy as one conjunction, in their order.
pub(super) fn lower(clauses: &[Clause], lowering: &mut Lowering<'_>) -> Result<Condition, Refusal> {
    let mut conjuncts = Vec::new();
    for clause in clauses {
        match clause {
            Clause::When(expr) => flatten(expr, &mut conjuncts),
            Clause::Unless(expr) => conjuncts.push(Conjunct { expr, negated: true }),
        }
    }
    let mut condition = Condition::default();
    let (mut when, mut guard) = (None, None);
    for Conjunct { expr, negated } in conjuncts {
        let mut ops = lowering.condition(expr)?;
        if negated {
            ops.push(Op::Not);
        }
        let reads = reads(expr);
        if reads.input && !reads.state {
            guard = Some(conjoin(guard, ops.clone())?);
        }
        if condition.mixed.is_none() && mixes(expr, negated) {
            condition.mixed = Some(expr.to_string());
        }
        when = Some(conjoin(when, ops)?);
    }
    condition.when.ops = when.unwrap_or_default();
    condition.guard.ops = guard.unwrap_or_default();
    condition.when.check(lowering.tables.tables()).map_err(RuleFault::from)?;
    condition.guard.check(lowering.tables.tables()).map_err(RuleFault::from)?;
    Ok(condition)
}

fn flatten<'e>(expr: &'e Arc<Expr>, conjuncts: &mut Vec<Conjunct<'e>>) {
    match expr.as_ref() {
        Expr::BinaryOp { op: BinaryOp::And, left, right } => {
            flatten(left, conjuncts);
            flatten(right, conjuncts);
        }
        expr => conjuncts.push(Conjunct { expr, negated: false }),
    }
}

fn conjoin(before: Option<Vec<Op>>, ops: Vec<Op>) -> Result<Vec<Op>, RuleFault> {
    match before {
        None => Ok(ops),
        Some(before) => connect(true, before, ops),
    }
}

/// Whether an expression reads arguments of the call, and whether it reads anything else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Reads {
    input: bool,
    state: bool,
}

fn reads(expr: &Expr) -> Reads {
    let mut reads = Reads::default();
    collect(expr, &mut reads);
    reads
}

fn collect(expr: &Expr, reads: &mut Reads) {
    match expr {
        Expr::GetAttr { .. } => match path(expr) {
            Ok((Root::Context, members)) if members.first() == Some(&"input") => reads.input = true,
            _ => reads.state = true,
        },
        Expr::HasAttr { .. } => reads.input = true,
        Expr::UnaryOp { expr, .. } | Expr::Like { expr, .. } => collect(expr, reads),
        Expr::BinaryOp { left, right, .. } => {
            collect(left, reads);
            collect(right, reads);
        }
        Expr::Set(members) => members.iter().for_each(|m| collect(m, reads)),
        _ => {}
    }
}

/// Whether a disjunction asks arguments alone in one branch and state alone in another: then no part
/// of the rule can tell beforehand whether it matters, and it stays active for every call (design
/// §3). A branch that compares an argument with the state cannot be told apart anyhow.
fn mixes(expr: &Expr, negated: bool) -> bool {
    match expr {
        Expr::UnaryOp { op: UnaryOp::Not, expr } => mixes(expr, !negated),
        Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
            let disjunction = (*op == BinaryOp::Or) != negated;
            let mut branches = Vec::new();
            if disjunction {
                disjuncts(expr, negated, &mut branches);
            }
            (branches.iter().any(|r| r.input && !r.state) && branches.iter().any(|r| r.state && !r.input))
                || mixes(left, negated)
                || mixes(right, negated)
        }
        _ => false,
    }
}

/// What each branch of a disjunction reads.
fn disjuncts(expr: &Expr, negated: bool, branches: &mut Vec<Reads>) {
    match expr {
        Expr::UnaryOp { op: UnaryOp::Not, expr } => disjuncts(expr, !negated, branches),
        Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } if (*op == BinaryOp::Or) != negated => {
            disjuncts(left, negated, branches);
            disjuncts(right, negated, branches);
        }
        _ => branches.push(reads(expr)),
    }
}

/// Attributes that a program reads at the end of the draft, each once.
pub(super) fn reads_after(program: &Program, tables: &Tables, ground: &Ground) -> Vec<AttrIx> {
    let attribute = |slot: &Slot| match slot {
        Slot::Resource { attribute, when: When::After } | Slot::Car { attribute, when: When::After } => {
            Some(*attribute)
        }
        Slot::Derived { derived, when: When::After } => ground.derived.get(usize::from(*derived)).map(|d| d.attribute),
        _ => None,
    };
    let mut attributes: Vec<AttrIx> = program.slots().filter_map(|ix| attribute(tables.slot(ix)?)).collect();
    attributes.sort_unstable();
    attributes.dedup();
    attributes
}
