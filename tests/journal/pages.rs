//! Manual pages and completions.

use std::collections::BTreeSet;
use std::fs;

use super::tools::printed;

/// The subcommands that `obligato --help` lists.
fn commands() -> BTreeSet<String> {
    let help = printed(&["--help"], 0);
    let listed = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap().to_owned();
    let names = listed.lines().filter(|l| l.starts_with("  ") && !l.starts_with("   "));
    names.filter_map(|l| l.split_whitespace().next()).filter(|n| *n != "help").map(str::to_owned).collect()
}

#[test]
fn every_subcommand_has_a_page_and_both_programs_complete_in_three_shells() {
    let folder = tempfile::tempdir().unwrap();
    printed(&["man", folder.path().to_str().unwrap()], 0);
    let commands = commands();
    assert!(commands.contains("log") && commands.contains("replay"), "{commands:?}");
    for command in &commands {
        let page = folder.path().join(format!("man1/obligato-{command}.1"));
        let text = fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
        assert!(text.contains(".SH NAME") && text.contains(".SH OPTIONS"), "{}", page.display());
    }
    let log = fs::read_to_string(folder.path().join("man1/obligato-log.1")).unwrap();
    assert!(log.contains("follow") && log.contains("Only from then on"), "{log}");
    let daemon = fs::read_to_string(folder.path().join("man8/obligatod.8")).unwrap();
    assert!(daemon.contains(".TH obligatod 8") && daemon.contains("vehicle"), "{daemon}");
    for file in ["obligato.bash", "_obligato", "obligato.fish", "obligatod.bash", "_obligatod", "obligatod.fish"] {
        let text = fs::read_to_string(folder.path().join("completions").join(file)).unwrap();
        assert!(text.contains("obligato"), "{file}");
    }
}
