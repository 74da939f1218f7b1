//! What a compiled foreign set carries, and its blob.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::{PolicyHash, RuleId};
use crate::policy::blob::{FOREIGN_MAGIC, decode, open, seal};
use crate::policy::{BlobError, Program, ProgramError, SlotIx, Tables};

/// Most members that one context can declare, nested ones included: evaluation keeps them on the stack.
pub const MEMBERS: usize = 128;
/// Most forbids that one set can have.
pub const RULES: usize = 1024;

/// What a rule needs beside the call itself (paper 2, §A.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Tool name and arguments as text.
    Stateless,
    /// Typed arguments under `context.input`.
    Typed,
    /// Features of the session under `context.session`.
    Session,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stateless => "stateless",
            Self::Typed => "typed",
            Self::Session => "session",
        })
    }
}

/// One forbid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignRule {
    /// `@id`, else Cedar's own name for it: `policy` and its position.
    pub id: RuleId,
    /// `@source`, else file and line.
    pub source: Arc<str>,
    /// `@description`; empty where there is none.
    pub sentence: Arc<str>,
    /// What it needs.
    pub tier: Tier,
}

impl ForeignRule {
    /// The document that the rule comes from: its source up to the section or line.
    pub fn lineage(&self) -> &str {
        self.source.split(['§', ':', '#']).next().unwrap_or_default()
    }
}

/// The declared type of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Type {
    /// A truth value.
    Bool,
    /// A 64-bit integer.
    Long,
    /// A text.
    Text,
    /// A set.
    Set(Box<Type>),
    /// A record; its members are members of the context.
    Record,
    /// A record within a set, whose members rules cannot reach and nobody checks.
    AnyRecord,
    /// A reference to an entity of that type.
    Entity(String),
    /// An extension value, as its text or as Cedar's `__extn` object.
    Extension(String),
    /// Not declared: a rule asks whether it is there, and the schema says that it never is.
    Undeclared,
}

/// A member of a context. Declared members of one record stand together, sorted by name, after their
/// record; undeclared ones follow all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The record it belongs to, by position; none: the context itself.
    pub parent: Option<u16>,
    /// Its name.
    pub name: String,
    /// Dotted path from the context.
    pub path: String,
    /// Its type.
    pub kind: Type,
    /// Whether every request has it.
    pub required: bool,
    /// The slot that programs load it from.
    pub slot: Option<SlotIx>,
}

/// The context of an action as the schema declares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// Its members.
    pub members: Vec<Member>,
}

/// One combination that the schema allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Type of the principal.
    pub principal: String,
    /// Name of the action, without its type.
    pub action: String,
    /// Type of the resource.
    pub resource: String,
    /// Its context, by position.
    pub context: u16,
    /// The rules that can forbid here: rule and program, by position.
    pub rules: Vec<(u16, u16)>,
    /// The first rule that reads the session, and the member that holds it.
    pub session: Option<(u16, u16)>,
}

/// What the blob of a foreign set carries.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ForeignParts {
    /// Name of the set.
    pub id: String,
    /// Forbids.
    pub rules: Vec<ForeignRule>,
    /// Permits, all of which allow everything. None: nothing is allowed, as in Cedar.
    pub permits: Vec<RuleId>,
    /// What the schema allows to be asked.
    pub environments: Vec<Environment>,
    /// Contexts of the actions.
    pub contexts: Vec<Context>,
    /// What is left of each condition in an environment.
    pub programs: Vec<Program>,
    /// What the programs share.
    pub tables: Tables,
}

/// Why parts do not make a set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartsError {
    /// A program that cannot be run.
    #[error("program {at}: {error}")]
    Program {
        /// Its position.
        at: usize,
        /// What is wrong.
        error: ProgramError,
    },
    /// A position that names nothing.
    #[error("{0} names an entry that is not there")]
    Dangling(&'static str),
    /// More than evaluation can hold.
    #[error("it has {found} {what}, more than the {most} that evaluation can hold")]
    TooMany {
        /// What.
        what: &'static str,
        /// How many.
        found: usize,
        /// At most.
        most: usize,
    },
}

/// A loaded foreign set: every program and every position has been checked.
#[derive(Debug, Clone)]
pub struct ForeignSet {
    /// SHA-256 of the blob's content.
    pub hash: PolicyHash,
    pub(super) parts: ForeignParts,
    /// For each context, the member of each slot.
    pub(super) slots: Vec<Vec<Option<u16>>>,
}

impl ForeignSet {
    /// Checks parts once, so that evaluation needs no further check.
    ///
    /// # Errors
    /// [`PartsError`] naming the first thing that does not fit.
    pub fn new(parts: ForeignParts, hash: PolicyHash) -> Result<Self, PartsError> {
        let most =
            |what, found, most| if found > most { Err(PartsError::TooMany { what, found, most }) } else { Ok(()) };
        most("forbids", parts.rules.len(), RULES)?;
        for (at, program) in parts.programs.iter().enumerate() {
            program.check(&parts.tables).map_err(|error| PartsError::Program { at, error })?;
        }
        let mut slots = Vec::new();
        for context in &parts.contexts {
            most("members in one context", context.members.len(), MEMBERS)?;
            let mut of = vec![None; parts.tables.slots.len()];
            for (member, at) in context.members.iter().zip(0_u16..) {
                if member.parent.is_some_and(|parent| parent >= at) {
                    return Err(PartsError::Dangling("a member"));
                }
                if let Some(slot) = member.slot {
                    *of.get_mut(usize::from(slot.0)).ok_or(PartsError::Dangling("a slot"))? = Some(at);
                }
            }
            slots.push(of);
        }
        for environment in &parts.environments {
            let context = parts.contexts.get(usize::from(environment.context));
            let context = context.ok_or(PartsError::Dangling("an environment"))?;
            let known = |rule: u16| usize::from(rule) < parts.rules.len();
            let fits = |(rule, program): &(u16, u16)| known(*rule) && usize::from(*program) < parts.programs.len();
            if !environment.rules.iter().all(fits) {
                return Err(PartsError::Dangling("a rule of an environment"));
            }
            if environment.session.is_some_and(|(r, m)| !known(r) || usize::from(m) >= context.members.len()) {
                return Err(PartsError::Dangling("the session of an environment"));
            }
        }
        Ok(Self { hash, parts, slots })
    }

    /// Whether a blob is one of a foreign set.
    pub fn is_blob(blob: &[u8]) -> bool {
        blob.starts_with(FOREIGN_MAGIC)
    }

    /// Loads a blob. Every byte is accounted for.
    ///
    /// # Errors
    /// [`BlobError`] naming what is wrong.
    pub fn from_blob(blob: &[u8]) -> Result<Self, BlobError> {
        let (content, hash) = open(FOREIGN_MAGIC, blob)?;
        Ok(Self::new(decode(content)?, hash)?)
    }

    /// What it was loaded from.
    pub fn parts(&self) -> &ForeignParts {
        &self.parts
    }

    /// Whether the schema has that action at all.
    pub fn has_action(&self, action: &str) -> bool {
        self.parts.environments.iter().any(|e| e.action == action)
    }

    /// The rule at that position.
    pub fn rule(&self, at: u16) -> Option<&ForeignRule> {
        self.parts.rules.get(usize::from(at))
    }
}

impl ForeignParts {
    /// The blob of these parts.
    ///
    /// # Errors
    /// [`BlobError::Content`] or [`BlobError::Oversized`].
    pub fn to_blob(&self) -> Result<Vec<u8>, BlobError> {
        seal(FOREIGN_MAGIC, &postcard::to_allocvec(self)?)
    }
}
