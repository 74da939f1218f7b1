//! `rules.cedar`: from its text to programs (design §3).
//!
//! Each policy is parsed on its own, so that one run reports every mistake, then all are validated
//! strictly against the generated schema, then each is lowered.

mod annotations;
mod cedar;
mod condition;
mod fault;
mod foreign;
mod lower;
pub(super) mod reading;
mod scope;
mod statements;
mod tables;
#[cfg(test)]
mod tests;
mod vocabulary;

use std::collections::BTreeMap;

use cedar_policy::{Policy as CedarPolicy, Schema, pst};

pub(super) use cedar::explain;
pub use fault::RuleFault;
pub use foreign::{ForeignCompiled, compile_foreign};
pub(super) use reading::Root;
pub(super) use scope::Scope;
pub(super) use statements::{TOO_DEEP, comments, find_code, statements, too_deep, without_comments};
pub(super) use tables::TableBuilder;

use super::CompileErrors;
use super::error::{CompileError, Report};
use super::ground::Ground;
use super::source::{Place, SetSource, SourceFile};
use super::templates::{TemplateFault, Templates};
use crate::model::RuleId;
use crate::policy::{Piece, Rule, Slot, SlotIx, Tables, Trigger};
use crate::tools::ToolIx;
use annotations::Annotations;
use cedar::Statement;
use condition::Condition;
use fault::Refusal;
use lower::Lowering;
use vocabulary::CarNames;

/// Rules read attributes of `resource` and follow no entity from there.
const LEVEL: u32 = 1;

/// The rules of a set and what their programs share.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub(super) rules: Vec<Rule>,
    pub(super) tables: Tables,
}

/// How many policies a text holds; what is none is reported.
pub(super) fn parse_all(file: &SourceFile, report: &mut Report) -> usize {
    cedar::parse(file, report).len()
}

/// Compiles the rules. Everything that is wrong is in the report.
pub(super) fn compile(source: &SetSource, ground: &Ground, schema: &str, report: &mut Report) -> Rules {
    let file = &source.rules;
    let schema = match Schema::from_cedarschema_str(schema) {
        Ok((schema, _)) => schema,
        Err(error) => {
            report.errors.push(CompileError::Schema { place: source.vehicle.whole(), why: cedar::explain(&error) });
            return Rules::default();
        }
    };
    let statements = cedar::parse(file, report);
    let invalid = cedar::validate(file, &statements, schema, LEVEL, report);
    let mut compiler = Compiler { source, ground, report, tables: TableBuilder::default(), lines: BTreeMap::new() };
    let mut rules = Vec::new();
    for (at, statement) in statements.iter().enumerate() {
        rules.extend(compiler.rule(statement, invalid.contains(&at)));
    }
    if u16::try_from(rules.len()).is_err() {
        let fault = RuleFault::TooMany;
        compiler.report.errors.push(CompileError::Rule { place: file.whole(), rule: "*".to_owned(), fault });
    }
    Rules { rules, tables: compiler.tables.finish() }
}

/// The schema of a set that has compiled.
///
/// # Errors
/// [`CompileErrors`] with what Cedar says.
pub(super) fn read_schema(source: &SetSource, text: &str) -> Result<Schema, CompileErrors> {
    let error = |e| CompileError::Schema { place: source.vehicle.whole(), why: cedar::explain(&e) };
    Schema::from_cedarschema_str(text).map(|(schema, _)| schema).map_err(|e| error(e).into())
}

/// The schema of a foreign set, as it was written.
///
/// # Errors
/// [`CompileErrors`] with the line.
pub(super) fn read_foreign_schema(file: &SourceFile) -> Result<Schema, CompileErrors> {
    cedar::shallow(file)?;
    let read = Schema::from_cedarschema_str(file.text()).map(|(schema, _)| schema);
    read.map_err(|e| {
        let why = format!("{}; `--schema` takes a Cedar schema", cedar::explain(&e));
        CompileError::Cedar { place: file.at(cedar::offset(&e)), why }.into()
    })
}

/// The policies of a file, valid under a schema, each with the line where its text begins.
///
/// # Errors
/// [`CompileErrors`] with everything that Cedar refuses.
pub(super) fn policies(file: &SourceFile, schema: &Schema) -> Result<Vec<(Place, CedarPolicy)>, CompileErrors> {
    let mut report = Report::default();
    let statements = cedar::parse(file, &mut report);
    cedar::validate(file, &statements, schema.clone(), LEVEL, &mut report);
    match report.failed() {
        Some(errors) => Err(errors),
        None => Ok(statements.into_iter().map(|s| (file.at(s.start), s.policy)).collect()),
    }
}

