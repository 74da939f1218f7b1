//! The service's configuration: one TOML file, every path of it overridable from the command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::{Bus, JournalConfig, ServiceError, ShadowConfig, TelemetryConfig};
use crate::turn;

/// Everything `obligatod` is told.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Compiled policy; the service does not start without one.
    pub policy: Option<PathBuf>,
    /// Hard limits of the image; none: no limits beneath the policy.
    pub limits: Option<PathBuf>,
    /// How turns are run.
    pub turn: turn::Config,
    /// Who drafts.
    pub student: StudentConfig,
    /// The car.
    pub vehicle: VehicleConfig,
    /// What becomes of policy text that a session brings along.
    pub offer: OfferConfig,
    /// Updates of the policy.
    pub update: UpdateConfig,
    /// What is recorded.
    pub journal: JournalConfig,
    /// What judges without acting.
    pub shadow: ShadowConfig,
    /// Where traces go.
    pub telemetry: TelemetryConfig,
    /// The service itself.
    pub service: ServiceConfig,
}

/// Updates of the policy.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpdateConfig {
    /// What the image trusts and is (TOML); none: the policy is only updated with the image.
    pub trust: Option<PathBuf>,
    /// Folder of the slots.
    pub slots: PathBuf,
    /// File of the rollback floor, outside of anything that an A/B update of the image switches.
    pub floor: PathBuf,
    /// Group whose members may update; a name of `/etc/group`, or a number.
    pub group: String,
}

impl Default for UpdateConfig {
    /// The folders of `systemd/obligato.tmpfiles`, the group of `systemd/obligato.sysusers`.
    fn default() -> Self {
        Self {
            trust: None,
            slots: "/var/lib/obligato/policy".into(),
            floor: "/var/lib/obligato/floor".into(),
            group: "obligato-update".to_owned(),
        }
    }
}

/// What becomes of an offered text that no compiler on board can compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WithoutCompiler {
    /// The offer is refused.
    #[default]
    Refuse,
    /// Its lines are hints for the critic.
    Advise,
}

/// What becomes of policy text that a session brings along.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OfferConfig {
    /// Folder of compiled offers; none: each one is compiled anew.
    pub cache: Option<PathBuf>,
    /// What to do without a compiler.
    pub without_compiler: WithoutCompiler,
    /// Recorded answers as author of the compiler (host builds).
    pub answers: Option<PathBuf>,
    /// Address of an OpenAI-compatible server as author of the compiler, without `/chat/completions`
    /// (host builds).
    pub server: Option<String>,
    /// Name of the model on that server.
    pub name: Option<String>,
    /// Environment variable that holds the key of that server.
    pub key_variable: Option<String>,
}

/// Kinds of student.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StudentKind {
    /// A GGUF model in this process.
    Llama,
    /// A file of drafts, for tests.
    Scripted,
    /// An OpenAI-compatible server, for a bench.
    Remote,
    /// None: assistants bring their own drafts (`Verify`, `Execute`).
    #[default]
    None,
}

/// Who drafts.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StudentConfig {
    /// Which kind.
    pub kind: StudentKind,
    /// The model file of `llama`.
    pub model: Option<PathBuf>,
    /// SHA-256 that the model file must have.
    pub sha256: Option<String>,
    /// Examples that `llama` drafts after.
    pub examples: Option<PathBuf>,
    /// How the model of `llama` is run: a settings file; what is set here comes before it.
    pub settings: Option<PathBuf>,
    /// Folder in which `llama` keeps the state of its prompt from one start to the next.
    pub cache: Option<PathBuf>,
    /// Tokens of the context of `llama`.
    pub context: Option<u32>,
    /// Threads of `llama`.
    pub threads: Option<i32>,
    /// Address of the server of `remote`, without `/chat/completions`.
    pub server: Option<String>,
    /// Name of the model on that server.
    pub name: Option<String>,
    /// Environment variable that holds the key of that server.
    pub key_variable: Option<String>,
    /// The drafts of `scripted`.
    pub script: Option<PathBuf>,
}

/// Kinds of car.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VehicleKind {
    /// A simulated one in this process.
    #[default]
    Sim,
    /// A real one, or the bench of one, behind a KUKSA databroker.
    Kuksa,
}

/// The car.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VehicleConfig {
    /// Which kind.
    pub kind: VehicleKind,
    /// The way to the databroker of `kuksa`.
    #[cfg(feature = "kuksa")]
    pub kuksa: crate::vehicle::kuksa::Settings,
    /// State of the simulated car.
    pub state: Option<PathBuf>,
    /// Place and time, by the names that the policy gives them (`CURRENT_LOCATION = { id = "loc_1" }`); each that
    /// is named here overrules the car and the clock. A time runs on from the start of the service.
    pub now: serde_json::Map<String, serde_json::Value>,
    /// What this car lacks of the policy's inventory: `tool`, `tool.parameter` or `result.tool.field`.
    pub removed: Vec<String>,
    /// Tools that only a provider on the bus may carry out: without one they count as removed.
    pub provided: Vec<String>,
    /// Who may provide tools; nobody where none is named.
    pub provider: Vec<ProviderConfig>,
}

