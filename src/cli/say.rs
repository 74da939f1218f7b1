//! `obligato say`: one sentence to the service, and everything that comes of it.

use std::time::Duration;

use zbus::wire::OwnedObjectPath;

use super::client::{Client, Heard, Talk};
use super::show::Screen;
use super::{CliError, Exit};
use crate::service::Bus;

/// Say one sentence to the running service and show what comes of it
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What the driver says
    utterance: String,
    #[command(flatten)]
    peer: Peer,
    /// Go on in this session, which must be a detached one
    #[arg(long, value_name = "PATH", conflicts_with = "keep")]
    session: Option<String>,
    /// Leave the session open for `--session` and print its path on standard error
    #[arg(long)]
    keep: bool,
}

/// How the service is reached and how its turns are shown.
#[derive(Debug, clap::Args)]
pub(super) struct Peer {
    /// `system`, `session` or a D-Bus address [default: the session bus where there is one]
    #[arg(long)]
    bus: Option<Bus>,
    /// Seconds to wait for the model to load
    #[arg(long, default_value_t = 120)]
    wait: u64,
    /// Print each step as one line of JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Peer {
    /// Connects and waits for the model.
    pub(super) async fn connect(&self) -> Result<Client, CliError> {
        let bus = self.bus.clone().unwrap_or_else(Bus::of_environment);
        let client = Client::connect(&bus).await?;
        client.ready(Duration::from_secs(self.wait), || eprintln!("obligato: the model is loading")).await?;
        Ok(client)
    }
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    super::block_on(async {
        let mut client = args.peer.connect().await?;
        let mut talk = match &args.session {
            None => client.open(args.keep).await?,
            Some(path) => {
                let path = OwnedObjectPath::try_from(path.as_str())
                    .map_err(|_| CliError::Unknown(format!("`{path}` is no session path")))?;
                client.join(path).await?
            }
        };
        if args.keep {
            eprintln!("{}", talk.path());
        }
        let mut screen = Screen::stdout();
        if !args.peer.json {
            screen.driver(&args.utterance).map_err(CliError::output)?;
        }
        let done = turn(&mut client, &mut talk, &mut screen, &args.utterance, args.peer.json).await?;
        Ok(if matches!(done.as_str(), "replied" | "asked") { Exit::Done } else { Exit::No })
    })
}

/// Runs one turn and shows it; says how it ended.
pub(super) async fn turn<W: std::io::Write>(
    client: &mut Client,
    talk: &mut Talk,
    screen: &mut Screen<W>,
    utterance: &str,
    json: bool,
) -> Result<String, CliError> {
    let turn = talk.start(utterance).await?;
    loop {
        let shown = match talk.next(turn).await? {
            Heard::Event(event) if json => screen.raw(&serde_json::to_string(&event).unwrap_or_default()),
            Heard::Event(event) => {
                let rules = client.explain(&event).await;
                screen.event(&event, rules)
            }
            Heard::Other(other) if json => screen.raw(&other),
            Heard::Other(other) => {
                screen.other(&other);
                Ok(())
            }
            Heard::Reply(done) => {
                if !json {
                    screen.end(&done).map_err(CliError::output)?;
                }
                return Ok(done);
            }
        };
        shown.map_err(CliError::output)?;
    }
}
