//! Journals of several cars on an engine that people already run.

use std::fs;
use std::process::Command;

use serde_json::{Value as Json, json};

use super::rig::{Rig, calls, root, says};
use super::tools::*;

/// A Python that has DuckDB; none, with the reason printed, where there is no such one. `OBLIGATO_PYTHON` and
/// `PYTHONPATH` name others than the first one found.
fn python() -> Option<String> {
    let python = std::env::var("OBLIGATO_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python).args(["-c", "import duckdb"]).output();
    if found.is_ok_and(|f| f.status.success()) {
        return Some(python);
    }
    println!("skipped: `{python}` has no module duckdb (cross/prerequisites names the way)");
    None
}

/// The answers of DuckDB to the sample queries, by their names.
fn queried(python: &str, files: &str) -> Json {
    let output = Command::new(python).arg(root().join("tests/journal/queries.py")).arg(files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journals_of_a_fleet_answer_the_sample_queries() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut rows = 0;
    for car in ["a", "b"] {
        let at = folder.path().join(car);
        let rig = Rig::start(keeping(&at)).await;
        let client = client(&rig).await;
        let session = client.open().await;
        cool(&session).await;
        if car == "b" {
            heard(&session, "Open the driver window to 25 percent.").await;
            execute(&session, &calls(&[("set_air_conditioning", json!({"on": false}))])).await;
            execute(&session, &calls(&[("open_close_window", json!({"window": "DRIVER", "percentage": 25}))])).await;
        }
        execute(&session, &says("")).await;
        if car == "b" {
            let object = journal(&client).await;
            until("the count", || async { object.undone().await.unwrap().contains_key("ac-closes-windows") }).await;
        }
        let _rig = ended(rig).await;
        let out = folder.path().join(format!("{car}.parquet"));
        let told = printed(&["log", at.to_str().unwrap(), "--export", out.to_str().unwrap()], 0);
        rows += told.split_whitespace().next().unwrap().parse::<usize>().unwrap();
        assert_eq!(&fs::read(&out).unwrap()[..4], b"PAR1");
    }
    let told = queried(&python, folder.path().join("*.parquet").to_str().unwrap());
    assert_eq!(told["rows"], json!([[rows]]));
    let by_rule = told["findings_by_rule"].as_array().unwrap();
    assert!(by_rule.iter().any(|r| r[0] == "ac-closes-windows" && r[1].as_u64().unwrap() >= 2), "{by_rule:?}");
    let precision = told["precision_by_rule"].as_array().unwrap();
    let windows = precision.iter().find(|r| r[0] == "ac-closes-windows").unwrap();
    assert_eq!((&windows[1], &windows[2]), (&json!(4), &json!(1)), "{precision:?}");
    let verdicts = told["verdicts"].as_array().unwrap();
    assert!(verdicts.iter().any(|r| r[0] == "amend" && r[1] == 2), "{verdicts:?}");
    assert!(told["slowest"][0][1].as_f64().unwrap() > 0.0, "{told:#}");
}
