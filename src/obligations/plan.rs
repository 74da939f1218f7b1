//! A draft in the making: its calls with the remedies in their places, projected.

use std::cell::OnceCell;
use std::sync::Arc;

use super::frame::Counts;
use crate::model::{CallId, Draft, ToolCall, Words};
use crate::policy::{Policy, RuleIx};
use crate::state::{CellIx, History, LegFacts, Origin, World};
use crate::tools::ToolIx;

/// Who wants a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// The student, at this position of its draft.
    Student(usize),
    /// A rule.
    Rule(RuleIx),
}

/// One call of a plan.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) call: ToolCall,
    pub(super) tool: Option<ToolIx>,
    pub(super) from: From,
    pub(super) writes: Vec<CellIx>,
    /// What rules read of the legs that it sets, looked up by the first rule that does.
    pub(super) legs: OnceCell<LegFacts>,
}

impl Planned {
    pub(super) fn new(policy: &Policy, history: &History, call: ToolCall, from: From) -> Self {
        let tool = policy.inventory.position(call.tool.as_str());
        let writes = match tool.filter(|t| policy.inventory.at(*t).is_some_and(|t| t.is_write())) {
            Some(tool) => {
                policy.model.writes(tool, &call.arguments, history.side()).into_iter().map(|w| w.cell).collect()
            }
            None => Vec::new(),
        };
        Self { call, tool, from, writes, legs: OnceCell::new() }
    }

    /// The position in the student's draft, if it is the student's.
    pub(super) fn drafted(&self) -> Option<usize> {
        match self.from {
            From::Student(at) => Some(at),
            From::Rule(_) => None,
        }
    }
}

/// The calls in order, with the car before each and after all.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) calls: Vec<Planned>,
    /// The car before each call; one more entry for the end.
    pub(super) worlds: Vec<Arc<World>>,
    pub(super) counts: Counts,
}

/// What rules read of the legs that the reply describes.
fn described(policy: &Policy, history: &History, reply: Option<&Words>) -> LegFacts {
    let tour = policy.model.tour.as_ref().filter(|tour| !tour.told.is_empty());
    let Some((reply, tour)) = reply.zip(tour) else { return LegFacts::default() };
    let turn = history.turn();
    let made = history.calls().iter().rev().take_while(|past| past.turn == turn);
    let edits = made.filter(|past| past.succeeded()).filter_map(|past| {
        let edit = &policy.model.tool(past.tool?)?.tour;
        (!edit.legs.is_empty()).then_some((edit, &*past.call.arguments))
    });
    LegFacts::of_reply(tour, &edits.collect::<Vec<_>>(), history, reply)
}

impl Plan {
    pub(super) fn new(policy: &Policy, history: &History, draft: &Draft) -> Self {
        let calls = draft
            .calls
            .iter()
            .enumerate()
            .map(|(at, call)| Planned::new(policy, history, call.clone(), From::Student(at)))
            .collect();
        let question = draft.reply.as_deref().is_some_and(|text| text.trim_end().ends_with('?'));
        let text = draft.reply.as_deref().filter(|_| draft.calls.is_empty());
        let reply = text.map(|text| Arc::new(Words::new(text)));
        let described = described(policy, history, reply.as_deref());
        let listings = reply.iter().flat_map(|reply| policy.model.listings.iter().map(|l| l.told(history, reply)));
        let listed = listings.collect();
        let counts = Counts { question, reply, described, listed, ..Counts::default() };
        let mut plan = Self { calls, worlds: Vec::new(), counts };
        plan.project(policy, history);
        plan
    }

    /// Projects all calls anew and counts them.
    pub(super) fn project(&mut self, policy: &Policy, history: &History) {
        // A call that writes nothing leaves the car as it was: the worlds around it are one.
        let mut world = Arc::clone(history.world());
        self.worlds.clear();
        for (at, planned) in self.calls.iter().enumerate() {
            self.worlds.push(Arc::clone(&world));
            if let Some(tool) = planned.tool.filter(|_| !planned.writes.is_empty()) {
                let origin = Origin::Draft(u16::try_from(at).unwrap_or(u16::MAX));
                Arc::make_mut(&mut world).apply(&policy.model, tool, &planned.call.arguments, history.side(), origin);
            }
        }
        self.worlds.push(world);
        self.counts.calls = i64::try_from(self.calls.len()).unwrap_or(i64::MAX);
        let written =
            self.calls.iter().filter(|p| p.tool.and_then(|t| policy.inventory.at(t)).is_some_and(|t| t.is_write()));
        self.counts.writes = i64::try_from(written.count()).unwrap_or(i64::MAX);
        self.counts.groups = policy
            .model
            .groups
            .iter()
            .map(|(_, tools)| self.calls.iter().filter(|p| p.tool.is_some_and(|t| tools.contains(&t))).count())
            .map(|n| i64::try_from(n).unwrap_or(i64::MAX))
            .collect();
    }

    /// The car before a call.
    pub(super) fn before(&self, at: usize) -> Option<&Arc<World>> {
        self.worlds.get(at)
    }

    /// The car after all calls.
    pub(super) fn after(&self) -> Option<&Arc<World>> {
        self.worlds.last()
    }

    /// The plan as a draft; calls of the harness get identifiers that no earlier call of the
    /// conversation has.
    pub(super) fn draft(&self, history: &History, original: &Draft) -> Draft {
        let made = history.calls().len();
        let calls = self.calls.iter().enumerate().map(|(at, planned)| {
            let mut call = planned.call.clone();
            if call.id.as_str().is_empty() {
                call.id = CallId::from(format!("obligato_{}", made + at).as_str());
            }
            call
        });
        Draft { reply: original.reply.clone(), calls: calls.collect(), malformed: original.malformed.clone() }
    }
}
