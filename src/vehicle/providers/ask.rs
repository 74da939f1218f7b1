//! One call to a provider, and what its answer is worth.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value as Json;
use tokio::sync::watch;
use zbus::names::OwnedUniqueName;
use zbus::wire::OwnedObjectPath;
use zbus::{Connection, Message, fdo};

use super::unanswered::Waiting;
use crate::model::{Limits, ToolCall};
use crate::state::Clock;
use crate::tools::Tool;
use crate::vehicle::{Answer, Cause, Trouble};

/// The interface of a provider's object. Its one method is
/// `Call(s tool, s arguments, s call, t expiry) → (s status, s result)`:
///
/// - `arguments` and `result` are JSON objects as text, because JSON Schema is what both sides agreed on
///   and D-Bus types would lose some of it;
/// - `call` names this call for good: a provider that has carried it out does not do so again;
/// - `expiry` is a time of `CLOCK_BOOTTIME` in microseconds: a provider that has not begun by then must
///   not begin any more, and nobody listens to what it answers later;
/// - `status` is `done` (`result` is the result), `failed` (nothing changed, `result` says why) or
///   `unknown` (it may have taken effect, `result` says why nobody can tell).
pub const PROVIDER_INTERFACE: &str = "org.obligato.Provider1";

/// Where every provider has its object. The policy of the bus keeps everybody but the guard away from
/// [`PROVIDER_INTERFACE`] there; a file of the provider's own may let them in again, so a provider looks who calls:
/// the owner of the guard's name, and nobody else.
pub const PROVIDER_PATH: &str = "/org/obligato/Provider1";

/// Longest result in bytes: some hundred times the largest of the cabin.
pub const RESULT_BYTES: usize = 256 * 1024;

/// Longest explanation that is passed on, in characters; it may be spoken.
const WHY: usize = 200;

/// A name for a call that no other call has, of whichever process on whichever bus: providers keep it.
fn call_name() -> String {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    static PROCESS: OnceLock<String> = OnceLock::new();
    let process = PROCESS.get_or_init(|| {
        let mut random = [0_u8; 16];
        // Without a source of randomness, process and time are the best that there is.
        if getrandom::fill(&mut random).is_err() {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            random = (since.as_nanos() ^ (u128::from(std::process::id()) << 96)).to_le_bytes();
        }
        random.iter().map(|byte| format!("{byte:02x}")).collect()
    });
    format!("{process}/{}", CALLS.fetch_add(1, Ordering::Relaxed))
}

/// The way to a provider.
#[derive(Debug)]
pub(super) struct Line {
    connection: Connection,
    owner: OwnedUniqueName,
    object: OwnedObjectPath,
}

impl Line {
    pub(super) fn new(connection: Connection, owner: OwnedUniqueName, object: OwnedObjectPath) -> Self {
        Self { connection, owner, object }
    }

    /// The provider's connection.
    pub(super) fn owner(&self) -> &str {
        self.owner.as_str()
    }

