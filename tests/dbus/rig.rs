//! A private bus with the service on it. Both end with the rig.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use obligato::service::{BUS_NAME, Bus, ManagerProxy, PolicyProxy, ProvidersProxy, SessionProxy};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use tokio_stream::StreamExt;
use zbus::message::Type;
use zbus::proxy::CacheProperties;
use zbus::wire::OwnedObjectPath;
use zbus::{Connection, MessageStream};

use super::support;

/// Long enough for a loaded machine; nothing waits for it when all is well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The cabin policy as a blob, compiled once a test binary.
pub(crate) fn cabin_blob() -> &'static Path {
    static BLOB: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = BLOB.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cabin.obl");
        fs::write(&path, support::cabin_blob()).unwrap();
        (folder, path)
    });
    path
}

/// A draft that calls.
pub(crate) fn calls(calls: &[(&str, Json)]) -> Json {
    let calls: Vec<Json> = calls
        .iter()
        .enumerate()
        .map(|(at, (tool, arguments))| {
            json!({"id": format!("c{at}"), "type": "function",
                "function": {"name": tool, "arguments": arguments.to_string()}})
        })
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

/// A draft that speaks.
pub(crate) fn says(text: &str) -> Json {
    json!({"role": "assistant", "content": text})
}

/// What the service is started with.
#[derive(Default)]
pub(crate) struct Setup {
    drafts: Vec<Json>,
    faults: String,
    config: String,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    endless: bool,
    limited: bool,
}

impl Setup {
    /// A script of drafts.
    pub(crate) fn drafts(drafts: &[Json]) -> Self {
        Self { drafts: drafts.to_vec(), ..Self::default() }
    }

    /// No student.
    pub(crate) fn without_student() -> Self {
        Self::default().argument("--student").argument("none")
    }

    /// Every call of a tool is never answered.
    pub(crate) fn stalling(mut self, tool: &str) -> Self {
        self.faults.push_str(&format!("[[fault]]\ntool = \"{tool}\"\nmode = \"stall\"\n"));
        self
    }

    /// More configuration.
    pub(crate) fn config(mut self, toml: &str) -> Self {
        self.config.push_str(toml);
        self
    }

    /// The script begins anew when it has come to its end.
    #[allow(dead_code, reason = "a load needs it")]
    pub(crate) fn endless(mut self) -> Self {
        self.endless = true;
        self
    }

    /// The bus has the limits that an image gives it.
    #[allow(dead_code, reason = "a load needs it")]
    pub(crate) fn limited(mut self) -> Self {
        self.limited = true;
        self
    }

    /// A variable of the service's environment.
    #[allow(dead_code, reason = "a load needs it")]
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// One more argument.
    pub(crate) fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }
}

/// A private bus and the service.
pub(crate) struct Rig {
    folder: TempDir,
    address: String,
    bus: Child,
    service: Child,
}

impl Rig {
    /// Starts both and waits until the service is on the bus.
    pub(crate) async fn start(setup: Setup) -> Self {
        let mut rig = Self::launch(setup);
        let connection = rig.connect().await;
        let bus = zbus::fdo::DBusProxy::new(&connection).await.unwrap();
        let deadline = Instant::now() + PATIENCE;
        while !bus.name_has_owner(BUS_NAME.try_into().unwrap()).await.unwrap() {
            if let Some(status) = rig.service.try_wait().unwrap() {
                panic!("obligatod ended with {status}: {}", rig.log());
            }
            assert!(Instant::now() < deadline, "obligatod did not come up: {}", rig.log());
            sleep(Duration::from_millis(10)).await;
        }
        rig
    }

    #[allow(dead_code, reason = "the tests of updates have callers of other users")]
    /// Starts both for callers of other users too, who may not look into the folder otherwise.
    pub(crate) async fn start_open(setup: Setup) -> Self {
        let rig = Self::start(setup).await;
        let open = |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        open(rig.folder.path(), 0o755);
        open(&rig.folder.path().join("bus"), 0o777);
        rig
    }

