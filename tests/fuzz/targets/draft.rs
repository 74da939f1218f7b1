//! What a student proposes.

use obligato::model::{Draft, Limits};

use super::scene::{cabin, judge, talk};

pub(super) fn run(data: &[u8]) {
    let Ok(draft) = Draft::from_bytes(data, &Limits::default()) else { return };
    let report = judge(cabin(), talk(), &draft);
    assert_eq!(report, judge(cabin(), talk(), &draft), "judged twice");
    assert!(report.amended.iter().all(|call| cabin().inventory.get(&call.tool).is_some()), "a tool of nobody passed");
    serde_json::to_string(&report).expect("a report can be written");
}
