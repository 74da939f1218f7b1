//! What is criticised: the rules of a set, each with its condition and the requests it speaks to.

use std::collections::BTreeSet;

use cedar_policy::{
    ActionConstraint, Entities, EntityUid, Policy as CedarPolicy, PrincipalConstraint, RequestEnv, ResourceConstraint,
    Schema,
};
use serde_json::{Value as Json, json};

use super::expr::Expr;
use crate::compile::ground::Ground;
use crate::compile::rules::Rules;
use crate::compile::source::{Place, SetSource, SourceFile};
use crate::compile::{CompileErrors, Compiled, compile, rules};
use crate::policy::{PackedTests, PolicyParts, Rule};
use crate::state::EntityIx;

/// A kind of request: who, does what, to what kind of thing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::compile) struct Env {
    pub(super) principal: String,
    pub(super) action: EntityUid,
    pub(super) resource: String,
}

impl Env {
    /// The action as Cedar's JSON writes entities.
    pub(super) fn action_json(&self) -> Json {
        json!({ "type": self.action.type_name().to_string(), "id": self.action.id().unescaped() })
    }

    /// The name of the action: a tool, or what a foreign set calls its actions.
    pub(super) fn action_name(&self) -> &str {
        self.action.id().unescaped()
    }
}

/// What follows where a rule fires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::compile) enum Consequence {
    /// The call is denied.
    Deny,
    /// Something makes it right; which annotation, and its text.
    Settled(&'static str, String),
}

/// One rule as it stands in its file.
#[derive(Debug, Clone)]
pub(in crate::compile) struct Stated {
    pub(in crate::compile) id: String,
    pub(super) place: Place,
    pub(super) condition: Expr,
    /// Whether the author wrote a condition at all.
    pub(super) conditional: bool,
    pub(super) consequence: Consequence,
    /// The requests that its scope admits, one kind of principal each where it reads none.
    pub(super) envs: Vec<Env>,
    /// What the compiler made of it; none in a foreign set.
    pub(super) rule: Option<Rule>,
}

/// A set under criticism.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) schema: Schema,
    pub(super) rules: Vec<Stated>,
    /// The compiled set; none for foreign Cedar.
    pub(super) parts: Option<PolicyParts>,
    /// The effect model as it is written; none where there is no set.
    pub(super) vehicle: Option<SourceFile>,
}

impl Subject {
    /// A set of ours.
    ///
    /// # Errors
    /// [`CompileErrors`] when it does not compile: there is nothing to reason about then.
    pub(super) fn compiled(set: &SetSource) -> Result<Self, CompileErrors> {
        let Compiled { parts, schema, .. } = compile(set)?;
        let schema = rules::read_schema(set, &schema)?;
        let mut stated = statements(&set.rules, &schema)?;
        for one in &mut stated {
            one.rule = parts.rules.iter().find(|r| r.id.as_str() == one.id).cloned();
        }
        Ok(Self { schema, rules: stated, parts: Some(parts), vehicle: Some(set.vehicle.clone()) })
    }

    /// Rules that have compiled over a vocabulary. Rules and statements belong together by their identifiers.
    pub(super) fn over(ground: &Ground, schema: Schema, mut stated: Vec<Stated>, compiled: &Rules) -> Self {
        for one in &mut stated {
            one.rule = compiled.rules.iter().find(|r| r.id.as_str() == one.id).cloned();
        }
        let parts = PolicyParts {
            id: ground.id.clone(),
            inventory: ground.inventory.clone().into(),
            model: ground.model.clone(),
            derived: ground.derived.clone(),
            rules: compiled.rules.clone(),
            tables: compiled.tables.clone(),
            phrases: Vec::new(),
            prose: Vec::new(),
            tests: PackedTests::default(),
        };
        Self { schema, rules: stated, parts: Some(parts), vehicle: None }
    }

    /// A condition in which each field has one name: a rule about the car can read a field as the resource's and
    /// as the car's, and both are the same.
    pub(super) fn one_name(&self, env: &Env, condition: &Expr) -> Expr {
        let car = self.parts.as_ref().and_then(|parts| parts.model.entity(EntityIx::CAR));
        if car.is_none_or(|car| car.name != env.resource) {
            return condition.clone();
        }
        of_the_car(condition)
    }

    /// The line of the effect model that gives a member its field: TOML knows places, the compiled model does not.
    pub(super) fn line_of(&self, member: &str, field: &str) -> Option<Place> {
        let file = self.vehicle.as_ref()?;
        let quoted = format!("\"{field}\"");
        let lines = || {
            file.text().split_inclusive('\n').scan(0, |at, line| {
                let start = *at;
                *at += line.len();
                Some((start, line))
            })
        };
        let named =
            |line: &str| line.trim_start().strip_prefix(member).is_some_and(|rest| rest.trim_start().starts_with('='));
        let found = lines().find(|(_, line)| line.contains(&quoted) && named(line));
        found.or_else(|| lines().find(|(_, line)| line.contains(&quoted))).map(|(at, _)| file.at(at))
    }

