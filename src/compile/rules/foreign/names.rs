//! What the names of a foreign set mean: members of the context, of the declared types.

use cedar_policy::pst::Expr;

use crate::compile::rules::fault::{Refusal, RuleFault};
use crate::compile::rules::lower::Vocabulary;
use crate::compile::rules::reading::{Kind, Reading, Root, spell};
use crate::model::Resolution;
use crate::policy::Slot;
use crate::policy::foreign::{Context, Type};

/// The members of one context.
pub(super) struct ContextNames<'a>(pub(super) &'a Context);

impl Vocabulary for ContextNames<'_> {
    fn read(&self, root: Root, path: &[&str]) -> Result<Reading, RuleFault> {
        let whole = spell(root, path);
        if root == Root::Resource {
            return Err(RuleFault::EntityAttribute(whole));
        }
        let name = path.join(".");
        let member = self.0.members.iter().find(|m| m.path == name);
        let kind = match member.map(|m| &m.kind) {
            Some(Type::Bool) => Kind::Bool,
            Some(Type::Long) => Kind::Number(Some(Resolution::ONE)),
            Some(Type::Text) => Kind::Word,
            Some(Type::Set(of)) if **of == Type::Text => Kind::Words,
            Some(Type::Set(of)) if **of == Type::Long => Kind::Numbers(Resolution::ONE),
            // Strict validation has refused members that the schema does not have.
            _ => return Err(RuleFault::NotAValue(whole)),
        };
        Ok(Reading { slot: Slot::Context(name), kind })
    }

    fn has(&self, root: Root, path: &[&str], names: usize) -> Result<Vec<Slot>, Refusal> {
        if root == Root::Resource {
            return Err(Refusal::at(RuleFault::EntityAttribute(spell(root, path)), "has"));
        }
        if let Some(dotted) = path.iter().find(|name| name.contains('.')) {
            return Err(Refusal::at(RuleFault::Dotted((*dotted).to_owned()), *dotted));
        }
        let first = path.len().saturating_sub(names) + 1;
        Ok((first..=path.len()).filter_map(|end| path.get(..end)).map(|p| Slot::Context(p.join("."))).collect())
    }

    fn membership(&self, _collection: &Expr, _needle: &Expr) -> Option<Result<Slot, Refusal>> {
        None
    }
}
