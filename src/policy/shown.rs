//! The condition of a compiled rule, as people read it: Cedar with numbers in natural units.

use super::{Compare, Derived, DerivedFn, DraftFeature, LegFeature, Op, Policy, Program, Slot, SlotIx, Tables, When};
use crate::model::Resolution;
use crate::state::{EffectModel, Literal};
use crate::tools::Inventory;

/// What the positions in a program stand for.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary<'a> {
    /// Slots and constants.
    pub tables: &'a Tables,
    /// Attributes, observations, groups.
    pub model: &'a EffectModel,
    /// Derived features.
    pub derived: &'a [Derived],
    /// Tools.
    pub inventory: &'a Inventory,
}

impl Policy {
    /// What the positions in its programs stand for.
    pub fn vocabulary(&self) -> Vocabulary<'_> {
        Vocabulary { tables: &self.tables, model: &self.model, derived: &self.derived, inventory: &self.inventory }
    }
}

impl Vocabulary<'_> {
    /// The text of a condition; `true` for one that always holds.
    pub fn condition(&self, program: &Program) -> String {
        condition(self, program)
    }

    /// A slot as a rule writes it.
    pub fn slot(&self, slot: SlotIx) -> String {
        self.tables.slot(slot).map_or_else(|| "?".to_owned(), |slot| slot_part(self, slot).text)
    }

    /// The same for a slot that need not be in the tables, with one of its numbers in natural units.
    pub fn named(&self, slot: &Slot) -> String {
        slot_part(self, slot).text
    }

    /// A number of a slot in natural units, with its unit.
    pub fn number(&self, slot: &Slot, number: i64) -> String {
        let number = Part { number: Some(number), ..Part::new(number.to_string(), Binds::Atom) };
        number.beside(&slot_part(self, slot), Binds::Atom)
    }
}

/// How tightly an expression holds together, loosest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binds {
    Or,
    And,
    Relation,
    Sum,
    Product,
    Unary,
    Atom,
}

/// A part of the condition.
#[derive(Debug, Clone)]
struct Part {
    text: String,
    binds: Binds,
    /// What a number beside it counts in.
    scale: Option<(Resolution, String)>,
    number: Option<i64>,
    /// Of an equation, its two sides, for `!=`.
    sides: Option<(String, String)>,
}

impl Part {
    fn new(text: impl Into<String>, binds: Binds) -> Self {
        Self { text: text.into(), binds, scale: None, number: None, sides: None }
    }

    /// The text, in parentheses where what is around it binds more tightly.
    fn within(&self, around: Binds) -> String {
        if self.binds < around { format!("({})", self.text) } else { self.text.clone() }
    }

    /// The text of a number in the units of what it is compared with.
    fn beside(&self, other: &Self, around: Binds) -> String {
        match (self.number, &other.scale) {
            (Some(number), Some((resolution, unit))) => {
                let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
                format!("{}{unit}", resolution.natural(number))
            }
            _ => self.within(around),
        }
    }
}

/// The text of a program; `true` for one that always holds.
fn condition(policy: &Vocabulary<'_>, program: &Program) -> String {
    let mut stack: Vec<Part> = Vec::new();
    for op in &program.ops {
        let mut pop = || stack.pop().unwrap_or_else(|| Part::new("?", Binds::Atom));
        let part = match op {
            // A jump over what no longer matters says nothing about the meaning.
            Op::SkipIfFalse(_) | Op::SkipIfTrue(_) => continue,
            Op::Load(slot) => policy.tables.slot(*slot).map_or_else(unknown, |slot| slot_part(policy, slot)),
            Op::Has(slot) => has(&policy.slot(*slot)),
            Op::Constant(at) => policy.tables.constants.get(usize::from(*at)).map_or_else(unknown, literal),
            Op::Compare(how) => {
                let (right, left) = (pop(), pop());
                compare(*how, &left, &right)
            }
            Op::Add => join(pop(), pop(), "+", Binds::Sum),
            Op::Subtract => join(pop(), pop(), "-", Binds::Sum),
            Op::Multiply => join(pop(), pop(), "*", Binds::Product),
            Op::Negate => Part::new(format!("-{}", pop().within(Binds::Unary)), Binds::Unary),
            Op::Not => not(&pop()),
            Op::And => join(pop(), pop(), "&&", Binds::And),
            Op::Or => join(pop(), pop(), "||", Binds::Or),
            Op::InSet(at) => {
                let members = policy.tables.sets.get(usize::from(*at)).map(Vec::as_slice).unwrap_or_default();
                let members: Vec<String> = members.iter().map(|m| literal(m).text).collect();
                Part::new(format!("[{}].contains({})", members.join(", "), pop().text), Binds::Atom)
            }
            Op::Contains => {
                let (needle, all) = (pop(), pop());
                Part::new(format!("{}.contains({})", all.within(Binds::Atom), needle.text), Binds::Atom)
            }
            Op::Like(at) => {
                let pieces = policy.tables.patterns.get(usize::from(*at)).map(Vec::as_slice).unwrap_or_default();
                Part::new(format!("{} like {:?}", pop().within(Binds::Sum), pieces.join("*")), Binds::Relation)
            }
        };
        stack.push(part);
    }
    stack.pop().map_or_else(|| "true".to_owned(), |part| part.text)
}

