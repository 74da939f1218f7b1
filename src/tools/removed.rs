//! What the inventory once had and this session does not.

use std::collections::BTreeSet;

/// Removed tools, parameters and result fields, written as on the command line:
/// `tool`, `tool.parameter` (nested: `tool.parameter.member`), `result.tool.field`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    parts: BTreeSet<String>,
}

impl Removed {
    /// Marks one part as removed.
    pub fn insert(&mut self, part: &str) {
        self.parts.insert(part.to_owned());
    }

    /// Whether nothing is removed.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// All removed parts as written.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(String::as_str)
    }

    /// Whether that tool is removed.
    pub fn tool(&self, tool: &str) -> bool {
        self.parts.contains(tool)
    }

    /// Whether that parameter (a dotted path for nested ones) of a tool is removed, itself or with
    /// an outer one.
    pub fn parameter(&self, tool: &str, path: &str) -> bool {
        if self.parts.is_empty() {
            return false;
        }
        let full = format!("{tool}.{path}");
        self.parts.iter().any(|part| {
            full.strip_prefix(part.as_str())
                .is_some_and(|rest| part.len() > tool.len() && (rest.is_empty() || rest.starts_with('.')))
        })
    }

    /// Removed parameters of a tool, as dotted paths.
    pub fn parameters<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.parts.iter().filter_map(move |part| part.strip_prefix(tool)?.strip_prefix('.'))
    }

    /// Removed result fields of a tool, as dotted paths.
    pub fn fields<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.parts.iter().filter_map(move |part| part.strip_prefix("result.")?.strip_prefix(tool)?.strip_prefix('.'))
    }
}

impl<S: AsRef<str>> FromIterator<S> for Removed {
    fn from_iter<I: IntoIterator<Item = S>>(parts: I) -> Self {
        Self { parts: parts.into_iter().map(|p| p.as_ref().to_owned()).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_tools_parameters_and_result_fields_apart() {
        let removed = Removed::from_iter(["set_fan_speed", "set_seat_heating.level", "result.get_x.y"]);
        assert!(removed.tool("set_fan_speed") && !removed.tool("set_seat_heating"));
        assert!(removed.parameter("set_seat_heating", "level") && removed.parameter("set_seat_heating", "level.deep"));
        assert!(!removed.parameter("set_fan_speed", "level"));
        assert_eq!(removed.fields("get_x").collect::<Vec<_>>(), ["y"]);
        assert_eq!(removed.parameters("set_seat_heating").collect::<Vec<_>>(), ["level"]);
    }
}
