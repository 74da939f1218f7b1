//! The scope of a rule: which actions trigger it, which part of the car it is about.

use cedar_policy::pst;

use super::fault::{Refusal, RuleFault};
use crate::compile::ground::{Ground, REPLY};
use crate::compile::names::Near;
use crate::policy::Trigger;
use crate::state::EntityIx;
use crate::tools::{Param, ParamType, Tool, ToolIx};

/// What a rule applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) trigger: Trigger,
    pub(crate) entity: EntityIx,
}

impl Scope {
    /// Reads the scope of a policy.
    pub(super) fn read(policy: &pst::Template, ground: &Ground) -> Result<Self, Refusal> {
        if policy.effect != pst::Effect::Forbid {
            return Err(Refusal::at(RuleFault::Permit, "permit"));
        }
        if policy.principal != pst::PrincipalConstraint::Any {
            return Err(Refusal::at(RuleFault::Principal, "principal"));
        }
        let pst::ResourceConstraint::Is(kind) = &policy.resource else {
            return Err(Refusal::at(RuleFault::Resource, "resource"));
        };
        // Strict validation has refused entity types that the schema does not have.
        let entity = ground.entity(&kind.to_string()).ok_or_else(|| Refusal::at(RuleFault::Resource, "resource"))?;
        Ok(Self { trigger: trigger(&policy.action, ground)?, entity })
    }

    /// The tools whose calls trigger the rule; none for a rule about replies.
    pub(crate) fn tools<'g>(&self, ground: &'g Ground) -> impl Iterator<Item = &'g Tool> {
        let tools = match &self.trigger {
            Trigger::Calls(tools) => tools.clone(),
            Trigger::Reply => Vec::new(),
        };
        tools.into_iter().filter_map(|ix| ground.inventory.at(ix))
    }

    /// An argument of every tool that triggers the rule; `None` for a tool that does not take it.
    pub(crate) fn inputs<'g>(&self, ground: &'g Ground, path: &[&str]) -> Vec<Option<&'g Param>> {
        self.tools(ground).map(|tool| nested(&tool.params, path)).collect()
    }
}

fn nested<'p>(params: &'p [Param], path: &[&str]) -> Option<&'p Param> {
    let (first, rest) = path.split_first()?;
    let param = params.iter().find(|p| p.name == *first)?;
    match (&param.kind, rest) {
        (_, []) => Some(param),
        (ParamType::Object(members), rest) => nested(members, rest),
        _ => None,
    }
}

fn trigger(action: &pst::ActionConstraint, ground: &Ground) -> Result<Trigger, Refusal> {
    let names: Vec<&str> = match action {
        pst::ActionConstraint::Any => return Err(Refusal::at(RuleFault::AnyAction, "action")),
        pst::ActionConstraint::Eq(one) => vec![one.eid.as_str()],
        pst::ActionConstraint::In(several) => several.iter().map(|a| a.eid.as_str()).collect(),
    };
    let mut tools: Vec<ToolIx> = Vec::new();
    let mut reply = false;
    for name in names {
        if name == REPLY {
            reply = true;
        } else if let Some(tool) = ground.inventory.position(name) {
            tools.push(tool);
        } else if let (pst::ActionConstraint::In(_), Some(group)) = (action, ground.group(name)) {
            tools.extend(group);
        } else {
            let near = Near::among(name, ground.inventory.iter().map(|t| t.name.as_str()));
            return Err(Refusal::at(RuleFault::NoTool { name: name.to_owned(), near }, "action"));
        }
    }
    tools.sort_unstable();
    tools.dedup();
    match (reply, tools.is_empty()) {
        (true, true) => Ok(Trigger::Reply),
        (true, false) => Err(Refusal::at(RuleFault::CallsAndReply, "action")),
        (false, _) => Ok(Trigger::Calls(tools)),
    }
}
