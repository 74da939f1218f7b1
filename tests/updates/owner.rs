//! Root works past the service on slots that belong to the service's user: what it leaves there is that user's.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use obligato::policy::update::{Owner, sign_keys};
use obligato::service::{Config, LocalUpdates};

use super::car::Garage;
use super::command::obligato;
use super::rig::{cabin_blob, root};

/// Stands for the user of the service.
const USER: u32 = 64_123;

/// A car whose state directory belongs to the user; none without root.
fn car() -> Option<(Garage, PathBuf)> {
    let garage = Garage::new();
    let state = garage.at("state");
    fs::create_dir_all(&state).unwrap();
    if let Err(error) = chown(&state, Some(USER), Some(USER)) {
        println!("skipped: only root gives folders away: {error}");
        return None;
    }
    fs::set_permissions(garage.folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let (blob, limits) = (garage.at("cabin.obl"), root().join("systemd/hard-limits.toml"));
    fs::copy(cabin_blob(), &blob).unwrap();
    fs::copy(limits, garage.at("limits.toml")).unwrap();
    let config = garage.at("obligato.toml");
    let text = format!("policy = {blob:?}\nlimits = {:?}\n{}", garage.at("limits.toml"), garage.config());
    fs::write(&config, text).unwrap();
    Some((garage, config))
}

fn offline(config: &Path, step: &[&str]) -> (i32, String) {
    let mut arguments = vec!["policy", "--offline", "--config", config.to_str().unwrap()];
    arguments.extend(step);
    let output = obligato(&arguments);
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap(), said)
}

/// Everything below a folder, with its owner.
fn owners(folder: &Path) -> Vec<(PathBuf, u32, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let seen = path.symlink_metadata().unwrap();
        if seen.is_dir() {
            found.extend(owners(&path));
        }
        found.push((path, seen.uid(), seen.gid()));
    }
    found
}

/// What the service's user finds at a start.
fn started_as_user(config: &Path) -> (u64, u64, Vec<String>) {
    let config = Config::read(config).unwrap();
    let owner = LocalUpdates::owner(&config).unwrap();
    assert_eq!(owner.uid(), USER);
    owner
        .act(|| {
            let local = LocalUpdates::open(&config).unwrap().unwrap();
            local.writable().unwrap();
            let started = local.start();
            (started.version(), local.slots.status().unwrap().floor, started.notes)
        })
        .unwrap()
}

#[test]
fn every_step_of_root_past_the_service_leaves_files_that_the_service_can_use() {
    let Some((garage, config)) = car() else { return };
    // What was delivered is root's, and nobody else may read it.
    let deliver = |path: PathBuf| {
        fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let second = deliver(garage.update(2, |_| {}));
    let third = deliver(garage.update(3, |_| {}));
    let fourth = deliver(garage.update(4, |_| {}));
    let list = garage.at("x.keys");
    fs::write(&list, sign_keys(1, &[garage.key.public()], &[], &garage.root).unwrap()).unwrap();
    let list = deliver(list);
    let drop = garage.at("drop");
    fs::create_dir(&drop).unwrap();
    let folder = drop.to_str().unwrap().to_owned();
    let steps: [&[&str]; 14] = [
        &["status"],
        &["keys", &list],
        &["stage", &second],
        &["verify"],
        &["activate"],
        &["commit"],
        &["install", &third, "--trial"],
        &["rollback", "--number", "3"],
        &["stage", &third],
        &["unstage"],
        &["install", &third],
        &["stage", &fourth],
        &["activate"],
        &["deliver", &folder],
    ];
    for step in steps {
        let (code, said) = offline(&config, step);
        assert_eq!(code, 0, "{step:?}: {said}");
        for (path, uid, gid) in owners(&garage.at("state")) {
            assert_eq!((uid, gid), (USER, USER), "{} after {step:?}", path.display());
        }
    }
    let (version, floor, notes) = started_as_user(&config);
    assert_eq!((version, floor), (4, 3), "{notes:?}");
    assert_eq!(offline(&config, &["commit", "--file", &fourth]).0, 0);
    assert_eq!(started_as_user(&config), (4, 4, Vec::new()));
}

#[test]
fn a_link_that_the_services_user_put_there_leads_root_nowhere() {
    let Some((garage, config)) = car() else { return };
    let (outside, slots) = (garage.at("roots"), garage.at("state/policy"));
    fs::create_dir(&outside).unwrap();
    symlink(&outside, &slots).unwrap();
    std::os::unix::fs::lchown(&slots, Some(USER), Some(USER)).unwrap();
    let update = garage.update(2, |_| {});
    let (code, said) = offline(&config, &["stage", update.to_str().unwrap()]);
    assert_eq!(code, 20, "{said}");
    assert!(fs::read_dir(&outside).unwrap().next().is_none(), "root wrote where the link led");
}

#[test]
fn a_service_of_root_keeps_off_the_slots_of_another_user() {
    let Some((garage, config)) = car() else { return };
    let error = LocalUpdates::open(&Config::read(&config).unwrap()).err().unwrap().to_string();
    assert!(error.contains("belongs to user 64123, not to root"), "{error}");
    assert!(owners(&garage.at("state")).is_empty());
    assert_eq!(Owner::other(&garage.at("trust.toml")), None);
}
