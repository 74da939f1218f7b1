//! The second paper's set against Cedar's own authorizer, over random requests: decision, determining
//! and failing rules, and every answer that is given while part of the context is unknown.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::str::FromStr;

use cedar_policy::{
    AuthorizationError, Authorizer, Context, Decision as Cedar, Entities, EntityUid, PolicyId, PolicySet,
    Request as CedarRequest, Schema,
};
use obligato::compile::{SourceFile, compile_foreign};
use obligato::policy::foreign::{Denial, Environment, ForeignSet, Member, Request, Tier, Type, decide};
use obligato::policy::{Op, Slot};
use obligato::state::Literal;
use serde_json::{Map, Value, json};

use crate::world::Random;

/// Of so many requests it is also asked whether Cedar holds the schema to be kept.
const AGAINST_SCHEMA: usize = 2_000;

struct Paper {
    set: ForeignSet,
    cedar: PolicySet,
    schema: Schema,
    ids: HashMap<PolicyId, String>,
}

fn paper() -> Option<Paper> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = ["../../shared/medagentbench", "../shared/medagentbench"].map(|f| root.join(f));
    let Some(folder) = folder.into_iter().find(|f| f.exists()) else {
        println!("skipped: ../shared/medagentbench is absent, so the paper's set is not here");
        return None;
    };
    let read = |name: &str| SourceFile::read(&folder.join(name)).unwrap();
    let (rules, schema) = (read("policies.cedar"), read("schema.cedarschema"));
    let compiled = compile_foreign("paper", &rules, &schema).unwrap_or_else(|errors| panic!("{errors}"));
    let set = ForeignSet::from_blob(&compiled.parts.to_blob().unwrap()).unwrap();
    let cedar = PolicySet::from_str(rules.text()).unwrap();
    let ids = cedar.policies().map(|p| (p.id().clone(), p.annotation("id").unwrap().to_owned())).collect();
    let (schema, _) = Schema::from_cedarschema_str(schema.text()).unwrap();
    Some(Paper { set, cedar, schema, ids })
}

#[test]
fn the_papers_set_compiles_in_three_tiers_and_two_lineages() {
    let Some(paper) = paper() else { return };
    let parts = paper.set.parts();
    // 40 policies: one permits everything.
    assert_eq!((parts.rules.len(), parts.permits.len()), (39, 1));
    let table = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/medagentbench/cedar_rules_table.tsv"),
    )
    .unwrap();
    let mut compared = 0;
    for line in table.lines().skip(1) {
        let row: Vec<&str> = line.split('\t').collect();
        let Some(rule) = parts.rules.iter().find(|r| r.id.as_str() == format!("medagentbench_{}", row[0])) else {
            continue;
        };
        let tier = match row[2] {
            "cedar" => Tier::Stateless,
            "cedar+typed" => Tier::Typed,
            "cedar+session" => Tier::Session,
            other => panic!("{other}"),
        };
        assert_eq!(rule.tier, tier, "{}", rule.id);
        assert_eq!(rule.lineage(), if row[4] == "1" { "policy.md" } else { "tools.py" }, "{}", rule.id);
        compared += 1;
    }
    assert_eq!(compared, parts.rules.len());
}

