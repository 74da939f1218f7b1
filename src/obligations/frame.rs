//! What a rule's program reads: one rule, one call, one item, two moments.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use crate::model::{Resolution, ToolCall, Words};
use crate::policy::{Derived, DraftFeature, Frame, LegFeature, Policy, ReplyFeature, Rule, Slot, SlotIx, Val, When};
use crate::state::{AttrIx, AttrType, CallRef, CellIx, History, LegFacts, PastCall, Told, World, select};

/// Observations that one rule may read: four are enough for every set we know, and a fifth is
/// simply unknown, which denies.
const OBSERVATIONS: usize = 4;

/// Counts of the whole draft, taken once.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    pub(super) calls: i64,
    pub(super) writes: i64,
    pub(super) groups: Vec<i64>,
    pub(super) question: bool,
    /// The words of the reply, where the draft is nothing else.
    pub(super) reply: Option<Arc<Words>>,
    /// What rules read of the legs that the reply describes.
    pub(super) described: LegFacts,
    /// How the reply stands to each list that searches returned.
    pub(super) listed: Vec<Told>,
}

/// One evaluation.
#[derive(Debug)]
pub(super) struct RuleFrame<'a> {
    pub(super) policy: &'a Policy,
    pub(super) history: &'a History,
    pub(super) counts: &'a Counts,
    pub(super) call: Option<&'a ToolCall>,
    /// Fields that the call writes.
    pub(super) writes: &'a [CellIx],
    pub(super) item: u16,
    pub(super) before: &'a World,
    pub(super) after: &'a World,
    /// What rules read of the legs that the call sets.
    legs: Option<Cow<'a, LegFacts>>,
    /// Where that is kept for the next rule on the same call.
    pub(super) kept: Option<&'a OnceCell<LegFacts>>,
    observed: heapless::Vec<(u16, CallRef, &'a Json), OBSERVATIONS>,
    /// How old an observation may be.
    fresh: Option<Duration>,
}

impl<'a> RuleFrame<'a> {
    /// A frame for the guard of a rule, which reads the call alone.
    pub(super) fn new(
        policy: &'a Policy,
        history: &'a History,
        counts: &'a Counts,
        trigger: (Option<&'a ToolCall>, &'a [CellIx]),
        worlds: (&'a World, &'a World),
    ) -> Self {
        let (call, writes) = trigger;
        let (before, after) = worlds;
        let observed = heapless::Vec::new();
        Self {
            policy,
            history,
            counts,
            call,
            writes,
            item: 0,
            before,
            after,
            legs: None,
            kept: None,
            observed,
            fresh: None,
        }
    }

    /// Makes the frame one for the whole condition of a rule that is known to be active: looks up the legs
    /// and the results that it reads, so that evaluation itself neither searches nor allocates.
    pub(super) fn look_up(&mut self, rule: &Rule) {
        let policy = self.policy;
        self.fresh = rule.fresh;
        for slot in rule.when.slots() {
            let observation = match policy.tables.slot(slot) {
                Some(Slot::Observed { observation, .. }) => observation,
                Some(Slot::Legs(_)) => {
                    self.set_legs();
                    continue;
                }
                _ => continue,
            };
            if self.observed.iter().any(|(o, ..)| o == observation) {
                continue;
            }
            let answer = self.answer(rule, *observation).filter(|(_, past)| !self.is_past(past));
            if let Some((call, payload)) = answer.and_then(|(r, past)| Some((r, past.payload()?))) {
                let _ = self.observed.push((*observation, call, payload));
            }
        }
    }

    /// The latest result that answers an observation of a rule, however old it is; none also where place or
    /// time are unknown: nothing can be said to answer it then.
    pub(super) fn answer(&self, rule: &Rule, observation: u16) -> Option<(CallRef, &'a PastCall)> {
        let declared = self.policy.model.observations.get(usize::from(observation))?;
        let template = rule.read.as_ref().filter(|t| t.tool == declared.read);
        let wanted = match template {
            Some(template) => Some(super::render::call(self, template)?.arguments),
            None => None,
        };
        self.history.answer(declared.read, wanted.as_deref())
    }

