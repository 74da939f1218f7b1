//! Judging the draft of one test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Event, PolicyTest};
use crate::model::{Decision, Resolution, Tier, VerdictReport};
use crate::policy::{Advice, HardLimits, Policy};
use crate::state::{EffectModel, History, Now, Outcome};
use crate::verify::{Binding, SessionId, Step, report};

/// One way in which a draft was judged otherwise than a test says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// Another verdict.
    #[error("the verdict is {}, not {}", .found.as_str(), .due.as_str())]
    Verdict {
        /// The verdict that is due.
        due: Decision,
        /// The verdict that was given.
        found: Decision,
    },
    /// A call that should be owed is not.
    #[error("not owed: {0}")]
    NotOwed(String),
    /// A call is owed that should not be.
    #[error("owed as well: {0}")]
    OwedToo(String),
    /// No finding names the rule.
    #[error("no finding names the rule `{0}`")]
    NotFound(String),
}

/// Judges the draft of one test. An empty list means that it passes.
pub fn run(policy: &Policy, test: &PolicyTest) -> (Vec<Mismatch>, VerdictReport) {
    let history = history(policy, test);
    let limits = HardLimits::default();
    let step = Step {
        policy,
        limits: &limits,
        history: &history,
        advice: Advice::Remedies,
        binding: Binding { session: SessionId::from("test"), policy: policy.hash, epoch: 0 },
        critic: None,
        valve: None,
    };
    let checked = step.check(&test.draft);
    let mut mismatches = Vec::new();
    let found = checked.verdict.decision();
    if found != test.verdict {
        mismatches.push(Mismatch::Verdict { due: test.verdict, found });
    }
    if let Some(owed) = &test.owed {
        let due: BTreeSet<_> = owed.iter().map(|c| (c.key(), c.to_string())).collect();
        let owed_calls = checked.findings.iter().filter(|f| f.tier == Tier::Owed).flat_map(|f| &f.remedy);
        let given: BTreeSet<_> = owed_calls.map(|c| (c.key(), c.to_string())).collect();
        let missing = |from: &BTreeSet<_>, (key, _): &(_, String)| !from.iter().any(|(k, _)| k == key);
        mismatches.extend(due.iter().filter(|c| missing(&given, c)).map(|(_, c)| Mismatch::NotOwed(c.clone())));
        mismatches.extend(given.iter().filter(|c| missing(&due, c)).map(|(_, c)| Mismatch::OwedToo(c.clone())));
    }
    for rule in &test.found {
        if !checked.findings.iter().any(|f| f.rule.as_ref().is_some_and(|r| r.as_str() == rule)) {
            mismatches.push(Mismatch::NotFound(rule.clone()));
        }
    }
    (mismatches, report(&checked))
}

fn history(policy: &Policy, test: &PolicyTest) -> History {
    let mut history = History::new(&policy.model);
    history.set_system(&policy.model, &system_message(&policy.model, &test.now));
    history.end_step();
    for event in &test.history {
        match event {
            Event::Driver(said) => history.heard(said),
            Event::Assistant(said) => history.said(said),
            Event::Call { call, result } => {
                let made = history.called(&policy.inventory, call.clone());
                history.end_step();
                let outcome = match result {
                    Ok(payload) => Outcome::Done(Arc::new(payload.clone())),
                    Err(why) => Outcome::Failed(why.as_str().into()),
                };
                history.settle(&policy.model, &policy.inventory, made, outcome, None);
            }
        }
        history.end_step();
    }
    history
}

/// Place and time as a system message says them: what stands there may also be named in calls.
fn system_message(model: &EffectModel, now: &Now) -> String {
    let mut assigned: BTreeMap<&str, Json> = BTreeMap::new();
    for (field, name, path) in &model.now.fields {
        let value = now.get(*field);
        if !value.is_known() {
            continue;
        }
        let mut at = assigned.entry(name).or_insert_with(|| Json::Object(Default::default()));
        for member in path.split('.') {
            if !at.is_object() {
                *at = Json::Object(Default::default());
            }
            let Json::Object(members) = at else { break };
            at = members.entry(member).or_insert(Json::Null);
        }
        *at = value.to_json(Resolution::ONE);
    }
    assigned.iter().map(|(name, json)| format!("{name} = {json}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Value;
    use crate::state::{NowField, NowPaths};

    #[test]
    fn place_and_time_stand_in_the_system_message() {
        let fields = vec![
            (NowField::Location, "HERE".into(), "id".into()),
            (NowField::Hour, "HERE".into(), "clock.hour".into()),
        ];
        let model = EffectModel { now: NowPaths { fields }, ..EffectModel::default() };
        let mut now = Now::default();
        now.set(NowField::Location, Value::word("bed_7"));
        now.set(NowField::Hour, Value::Int(6));
        let message = system_message(&model, &now);
        let json = message.strip_prefix("HERE = ").and_then(|json| json.strip_suffix('\n')).unwrap();
        let json: Json = serde_json::from_str(json).unwrap();
        assert_eq!(json, serde_json::json!({"clock": {"hour": 6}, "id": "bed_7"}));
    }
}