    /// Starts both.
    pub(crate) fn launch(setup: Setup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (bus, address) = match setup.limited {
            true => limited_bus(folder.path()),
            false => bus(folder.path()),
        };
        let state = fs::read_to_string(root().join("policies/cabin/vehicle-state.toml")).unwrap();
        fs::write(folder.path().join("state.toml"), format!("{state}\n{}", setup.faults)).unwrap();
        fs::write(folder.path().join("obligato.toml"), &setup.config).unwrap();
        let mut script: Vec<String> = setup.drafts.iter().map(Json::to_string).collect();
        script.extend(setup.endless.then(|| "again".to_owned()));
        fs::write(folder.path().join("script.jsonl"), script.join("\n")).unwrap();
        let log = fs::File::create(folder.path().join("service.log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_obligatod"));
        command.args(["--bus", &address]);
        command.arg("--config").arg(folder.path().join("obligato.toml"));
        if !setup.arguments.iter().any(|a| a == "--policy") {
            command.arg("--policy").arg(cabin_blob());
        }
        command.arg("--limits").arg(root().join("systemd/hard-limits.toml"));
        command.arg("--vehicle-state").arg(folder.path().join("state.toml"));
        if !setup.arguments.iter().any(|a| a == "--student") {
            command.args(["--student", "scripted"]).arg("--script").arg(folder.path().join("script.jsonl"));
        }
        command.envs(setup.variables.iter().map(|(name, value)| (name, value)));
        command.args(&setup.arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let service = command.spawn().unwrap();
        Self { folder, address, bus, service }
    }

    /// The bus's address.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// A folder that lives as long as the rig.
    #[cfg(feature = "sample-provider")]
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What the service wrote.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("service.log")).unwrap()
    }

    /// A connection of its own: another client.
    pub(crate) async fn connect(&self) -> Connection {
        self.address.parse::<Bus>().unwrap().builder().build().await.unwrap()
    }

    /// A client whose service is ready for turns.
    pub(crate) async fn client(&self) -> Client {
        let client = Client::new(self.connect().await).await;
        client.wait_for_state("ready").await;
        client
    }

    /// The service's process.
    #[allow(dead_code, reason = "a load looks at it")]
    pub(crate) fn process(&self) -> u32 {
        self.service.id()
    }

    /// Bytes of memory that the service has.
    #[allow(dead_code, reason = "the tests of a car that talks")]
    pub(crate) fn resident(&self) -> u64 {
        let statm = fs::read_to_string(format!("/proc/{}/statm", self.service.id())).unwrap();
        statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4_096
    }

    /// Sends a signal to the service.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.service.id().to_string()).status();
        assert!(status.unwrap().success());
    }

    /// Ends the bus.
    pub(crate) fn stop_bus(&mut self) {
        self.bus.kill().unwrap();
        self.bus.wait().unwrap();
    }

    /// Waits until the service ends.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.service.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "obligatod does not end: {}", self.log());
            sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("obligatod wrote:\n{}", self.log());
        }
        for child in [&mut self.service, &mut self.bus] {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts a bus in a folder.
pub(crate) fn bus(folder: &Path) -> (Child, String) {
    bus_with(&root().join("tests/dbus/bus.conf"), folder)
}

/// Starts a bus with the limits that an image gives it.
fn limited_bus(folder: &Path) -> (Child, String) {
    let limits = root().join("systemd/obligato-bus-limits.conf");
    let config = fs::read_to_string(root().join("tests/dbus/bus.conf")).unwrap();
    let include = format!("<include>{}</include></busconfig>", limits.display());
    fs::write(folder.join("bus.conf"), config.replace("</busconfig>", &include)).unwrap();
    bus_with(&folder.join("bus.conf"), folder)
}

/// Starts a bus with a configuration of its own.
pub(crate) fn bus_with(config: &Path, folder: &Path) -> (Child, String) {
    let mut bus = Command::new("dbus-daemon")
        .arg(format!("--config-file={}", config.display()))
        .arg(format!("--address=unix:path={}", folder.join("bus").display()))
        .args(["--nofork", "--nopidfile", "--print-address=1"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(fs::File::create(folder.join("bus.log")).unwrap())
        .spawn()
        .expect("dbus-daemon is installed (package dbus)");
    let mut address = String::new();
    BufReader::new(bus.stdout.take().unwrap()).read_line(&mut address).unwrap();
    (bus, address.trim().to_owned())
}

/// One client of the service.
pub(crate) struct Client {
    pub(crate) connection: Connection,
    pub(crate) manager: ManagerProxy<'static>,
    pub(crate) policy: PolicyProxy<'static>,
    pub(crate) providers: ProvidersProxy<'static>,
}

impl Client {
    pub(crate) async fn new(connection: Connection) -> Self {
        let manager = ManagerProxy::builder(&connection).cache_properties(CacheProperties::No).build().await.unwrap();
        let policy = PolicyProxy::new(&connection).await.unwrap();
        let uncached = ProvidersProxy::builder(&connection).cache_properties(CacheProperties::No);
        let providers = uncached.build().await.unwrap();
        Self { connection, manager, policy, providers }
    }

    /// Waits until nobody provides these tools; none named: until every tool is provided.
    pub(crate) async fn wait_for_absent(&self, wanted: &[&str]) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let absent = self.providers.absent().await.unwrap();
            if absent.is_empty() == wanted.is_empty() && wanted.iter().all(|w| absent.iter().any(|a| a == w)) {
                return;
            }
            assert!(Instant::now() < deadline, "absent: {absent:?}");
            sleep(Duration::from_millis(10)).await;
        }
    }

    pub(crate) async fn wait_for_state(&self, wanted: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.manager.state().await.unwrap() != wanted {
            assert!(Instant::now() < deadline, "the state stays {}", self.manager.state().await.unwrap());
            sleep(Duration::from_millis(10)).await;
        }
    }

    pub(crate) async fn wait_for_sessions(&self, wanted: u32) {
        let deadline = Instant::now() + PATIENCE;
        while self.manager.sessions().await.unwrap() != wanted {
            assert!(Instant::now() < deadline, "{} sessions", self.manager.sessions().await.unwrap());
            sleep(Duration::from_millis(10)).await;
        }
    }

    pub(crate) async fn open(&self) -> SessionProxy<'static> {
        self.session(self.manager.open_session().await.unwrap()).await
    }

    pub(crate) async fn session(&self, path: OwnedObjectPath) -> SessionProxy<'static> {
        SessionProxy::builder(&self.connection).path(path).cache_properties(CacheProperties::No).build().await.unwrap()
    }
}

