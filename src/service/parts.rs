//! What a configuration names, loaded.

use std::path::Path;
use std::sync::Arc;

use super::ServiceError;
use super::car::Car;
use super::compiler::compiler;
use super::config::{Config, VehicleConfig};
use super::in_force::InForce;
use super::local::LocalUpdates;
use super::offers::Offers;
use super::run::Parts;
use super::students;
use super::updates::opened;
use crate::policy::update::Slot;
use crate::policy::{HardLimits, Policy};
use crate::state::SystemClock;
use crate::tools::Removed;
use crate::turn::Session;
use crate::vehicle::{Scenario, Sim};
use crate::verify::SessionId;

/// Loads everything but the model, which takes seconds and has a thread of its own.
pub(super) fn load(config: &Config) -> Result<Parts, ServiceError> {
    let factory = blob(config.policy.as_deref().ok_or_else(no_policy)?)?;
    // Whatever is in force, the factory's policy is the last resort and must be usable.
    let limits = Arc::new(limits(config, Some(&factory))?);
    let updates = LocalUpdates::open(config)?;
    let started = updates.as_ref().map(LocalUpdates::start);
    let slot = started.as_ref().map_or(Slot::Factory, |started| started.slot);
    let (version, policy) = match started.and_then(|started| started.policy) {
        Some((header, policy)) => (header.version, Arc::new(policy)),
        None => (0, Arc::new(factory)),
    };
    let (sim, situation) = simulated(&config.vehicle, &policy)?;
    let car = Car::new(Arc::new(sim));
    let removed = removed(&config.vehicle, &policy)?;
    let in_force = Arc::new(InForce::new(policy));
    let (turn, force, seats) = (config.turn.clone(), in_force.clone(), car.clone());
    let make_session = Box::new(move |path: &str| {
        let (id, policy) = (SessionId::from(path), force.get());
        let seat = seats.seat(policy.clone());
        let mut session = Session::new(id, policy, limits.clone(), turn.clone(), seat);
        session.set_system(&situation);
        session.set_removed(removed.clone());
        session
    });
    let offers = Arc::new(Offers::new(&config.offer, compiler(&config.offer)?));
    let updates = opened(updates, slot, version);
    Ok(Parts { in_force, car, updates, make_session, offers, load: students::loader(&config.student)? })
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
