//! Rule conditions as flat stack programs.

use serde::{Deserialize, Serialize};

use crate::model::Resolution;
use crate::state::{AttrIx, GroupIx, Literal, NowField};
use crate::tools::ToolIx;

/// Deepest stack a program may need. Checked when a blob is decoded, so that evaluation cannot overflow.
pub(super) const STACK: usize = 32;

/// Position of a slot in its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SlotIx(pub u16);

/// At which moment an attribute is read (design §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum When {
    /// Just before the call that triggers the rule.
    Before,
    /// At the end of the draft, remedies included.
    After,
}

/// A feature of the whole draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DraftFeature {
    /// Number of calls.
    Calls,
    /// Number of calls that write.
    Writes,
    /// Number of calls of a group.
    Group(GroupIx),
}

/// A feature of the drafted reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ReplyFeature {
    /// It asks something.
    Question,
}

/// A feature of the legs that the call sets or the reply describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LegFeature {
    /// Number of choices that the driver left open.
    Open,
    /// Number of legs of these choices that are not at hand.
    Others,
    /// One that `vehicle.toml` declares, by its position.
    Declared(u16),
}

/// Where a program loads a value from. Every slot has exactly one deterministic provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Slot {
    /// An argument of the triggering call; a dotted path for nested ones.
    Input {
        /// The path.
        path: String,
        /// Steps per unit.
        resolution: Resolution,
    },
    /// An attribute of the rule's own item.
    Resource {
        /// The attribute.
        attribute: AttrIx,
        /// When.
        when: When,
    },
    /// Whether the triggering call writes the rule's own item.
    Addressed,
    /// An attribute of the car.
    Car {
        /// The attribute.
        attribute: AttrIx,
        /// When.
        when: When,
    },
    /// A feature of the draft.
    Draft(DraftFeature),
    /// Whether a tool was read successfully in this conversation.
    Read(ToolIx),
    /// Whether a tool was called successfully in this conversation.
    Called(ToolIx),
    /// Whether the latest call failed.
    LastError,
    /// Place and time.
    Now(NowField),
    /// A field of an observation; the rule's `@read` says which call answers it.
    Observed {
        /// The observation.
        observation: u16,
        /// Its field.
        field: u16,
    },
    /// A derived feature.
    Derived {
        /// The feature.
        derived: u16,
        /// When.
        when: When,
    },
    /// A feature of the reply.
    Reply(ReplyFeature),
    /// Number of entries of a list that the reply names, or leaves out where it names others.
    Listed {
        /// The list.
        listing: u16,
        /// Whether the named ones are counted.
        told: bool,
    },
    /// A feature of the legs at hand.
    Legs(LegFeature),
    /// A member of a plain JSON context, as a dotted path, for foreign Cedar sets.
    Context(String),
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Compare {
    /// `==`
    Eq,
    /// `<`
    Lt,
    /// `<=`
    Le,
}

/// One instruction. Operands are popped right to left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Op {
    /// Pushes a slot's value.
    Load(SlotIx),
    /// Pushes whether a slot is present.
    Has(SlotIx),
    /// Pushes a constant.
    Constant(u16),
    /// Pops two, pushes the comparison.
    Compare(Compare),
    /// Pops two numbers, pushes the sum; overflow is an error, as in Cedar.
    Add,
    /// Pops two numbers, pushes the difference.
    Subtract,
    /// Pops two numbers, pushes the product.
    Multiply,
    /// Pops a number, pushes its negation.
    Negate,
    /// Pops a truth value, pushes its opposite.
    Not,
    /// If the top is known false, skips that many instructions and leaves it there.
    SkipIfFalse(u16),
    /// If the top is known true, skips that many instructions and leaves it there.
    SkipIfTrue(u16),
    /// Pops two truth values, pushes their conjunction.
    And,
    /// Pops two truth values, pushes their disjunction.
    Or,
    /// Pops a value, pushes whether a constant set has it.
    InSet(u16),
    /// Pops a word and a collection below it, pushes whether the collection has it.
    Contains,
    /// Pops a word, pushes whether it matches a pattern.
    Like(u16),
}