/// A signal of a session: its name, and its arguments after the turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Signal {
    pub(crate) name: String,
    pub(crate) turn: u32,
    pub(crate) texts: Vec<String>,
}

impl Signal {
    /// The event's name, for `Progress`.
    pub(crate) fn event(&self) -> &str {
        if self.name == "Progress" { &self.texts[0] } else { "" }
    }

    /// The event's fields, for `Progress`.
    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.texts[1]).unwrap()
    }
}

/// Everything that is addressed to a connection.
pub(crate) struct Ear(MessageStream);

impl Ear {
    pub(crate) fn of(client: &Client) -> Self {
        Self(MessageStream::from(&client.connection))
    }

    /// The signals of a turn up to its reply.
    pub(crate) async fn turn(&mut self, turn: u32) -> Vec<Signal> {
        let mut heard = Vec::new();
        loop {
            let signal = timeout(PATIENCE, self.next()).await.unwrap_or_else(|_| panic!("no reply after {heard:?}"));
            if signal.turn == turn {
                let over = signal.name == "Reply";
                heard.push(signal);
                if over {
                    return heard;
                }
            }
        }
    }

    /// The next signal of a session.
    pub(crate) async fn next(&mut self) -> Signal {
        loop {
            let message = self.0.next().await.expect("the connection lives").unwrap();
            let header = message.header();
            let ours = header.interface().is_some_and(|i| i.as_str() == "org.obligato.Harness1.Session");
            if header.message_type() != Type::Signal || !ours {
                continue;
            }
            let name = header.member().unwrap().to_string();
            let body = message.body();
            let (turn, texts) = match name.as_str() {
                "Outcome" => {
                    let (turn, call, outcome, detail): (u32, String, String, String) = body.deserialize().unwrap();
                    (turn, vec![call, outcome, detail])
                }
                _ => {
                    let (turn, first, second): (u32, String, String) = body.deserialize().unwrap();
                    (turn, vec![first, second])
                }
            };
            return Signal { name, turn, texts };
        }
    }
}
