//! `org.obligato.Harness1.Policy`: what the policy says.

use std::sync::Arc;

use super::Refusal;
use super::harness::Harness;

/// The policy in force.
pub(super) struct PolicyObject {
    harness: Arc<Harness>,
}

impl PolicyObject {
    pub(super) fn new(harness: Arc<Harness>) -> Self {
        Self { harness }
    }
}

/// The policy in force.
#[zbus::interface(
    name = "org.obligato.Harness1.Policy",
    proxy(
        async_name = "PolicyProxy",
        default_service = "org.obligato.Harness1",
        default_path = "/org/obligato/Harness1",
        visibility = "pub"
    )
)]
impl PolicyObject {
    /// The identifiers of all rules.
    #[zbus(out_args("rules"))]
    async fn list(&self) -> Vec<String> {
        self.harness.policy.rules().iter().map(|rule| rule.id.to_string()).collect()
    }

    /// What a rule says: its kind, where the policy says so (file and line), and the sentence there.
    ///
    /// Errors: NoRule.
    #[zbus(out_args("kind", "source", "sentence"))]
    async fn explain(&self, rule: &str) -> Result<(String, String, String), Refusal> {
        let found =
            self.harness.policy.rules().iter().find(|r| r.id.as_str() == rule).ok_or_else(|| {
                Refusal::NoRule(format!("the policy `{}` has no rule `{rule}`", self.harness.policy.id))
            })?;
        Ok((found.kind.to_string(), found.source.to_string(), found.sentence.to_string()))
    }

    /// Name of the policy set.
    #[zbus(property)]
    async fn id(&self) -> String {
        self.harness.policy.id.clone()
    }

    /// SHA-256 of the policy, in hexadecimal digits.
    #[zbus(property)]
    async fn hash(&self) -> String {
        self.harness.policy.hash.to_string()
    }

    /// How many rules there are.
    #[zbus(property)]
    async fn rules(&self) -> u32 {
        u32::try_from(self.harness.policy.rules().len()).unwrap_or(u32::MAX)
    }
}
