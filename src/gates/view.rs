//! What a gate may see.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use crate::model::{Draft, ToolCall, Words};
use crate::obligations::Owed;
use crate::policy::{HardLimits, Policy, Reading};
use crate::state::{History, PastCall, Utterance};
use crate::tools::{Tool, ToolIx};

use super::lately::{Lately, Readings};
use super::sources::{self, Sourced};

/// A gate used up its budget: its check is bounded, whatever the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the gate used up its budget of {BUDGET} steps")]
pub struct Exhausted;

/// Steps one gate may take on one draft: a step is a word, an argument or a past call looked at.
pub(super) const BUDGET: u32 = 200_000;

/// What holds where no image says anything (`verify`, `replay`).
static NO_LIMITS: HardLimits = HardLimits { limit: Vec::new() };

/// Everything a gate may see: borrowed, immutable, complete.
#[derive(Debug)]
pub struct View<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The conversation so far and the car as it is known.
    pub history: &'a History,
    /// The draft with its remedies in place; calls the student wrote keep their order.
    pub draft: &'a Draft,
    /// The draft as the student wrote it.
    pub drafted: &'a Draft,
    /// What the policy owes for it.
    pub owed: &'a Owed,
    /// The limits of the image, beneath every policy.
    pub limits: &'a HardLimits,
    fuel: Cell<u32>,
    reply: OnceCell<Option<Reading<'a>>>,
    driver: OnceCell<Option<Reading<'a>>>,
    heard: Readings<'a>,
    spoken: Readings<'a>,
    sources: OnceCell<Vec<Sourced>>,
}

impl<'a> View<'a> {
    /// A view with a full budget.
    pub fn new(policy: &'a Policy, history: &'a History, drafted: &'a Draft, owed: &'a Owed) -> Self {
        Self {
            policy,
            history,
            draft: &owed.amended,
            drafted,
            owed,
            limits: &NO_LIMITS,
            fuel: Cell::new(BUDGET),
            reply: OnceCell::new(),
            driver: OnceCell::new(),
            heard: Readings::default(),
            spoken: Readings::default(),
            sources: OnceCell::new(),
        }
    }

    /// The view with the limits of an image.
    #[must_use]
    pub fn with_limits(mut self, limits: &'a HardLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Takes steps off the budget. Call it in every loop over input.
    ///
    /// # Errors
    /// [`Exhausted`] when nothing is left.
    pub fn spend(&self, steps: usize) -> Result<(), Exhausted> {
        let left = u32::try_from(steps).ok().and_then(|s| self.fuel.get().checked_sub(s)).ok_or(Exhausted)?;
        self.fuel.set(left);
        Ok(())
    }

    /// Fills the budget for the next gate.
    pub(super) fn refuel(&self) {
        self.fuel.set(BUDGET);
    }

    /// What the draft says, read once for all gates; none beside calls, where it is dropped unspoken.
    pub fn reply(&self) -> Option<&Reading<'a>> {
        self.reply
            .get_or_init(|| {
                let text = self.draft.reply.as_ref().filter(|_| self.draft.calls.is_empty())?;
                let split = || Arc::new(Words::new(text));
                Some(self.policy.lexicon().read(self.owed.reply.clone().unwrap_or_else(split)))
            })
            .as_ref()
    }

