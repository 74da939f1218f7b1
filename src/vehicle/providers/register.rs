//! What is accepted from a provider: nothing that no rule has seen.

use std::sync::{Arc, PoisonError};

use serde_json::Value as Json;
use tokio::sync::watch;

use super::{Line, Providers, Registration};
use crate::model::ToolName;
use crate::policy::Policy;
use crate::tools::{Kind, Uncovered, covers};

/// Most tools of one provider: several times the largest inventory.
const TOOLS: usize = 256;
/// Largest schema of one tool in bytes, the same as its arguments.
const SCHEMA_BYTES: usize = 64 * 1024;

/// A tool as a provider offers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// Its name in the policy's inventory.
    pub name: String,
    /// `read`, `write` or `compute`.
    pub kind: String,
    /// JSON Schema of the arguments that the provider takes, as text.
    pub schema: String,
}

/// Who wants to provide tools: where it is on the bus, and what it may do there.
#[derive(Debug, Clone)]
pub struct Applicant {
    /// Our connection to the bus.
    pub connection: zbus::Connection,
    /// The provider's connection.
    pub owner: zbus::names::OwnedUniqueName,
    /// Its object with [`PROVIDER_INTERFACE`](super::PROVIDER_INTERFACE), on a bus at
    /// [`PROVIDER_PATH`](super::PROVIDER_PATH).
    pub object: zbus::wire::OwnedObjectPath,
    /// The user behind the connection.
    pub user: u32,
    /// Names of the configuration by which it may register; it has to keep them.
    pub names: Vec<String>,
    /// The tools that it may register; none: every one.
    pub tools: Option<Vec<String>>,
    /// The tools that the configuration names for it: it may register them even where the car has them itself.
    pub named: Vec<String>,
}

/// Why a registration is refused. Nothing of it was taken then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// No tool, too many of them, one twice, or a schema that is too long.
    #[error("the registration cannot be used: {0}")]
    Shape(String),
    /// The policy has no such tool.
    #[error("the policy `{policy}` has no tool `{tool}`, so no rule has seen it; nobody may provide it")]
    UnknownTool {
        /// The tool.
        tool: String,
        /// Name of the policy set.
        policy: String,
    },
    /// Not one of the tools that the configuration leaves to this provider.
    #[error("the configuration does not leave `{0}` to you; see `vehicle.provider`")]
    NotYours(String),
    /// The policy takes the tool for something else.
    #[error("`{tool}` is a {kind} for the policy, not a `{given}`; register it as `{kind}`")]
    Kind {
        /// The tool.
        tool: String,
        /// What the policy says.
        kind: &'static str,
        /// What the provider says.
        given: String,
    },
    /// The student's own notes are nobody's tool.
    #[error("`{0}` is for the assistant's own notes; nobody may provide it")]
    Planning(String),
    /// The schema is no JSON.
    #[error("the schema of `{tool}` is no JSON: {why}")]
    Unreadable {
        /// The tool.
        tool: String,
        /// What the reader says.
        why: String,
    },
    /// The provider might refuse calls that the policy allows.
    #[error("what you take for `{tool}` is not seen to cover the policy's schema: {why}")]
    Schema {
        /// The tool.
        tool: String,
        /// What stands in the way.
        why: Uncovered,
    },
    /// The car itself carries it out.
    #[error(
        "`{0}` is carried out by the car itself; name it in `tools` of your `vehicle.provider` or in \
         `vehicle.provided` to take it over"
    )]
    Served(String),
    /// Calls hold their places on the bus.
    #[error("{calls} calls to you are unanswered; answer them, or close the connections that they were sent to")]
    Unanswered {
        /// How many.
        calls: usize,
    },
    /// Somebody else provides it.
    #[error("`{tool}` is provided by {owner} already; a tool has one provider")]
    Provided {
        /// The tool.
        tool: String,
        /// Who.
        owner: String,
    },
}

