//! A model behind an OpenAI-compatible server as author.

use super::author::{ANSWER_TOKENS, Ask, Author, AuthorError};
use crate::student::{Remote, Student, StudentError};

impl Author for Remote {
    fn name(&self) -> String {
        Student::name(self).to_owned()
    }

    fn answer(&mut self, ask: &Ask<'_>) -> Result<String, AuthorError> {
        self.text(ask.system, &ask.user, ask.task.temperature(), ANSWER_TOKENS).map_err(|error| match error {
            StudentError::Endless(_) => AuthorError::Endless,
            error => AuthorError::Unavailable(error.to_string()),
        })
    }
}
