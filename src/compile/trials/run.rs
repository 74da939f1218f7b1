//! Running all tests of a set, and running them without the rules that they name.

use std::fmt;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::file::Written;
use crate::model::{PolicyHash, VerdictReport};
use crate::policy::{Policy, PolicyParts};
use crate::trials::{Mismatch, run};

/// A test that fails.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The test.
    pub test: Written,
    /// How it fails.
    pub mismatches: Vec<Mismatch>,
    /// What the engine said.
    pub report: VerdictReport,
}

/// A test or a rule that shows nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Weak {
    /// The test passes without a rule that it names.
    Test {
        /// The test, with its place.
        test: String,
        /// The rule.
        rule: String,
    },
    /// No test fails without the rule.
    Rule(String),
}

impl fmt::Display for Weak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Test { test, rule } => {
                write!(f, "{test} passes without the rule `{rule}`; sharpen it or take the rule off its list")
            }
            Self::Rule(rule) => write!(f, "no test fails without the rule `{rule}`; write one that names it"),
        }
    }
}

/// What became of the tests of a set.
#[derive(Debug, Clone, Default)]
pub struct Trials {
    /// How many tests ran.
    pub tests: usize,
    /// How many of them passed.
    pub passed: usize,
    /// Tests that fail.
    pub failures: Vec<Failure>,
    /// Tests and rules that show nothing.
    pub weak: Vec<Weak>,
}

impl Trials {
    /// Whether everything passed and every rule is held by a test.
    pub fn good(&self) -> bool {
        self.failures.is_empty() && self.weak.is_empty()
    }
}

/// Runs all tests on all cores, then each without each rule that it names.
pub fn try_all(parts: &PolicyParts, policy: &Policy, tests: &[Written]) -> Trials {
    let judged = spread(tests, |written| run(policy, &written.test));
    let mut trials = Trials { tests: tests.len(), ..Trials::default() };
    let mut good: Vec<&Written> = Vec::new();
    for (test, (mismatches, report)) in tests.iter().zip(judged) {
        if mismatches.is_empty() {
            good.push(test);
        } else {
            trials.failures.push(Failure { test: test.clone(), mismatches, report });
        }
    }
    trials.passed = good.len();
    // A test that fails anyhow says nothing about its rules.
    let removed = spread(policy.rules(), |rule| {
        let id = rule.id.as_str();
        let naming: Vec<&&Written> = good.iter().filter(|t| t.test.rules.iter().any(|r| r == id)).collect();
        let Some(without) = without(parts, policy.hash, id).filter(|_| !naming.is_empty()) else {
            return vec![Weak::Rule(id.to_owned())];
        };
        let passing = naming.into_iter().filter(|written| run(&without, &written.test).0.is_empty());
        passing.map(|t| Weak::Test { test: format!("{}: `{}`", t.place, t.test.name), rule: id.to_owned() }).collect()
    });
    trials.weak = removed.into_iter().flatten().collect();
    trials
}

/// The policy without one rule.
fn without(parts: &PolicyParts, hash: PolicyHash, rule: &str) -> Option<Policy> {
    let mut parts = parts.clone();
    parts.rules.retain(|r| r.id.as_str() != rule);
    Policy::new(parts, hash).ok()
}

/// Maps items on all cores, answers in their order.
fn spread<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores)
            .map(|_| {
                scope.spawn(|| {
                    let mut mine = Vec::new();
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(item) = items.get(at) else { return mine };
                        mine.push((at, work(item)));
                    }
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::SourceFile;
    use crate::compile::testing::compiled;
    use crate::compile::trials::read;

    /// A fan that must not run with open vents, as a remedy that closes them.
    const RULE: &str = r#"@id("airing") @source("policy.md:3") @kind("auto-action")
@remedy("set_vent(vent: <resource>, opening: 0)")
forbid (principal, action == Action::"set_fan", resource is Vent)
when { context.input.on && resource.opening > 0 };"#;

    const TEST: &str = r#"
[[test]]
name = "the_fan_closes_open_vents_only"
rules = ["airing"]
driver = "turn on the fan"
observed.get_vents = { vent_north = 40, vent_south = 0 }
calls = ["set_fan(on: true)"]
verdict = "amend"
owed = ["set_vent(vent: NORTH, opening: 0)"]
found = ["airing"]
"#;

    fn tried(rules: &str, tests: &str) -> Trials {
        let parts = compiled(rules).parts;
        let policy = Policy::new(parts.clone(), PolicyHash::default()).unwrap();
        let tests = read(&SourceFile::new("t.toml", tests), &policy).unwrap_or_else(|e| panic!("{e}"));
        try_all(&parts, &policy, &tests)
    }

    #[test]
    fn a_test_that_holds_its_rule_is_good() {
        let trials = tried(RULE, TEST);
        assert!(trials.good(), "{trials:?}");
        assert_eq!((trials.tests, trials.passed), (1, 1));
    }

    #[test]
    fn a_rule_in_shadow_keeps_its_tests_and_theirs_hold_it() {
        let trials = tried(&format!("@shadow {RULE}"), TEST);
        assert!(trials.good(), "{trials:?}");
        assert_eq!(tried(&format!("@shadow {RULE}"), "").weak, [Weak::Rule("airing".to_owned())]);
        let wrong = tried(&format!("@shadow {RULE}"), &TEST.replace("\"amend\"", "\"clear\""));
        assert_eq!(wrong.failures.len(), 1, "{wrong:?}");
    }

    #[test]
    fn every_mismatch_is_told() {
        let wrong = TEST.replace("\"amend\"", "\"clear\"").replace("vent: NORTH", "vent: SOUTH");
        let trials = tried(RULE, &wrong);
        let told: Vec<String> = trials.failures[0].mismatches.iter().map(ToString::to_string).collect();
        assert_eq!(told[0], "the verdict is amend, not clear");
        assert!(told[1].starts_with("not owed: set_vent(") && told[1].contains("SOUTH"));
        assert!(told[2].starts_with("owed as well: set_vent(") && told[2].contains("NORTH"));
    }

    #[test]
    fn a_test_that_passes_without_its_rule_and_a_rule_without_a_test_are_weak() {
        let idle = TEST.replace("40", "0").replace("\"amend\"", "\"clear\"");
        let idle = idle.lines().filter(|l| !l.starts_with("owed") && !l.starts_with("found")).collect::<Vec<_>>();
        let weak = tried(RULE, &idle.join("\n")).weak;
        assert!(matches!(&weak[..], [Weak::Test { rule, .. }] if rule == "airing"), "{weak:?}");
        assert_eq!(tried(RULE, "").weak, [Weak::Rule("airing".to_owned())]);
    }
}
