//! What a configuration names, loaded.

use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Handle;
use zbus::names::WellKnownName;

use super::ServiceError;
use super::car::{Build, Built, Car};
use super::compiler::compiler;
use super::config::{Config, ProviderConfig, VehicleConfig, VehicleKind};
use super::in_force::InForce;
use super::local::LocalUpdates;
use super::offers::Offers;
use super::record::Recorder;
use super::run::Parts;
use super::students;
use super::updates::opened;
use crate::policy::update::Slot;
use crate::policy::{HardLimits, Policy};
use crate::state::SystemClock;
use crate::tools::Removed;
use crate::turn::{Session, Situation};
use crate::vehicle::{Others, Providers, Routes, Scenario, Sim, Vehicle};
use crate::verify::SessionId;

/// Loads everything but the model, which takes seconds and has a thread of its own.
pub(super) fn load(config: &Config, runtime: &Handle) -> Result<Parts, ServiceError> {
    // The last resort. It is not looked at where another policy is in force: a good one is not given up because
    // the factory's cannot be read.
    let factory = || {
        let policy = blob(config.policy.as_deref().ok_or_else(no_policy)?)?;
        limits(config, Some(&policy))?;
        Ok::<_, ServiceError>(Arc::new(policy))
    };
    let limits = Arc::new(limits(config, None)?);
    let updates = LocalUpdates::open(config)?;
    let started = updates.as_ref().map(LocalUpdates::start);
    let mut slot = started.as_ref().map_or(Slot::Factory, |started| started.slot);
    let (mut version, mut policy) = match started.and_then(|started| started.policy) {
        Some((header, policy)) => (header.version, Arc::new(policy)),
        None => (0, factory()?),
    };
    let assembled = match assemble(config, &policy, runtime) {
        Err(error) if version > 0 => {
            tracing::error!(%error, version, "the update does not fit the configuration; the factory policy is in force");
            (slot, version, policy) = (Slot::Factory, 0, factory()?);
            assemble(config, &policy, runtime)?
        }
        assembled => assembled?,
    };
    let Assembled { car, situation, providers, removed } = assembled;
    let situation = Situation::given(&situation, &SystemClock);
    let in_force = Arc::new(InForce::new(policy));
    let under = in_force.get();
    let traces = config.telemetry.start(runtime)?;
    let recorder = Recorder::start(&config.journal, &config.shadow, traces, &under, &limits, car.whole(), runtime)?;
    let (turn, force, seats) = (config.turn.clone(), in_force.clone(), car.clone());
    let sink = recorder.clone();
    let make_session = Box::new(move |path: &str| {
        let (id, policy) = (SessionId::from(path), force.get());
        let seat = seats.seat(policy.clone());
        let mut session = Session::new(id, policy, limits.clone(), turn.clone(), seat);
        session.set_sink(sink.clone());
        session.set_situation(situation.clone());
        session.set_removed(removed.clone());
        session
    });
    let offers = Arc::new(Offers::new(&config.offer, compiler(&config.offer)?));
    let updates = opened(updates, slot, version);
    let load = students::loader(&config.student)?.map(|load| students::prepared(load, in_force.clone()));
    Ok(Parts { in_force, car, updates, make_session, offers, providers, recorder, load })
}

/// What a configuration makes of a policy.
struct Assembled {
    car: Car,
    /// Place and time that a simulated car starts with.
    situation: String,
    providers: Arc<Providers>,
    removed: Removed,
}

fn assemble(config: &Config, policy: &Arc<Policy>, runtime: &Handle) -> Result<Assembled, ServiceError> {
    let removed = removed(&config.vehicle, policy)?;
    let providers = providers(&config.vehicle, policy)?;
    let (beside, setting, handle) = (providers.clone(), config.vehicle.clone(), runtime.clone());
    let build: Build = Box::new(move |policy: &Arc<Policy>| {
        let (base, situation) = vehicle(&setting, policy, &handle)?;
        let simulated = setting.kind == VehicleKind::Sim;
        let rest = Others::new(base.clone(), beside.clone(), simulated);
        let vehicle: Arc<dyn Vehicle> = Arc::new(Routes::new(vec![beside.clone(), Arc::new(rest)]));
        Ok::<_, ServiceError>(Built { vehicle, itself: (!simulated).then_some(base), situation })
    });
    let (car, situation) = Car::new(build, policy)?;
    Ok(Assembled { car, situation, providers, removed })
}

pub(super) fn no_policy() -> ServiceError {
    ServiceError::Setting("no policy is configured; name one with --policy or `policy = …`".to_owned())
}

/// A bare compiled policy: the image's own.
pub(super) fn blob(path: &Path) -> Result<Policy, ServiceError> {
    Policy::from_blob(&read(path)?).map_err(|source| ServiceError::Policy { path: path.to_owned(), source })
}

