//! `obligato chat`: a conversation, typed or from a pipe.

use std::io::{self, BufRead, IsTerminal};

use tokio::sync::mpsc;

use super::say::{Peer, turn};
use super::show::Screen;
use super::{CliError, Exit};

/// Talk with the running service: typed on a terminal, or one sentence a line from a pipe
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    peer: Peer,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    super::block_on(async {
        let mut client = args.peer.connect().await?;
        let mut talk = client.open(false).await?;
        let mut screen = Screen::stdout();
        let typed = io::stdin().is_terminal();
        let json = args.peer.json;
        if !json {
            let how = if typed { "; Ctrl-C stops a turn, Ctrl-D ends" } else { "" };
            screen.note(&format!("{}{how}\n", client.about().await?)).map_err(CliError::output)?;
        }
        let mut lines = lines();
        loop {
            if typed && !json {
                screen.prompt().map_err(CliError::output)?;
            }
            let line = tokio::select! {
                line = lines.recv() => line,
                () = talk.idle() => None,
            };
            let Some(line) = line.transpose().map_err(CliError::input)? else { break };
            let line = line.trim();
            // A line that starts with `#` is a remark in a script.
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if !typed && !json {
                screen.driver(line).map_err(CliError::output)?;
            }
            turn(&mut client, &mut talk, &mut screen, line, json).await?;
        }
        if typed && !json {
            screen.note("").map_err(CliError::output)?;
        }
        Ok(Exit::Done)
    })
}

/// The lines of standard input, read on a thread of its own: a read from a terminal cannot be
/// interrupted, and it must not hold up a turn.
fn lines() -> mpsc::Receiver<io::Result<String>> {
    let (send, receive) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receive
}
