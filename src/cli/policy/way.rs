//! The two ways to the slots: through the running service, or past it while it does not run.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;
use zbus::OwnedVariant;
use zbus::proxy::CacheProperties;

use crate::cli::{CliError, Exit};
use crate::policy::update::{
    Meant, Owner, Reading, Status, UpdateError, hex, largest_list, largest_update, open_delivered, read_delivered,
};
use crate::service::{BUS_NAME, Bus, Config, LocalUpdates, PolicyProxy, ROOT_PATH, Refusal, ServiceError};

/// How long the service may ask to wait before that is an error.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// One step, with what it is meant for where that is not the file.
pub(super) enum Step<'a> {
    Stage(&'a Path),
    Keys(&'a Path),
    Verify(Meant),
    Activate(Meant),
    Commit(Meant),
    Rollback(Meant),
    Unstage(Meant),
}

impl Step<'_> {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Stage(_) => "staged",
            Self::Keys(_) => "keys",
            Self::Verify(_) => "verified",
            Self::Activate(_) => "activated",
            Self::Commit(_) => "committed",
            Self::Rollback(_) => "rolled-back",
            Self::Unstage(_) => "unstaged",
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
            ("unstaged", 0) => "that version is not staged, nothing was dropped".to_owned(),
            ("unstaged", version) => format!("version {version} is not staged any more"),
            ("keys", version) => format!("list {version} of keys is in use"),
            ("activated", version) => format!("version {version} is in force{tests}"),
            (step, version) => format!("version {version} is {step}{tests}"),
        }
    }
}

