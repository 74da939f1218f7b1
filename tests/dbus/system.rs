//! The files that put the service on a system.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use obligato::service::BUS_NAME;
use obligato::vehicle::PROVIDER_PATH;
use tokio::time::{sleep, timeout};
use tokio_stream::StreamExt;
use zbus::MessageStream;
use zbus::fdo::DBusProxy;

use super::rig::{Client, PATIENCE, bus_with, cabin_blob, root};

#[test]
fn the_unit_exposes_little() {
    let unit = root().join("systemd/obligatod.service");
    let Ok(output) =
        Command::new("systemd-analyze").args(["security", "--offline=true", "--threshold=15"]).arg(unit).output()
    else {
        println!("skipped: systemd-analyze is not here");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("Overall exposure level"), "{text}");
}

/// A bus where nobody may own or call anything but what our policy file allows, with `user` in the
/// place of the service's user.
fn strict_bus(folder: &Path, user: &str) -> (Child, String) {
    let policy = fs::read_to_string(root().join("systemd/org.obligato.Harness1.conf")).unwrap();
    assert!(policy.contains("user=\"obligato\""));
    fs::write(folder.join("policy.conf"), policy.replace("user=\"obligato\"", &format!("user=\"{user}\""))).unwrap();
    let config = fs::read_to_string(root().join("tests/dbus/bus.conf")).unwrap();
    let strict = config
        .replace("<allow own=\"*\"/>", "")
        .replace("</busconfig>", &format!("<include>{}</include></busconfig>", folder.join("policy.conf").display()));
    fs::write(folder.join("bus.conf"), strict).unwrap();
    bus_with(&folder.join("bus.conf"), folder)
}

fn service(address: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_obligatod"));
    command.args(["--bus", address, "--student", "none"]).arg("--policy").arg(cabin_blob());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

#[test]
fn nobody_but_the_service_user_owns_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let (mut bus, address) = strict_bus(folder.path(), "nobody");
    let output = service(&address).output().unwrap();
    bus.kill().unwrap();
    bus.wait().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("may this user own `org.obligato.Harness1`?"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bus_policy_lets_the_service_user_serve() {
    let folder = tempfile::tempdir().unwrap();
    let user = String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
    let (mut bus, address) = strict_bus(folder.path(), user.trim());
    let mut service = service(&address).stderr(Stdio::null()).spawn().unwrap();
    let connection = zbus::connection::Builder::address(address.as_str()).build().await.unwrap();
    let names = DBusProxy::new(&connection).await.unwrap();
    let up = async {
        while !names.name_has_owner(BUS_NAME.try_into().unwrap()).await.unwrap() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, up).await.unwrap();
    let client = Client::new(connection).await;
    assert_eq!(client.manager.state().await.unwrap(), "no-model");
    assert_eq!(client.policy.rules().await.unwrap() as usize, client.policy.list().await.unwrap().len());
    // Root may do everything; anybody else needs the group for a session.
    assert_eq!(client.manager.open_session().await.is_ok(), user.trim() == "root");
    service.kill().unwrap();
    service.wait().unwrap();
    bus.kill().unwrap();
    bus.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_but_the_service_user_calls_a_provider() {
    let user = String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
    let named = Some("org.obligato.Provider1");
    let ways = [(user.trim(), named, true), ("nobody", named, false), ("nobody", None, false)];
    for (service_user, interface, reaches) in ways {
        let called = call_on_strict_bus(service_user, PROVIDER_PATH, interface, "Call").await;
        assert_eq!(called, reaches, "{service_user} {interface:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bus_policy_is_in_nobody_elses_way() {
    let others = [
        ("/org/example/Other", Some("org.example.Other"), "Call"),
        ("/org/example/Other", None, "Call"),
        ("/org/example/Other", None, "Hi"),
        ("/", None, "Get"),
        (PROVIDER_PATH, Some("org.freedesktop.DBus.Peer"), "Ping"),
    ];
    for (path, interface, member) in others {
        assert!(call_on_strict_bus("nobody", path, interface, member).await, "{path} {interface:?} {member}");
    }
}

/// Whether a call of ours gets to somebody else on a bus with our policy.
async fn call_on_strict_bus(service_user: &str, path: &str, interface: Option<&str>, member: &'static str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let (mut bus, address) = strict_bus(folder.path(), service_user);
    let connect = || zbus::connection::Builder::address(address.as_str()).build();
    let (callee, caller) = (connect().await.unwrap(), connect().await.unwrap());
    let name = callee.unique_name().unwrap().clone();
    // From before the call on: what comes while nobody listens is lost, and nobody answers it.
    let mut messages = MessageStream::from(&callee);
    let reached = async {
        while let Some(Ok(message)) = messages.next().await {
            if message.header().member().is_some_and(|m| m.as_str() == member) {
                return;
            }
        }
    };
    // Either it gets there, or the bus refuses it. Whoever gets it may say that it has no such method.
    let called = tokio::select! {
        () = reached => None,
        answer = caller.call_method(Some(name), path, interface, member, &()) => Some(answer),
    };
    bus.kill().unwrap();
    bus.wait().unwrap();
    match called {
        Some(Err(zbus::Error::FDO(error))) if matches!(*error, zbus::fdo::Error::AccessDenied(_)) => false,
        None | Some(Ok(_) | Err(_)) => true,
    }
}

#[test]
fn the_service_manager_hears_of_readiness_life_and_end() {
    let folder = tempfile::tempdir().unwrap();
    let (mut bus, address) = super::rig::bus(folder.path());
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut running = service(&address)
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "300000")
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let hear = || {
        let mut buffer = [0; 256];
        let length = manager.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).trim().to_owned()
    };
    let mut heard = Vec::new();
    while heard.iter().filter(|h| *h == "WATCHDOG=1").count() < 3 || !heard.contains(&"READY=1".to_owned()) {
        heard.push(hear());
        assert!(heard.len() < 20, "{heard:?}");
    }
    let status = Command::new("kill").arg(running.id().to_string()).status().unwrap();
    assert!(status.success());
    while hear() != "STOPPING=1" {}
    assert!(running.wait().unwrap().success());
    bus.kill().unwrap();
    bus.wait().unwrap();
}