    /// Looks up the legs that the call sets, once.
    fn set_legs(&mut self) {
        let Some(call) = self.call.filter(|_| self.legs.is_none()) else { return };
        let (policy, history) = (self.policy, self.history);
        let look = || {
            let effect = policy.inventory.position(call.tool.as_str()).and_then(|t| policy.model.tool(t));
            let tour = policy.model.tour.as_ref().zip(effect);
            tour.map(|(tour, e)| LegFacts::of_call(tour, &e.tour, history, &call.arguments)).unwrap_or_default()
        };
        self.legs = Some(self.kept.map_or_else(|| Cow::Owned(look()), |kept| Cow::Borrowed(kept.get_or_init(look))));
    }

    fn legs(&self, feature: LegFeature) -> Val<'static> {
        let facts = self.legs.as_deref().unwrap_or(&self.counts.described);
        match feature {
            LegFeature::Open => Val::Int(facts.open),
            LegFeature::Others => Val::Int(facts.others),
            LegFeature::Declared(at) => match facts.facts.get(usize::from(at)) {
                Some(Some(fact)) => Val::Bool(*fact),
                Some(None) => Val::Unknown,
                // No leg is at hand.
                None => Val::Bool(false),
            },
        }
    }

    /// The call whose result answers an observation.
    pub(super) fn answered_by(&self, observation: u16) -> Option<CallRef> {
        self.observed.iter().find(|(o, ..)| *o == observation).map(|(_, call, _)| *call)
    }

    /// The cell that a slot reads, with the moment it is read at.
    pub(super) fn cell(&self, slot: &Slot) -> Option<(CellIx, When)> {
        match slot {
            Slot::Resource { attribute, when } => Some((self.policy.model.cell(*attribute, self.item)?, *when)),
            Slot::Car { attribute, when } => Some((self.policy.model.cell(*attribute, 0)?, *when)),
            _ => None,
        }
    }

    /// Whether a field rests on an observation that is older than the rule admits.
    pub(super) fn is_old(&self, cell: CellIx, when: When) -> bool {
        self.fresh.is_some_and(|limit| {
            self.history.age(&self.policy.model, cell, self.world(when)).is_some_and(|age| age > limit)
        })
    }

    /// Whether a result arrived longer ago than the rule admits.
    pub(super) fn is_past(&self, past: &PastCall) -> bool {
        self.fresh.zip(self.age(past)).is_some_and(|(limit, age)| age > limit)
    }

    /// How long ago a result arrived, where there is a clock.
    pub(super) fn age(&self, past: &PastCall) -> Option<Duration> {
        past.at.zip(self.history.clock()).map(|(then, now)| now.saturating_sub(then))
    }

    /// A feature, unknown as soon as one of its fields rests on an observation that is too old.
    fn derived(&self, feature: &Derived, when: When) -> Val<'a> {
        let model = &self.policy.model;
        let items = model.attribute(feature.attribute).map_or(0, |a| model.items(a));
        let old = self.fresh.is_some()
            && (0..items).filter_map(|i| model.cell(feature.attribute, i)).any(|cell| self.is_old(cell, when));
        if old { Val::Unknown } else { feature.value(model, self.world(when)) }
    }

    /// The world of a moment.
    pub(super) fn world(&self, when: When) -> &'a World {
        match when {
            When::Before => self.before,
            When::After => self.after,
        }
    }

    fn attribute(&self, attribute: AttrIx, item: u16, when: When) -> Val<'a> {
        let Some(declared) = self.policy.model.attribute(attribute) else { return Val::Error };
        let Some(cell) = self.policy.model.cell(attribute, item) else { return Val::Error };
        if self.is_old(cell, when) {
            return Val::Unknown;
        }
        match (&declared.kind, Val::of(&self.world(when).get(cell).value)) {
            (AttrType::Parts(_), Val::Word(joined)) => Val::Parts(joined),
            (_, value) => value,
        }
    }

    fn input(&self, path: &str, resolution: Resolution) -> Val<'a> {
        let Some(call) = self.call else { return Val::Absent };
        let found = call.arguments.get(path).or_else(|| {
            let (head, rest) = path.split_once('.')?;
            select(call.arguments.get(head)?, rest)
        });
        found.map_or(Val::Absent, |json| json_value(json, resolution))
    }

    fn called(&self, tool: crate::tools::ToolIx) -> Val<'a> {
        Val::Bool(self.history.calls_of(tool).any(|(_, past)| past.succeeded()))
    }
}