/// A way to the slots.
pub(super) enum Way {
    Service { proxy: PolicyProxy<'static>, runtime: Runtime },
    Offline { local: Box<LocalUpdates>, owner: Option<Owner> },
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

    /// Past the service. What root would leave in the slots of the service's user that user could not read:
    /// root works there as the owner of the slots.
    pub(super) fn offline(config: &Path) -> Result<Self, CliError> {
        let read = Config::read(config).map_err(local)?;
        let owner = LocalUpdates::owner(&read);
        let opened = acting(owner, || LocalUpdates::open(&read))?.map_err(local)?;
        let none = || CliError::Refused {
            exit: Exit::NoUpdates,
            why: format!("{}: the image names nobody to trust (`update.trust`): it takes no updates", config.display()),
        };
        let opened = Box::new(opened.ok_or_else(none)?);
        opened.writable().map_err(|why| CliError::Refused { exit: Exit::Storage, why })?;
        for note in acting(owner, || opened.slots.repair())? {
            eprintln!("obligato: {note}");
        }
        Ok(Self::Offline { local: opened, owner })
    }

    /// Takes one step.
    pub(super) fn take(&mut self, step: &Step<'_>) -> Result<Done, CliError> {
        match self {
            Self::Service { proxy, runtime } => runtime.block_on(ask(proxy, step)),
            Self::Offline { local, owner } => {
                // What was delivered is read with the rights of whoever delivers.
                let bytes = match step {
                    Step::Stage(path) => read_delivered(path, largest_update())?,
                    Step::Keys(path) => read_delivered(path, largest_list())?,
                    _ => Vec::new(),
                };
                Ok(acting(*owner, || act(local, step, &bytes))??)
            }
        }
    }

    /// What is in which slot.
    pub(super) fn status(&mut self) -> Result<Status, CliError> {
        match self {
            Self::Service { proxy, runtime } => runtime.block_on(standing(proxy)),
            Self::Offline { local, owner } => Ok(acting(*owner, || local.slots.status())??),
        }
    }
}

/// Does something with the slots, as their owner where that is somebody else.
fn acting<R: Send>(owner: Option<Owner>, work: impl FnOnce() -> R + Send) -> Result<R, CliError> {
    let Some(owner) = owner else { return Ok(work()) };
    owner.act(work).map_err(|error| CliError::Refused {
        exit: Exit::Storage,
        why: format!("cannot work as user {}, to whom the slots belong: {error}", owner.uid()),
    })
}

/// Where updates stand, in one call.
async fn standing(proxy: &PolicyProxy<'_>) -> Result<Status, CliError> {
    let since = Instant::now();
    let reply = loop {
        let call = proxy.inner().connection().call_method(
            Some(BUS_NAME),
            ROOT_PATH,
            Some("org.freedesktop.DBus.Properties"),
            "GetAll",
            &("org.obligato.Harness1.Policy",),
        );
        match call.await {
            Err(zbus::Error::MethodError(name, ..)) if name.ends_with(".TooMany") && since.elapsed() < PATIENCE => {
                tokio::time::sleep(PAUSE).await;
            }
            other => break other.map_err(absent)?,
        }
    };
    let all: HashMap<String, OwnedVariant> = reply.body().deserialize().map_err(absent)?;
    let number = |name: &str| all.get(name).and_then(|value| u64::try_from(value).ok()).unwrap_or_default();
    let on_trial = all.get("OnTrial").and_then(|value| bool::try_from(value).ok()).unwrap_or_default();
    match all.get("SlotsReason").and_then(|value| <&str>::try_from(value).ok()) {
        None | Some("") => Ok(Status {
            current: number("Version"),
            previous: number("PreviousVersion"),
            staged: number("StagedVersion"),
            on_trial,
            floor: number("Floor"),
            keys: number("KeysVersion"),
        }),
        Some(why) => {
            let why = format!("version {} is in force; what is in which slot cannot be told: {why}", number("Version"));
            Err(CliError::Refused { exit: Exit::Storage, why })
        }
    }
}

/// Asks the service for a step, again where it asks to wait.
async fn ask(proxy: &PolicyProxy<'_>, step: &Step<'_>) -> Result<Done, CliError> {
    let since = Instant::now();
    loop {
        match asked(proxy, step).await? {
            Err(Refusal::TooMany(_)) if since.elapsed() < PATIENCE => tokio::time::sleep(PAUSE).await,
            answer => return answer.map_err(refused),
        }
    }
}

/// What a delivered file is, is looked at on this side already: the service gets an open regular file.
async fn asked(proxy: &PolicyProxy<'_>, step: &Step<'_>) -> Result<Result<Done, Refusal>, UpdateError> {
    let plain = |version| Done { version, tests: None };
    let tested = |(version, tests)| Done { version, tests: Some(tests) };
    let open = |path: &Path| {
        let file = open_delivered(path)?;
        Ok::<_, UpdateError>(zbus::wire::OwnedFd::from(std::os::fd::OwnedFd::from(file)))
    };
    Ok(match step {
        Step::Stage(path) => proxy.stage(open(path)?).await.map(plain),
        Step::Keys(path) => proxy.keys(open(path)?).await.map(plain),
        Step::Verify(meant) => proxy.verify(meant.version(), &digest(*meant)).await.map(tested),
        Step::Activate(meant) => proxy.activate(meant.version(), &digest(*meant)).await.map(tested),
        Step::Commit(meant) => proxy.commit(meant.version(), &digest(*meant)).await.map(plain),
        Step::Rollback(meant) => proxy.rollback(meant.version(), &digest(*meant)).await.map(plain),
        Step::Unstage(meant) => proxy.unstage(meant.version(), &digest(*meant)).await.map(plain),
    })
}

/// How the bus is told of a content; empty: any.
fn digest(meant: Meant) -> String {
    match meant {
        Meant::Content { digest, .. } => hex(&digest),
        Meant::Any | Meant::Version(_) => String::new(),
    }
}

/// Takes a step; `bytes` are what was delivered for it.
fn act(local: &LocalUpdates, step: &Step<'_>, bytes: &[u8]) -> Result<Done, UpdateError> {
    let now = Reading::system();
    let plain = |version| Done { version, tests: None };
    let tested = |version, tests| Done { version, tests: Some(u32::try_from(tests).unwrap_or(u32::MAX)) };
    Ok(match step {
        Step::Stage(_) => plain(local.slots.stage(bytes, now)?.version),
        Step::Keys(_) => plain(local.slots.keys(bytes)?.version()),
        Step::Verify(meant) => {
            let (header, tests) = local.slots.verify(*meant, now)?;
            tested(header.version, tests)
        }
        // Nobody knows who serves what while the car is not there; the service looks when it starts.
        Step::Activate(meant) => {
            let activated = local.activate(*meant, &|_| Ok(None))?;
            tested(activated.header.version, activated.tests)
        }
        Step::Commit(meant) => plain(local.slots.commit(*meant)?.version),
        Step::Rollback(meant) => plain(local.slots.roll_back(*meant)?.version()),
        Step::Unstage(meant) => plain(local.slots.unstage(*meant)?),
    })
}

fn local(error: ServiceError) -> CliError {
    match error {
        ServiceError::Update(error @ UpdateError::InUse(_)) => {
            CliError::Refused { exit: error.class().into(), why: format!("{error}; take the step without --offline") }
        }
        ServiceError::Update(error) => error.into(),
        other => CliError::Refused { exit: Exit::Storage, why: other.to_string() },
    }
}

fn absent(error: zbus::Error) -> CliError {
    CliError::Peer(format!("the service does not answer: {error}; is obligatod running? else use --offline"))
}

pub(super) fn refused(refusal: Refusal) -> CliError {
    let why = zbus::DBusError::description(&refusal).map_or_else(|| refusal.to_string(), str::to_owned);
    let exit = match &refusal {
        Refusal::UnknownKey(_) => return CliError::NotYet { exit: Exit::NotAuthentic, why },
        Refusal::ExpiredByClock(_) => return CliError::NotYet { exit: Exit::Expired, why },
        Refusal::NotYetFit(_) => return CliError::NotYet { exit: Exit::DoesNotFit, why },
        Refusal::Malformed(_) => Exit::Malformed,
        Refusal::NotAuthentic(_) => Exit::NotAuthentic,
        Refusal::Rollback(_) => Exit::Rollback,
        Refusal::Expired(_) => Exit::Expired,
        Refusal::NotYetValid(_) => Exit::NotYetValid,
        Refusal::ClockUnset(_) => Exit::ClockUnset,
        Refusal::DoesNotFit(_) => Exit::DoesNotFit,
        Refusal::Unhealthy(_) => Exit::Unhealthy,
        Refusal::NothingToDo(_) => Exit::NothingToDo,
        Refusal::OtherVersion(_) => Exit::OtherVersion,
        Refusal::Undecided(_) => Exit::Undecided,
        Refusal::Storage(_) => Exit::Storage,
        Refusal::NotAllowed(_) => Exit::NotAllowed,
        Refusal::NoUpdates(_) => Exit::NoUpdates,
        Refusal::ZBus(error) => return bus(error),
        _ => Exit::Peer,
    };
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
