//! What a replay of a foreign set says: how much is blocked, by what, and how much of that is wrong.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::judge::Judged;
use crate::policy::foreign::{Answer, ForeignSet, Request};

/// What a skeleton says of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    /// No rule can hold.
    Passes,
    /// It depends on what is not recorded.
    Open,
    /// A rule holds whatever the rest is.
    Blocks,
}

/// How often something blocks, and how often that is wrong.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    calls: usize,
    /// Of these, calls that the recorder holds to be right.
    false_blocks: usize,
}

impl Count {
    fn add(&mut self, call: &Judged) {
        self.calls += 1;
        self.false_blocks += usize::from(call.legitimate == Some(true));
    }

    fn json(self) -> Value {
        json!({"calls": self.calls, "false_blocks": self.false_blocks})
    }
}

/// Full runs of one data set under one condition.
#[derive(Debug, Default)]
struct Group {
    runs: usize,
    blocked_runs: usize,
    write_runs: usize,
    blocked_write_runs: usize,
    calls: usize,
    legitimate: usize,
    wrong: usize,
    blocked: Count,
    /// What a policy that denies every write and nothing else would block.
    writes: Count,
}

/// Skeletons of one data set under one condition.
#[derive(Debug, Default)]
struct Bones {
    runs: usize,
    write_runs: usize,
    calls: usize,
    writes: usize,
    passes: usize,
    open: usize,
    blocks: usize,
    others_deny: usize,
}

pub(super) struct Report<'s> {
    set: &'s ForeignSet,
    groups: BTreeMap<String, Group>,
    rules: BTreeMap<u16, Count>,
    tiers: BTreeMap<String, Count>,
    lineages: BTreeMap<String, Count>,
    overlay: BTreeMap<&'static str, Count>,
    bones: BTreeMap<String, Bones>,
    /// Of each rule in skeletons: holds, does not, open.
    decided: BTreeMap<u16, [usize; 3]>,
    runs: Vec<Value>,
}

impl<'s> Report<'s> {
    pub(super) fn new(set: &'s ForeignSet) -> Self {
        Self {
            set,
            groups: BTreeMap::new(),
            rules: BTreeMap::new(),
            tiers: BTreeMap::new(),
            lineages: BTreeMap::new(),
            overlay: BTreeMap::new(),
            bones: BTreeMap::new(),
            decided: BTreeMap::new(),
            runs: Vec::new(),
        }
    }

    /// Adds a full run.
    pub(super) fn run(&mut self, id: &str, group: &str, calls: &[Judged]) {
        let sums = self.groups.entry(group.to_owned()).or_default();
        let writes = calls.iter().any(|c| c.write);
        let denied = calls.iter().any(|c| c.denied);
        sums.runs += 1;
        sums.blocked_runs += usize::from(denied);
        sums.write_runs += usize::from(writes);
        sums.blocked_write_runs += usize::from(writes && denied);
        for call in calls {
            sums.calls += 1;
            sums.legitimate += usize::from(call.legitimate == Some(true));
            sums.wrong += usize::from(call.legitimate == Some(false));
            if call.write {
                sums.writes.add(call);
            }
            if call.denied {
                sums.blocked.add(call);
            }
            let of = |rule: &u16| self.set.rule(*rule);
            let tiers: std::collections::BTreeSet<String> =
                call.rules.iter().filter_map(of).map(|r| r.tier.to_string()).collect();
            let lineages: std::collections::BTreeSet<&str> =
                call.rules.iter().filter_map(of).map(|r| r.lineage()).collect();
            call.rules.iter().for_each(|rule| self.rules.entry(*rule).or_default().add(call));
            tiers.into_iter().for_each(|tier| self.tiers.entry(tier).or_default().add(call));
            lineages.into_iter().for_each(|from| self.lineages.entry(from.to_owned()).or_default().add(call));
            call.overlay.iter().for_each(|kind| self.overlay.entry(kind).or_default().add(call));
        }
        let name = |rule: &u16| self.set.rule(*rule).map_or("?", |r| r.id.as_str()).to_owned();
        let told = |call: &Judged| {
            json!({"tool": call.tool, "denied": call.denied, "legitimate": call.legitimate, "because": call.why,
                "rules": call.rules.iter().map(name).collect::<Vec<_>>(), "overlay": call.overlay})
        };
        self.runs.push(json!({"id": id, "group": group, "calls": calls.iter().map(told).collect::<Vec<_>>()}));
    }

    /// Adds what a skeleton settles about the rules of a request.
    pub(super) fn decided(&mut self, request: &Request<'_>, answer: &Answer) {
        let asked = |e: &&crate::policy::foreign::Environment| {
            e.action == request.action && e.principal == request.principal && e.resource == request.resource
        };
        for (rule, _) in self.set.parts().environments.iter().find(asked).map(|e| &e.rules).into_iter().flatten() {
            let is = |mut of: Box<dyn Iterator<Item = u16> + '_>| of.any(|r| r == *rule);
            let [holds, not, open] = self.decided.entry(*rule).or_default();
            match (is(Box::new(answer.determining.iter())), is(Box::new(answer.undecided.iter()))) {
                (true, _) => *holds += 1,
                (false, true) => *open += 1,
                (false, false) => *not += 1,
            }
        }
    }

    /// Adds one call of a skeleton.
    pub(super) fn event(&mut self, group: &str, certainty: Certainty, write: bool, others_deny: bool) {
        let bones = self.bones.entry(group.to_owned()).or_default();
        bones.calls += 1;
        bones.writes += usize::from(write);
        bones.others_deny += usize::from(others_deny);
        match certainty {
            Certainty::Passes => bones.passes += 1,
            Certainty::Open => bones.open += 1,
            Certainty::Blocks => bones.blocks += 1,
        }
    }

