//! What can be drafted at this moment: the tools that a request is about, and for each the arguments that it gives
//! or implies.
//!
//! The gates decide: an argument list is kept when they would not object to it ([`probe`]), so that a draft written
//! from what is left cannot be rejected for a value that nobody gave. What they leave open is narrowed to what the
//! driver's own words name. Where no value can be found for a number, the call is drafted without it, and the
//! harness asks for it. Words that point to a tool or a value without deciding it only make it more welcome: the
//! model has the last word among what is left.

mod asks;
mod hearing;
mod lookups;
#[cfg(test)]
mod tests;
mod tree;
mod values;
mod weights;

pub use tree::{Branch, Slot};

use serde_json::{Map, Value as Json};

use self::asks::{Ask, asks};
use self::tree::Part;
use self::values::Values;
use super::grammar::order;
use crate::gates::{probe, says_unit};
use crate::model::{Draft, Finding, Tier, ToolCall};
use crate::obligations::{Said, phones};
use crate::policy::{Hit, PhraseRole, Policy, Reading};
use crate::state::History;
use crate::tools::{Kind, Param, ParamType, Tool, ToolIx};

/// Argument lists that are put before the gates for one tool: beyond, the tool's own schema is the bound.
const PROBED: usize = 640;
/// Tools that are put before the gates.
const MOST: usize = 16;

/// A conversation, and the policy that it is judged under.
#[derive(Debug, Clone, Copy)]
pub struct Grounding<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The conversation and the car as it is known.
    pub history: &'a History,
}

/// A tool with what can be drafted of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Grounded {
    /// The tool.
    pub tool: ToolIx,
    /// How welcome it is beside what the model thinks, in nats; 0 at best.
    pub weight: f32,
    /// The argument lists; none: whatever the schema allows.
    pub arguments: Option<Vec<Branch>>,
}

/// What can be drafted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ground {
    /// Tools, the best first.
    pub tools: Vec<Grounded>,
    /// The tools of each thing that is asked for, where there are several: one call each, in order.
    pub each: Vec<Vec<Grounded>>,
    /// How welcome a reply without a call is, in nats; 0 where no tool stands out.
    pub reply: f32,
}

/// Argument lists of one tool, each with what the gates find.
type Probed = Vec<(Vec<Part>, Vec<Finding>)>;

impl<'a> Grounding<'a> {
    /// What can be drafted of these tools, each with its score by words, best first.
    pub fn ground(&self, ranked: &[(ToolIx, f32)]) -> Ground {
        let Some(reading) = self.reading() else { return Ground::default() };
        let ranked = self.named(&reading, ranked);
        let tools = self.tools(&reading, &ranked, None);
        let asked = asks(self.policy, &reading);
        let mut each: Vec<Vec<Grounded>> = Vec::new();
        if asked.len() > 1 {
            for ask in &asked {
                let own: Vec<(ToolIx, f32)> = ranked.iter().filter(|(t, _)| ask.tools.contains(t)).copied().collect();
                each.push(self.tools(&reading, &own, Some(ask)));
            }
        }
        if each.iter().any(Vec::is_empty) {
            each.clear();
        }
        Ground { reply: weights::reply(self.policy, &reading, &tools), tools, each }
    }

    /// The reads without which no value can be found for what the driver's words name: made before anything is
    /// drafted, they cost no model call.
    pub fn reads(&self) -> Vec<ToolCall> {
        let Some(reading) = self.reading() else { return Vec::new() };
        let mut reads: Vec<ToolCall> = Vec::new();
        for (tool, ix) in self.policy.inventory.iter().zip((0_u16..).map(ToolIx)) {
            if !tool.is_write() || !self.is_named(&reading, ix) || self.history.removed().tool(tool.name.as_str()) {
                continue;
            }
            let said = Said::about(&reading, ix);
            let values = self.values(&reading, &said, ix, None);
            let mut owed: Vec<ToolCall> = values.unread(tool);
            if owed.is_empty() {
                owed = self.owed(&reading, ix, tool);
            }
            for read in owed {
                if !reads.iter().any(|r| r.key() == read.key()) {
                    reads.push(read);
                }
            }
        }
        reads
    }

    /// Identifiers that were observed, the only ones that may stand anywhere in a draft.
    pub fn identifiers(&self) -> Vec<String> {
        let seen = self.history.identifiers();
        let mut found: Vec<String> =
            seen.iter().map(|(word, _)| word).filter(|w| seen.looks_like_one(w)).map(str::to_owned).collect();
        found.sort_unstable();
        found
    }

