//! The two ways to the slots: through the running service, or past it while it does not run.

use std::path::Path;

use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;
use zbus::proxy::CacheProperties;

use crate::cli::{CliError, Exit};
use crate::policy::update::{
    Reading, Status, UpdateError, largest_list, largest_update, open_delivered, read_delivered,
};
use crate::service::{Bus, Config, LocalUpdates, PolicyProxy, Refusal, ServiceError};

/// One step.
pub(super) enum Step<'a> {
    Stage(&'a Path),
    Keys(&'a Path),
    Verify,
    Activate,
    Commit,
    Rollback,
}

impl Step<'_> {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Stage(_) => "staged",
            Self::Keys(_) => "keys",
            Self::Verify => "verified",
            Self::Activate => "activated",
            Self::Commit => "committed",
            Self::Rollback => "rolled-back",
        }
    }
}

/// What a step came to.
pub(super) struct Done {
    pub(super) version: u64,
    /// How many of the policy's own tests passed, where they ran.
    pub(super) tests: Option<u32>,
}

impl Done {
    pub(super) fn json(&self, step: &str) -> Json {
        json!({"step": step, "version": self.version, "tests": self.tests})
    }

    pub(super) fn sentence(&self, step: &str) -> String {
        let tests = self.tests.map(|tests| format!("; its {tests} tests pass")).unwrap_or_default();
        match (step, self.version) {
            ("rolled-back", 0) => "the factory policy is in force".to_owned(),
            ("rolled-back", version) => format!("version {version} is in force"),
            ("keys", version) => format!("list {version} of keys is in use"),
            ("activated", version) => format!("version {version} is in force{tests}"),
            (step, version) => format!("version {version} is {step}{tests}"),
        }
    }
}

/// A way to the slots.
pub(super) enum Way {
    Service { proxy: PolicyProxy<'static>, runtime: Runtime },
    Offline(Box<LocalUpdates>),
}

impl Way {
    /// Through the running service.
    pub(super) fn service(bus: &Bus) -> Result<Self, CliError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| CliError::Peer(format!("the client cannot start: {e}")))?;
        let proxy = runtime.block_on(async {
            let connection = bus.builder().build().await?;
            PolicyProxy::builder(&connection).cache_properties(CacheProperties::No).build().await
        });
        let proxy = proxy.map_err(|e: zbus::Error| CliError::Peer(format!("{bus}: {e}")))?;
        Ok(Self::Service { proxy, runtime })
    }

    /// Past the service.
    pub(super) fn offline(config: &Path) -> Result<Self, CliError> {
        let opened = Config::read(config).and_then(|config| LocalUpdates::open(&config)).map_err(local)?;
        let none = || CliError::Refused {
            exit: Exit::NoUpdates,
            why: format!("{}: the image names nobody to trust (`update.trust`): it takes no updates", config.display()),
        };
        let opened = opened.ok_or_else(none)?;
        opened.writable().map_err(|why| CliError::Refused { exit: Exit::Storage, why })?;
        for note in opened.slots.repair() {
            eprintln!("obligato: {note}");
        }
        Ok(Self::Offline(Box::new(opened)))
    }

    /// Takes one step.
    pub(super) fn take(&mut self, step: &Step<'_>) -> Result<Done, CliError> {
        match self {
            Self::Service { proxy, runtime } => runtime.block_on(ask(proxy, step)),
            Self::Offline(local) => Ok(act(local, step)?),
        }
    }

    /// What is in which slot.
    pub(super) fn status(&mut self) -> Result<Status, CliError> {
        match self {
            Self::Service { proxy, runtime } => runtime.block_on(async {
                Ok(Status {
                    current: proxy.version().await.map_err(absent)?,
                    previous: proxy.previous_version().await.map_err(absent)?,
                    staged: proxy.staged_version().await.map_err(absent)?,
                    on_trial: proxy.on_trial().await.map_err(absent)?,
                    floor: proxy.floor().await.map_err(absent)?,
                    keys: proxy.keys_version().await.map_err(absent)?,
                })
            }),
            Self::Offline(local) => Ok(local.slots.status()?),
        }
    }
}

