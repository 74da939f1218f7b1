//! The evaluator: no recursion, no allocation, three-valued.

use std::sync::Arc;

use super::program::{Compare, Op, Program, STACK, SlotIx, Tables};
use crate::model::Value;
use crate::state::Literal;

/// A value on the stack. Borrowed from the frame or from the tables, never owned.
#[derive(Debug, Clone, Copy)]
pub enum Val<'a> {
    /// Not known.
    Unknown,
    /// Not there (an optional argument that the call leaves out). Loading it is an error.
    Absent,
    /// An evaluation error: overflow, wrong type, absent attribute.
    Error,
    /// A truth value.
    Bool(bool),
    /// A number in resolution units.
    Int(i64),
    /// A word.
    Word(&'a str),
    /// A word that joins parts with `_`; rules see the set of its parts.
    Parts(&'a str),
    /// A list of words.
    List(&'a [Arc<str>]),
    /// A JSON list, from an argument.
    Json(&'a [serde_json::Value]),
    /// A record of a foreign request; rules read its members, never the whole.
    Record(&'a serde_json::Map<String, serde_json::Value>),
}

impl<'a> Val<'a> {
    /// A stored value.
    pub fn of(value: &'a Value) -> Self {
        match value {
            Value::Unknown => Self::Unknown,
            Value::Bool(b) => Self::Bool(*b),
            Value::Int(i) => Self::Int(*i),
            Value::Str(s) => Self::Word(s),
            Value::List(items) => Self::List(items),
        }
    }

    fn literal(literal: &'a Literal) -> Self {
        match literal {
            Literal::Bool(b) => Self::Bool(*b),
            Literal::Int(i) => Self::Int(*i),
            // A fraction cannot be in resolution units; the compiler never writes one here.
            Literal::Number(_) => Self::Error,
            Literal::Text(t) => Self::Word(t),
        }
    }
}

/// What a program comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// The condition holds: the call is forbidden until the rule is satisfied.
    True,
    /// It does not hold.
    False,
    /// It depends on something that is not known.
    Unknown,
    /// It cannot be evaluated; the fail-closed overlay denies (design §3).
    Error,
}

/// Provides slot values on demand.
pub trait Frame {
    /// The value of a slot.
    fn load(&self, slot: SlotIx) -> Val<'_>;

    /// Whether a slot is present. What is merely not known yet is there.
    fn has(&self, slot: SlotIx) -> Val<'_> {
        match self.load(slot) {
            Val::Absent => Val::Bool(false),
            Val::Error => Val::Error,
            _ => Val::Bool(true),
        }
    }
}

/// Runs a program that [`Program::check`] accepted.
///
/// Cedar evaluates left to right and skips the right operand of `&&` and `||` once the left one
/// decides. Unknown never decides; an unknown left operand with an error on the right is an error,
/// because some completion of the unknown reaches it. So each true or false given here is Cedar's
/// answer on every completion of the unknowns.
pub fn evaluate(program: &Program, tables: &Tables, frame: &dyn Frame) -> Truth {
    Evaluator::new(tables, frame).run(program)
}

/// Runs several programs over one frame: what they need besides it is laid out once.
pub(super) struct Evaluator<'a> {
    tables: &'a Tables,
    frame: &'a dyn Frame,
    stack: Stack<'a>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(tables: &'a Tables, frame: &'a dyn Frame) -> Self {
        Self { tables, frame, stack: Stack { values: [Val::Unknown; STACK], depth: 0 } }
    }

    /// As [`evaluate`].
    pub(super) fn run(&mut self, program: &Program) -> Truth {
        if program.ops.is_empty() {
            return Truth::True;
        }
        self.stack.depth = 0;
        if self.steps(&program.ops).is_none() {
            return Truth::Error; // an unbalanced program, which `check` excludes
        }
        match self.stack.pop() {
            Some(Val::Bool(true)) => Truth::True,
            Some(Val::Bool(false)) => Truth::False,
            Some(Val::Unknown) => Truth::Unknown,
            _ => Truth::Error,
        }
    }

    /// What conditions are mostly made of, members held against constants and the ways around what is decided,
    /// goes without the stack; everything else is [`step`]'s.
    fn steps(&mut self, ops: &[Op]) -> Option<()> {
        let mut at = 0;
        loop {
            at += match ops.get(at..)? {
                [] => return Some(()),
                [Op::SkipIfFalse(n), ..] if matches!(self.stack.top()?, Val::Bool(false)) => 1 + usize::from(*n),
                [Op::SkipIfTrue(n), ..] if matches!(self.stack.top()?, Val::Bool(true)) => 1 + usize::from(*n),
                [Op::SkipIfFalse(_) | Op::SkipIfTrue(_), ..] => 1,
                [Op::Load(slot), Op::Constant(constant), Op::Compare(how), ..] => {
                    let right = self.tables.constants.get(usize::from(*constant)).map_or(Val::Error, Val::literal);
                    self.stack.push(compare(*how, self.frame.load(*slot), right))?;
                    3
                }
                [op, ..] => {
                    step(*op, self.tables, self.frame, &mut self.stack)?;
                    1
                }
            };
        }
    }
}