/// Who may provide tools over D-Bus.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderConfig {
    /// The owner of this bus name, for as long as it owns it.
    pub name: Option<String>,
    /// Every connection of the user with this identifier.
    pub user: Option<u32>,
    /// The tools it may provide; none named: every tool of the policy.
    pub tools: Option<Vec<String>>,
}

/// The service itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServiceConfig {
    /// The bus it is on.
    pub bus: Bus,
    /// Bus name of the speech service. Where one is named, only it may report what was heard.
    pub speech: Option<String>,
    /// Sessions that may be open at once.
    pub max_sessions: usize,
    /// Sessions that one connection may hold.
    pub max_sessions_per_client: usize,
    /// Sessions that one user may hold over all connections.
    pub max_sessions_per_user: usize,
    /// Calls that one connection may make in a second, a quarter of them at once; a call of 64 KiB counts for two. One
    /// that comes too early is refused when its time has come. 0: as many as it likes.
    pub calls_per_second: u32,
    /// Seconds after which an unused session is closed.
    pub idle_s: u64,
    /// Seconds that a running turn may take to end after SIGTERM before it is cancelled.
    pub drain_s: u64,
}

impl Default for ServiceConfig {
    /// A head unit has one or two assistants; 16 sessions leave room for tools, and no user takes more than half of
    /// them. An assistant makes some ten calls a turn, so 200 a second are far above what one needs. Ten minutes
    /// outlast a pause in a conversation. 8 s to drain stay inside `TimeoutStopSec=15`.
    fn default() -> Self {
        Self {
            bus: Bus::System,
            speech: None,
            max_sessions: 16,
            max_sessions_per_client: 4,
            max_sessions_per_user: 8,
            calls_per_second: 200,
            idle_s: 600,
            drain_s: 8,
        }
    }
}

impl ServiceConfig {
    /// Time after which an unused session is closed.
    pub(super) fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_s)
    }

    /// Time that a running turn may take to end.
    pub(super) fn drain(&self) -> Duration {
        Duration::from_secs(self.drain_s)
    }
}

impl Config {
    /// Reads a file. Paths in it are taken relative to its folder.
    ///
    /// # Errors
    /// [`ServiceError`] with the line or the setting that is wrong.
    pub fn read(path: &Path) -> Result<Self, ServiceError> {
        let error = |source| ServiceError::File { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(error)?;
        let mut config: Self = toml::from_str(&text)
            .map_err(|source| ServiceError::Config { path: path.to_owned(), source: Box::new(source) })?;
        config.journal.check().map_err(|why| ServiceError::Setting(format!("{}: {why}", path.display())))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let Self { policy, limits, student, vehicle, offer, update, journal, shadow, .. } = &mut config;
        let paths = [
            policy,
            limits,
            &mut student.model,
            &mut student.script,
            &mut student.examples,
            &mut student.settings,
            &mut student.cache,
            &mut vehicle.state,
            &mut offer.cache,
            &mut offer.answers,
            &mut update.trust,
            &mut journal.folder,
            &mut shadow.policy,
        ];
        #[cfg(feature = "kuksa")]
        let paths = paths.into_iter().chain([&mut vehicle.kuksa.ca, &mut vehicle.kuksa.token]);
        for relative in paths.into_iter().flatten() {
            *relative = folder.join(&relative);
        }
        for relative in [&mut update.slots, &mut update.floor] {
            *relative = folder.join(&relative);
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, ServiceError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("obligato.toml");
        std::fs::write(&path, text).unwrap();
        let mut config = Config::read(&path)?;
        config.policy = config.policy.map(|p| p.strip_prefix(folder.path()).unwrap().to_owned());
        Ok(config)
    }

    #[test]
    fn paths_are_relative_to_the_file_and_everything_else_has_a_default() {
        let config = read("policy = \"cabin.obl\"\n[service]\nidle_s = 5\n").unwrap();
        assert_eq!(config.policy.as_deref(), Some(Path::new("cabin.obl")));
        assert_eq!(config.service, ServiceConfig { idle_s: 5, ..ServiceConfig::default() });
    }

    #[cfg(feature = "kuksa")]
    #[test]
    fn a_databroker_is_named_with_its_files_beside_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("obligato.toml");
        let text = "[vehicle]\nkind = \"kuksa\"\n[vehicle.kuksa]\naddress = \"https://car:1\"\nca = \"ca.pem\"\ntoken = \"token\"\n";
        std::fs::write(&path, text).unwrap();
        let vehicle = Config::read(&path).unwrap().vehicle;
        assert_eq!((vehicle.kind, vehicle.kuksa.timeout_ms), (VehicleKind::Kuksa, 2_000));
        assert_eq!(vehicle.kuksa.ca, Some(folder.path().join("ca.pem")));
        assert_eq!(vehicle.kuksa.token, Some(folder.path().join("token")));
    }

    #[test]
    fn a_journal_that_cannot_be_kept_is_refused_with_the_file_that_wants_it() {
        let error = read("[journal]\nsegment_kib = 0\n").unwrap_err().to_string();
        assert!(error.contains("obligato.toml: `journal.segment_kib` is 0"), "{error}");
    }

    #[test]
    fn a_misspelt_key_is_refused_by_name() {
        let error = read("[student]\nkindd = \"llama\"\n").unwrap_err().to_string();
        assert!(error.contains("kindd"), "{error}");
    }
}
