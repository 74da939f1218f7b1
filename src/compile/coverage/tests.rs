use super::*;
use crate::compile::testing::compiled;
use crate::policy::Rule;

const PROSE: &str = "# Greenhouse\n- Vents close when the fan runs. They stay shut.\n\nBe kind.\n";

/// A rule about line 2, and one about line 4 that only advises.
fn rules() -> Vec<Rule> {
    let mut rules = compiled(
        "@id(\"shut\") @source(\"policy.md:3\") @kind(\"prohibition\")
        forbid (principal, action == Action::\"set_vent\", resource is Car) when { context.input.opening > 0 };
        @id(\"kind\") @source(\"policy.md:3\") @kind(\"constraint\") @advise(\"Be kind.\")
        forbid (principal, action == Action::\"reply\", resource is Car);",
    )
    .parts
    .rules;
    rules[0].source = "policy.md:2".into();
    rules[1].source = "policy.md:4".into();
    rules
}

fn accounts(entries: &str) -> Result<Vec<Account>, String> {
    let prose = SourceFile::new("greenhouse/policy.md", PROSE);
    let rules = rules();
    account_for(&prose, &SourceFile::new("greenhouse/coverage.toml", entries), &rules).map_err(|e| e.to_string())
}

const FIRST: &str = "[[sentence]]\nline = 2\nbegins = \"Vents\"\nrules = [\"shut\"]\n";
const SECOND: &str = "[[sentence]]\nline = 2\nbegins = \"They stay\"\ngates = [\"no-op\"]\nrest = \"for how long\"\n";
const THIRD: &str = "[[sentence]]\nline = 4\nbegins = \"Be kind.\"\nadvisory = \"a matter of tone\"\n";

#[test]
fn rules_and_entries_account_for_every_sentence() {
    let accounts = accounts(&[FIRST, SECOND, THIRD].concat()).unwrap();
    let standings: Vec<Standing> = accounts.iter().map(|a| a.standing).collect();
    assert_eq!(standings, [Standing::Executable, Standing::Gate, Standing::Advisory]);
    assert_eq!(accounts[0].rules, ["shut"]);
    assert_eq!(accounts[1].why.as_deref(), Some("for how long"));
    assert_eq!(
        (accounts[2].rules.as_slice(), accounts[2].why.as_deref()),
        (&["kind".to_owned()][..], Some("a matter of tone"))
    );
}

#[test]
fn a_sentence_of_which_nothing_is_said_is_an_error_with_its_line() {
    let told = accounts(&[FIRST, THIRD].concat()).unwrap_err();
    assert!(
        told.starts_with("greenhouse/policy.md:2: nothing accounts for `They stay shut.`; cite the line"),
        "{told}"
    );
}

#[test]
fn a_sentence_that_moved_or_changed_is_an_error_with_the_line_of_its_entry() {
    let moved = accounts(&[FIRST, SECOND, &THIRD.replace("line = 4", "line = 5")].concat()).unwrap_err();
    assert!(moved.contains("greenhouse/coverage.toml:10: no sentence that begins on line 5"), "{moved}");
    assert!(moved.contains("it stands on line 4"), "{moved}");
    let changed = accounts(&[FIRST, SECOND, &THIRD.replace("Be kind", "Be rude")].concat()).unwrap_err();
    assert!(changed.contains("quote it as it is, or delete the entry"), "{changed}");
}

#[test]
fn no_sentence_is_accounted_for_twice() {
    for (entries, says) in [
        ([FIRST, SECOND, THIRD, THIRD].concat(), "line 10 is about the same sentence"),
        ([&FIRST.replace("rules", "description = \"x\"\nrules"), SECOND, THIRD].concat(), "rule `shut` decides this"),
        ([FIRST, &SECOND.replace("rest", "description"), THIRD].concat(), "with `gates` is not mere description"),
        ([FIRST, SECOND, &THIRD.replace("adv", "rules = [\"kind\"]\nadv")].concat(), "cites this line already"),
        ([FIRST, SECOND, &THIRD.replace("adv", "undecidable = \"y\"\nadv")].concat(), "exclude each other"),
    ] {
        let told = accounts(&entries).unwrap_err();
        assert!(told.contains(says), "{told}");
    }
}

#[test]
fn rules_and_gates_must_exist_and_belong_to_one_sentence() {
    for (entries, says) in [
        ([&FIRST.replace("shut", "shot"), SECOND, THIRD].concat(), "there is no rule `shot`; did you mean `shut`?"),
        ([FIRST, &SECOND.replace("no-op", "no-up"), THIRD].concat(), "there is no gate `no-up`; did you mean `no-op`?"),
        (
            [&FIRST.replace("rules = [\"shut\"]", "description = \"x\""), SECOND, THIRD].concat(),
            "rule `shut` cites line 2, where 2 sentences begin",
        ),
        ([FIRST, SECOND].concat(), "rule `kind` only advises the critic"),
        (
            [FIRST, SECOND, THIRD, "[[sentence]]\nline = 2\nbegins = \"T\"\n"].concat(),
            "neither `rules` nor `gates` nor a reason",
        ),
        ([FIRST, SECOND, &THIRD.replace("a matter of tone", " ")].concat(), "is empty; write it out"),
        ([FIRST, SECOND, THIRD, "[[sentance]]"].concat(), "unknown field `sentance`"),
    ] {
        let told = accounts(&entries).unwrap_err();
        assert!(told.contains(says), "{told}");
    }
    let cited_nowhere = {
        let mut rules = rules();
        rules.truncate(1);
        rules[0].source = "policy.md:1".into();
        account_for(&SourceFile::new("p.md", "# X\n"), &SourceFile::new("c.toml", ""), &rules).unwrap_err().to_string()
    };
    assert_eq!(
        cited_nowhere,
        "p.md:1: rule `shut` cites line 1, where no sentence begins; cite the line of its sentence"
    );
}
