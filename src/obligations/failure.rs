//! What a rule wants done when one of its companions failed.

use super::frame::{Counts, RuleFrame};
use super::render;
use crate::model::ToolCall;
use crate::policy::{Policy, Rule};
use crate::state::{History, ItemRef, Side};

/// The `@on_failure` calls of a rule for the item that its failed companion was about.
pub fn on_failure(policy: &Policy, history: &History, rule: &Rule, failed: &ToolCall) -> Vec<ToolCall> {
    let world = history.world();
    let counts = Counts::default();
    let mut frame = RuleFrame::new(policy, history, &counts, (Some(failed), &[]), (world, world));
    frame.look_up(rule);
    frame.item = item(policy, history.side(), failed).unwrap_or_default();
    rule.on_failure
        .iter()
        .filter_map(|template| {
            let mut call = render::call(&frame, template)?;
            call.by = Some(rule.id.clone());
            Some(call)
        })
        .collect()
}

fn item(policy: &Policy, side: Side, call: &ToolCall) -> Option<u16> {
    let argument = policy.model.tool(policy.inventory.position(call.tool.as_str())?)?.item.as_ref()?;
    match argument.resolve(call.arguments.get(&argument.argument)?.as_str()?)? {
        ItemRef::One(item) => Some(item),
        ItemRef::Side { left, right } => Some(if side == Side::Left { left } else { right }),
        ItemRef::All => None,
    }
}
