//! Whether there is a model: what `State` and `StateReason` say.

use super::Refusal;

/// Where the service stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Readiness {
    /// The model is loading; everything that needs none works.
    Starting,
    /// Turns are accepted.
    Ready {
        /// Name of the student.
        student: String,
    },
    /// There is no model; everything that needs none works.
    NoModel {
        /// Why.
        reason: String,
    },
    /// No new work is accepted.
    Stopping,
}

impl Readiness {
    /// The name on D-Bus.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready { .. } => "ready",
            Self::NoModel { .. } => "no-model",
            Self::Stopping => "stopping",
        }
    }

    /// Why there is no model; empty where that is not the case.
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::NoModel { reason } => reason,
            _ => "",
        }
    }

    /// Name of the student; empty where there is none.
    pub(super) fn student(&self) -> &str {
        match self {
            Self::Ready { student } => student,
            _ => "",
        }
    }

    /// Whether something can be executed.
    pub(super) fn accepts_work(&self) -> Result<(), Refusal> {
        match self {
            Self::Stopping => Err(Refusal::Stopping("the service is shutting down; nothing new is started".into())),
            _ => Ok(()),
        }
    }

    /// Whether a turn can be run by the local model.
    pub(super) fn accepts_turns(&self) -> Result<(), Refusal> {
        self.accepts_work()?;
        match self {
            Self::Starting => Err(Refusal::NotReady(
                "the model is still loading; wait until State is `ready` and say it again".into(),
            )),
            Self::NoModel { reason } => Err(Refusal::NoModel(format!("there is no model to draft with: {reason}"))),
            _ => Ok(()),
        }
    }
}
