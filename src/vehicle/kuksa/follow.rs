//! Keeps the samples up to date for as long as the car lives: connect, check the mapping, subscribe,
//! and start over whenever the broker is lost.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::cache::{Cache, Health};
use super::link::{CallError, Link, refused};
use super::plan::Plan;
use super::proto::SubscribeResponse;
use super::raw::Raw;
use crate::policy::Policy;
use crate::vehicle::Cause;

/// Pause before the broker is looked for again, doubled up to the longest.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Pause between two questions for everything. A subscription alone can tell neither a quiet car from a frozen
/// broker nor news that were dropped from none.
const BEAT: Duration = Duration::from_millis(500);

/// Time in which it must answer that.
const ANSWER: Duration = Duration::from_secs(1);

/// Follows a broker until the cache is all that is left of it.
pub(super) async fn follow(cache: Arc<Cache>, link: Link, policy: Arc<Policy>) {
    let mut pause = PAUSE;
    loop {
        let error = match session(&cache, &link, &policy, &mut pause).await {
            Ok(never) => match never {},
            Err(End::Lost(error)) => error,
            Err(End::Side) => {
                tracing::info!("the car says another side of the driver; its signals are looked for anew");
                sleep(PAUSE).await;
                continue;
            }
        };
        let repeated = matches!(&cache.state().health, Health::Lost(cause, _) if *cause == error.cause);
        if !repeated {
            tracing::warn!(%error, "the databroker is lost; looking for it again");
        }
        cache.set_health(Health::Lost(error.cause, error.to_string()));
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Why a connection is given up.
enum End {
    /// The broker is lost.
    Lost(CallError),
    /// The driver sits on another side than the plan was made for.
    Side,
}

impl From<CallError> for End {
    fn from(error: CallError) -> Self {
        Self::Lost(error)
    }
}

/// One connection, from its beginning to its end.
async fn session(
    cache: &Arc<Cache>,
    link: &Link,
    policy: &Policy,
    pause: &mut Duration,
) -> Result<std::convert::Infallible, End> {
    let plan = Arc::new(plan(link, policy).await?);
    let misfits = plan.table.iter().filter(|row| row.fit != super::Fit::Fits).count();
    let mut news = link.subscribe(plan.paths()).await?;
    cache.connected(plan.clone());
    // The current values come first; until they are there, nothing is known.
    let first = next(&mut news, Some(ANSWER)).await?;
    cache.take(first.entries);
    same_side(cache, &plan)?;
    cache.set_health(Health::Alive);
    *pause = PAUSE;
    tracing::info!(signals = plan.watched.len(), tools = plan.served.len(), misfits, "the databroker is there");
    let reading = async {
        loop {
            let message = next(&mut news, None).await?;
            cache.take(message.entries);
            same_side(cache, &plan)?;
        }
    };
    tokio::select! {
        ended = reading => ended,
        ended = beat(cache, link, &plan) => ended,
    }
}

/// Goes on for as long as the car says the side that the plan was made for.
fn same_side(cache: &Cache, plan: &Plan) -> Result<(), End> {
    if cache.is_for_this_side(plan) { Ok(()) } else { Err(End::Side) }
}

/// The mapping on this broker, for the side that the driver sits on.
pub(super) async fn plan(link: &Link, policy: &Policy) -> Result<Plan, CallError> {
    let metadata = link.metadata().await?;
    let path = policy.model.vss.as_ref().and_then(|vss| vss.driver_side.as_deref());
    let mut said = None;
    if let Some(path) = path.filter(|path| metadata.iter().any(|m| m.path == *path)) {
        let points = link.values(&[path], ANSWER).await?;
        said = points.first().and_then(|p| p.value.as_ref()).and_then(Raw::read);
    }
    Ok(Plan::new(policy, said.as_ref(), &metadata))
}

pub(super) async fn next(
    news: &mut tonic::Streaming<SubscribeResponse>,
    limit: Option<Duration>,
) -> Result<SubscribeResponse, CallError> {
    let lost = |cause, detail: &str| {
        Err(CallError { what: "the subscription".to_owned(), cause, untouched: true, detail: detail.to_owned() })
    };
    let message = match limit {
        Some(limit) => match timeout(limit, news.message()).await {
            Ok(message) => message,
            Err(_) => return lost(Cause::Frozen, "the broker sent no values"),
        },
        None => news.message().await,
    };
    match message {
        Ok(Some(message)) => Ok(message),
        Ok(None) => lost(Cause::Unreachable, "the broker ended it"),
        Err(status) => Err(match refused("the subscription".to_owned(), &status) {
            // A stream has no provider: what is unavailable here is the broker.
            CallError { cause: Cause::NoProvider, what, detail, .. } => {
                CallError { what, cause: Cause::Unreachable, untouched: true, detail }
            }
            error => error,
        }),
    }
}

/// Asks for everything, again and again: whether the broker still answers, and whether what came through the
/// subscription is what it has. It drops news of a subscriber that was too slow and tells nobody, and after it
/// froze, or the machine slept, what is on its way comes later than its first answer.
async fn beat(cache: &Arc<Cache>, link: &Link, plan: &Arc<Plan>) -> Result<std::convert::Infallible, End> {
    let mut sleeps = cache.sleeps();
    let all: Vec<usize> = (0..plan.watched.len()).collect();
    let paths: Vec<&str> = plan.watched.iter().map(|watched| watched.path.as_str()).collect();
    loop {
        tokio::select! {
            () = sleep(BEAT) => {}
            _ = sleeps.changed() => {}
        }
        if paths.is_empty() {
            continue;
        }
        let since = cache.news();
        match link.values(&paths, ANSWER).await {
            // Asleep again in between: this answer is of before.
            Ok(_) if sleeps.has_changed().unwrap_or_default() => {}
            Ok(points) => {
                cache.refresh(plan, &all, &points, since);
                same_side(cache, plan)?;
                cache.set_health(Health::Alive);
            }
            Err(error) if error.cause == Cause::Frozen => {
                cache.set_health(Health::Lost(Cause::Frozen, error.to_string()));
            }
            Err(error) => return Err(error.into()),
        }
    }
}
