//! One function a target: it takes any bytes and returns, or there is a fault.

mod blob;
#[cfg(feature = "compile")]
mod cedar;
mod draft;
mod messages;
mod phrases;
mod scene;
mod tools;
mod transcript;
#[path = "../../support/wire.rs"]
mod wire;

/// A name, and what takes the bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("blob", blob::run),
    ("draft", draft::run),
    ("transcript", transcript::run),
    #[cfg(feature = "compile")]
    ("cedar", cedar::run),
    ("tools", tools::run),
    ("messages", messages::run),
    ("phrases", phrases::run),
];

#[allow(unused_imports, reason = "seeds are made of it, where there are any")]
pub use blob::seal;