/// The limits of the image; a policy that does not declare what they read is refused (design §6).
pub(super) fn limits(config: &Config, policy: Option<&Policy>) -> Result<HardLimits, ServiceError> {
    let Some(path) = &config.limits else { return Ok(HardLimits::default()) };
    let error = |source| ServiceError::Limits { path: path.clone(), source };
    let limits = HardLimits::parse(&text(path)?).map_err(error)?;
    policy.map_or(Ok(()), |policy| limits.fit(&policy.model)).map_err(error)?;
    Ok(limits)
}

/// Who may provide tools, and which are left to providers. A misspelt one would be left to the
/// simulated car.
fn providers(config: &VehicleConfig, policy: &Arc<Policy>) -> Result<Arc<Providers>, ServiceError> {
    let named = config.provider.iter().filter_map(|p| p.tools.as_ref()).flatten();
    if let Some(tool) = config.provided.iter().chain(named).find(|t| policy.inventory.get(t).is_none()) {
        return Err(ServiceError::Setting(format!(
            "`{tool}` of `vehicle.provided` or `vehicle.provider` is no tool of the policy `{}`",
            policy.id
        )));
    }
    let one_way = |p: &ProviderConfig| p.name.is_some() != p.user.is_some();
    if !config.provider.iter().all(one_way) {
        return Err(ServiceError::Setting("each `vehicle.provider` needs either a bus `name` or a `user`".to_owned()));
    }
    let invalid = |p: &&ProviderConfig| p.name.as_deref().is_some_and(|n| WellKnownName::try_from(n).is_err());
    if let Some(name) = config.provider.iter().find(invalid).and_then(|p| p.name.as_deref()) {
        return Err(ServiceError::Setting(format!("`{name}` of `vehicle.provider` is no bus name")));
    }
    let reserved = config.provided.iter().map(|tool| tool.as_str().into());
    Ok(Arc::new(Providers::new(policy.clone(), reserved, Arc::new(SystemClock))))
}

/// What this car lacks. A part of a tool that the policy does not have is a misspelling, and would
/// leave the car with something that it cannot do.
fn removed(config: &VehicleConfig, policy: &Policy) -> Result<Removed, ServiceError> {
    let tool = |part: &str| {
        let rest = part.strip_prefix("result.").unwrap_or(part);
        rest.split_once('.').map_or(rest, |(tool, _)| tool).to_owned()
    };
    match config.removed.iter().find(|part| policy.inventory.get(&tool(part)).is_none()) {
        Some(part) => Err(ServiceError::Setting(format!(
            "`{part}` of `vehicle.removed` names no tool of the policy `{}`",
            policy.id
        ))),
        None => Ok(Removed::from_iter(&config.removed)),
    }
}

/// The car, and what is given of place and time.
fn vehicle(
    config: &VehicleConfig,
    policy: &Arc<Policy>,
    runtime: &Handle,
) -> Result<(Arc<dyn Vehicle>, String), ServiceError> {
    // The first assignment of a name is the one that counts.
    let named: String = config.now.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
    match config.kind {
        VehicleKind::Sim => simulated(config, policy).map(|(sim, own)| (Arc::new(sim) as _, named + &own)),
        VehicleKind::Kuksa => Ok((kuksa(config, policy, runtime)?, named)),
    }
}

#[cfg(feature = "kuksa")]
fn kuksa(config: &VehicleConfig, policy: &Arc<Policy>, runtime: &Handle) -> Result<Arc<dyn Vehicle>, ServiceError> {
    let car = crate::vehicle::kuksa::Kuksa::open(&config.kuksa, policy.clone(), runtime)
        .map_err(|error| ServiceError::Setting(error.to_string()))?;
    Ok(Arc::new(car))
}

#[cfg(not(feature = "kuksa"))]
fn kuksa(_: &VehicleConfig, _: &Arc<Policy>, _: &Handle) -> Result<Arc<dyn Vehicle>, ServiceError> {
    let why = "`vehicle.kind = \"kuksa\"` needs a service that was built with the feature `kuksa`";
    Err(ServiceError::Setting(why.to_owned()))
}

/// The simulated car, and the place and time that it starts with.
fn simulated(config: &VehicleConfig, policy: &Policy) -> Result<(Sim, String), ServiceError> {
    let scenario = match &config.state {
        None => Scenario::default(),
        Some(path) => Scenario::parse(&text(path)?, &policy.inventory, &policy.model)
            .map_err(|e| ServiceError::Vehicle { path: path.clone(), why: e.to_string() })?,
    };
    let situation = scenario.situation();
    let sim = Sim::new(policy.inventory.clone(), policy.model.clone(), scenario, Arc::new(SystemClock));
    Ok((sim, situation))
}

fn read(path: &Path) -> Result<Vec<u8>, ServiceError> {
    std::fs::read(path).map_err(|source| ServiceError::File { path: path.to_owned(), source })
}

pub(super) fn text(path: &Path) -> Result<String, ServiceError> {
    std::fs::read_to_string(path).map_err(|source| ServiceError::File { path: path.to_owned(), source })
}
