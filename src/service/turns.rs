//! What the service needs of a session's turns.

use tokio::runtime::Handle;

use crate::model::{Draft, VerdictReport};
use crate::student::{Cancel, Student};
use crate::turn::{Events, Heard, TurnReport};

/// The models of the service.
pub struct Models {
    /// Who drafts.
    pub student: Box<dyn Student>,
    /// Who drafts when the student fails.
    pub escalation: Option<Box<dyn Student>>,
}

/// One session's turns.
pub trait Turns: Send {
    /// Runs one turn to its end on the calling thread.
    fn turn(
        &mut self,
        models: &mut Models,
        runtime: &Handle,
        heard: &Heard,
        cancel: &Cancel,
        events: &mut Events<'_>,
    ) -> TurnReport;
    /// Takes in what the driver said, for an assistant with its own model.
    fn heard(&mut self, heard: &Heard);
    /// Takes in what such an assistant said.
    fn spoken(&mut self, text: &str);
    /// Judges its draft.
    fn verify(&mut self, draft: &Draft) -> VerdictReport;
    /// Judges its draft and carries it out when it is cleared.
    fn execute(&mut self, draft: &Draft, runtime: &Handle, cancel: &Cancel, events: &mut Events<'_>) -> VerdictReport;
}
