//! Faults of the simulated car, for tests and for showing what the guard does about them.

use serde::Deserialize;

use crate::model::ToolName;

/// How a call goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub enum FaultMode {
    /// It answers that it failed, and changes nothing.
    Fail {
        /// What it says.
        #[serde(default = "broken")]
        why: String,
    },
    /// It never answers and changes nothing.
    Stall,
    /// It answers that it succeeded, and changes nothing.
    Ignore,
    /// It never answers, and takes effect all the same.
    Late {
        /// Milliseconds until it does.
        after_ms: u64,
    },
}

/// One fault and when it strikes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Fault {
    /// The tool whose calls it strikes; none: every tool.
    pub tool: Option<ToolName>,
    /// Only the call of this number, counted from 1 over all calls since the start.
    pub call: Option<u64>,
    /// How often it strikes; none: always.
    pub times: Option<u32>,
    /// What happens.
    #[serde(flatten)]
    pub mode: FaultMode,
}

impl Fault {
    /// A fault that strikes every call of a tool.
    pub fn of(tool: &str, mode: FaultMode) -> Self {
        Self { tool: Some(tool.into()), call: None, times: None, mode }
    }

    /// Strikes only that often.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }
}

fn broken() -> String {
    "the actuator reports a fault".to_owned()
}

/// The faults in force.
#[derive(Debug, Default)]
pub(super) struct Faults {
    faults: Vec<Fault>,
    calls: u64,
}

impl Faults {
    pub(super) fn new(faults: Vec<Fault>) -> Self {
        Self { faults, calls: 0 }
    }

    pub(super) fn add(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Counts a call and says how it goes wrong, if it does. The first fault that fits strikes.
    pub(super) fn strike(&mut self, tool: &ToolName) -> Option<FaultMode> {
        self.calls = self.calls.saturating_add(1);
        let calls = self.calls;
        let fault = self.faults.iter_mut().find(|f| {
            f.tool.as_ref().is_none_or(|t| t == tool) && f.call.is_none_or(|n| n == calls) && f.times != Some(0)
        })?;
        fault.times = fault.times.map(|left| left.saturating_sub(1));
        Some(fault.mode.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_strikes_its_tool_as_often_as_it_says() {
        let mut faults = Faults::new(vec![Fault::of("move_window", FaultMode::Stall).times(1)]);
        let window = ToolName::from("move_window");
        assert_eq!(faults.strike(&ToolName::from("honk")), None);
        assert_eq!(faults.strike(&window), Some(FaultMode::Stall));
        assert_eq!(faults.strike(&window), None);
    }

    #[test]
    fn a_fault_can_name_the_number_of_a_call() {
        let fault = Fault { tool: None, call: Some(2), times: None, mode: FaultMode::Ignore };
        let mut faults = Faults::new(vec![fault]);
        let tool = ToolName::from("honk");
        let struck: Vec<bool> = (0..3).map(|_| faults.strike(&tool).is_some()).collect();
        assert_eq!(struck, [false, true, false]);
    }
}