/// What a delivered file is, is looked at on this side already: the service gets an open regular file.
async fn ask(proxy: &PolicyProxy<'_>, step: &Step<'_>) -> Result<Done, CliError> {
    let plain = |version| Done { version, tests: None };
    let tested = |(version, tests)| Done { version, tests: Some(tests) };
    let open = |path: &Path| {
        let file = open_delivered(path)?;
        Ok::<_, UpdateError>(zbus::wire::OwnedFd::from(std::os::fd::OwnedFd::from(file)))
    };
    match step {
        Step::Stage(path) => proxy.stage(open(path)?).await.map(plain),
        Step::Keys(path) => proxy.keys(open(path)?).await.map(plain),
        Step::Verify => proxy.verify().await.map(tested),
        Step::Activate => proxy.activate().await.map(tested),
        Step::Commit => proxy.commit().await.map(plain),
        Step::Rollback => proxy.rollback().await.map(plain),
    }
    .map_err(refused)
}

fn act(local: &LocalUpdates, step: &Step<'_>) -> Result<Done, UpdateError> {
    let now = Reading::system();
    let count = |tests: usize| Some(u32::try_from(tests).unwrap_or(u32::MAX));
    Ok(match step {
        Step::Stage(path) => {
            let staged = local.slots.stage(&read_delivered(path, largest_update())?, now)?;
            Done { version: staged.version, tests: None }
        }
        Step::Keys(path) => {
            let list = local.slots.keys(&read_delivered(path, largest_list())?)?;
            Done { version: list.version(), tests: None }
        }
        Step::Verify => {
            let (header, tests) = local.slots.verify(now)?;
            Done { version: header.version, tests: count(tests) }
        }
        // Nobody knows who serves what while the car is not there; the service looks when it starts.
        Step::Activate => {
            let activated = local.activate(&|_| Ok(None))?;
            Done { version: activated.header.version, tests: count(activated.tests) }
        }
        Step::Commit => Done { version: local.slots.commit(now)?.version, tests: None },
        Step::Rollback => Done { version: local.slots.roll_back()?.current, tests: None },
    })
}

fn local(error: ServiceError) -> CliError {
    match error {
        ServiceError::Update(error) => error.into(),
        other => CliError::Refused { exit: Exit::Storage, why: other.to_string() },
    }
}

fn absent(error: zbus::Error) -> CliError {
    CliError::Peer(format!("the service does not answer: {error}; is obligatod running? else use --offline"))
}

fn refused(refusal: Refusal) -> CliError {
    let exit = match &refusal {
        Refusal::Malformed(_) => Exit::Malformed,
        Refusal::NotAuthentic(_) => Exit::NotAuthentic,
        Refusal::Rollback(_) => Exit::Rollback,
        Refusal::Expired(_) => Exit::Expired,
        Refusal::NotYetValid(_) => Exit::NotYetValid,
        Refusal::ClockUnset(_) => Exit::ClockUnset,
        Refusal::DoesNotFit(_) => Exit::DoesNotFit,
        Refusal::Unhealthy(_) => Exit::Unhealthy,
        Refusal::NothingToDo(_) => Exit::NothingToDo,
        Refusal::Undecided(_) => Exit::Undecided,
        Refusal::Storage(_) => Exit::Storage,
        Refusal::NotAllowed(_) => Exit::NotAllowed,
        Refusal::NoUpdates(_) => Exit::NoUpdates,
        Refusal::ZBus(error) => return bus(error),
        _ => Exit::Peer,
    };
    let why = zbus::DBusError::description(&refusal).map_or_else(|| refusal.to_string(), str::to_owned);
    CliError::Refused { exit, why }
}

/// The bus itself says no to whoever is not in the group.
fn bus(error: &zbus::Error) -> CliError {
    match error {
        zbus::Error::FDO(fdo) if matches!(**fdo, zbus::fdo::Error::AccessDenied(_)) => {
            CliError::Refused { exit: Exit::NotAllowed, why: format!("the bus refuses the call: {fdo}") }
        }
        zbus::Error::MethodError(name, why, _) if name.ends_with(".AccessDenied") => CliError::Refused {
            exit: Exit::NotAllowed,
            why: format!("the bus refuses the call: {}", why.as_deref().unwrap_or_default()),
        },
        other => {
            CliError::Peer(format!("the service does not answer: {other}; is obligatod running? else use --offline"))
        }
    }
}
