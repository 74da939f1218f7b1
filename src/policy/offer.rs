//! What a session may add to the signed policy: forbids, and nothing else (design §8).
//!
//! The type has no place for a remedy, a disclosure or an exception, so whatever text it was made of can
//! only make the harness deny or ask more.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    ArgumentTemplate, CallTemplate, Op, Piece, Policy, PolicyParts, Program, ProgramError, Rule, RuleKind, Slot,
    SlotIx, Tables, TextTemplate, Trigger,
};
use crate::model::{PolicyHash, RuleId};
use crate::state::{AttrIx, EntityIx};
use crate::tools::ToolIx;

/// Version of what makes offers out of texts: the release, then the prompts.
pub const OFFER_COMPILER: &str = concat!(env!("CARGO_PKG_VERSION"), "/1");
/// Sentences that a session may add, over all of its offers: more than a page of prose comes to. Each of them costs
/// every later check of the session.
const MOST: usize = 64;

/// What the identifiers of offered rules begin with.
const PREFIX: &str = "offer:";

/// A call or reply that must not be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forbid {
    /// Identifier within the offer.
    pub id: String,
    /// The sentence that it keeps.
    pub sentence: String,
    /// What makes it look.
    pub trigger: Trigger,
    /// The entity whose items it is evaluated for.
    pub entity: EntityIx,
    /// See [`Rule::guard`].
    pub guard: Program,
    /// See [`Rule::when`].
    pub when: Program,
    /// See [`Rule::reads_after`].
    pub reads_after: Vec<AttrIx>,
    /// The read that answers its observations.
    pub read: Option<CallTemplate>,
    /// What the driver must agree to; none: it is denied.
    pub consent: Option<TextTemplate>,
}

/// Forbids and hints for one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// The forbids.
    pub forbids: Vec<Forbid>,
    /// What their programs share.
    pub tables: Tables,
    /// Sentences for the critic, which can deny nothing by itself.
    pub advice: Vec<String>,
}

/// Why an offer cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// Too many rules.
    #[error("with this offer the session has {0} rules of its own, more than the {MOST} that it may add; offer less")]
    TooMany(usize),
    /// Made for another car.
    #[error("rule `{0}` of the offer names something that this policy does not have; compile it for this policy")]
    Foreign(String),
    /// A program that cannot be run.
    #[error("rule `{rule}` of the offer cannot be run: {error}")]
    Program {
        /// The rule.
        rule: RuleId,
        /// What is wrong.
        error: ProgramError,
    },
}

impl Offer {
    /// An offer of hints alone. More of them than a session may add are refused when it is adopted.
    pub fn advice(sentences: impl IntoIterator<Item = String>) -> Self {
        Self { advice: sentences.into_iter().collect(), ..Self::default() }
    }
}

impl Policy {
    /// SHA-256 of all that an offer's positions refer to: tools, effect model, derived features.
    pub fn ground_digest(&self) -> [u8; 32] {
        let tools: Vec<_> = self.inventory.iter().cloned().collect();
        // What came out of a blob goes into one.
        Sha256::digest(postcard::to_allocvec(&(tools, &self.model, &self.derived)).unwrap_or_default()).into()
    }

