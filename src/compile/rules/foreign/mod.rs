//! Foreign Cedar sets: a schema and policies of somebody else, without our annotations and without a
//! vehicle.toml, to plain forbids (design §2).
//!
//! `@id`, `@source` and `@description` are taken where they stand; other annotations say nothing to
//! us. Each forbid is specialised for every environment of the schema, so that a request runs only
//! what can still depend on it.

mod fold;
mod names;
mod schema;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cedar_policy::pst::{self, Clause, Expr, UnaryOp};
use cedar_policy::{Schema, SchemaFragment};

use super::cedar::{self, Statement};
use super::fault::{Refusal, RuleFault};
use super::lower::{Lowering, connect};
use super::tables::TableBuilder;
use crate::compile::error::{CompileError, CompileErrors, Report, Warning};
use crate::compile::source::SourceFile;
use crate::model::{PolicyHash, RuleId};
use crate::policy::foreign::{Context, Environment, ForeignParts, ForeignRule, ForeignSet, Member, Tier, Type};
use crate::policy::{Op, Program, Slot, SlotIx};
use fold::{Known, decided, entity};
use names::ContextNames;
use schema::Declared;

/// Cedar counts `action in` a group as one level. Rules follow no other entity: lowering refuses it.
const LEVEL: u32 = 1;
/// The member of the context that holds features of the session (paper 2, §A.2).
const SESSION: &str = "session";
/// The member of the context that holds typed arguments.
const INPUT: &str = "input";

/// A compiled foreign set.
#[derive(Debug, Clone)]
pub struct ForeignCompiled {
    /// What the blob carries.
    pub parts: ForeignParts,
    /// What compiles and is probably not meant.
    pub warnings: Vec<Warning>,
}

/// Compiles a foreign set; `id` becomes its name. The same sources give the same parts.
///
/// # Errors
/// [`CompileErrors`] with everything that is wrong, each with its line.
pub fn compile_foreign(id: &str, rules: &SourceFile, schema: &SourceFile) -> Result<ForeignCompiled, CompileErrors> {
    cedar::shallow(schema)?;
    let mut report = Report::default();
    let parsed = Schema::from_cedarschema_str(schema.text()).map(|(s, _)| s);
    let declared = SchemaFragment::from_cedarschema_str(schema.text()).map(|(s, _)| s.to_json_value());
    let (parsed, declared) = match (parsed, declared) {
        (Ok(parsed), Ok(Ok(declared))) => (parsed, Declared::new(declared)),
        (Err(error), _) | (_, Err(error)) => {
            let place = schema.at(cedar::offset(&error));
            let why = format!("{}; `--schema` takes a Cedar schema", cedar::explain(&error));
            return Err(CompileError::Cedar { place, why }.into());
        }
        (_, Ok(Err(error))) => {
            return Err(CompileError::Schema { place: schema.whole(), why: cedar::explain(&error) }.into());
        }
    };
    let statements = cedar::parse(rules, &mut report);
    let invalid = cedar::validate(rules, &statements, parsed.clone(), LEVEL, &mut report);
    let mut compiler = Compiler::new(rules, schema, &parsed, &declared, &mut report);
    for (at, statement) in statements.iter().enumerate() {
        compiler.statement(at, statement, invalid.contains(&at));
    }
    let parts = compiler.finish(id);
    if parts.permits.is_empty() {
        report.warn(rules.whole(), "nothing is permitted: Cedar denies whatever no permit allows; add `permit (principal, action, resource);` if everything that no forbid names is allowed");
    }
    if let Err(error) = ForeignSet::new(parts.clone(), PolicyHash([0; 32])) {
        report.errors.push(CompileError::Blob { place: rules.whole(), source: error.into() });
    }
    match report.failed() {
        Some(errors) => Err(errors),
        None => Ok(ForeignCompiled { parts, warnings: report.warnings }),
    }
}

struct Compiler<'a> {
    file: &'a SourceFile,
    report: &'a mut Report,
    /// What the schema allows to be asked, beside its environment.
    known: Vec<Known>,
    parts: ForeignParts,
    tables: TableBuilder,
    lines: BTreeMap<String, usize>,
}

