//! Runs one gate on the kitchen of [`crate::policy::testing`].

use super::{Findings, Gate, View};
use crate::model::{Draft, Finding, Value};
use crate::obligations::Owed;
use crate::policy::Policy;
use crate::state::{History, Now, NowField};
use serde_json::json;

pub(super) use crate::policy::testing::{Talk, call, calls, kitchen, parts};

/// What a gate finds in a draft for which the policy owes nothing.
pub(super) fn check(gate: &Gate, policy: &Policy, history: &History, draft: &Draft) -> Vec<Finding> {
    check_owed(gate, policy, history, draft, Owed { amended: draft.clone(), ..Owed::default() })
}

/// What a gate finds in a draft for which the policy owes this.
pub(super) fn check_owed(gate: &Gate, policy: &Policy, history: &History, draft: &Draft, owed: Owed) -> Vec<Finding> {
    let mut findings = Findings::default();
    (gate.check)(&View::new(policy, history, draft, &owed), &mut findings).unwrap();
    findings.take()
}

/// A tour of tables 1, 2 and 3, the robot at the first; paths between them and to table 4 are known.
pub(super) fn tour(talk: Talk<'_>) -> History {
    let path = |id: &str, from: &str, to: &str| json!({"path_id": id, "from_id": from, "to_id": to});
    let paths = json!({"paths": [path("pat_13", "tab_1", "tab_3"), path("pat_14", "tab_1", "tab_4"), path("pat_43", "tab_4", "tab_3")]});
    let mut history = talk
        .driver("change the tour")
        .done("get_tour", json!({}), json!({"table_ids": ["tab_1", "tab_2", "tab_3"]}))
        .done("search_paths", json!({}), paths)
        .history();
    let mut now = Now::default();
    now.set(NowField::Location, Value::word("tab_1"));
    history.set_now(now);
    history
}
