//! The service on D-Bus (design §8): one file an interface, the rest is what they share.
//!
//! ```text
//! /org/obligato/Harness1             Manager   opens sessions, says how the service is
//!                                    Policy    says what the policy says, and updates it
//!                                    Providers takes tools that others on the bus carry out
//!                                    Journal   how the journal is, what was counted
//! /org/obligato/Harness1/session/N   Session   one conversation
//!
//! Session ─ claim ─▶ Worker (one thread, owns the models) ─ told ─▶ relay ─ signals ─▶ the client
//! ```
//!
//! No method waits for a turn except the two that say so (`Say`, `Execute`), so the service answers
//! while the model computes.

mod access;
mod bus;
mod car;
mod compiler;
mod config;
mod delivered;
mod door;
mod doorman;
mod error;
mod fit;
mod harness;
mod head;
mod heard;
mod in_force;
mod in_order;
mod later;
mod line;
mod local;
mod log;
mod manager;
mod offers;
mod open;
mod pace;
mod parts;
mod policy;
mod providers;
mod readiness;
mod record;
mod relay;
mod run;
mod session;
mod sessions;
mod sleep;
mod students;
mod supervise;
mod telemetry;
mod tidy;
mod update_step;
mod updates;
mod wire;
mod words;
mod work;
mod worker;

pub use bus::{Bus, BusError};
pub use config::{
    Config, OfferConfig, ProviderConfig, ServiceConfig, StudentConfig, StudentKind, UpdateConfig, VehicleConfig,
    VehicleKind, WithoutCompiler,
};
pub use error::{Refusal, ServiceError};
pub use local::LocalUpdates;
pub use manager::ManagerProxy;
pub use policy::PolicyProxy;
pub use providers::ProvidersProxy;
pub use record::{JournalConfig, JournalProxy, ShadowConfig, Sync};
pub use run::run;
pub use session::SessionProxy;
pub use telemetry::TelemetryConfig;

/// Name of the service on the bus.
pub const BUS_NAME: &str = "org.obligato.Harness1";
/// Object of the service.
pub const ROOT_PATH: &str = "/org/obligato/Harness1";
