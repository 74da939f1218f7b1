//! Comparison by the solver.

use std::cell::RefCell;

use super::{Compare, Comparison, Enumeration, Relation, Side};
use crate::compile::critic::{Prover, Stated};
use crate::compile::error::{CompileErrors, Report};
use crate::compile::ground::Ground;
use crate::compile::rules::{self, Rules};
use crate::compile::schema;
use crate::compile::source::{SetSource, SourceFile};
use crate::policy::Rule;

/// Compares by proof; what the solver cannot tell is enumerated.
pub(in crate::compile) struct Proof<'a> {
    set: &'a SetSource,
    ground: &'a Ground,
    schema: String,
    prover: Option<RefCell<Prover>>,
}

/// Rules of one text, compiled and as statements.
pub(in crate::compile) struct Text {
    pub(in crate::compile) rules: Rules,
    stated: Vec<Stated>,
}

impl Text {
    /// One of its rules, to be compared.
    pub(in crate::compile) fn side<'a>(&'a self, rule: &'a Rule) -> Side<'a> {
        let stated = self.stated.iter().find(|s| s.id == rule.id.as_str());
        Side { rule, tables: &self.rules.tables, stated }
    }
}

impl<'a> Proof<'a> {
    /// Over what a set stands on. The solver is started where there is one.
    ///
    /// # Errors
    /// [`CompileErrors`] where Cedar refuses the schema.
    pub(in crate::compile) fn over(set: &'a SetSource, ground: &'a Ground) -> Result<Self, CompileErrors> {
        let schema = schema::generate(ground);
        let prover = Prover::start(ground, &rules::read_schema(set, &schema)?).map(RefCell::new);
        Ok(Self { set, ground, schema, prover })
    }

    /// Compiles a text of rules.
    ///
    /// # Errors
    /// [`CompileErrors`] with everything that is wrong in it.
    pub(in crate::compile) fn text(&self, file: &SourceFile) -> Result<Text, CompileErrors> {
        let mut report = Report::default();
        let set = SetSource { rules: file.clone(), tests: Vec::new(), ..self.set.clone() };
        let rules = rules::compile(&set, self.ground, &self.schema, &mut report);
        if let Some(errors) = report.failed() {
            return Err(errors);
        }
        let stated = self.prover.as_ref().map(|prover| prover.borrow().stated(file)).transpose()?;
        Ok(Text { rules, stated: stated.unwrap_or_default() })
    }
}

impl Compare for Proof<'_> {
    fn compare(&self, first: Side<'_>, second: Side<'_>) -> Comparison {
        let tried = Enumeration { ground: self.ground }.compare(first, second);
        let stated = first.stated.zip(second.stated);
        let proven = self.prover.as_ref().zip(stated).and_then(|(p, (a, b))| p.borrow_mut().relate(a, b));
        let Some([more, less]) = proven else { return tried };
        let relation = Relation::of(more.is_some(), less.is_some());
        Comparison {
            relation,
            only_first: more,
            only_second: less,
            states: tried.states,
            exhaustive: tried.exhaustive,
            proved: true,
        }
    }
}

#[cfg(all(test, feature = "solver"))]
mod tests {
    use super::*;
    use crate::compile::testing::{VEHICLE, prohibition, set};

    #[test]
    fn the_solver_tells_apart_what_no_state_that_is_tried_does_and_proves_what_is_the_same() {
        let source = set(VEHICLE, "");
        let ground = crate::compile::ground(&source).unwrap();
        let proof = Proof::over(&source, &ground).unwrap();
        if proof.prover.is_none() {
            println!("skipped: cvc5 is not here");
            return;
        }
        let related = |first: &str, second: &str| {
            let text = |when| proof.text(&SourceFile::new("rules.cedar", prohibition("set_fan", "Car", when))).unwrap();
            let (a, b) = (text(first), text(second));
            proof.compare(a.side(&a.rules.rules[0]), b.side(&b.rules.rules[0]))
        };
        let same =
            related("!(resource.warmth <= 250) && context.input.on", "context.input.on && resource.warmth > 250");
        assert_eq!((same.relation, same.proved), (Relation::Equivalent, true));
        let one_field = related("resource.warmth > 250", "context.car.warmth > 250");
        assert_eq!((one_field.relation, one_field.proved), (Relation::Equivalent, true));
        let before = related("resource.before_warmth > 250", "context.before.warmth > 250");
        assert_eq!((before.relation, before.proved), (Relation::Equivalent, true));
        let never = "resource.warmth > 250 && resource.warmth < 251";
        let odd = related("resource.warmth + resource.warmth == 251", never);
        assert_eq!((odd.relation, odd.proved), (Relation::Equivalent, true));
        let one = related("resource.warmth * 3 == 1236", never);
        assert_eq!((one.relation, one.proved), (Relation::Broader, true));
        assert!(one.only_first.as_ref().unwrap().contains("41.2"), "the solver names the one value: {one:?}");
    }
}
