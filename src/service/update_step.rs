//! The steps of an update: what they are called, and what they lead to.

use crate::policy::update::UpdateError;

/// The steps of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepKind {
    Stage,
    Keys,
    Verify,
    Activate,
    Commit,
    RollBack,
    Unstage,
}

impl StepKind {
    /// What is asked for.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stage => "stage",
            Self::Keys => "keys",
            Self::Verify => "verify",
            Self::Activate => "activate",
            Self::Commit => "commit",
            Self::RollBack => "rollback",
            Self::Unstage => "unstage",
        }
    }

    /// What has happened when it was taken: in the journal, and in the signal where it has one.
    pub(super) fn done(self) -> &'static str {
        match self {
            Self::Stage => "staged",
            Self::Keys => "keys",
            Self::Verify => "verified",
            Self::Activate => "activated",
            Self::Commit => "committed",
            Self::RollBack => "rolled-back",
            Self::Unstage => "unstaged",
        }
    }

    /// The same, for what the signal tells of: verifying changes nothing.
    pub(super) fn announced(self) -> Option<&'static str> {
        (self != Self::Verify).then(|| self.done())
    }

    /// Whether it may change the policy in force, and so happens between two turns.
    pub(super) fn between_turns(self) -> bool {
        matches!(self, Self::Activate | Self::Commit | Self::RollBack)
    }
}

/// A step that was taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    /// Version that it was taken with; after a rollback the one in force, after an unstaging the one that was
    /// dropped.
    pub(super) version: u64,
    /// How many of its own tests ran.
    pub(super) tests: usize,
    /// Whether anything is different from before.
    pub(super) changed: bool,
}

impl From<u64> for Taken {
    fn from(version: u64) -> Self {
        Self { version, tests: 0, changed: true }
    }
}

/// Whether another policy may be in force after a step. Which one is chosen as a start chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Switch {
    No,
    /// The slots name another one now.
    Choose,
    /// What the slots name may be usable now, and was not before.
    Mend,
}

/// What a step leads to.
pub(super) struct Outcome {
    /// What the caller is told.
    pub(super) answer: Result<Taken, UpdateError>,
    pub(super) switch: Switch,
}

impl Outcome {
    /// Of a step that leaves the policy in force as it is.
    pub(super) fn quiet(answer: Result<Taken, UpdateError>) -> Self {
        Self { answer, switch: Switch::No }
    }

    /// Of a step that puts another policy in force.
    pub(super) fn switching(answer: Result<Taken, UpdateError>) -> Self {
        Self::of(answer, Switch::Choose)
    }

    /// Of a step that may make usable what is in the slots.
    pub(super) fn mending(answer: Result<Taken, UpdateError>) -> Self {
        Self::of(answer, Switch::Mend)
    }

    /// A health check that fails leads back.
    fn of(answer: Result<Taken, UpdateError>, taken: Switch) -> Self {
        let switch = match &answer {
            Ok(_) => taken,
            Err(UpdateError::Unhealthy { .. }) => Switch::Choose,
            Err(_) => Switch::No,
        };
        Self { answer, switch }
    }
}