struct Stack<'a> {
    values: [Val<'a>; STACK],
    depth: usize,
}

impl<'a> Stack<'a> {
    fn push(&mut self, value: Val<'a>) -> Option<()> {
        *self.values.get_mut(self.depth)? = value;
        self.depth += 1;
        Some(())
    }

    fn pop(&mut self) -> Option<Val<'a>> {
        self.depth = self.depth.checked_sub(1)?;
        self.values.get(self.depth).copied()
    }

    fn top(&self) -> Option<Val<'a>> {
        self.values.get(self.depth.checked_sub(1)?).copied()
    }
}

/// Runs one instruction that is no way around others.
fn step<'a>(op: Op, tables: &'a Tables, frame: &'a dyn Frame, stack: &mut Stack<'a>) -> Option<()> {
    let value = match op {
        Op::Load(slot) => match frame.load(slot) {
            Val::Absent => Val::Error,
            value => value,
        },
        Op::Has(slot) => frame.has(slot),
        Op::Constant(c) => tables.constants.get(usize::from(c)).map_or(Val::Error, Val::literal),
        Op::SkipIfFalse(_) | Op::SkipIfTrue(_) => return Some(()),
        Op::Compare(how) => {
            let (right, left) = (stack.pop()?, stack.pop()?);
            compare(how, left, right)
        }
        Op::Add | Op::Subtract | Op::Multiply => {
            let (right, left) = (stack.pop()?, stack.pop()?);
            arithmetic(op, left, right)
        }
        Op::Negate => match stack.pop()? {
            Val::Int(i) => i.checked_neg().map_or(Val::Error, Val::Int),
            Val::Unknown => Val::Unknown,
            _ => Val::Error,
        },
        Op::Not => match stack.pop()? {
            Val::Bool(b) => Val::Bool(!b),
            Val::Unknown => Val::Unknown,
            _ => Val::Error,
        },
        Op::And => {
            let (right, left) = (stack.pop()?, stack.pop()?);
            connect(left, right, false)
        }
        Op::Or => {
            let (right, left) = (stack.pop()?, stack.pop()?);
            connect(left, right, true)
        }
        Op::InSet(set) => {
            let needle = stack.pop()?;
            tables.sets.get(usize::from(set)).map_or(Val::Error, |set| member(needle, set))
        }
        Op::Contains => {
            let (needle, collection) = (stack.pop()?, stack.pop()?);
            contains(collection, needle)
        }
        Op::Like(pattern) => match stack.pop()? {
            Val::Word(word) => {
                tables.patterns.get(usize::from(pattern)).map_or(Val::Error, |p| Val::Bool(like(word, p)))
            }
            Val::Unknown => Val::Unknown,
            _ => Val::Error,
        },
    };
    stack.push(value)
}

/// `&&` with `decisive` false, `||` with `decisive` true.
fn connect<'a>(left: Val<'a>, right: Val<'a>, decisive: bool) -> Val<'a> {
    match (left, right) {
        (Val::Bool(l), _) if l == decisive => left,
        (Val::Bool(_) | Val::Unknown, Val::Bool(r)) if r == decisive => right,
        (Val::Bool(_), Val::Bool(_)) => right,
        (Val::Bool(_) | Val::Unknown, Val::Bool(_) | Val::Unknown) => Val::Unknown,
        _ => Val::Error,
    }
}

