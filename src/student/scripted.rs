//! A student that reads its drafts from a file: for tests, policy tests and demonstrations.

use std::fs;
use std::path::Path;
use std::time::Instant;

use super::{Answer, Prompt, Student, StudentError, Usage};
use crate::model::{Draft, Limits};

/// The last line of a script that begins anew when it has come to its end.
const AGAIN: &str = "again";

/// Says one prepared draft after the other, whatever it is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Scripted {
    drafts: Vec<Draft>,
    next: usize,
    /// Whether it begins anew after the last one.
    again: bool,
}

impl Scripted {
    /// A student that says these drafts in this order.
    pub fn new(drafts: Vec<Draft>) -> Self {
        Self { drafts, next: 0, again: false }
    }

    /// Reads a script: one OpenAI assistant message a line; empty lines and lines that begin with
    /// `#` or `//` are skipped. `again` as the last line makes it endless.
    ///
    /// # Errors
    /// [`StudentError::Script`], naming the file and the line.
    pub fn load(path: &Path) -> Result<Self, StudentError> {
        let error = |why: String| StudentError::Script { path: path.display().to_string(), why };
        let text = fs::read_to_string(path).map_err(|e| error(e.to_string()))?;
        let (mut drafts, mut again) = (Vec::new(), false);
        for (i, line) in text.lines().map(str::trim).enumerate() {
            if line.is_empty() || line.starts_with('#') || line.starts_with("//") {
                continue;
            }
            if again {
                return Err(error(format!("line {}: nothing follows `{AGAIN}`", i + 1)));
            }
            if line == AGAIN {
                again = true;
                continue;
            }
            let draft = Draft::from_bytes(line.as_bytes(), &Limits::default());
            drafts.push(draft.map_err(|e| error(format!("line {}: {e}", i + 1)))?);
        }
        Ok(Self { again, ..Self::new(drafts) })
    }
}

impl Student for Scripted {
    fn draft(&mut self, prompt: &Prompt<'_>) -> Result<Answer, StudentError> {
        let start = Instant::now();
        if prompt.cancel.is_cancelled() {
            return Err(StudentError::Cancelled);
        }
        if self.again && self.next == self.drafts.len() {
            self.next = 0;
        }
        let draft = self.drafts.get(self.next).cloned().ok_or(StudentError::ScriptEnd(self.next))?;
        self.next += 1;
        Ok(Answer { draft, usage: Usage { wall: start.elapsed(), ..Usage::default() } })
    }

    fn name(&self) -> &str {
        "scripted"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::student::Cancel;
    use crate::tools::{Inventory, Removed};

    fn draft(student: &mut Scripted, cancel: &Cancel) -> Result<Draft, StudentError> {
        let (inventory, removed) = (Inventory::default(), Removed::default());
        let prompt = Prompt {
            inventory: &inventory,
            removed: &removed,
            conversation: &[],
            objection: None,
            offer: crate::student::Offer::All,
            temperature: 0.0,
            seed: 0,
            max_tokens: 100,
            cancel,
        };
        student.draft(&prompt).map(|answer| answer.draft)
    }

    fn script(text: &str) -> Result<Scripted, StudentError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        Scripted::load(file.path())
    }

    #[test]
    fn says_each_line_once_and_then_names_how_many_there_were() {
        let text = concat!(
            "# a call, then a reply\n\n",
            r#"{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"set_fan","arguments":"{\"level\":2}"}}]}"#,
            "\n// done\n",
            r#"{"role":"assistant","content":"The fan is on two."}"#,
            "\n"
        );
        let mut student = script(text).unwrap();
        let cancel = Cancel::default();
        assert_eq!(draft(&mut student, &cancel).unwrap().calls[0].to_string(), "set_fan(level: 2)");
        assert_eq!(draft(&mut student, &cancel).unwrap(), Draft::reply("The fan is on two."));
        let end = draft(&mut student, &cancel).unwrap_err().to_string();
        assert_eq!(end, "the script has no draft left after 2; add one to the file");
    }

    #[test]
    fn a_bad_line_is_named_by_its_number() {
        let error = script("# comment\n{\"role\":\"user\",\"content\":\"hi\"}\n").unwrap_err().to_string();
        assert!(error.contains("line 2: the draft has the role `user`"), "{error}");
    }

    #[test]
    fn a_cancelled_turn_uses_up_no_draft() {
        let mut student = Scripted::new(vec![Draft::reply("hello")]);
        let cancelled = Cancel::default();
        cancelled.cancel();
        assert!(matches!(draft(&mut student, &cancelled), Err(StudentError::Cancelled)));
        assert_eq!(draft(&mut student, &Cancel::default()).unwrap(), Draft::reply("hello"));
    }
}
