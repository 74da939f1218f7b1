//! The arguments of `obligatod`, and the way into the service.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::service::{Bus, Config, ServiceError, StudentKind, run};

/// Serves `org.obligato.Harness1` on D-Bus: drafts, verifies, asks, executes only verified calls.
#[derive(Debug, Parser)]
#[command(name = "obligatod", version, args_override_self = true)]
pub(super) struct Args {
    /// Configuration (TOML); what follows overrides it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Compiled policy
    #[arg(long, value_name = "X.obl")]
    policy: Option<PathBuf>,
    /// Hard limits of the image (TOML)
    #[arg(long, value_name = "FILE")]
    limits: Option<PathBuf>,
    /// Who drafts
    #[arg(long, value_enum)]
    student: Option<Student>,
    /// The model: a GGUF file for `llama`, a name for `remote`
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Server of `remote`, without `/chat/completions`
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Examples that `llama` drafts after
    #[arg(long, value_name = "FILE")]
    examples: Option<PathBuf>,
    /// Drafts for `scripted`
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// State of the simulated car (TOML)
    #[arg(long, value_name = "FILE")]
    vehicle_state: Option<PathBuf>,
    /// `system`, `session` or a D-Bus address
    #[arg(long)]
    bus: Option<Bus>,
}

/// Kinds of student.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Student {
    /// A GGUF model in this process
    Llama,
    /// A file of drafts, for tests
    Scripted,
    /// An OpenAI-compatible server, for a bench
    Remote,
    /// None: assistants bring their own drafts
    None,
}

impl Args {
    fn config(self) -> Result<Config, ServiceError> {
        let mut config = self.config.as_deref().map_or_else(|| Ok(Config::default()), Config::read)?;
        if let Some(student) = self.student {
            config.student.kind = match student {
                Student::Llama => StudentKind::Llama,
                Student::Scripted => StudentKind::Scripted,
                Student::Remote => StudentKind::Remote,
                Student::None => StudentKind::None,
            };
        }
        config.policy = self.policy.or(config.policy);
        config.limits = self.limits.or(config.limits);
        config.student.examples = self.examples.or(config.student.examples);
        config.student.script = self.script.or(config.student.script);
        config.student.server = self.server.or(config.student.server);
        match config.student.kind {
            StudentKind::Remote => config.student.name = self.model.or(config.student.name),
            _ => config.student.model = self.model.map(PathBuf::from).or(config.student.model),
        }
        config.vehicle.state = self.vehicle_state.or(config.vehicle.state);
        config.service.bus = self.bus.unwrap_or(config.service.bus);
        Ok(config)
    }
}

/// Runs the service of this process.
pub fn main() -> ExitCode {
    match Args::parse().config().and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("obligatod: {error}");
            ExitCode::from(error.exit())
        }
    }
}
