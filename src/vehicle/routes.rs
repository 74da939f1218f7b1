//! Several carriers as one car.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use super::{Answer, Cause, Pending, Trouble, Vehicle};
use crate::model::ToolCall;
use crate::state::Side;

/// The parts that make up a car, in order of precedence: a call goes to the first that serves its
/// tool, and to no other, so nothing is carried out twice.
pub struct Routes {
    parts: Vec<Arc<dyn Vehicle>>,
}

impl Routes {
    /// A car of these parts.
    pub fn new(parts: Vec<Arc<dyn Vehicle>>) -> Self {
        Self { parts }
    }
}

impl Vehicle for Routes {
    fn call<'a>(&'a self, call: &'a ToolCall, deadline: Duration) -> Pending<'a> {
        match self.parts.iter().find(|part| part.serves(call.tool.as_str())) {
            Some(part) => part.call(call, deadline),
            None => {
                let why = format!("nothing in this car carries out `{}`", call.tool);
                Box::pin(async move { Answer::Trouble(Trouble::untouched(Cause::NoProvider, why)) })
            }
        }
    }

    fn serves(&self, tool: &str) -> bool {
        self.parts.iter().any(|part| part.serves(tool))
    }

    fn age(&self, read: &str, field: &str) -> Option<Duration> {
        self.parts.iter().find(|part| part.serves(read))?.age(read, field)
    }

    fn side(&self) -> Option<Side> {
        self.parts.iter().find_map(|part| part.side())
    }

    fn place(&self) -> Option<Json> {
        self.parts.iter().find_map(|part| part.place())
    }

    fn epoch(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.wrapping_add(part.epoch()))
    }

    fn slept(&self) {
        self.parts.iter().for_each(|part| part.slept());
    }

    fn sleeps(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.wrapping_add(part.sleeps()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    struct Part {
        tools: &'static [&'static str],
        calls: AtomicU64,
    }

    impl Vehicle for Part {
        fn call<'a>(&'a self, _call: &'a ToolCall, _deadline: Duration) -> Pending<'a> {
            self.calls.fetch_add(1, Ordering::Relaxed);
            Box::pin(async { Answer::Done(Arc::default()) })
        }

        fn serves(&self, tool: &str) -> bool {
            self.tools.contains(&tool)
        }

        fn epoch(&self) -> u64 {
            self.calls.load(Ordering::Relaxed)
        }
    }

    fn part(tools: &'static [&'static str]) -> Arc<Part> {
        Arc::new(Part { tools, calls: AtomicU64::new(0) })
    }

    #[tokio::test]
    async fn a_call_goes_to_the_first_part_that_serves_its_tool_and_to_no_other() {
        let (first, second) = (part(&["stir"]), part(&["stir", "bake"]));
        let car = Routes::new(vec![first.clone(), second.clone()]);
        for tool in ["stir", "bake"] {
            let call = ToolCall::new(tool, Default::default());
            assert!(matches!(car.call(&call, Duration::ZERO).await, Answer::Done(_)));
        }
        assert_eq!((first.epoch(), second.epoch(), car.epoch()), (1, 1, 2));
        let call = ToolCall::new("fly", Default::default());
        assert!(
            matches!(car.call(&call, Duration::ZERO).await, Answer::Trouble(t) if t.untouched && t.detail.contains("`fly`"))
        );
    }
}
