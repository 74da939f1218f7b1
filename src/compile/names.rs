//! Names that do not exist: what was probably meant.

use std::fmt;

use crate::model::nearest;

/// The end of a message about an unknown name: what was probably meant, or what there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near(String);

impl Near {
    /// Looks for the closest of the names that exist.
    pub(super) fn among<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let known: Vec<&str> = known.collect();
        Self(match nearest(name, known.iter().copied()) {
            Some(best) => format!("did you mean `{best}`?"),
            None if known.is_empty() => "none is declared".to_owned(),
            // A handful is help, sixty are noise.
            None if known.len() <= 12 => format!("there is {}", known.join(", ")),
            None => "correct the name or declare it".to_owned(),
        })
    }
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_the_close_name_else_lists_the_few_there_are() {
        let names = ["set_oven", "get_oven"];
        assert_eq!(Near::among("set_ofen", names.into_iter()).to_string(), "did you mean `set_oven`?");
        assert_eq!(Near::among("x", names.into_iter()).to_string(), "there is set_oven, get_oven");
        assert_eq!(Near::among("x", std::iter::empty()).to_string(), "none is declared");
    }
}
