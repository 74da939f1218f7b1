//! Our programs against Cedar's own authorizer, over random requests (design §3).
//!
//! Compared raw: which forbids determine the answer and which fail to evaluate. The fail-closed
//! overlay stands on top of that and has its own tests.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::str::FromStr;

use cedar_policy::{
    AuthorizationError, Authorizer, Context, Entities, EntityUid, PolicyId, PolicySet, Request as CedarRequest, Schema,
};
use obligato::compile::{SetSource, compile};
use obligato::policy::{Rule, Trigger, Truth, evaluate};
use obligato::state::EntityIx;
use obligato::tools::ToolIx;

use crate::world::{Partly, Pool, Random, Request};

/// Requests a set: enough that every rule fires and fails to fire; `DIFFERENTIAL_REQUESTS` asks for
/// more, as `make differential` does.
const REQUESTS: usize = 10_000;

/// How many requests each set is asked.
pub(crate) fn requests() -> usize {
    std::env::var("DIFFERENTIAL_REQUESTS").ok().map_or(REQUESTS, |n| n.parse().unwrap())
}
/// Of which these are also held against the generated schema by Cedar itself.
const AGAINST_SCHEMA: usize = 200;

#[test]
fn kitchen_programs_answer_as_cedar_does() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policies/kitchen");
    agree(&SetSource::read(&folder, None, None).unwrap(), 1);
}

#[test]
fn cabin_programs_answer_as_cedar_does() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/cabin");
    agree(&SetSource::read(&folder, None, None).unwrap(), 2);
}

#[test]
fn car_bench_programs_answer_as_cedar_does() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = root.join("../../shared/carbench");
    let shared = if shared.exists() { shared } else { root.join("../shared/carbench") };
    if !shared.exists() {
        println!("skipped: ../shared/carbench is absent, so there is no prose and no inventory to compile with");
        return;
    }
    let (prose, tools) = (shared.join("policy.md"), shared.join("tools.json"));
    agree(&SetSource::read(&root.join("policies/car-bench"), Some(&prose), Some(&tools)).unwrap(), 3);
}

fn agree(source: &SetSource, seed: u64) {
    let compiled = compile(source).unwrap_or_else(|errors| panic!("{errors}"));
    let parts = &compiled.parts;
    let (schema, _) = Schema::from_cedarschema_str(&compiled.schema).unwrap();
    let set = PolicySet::from_str(source.rules.text()).unwrap();
    let ids: HashMap<PolicyId, &str> = set.policies().map(|p| (p.id().clone(), p.annotation("id").unwrap())).collect();
    let actions = schema.action_entities().unwrap();
    let pool = Pool::of(parts);
    let mut random = Random(seed);
    let (mut fired, mut quiet) = (BTreeSet::new(), BTreeSet::new());
    for round in 0..requests() {
        let rule = random.pick(&parts.rules);
        let tool = match &rule.trigger {
            Trigger::Calls(tools) => Some(*random.pick(tools)),
            Trigger::Reply => None,
        };
        let entity = if random.one_in(8) {
            EntityIx(u16::try_from(random.below(parts.model.entities.len())).unwrap())
        } else {
            rule.entity
        };
        let request = Request::new(parts, &pool, tool, entity, &mut random);
        let schema = (round < AGAINST_SCHEMA).then_some(&schema);
        let cedar = Cedar { set: &set, ids: &ids, actions: &actions, schema };
        let (determining, failing) = cedar.answer(&request, name(parts, tool));
        let hidden = u64::from(random.below(u32::MAX as usize) as u32) << 32 | random.below(u32::MAX as usize) as u64;
        let (mut ours, mut ours_failing) = (BTreeSet::new(), BTreeSet::new());
        for rule in parts.rules.iter().filter(|r| r.entity == entity && triggers(&r.trigger, tool)) {
            let truth = evaluate(&rule.when, &parts.tables, &request);
            match truth {
                Truth::True => {
                    ours.insert(rule.id.as_str());
                    assert_eq!(evaluate(&rule.guard, &parts.tables, &request), Truth::True, "guard of {}", rule.id);
                }
                Truth::Error => {
                    ours_failing.insert(rule.id.as_str());
                }
                Truth::False => {
                    quiet.insert(rule.id.as_str());
                }
                Truth::Unknown => panic!("{} is undecided with everything known", rule.id),
            }
            let partly = evaluate(&rule.when, &parts.tables, &Partly { whole: &request, hidden });
            if matches!(partly, Truth::True | Truth::False) {
                assert_eq!(partly, truth, "{} decided on partial knowledge what the whole denies", rule.id);
            }
        }
        assert_eq!((&ours, &ours_failing), (&determining, &failing), "{}", request.context());
        fired.extend(ours.into_iter().map(str::to_owned));
    }
    let silent = |rule: &&Rule| !fired.contains(rule.id.as_str());
    // A rule without a condition has no other way.
    let deaf = |rule: &&Rule| !rule.when.ops.is_empty() && !quiet.contains(rule.id.as_str());
    let silent: Vec<&str> = parts.rules.iter().filter(silent).map(|r| r.id.as_str()).collect();
    let deaf: Vec<&str> = parts.rules.iter().filter(deaf).map(|r| r.id.as_str()).collect();
    assert!(silent.is_empty(), "no request fired {silent:?}, so nothing was compared there");
    assert!(deaf.is_empty(), "every request fired {deaf:?}, so the other way was not compared");
    println!("{}: {} requests, every rule both ways", parts.id, requests());
}

fn name(parts: &obligato::policy::PolicyParts, tool: Option<ToolIx>) -> &str {
    tool.map_or("reply", |ix| parts.inventory[usize::from(ix.0)].name.as_str())
}

fn triggers(trigger: &Trigger, tool: Option<ToolIx>) -> bool {
    match (trigger, tool) {
        (Trigger::Calls(tools), Some(tool)) => tools.contains(&tool),
        (Trigger::Reply, None) => true,
        _ => false,
    }
}

struct Cedar<'i> {
    set: &'i PolicySet,
    ids: &'i HashMap<PolicyId, &'i str>,
    /// Actions with their groups.
    actions: &'i Entities,
    /// Holds the request against the schema as well.
    schema: Option<&'i Schema>,
}

impl<'i> Cedar<'i> {
    /// The forbids that determine Cedar's answer, and those that fail to evaluate.
    fn answer(&self, request: &Request<'_>, action: &str) -> (BTreeSet<&'i str>, BTreeSet<&'i str>) {
        let uid = |kind: &str, id: &str| EntityUid::from_str(&format!("{kind}::{id:?}")).unwrap();
        let action = uid("Action", action);
        let resource = request.resource();
        let kind = resource[0]["uid"]["type"].as_str().unwrap().to_owned();
        let context = Context::from_json_value(request.context(), self.schema.map(|s| (s, &action))).unwrap();
        let entities = match self.schema {
            Some(schema) => Entities::from_json_value(resource, Some(schema)).unwrap(),
            None => self.actions.clone().add_entities_from_json_value(resource, None).unwrap(),
        };
        let asked = CedarRequest::new(uid("Assistant", "it"), action, uid(&kind, "it"), context, self.schema).unwrap();
        let response = Authorizer::new().is_authorized(&asked, self.set, &entities);
        let failing =
            response.diagnostics().errors().map(|AuthorizationError::PolicyEvaluationError(e)| self.ids[e.policy_id()]);
        (response.diagnostics().reason().map(|id| self.ids[id]).collect(), failing.collect())
    }
}