/// A program: instructions over shared tables.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Instructions; none means `true`.
    pub ops: Vec<Op>,
}

/// Constants that all programs of a policy share.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tables {
    /// Slots.
    pub slots: Vec<Slot>,
    /// Constants; numbers are in resolution units.
    pub constants: Vec<Literal>,
    /// Constant sets.
    pub sets: Vec<Vec<Literal>>,
    /// `like` patterns: literal pieces between the wildcards.
    pub patterns: Vec<Vec<String>>,
}

impl Tables {
    /// The slot at that position.
    pub fn slot(&self, ix: SlotIx) -> Option<&Slot> {
        self.slots.get(usize::from(ix.0))
    }
}

/// Why a program cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// It pops more than it pushed, or ends with other than one value.
    #[error("instruction {at} leaves the stack unbalanced")]
    Unbalanced {
        /// Its position.
        at: usize,
    },
    /// It needs a deeper stack than there is.
    #[error("instruction {at} needs more than {STACK} values on the stack")]
    TooDeep {
        /// Its position.
        at: usize,
    },
    /// It names a table entry that does not exist.
    #[error("instruction {at} names an entry that its tables do not have")]
    Dangling {
        /// Its position.
        at: usize,
    },
    /// A skip leads out of the program.
    #[error("instruction {at} skips out of the program")]
    Skip {
        /// Its position.
        at: usize,
    },
}

impl Program {
    /// The slots it loads.
    pub fn slots(&self) -> impl Iterator<Item = SlotIx> + '_ {
        self.ops.iter().filter_map(|op| match op {
            Op::Load(slot) | Op::Has(slot) => Some(*slot),
            _ => None,
        })
    }

    /// Checks once what evaluation then relies on: balance, depth, table entries, forward skips.
    ///
    /// A skip leaves its operand in place of the result, so both ways reach their target with the
    /// same depth: the linear walk below counts the longer way.
    ///
    /// # Errors
    /// [`ProgramError`] with the first wrong instruction.
    pub fn check(&self, tables: &Tables) -> Result<(), ProgramError> {
        let mut depth = 0_usize;
        for (at, op) in self.ops.iter().enumerate() {
            let (pops, pushes) = match op {
                Op::Load(_) | Op::Has(_) | Op::Constant(_) => (0, 1),
                Op::Compare(_) | Op::Add | Op::Subtract | Op::Multiply | Op::And | Op::Or | Op::Contains => (2, 1),
                Op::Negate | Op::Not | Op::InSet(_) | Op::Like(_) | Op::SkipIfFalse(_) | Op::SkipIfTrue(_) => (1, 1),
            };
            depth = depth.checked_sub(pops).ok_or(ProgramError::Unbalanced { at })? + pushes;
            if depth > STACK {
                return Err(ProgramError::TooDeep { at });
            }
            let known = match op {
                Op::Load(s) | Op::Has(s) => usize::from(s.0) < tables.slots.len(),
                Op::Constant(c) => usize::from(*c) < tables.constants.len(),
                Op::InSet(s) => usize::from(*s) < tables.sets.len(),
                Op::Like(p) => tables.patterns.get(usize::from(*p)).is_some_and(|p| !p.is_empty()),
                Op::SkipIfFalse(n) | Op::SkipIfTrue(n) => {
                    if at + usize::from(*n) >= self.ops.len() {
                        return Err(ProgramError::Skip { at });
                    }
                    true
                }
                _ => true,
            };
            if !known {
                return Err(ProgramError::Dangling { at });
            }
        }
        if depth == 1 || self.ops.is_empty() { Ok(()) } else { Err(ProgramError::Unbalanced { at: self.ops.len() }) }
    }
}