impl Providers {
    /// Registers a provider with all of its tools, or with none of them. What it registered before is
    /// replaced; calls that still wait for it end with an unknown outcome. `served`: what a real car carries out
    /// itself.
    ///
    /// # Errors
    /// [`Rejected`] with the first tool that is not accepted.
    pub fn register(
        &self,
        applicant: Applicant,
        offered: &[Offered],
        served: &dyn Fn(&str) -> bool,
    ) -> Result<(), Rejected> {
        self.shape(offered)?;
        // Held until it stands in the table: what another policy withdraws must be there to be withdrawn.
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        let may = applicant.tools.as_deref();
        let tools: Vec<ToolName> = offered.iter().map(|o| accept(&policy, o, may)).collect::<Result<_, _>>()?;
        let (owner, user) = (applicant.owner.to_string(), applicant.user);
        let line = Line::new(applicant.connection, applicant.owner, applicant.object);
        let registration =
            Arc::new(Registration { line, user, names: applicant.names, ended: watch::Sender::new(false) });
        let of_the_car: Vec<&ToolName> = tools.iter().filter(|tool| served(tool.as_str())).collect();
        let mut table = self.table();
        if let Some(calls) = table.debts(&owner, user) {
            return Err(Rejected::Unanswered { calls });
        }
        let meant = |tool: &ToolName| {
            table.reserved.contains(tool) || applicant.named.iter().any(|named| named == tool.as_str())
        };
        if let Some(tool) = of_the_car.iter().find(|tool| !meant(tool)) {
            return Err(Rejected::Served(tool.to_string()));
        }
        let once: Vec<ToolName> = tools.iter().filter(|tool| !of_the_car.contains(tool)).cloned().collect();
        for tool in &tools {
            if let Some(other) = table.by_tool.get(tool).filter(|r| r.line.owner() != owner) {
                return Err(Rejected::Provided { tool: tool.to_string(), owner: other.line.owner().to_owned() });
            }
        }
        table.by_tool.retain(|_, old| {
            let goes = old.line.owner() == owner;
            if goes {
                old.ended.send_replace(true);
            }
            !goes
        });
        table.once.extend(once);
        for tool in tools {
            table.by_tool.insert(tool, registration.clone());
        }
        drop(table);
        self.desk.tell();
        Ok(())
    }

    /// Who provides one of these tools, other than this connection.
    pub fn rivals(&self, owner: &str, offered: &[Offered]) -> Vec<String> {
        let table = self.table();
        let found = offered.iter().filter_map(|o| table.by_tool.get(o.name.as_str()));
        let mut owners: Vec<String> = found.map(|r| r.line.owner().to_owned()).filter(|o| o != owner).collect();
        owners.sort_unstable();
        owners.dedup();
        owners
    }

    fn shape(&self, offered: &[Offered]) -> Result<(), Rejected> {
        let fault = |why: String| Err(Rejected::Shape(why));
        if offered.is_empty() {
            return fault("it names no tool; give tools back with `Withdraw`".to_owned());
        }
        if offered.len() > TOOLS {
            return fault(format!("it names {} tools, more than the {TOOLS} that are accepted", offered.len()));
        }
        for (at, tool) in offered.iter().enumerate() {
            if tool.schema.len() > SCHEMA_BYTES {
                let found = tool.schema.len();
                return fault(format!("the schema of `{}` takes {found} bytes, more than {SCHEMA_BYTES}", tool.name));
            }
            if offered.iter().skip(at + 1).any(|other| other.name == tool.name) {
                return fault(format!("it names `{}` twice", tool.name));
            }
        }
        Ok(())
    }
}

/// A tool of the policy that the provider takes for the same thing.
fn accept(under: &Policy, offered: &Offered, may: Option<&[String]>) -> Result<ToolName, Rejected> {
    let name = || offered.name.clone();
    let Some(tool) = under.inventory.get(&offered.name) else {
        return Err(Rejected::UnknownTool { tool: name(), policy: under.id.clone() });
    };
    if may.is_some_and(|tools| !tools.contains(&offered.name)) {
        return Err(Rejected::NotYours(name()));
    }
    let kind = match tool.kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Compute => "compute",
        Kind::Planning => return Err(Rejected::Planning(name())),
    };
    if offered.kind != kind {
        return Err(Rejected::Kind { tool: name(), kind, given: offered.kind.clone() });
    }
    let read = |schema: &str| {
        serde_json::from_str::<Json>(schema).map_err(|e| Rejected::Unreadable { tool: name(), why: e.to_string() })
    };
    let policy = read(&tool.schema)?;
    covers(&read(&offered.schema)?, &policy).map_err(|why| Rejected::Schema { tool: name(), why })?;
    Ok(tool.name.clone())
}