    /// Asks once. Ends early when the registration does; the caller bounds the time. What nobody waits for any more
    /// is listened for all the same: until then it holds its place on the bus.
    pub(super) async fn ask(
        &self,
        tool: &Tool,
        call: &ToolCall,
        deadline: Duration,
        clock: &dyn Clock,
        mut ended: watch::Receiver<bool>,
        waiting: Waiting,
    ) -> Answer {
        let gone = "its provider left";
        let place = waiting.place();
        if *ended.borrow() {
            place.free();
            return Answer::Trouble(Trouble::untouched(Cause::NoProvider, gone));
        }
        let arguments = call.arguments.as_json().to_string();
        let name = call_name();
        let expiry = clock.since_boot().saturating_add(deadline);
        let (connection, owner, object) = (self.connection.clone(), self.owner.clone(), self.object.clone());
        let named = tool.name.to_string();
        let asked = tokio::spawn(async move {
            let body = (named.as_str(), arguments.as_str(), name.as_str(), micros(expiry));
            let reply = connection.call_method(Some(&owner), &object, Some(PROVIDER_INTERFACE), "Call", &body).await;
            place.free();
            reply
        });
        let reply = tokio::select! {
            biased;
            reply = asked => match reply {
                Ok(reply) => reply,
                Err(error) => return unusable(tool, format!("the call broke off: {error}")),
            },
            _ = ended.wait_for(|ended| *ended) => {
                return lost(tool, Cause::NoProvider, format!("{gone} before it answered"));
            }
        };
        // A machine that slept meanwhile has another idea of time than the caller's timer.
        if clock.since_boot() > expiry {
            return lost(tool, Cause::Silent, format!("the answer came after {} ms", deadline.as_millis()));
        }
        match reply {
            Ok(reply) => judge(tool, &reply),
            Err(zbus::Error::FDO(error)) => refused(tool, &error),
            Err(error) => unusable(tool, format!("its provider answered with an error: {}", short(&error.to_string()))),
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A write may have taken effect whatever became of the answer; a read changed nothing.
fn lost(tool: &Tool, cause: Cause, why: String) -> Answer {
    Answer::Trouble(if tool.is_write() { Trouble::open(cause, why) } else { Trouble::untouched(cause, why) })
}

/// An answer that nobody can make sense of.
fn unusable(tool: &Tool, why: String) -> Answer {
    lost(tool, Cause::Unusable, why)
}

/// What an error means. That nobody is there, and that too many answers are waited for, only the bus can say; every
/// other one may come from a provider that acted before it failed.
fn refused(tool: &Tool, error: &fdo::Error) -> Answer {
    use fdo::Error as E;
    let why = format!("its provider cannot be asked: {}", short(&error.to_string()));
    match error {
        E::ServiceUnknown(_) | E::NameHasNoOwner(_) => Answer::Trouble(Trouble::untouched(Cause::NoProvider, why)),
        E::LimitsExceeded(said) if said.contains("pending replies") => {
            Answer::Trouble(Trouble::untouched(Cause::NoProvider, why))
        }
        _ => unusable(tool, format!("its provider gave no answer: {}", short(&error.to_string()))),
    }
}

/// What an answer is worth: one that cannot be used leaves the outcome of a write unknown, whatever it
/// claims.
fn judge(tool: &Tool, reply: &Message) -> Answer {
    let body = reply.body();
    let Ok((status, result)) = body.deserialize::<(&str, &str)>() else {
        return unusable(tool, "its provider answered with something else than two strings".to_owned());
    };
    if result.len() > RESULT_BYTES {
        let why = format!("its provider answered with {} bytes, more than {RESULT_BYTES}", result.len());
        return unusable(tool, why);
    }
    match status {
        "done" => match read(tool, result) {
            Ok(result) => Answer::Done(std::sync::Arc::new(result)),
            Err(why) => unusable(tool, format!("the answer of its provider cannot be used: {}", short(&why))),
        },
        "failed" => Answer::Failed(short(result)),
        // Its own words, which are for the driver.
        "unknown" if tool.is_write() => Answer::Unknown(short(result)),
        "unknown" => Answer::Failed(short(result)),
        other => unusable(tool, format!("its provider answered `{}`, which is no status", short(other))),
    }
}

fn read(tool: &Tool, result: &str) -> Result<Json, String> {
    let json: Json = serde_json::from_str(result).map_err(|e| format!("it is no JSON: {e}"))?;
    let limit = Limits::default().depth;
    if depth(&json) > limit {
        return Err(format!("it is nested deeper than {limit} levels"));
    }
    tool.check_result(&json)?;
    Ok(json)
}

fn depth(json: &Json) -> usize {
    match json {
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Json::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The beginning of an explanation, on one line.
fn short(why: &str) -> String {
    why.chars().take(WHY).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