    /// Adds a skeleton.
    pub(super) fn skeleton(&mut self, group: &str, writes: bool) {
        let bones = self.bones.entry(group.to_owned()).or_default();
        bones.runs += 1;
        bones.write_runs += usize::from(writes);
    }

    fn name(&self, rule: u16) -> (&str, String, &str) {
        self.set.rule(rule).map_or(("?", String::new(), "?"), |r| (r.id.as_str(), r.tier.to_string(), r.lineage()))
    }

    pub(super) fn json(&self) -> Value {
        let groups: BTreeMap<&str, Value> = self
            .groups
            .iter()
            .map(|(name, g)| {
                let sums = json!({"runs": g.runs, "blocked_runs": g.blocked_runs, "runs_with_writes": g.write_runs,
                    "blocked_runs_with_writes": g.blocked_write_runs, "calls": g.calls,
                    "calls_marked_legitimate": g.legitimate, "calls_marked_wrong": g.wrong,
                    "blocked": g.blocked.json(), "block_every_write": g.writes.json()});
                (name.as_str(), sums)
            })
            .collect();
        let rules: BTreeMap<&str, Value> = self
            .rules
            .iter()
            .map(|(rule, count)| {
                let (id, tier, lineage) = self.name(*rule);
                (
                    id,
                    json!({"tier": tier, "lineage": lineage, "calls": count.calls, "false_blocks": count.false_blocks}),
                )
            })
            .collect();
        let bones: BTreeMap<&str, Value> = self
            .bones
            .iter()
            .map(|(name, b)| {
                let sums = json!({"runs": b.runs, "runs_with_writes": b.write_runs, "calls": b.calls, "writes": b.writes,
                    "pass": b.passes, "open": b.open, "blocked": b.blocks, "third_party_denies": b.others_deny});
                (name.as_str(), sums)
            })
            .collect();
        let decided: BTreeMap<&str, Value> = self
            .decided
            .iter()
            .map(|(rule, [holds, not, open])| {
                (self.name(*rule).0, json!({"holds": holds, "does_not": not, "open": open}))
            })
            .collect();
        let counts =
            |of: &BTreeMap<String, Count>| of.iter().map(|(k, c)| (k.clone(), c.json())).collect::<BTreeMap<_, _>>();
        let overlay: BTreeMap<&str, Value> = self.overlay.iter().map(|(k, c)| (*k, c.json())).collect();
        json!({"groups": groups, "rules": rules, "tiers": counts(&self.tiers), "lineages": counts(&self.lineages),
            "overlay": overlay, "skeletons": bones, "skeleton_rules": decided, "runs": self.runs})
    }

    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        if !self.groups.is_empty() {
            writeln!(out, "full runs; false blocks are calls that the recorder marks as right and that are denied")?;
            for (name, g) in &self.groups {
                writeln!(
                    out,
                    "{name}: {} runs, {} calls, {} marked right, {} marked wrong",
                    g.runs, g.calls, g.legitimate, g.wrong
                )?;
                writeln!(out, "  runs blocked                 {:>5} of {}", g.blocked_runs, g.runs)?;
                writeln!(out, "  runs with writes blocked     {:>5} of {}", g.blocked_write_runs, g.write_runs)?;
                writeln!(
                    out,
                    "  calls blocked                {:>5}, {} false",
                    g.blocked.calls, g.blocked.false_blocks
                )?;
                writeln!(
                    out,
                    "  were every write blocked     {:>5} runs of {} with writes, {} calls, {} false",
                    g.write_runs, g.write_runs, g.writes.calls, g.writes.false_blocks
                )?;
            }
            writeln!(out, "calls blocked, false among them, by rule (tier, lineage)")?;
            let mut rules: Vec<_> = self.rules.iter().collect();
            rules.sort_by_key(|(rule, count)| (std::cmp::Reverse(count.calls), **rule));
            for (rule, count) in rules {
                let (id, tier, lineage) = self.name(*rule);
                writeln!(out, "  {:>5} {:>4}  {id} ({tier}, {lineage})", count.calls, count.false_blocks)?;
            }
            for (title, counts) in [("tier", &self.tiers), ("lineage", &self.lineages)] {
                writeln!(out, "by {title}")?;
                for (name, count) in counts {
                    writeln!(out, "  {:>5} {:>4}  {name}", count.calls, count.false_blocks)?;
                }
            }
            for (kind, count) in &self.overlay {
                writeln!(out, "  {:>5} {:>4}  fail-closed: {kind}", count.calls, count.false_blocks)?;
            }
        }
        if self.bones.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "skeletons: no arguments, no words, no results; nothing marks a call as right, so false blocks cannot be told"
        )?;
        for (name, b) in &self.bones {
            writeln!(
                out,
                "{name}: {} runs, {} with writes; {} calls: {} pass, {} blocked, {} open; {} writes, which blocking every write denies in all {} runs; a third party denies {}",
                b.runs, b.write_runs, b.calls, b.passes, b.blocks, b.open, b.writes, b.write_runs, b.others_deny
            )?;
        }
        writeln!(out, "rules in skeletons: holds, does not, open")?;
        for (rule, [holds, not, open]) in &self.decided {
            writeln!(out, "  {holds:>5} {not:>5} {open:>5}  {}", self.name(*rule).0)?;
        }
        Ok(())
    }
}
