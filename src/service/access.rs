//! Who calls, and whether the session is theirs. The bus vouches for both answers.

use zbus::Connection;
use zbus::fdo::DBusProxy;
use zbus::message::Header;
use zbus::names::{BusName, OwnedUniqueName};

use super::Refusal;
use super::config::ProviderConfig;
use super::open::{Holder, OpenSession};
use super::words::Report;

/// The connection that sent a message.
pub(super) fn caller(header: &Header<'_>) -> Result<OwnedUniqueName, Refusal> {
    let sender =
        header.sender().ok_or_else(|| Refusal::NotYours("the call has no sender; use a message bus".into()))?;
    Ok(sender.to_owned().into())
}

/// The user behind a connection.
pub(super) async fn user(connection: &Connection, caller: &OwnedUniqueName) -> Result<u32, Refusal> {
    let bus = DBusProxy::new(connection).await?;
    let name = BusName::from(caller.as_ref());
    bus.get_connection_unix_user(name).await.map_err(|e| Refusal::NotYours(format!("the bus does not know you: {e}")))
}

/// Whether somebody is root or a member of the group that may update, and which user that is. The bus knows
/// the groups of a caller from the kernel; where it does not tell them, nobody but root is let in.
pub(super) async fn updater(
    connection: &Connection,
    caller: &OwnedUniqueName,
    group: &str,
) -> Result<(Option<u32>, Result<(), Refusal>), Refusal> {
    let unknown = |e| Refusal::NotAllowed(format!("the bus does not know you: {e}"));
    let bus = DBusProxy::new(connection).await?;
    let who = bus.get_connection_credentials(BusName::from(caller.as_ref())).await.map_err(unknown)?;
    let user = who.unix_user_id();
    let groups = who.unix_group_ids().map(Vec::as_slice).unwrap_or_default();
    let may = match gid(group) {
        _ if user == Some(0) => Ok(()),
        Some(gid) if groups.contains(&gid) => Ok(()),
        Some(_) => Err(Refusal::NotAllowed(format!("only members of the group `{group}` may update the policy"))),
        None => Err(Refusal::NotAllowed(format!("the group `{group}`, which may update the policy, does not exist"))),
    };
    Ok((user, may))
}

/// The number of a group: as written, or as `/etc/group` has it.
fn gid(group: &str) -> Option<u32> {
    if let Ok(gid) = group.parse() {
        return Some(gid);
    }
    let groups = std::fs::read_to_string("/etc/group").ok()?;
    let mut lines = groups.lines().map(|line| line.split(':'));
    lines.find_map(|mut fields| (fields.next()? == group).then(|| fields.nth(1)?.parse().ok())?)
}

/// Whether a session is the caller's.
pub(super) async fn holds(connection: &Connection, session: &OpenSession, caller: &OwnedUniqueName) -> bool {
    match &session.holder {
        Holder::Connection(holder) => holder == caller,
        Holder::User(holder) => user(connection, caller).await.is_ok_and(|user| user == *holder),
    }
}

/// Refuses everybody but the holder.
pub(super) async fn require_holder(
    connection: &Connection,
    session: &OpenSession,
    caller: &OwnedUniqueName,
) -> Result<(), Refusal> {
    if holds(connection, session, caller).await {
        return Ok(());
    }
    Err(Refusal::NotYours(match session.holder {
        Holder::Connection(_) => format!("the session `{}` belongs to another connection", session.path.as_str()),
        Holder::User(_) => format!("the session `{}` belongs to another user", session.path.as_str()),
    }))
}

/// Refuses what was heard from everybody but the configured speech service; without one, from
/// everybody but the holder.
pub(super) async fn require_ears(
    connection: &Connection,
    session: &OpenSession,
    caller: &OwnedUniqueName,
    speech: Option<&str>,
) -> Result<(), Refusal> {
    let Some(speech) = speech else { return require_holder(connection, session, caller).await };
    let refusal = || Refusal::NotYours(format!("what was heard is taken from `{speech}` alone"));
    let name = BusName::try_from(speech).map_err(|_| refusal())?;
    let owner = DBusProxy::new(connection).await?.get_name_owner(name).await.map_err(|_| refusal())?;
    if owner == *caller { Ok(()) } else { Err(refusal()) }
}

/// Whether somebody may report words of the driver in this way. What the bus says is remembered of the session.
pub(super) async fn may_report(
    connection: &Connection,
    session: &OpenSession,
    caller: &OwnedUniqueName,
    speech: Option<&str>,
    report: Report,
) -> bool {
    if let Some(known) = session.words.known(&session.holder, caller.as_str(), report) {
        return known;
    }
    let ears = require_ears(connection, session, caller, speech).await.is_ok();
    let may = ears || (report == Report::Said && holds(connection, session, caller).await);
    session.words.learn(caller.as_str(), report, may);
    may
}

/// By what right a connection provides tools.
#[derive(Debug, Default)]
pub(super) struct Licence {
    /// Names of the configuration that it owns.
    pub(super) names: Vec<String>,
    /// The tools it may provide; none: every one.
    pub(super) tools: Option<Vec<String>>,
    /// The tools that entries name for it.
    pub(super) named: Vec<String>,
    /// Its user.
    pub(super) user: u32,
}

/// What the configuration lets a connection provide. Several entries that fit add up.
pub(super) async fn licence(
    connection: &Connection,
    caller: &OwnedUniqueName,
    entries: &[ProviderConfig],
) -> Result<Licence, Refusal> {
    let bus = DBusProxy::new(connection).await?;
    let user = user(connection, caller).await?;
    let mut licence = Licence { tools: Some(Vec::new()), user, ..Licence::default() };
    let mut fits = false;
    for entry in entries {
        if entry.user.is_some_and(|wanted| wanted != user) {
            continue;
        }
        if let Some(name) = &entry.name {
            let owner = match BusName::try_from(name.as_str()) {
                Ok(name) => bus.get_name_owner(name).await.ok(),
                Err(_) => None,
            };
            if owner.is_none_or(|owner| owner != *caller) {
                continue;
            }
            licence.names.push(name.clone());
        }
        fits = true;
        licence.named.extend(entry.tools.iter().flatten().cloned());
        licence.tools = match (licence.tools, &entry.tools) {
            (Some(mut all), Some(more)) => {
                all.extend(more.iter().cloned());
                Some(all)
            }
            _ => None,
        };
    }
    if fits {
        return Ok(licence);
    }
    Err(Refusal::NotAProvider(
        "the configuration lets neither your user nor a name that you own provide tools; see `vehicle.provider`".into(),
    ))
}