    /// The driver's latest words, read once for all gates.
    pub fn driver(&self) -> Option<&Reading<'a>> {
        self.driver
            .get_or_init(|| self.history.driver().last().map(|u| self.policy.lexicon().read(Arc::clone(&u.words))))
            .as_ref()
    }

    /// The driver's latest messages, latest first, read once for all gates.
    ///
    /// # Errors
    /// [`Exhausted`] when the budget does not last.
    pub fn heard(&self) -> Result<Lately<'_, 'a>, Exhausted> {
        self.lately(&self.heard, self.history.driver())
    }

    /// What was last said to the driver and answered by him, latest first, read once for all gates: words of the
    /// assistant explain nothing that it then does before the driver has said something to them.
    ///
    /// # Errors
    /// [`Exhausted`] when the budget does not last.
    pub fn spoken(&self) -> Result<Lately<'_, 'a>, Exhausted> {
        self.lately(&self.spoken, self.answered())
    }

    /// The messages of [`spoken`](Self::spoken), oldest first.
    pub fn answered(&self) -> &'a [Utterance] {
        let (spoken, answer) = (self.history.spoken(), self.history.driver().last().map_or(0, |said| said.step));
        spoken.get(..spoken.partition_point(|said| said.step < answer)).unwrap_or_default()
    }

    /// The messages of [`spoken`](Self::spoken), each with what the driver said next.
    ///
    /// # Errors
    /// [`Exhausted`] when the budget does not last.
    pub fn exchanges(&self) -> Result<Vec<(&Reading<'a>, &Reading<'a>)>, Exhausted> {
        let heard: Vec<_> = self.history.driver().iter().rev().zip(self.heard()?.iter()).collect();
        let spoken = self.answered().iter().rev().zip(self.spoken()?.iter());
        let next = |step: usize| heard.iter().take_while(|(said, _)| said.step > step).last();
        Ok(spoken.filter_map(|(said, reading)| Some((reading, next(said.step)?.1))).collect())
    }

    /// One side's messages; the first gate that looks at them pays for reading all.
    fn lately<'s>(&self, readings: &'s Readings<'a>, side: &'a [Utterance]) -> Result<Lately<'s, 'a>, Exhausted> {
        let lately = Lately::new(readings, side, self.policy.lexicon());
        if !readings.paid.get() {
            self.spend(lately.words())?;
            readings.paid.set(true);
        }
        Ok(lately)
    }

    /// Where the numbers of the draft's writes come from, judged once for all gates.
    ///
    /// # Errors
    /// [`Exhausted`] when the budget does not last.
    pub(super) fn sources(&self) -> Result<&[Sourced], Exhausted> {
        if self.sources.get().is_none() {
            let judged = sources::judge(self)?;
            return Ok(self.sources.get_or_init(|| judged));
        }
        Ok(self.sources.get().map_or(&[], Vec::as_slice))
    }

    /// The tool at a position, unless it is removed here.
    pub fn available(&self, tool: ToolIx) -> Option<&'a Tool> {
        self.policy.inventory.at(tool).filter(|t| !self.history.removed().tool(t.name.as_str()))
    }

    /// Calls made since the driver last spoke, latest first.
    pub fn this_turn(&self) -> impl Iterator<Item = &'a PastCall> {
        let since = self.history.driver().last().map_or(0, |u| u.step);
        self.history.calls().iter().rev().take_while(move |past| past.step > since)
    }

    /// Whether a tool was called with success in this conversation.
    pub fn executed(&self, tool: ToolIx) -> bool {
        self.history.calls_of(tool).any(|(_, past)| past.succeeded())
    }

    /// What the harness says on an occasion, in the driver's language.
    pub fn say(&self, occasion: &str, what: &str) -> String {
        self.ask(occasion, &[("what", what.to_owned())])
    }

    /// The same with holes of other names, for questions that only the driver can answer.
    pub fn ask(&self, occasion: &str, holes: &[(&str, String)]) -> String {
        let language = self.driver().or_else(|| self.reply()).and_then(Reading::language);
        let code = language.and_then(|l| self.policy.lexicon().language(l)).unwrap_or_default();
        let holes: Vec<(&str, &str)> = holes.iter().map(|(name, text)| (*name, text.as_str())).collect();
        self.policy.say(code, occasion, &holes)
    }

    /// An argument as the driver's language calls it.
    pub fn argument(&self, name: &str) -> String {
        let language = self.driver().or_else(|| self.reply()).and_then(Reading::language);
        let code = language.and_then(|l| self.policy.lexicon().language(l)).unwrap_or_default();
        self.policy.argument_words(code, name)
    }

    /// The question for leave to make a call, in the driver's language.
    pub fn shall_i(&self, call: &ToolCall) -> String {
        let language = self.driver().and_then(Reading::language);
        let code = language.and_then(|l| self.policy.lexicon().language(l)).unwrap_or_default();
        let what = self.policy.call_words(code, call, self.history);
        self.policy.say(code, "shall-i", &[("what", what.as_str())])
    }

    /// How the driver calls what a tool acts on; its own name where nobody said.
    pub fn called(&self, tool: &Tool) -> String {
        let language = self.driver().and_then(Reading::language).and_then(|l| self.policy.lexicon().language(l));
        let effect = self.policy.inventory.position(tool.name.as_str()).and_then(|ix| self.policy.model.tool(ix));
        let nouns = effect.and_then(|e| language.and_then(|l| e.nouns.get(l)).or_else(|| e.nouns.values().next()));
        nouns.and_then(|n| n.first()).cloned().unwrap_or_else(|| tool.name.as_str().replace('_', " "))
    }
}