fn compare<'a>(how: Compare, left: Val<'a>, right: Val<'a>) -> Val<'a> {
    match (left, right) {
        (Val::Error | Val::Absent, _) | (_, Val::Error | Val::Absent) => Val::Error,
        (Val::Unknown, _) | (_, Val::Unknown) => Val::Unknown,
        (Val::Int(l), Val::Int(r)) => Val::Bool(match how {
            Compare::Eq => l == r,
            Compare::Lt => l < r,
            Compare::Le => l <= r,
        }),
        _ if how != Compare::Eq => Val::Error,
        (Val::Bool(l), Val::Bool(r)) => Val::Bool(l == r),
        (Val::Word(l), Val::Word(r)) => Val::Bool(l == r),
        // Cedar's `==` between different types is false; strict validation keeps it out of our sets.
        _ => Val::Bool(false),
    }
}

fn arithmetic<'a>(op: Op, left: Val<'a>, right: Val<'a>) -> Val<'a> {
    match (left, right) {
        (Val::Int(l), Val::Int(r)) => match op {
            Op::Add => l.checked_add(r),
            Op::Subtract => l.checked_sub(r),
            _ => l.checked_mul(r),
        }
        .map_or(Val::Error, Val::Int),
        (Val::Int(_) | Val::Unknown, Val::Int(_) | Val::Unknown) => Val::Unknown,
        _ => Val::Error,
    }
}

fn member<'a>(needle: Val<'a>, set: &'a [Literal]) -> Val<'a> {
    match needle {
        Val::Unknown => Val::Unknown,
        Val::Error | Val::Absent => Val::Error,
        needle => {
            Val::Bool(set.iter().any(|l| matches!(compare(Compare::Eq, needle, Val::literal(l)), Val::Bool(true))))
        }
    }
}

fn contains<'a>(collection: Val<'a>, needle: Val<'a>) -> Val<'a> {
    match (collection, needle) {
        (Val::Error | Val::Absent, _) | (_, Val::Error | Val::Absent) => Val::Error,
        (Val::Unknown, _) | (_, Val::Unknown) => Val::Unknown,
        (Val::Parts(joined), Val::Word(part)) => Val::Bool(joined.split('_').any(|p| p == part)),
        (Val::List(items), Val::Word(word)) => Val::Bool(items.iter().any(|i| i.as_ref() == word)),
        (Val::Json(items), Val::Word(word)) => Val::Bool(items.iter().any(|i| i.as_str() == Some(word))),
        (Val::Json(items), Val::Int(n)) => Val::Bool(items.iter().any(|i| i.as_i64() == Some(n))),
        _ => Val::Error,
    }
}

