//! A student behind an OpenAI-compatible server, for a bench: `POST <base>/chat/completions`.
//!
//! What the server answers is material like any other draft: capped in size, parsed, checked by the
//! gates. The key never appears in a message or a log.

mod client;
#[cfg(test)]
mod tests;
mod wire;

use std::time::{Duration, Instant};

use serde_json::Value as Json;

use self::client::Client;
use super::{Answer, Cancel, Prompt, Student, StudentError, Usage};
use crate::critic::{Case, Judge, JudgeError, Ruling};
use crate::model::{Draft, Limits};

/// Where the model server is and how it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteConfig {
    /// Base address without `/chat/completions`, such as `http://bench:8080/v1`. Plain HTTP: put a
    /// tunnel in front of a server that is not on the bench.
    pub base: String,
    /// Name of the model on that server.
    pub model: String,
    /// Name of the environment variable that holds the bearer key, if the server wants one.
    pub key_variable: Option<String>,
    /// Wall time of one request, from connecting to the last byte.
    pub timeout: Duration,
    /// Largest answer that is read, in bytes.
    pub answer_bytes: u64,
    /// Tokens that one judgement may take.
    pub judge_tokens: u32,
}

impl RemoteConfig {
    /// A server without a key: one minute a request, answers up to one MiB.
    pub fn new(base: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base: base.into(),
            model: model.into(),
            key_variable: None,
            timeout: Duration::from_secs(60),
            answer_bytes: 1 << 20,
            judge_tokens: 256,
        }
    }
}

/// The remote student; also a judge.
#[derive(Debug)]
pub struct Remote {
    client: Client,
    config: RemoteConfig,
    name: String,
    limits: Limits,
}

impl Remote {
    /// Prepares the requests; the server is first contacted by a draft.
    ///
    /// # Errors
    /// [`StudentError::Remote`] when the key's variable is named and not set.
    pub fn new(config: RemoteConfig) -> Result<Self, StudentError> {
        let client = Client::new(&config)?;
        let name = format!("remote:{}", config.model);
        Ok(Self { client, config, name, limits: Limits::default() })
    }

    /// A text for an instruction and what it is about; no tools, no conversation.
    ///
    /// # Errors
    /// [`StudentError::Endless`] at the token limit, else what a draft fails with.
    pub fn text(&self, system: &str, user: &str, temperature: f32, max_tokens: u32) -> Result<String, StudentError> {
        let completion = self
            .ask(wire::text_request(&self.config.model, system, user, temperature, max_tokens), &Cancel::default())?;
        if completion.cut_off {
            return Err(StudentError::Endless(max_tokens));
        }
        Ok(completion.message.content.unwrap_or_default())
    }

    fn ask(&self, body: Json, cancel: &Cancel) -> Result<wire::Completion, StudentError> {
        let bytes = self.client.post(body, cancel)?;
        wire::completion(&bytes)
    }
}

impl Student for Remote {
    fn draft(&mut self, prompt: &Prompt<'_>) -> Result<Answer, StudentError> {
        let start = Instant::now();
        let completion = self.ask(wire::draft_request(&self.config.model, prompt), prompt.cancel)?;
        if completion.cut_off {
            return Err(StudentError::Endless(prompt.max_tokens));
        }
        let draft = Draft::from_message(&completion.message, &self.limits)
            .map_err(|e| StudentError::Unreadable(e.to_string()))?;
        let usage = Usage { wall: start.elapsed(), ..completion.usage };
        Ok(Answer { draft, usage })
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl Judge for Remote {
    fn judge(&mut self, case: &Case<'_>) -> Result<Vec<Ruling>, JudgeError> {
        let request = wire::judge_request(&self.config.model, self.config.judge_tokens, case);
        let mut unreadable = String::new();
        // A second try: a sampled answer that cannot be read is often well formed the next time.
        for _ in 0..2 {
            let completion = match self.ask(request.clone(), &Cancel::default()) {
                Ok(completion) => completion,
                Err(StudentError::Cancelled) => return Err(JudgeError::Cancelled),
                Err(e) => return Err(JudgeError::Unavailable(e.to_string())),
            };
            match wire::rulings(completion.message.content.as_deref().unwrap_or_default(), case.candidates.len()) {
                Ok(rulings) => return Ok(rulings),
                Err(why) => unreadable = why,
            }
        }
        Err(JudgeError::Unreadable(unreadable))
    }
}