fn unknown() -> Part {
    Part::new("?", Binds::Atom)
}

fn literal(literal: &Literal) -> Part {
    let number = if let Literal::Int(number) = literal { Some(*number) } else { None };
    Part { number, ..Part::new(literal.to_json().to_string(), Binds::Atom) }
}

fn has(path: &str) -> Part {
    let text = path.rsplit_once('.').map_or_else(|| path.to_owned(), |(of, member)| format!("{of} has {member}"));
    Part::new(text, Binds::Relation)
}

/// Operands are popped right to left.
fn join(right: Part, left: Part, operator: &str, binds: Binds) -> Part {
    let scale = left.scale.clone().or_else(|| right.scale.clone());
    // The right side of a chain of the same operator needs parentheses only where the order counts.
    let tighter = if operator == "-" { Binds::Product } else { binds };
    let (l, r) = (left.beside(&right, binds), right.beside(&left, tighter));
    let scale = scale.filter(|_| matches!(binds, Binds::Sum | Binds::Product));
    Part { scale, ..Part::new(format!("{l} {operator} {r}"), binds) }
}

fn compare(how: Compare, left: &Part, right: &Part) -> Part {
    let (l, r) = (left.beside(right, Binds::Sum), right.beside(left, Binds::Sum));
    // The compiler turns `x > 20` round; people read it as it was written.
    let turned = left.number.is_some() && right.number.is_none();
    let (text, sides) = match (how, turned) {
        (Compare::Eq, _) => (format!("{l} == {r}"), Some((l, r))),
        (Compare::Lt, false) => (format!("{l} < {r}"), None),
        (Compare::Le, false) => (format!("{l} <= {r}"), None),
        (Compare::Lt, true) => (format!("{r} > {l}"), None),
        (Compare::Le, true) => (format!("{r} >= {l}"), None),
    };
    Part { sides, ..Part::new(text, Binds::Relation) }
}

fn not(part: &Part) -> Part {
    match &part.sides {
        Some((left, right)) => Part::new(format!("{left} != {right}"), Binds::Relation),
        None => Part::new(format!("!{}", part.within(Binds::Unary)), Binds::Unary),
    }
}