    /// A foreign set: plain forbids under a schema of its own. Its permits restrict nothing.
    ///
    /// # Errors
    /// [`CompileErrors`] when it is not Cedar or does not validate.
    pub(super) fn foreign(file: &SourceFile, schema: &SourceFile) -> Result<Self, CompileErrors> {
        let schema = rules::read_foreign_schema(schema)?;
        Ok(Self { rules: statements(file, &schema)?, schema, parts: None, vehicle: None })
    }
}

/// A condition about the car in which its fields are read as the car's.
pub(super) fn of_the_car(condition: &Expr) -> Expr {
    condition.rewrite(&|expr| match expr.as_path()?.as_slice() {
        [resource, name] if resource == "resource" && name != "addressed" => {
            let (when, name) = name.strip_prefix("before_").map_or(("car", name.as_str()), |name| ("before", name));
            Some(Expr::path(&["context".to_owned(), when.to_owned(), name.to_owned()]))
        }
        _ => None,
    })
}

pub(super) fn statements(file: &SourceFile, schema: &Schema) -> Result<Vec<Stated>, CompileErrors> {
    let policies = rules::policies(file, schema)?;
    let actions = schema.action_entities().unwrap_or_else(|_| Entities::empty());
    let all: BTreeSet<Env> = schema.request_envs().map(|env| env_of(&env)).collect();
    let forbids: Vec<_> = policies.into_iter().filter(|(_, p)| p.effect() == cedar_policy::Effect::Forbid).collect();
    // Where one rule is about one kind of principal, all are compared for each kind.
    let by_principal = forbids.iter().any(|(_, policy)| asks_who(policy));
    Ok(forbids.into_iter().filter_map(|(place, policy)| stated(place, &policy, &actions, &all, by_principal)).collect())
}

/// Whether who asks decides anything.
fn asks_who(policy: &CedarPolicy) -> bool {
    let mut reads = false;
    if let Some(condition) = Expr::of(policy) {
        condition.walk(&mut |e| reads |= e.0.get("Var").is_some_and(|v| v == "principal"));
    }
    reads || policy.principal_constraint() != PrincipalConstraint::Any
}

fn env_of(env: &RequestEnv) -> Env {
    Env { principal: env.principal().to_string(), action: env.action().clone(), resource: env.resource().to_string() }
}

fn stated(
    place: Place,
    policy: &CedarPolicy,
    actions: &Entities,
    all: &BTreeSet<Env>,
    by_principal: bool,
) -> Option<Stated> {
    let condition = Expr::of(policy)?;
    let mut envs: Vec<Env> = Vec::new();
    for env in all.iter().filter(|env| in_scope(policy, env, actions)) {
        let same = |e: &Env| e.action == env.action && e.resource == env.resource;
        if by_principal || !envs.iter().any(same) {
            envs.push(env.clone());
        }
    }
    let settled = ["remedy", "consent", "disclose", "advise"]
        .into_iter()
        .find_map(|name| Some(Consequence::Settled(name, policy.annotation(name)?.to_owned())));
    let conditional = policy.to_json().ok()?.get("conditions").and_then(Json::as_array).is_some_and(|c| !c.is_empty());
    let id = policy.annotation("id").map_or_else(|| format!("policy{}", policy.id()), str::to_owned);
    let consequence = settled.unwrap_or(Consequence::Deny);
    Some(Stated { id, place, condition, conditional, consequence, envs, rule: None })
}

/// Whether a rule's scope admits a kind of request. A scope that names a single entity does not compile.
fn in_scope(policy: &CedarPolicy, env: &Env, actions: &Entities) -> bool {
    let within = |group: &EntityUid| env.action == *group || actions.is_ancestor_of(group, &env.action);
    let action = match policy.action_constraint() {
        ActionConstraint::Any => true,
        ActionConstraint::Eq(one) => env.action == one,
        ActionConstraint::In(several) => several.iter().any(within),
    };
    let principal = match policy.principal_constraint() {
        PrincipalConstraint::Is(kind) | PrincipalConstraint::IsIn(kind, _) => kind.to_string() == env.principal,
        PrincipalConstraint::Eq(one) => one.type_name().to_string() == env.principal,
        PrincipalConstraint::Any | PrincipalConstraint::In(_) => true,
    };
    let resource = match policy.resource_constraint() {
        ResourceConstraint::Is(kind) | ResourceConstraint::IsIn(kind, _) => kind.to_string() == env.resource,
        ResourceConstraint::Eq(one) => one.type_name().to_string() == env.resource,
        ResourceConstraint::Any | ResourceConstraint::In(_) => true,
    };
    action && principal && resource
}
