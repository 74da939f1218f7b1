//! Real rules of two models for the public policy, held against ours.

use std::path::Path;

use obligato::compile::import::{Against, ImportReport, Standing, import};
use obligato::compile::{SetSource, SourceFile};

fn report(name: &str) -> Option<ImportReport> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/carbench");
    if !shared.exists() {
        println!("skipped: ../shared/carbench is absent, so there is nothing to import");
        return None;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/car-bench");
    let (prose, tools) = (shared.join("policy.md"), shared.join("tools.json"));
    let set = SetSource::read(&folder, Some(&prose), Some(&tools)).unwrap();
    Some(import(&set, &SourceFile::read(&shared.join(name)).unwrap()).unwrap_or_else(|errors| panic!("{errors}")))
}

/// Identifiers with an executable form, what became of it and the reason that begins with, or the case.
fn executable(report: &ImportReport) -> Vec<(&str, Standing, &str)> {
    let forms = report.rules.iter().filter(|r| matches!(r.standing, Some(Standing::Executable | Standing::Refused)));
    forms.map(|r| (r.id.as_str(), r.standing.unwrap(), r.against.as_str())).collect()
}

#[test]
fn of_the_first_models_forms_those_with_guessed_fields_are_refused_and_the_rest_lacks_its_guard() {
    let Some(report) = report("compiled_rules_a.json") else { return };
    assert_eq!(
        executable(&report),
        [
            ("010_a", Standing::Refused, "missing"),
            ("010_b", Standing::Executable, "broader"),
            ("010_c", Standing::Refused, "missing"),
            ("011_a", Standing::Executable, "broader"),
            ("011_b", Standing::Refused, "missing"),
            ("013_a", Standing::Refused, "missing"),
            ("013_b", Standing::Refused, "missing"),
        ]
    );
    let of = |id: &str| report.rules.iter().find(|r| r.id == id).unwrap();
    assert!(of("010_a").reasons[0].contains("`fan_speed_level` matches nothing"), "{:?}", of("010_a").reasons);
    let Against::Compared(case) = &of("011_a").against else { panic!("011_a") };
    assert!(
        case.exhaustive
            && ["context.input.on = false", "(on: false)"].iter().any(|on| case
                .only_first
                .as_ref()
                .unwrap()
                .contains(on)),
        "{case:?}"
    );
    assert!(!of("011_a").other_remedy);
}

#[test]
fn of_the_second_models_forms_a_lost_item_and_guessed_words_are_refused() {
    let Some(report) = report("compiled_rules_b.json") else { return };
    let of = |id: &str| report.rules.iter().find(|r| r.id == id).unwrap();
    assert!(of("011_a").reasons.iter().any(|why| why.contains("the item is lost")), "{:?}", of("011_a").reasons);
    assert!(of("013_a").reasons[0].contains("`low_beam_status` matches nothing"), "{:?}", of("013_a").reasons);
    let Against::Compared(fan) = &of("011_b").against else { panic!("{:?}", of("011_b")) };
    assert!(fan.only_first.is_some() && fan.only_second.is_none() && fan.exhaustive, "{fan:?}");
    assert!(report.rules.iter().any(|r| r.standing.is_none()), "what the model dropped is listed");
}
