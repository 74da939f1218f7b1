//! Answers that were recorded: a pipeline without a model, and the same result every time.

use std::io::Write;

use serde::{Deserialize, Serialize};

use super::author::{Ask, Author, AuthorError, Task};
use crate::compile::error::{CompileError, CompileErrors};
use crate::compile::source::SourceFile;

/// One line of an answer file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    task: Task,
    /// How the sentence begins: enough of it to tell it from others.
    begins: String,
    /// The round it answers; none: every round that no other line answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    round: Option<u32>,
    /// The answer; none: it did not come to an end.
    answer: Option<String>,
}

/// An author that repeats recorded answers.
#[derive(Debug, Clone)]
pub struct Recorded {
    name: String,
    lines: Vec<Line>,
}

impl Recorded {
    /// Reads a file of answers, one JSON object a line.
    ///
    /// # Errors
    /// [`CompileErrors`] with the line that is none.
    pub fn read(file: &SourceFile) -> Result<Self, CompileErrors> {
        let mut lines = Vec::new();
        let mut wrong = Vec::new();
        let mut at = 0;
        for text in file.text().split_inclusive('\n') {
            if !text.trim().is_empty() {
                match serde_json::from_str(text) {
                    Ok(line) => lines.push(line),
                    Err(error) => wrong.push(CompileError::Answers { place: file.at(at), why: error.to_string() }),
                }
            }
            at += text.len();
        }
        if wrong.is_empty() {
            Ok(Self { name: format!("recorded:{}", file.name()), lines })
        } else {
            Err(CompileErrors(wrong))
        }
    }
}

impl Author for Recorded {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn answer(&mut self, ask: &Ask<'_>) -> Result<String, AuthorError> {
        let fits = |line: &&Line| line.task == ask.task && ask.sentence.starts_with(&line.begins);
        let exact = self.lines.iter().find(|line| fits(line) && line.round == Some(ask.round));
        let found = exact.or_else(|| self.lines.iter().find(|line| fits(line) && line.round.is_none()));
        match found {
            Some(Line { answer: Some(answer), .. }) => Ok(answer.clone()),
            Some(_) => Err(AuthorError::Endless),
            None => {
                let begins: String = ask.sentence.chars().take(40).collect();
                Err(AuthorError::Unavailable(format!(
                    "{}: no answer to `{}` in round {} for line {}, `{begins}…`; record one with `begins`",
                    self.name,
                    ask.task.as_str(),
                    ask.round,
                    ask.line
                )))
            }
        }
    }
}

/// Writes down what another author answers, so that it can be repeated.
pub struct Recording<A, W> {
    author: A,
    out: W,
}

impl<A: Author, W: Write> Recording<A, W> {
    /// Listens to an author.
    pub fn new(author: A, out: W) -> Self {
        Self { author, out }
    }
}

impl<A: Author, W: Write> Author for Recording<A, W> {
    fn name(&self) -> String {
        self.author.name()
    }

    fn answer(&mut self, ask: &Ask<'_>) -> Result<String, AuthorError> {
        let answered = self.author.answer(ask);
        let answer = match &answered {
            Ok(text) => Some(text.clone()),
            Err(AuthorError::Endless) => None,
            Err(AuthorError::Unavailable(_)) => return answered,
        };
        let line = Line { task: ask.task, begins: ask.sentence.to_owned(), round: Some(ask.round), answer };
        let text = serde_json::to_string(&line).map_err(|e| AuthorError::Unavailable(e.to_string()))?;
        writeln!(self.out, "{text}")
            .map_err(|e| AuthorError::Unavailable(format!("the record cannot be written: {e}")))?;
        answered
    }
}

impl<A: Author + ?Sized> Author for Box<A> {
    fn name(&self) -> String {
        (**self).name()
    }

    fn answer(&mut self, ask: &Ask<'_>) -> Result<String, AuthorError> {
        (**self).answer(ask)
    }
}