    /// This policy with the forbids of an offer behind its own rules, which all stay as they are. It has a
    /// hash of its own, so that no clearance and no consent given before counts under it.
    ///
    /// # Errors
    /// [`OfferError`] when the offer was not made for this policy.
    pub fn with_offer(&self, offer: &Offer) -> Result<Self, OfferError> {
        // A hint stands as two rules; the one for replies is not counted.
        let sentence = |r: &&Rule| is_offered(r) && !(r.advise.is_some() && matches!(r.trigger, Trigger::Reply));
        let count = self.rules().iter().filter(sentence).count() + offer.forbids.len() + offer.advice.len();
        if count > MOST {
            return Err(OfferError::TooMany(count));
        }
        let shift = Shift::of(&self.tables);
        let mut rules = self.rules().to_vec();
        let number = rules.iter().filter(|rule| is_offered(rule)).count();
        for (forbid, at) in offer.forbids.iter().zip(number..) {
            if !self.knows(forbid, &offer.tables) {
                return Err(OfferError::Foreign(forbid.id.clone()));
            }
            rules.push(shift.rule(forbid, at).ok_or_else(|| OfferError::Foreign(forbid.id.clone()))?);
        }
        let at = number + offer.forbids.len();
        rules.extend(offer.advice.iter().zip(at..).flat_map(|(sentence, at)| self.hints(sentence, at)));
        let content = postcard::to_allocvec(offer).unwrap_or_default();
        let hash = Sha256::new().chain_update(self.hash.0).chain_update(content).finalize();
        let parts = PolicyParts {
            id: self.id.clone(),
            inventory: self.inventory.iter().cloned().collect(),
            model: self.model.clone(),
            derived: self.derived.clone(),
            rules,
            tables: shift.join(&self.tables, &offer.tables),
            phrases: self.phrases.clone(),
            prose: self.prose.clone(),
            // They tell what the signed policy does, which this one adds to.
            tests: super::PackedTests::default(),
        };
        Self::new(parts, PolicyHash(hash.into())).map_err(|(rule, error)| OfferError::Program { rule, error })
    }

    /// Whether everything that a forbid refers to exists here.
    fn knows(&self, forbid: &Forbid, tables: &Tables) -> bool {
        let tool = |ix: ToolIx| self.inventory.at(ix).is_some();
        let attribute = |ix: AttrIx| self.model.attribute(ix).is_some();
        let triggers = match &forbid.trigger {
            Trigger::Calls(tools) => tools.iter().copied().all(tool),
            Trigger::Reply => true,
        };
        let slot = |slot: &Slot| match slot {
            Slot::Resource { attribute: ix, .. } => {
                self.model.attribute(*ix).is_some_and(|a| a.entity == forbid.entity)
            }
            Slot::Car { attribute: ix, .. } => attribute(*ix),
            Slot::Read(ix) | Slot::Called(ix) => tool(*ix),
            Slot::Observed { observation, field } => self
                .model
                .observations
                .get(usize::from(*observation))
                .is_some_and(|o| usize::from(*field) < o.fields.len()),
            Slot::Derived { derived, .. } => usize::from(*derived) < self.derived.len(),
            Slot::Listed { listing, .. } => usize::from(*listing) < self.model.listings.len(),
            Slot::Context(_) => false,
            _ => true,
        };
        let loaded = forbid.when.slots().chain(forbid.guard.slots());
        triggers
            && self.model.entity(forbid.entity).is_some()
            && forbid.reads_after.iter().copied().all(attribute)
            && forbid.read.as_ref().is_none_or(|call| tool(call.tool))
            && loaded.into_iter().all(|ix| tables.slot(ix).is_some_and(slot))
    }

    /// A sentence as hints for the critic: at every call that writes, and at every reply.
    fn hints(&self, sentence: &str, at: usize) -> [Rule; 2] {
        let writes = self.inventory.iter().zip((0_u16..).map(ToolIx)).filter(|(t, _)| t.is_write());
        let writes = Trigger::Calls(writes.map(|(_, ix)| ix).collect());
        [(writes, "call"), (Trigger::Reply, "reply")].map(|(trigger, what)| Rule {
            advise: Some(sentence.to_owned()),
            ..bare(format!("{PREFIX}{at}:{what}"), sentence, trigger, EntityIx::CAR)
        })
    }
}

/// Whether a rule came with an offer.
fn is_offered(rule: &Rule) -> bool {
    rule.id.as_str().starts_with(PREFIX)
}