struct Compiler<'a> {
    source: &'a SetSource,
    ground: &'a Ground,
    report: &'a mut Report,
    tables: TableBuilder,
    /// The line of each rule seen so far.
    lines: BTreeMap<String, usize>,
}

impl Compiler<'_> {
    /// One rule; `None` when something is wrong with it. A policy that Cedar refuses is still held
    /// to its annotations, so that one run tells everything.
    fn rule(&mut self, statement: &Statement<'_>, invalid: bool) -> Option<Rule> {
        let (annotations, refusals) = Annotations::read(statement.policy.annotations());
        let id = annotations.get("id").unwrap_or("?").to_owned();
        let mut failed = invalid || !refusals.is_empty();
        for refusal in refusals {
            self.refuse(statement, &id, refusal);
        }
        if let Err(fault) = self.unique(statement, &annotations) {
            failed = true;
            self.refuse(statement, &id, fault);
        }
        let mut keep = |this: &mut Self, refusal: Refusal| {
            failed = true;
            this.refuse(statement, &id, refusal);
        };
        let kind = annotations.kind().map_err(|r| keep(self, r)).ok();
        let source = annotations.source(&self.source.prose).map_err(|r| keep(self, r)).ok();
        if invalid {
            return None;
        }
        let lowered = self.lower(statement).map_err(|r| keep(self, r)).ok();
        let (scope, condition) = lowered?;
        if let Some(mixed) = &condition.mixed {
            let what = format!(
                "rule `{id}`: `{mixed}` mixes arguments and state in a disjunction, so it has no part in the rule's guard; split the rule, or ask for the argument in a conjunct of its own"
            );
            self.report.warn(statement.place(&self.source.rules, None), what);
        }
        if matches!(&scope.trigger, Trigger::Calls(tools) if tools.is_empty()) {
            let what = format!("rule `{id}` is about a group without tools, so nothing triggers it");
            self.report.warn(statement.place(&self.source.rules, None), what);
        }
        let fresh = annotations.fresh().map_err(|r| keep(self, r)).ok().flatten();
        let mut rule = Rule {
            id: RuleId::from(id.as_str()),
            kind: kind?,
            source: source.as_ref().map(|(file, _)| file.as_str())?.into(),
            sentence: source.as_ref().map(|(_, sentence)| sentence.as_str())?.into(),
            trigger: scope.trigger.clone(),
            entity: scope.entity,
            reads_after: condition::reads_after(&condition.when, self.tables.tables(), self.ground),
            guard: condition.guard,
            when: condition.when,
            remedy: Vec::new(),
            read: None,
            consent: None,
            disclose: None,
            said: annotations.said(),
            on_failure: Vec::new(),
            fresh,
            advise: annotations.get("advise").map(str::to_owned),
            shadow: annotations.get("shadow").is_some(),
        };
        let mut refusals = self.fill(&scope, &annotations, &mut rule);
        refusals.extend(self.check_reads(&rule));
        failed |= !refusals.is_empty();
        for refusal in refusals {
            self.refuse(statement, &id, refusal);
        }
        (!failed).then_some(rule)
    }

    fn unique(&mut self, statement: &Statement<'_>, annotations: &Annotations) -> Result<(), Refusal> {
        let id = annotations.need("id")?.to_owned();
        let line = self.source.rules.at(statement.start).line;
        match self.lines.insert(id, line) {
            Some(before) => Err(Refusal::at(RuleFault::Duplicate(before), "@id")),
            None => Ok(()),
        }
    }

    fn lower(&mut self, statement: &Statement<'_>) -> Result<(Scope, Condition), Refusal> {
        let policy = match statement.policy.to_pst() {
            Ok(pst::Policy::Static(policy)) => policy,
            // `Policy::parse` refuses templates, and a text that it reads has a syntax tree.
            _ => return Err(RuleFault::NotAValue("a template".to_owned()).into()),
        };
        let scope = Scope::read(policy.body(), self.ground)?;
        let names = CarNames { ground: self.ground, scope: &scope };
        let mut lowering = Lowering { names: &names, tables: &mut self.tables };
        let condition = condition::lower(policy.body().clauses(), &mut lowering).map_err(Refusal::in_condition)?;
        Ok((scope, condition))
    }

    /// Fills in what satisfies the rule; the answer holds what is wrong with it.
    fn fill(&mut self, scope: &Scope, annotations: &Annotations, rule: &mut Rule) -> Vec<Refusal> {
        let when = rule.when.clone();
        let mut templates = Templates { ground: self.ground, scope, tables: &mut self.tables, when: &when };
        let mut refusals = Vec::new();
        let mut keep = |annotation: &'static str, fault: TemplateFault| {
            refusals.push(Refusal::at(RuleFault::Template { annotation, fault }, format!("@{annotation}")));
        };
        for (annotation, calls) in [("remedy", &mut rule.remedy), ("on_failure", &mut rule.on_failure)] {
            match annotations.get(annotation).map(|text| templates.calls(text)) {
                Some(Ok(filled)) => *calls = filled,
                Some(Err(fault)) => keep(annotation, fault),
                None => {}
            }
        }
        match annotations.get("read").map(|text| templates.read(text)) {
            Some(Ok(call)) => rule.read = Some(call),
            Some(Err(fault)) => keep("read", fault),
            None => {}
        }
        for (annotation, sentence) in [("consent", &mut rule.consent), ("disclose", &mut rule.disclose)] {
            match annotations.get(annotation).map(|text| templates.text(text)) {
                Some(Ok(text)) => *sentence = Some(text),
                Some(Err(fault)) => keep(annotation, fault),
                None => {}
            }
        }
        refusals
    }

    /// A read that needs arguments can be made only where `@read` gives them, and `@read` must
    /// answer something.
    fn check_reads(&self, rule: &Rule) -> Vec<Refusal> {
        let pieces = [&rule.consent, &rule.disclose].into_iter().flatten().flat_map(|t| &t.pieces);
        let spoken = pieces.filter_map(|p| if let Piece::Slot(ix) = p { Some(*ix) } else { None });
        let mut answered = rule.read.is_none();
        let mut refusals = Vec::new();
        for (what, tool) in rule.when.slots().chain(spoken).filter_map(|ix| self.read_of(ix)) {
            if rule.read.as_ref().is_some_and(|r| r.tool == tool) {
                answered = true;
                continue;
            }
            let Some((what, found)) = what.zip(self.ground.inventory.at(tool)) else { continue };
            let needed: Vec<&str> = found.params.iter().filter(|p| p.required).map(|p| p.name.as_str()).collect();
            if !needed.is_empty() {
                let (tool, arguments) = (found.name.to_string(), needed.join(", "));
                refusals.push(RuleFault::ReadNeeded { what, tool, arguments }.into());
            }
        }
        if let (false, Some(read)) = (answered, &rule.read) {
            let tool = self.ground.inventory.at(read.tool).map(|t| t.name.to_string()).unwrap_or_default();
            refusals.push(Refusal::at(RuleFault::ReadUnused(tool), "@read"));
        }
        refusals
    }

    /// The tool that answers a slot, and how rules write it; a mere question for the read has no name.
    fn read_of(&self, slot: SlotIx) -> Option<(Option<String>, ToolIx)> {
        let model = &self.ground.model;
        match self.tables.tables().slot(slot)? {
            Slot::Observed { observation, .. } => {
                let observation = model.observations.get(usize::from(*observation))?;
                Some((Some(format!("context.{}", observation.name)), observation.read))
            }
            Slot::Resource { attribute, .. } | Slot::Car { attribute, .. } => {
                let attribute = model.attribute(*attribute)?;
                Some((Some(attribute.name.clone()), attribute.read?))
            }
            Slot::Derived { derived, .. } => {
                let derived = self.ground.derived.get(usize::from(*derived))?;
                Some((Some(format!("context.{}", derived.name)), model.attribute(derived.attribute)?.read?))
            }
            Slot::Read(tool) | Slot::Called(tool) => Some((None, *tool)),
            _ => None,
        }
    }

    fn refuse(&mut self, statement: &Statement<'_>, rule: &str, refusal: Refusal) {
        let place = statement.place(&self.source.rules, Some(&refusal));
        self.report.errors.push(CompileError::Rule { place, rule: rule.to_owned(), fault: refusal.fault });
    }
}