#[test]
fn the_papers_programs_answer_as_cedar_does() {
    let Some(paper) = paper() else { return };
    let set = &paper.set;
    let pool = Pool::of(set);
    let mut random = Random(4);
    let (mut fired, mut quiet) = (BTreeSet::new(), BTreeSet::new());
    let (mut partly_decided, mut failed, mut kept, mut broken) = (0_usize, 0_usize, 0_usize, 0_usize);
    for round in 0..crate::differential::requests() {
        let rule = random.below(set.parts().rules.len()) as u16;
        let about: Vec<&Environment> =
            set.parts().environments.iter().filter(|e| e.rules.iter().any(|(r, _)| *r == rule)).collect();
        let environment = if random.one_in(16) { random.pick(&set.parts().environments) } else { *random.pick(&about) };
        let (context, sound) = pool.context(set, environment, &mut random);
        let (principal, action) = (environment.principal.as_str(), environment.action.as_str());
        let (resource, known) = (environment.resource.as_str(), &context);
        let request = Request { principal, action, resource, context: known, unknown: &[] };
        let decision = decide(set, &request);
        let ours = decision.answer.unwrap();
        let (allow, determining, failing) = paper.answer(environment, &context);
        let named = |rules: obligato::policy::foreign::RuleSet| {
            rules.iter().map(|r| set.rule(r).unwrap().id.as_str().to_owned()).collect::<BTreeSet<_>>()
        };
        let (hold, cannot) = (named(ours.determining), named(ours.failing));
        let shown = || format!("{action}: {}", Value::from(context.clone()));
        // Where Cedar allows, its determining policies are the permits.
        let forbids = if allow { BTreeSet::new() } else { determining };
        assert_eq!((ours.allow, &hold, &cannot), (allow, &forbids, &failing), "{}", shown());
        assert!(ours.undecided.is_empty(), "undecided with everything known: {}", shown());
        assert!(allow || !decision.allowed(), "the overlay allows what Cedar denies: {}", shown());
        if sound && round < AGAINST_SCHEMA || round % 64 == 0 {
            let keeps = paper.keeps_schema(environment, &context);
            let mismatch = matches!(decision.denial, Some(Denial::Mismatch(_)));
            assert_eq!(keeps, !mismatch, "the schema of {}", shown());
            kept += usize::from(keeps);
            broken += usize::from(!keeps);
        }
        for (rule, _) in &environment.rules {
            let holds = ours.determining.iter().any(|r| r == *rule);
            if holds {
                fired.insert(*rule)
            } else {
                quiet.insert(*rule)
            };
        }
        failed += usize::from(!failing.is_empty());
        // Hide some members. Whatever is still decided must be what the whole says; so must it be for
        // any other completion, and each of the requests is one of them.
        if sound {
            let hidden: Vec<&str> = pool.paths(set, environment).filter(|_| random.one_in(3)).collect();
            let partly = decide(set, &Request { unknown: &hidden, ..request }).answer.unwrap();
            for (rule, _) in &environment.rules {
                let is = |of: obligato::policy::foreign::RuleSet| of.iter().any(|r| r == *rule);
                if !is(partly.undecided) && !is(partly.failing) {
                    assert_eq!(is(partly.determining), is(ours.determining), "{hidden:?} of {}", shown());
                    partly_decided += 1;
                }
            }
        }
    }
    let all: BTreeSet<u16> = (0..set.parts().rules.len() as u16).collect();
    assert_eq!((&fired, &quiet), (&all, &all), "each rule must fire and must stay quiet");
    assert!(partly_decided > 0 && failed > 0 && kept > 0 && broken > 0);
    println!(
        "{failed} requests with failing rules, {partly_decided} rules decided in part, schema {kept} kept {broken} broken"
    );
}

impl Paper {
    fn answer(
        &self,
        environment: &Environment,
        context: &Map<String, Value>,
    ) -> (bool, BTreeSet<String>, BTreeSet<String>) {
        let request = request(environment, Context::from_json_value(context.clone().into(), None).unwrap(), None);
        let response = Authorizer::new().is_authorized(&request.unwrap(), &self.cedar, &Entities::empty());
        let name = |id: &PolicyId| self.ids[id].clone();
        let failing = response.diagnostics().errors();
        let failing = failing.map(|AuthorizationError::PolicyEvaluationError(e)| name(e.policy_id())).collect();
        let determining = response.diagnostics().reason().map(name).collect();
        (response.decision() == Cedar::Allow, determining, failing)
    }

    fn keeps_schema(&self, environment: &Environment, context: &Map<String, Value>) -> bool {
        let action = uid("Action", &environment.action);
        Context::from_json_value(context.clone().into(), Some((&self.schema, &action)))
            .is_ok_and(|context| request(environment, context, Some(&self.schema)).is_ok())
    }
}

fn uid(kind: &str, id: &str) -> EntityUid {
    EntityUid::from_str(&format!("{kind}::{id:?}")).unwrap()
}