/// Cedar's `like`: `*` matches any run of characters. Greedy from the left is exact, because only
/// the last piece is anchored at the end.
fn like(text: &str, pieces: &[String]) -> bool {
    let Some((first, rest)) = pieces.split_first() else { return false };
    let Some(mut left) = text.strip_prefix(first.as_str()) else { return false };
    let Some((last, middle)) = rest.split_last() else { return left.is_empty() };
    for piece in middle {
        // A piece is text, so it begins and ends between characters.
        let after = memchr::memmem::find(left.as_bytes(), piece.as_bytes()).map(|at| at + piece.len());
        match after.and_then(|at| left.get(at..)) {
            Some(rest) => left = rest,
            None => return false,
        }
    }
    left.ends_with(last.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::program::Slot;
    use proptest::prelude::*;

    struct Fixed<'a>(&'a [Val<'a>]);

    impl Frame for Fixed<'_> {
        fn load(&self, slot: SlotIx) -> Val<'_> {
            self.0.get(usize::from(slot.0)).copied().unwrap_or(Val::Error)
        }
    }

    fn run(ops: &[Op], values: &[Val<'_>]) -> Truth {
        let tables = Tables { slots: vec![Slot::Addressed; 8], constants: vec![Literal::Int(20)], ..Tables::default() };
        let program = Program { ops: ops.to_vec() };
        program.check(&tables).unwrap();
        evaluate(&program, &tables, &Fixed(values))
    }

    fn load(slot: u16) -> Op {
        Op::Load(SlotIx(slot))
    }

    #[test]
    fn a_known_left_operand_short_circuits_and_an_unknown_one_does_not() {
        let and = [load(0), Op::SkipIfFalse(2), load(1), Op::And];
        assert_eq!(run(&and, &[Val::Bool(false), Val::Error]), Truth::False);
        assert_eq!(run(&and, &[Val::Unknown, Val::Error]), Truth::Error);
        assert_eq!(run(&and, &[Val::Unknown, Val::Bool(false)]), Truth::False);
        assert_eq!(run(&and, &[Val::Unknown, Val::Bool(true)]), Truth::Unknown);
        let or = [load(0), Op::SkipIfTrue(2), load(1), Op::Or];
        assert_eq!(run(&or, &[Val::Bool(true), Val::Error]), Truth::True);
        assert_eq!(run(&or, &[Val::Bool(false), Val::Unknown]), Truth::Unknown);
    }

    #[test]
    fn overflow_and_wrong_types_are_errors_not_answers() {
        let sum = [load(0), load(1), Op::Add, Op::Constant(0), Op::Compare(Compare::Lt)];
        assert_eq!(run(&sum, &[Val::Int(i64::MAX), Val::Int(1)]), Truth::Error);
        assert_eq!(run(&sum, &[Val::Int(1), Val::Int(1)]), Truth::True);
        assert_eq!(run(&sum, &[Val::Word("a"), Val::Int(1)]), Truth::Error);
    }

    #[test]
    fn parts_and_patterns_match_as_sets_and_wildcards() {
        assert!(matches!(contains(Val::Parts("WINDSHIELD_FEET"), Val::Word("FEET")), Val::Bool(true)));
        assert!(matches!(contains(Val::Parts("WINDSHIELD_FEET"), Val::Word("HEAD")), Val::Bool(false)));
        let pieces = ["a".to_owned(), "b".to_owned(), String::new()];
        assert!(like("axxbyy", &pieces) && !like("xab", &pieces));
        assert!(like("ab", &["ab".to_owned()]) && !like("abc", &["ab".to_owned()]));
        let around = |piece: &str| [String::new(), piece.to_owned(), String::new()];
        assert!(like("große Äpfel", &around("ß")) && like("große Äpfel", &around("Ä")) && !like("gross", &around("ß")));
        assert!(like("x", &around("")) && like("", &around("")));
    }

    proptest! {
        /// Each true or false on partial knowledge is the answer on every completion.
        #[test]
        fn an_answer_under_unknowns_holds_for_every_completion(kinds in proptest::collection::vec(0_u8..4, 3), shape in 0_u8..4) {
            let value = |kind: u8| match kind { 0 => Val::Bool(false), 1 => Val::Bool(true), 2 => Val::Unknown, _ => Val::Error };
            let ops: Vec<Op> = match shape {
                0 => vec![load(0), Op::SkipIfFalse(5), load(1), Op::SkipIfTrue(2), load(2), Op::Or, Op::And],
                1 => vec![load(0), Op::SkipIfTrue(6), load(1), Op::Not, Op::SkipIfFalse(2), load(2), Op::And, Op::Or],
                2 => vec![load(0), Op::SkipIfFalse(2), load(1), Op::And, Op::SkipIfTrue(2), load(2), Op::Or],
                _ => vec![load(0), Op::Not, Op::SkipIfTrue(2), load(1), Op::Or, Op::SkipIfFalse(2), load(2), Op::And],
            };
            let given: Vec<Val<'_>> = kinds.iter().map(|k| value(*k)).collect();
            let answer = run(&ops, &given);
            for bits in 0_u8..8 {
                let completed: Vec<Val<'_>> = kinds.iter().enumerate()
                    .map(|(i, k)| if *k == 2 { Val::Bool(bits >> i & 1 == 1) } else { value(*k) }).collect();
                let full = run(&ops, &completed);
                if matches!(answer, Truth::True | Truth::False) { prop_assert_eq!(answer, full); }
                if full == Truth::Error { prop_assert_eq!(answer, Truth::Error); }
            }
        }
    }
}