/// A rule that forbids and says nothing of how it is satisfied.
fn bare(id: String, sentence: &str, trigger: Trigger, entity: EntityIx) -> Rule {
    Rule {
        id: RuleId::from(id.as_str()),
        kind: RuleKind::Prohibition,
        source: "offer".into(),
        sentence: sentence.into(),
        trigger,
        entity,
        guard: Program::default(),
        when: Program::default(),
        reads_after: Vec::new(),
        remedy: Vec::new(),
        read: None,
        consent: None,
        disclose: None,
        said: Vec::new(),
        on_failure: Vec::new(),
        fresh: None,
        advise: None,
        shadow: false,
    }
}

/// By how much the positions of an offer move behind those of the policy.
struct Shift {
    slots: usize,
    constants: usize,
    sets: usize,
    patterns: usize,
}

impl Shift {
    fn of(tables: &Tables) -> Self {
        Self {
            slots: tables.slots.len(),
            constants: tables.constants.len(),
            sets: tables.sets.len(),
            patterns: tables.patterns.len(),
        }
    }

    fn join(&self, own: &Tables, offered: &Tables) -> Tables {
        let mut tables = own.clone();
        tables.slots.extend_from_slice(&offered.slots);
        tables.constants.extend_from_slice(&offered.constants);
        tables.sets.extend_from_slice(&offered.sets);
        tables.patterns.extend_from_slice(&offered.patterns);
        tables
    }

    /// The forbid as a rule; none when a position does not fit behind the policy's own.
    fn rule(&self, forbid: &Forbid, at: usize) -> Option<Rule> {
        let consent = match &forbid.consent {
            Some(text) => Some(self.text(text)?),
            None => None,
        };
        let read = match &forbid.read {
            Some(call) => Some(self.call(call)?),
            None => None,
        };
        Some(Rule {
            kind: if consent.is_some() { RuleKind::Confirmation } else { RuleKind::Prohibition },
            guard: self.program(&forbid.guard)?,
            when: self.program(&forbid.when)?,
            reads_after: forbid.reads_after.clone(),
            read,
            consent,
            ..bare(format!("{PREFIX}{at}:{}", forbid.id), &forbid.sentence, forbid.trigger.clone(), forbid.entity)
        })
    }

    fn slot(&self, slot: SlotIx) -> Option<SlotIx> {
        moved(slot.0, self.slots).map(SlotIx)
    }

    fn program(&self, program: &Program) -> Option<Program> {
        let op = |op: &Op| {
            Some(match *op {
                Op::Load(slot) => Op::Load(self.slot(slot)?),
                Op::Has(slot) => Op::Has(self.slot(slot)?),
                Op::Constant(at) => Op::Constant(moved(at, self.constants)?),
                Op::InSet(at) => Op::InSet(moved(at, self.sets)?),
                Op::Like(at) => Op::Like(moved(at, self.patterns)?),
                op => op,
            })
        };
        program.ops.iter().map(op).collect::<Option<_>>().map(|ops| Program { ops })
    }

    fn call(&self, call: &CallTemplate) -> Option<CallTemplate> {
        let argument = |(name, value): &(String, ArgumentTemplate)| {
            let value = match value {
                ArgumentTemplate::Merge { slot, part } => {
                    ArgumentTemplate::Merge { slot: self.slot(*slot)?, part: part.clone() }
                }
                value => value.clone(),
            };
            Some((name.clone(), value))
        };
        let arguments = call.arguments.iter().map(argument).collect::<Option<_>>()?;
        Some(CallTemplate { tool: call.tool, arguments })
    }

    fn text(&self, text: &TextTemplate) -> Option<TextTemplate> {
        let piece = |piece: &Piece| {
            Some(match piece {
                Piece::Slot(slot) => Piece::Slot(self.slot(*slot)?),
                piece => piece.clone(),
            })
        };
        text.pieces.iter().map(piece).collect::<Option<_>>().map(|pieces| TextTemplate { pieces })
    }
}

fn moved(at: u16, by: usize) -> Option<u16> {
    u16::try_from(usize::from(at).checked_add(by)?).ok()
}

#[cfg(test)]
mod tests {
    use super::super::{Compare, When, testing};
    use super::*;
    use crate::state::Literal;