fn slot_part(policy: &Vocabulary<'_>, slot: &Slot) -> Part {
    let model = policy.model;
    let before = |when: &When| if *when == When::Before { "before_" } else { "" };
    let scaled = |text: String, resolution: Resolution, unit: &str| Part {
        scale: Some((resolution, unit.to_owned())),
        ..Part::new(text, Binds::Atom)
    };
    let text = match slot {
        Slot::Input { path, resolution } => return scaled(format!("context.input.{path}"), *resolution, ""),
        Slot::Resource { attribute, when } => match model.attribute(*attribute) {
            Some(a) => return scaled(format!("resource.{}{}", before(when), a.name), a.resolution, &a.unit),
            None => "resource.?".to_owned(),
        },
        Slot::Car { attribute, when } => match model.attribute(*attribute) {
            Some(a) => {
                let state = if *when == When::Before { "before" } else { "car" };
                return scaled(format!("context.{state}.{}", a.name), a.resolution, &a.unit);
            }
            None => "context.car.?".to_owned(),
        },
        Slot::Addressed => "resource.addressed".to_owned(),
        Slot::Draft(DraftFeature::Calls) => "context.draft.calls".to_owned(),
        Slot::Draft(DraftFeature::Writes) => "context.draft.writes".to_owned(),
        Slot::Draft(DraftFeature::Group(group)) => {
            let name = model.groups.get(usize::from(group.0)).map_or("?", |(name, _)| name.as_str());
            format!("context.draft.{name}")
        }
        Slot::Read(tool) | Slot::Called(tool) => {
            let name = policy.inventory.at(*tool).map(|t| t.name.to_string()).unwrap_or_default();
            let which = if matches!(slot, Slot::Read(_)) { "reads" } else { "called" };
            format!("context.session.{which}.contains({name:?})")
        }
        Slot::LastError => "context.session.last_error".to_owned(),
        Slot::Now(field) => format!("context.now.{}", field.name()),
        Slot::Observed { observation, field } => {
            let found = model.observations.get(usize::from(*observation));
            let field = found.and_then(|o| Some((o, o.fields.get(usize::from(*field))?)));
            match field {
                Some((o, f)) => return scaled(format!("context.{}.{}", o.name, f.name), f.resolution, &f.unit),
                None => "context.?".to_owned(),
            }
        }
        Slot::Derived { derived, when } => match policy.derived.get(usize::from(*derived)) {
            Some(feature) => {
                let text = format!("context.{}{}", before(when), feature.name);
                let of = model.attribute(feature.attribute).filter(|_| feature.function != DerivedFn::Count);
                return match of {
                    Some(a) => scaled(text, a.resolution, &a.unit),
                    None => Part::new(text, Binds::Atom),
                };
            }
            None => "context.?".to_owned(),
        },
        Slot::Reply(_) => "context.reply.question".to_owned(),
        Slot::Listed { listing, told } => {
            let name = model.listings.get(usize::from(*listing)).map_or("?", |l| l.name.as_str());
            format!("context.{}.{name}", if *told { "told" } else { "untold" })
        }
        Slot::Legs(LegFeature::Open) => "context.legs.open".to_owned(),
        Slot::Legs(LegFeature::Others) => "context.legs.others".to_owned(),
        Slot::Legs(LegFeature::Declared(at)) => {
            let fact = model.tour.as_ref().and_then(|t| t.facts.get(usize::from(*at)));
            format!("context.legs.{}", fact.map_or("?", |f| f.name.as_str()))
        }
        Slot::Context(path) => format!("context.{path}"),
    };
    Part::new(text, Binds::Atom)
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::state::AttrIx;

    #[test]
    fn conditions_read_as_they_were_written_with_numbers_in_natural_units() {
        let parts = testing::parts();
        let inventory: Inventory = parts.inventory.clone().into();
        let slot = |attribute, when| Slot::Resource { attribute: AttrIx(attribute), when };
        let input = Slot::Input { path: "degrees".into(), resolution: Resolution::per_unit(10) };
        let tables = Tables {
            slots: vec![slot(0, When::After), slot(2, When::Before), input],
            constants: vec![Literal::Int(25), Literal::Text("x".into())],
            ..Tables::default()
        };
        let words = Vocabulary { tables: &tables, model: &parts.model, derived: &[], inventory: &inventory };
        let load = |at| Op::Load(SlotIx(at));
        let text = |ops: &[Op]| words.condition(&Program { ops: ops.to_vec() });
        assert_eq!(text(&[]), "true");
        assert_eq!(text(&[Op::Constant(0), load(2), Op::Compare(Compare::Lt)]), "context.input.degrees > 2.5");
        let either = [
            load(0),
            Op::Not,
            load(1),
            Op::Constant(0),
            Op::Compare(Compare::Eq),
            Op::Not,
            Op::Or,
            load(0),
            Op::SkipIfFalse(2),
            Op::And,
        ];
        assert_eq!(text(&either), "(!resource.oven_on || resource.before_hood != 25) && resource.oven_on");
        assert_eq!(text(&[Op::Has(SlotIx(2))]), "context.input has degrees");
    }
}
