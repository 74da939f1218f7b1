//! Clean sets pass with nothing silenced.

use obligato::compile::SetSource;
use obligato::compile::critic::{CHECKS, Critique, Level, Means, Observed, criticise};

use crate::mutator::{cabin, root, shared};
use crate::solver;

fn errors(critique: &Critique) -> Vec<String> {
    let errors = critique.findings.iter().filter(|f| f.level == Level::Error);
    errors.map(|f| format!("[{}] {} {:?}", f.check, f.what, f.example)).collect()
}

/// What the solver left open would be silence.
fn left_open(critique: &Critique) -> Vec<&str> {
    critique.findings.iter().filter(|f| f.check == "left-open").map(|f| f.what.as_str()).collect()
}

#[test]
fn the_cabin_passes_with_every_question_answered() {
    let proven = solver("proofs about the cabin");
    let critique = criticise(&cabin(), Means { observed: None, solver: true, only: &[] });
    assert_eq!(errors(&critique), Vec::<String>::new());
    if proven {
        assert_eq!(left_open(&critique), Vec::<&str>::new());
        assert!(critique.queries > critique.rules, "{} questions", critique.queries);
    }
}

#[test]
fn without_the_solver_it_says_so_and_names_what_is_not_proven() {
    let critique = criticise(&cabin(), Means { observed: None, solver: false, only: &[] });
    assert_eq!(errors(&critique), Vec::<String>::new());
    assert!(critique.no_solver.is_some() && critique.queries == 0);
    let open = left_open(&critique);
    assert!(open.iter().any(|w| w.contains("`tour-starts-at-the-car`")), "{open:?}");
    assert!(!open.iter().any(|w| w.contains("`ac-needs-fan`")), "small rules are enumerated: {open:?}");
}

#[test]
fn the_benchmark_set_passes_against_its_recordings() {
    let Some(folder) = shared("carbench") else { return };
    let (prose, tools) = (folder.join("policy.md"), folder.join("tools.json"));
    let set = SetSource::read(&root().join("policies/car-bench"), Some(&prose), Some(&tools)).unwrap();
    let mut observed = Observed::default();
    for name in ["bouchekir", "car-bench-paper", "nick"] {
        let file = std::fs::File::open(folder.join(format!("trajectories_{name}.jsonl.gz"))).unwrap();
        let text = std::io::read_to_string(flate2::read::MultiGzDecoder::new(file)).unwrap();
        observed.add(&text).unwrap();
    }
    let critique = criticise(&set, Means { observed: Some(&observed), solver: true, only: &[] });
    assert_eq!(errors(&critique), Vec::<String>::new());
}

#[test]
fn every_check_is_documented_alike() {
    for check in CHECKS {
        for heading in ["# Why", "# Example", "# Mend"] {
            assert!(check.explain.contains(heading), "{} lacks {heading}", check.name);
        }
        let file = root().join(format!("src/compile/critic/checks/{}.rs", check.name.replace('-', "_")));
        assert!(file.exists(), "{} has no file of its own", check.name);
    }
}