impl<'a> Compiler<'a> {
    fn new(
        file: &'a SourceFile,
        schema_file: &SourceFile,
        schema: &Schema,
        declared: &Declared,
        report: &'a mut Report,
    ) -> Self {
        let actions = Arc::new(schema.action_entities().unwrap_or_default());
        let mut parts = ForeignParts::default();
        let mut contexts: BTreeMap<String, u16> = BTreeMap::new();
        let mut asked: Vec<_> = schema
            .request_envs()
            .map(|e| (e.action().clone(), e.principal().to_string(), e.resource().to_string()))
            .collect();
        asked.sort();
        asked.dedup();
        let mut known = Vec::new();
        for (action, principal, resource) in asked {
            let namespace = action.type_name().namespace();
            let plain = action.id().unescaped();
            let name = if namespace.is_empty() { plain.to_owned() } else { action.to_string() };
            let at = parts.contexts.len();
            let context = match contexts.get(&name) {
                Some(context) => *context,
                None => match (declared.context(&namespace, plain), u16::try_from(at)) {
                    (Ok(context), Ok(at)) => {
                        parts.contexts.push(context);
                        contexts.insert(name.clone(), at);
                        at
                    }
                    (Err(fault), _) => {
                        let why = format!("action `{name}`: {fault}");
                        report.errors.push(CompileError::Schema { place: schema_file.whole(), why });
                        continue;
                    }
                    (_, Err(_)) => continue, // a schema of 65,536 actions is over the size limit of a blob
                },
            };
            let (session, rules) = (None, Vec::new());
            let (of, on) = (principal.clone(), resource.clone());
            parts.environments.push(Environment { principal, action: name, resource, context, rules, session });
            known.push(Known { principal: of, action, resource: on, actions: Arc::clone(&actions) });
        }
        Self { file, report, known, parts, tables: TableBuilder::default(), lines: BTreeMap::new() }
    }

    /// One policy of the file.
    fn statement(&mut self, at: usize, statement: &Statement<'_>, invalid: bool) {
        let annotation = |name| statement.policy.annotation(name).map(str::trim).filter(|text| !text.is_empty());
        let id = annotation("id").map_or_else(|| format!("policy{at}"), str::to_owned);
        let place = statement.place(self.file, None);
        if let Some(before) = self.lines.insert(id.clone(), place.line) {
            self.refuse(statement, &id, Refusal::at(RuleFault::Duplicate(before), "@id"));
        }
        if invalid {
            return;
        }
        let policy = match statement.policy.to_pst() {
            Ok(pst::Policy::Static(policy)) => policy,
            // `Policy::parse` refuses templates, and a text that it reads has a syntax tree.
            _ => return self.refuse(statement, &id, RuleFault::NotAValue("a template".to_owned()).into()),
        };
        if policy.body().effect == pst::Effect::Permit {
            match permits_all(policy.body()) {
                true => self.parts.permits.push(RuleId::from(id.as_str())),
                false => self.refuse(statement, &id, Refusal::at(RuleFault::Permits, "permit")),
            }
            return;
        }
        match self.forbid(policy.body()) {
            Ok((tier, applied)) => {
                if !applied {
                    let what = format!("rule `{id}` can forbid nothing that the schema allows to be asked");
                    self.report.warn(place.clone(), what);
                }
                self.parts.rules.push(ForeignRule {
                    id: RuleId::from(id.as_str()),
                    source: annotation("source").map_or_else(|| place.to_string(), str::to_owned).into(),
                    sentence: annotation("description").unwrap_or_default().into(),
                    tier,
                });
            }
            Err(refusal) => self.refuse(statement, &id, refusal),
        }
    }

    /// Lowers a forbid for every environment it can matter in: its tier, and whether there is one.
    fn forbid(&mut self, policy: &pst::Template) -> Result<(Tier, bool), Refusal> {
        let rule = u16::try_from(self.parts.rules.len()).map_err(|_| RuleFault::TooMany)?;
        let (mut tier, mut applied) = (Tier::Stateless, false);
        for at in 0..self.known.len() {
            let (Some(known), Some(environment)) = (self.known.get(at), self.parts.environments.get(at)) else { break };
            if !in_scope(policy, known)? {
                continue;
            }
            let Some(context) = self.parts.contexts.get(usize::from(environment.context)) else { break };
            let names = ContextNames(context);
            let mut lowering = Lowering { names: &names, tables: &mut self.tables };
            let Some(program) = lower(policy.clauses(), known, &mut lowering).map_err(Refusal::in_condition)? else {
                continue;
            };
            applied = true;
            let reads = |member: &str| {
                let mut slots = program.slots().filter_map(|ix| self.tables.tables().slot(ix));
                slots.any(|slot| matches!(slot, Slot::Context(path) if path.split('.').next() == Some(member)))
            };
            let session = reads(SESSION);
            tier = tier.max(if session {
                Tier::Session
            } else if reads(INPUT) {
                Tier::Typed
            } else {
                Tier::Stateless
            });
            let index = self.parts.programs.iter().position(|p| *p == program);
            let index = index.unwrap_or(self.parts.programs.len());
            let number = u16::try_from(index).map_err(|_| RuleFault::TooLarge)?;
            if index == self.parts.programs.len() {
                self.parts.programs.push(program);
            }
            let member = context.members.iter().position(|m| m.path == SESSION).and_then(|m| u16::try_from(m).ok());
            if let Some(environment) = self.parts.environments.get_mut(at) {
                environment.rules.push((rule, number));
                environment.session = environment.session.or(member.filter(|_| session).map(|m| (rule, m)));
            }
        }
        Ok((tier, applied))
    }

