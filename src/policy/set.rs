//! The policy as the engine uses it.

use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::{
    Derived, Lexicon, PackedTests, Phrases, Program, ProgramError, Reading, Rule, RuleIx, RuleKind, Subject, Tables,
    Trigger,
};
use crate::model::{PolicyHash, Words};
use crate::state::{EffectModel, History};
use crate::tools::{Inventory, ToolIx};

/// Whether rules act by themselves (design §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Advice {
    /// Computed remedies are inserted and missing reads performed without another model call.
    #[default]
    Remedies,
    /// Everything owed is a finding for the student, as in paper 1.
    None,
}

/// What a blob carries.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyParts {
    /// Name of the set.
    pub id: String,
    /// Tools.
    pub inventory: Vec<crate::tools::Tool>,
    /// What they read and write.
    pub model: EffectModel,
    /// Derived features.
    pub derived: Vec<Derived>,
    /// Rules.
    pub rules: Vec<Rule>,
    /// What their programs share.
    pub tables: Tables,
    /// Phrases, one table a language.
    pub phrases: Vec<Phrases>,
    /// The prose, line by line, so that a verdict can quote its sentence.
    pub prose: Vec<String>,
    /// Its own tests.
    pub tests: PackedTests,
}

/// A loaded policy.
#[derive(Debug, Clone)]
pub struct Policy {
    /// SHA-256 of the blob's content.
    pub hash: PolicyHash,
    /// Name of the set.
    pub id: String,
    /// Tools.
    pub inventory: Inventory,
    /// What they read and write.
    pub model: EffectModel,
    /// Derived features.
    pub derived: Vec<Derived>,
    /// What the programs share.
    pub tables: Tables,
    /// Phrases, one table a language.
    pub phrases: Vec<Phrases>,
    /// The prose, line by line.
    pub prose: Vec<String>,
    /// Its own tests, packed.
    pub tests: PackedTests,
    rules: Vec<Rule>,
    by_tool: FxHashMap<ToolIx, Vec<RuleIx>>,
    on_reply: Vec<RuleIx>,
    /// Tools that some auto-action rule answers with.
    remedies: FxHashSet<ToolIx>,
    /// All phrases, indexed when the first text is read: that takes longer than everything else of loading.
    lexicon: OnceLock<Lexicon>,
    /// What has to do with each tool, gathered when it is first asked for.
    pub(super) subjects: Vec<OnceLock<Subject>>,
}

impl Policy {
    /// Indexes a policy after checking every program, so that evaluation needs no further check.
    ///
    /// # Errors
    /// The rule and the [`ProgramError`] of the first program that cannot be run.
    pub fn new(parts: PolicyParts, hash: PolicyHash) -> Result<Self, (crate::model::RuleId, ProgramError)> {
        let mut by_tool: FxHashMap<ToolIx, Vec<RuleIx>> = FxHashMap::default();
        let mut on_reply = Vec::new();
        for (rule, ix) in parts.rules.iter().zip((0_u16..).map(RuleIx)) {
            let check = |p: &Program| p.check(&parts.tables).map_err(|e| (rule.id.clone(), e));
            check(&rule.guard)?;
            check(&rule.when)?;
            match &rule.trigger {
                Trigger::Calls(tools) => tools.iter().for_each(|t| by_tool.entry(*t).or_default().push(ix)),
                Trigger::Reply => on_reply.push(ix),
            }
        }
        let acting = parts.rules.iter().filter(|rule| rule.kind == RuleKind::AutoAction);
        let remedies = acting.flat_map(|rule| &rule.remedy).map(|call| call.tool).collect();
        let inventory: Inventory = parts.inventory.into();
        let subjects = inventory.iter().map(|_| OnceLock::new()).collect();
        Ok(Self {
            subjects,
            hash,
            id: parts.id,
            inventory,
            model: parts.model,
            derived: parts.derived,
            tables: parts.tables,
            phrases: parts.phrases,
            lexicon: OnceLock::new(),
            prose: parts.prose,
            tests: parts.tests,
            rules: parts.rules,
            by_tool,
            on_reply,
            remedies,
        })
    }

    /// This set with its rules in shadow acting, for judging beside it; none where no rule is in shadow.
    pub fn awake(&self) -> Option<Self> {
        self.waking(|_| true)
    }

    /// This set with those of its rules in shadow acting that are named, as their own tests judge them; none where no
    /// named rule is in shadow.
    pub fn awake_for(&self, names: &[&str]) -> Option<Self> {
        self.waking(|rule| names.contains(&rule.id.as_str()))
    }

    fn waking(&self, wakes: impl Fn(&Rule) -> bool) -> Option<Self> {
        let sleeps = |rule: &Rule| rule.shadow && wakes(rule);
        self.rules.iter().any(sleeps).then(|| {
            let mut awake = self.clone();
            awake.rules.iter_mut().filter(|rule| sleeps(rule)).for_each(|rule| rule.shadow = false);
            awake
        })
    }

    /// All rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule at that position.
    pub fn rule(&self, ix: RuleIx) -> Option<&Rule> {
        self.rules.get(usize::from(ix.0))
    }

    /// Rules that a call of that tool triggers: the cost of a check follows the rules that matter,
    /// not the size of the policy.
    pub fn rules_of(&self, tool: ToolIx) -> impl Iterator<Item = (RuleIx, &Rule)> {
        self.by_tool.get(&tool).into_iter().flatten().filter_map(|ix| Some((*ix, self.rule(*ix)?)))
    }

    /// Whether some auto-action rule answers with a call of this tool.
    pub fn is_remedy(&self, tool: ToolIx) -> bool {
        self.remedies.contains(&tool)
    }

    /// Rules that a reply triggers.
    pub fn rules_of_reply(&self) -> impl Iterator<Item = (RuleIx, &Rule)> {
        self.on_reply.iter().filter_map(|ix| Some((*ix, self.rule(*ix)?)))
    }

    /// All phrases, indexed.
    pub fn lexicon(&self) -> &Lexicon {
        self.lexicon.get_or_init(|| Lexicon::new(&self.phrases, &self.model, &self.inventory))
    }

    /// A text as this policy understands it.
    pub fn read(&self, text: &str) -> Reading<'_> {
        self.lexicon().read(Arc::new(Words::new(text)))
    }

    /// Reads what was said last to either side, so that no check of a draft has to.
    pub fn attend(&self, history: &History) {
        for said in history.driver().last().into_iter().chain(history.spoken().last()) {
            let _ = self.lexicon().read(Arc::clone(&said.words));
        }
    }

    /// The phrase table of a language, else the first one.
    pub fn phrases(&self, language: &str) -> Option<&Phrases> {
        self.phrases.iter().find(|p| p.language == language).or_else(|| self.phrases.first())
    }
}