    /// Reads that the gates demand whichever of the possible values is drafted.
    fn owed(&self, reading: &Reading<'_>, ix: ToolIx, tool: &Tool) -> Vec<ToolCall> {
        let mut owed: Option<Vec<ToolCall>> = None;
        for (_, findings) in self.probed(reading, ix, tool, None).into_iter().flatten() {
            if findings.iter().any(|f| f.tier == Tier::Hard) {
                continue;
            }
            let demanded: Vec<ToolCall> =
                findings.into_iter().filter(|f| f.tier == Tier::Owed).flat_map(|f| f.remedy).collect();
            owed = Some(match owed {
                None => demanded,
                Some(known) => known.into_iter().filter(|k| demanded.iter().any(|d| d.key() == k.key())).collect(),
            });
        }
        owed.unwrap_or_default()
    }

    fn reading(&self) -> Option<Reading<'a>> {
        let said = self.history.driver().last()?;
        Some(self.policy.lexicon().read(hearing::understood(self.policy, &said.words)))
    }

    /// The driver's latest words as the policy may have them, for whoever ranks tools by words.
    pub fn heard(&self) -> Option<String> {
        let said = self.history.driver().last()?;
        Some(hearing::understood(self.policy, &said.words).spaced().trim().to_owned())
    }

    fn is_named(&self, reading: &Reading<'_>, tool: ToolIx) -> bool {
        // Who gives a number or an address speaks of what reaches somebody.
        let reaches = || self.policy.inventory.at(tool).is_some_and(|t| t.outward) && !phones(reading).is_empty();
        // A rear window is a window, whatever else is called so.
        let head = |h: &Hit<'_>| h.end - h.start > 1 && self.policy.read(reading.words().text(h.end - 1)).names(tool);
        reading.names(tool)
            || says_unit(self.policy, reading, (0, reading.words().len()), tool)
            || reaches()
            || reading.nouns().any(head)
    }

    /// These tools and those whose subject the policy's own words name: what people say in another language than the
    /// tools are described in is found there alone.
    fn named(&self, reading: &Reading<'_>, ranked: &[(ToolIx, f32)]) -> Vec<(ToolIx, f32)> {
        let mut all = ranked.to_vec();
        let best = ranked.iter().map(|(_, score)| *score).fold(1.0_f32, f32::max);
        let here = |t: &Tool| !self.history.removed().tool(t.name.as_str());
        for (_, ix) in self.policy.inventory.iter().zip((0_u16..).map(ToolIx)).filter(|(tool, _)| here(tool)) {
            let more = all.len() < MOST && self.is_named(reading, ix) && !all.iter().any(|(known, _)| *known == ix);
            if more {
                // Below what shares words, above nothing.
                all.push((ix, best * 0.5));
            }
        }
        // A question that names nothing may be about anything that can be read.
        if weights::is_question(reading) && !all.iter().any(|(ix, _)| self.is_named(reading, *ix)) {
            let reads = self.policy.inventory.iter().zip((0_u16..).map(ToolIx));
            let reads = reads.filter(|(t, _)| here(t) && t.kind == Kind::Read && t.params.iter().all(|p| !p.required));
            for (_, ix) in reads {
                if !all.iter().any(|(known, _)| *known == ix) {
                    all.push((ix, best * 0.25));
                }
            }
        }
        all
    }

    /// Tools with what can be drafted of them, the most welcome at 0.
    fn tools(&self, reading: &Reading<'_>, ranked: &[(ToolIx, f32)], ask: Option<&Ask>) -> Vec<Grounded> {
        let best = ranked.iter().map(|(_, score)| *score).fold(f32::MIN_POSITIVE, f32::max);
        let wants = weights::wants(self.policy, reading, ranked, best);
        let mut tools: Vec<Grounded> = Vec::new();
        for (ix, score) in ranked {
            let Some(tool) = self.policy.inventory.at(*ix) else { continue };
            let Some(arguments) = self.arguments(reading, *ix, tool, ask) else { continue };
            let said = Said::about(reading, *ix);
            let fits = self.values(reading, &said, *ix, ask).fits(tool);
            let weight = weights::tool(reading, (*ix, tool), self.is_named(reading, *ix), score / best, fits, wants);
            tools.push(Grounded { tool: *ix, weight, arguments });
        }
        let top = tools.iter().map(|t| t.weight).fold(f32::NEG_INFINITY, f32::max);
        tools.iter_mut().for_each(|t| t.weight -= top);
        tools
    }

    fn values<'v>(
        &'v self,
        reading: &'v Reading<'v>,
        said: &'v Said<'v, 'v>,
        tool: ToolIx,
        ask: Option<&Ask>,
    ) -> Values<'v> {
        Values { policy: self.policy, history: self.history, reading, said, tool, range: ask.map(|a| a.range) }
    }

    /// The argument lists of a tool that the gates would let pass; `None` where there is none.
    #[allow(clippy::option_option)]
    fn arguments(
        &self,
        reading: &Reading<'_>,
        ix: ToolIx,
        tool: &Tool,
        ask: Option<&Ask>,
    ) -> Option<Option<Vec<Branch>>> {
        let Some(probed) = self.probed(reading, ix, tool, ask) else { return Some(None) };
        let mut passed: Vec<Vec<Part>> = probed
            .into_iter()
            .filter(|(_, findings)| findings.iter().all(|f| f.tier != Tier::Hard))
            .map(|(list, _)| list)
            .collect();
        // Whoever wants more or less does not want what is.
        if reading.has(PhraseRole::Relative) && passed.iter().any(|list| self.changes(ix, list)) {
            passed.retain(|list| self.changes(ix, list));
        }
        (!passed.is_empty()).then(|| Some(tree::tree(&passed)))
    }

    /// Whether a call would make any field another than it is known to be.
    fn changes(&self, tool: ToolIx, list: &[Part]) -> bool {
        let written = self.policy.model.writes(tool, &closed(list), self.history.side());
        written.is_empty() || written.iter().any(|w| self.history.world().get(w.cell).value != w.value)
    }

    /// Argument lists with what the gates find; `None` where there are too many to ask about.
    fn probed(&self, reading: &Reading<'_>, ix: ToolIx, tool: &Tool, ask: Option<&Ask>) -> Option<Probed> {
        let schema: Json = serde_json::from_str(&tool.schema).ok()?;
        let said = Said::about(reading, ix);
        let values = self.values(reading, &said, ix, ask);
        let name = tool.name.as_str();
        let removed = self.history.removed();
        let here = |p: &&str| !removed.parameter(name, p);
        let params: Vec<&Param> = order(&schema).into_iter().filter(here).filter_map(|p| tool.param(p)).collect();
        let mut lists = self.lists(tool, &params, &values, &[])?;
        let passes = |lists: &Probed| lists.iter().any(|(_, findings)| findings.iter().all(|f| f.tier != Tier::Hard));
        if !passes(&lists) && tool.is_write() {
            // Nobody gave the number: the call is drafted without it, and the driver is asked.
            let numbers: Vec<&str> =
                params.iter().filter(|p| p.kind == ParamType::Number && p.required).map(|p| p.name.as_str()).collect();
            if !numbers.is_empty() {
                lists = self.lists(tool, &params, &values, &numbers)?;
            }
        }
        Some(lists)
    }

    fn lists(&self, tool: &Tool, params: &[&Param], values: &Values<'_>, without: &[&str]) -> Option<Probed> {
        let mut lists: Vec<Vec<Part>> = vec![Vec::new()];
        for param in params.iter().filter(|p| !without.contains(&p.name.as_str())) {
            let slots = values.of(param);
            // What is optional is drafted where it was said.
            let optional = !param.required;
            if slots.is_empty() && !optional {
                return Some(Vec::new());
            }
            if (slots.len() + usize::from(optional)) * lists.len() > PROBED {
                return None;
            }
            lists = lists
                .iter()
                .flat_map(|list| {
                    let with = slots.iter().map(|(slot, weight)| {
                        let mut longer = list.clone();
                        longer.push(Part { name: param.name.clone(), slot: slot.clone(), weight: *weight });
                        longer
                    });
                    with.chain(optional.then(|| list.clone())).collect::<Vec<_>>()
                })
                .collect();
        }
        let probe = |list: Vec<Part>| {
            let call = ToolCall::new(tool.name.as_str(), closed(&list));
            // A clause about the arguments as a whole; one that is open or asked for is not there yet.
            let whole = without.is_empty() && list.iter().all(|p| p.slot != Slot::Open);
            if whole && !self.policy.inventory.check(&call, self.history.removed()).is_empty() {
                return None;
            }
            let findings = probe(self.policy, self.history, &Draft::calls(vec![call]));
            Some((list, findings))
        };
        Some(lists.into_iter().filter_map(probe).collect())
    }
}

/// The arguments whose values are decided.
fn closed(list: &[Part]) -> Map<String, Json> {
    let decided = list.iter().filter_map(|part| match &part.slot {
        Slot::Value(value) => Some((part.name.clone(), value.clone())),
        Slot::Open => None,
    });
    decided.collect()
}
