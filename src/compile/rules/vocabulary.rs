//! What the names of a car's rules mean: `vehicle.toml` and the tool inventory (design §3).

use cedar_policy::pst::{Expr, Literal as CedarLiteral};

use super::fault::{Refusal, RuleFault};
use super::lower::{Vocabulary, path, refuse};
use super::reading::{self, Reading, Root, spell};
use super::scope::Scope;
use crate::compile::ground::Ground;
use crate::compile::names::Near;
use crate::model::Resolution;
use crate::policy::Slot;
use crate::tools::Kind;

/// The names that one rule can use.
pub(super) struct CarNames<'a> {
    pub(super) ground: &'a Ground,
    pub(super) scope: &'a Scope,
}

impl Vocabulary for CarNames<'_> {
    fn read(&self, root: Root, path: &[&str]) -> Result<Reading, RuleFault> {
        reading::read(self.ground, self.scope, root, path)
    }

    fn has(&self, root: Root, path: &[&str], _names: usize) -> Result<Vec<Slot>, Refusal> {
        match (root, path) {
            (Root::Context, ["input", rest @ ..]) if !rest.is_empty() => {
                let resolution = match self.read(root, path) {
                    Ok(Reading { slot: Slot::Input { resolution, .. }, .. }) => resolution,
                    // An object, a list of objects: present or not is all that is asked.
                    _ => Resolution::ONE,
                };
                Ok(vec![Slot::Input { path: rest.join("."), resolution }])
            }
            _ => Err(refuse(
                &format!("`has` on `{}`", spell(root, path)),
                "only arguments can be left out; what was never read is unknown, which rules need not ask",
                "has",
            )),
        }
    }

    /// `context.session.reads.contains("tool")`
    fn membership(&self, collection: &Expr, needle: &Expr) -> Option<Result<Slot, Refusal>> {
        let set = match path(collection).ok()? {
            (Root::Context, members) => match members.as_slice() {
                ["session", "reads"] => "reads",
                ["session", "called"] => "called",
                _ => return None,
            },
            (Root::Resource, _) => return None,
        };
        Some(self.session(set, needle))
    }
}

impl CarNames<'_> {
    fn session(&self, set: &'static str, needle: &Expr) -> Result<Slot, Refusal> {
        let Expr::Literal(CedarLiteral::String(name)) = needle else {
            return Err(Refusal::at(RuleFault::SessionSet(set), set));
        };
        let Some(tool) = self.ground.inventory.position(name) else {
            let near = Near::among(name, self.ground.inventory.iter().map(|t| t.name.as_str()));
            return Err(Refusal::at(RuleFault::NoTool { name: name.to_string(), near }, set));
        };
        match set {
            "reads" if self.ground.inventory.at(tool).is_some_and(|t| t.kind != Kind::Read) => {
                Err(Refusal::at(RuleFault::NotARead(name.to_string()), set))
            }
            "reads" => Ok(Slot::Read(tool)),
            _ => Ok(Slot::Called(tool)),
        }
    }
}
