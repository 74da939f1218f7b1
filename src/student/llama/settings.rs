//! How one model is run: a small file beside it.

use std::path::Path;

use serde::Deserialize;

use crate::student::StudentError;

/// Where the form of a conversation comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Template {
    /// The chat template of the model's file where it has one, else plain lines.
    #[default]
    Auto,
    /// Plain lines: what a base model continues best.
    Plain,
}

/// Settings of one model. What a file leaves out stays as it was.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where the form of a conversation comes from.
    pub template: Option<Template>,
    /// Tokens of the context.
    pub context: Option<u32>,
    /// Threads.
    pub threads: Option<i32>,
    /// Processors that the threads may run on, counted from 0; none: any.
    pub cpus: Option<Vec<usize>>,
    /// Whether attention is computed in one pass; some models are faster without.
    pub flash_attention: Option<bool>,
}

impl Settings {
    /// Reads a settings file.
    ///
    /// # Errors
    /// [`StudentError::Script`], naming the file and what is wrong.
    pub fn load(path: &Path) -> Result<Self, StudentError> {
        let error = |why: String| StudentError::Script { path: path.display().to_string(), why };
        let text = std::fs::read_to_string(path).map_err(|e| error(e.to_string()))?;
        toml::from_str(&text).map_err(|e| error(e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_setting_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "template = \"plain\"\nflash_attention = false\ncpus = [1]\n").unwrap();
        let read = Settings::load(file.path()).unwrap();
        assert_eq!((read.template, read.cpus), (Some(Template::Plain), Some(vec![1])));
        std::fs::write(file.path(), "thread = 1\n").unwrap();
        assert!(Settings::load(file.path()).unwrap_err().to_string().contains("thread"));
    }
}
