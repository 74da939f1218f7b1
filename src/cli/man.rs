//! `obligato man`: manual pages and shell completions, from the definition of the command lines.

use std::fs;
use std::path::PathBuf;

use clap::CommandFactory;
use clap_complete::{Shell, generate_to};

use super::{Cli, CliError, Exit, daemon};

/// Write manual pages and shell completions of both programs into a folder
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(super) struct Args {
    /// Folder for `man1`, `man8` and `completions`
    out: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let error = |source| CliError::File { path: args.out.display().to_string(), source };
    let completions = args.out.join("completions");
    let folder = |section: &str| {
        let folder = args.out.join(section);
        fs::create_dir_all(&folder).map_err(error).map(|()| folder)
    };
    fs::create_dir_all(&completions).map_err(error)?;
    for command in [Cli::command(), daemon::Args::command()] {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let name = command.get_name().to_owned();
            generate_to(shell, &mut command.clone(), name, &completions).map_err(error)?;
        }
    }
    // One page a subcommand: `obligato-log.1`.
    clap_mangen::generate_to(Cli::command(), folder("man1")?).map_err(error)?;
    let mut page = Vec::new();
    clap_mangen::Man::new(daemon::Args::command()).section("8").render(&mut page).map_err(error)?;
    fs::write(folder("man8")?.join("obligatod.8"), page).map_err(error)?;
    Ok(Exit::Done)
}
