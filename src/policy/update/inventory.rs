//! Which tools a policy was made for, and whether this car can keep its rules.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{UpdateError, hex, unhex};
use crate::policy::{HardLimits, Policy, Rule, Trigger};
use crate::tools::{Inventory, Removed, ToolIx};

/// SHA-256 of a tool inventory: names, kinds and schemas, in any order. Descriptions are for the student
/// and change nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InventoryDigest(pub [u8; 32]);

impl InventoryDigest {
    /// The digest of an inventory.
    pub fn of(inventory: &Inventory) -> Self {
        let mut tools: Vec<_> = inventory.iter().collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let mut hash = Sha256::new();
        for tool in tools {
            let kind = format!("{:?}", tool.kind);
            let output = tool.output.as_deref().unwrap_or_default();
            for part in [tool.name.as_str(), kind.as_str(), tool.schema.as_str(), output] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        Self(hash.finalize().into())
    }

    /// The digest written in 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        unhex(text).map(Self)
    }
}

impl fmt::Display for InventoryDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for InventoryDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The car that a policy is to be put in force in.
pub struct LiveCar<'a> {
    /// The hard limits of the image.
    pub limits: &'a HardLimits,
    /// What the car lacks, as configured. The engine knows of it and refuses what needs it.
    pub removed: &'a Removed,
    /// Whether something in the car carries out calls of a tool at this moment.
    pub serves: &'a dyn Fn(&str) -> bool,
}

impl LiveCar<'_> {
    /// Whether the car can keep the rules of a policy (design §6 and §9).
    ///
    /// A rule is broken where a call that it triggers on can be made and one that it demands cannot: it
    /// would never be satisfied, or never be looked at. What is configured as lacking breaks no rule: the
    /// engine knows of it.
    ///
    /// # Errors
    /// [`UpdateError::Limits`], [`UpdateError::UnknownPart`], [`UpdateError::BrokenRule`].
    pub fn fits(&self, policy: &Policy) -> Result<(), UpdateError> {
        self.limits.fit(&policy.model)?;
        if let Some(part) = self.removed.iter().find(|part| policy.inventory.get(tool_of(part)).is_none()) {
            return Err(UpdateError::UnknownPart(part.to_owned()));
        }
        policy.rules().iter().try_for_each(|rule| self.keeps(policy, rule))
    }

    fn keeps(&self, policy: &Policy, rule: &Rule) -> Result<(), UpdateError> {
        let name = |ix: ToolIx| policy.inventory.at(ix).map(|tool| tool.name.as_str());
        let served = |ix: ToolIx| name(ix).is_some_and(|tool| (self.serves)(tool));
        let live = |ix: ToolIx| served(ix) && name(ix).is_some_and(|tool| !self.removed.tool(tool));
        let looks = match &rule.trigger {
            Trigger::Calls(tools) => tools.iter().copied().any(live),
            Trigger::Reply => true,
        };
        if !looks {
            return Ok(());
        }
        let calls = rule.remedy.iter().chain(&rule.on_failure).chain(&rule.read);
        let known = |ix: ToolIx| name(ix).is_some_and(|tool| self.removed.tool(tool));
        match calls.map(|call| call.tool).find(|tool| !served(*tool) && !known(*tool)) {
            Some(tool) => Err(UpdateError::BrokenRule {
                rule: rule.id.to_string(),
                tool: name(tool).unwrap_or_default().to_owned(),
            }),
            None => Ok(()),
        }
    }
}

/// The tool that a removed part belongs to.
fn tool_of(part: &str) -> &str {
    let rest = part.strip_prefix("result.").unwrap_or(part);
    rest.split_once('.').map_or(rest, |(tool, _)| tool)
}