fn request(environment: &Environment, context: Context, schema: Option<&Schema>) -> Result<CedarRequest, String> {
    let (principal, resource) = (uid(&environment.principal, "it"), uid(&environment.resource, "it"));
    CedarRequest::new(principal, uid("Action", &environment.action), resource, context, schema)
        .map_err(|e| e.to_string())
}

/// Values worth trying for each member: what the rules compare it with, and what lies beside it.
struct Pool {
    words: HashMap<String, Vec<String>>,
    numbers: Vec<i64>,
}

impl Pool {
    fn of(set: &ForeignSet) -> Self {
        let parts = set.parts();
        let mut words: HashMap<String, Vec<String>> = HashMap::new();
        let mut numbers = vec![i64::MIN, -1, 0, 1, i64::MAX];
        for program in &parts.programs {
            let mut last = None;
            for op in &program.ops {
                match op {
                    Op::Load(slot) => last = parts.tables.slot(*slot),
                    Op::Constant(c) => match (&parts.tables.constants[usize::from(*c)], last) {
                        (Literal::Text(text), Some(Slot::Context(path))) => {
                            words.entry(path.clone()).or_default().push(text.to_string());
                        }
                        (Literal::Int(n), _) => numbers.extend([*n - 1, *n, *n + 1]),
                        _ => {}
                    },
                    Op::Like(pattern) => {
                        if let Some(Slot::Context(path)) = last {
                            let pieces = &parts.tables.patterns[usize::from(*pattern)];
                            words.entry(path.clone()).or_default().push(pieces.join("x"));
                        }
                    }
                    _ => {}
                }
            }
        }
        Self { words, numbers }
    }

    /// Paths that rules read in an environment.
    fn paths<'s>(&self, set: &'s ForeignSet, environment: &Environment) -> impl Iterator<Item = &'s str> {
        let members = &set.parts().contexts[usize::from(environment.context)].members;
        members.iter().filter(|m| m.slot.is_some()).map(|m| m.path.as_str())
    }

    /// A context, and whether it is as the schema declares it.
    fn context(&self, set: &ForeignSet, environment: &Environment, random: &mut Random) -> (Map<String, Value>, bool) {
        let members = &set.parts().contexts[usize::from(environment.context)].members;
        let mut sound = true;
        let lawful = !random.one_in(4);
        let mut context = self.record(members, None, lawful, &mut sound, random);
        if !lawful && random.one_in(8) {
            context.insert("another".to_owned(), json!(1));
            sound = false;
        }
        (context, sound)
    }

    fn record(
        &self,
        members: &[Member],
        parent: Option<u16>,
        lawful: bool,
        sound: &mut bool,
        random: &mut Random,
    ) -> Map<String, Value> {
        let mut record = Map::new();
        for (member, at) in members.iter().zip(0_u16..).filter(|(m, _)| m.parent == parent) {
            if !member.required && random.one_in(3) {
                continue;
            }
            if !lawful && random.one_in(12) {
                let (gone, other) = (random.one_in(2), json!(["no", "such", "type"]));
                *sound &= gone && !member.required;
                if !gone {
                    record.insert(member.name.clone(), other);
                }
                continue;
            }
            let value = match &member.kind {
                Type::Bool => json!(random.one_in(2)),
                Type::Long => json!(random.pick(&self.numbers)),
                Type::Text => self.text(&member.path, random),
                Type::Set(_) => json!([]),
                Type::Entity(name) => json!({"__entity": {"type": name, "id": "it"}}),
                Type::Record => self.record(members, Some(at), lawful, sound, random).into(),
                other => panic!("the paper has no {other:?}"),
            };
            record.insert(member.name.clone(), value);
        }
        record
    }

    fn text(&self, path: &str, random: &mut Random) -> Value {
        let Some(words) = self.words.get(path) else { return json!("x") };
        match random.below(6) {
            0 => json!("something else"),
            1..=3 => json!(random.pick(words)),
            _ => json!(format!("{}{}", random.pick(words), random.pick(words))),
        }
    }
}
