//! What is left of a condition in one environment: its action and the types of its principal and
//! resource are known, so what asks for them is decided here and costs nothing at run time.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Expr, Literal, UnaryOp, Var};
use cedar_policy::{Entities, EntityUid};

/// What a request is known to be when its rules are chosen.
pub(super) struct Known {
    pub(super) principal: String,
    pub(super) action: EntityUid,
    pub(super) resource: String,
    /// Actions with their groups.
    pub(super) actions: Arc<Entities>,
}

impl Known {
    /// The condition without what is known. Cedar's order stays: only a left operand decides alone.
    pub(super) fn fold(&self, expr: &Arc<Expr>) -> Arc<Expr> {
        match expr.as_ref() {
            Expr::UnaryOp { op: UnaryOp::Not, expr: operand } => {
                let operand = self.fold(operand);
                match decided(&operand) {
                    Some(b) => truth(!b),
                    None => Arc::new(Expr::UnaryOp { op: UnaryOp::Not, expr: operand }),
                }
            }
            Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
                let (left, right) = (self.fold(left), self.fold(right));
                match decided(&left) {
                    Some(b) if b == (*op == BinaryOp::Or) => truth(b),
                    Some(_) => right,
                    None => Arc::new(Expr::BinaryOp { op: *op, left, right }),
                }
            }
            Expr::BinaryOp { op: BinaryOp::Eq, left, right } => self.is_action(left, right).map_or(expr.clone(), truth),
            Expr::BinaryOp { op: BinaryOp::NotEq, left, right } => {
                self.is_action(left, right).map_or(expr.clone(), |b| truth(!b))
            }
            Expr::BinaryOp { op: BinaryOp::In, left, right } if matches!(left.as_ref(), Expr::Var(Var::Action)) => {
                self.action_in(right).map_or(expr.clone(), truth)
            }
            Expr::Is { expr: of, entity_type, in_expr } => {
                let own = match of.as_ref() {
                    Expr::Var(Var::Principal) => &self.principal,
                    Expr::Var(Var::Resource) => &self.resource,
                    _ => return expr.clone(),
                };
                match (*own == entity_type.to_string(), in_expr) {
                    (false, _) => truth(false),
                    (true, None) => truth(true),
                    (true, Some(_)) => expr.clone(),
                }
            }
            Expr::IfThenElse { cond, then_expr, else_expr } => match decided(&self.fold(cond)) {
                Some(true) => self.fold(then_expr),
                Some(false) => self.fold(else_expr),
                None => expr.clone(),
            },
            _ => expr.clone(),
        }
    }

    fn is_action(&self, left: &Expr, right: &Expr) -> Option<bool> {
        match (left, right) {
            (Expr::Var(Var::Action), other) | (other, Expr::Var(Var::Action)) => Some(self.action == uid(other)?),
            _ => None,
        }
    }

    fn action_in(&self, of: &Expr) -> Option<bool> {
        let one = |group: &EntityUid| self.belongs(group);
        match of {
            Expr::Set(members) => members.iter().map(|m| uid(m).map(|u| one(&u))).try_fold(false, |a, b| Some(a | b?)),
            other => Some(one(&uid(other)?)),
        }
    }

    /// Whether the action is that one or in that group.
    pub(super) fn belongs(&self, group: &EntityUid) -> bool {
        self.action == *group || self.actions.is_ancestor_of(group, &self.action)
    }
}

/// The entity that a literal names.
fn uid(expr: &Expr) -> Option<EntityUid> {
    match expr {
        Expr::Literal(Literal::EntityUID(uid)) => entity(&uid.to_string()),
        _ => None,
    }
}

/// An entity from Cedar's own spelling.
pub(super) fn entity(spelled: &str) -> Option<EntityUid> {
    spelled.parse().ok()
}

/// A condition that no longer depends on anything.
pub(super) fn decided(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Literal(Literal::Bool(b)) => Some(*b),
        _ => None,
    }
}

fn truth(b: bool) -> Arc<Expr> {
    Arc::new(Expr::Literal(Literal::Bool(b)))
}
