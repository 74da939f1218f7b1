//! Manual pages and completions.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::rig::root;
use super::tools::printed;

/// The subcommands that `obligato --help` lists.
fn commands() -> BTreeSet<String> {
    let help = printed(&["--help"], 0);
    let listed = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap().to_owned();
    let names = listed.lines().filter(|l| l.starts_with("  ") && !l.starts_with("   "));
    names.filter_map(|l| l.split_whitespace().next()).filter(|n| *n != "help").map(str::to_owned).collect()
}

/// The part of the Yocto recipe that installs what `obligato man` wrote.
fn installing() -> String {
    let name = format!("obligato_{}.bb", env!("CARGO_PKG_VERSION"));
    let recipe = root().join("yocto/meta-obligato/recipes-obligato/obligato").join(name);
    let text = fs::read_to_string(recipe).unwrap();
    let begin = text.find("    if [ -n \"${OBLIGATO_MAN}\" ]; then").unwrap();
    let end = text[begin..].find("\n    fi\n").unwrap() + "\n    fi\n".len();
    text[begin..begin + end].to_owned()
}

/// The files below a folder, by their paths from there.
fn files(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        match path.is_dir() {
            true => files(&path).into_iter().map(|file| format!("{name}/{file}")).collect(),
            false => vec![name],
        }
    };
    entries.flat_map(below).collect()
}

#[test]
fn the_recipe_of_an_image_installs_every_page_and_every_completion_where_it_is_looked_for() {
    let (made, image) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    printed(&["man", made.path().to_str().unwrap()], 0);
    let install = |man: &Path| {
        let variables = [("mandir", "/usr/share/man"), ("datadir", "/usr/share")];
        let mut shell = Command::new("sh");
        shell.args(["-eu", "-c", &installing()]).envs(variables).env("D", image.path()).env("OBLIGATO_MAN", man);
        assert!(shell.status().unwrap().success());
        files(image.path())
    };
    assert_eq!(install(Path::new("")), BTreeSet::new(), "nothing where nobody names a folder");
    let installed = install(made.path());
    let pages = files(made.path()).into_iter().filter(|file| file.starts_with("man"));
    let completions = ["obligato", "obligatod"].into_iter().flat_map(|program| {
        [
            format!("bash-completion/completions/{program}"),
            format!("zsh/site-functions/_{program}"),
            format!("fish/vendor_completions.d/{program}.fish"),
        ]
    });
    let wanted = pages.map(|page| format!("man/{page}")).chain(completions);
    assert_eq!(installed, wanted.map(|file| format!("usr/share/{file}")).collect());
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