/// A JSON value of an argument or a result, borrowed.
fn json_value(json: &Json, resolution: Resolution) -> Val<'_> {
    match json {
        Json::Bool(b) => Val::Bool(*b),
        Json::Number(n) => resolution.scale(n).map_or(Val::Error, Val::Int),
        Json::String(s) => Val::Word(s),
        Json::Array(items) => Val::Json(items),
        Json::Null => Val::Absent,
        Json::Object(_) => Val::Error,
    }
}

impl Frame for RuleFrame<'_> {
    fn load(&self, slot: SlotIx) -> Val<'_> {
        let Some(slot) = self.policy.tables.slot(slot) else { return Val::Error };
        match slot {
            Slot::Input { path, resolution } => self.input(path, *resolution),
            Slot::Resource { attribute, when } => self.attribute(*attribute, self.item, *when),
            Slot::Car { attribute, when } => self.attribute(*attribute, 0, *when),
            Slot::Addressed => Val::Bool(self.addressed()),
            Slot::Draft(DraftFeature::Calls) => Val::Int(self.counts.calls),
            Slot::Draft(DraftFeature::Writes) => Val::Int(self.counts.writes),
            Slot::Draft(DraftFeature::Group(group)) => {
                self.counts.groups.get(usize::from(group.0)).map_or(Val::Error, |n| Val::Int(*n))
            }
            Slot::Read(tool) | Slot::Called(tool) => self.called(*tool),
            Slot::LastError => Val::Bool(self.history.calls().last().is_some_and(|c| !c.succeeded())),
            Slot::Now(field) => Val::of(self.history.now().get(*field)),
            Slot::Observed { observation, field } => self.observation(*observation, *field),
            Slot::Derived { derived, when } => match self.policy.derived.get(usize::from(*derived)) {
                Some(feature) => self.derived(feature, *when),
                None => Val::Error,
            },
            Slot::Reply(ReplyFeature::Question) => Val::Bool(self.counts.question),
            Slot::Listed { listing, told } => {
                let counts = self.counts.listed.get(usize::from(*listing)).copied().unwrap_or_default();
                Val::Int(if *told { counts.told } else { counts.untold })
            }
            Slot::Legs(feature) => self.legs(*feature),
            // A plain JSON context belongs to foreign sets, which have their own frame.
            Slot::Context(_) => Val::Error,
        }
    }
}

impl RuleFrame<'_> {
    fn addressed(&self) -> bool {
        self.writes.iter().any(|cell| self.policy.model.owner(*cell).is_some_and(|(_, item)| item == self.item))
    }

    fn observation(&self, observation: u16, field: u16) -> Val<'_> {
        let Some(declared) = self.policy.model.observations.get(usize::from(observation)) else { return Val::Error };
        let Some(field) = declared.fields.get(usize::from(field)) else { return Val::Error };
        let Some((_, _, payload)) = self.observed.iter().find(|(o, ..)| *o == observation) else { return Val::Unknown };
        match select(payload, &field.field).map(|json| json_value(json, field.resolution)) {
            None | Some(Val::Absent) => Val::Unknown,
            Some(Val::Word(word)) if crate::model::is_unknown_word(word) => Val::Unknown,
            Some(Val::Word(text)) if field.kind == AttrType::Int => field.number(text).map_or(Val::Unknown, Val::Int),
            Some(value) => value,
        }
    }
}