    fn kitchen() -> Policy {
        testing::kitchen()
    }

    /// The oven must not be on above level 2 of the hood.
    fn offer() -> Offer {
        let slot = |attribute| Slot::Resource { attribute: AttrIx(attribute), when: When::After };
        let tables = Tables { slots: vec![slot(2), slot(0)], constants: vec![Literal::Int(2)], ..Tables::default() };
        let ops = vec![Op::Constant(0), Op::Load(SlotIx(0)), Op::Compare(Compare::Lt)];
        let forbid = Forbid {
            id: "hood".into(),
            sentence: "The hood stays at 2.".into(),
            trigger: Trigger::Calls(vec![ToolIx(0)]),
            entity: EntityIx::CAR,
            guard: Program::default(),
            when: Program { ops },
            reads_after: vec![AttrIx(2)],
            read: None,
            consent: None,
        };
        Offer { forbids: vec![forbid], tables, advice: vec!["Be quick.".into()] }
    }

    #[test]
    fn an_offer_adds_behind_the_signed_rules_and_changes_none_of_them() {
        let signed = kitchen();
        let once = signed.with_offer(&offer()).unwrap();
        let twice = once.with_offer(&offer()).unwrap();
        assert_eq!(once.rules()[..signed.rules().len()], *signed.rules());
        assert_eq!(twice.rules()[..once.rules().len()], *once.rules());
        assert_eq!(once.rules().len(), signed.rules().len() + 3);
        let added = &once.rules()[signed.rules().len()];
        assert_eq!(once.vocabulary().condition(&added.when), "resource.hood > 2");
        assert_eq!(twice.vocabulary().condition(&twice.rules()[once.rules().len()].when), "resource.hood > 2");
        let ids: std::collections::BTreeSet<&str> = twice.rules().iter().map(|r| r.id.as_str()).collect();
        assert_eq!(ids.len(), twice.rules().len(), "no identifier twice");
        assert!(once.rules()[signed.rules().len()..].iter().all(|r| r.remedy.is_empty() && r.disclose.is_none()));
        assert!(signed.hash != once.hash && once.hash != twice.hash, "nothing given before counts");
        assert_eq!(signed.ground_digest(), twice.ground_digest());
    }

    #[test]
    fn an_offer_for_another_car_or_with_a_broken_program_is_refused() {
        let change = |change: &dyn Fn(&mut Offer)| {
            let mut offer = offer();
            change(&mut offer);
            kitchen().with_offer(&offer).map(|_| ())
        };
        let foreign = Err(OfferError::Foreign("hood".into()));
        assert_eq!(change(&|o| o.forbids[0].trigger = Trigger::Calls(vec![ToolIx(900)])), foreign);
        assert_eq!(change(&|o| o.forbids[0].entity = EntityIx(9)), foreign);
        assert_eq!(change(&|o| o.forbids[0].entity = EntityIx(1)), foreign, "attributes of another entity");
        assert_eq!(change(&|o| o.tables.slots.clear()), foreign);
        assert_eq!(change(&|o| o.forbids[0].when.ops.push(Op::Load(SlotIx(7)))), foreign);
        let unbalanced = change(&|o| o.forbids[0].when.ops.push(Op::Load(SlotIx(1))));
        assert!(matches!(unbalanced, Err(OfferError::Program { .. })), "{unbalanced:?}");
        let many = change(&|o| o.advice = vec![String::new(); 64]);
        assert_eq!(many, Err(OfferError::TooMany(65)));
    }

    #[test]
    fn offers_add_up_to_what_a_session_may_add_and_no_further() {
        let line = |number: usize| Offer::advice([format!("Keep to line {number}.")]);
        let mut policy = kitchen();
        for number in 0..MOST {
            policy = policy.with_offer(&line(number)).unwrap();
        }
        assert!(matches!(policy.with_offer(&line(MOST)), Err(OfferError::TooMany(_))));
        assert!(matches!(policy.with_offer(&offer()), Err(OfferError::TooMany(_))));
    }
}