    /// Connects members and slots once all programs are there.
    fn finish(self, id: &str) -> ForeignParts {
        let mut parts = self.parts;
        parts.id = id.to_owned();
        parts.tables = self.tables.finish();
        let mut read = BTreeSet::new();
        for environment in &parts.environments {
            let programs = environment.rules.iter().filter_map(|(_, p)| parts.programs.get(usize::from(*p)));
            read.extend(programs.flat_map(Program::slots).map(|slot| (environment.context, slot)));
        }
        // In the order of the slots: a record is asked for before its members.
        for (context, ix) in read {
            if let (Some(context), Some(Slot::Context(path))) =
                (parts.contexts.get_mut(usize::from(context)), parts.tables.slot(ix))
            {
                attach(context, path, ix);
            }
        }
        parts
    }

    fn refuse(&mut self, statement: &Statement<'_>, rule: &str, refusal: Refusal) {
        let place = statement.place(self.file, Some(&refusal));
        self.report.errors.push(CompileError::Rule { place, rule: rule.to_owned(), fault: refusal.fault });
    }
}

/// Gives the member at a path its slot. A member that the schema does not declare and a rule asks for
/// with `has` joins its record, so that asking has an answer.
fn attach(context: &mut Context, path: &str, slot: SlotIx) {
    if let Some(member) = context.members.iter_mut().find(|m| m.path == path) {
        member.slot = Some(slot);
        return;
    }
    let (parent, name) = path.rsplit_once('.').map_or((None, path), |(parent, name)| (Some(parent), name));
    let of = match parent {
        None => None,
        Some(parent) => context.members.iter().position(|m| m.path == parent).and_then(|at| u16::try_from(at).ok()),
    };
    let kind = Type::Undeclared;
    let (name, path) = (name.to_owned(), path.to_owned());
    context.members.push(Member { parent: of, name, path, kind, required: false, slot: Some(slot) });
}

fn permits_all(policy: &pst::Template) -> bool {
    let anything = policy.principal == pst::PrincipalConstraint::Any
        && policy.action == pst::ActionConstraint::Any
        && policy.resource == pst::ResourceConstraint::Any;
    let always = |clause: &Clause| match clause {
        Clause::When(expr) => decided(expr) == Some(true),
        Clause::Unless(expr) => decided(expr) == Some(false),
    };
    anything && policy.clauses().iter().all(always)
}

/// Whether the scope of a policy lets that environment in.
fn in_scope(policy: &pst::Template, known: &Known) -> Result<bool, Refusal> {
    let principal = match &policy.principal {
        pst::PrincipalConstraint::Any => true,
        pst::PrincipalConstraint::Is(kind) => kind.to_string() == known.principal,
        _ => return Err(Refusal::at(RuleFault::OneEntity("principal"), "principal")),
    };
    let resource = match &policy.resource {
        pst::ResourceConstraint::Any => true,
        pst::ResourceConstraint::Is(kind) => kind.to_string() == known.resource,
        _ => return Err(Refusal::at(RuleFault::OneEntity("resource"), "resource")),
    };
    let action = match &policy.action {
        pst::ActionConstraint::Any => true,
        pst::ActionConstraint::Eq(one) => entity(&one.to_string()).as_ref() == Some(&known.action),
        pst::ActionConstraint::In(several) => {
            several.iter().filter_map(|uid| entity(&uid.to_string())).any(|group| known.belongs(&group))
        }
    };
    Ok(principal && resource && action)
}

/// What is left of the clauses in an environment; none: they never hold there.
fn lower(clauses: &[Clause], known: &Known, lowering: &mut Lowering<'_>) -> Result<Option<Program>, Refusal> {
    let mut ops: Option<Vec<Op>> = None;
    for clause in clauses {
        let expr = match clause {
            Clause::When(expr) => known.fold(expr),
            Clause::Unless(expr) => known.fold(&Arc::new(Expr::UnaryOp { op: UnaryOp::Not, expr: Arc::clone(expr) })),
        };
        match (decided(&expr), &ops) {
            (Some(true), _) => {}
            (Some(false), None) => return Ok(None),
            _ => {
                let more = lowering.condition(&expr)?;
                ops = Some(match ops {
                    None => more,
                    Some(before) => connect(true, before, more)?,
                });
            }
        }
    }
    let program = Program { ops: ops.unwrap_or_default() };
    program.check(lowering.tables.tables()).map_err(RuleFault::from)?;
    Ok(Some(program))
}
