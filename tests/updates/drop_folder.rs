//! The drop folder: what lies there may be anything.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use obligato::policy::update::{Reading, SecretKey, sign_keys};

use super::car::{Garage, sick};
use super::command::obligato;
use super::rig::{Client, Rig, Setup, root};

fn deliver(rig: &Rig, folder: &Path) -> (i32, String) {
    let output = obligato(&["policy", "--bus", rig.address(), "deliver", folder.to_str().unwrap()]);
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap(), said)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_folder_is_cleared_and_the_genuine_update_among_it_arrives() {
    let garage = Garage::new();
    let rig = Rig::start(Setup::without_student().config(&garage.config())).await;
    let drop = garage.at("drop");
    fs::create_dir(&drop).unwrap();
    let outside = garage.at("outside");
    fs::write(&outside, "not yours").unwrap();
    symlink(&outside, drop.join("a.policy")).unwrap();
    symlink("/dev/zero", drop.join("b.policy")).unwrap();
    assert!(Command::new("mkfifo").arg(drop.join("c.policy")).status().unwrap().success());
    fs::File::create(drop.join("d.policy")).unwrap().set_len(1 << 40).unwrap();
    fs::create_dir(drop.join("e.policy")).unwrap();
    fs::create_dir(drop.join("f.policy")).unwrap();
    fs::write(drop.join("f.policy/kept"), "x").unwrap();
    fs::write(drop.join("g.policy"), "OBLIPOLU").unwrap();
    fs::write(drop.join("h\n\u{1b}[2J.policy"), "rubbish, and long enough to be looked at").unwrap();
    fs::rename(garage.update(2, |_| {}), drop.join("i.policy")).unwrap();
    fs::write(drop.join(".writing.policy"), "half").unwrap();
    fs::write(drop.join("z.policy.tmp"), "half").unwrap();
    let (_, said) = deliver(&rig, &drop);
    assert!(said.contains("i.policy: version 2 is committed"), "{said}");
    for word in ["a symbolic link", "a pipe", "a folder", "endless data", "truncated"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    // What is being written stays, and so does a folder that is not empty; nothing outside was touched.
    assert_eq!(names(&drop), [".writing.policy", "f.policy", "z.policy.tmp"]);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "not yours");
    let client = Client::new(rig.connect().await).await;
    assert_eq!(client.policy.version().await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sick_policy_leaves_nothing_staged_and_a_list_of_keys_comes_before_what_it_vouches_for() {
    let garage = Garage::new();
    let rig = Rig::start(Setup::without_student().config(&garage.config())).await;
    let drop = garage.at("drop");
    fs::create_dir(&drop).unwrap();
    fs::rename(garage.update(2, sick("ac-closes-windows")), drop.join("x.policy")).unwrap();
    let (code, said) = deliver(&rig, &drop);
    assert_eq!(code, 17, "{said}");
    let client = Client::new(rig.connect().await).await;
    assert_eq!(client.policy.staged_version().await.unwrap(), 0);
    assert!(!client.policy.on_trial().await.unwrap());
    // A new key, and what it signed, in one delivery.
    let next = SecretKey::generate().unwrap();
    let list = sign_keys(1, &[next.public()], &[garage.key.public()], &garage.root).unwrap();
    let signed = Garage { key: next, ..garage };
    fs::rename(signed.update(3, |_| {}), drop.join("a.policy")).unwrap();
    fs::write(drop.join("z.keys"), list).unwrap();
    let (code, said) = deliver(&rig, &drop);
    assert_eq!(code, 0, "{said}");
    assert_eq!(client.policy.version().await.unwrap(), 3);
    assert_eq!(client.policy.keys_version().await.unwrap(), 1);
    assert!(names(&drop).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_of_somebody_else_is_left_alone_and_the_delivery_waits() {
    let garage = Garage::new();
    let rig = Rig::start(Setup::without_student().config(&garage.config())).await;
    let client = Client::new(rig.connect().await).await;
    super::car::stage(&client.policy, &garage.update(2, |_| {})).await.unwrap();
    client.policy.activate(0, "").await.unwrap();
    let drop = garage.at("drop");
    fs::create_dir(&drop).unwrap();
    fs::rename(garage.update(3, sick("ac-closes-windows")), drop.join("x.policy")).unwrap();
    let (code, said) = deliver(&rig, &drop);
    assert_eq!(code, 19, "{said}");
    assert_eq!(names(&drop), ["x.policy"]);
    assert!(client.policy.on_trial().await.unwrap());
    assert_eq!(client.policy.commit(0, "").await.unwrap(), 2);
}

/// A car whose drop folder holds one update.
async fn with_one(update: impl FnOnce(&Garage) -> PathBuf) -> (Garage, Rig, PathBuf) {
    let garage = Garage::new();
    let rig = Rig::start(Setup::without_student().config(&garage.config())).await;
    let drop = garage.at("drop");
    fs::create_dir(&drop).unwrap();
    fs::rename(update(&garage), drop.join("x.policy")).unwrap();
    (garage, rig, drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_stays_where_the_car_is_at_fault_and_is_taken_once_it_is_not() {
    // Its day has not come.
    let tomorrow = Reading::system().0.unwrap() + 86_400;
    let (_garage, rig, drop) = with_one(|garage| garage.update_at(2, tomorrow, |_| {})).await;
    let (code, said) = deliver(&rig, &drop);
    assert_eq!((code, names(&drop)), (14, vec!["x.policy".to_owned()]), "{said}");
    // The disk does not take it: a folder stands where the file is to go.
    let (garage, rig, drop) = with_one(|garage| garage.update(2, |_| {})).await;
    let slots = garage.at("state/policy");
    let blocked = slots.join("slots.new");
    fs::create_dir(&blocked).unwrap();
    let (code, said) = deliver(&rig, &drop);
    assert_eq!((code, names(&drop)), (20, vec!["x.policy".to_owned()]), "{said}");
    let left = names(&slots);
    assert!(!left.iter().any(|name| name.ends_with(".policy") || name.ends_with(".policy.new")), "{left:?}");
    fs::remove_dir(&blocked).unwrap();
    let (code, said) = deliver(&rig, &drop);
    assert_eq!((code, names(&drop)), (0, Vec::<String>::new()), "{said}");
    // The image takes no updates yet.
    let garage = Garage::new();
    let rig = Rig::start(Setup::without_student()).await;
    let drop = garage.at("drop");
    fs::create_dir(&drop).unwrap();
    fs::rename(garage.update(2, |_| {}), drop.join("x.policy")).unwrap();
    let (code, said) = deliver(&rig, &drop);
    assert!([21, 22].contains(&code), "{said}");
    assert_eq!(names(&drop), ["x.policy"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_waits_for_whoever_serves_what_it_needs_and_for_the_list_of_keys_that_comes_later() {
    let garage = Garage::new();
    let config = format!("{}{}", garage.config(), super::provider::provided(&["get_weather"]));
    let rig = Rig::start(Setup::without_student().config(&config)).await;
    let drop = garage.at("drop");
    fs::create_dir(&drop).unwrap();
    fs::rename(garage.update(2, |_| {}), drop.join("x.policy")).unwrap();
    let (code, said) = deliver(&rig, &drop);
    assert_eq!((code, names(&drop)), (16, vec!["x.policy".to_owned()]), "{said}");
    let provider = super::provider::Provider::willing(&rig).await;
    provider.register(&[super::provider::tool("get_weather", "read")]).await.unwrap();
    let (code, said) = deliver(&rig, &drop);
    assert_eq!((code, names(&drop)), (0, Vec::<String>::new()), "{said}");
    // A policy by a new key, one run before the list that names it.
    let next = SecretKey::generate().unwrap();
    let list = sign_keys(1, &[next.public(), garage.key.public()], &[], &garage.root).unwrap();
    let signed = Garage { key: next, ..garage };
    fs::rename(signed.update(3, |_| {}), drop.join("a.policy")).unwrap();
    let (code, said) = deliver(&rig, &drop);
    assert_eq!((code, names(&drop)), (11, vec!["a.policy".to_owned()]), "{said}");
    fs::write(drop.join("z.keys"), list).unwrap();
    let (code, said) = deliver(&rig, &drop);
    assert_eq!((code, names(&drop)), (0, Vec::<String>::new()), "{said}");
    assert!(said.contains("z.keys: list 1 of keys is in use") && !said.contains("z.keys: version"), "{said}");
    // Expired by the clock: that may be ahead. A later update that is committed ends the waiting.
    let past = Reading::system().0.unwrap() - 90_000;
    fs::rename(signed.update_at(4, past, |_| {}), drop.join("b.policy")).unwrap();
    let (code, said) = deliver(&rig, &drop);
    assert_eq!((code, names(&drop)), (13, vec!["b.policy".to_owned()]), "{said}");
    fs::rename(signed.update(5, |_| {}), drop.join("a.policy")).unwrap();
    let (code, said) = deliver(&rig, &drop);
    assert_eq!((code, names(&drop)), (12, Vec::<String>::new()), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_of_files_that_stay_neither_hides_a_later_one_nor_runs_into_the_pace_of_the_service() {
    let garage = Garage::new();
    let pace = format!("{}[service]\ncalls_per_second = 30\n", garage.config());
    let rig = Rig::start(Setup::without_student().config(&pace)).await;
    let drop = garage.at("drop");
    fs::create_dir(&drop).unwrap();
    let early = garage.update_at(9, Reading::system().0.unwrap() + 86_400, |_| {});
    for at in 0..80 {
        let path = drop.join(format!("a{at:02}.policy"));
        fs::copy(&early, &path).unwrap();
        // The date is the deliverer's to choose.
        let ahead = std::time::SystemTime::now() + std::time::Duration::from_secs(600_000_000);
        fs::File::options().write(true).open(&path).unwrap().set_modified(ahead).unwrap();
    }
    for at in 0..70 {
        let folder = drop.join(format!("b{at:02}.policy"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("kept"), "x").unwrap();
    }
    fs::rename(garage.update(2, |_| {}), drop.join("z.policy")).unwrap();
    let (_, said) = deliver(&rig, &drop);
    assert!(said.contains("z.policy: version 2 is committed"), "{said}");
    assert!(!said.contains("TooMany") && !said.contains("calls a second"), "{said}");
    assert_eq!(names(&drop).len(), 150, "what is not to blame stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_another_name_is_nobodys_delivery() {
    let garage = Garage::new();
    let rig = Rig::start(Setup::without_student().config(&garage.config())).await;
    let drop = garage.at("drop");
    fs::create_dir(&drop).unwrap();
    for name in ["cabin.policy.part", "noext", "b.txt", ".c.policy"] {
        fs::copy(garage.update(2, |_| {}), drop.join(name)).unwrap();
    }
    fs::create_dir(drop.join("d.policy")).unwrap();
    fs::write(drop.join("d.policy/kept"), "x").unwrap();
    let (code, said) = deliver(&rig, &drop);
    assert_eq!(code, 0, "{said}");
    assert_eq!(names(&drop), [".c.policy", "b.txt", "cabin.policy.part", "d.policy", "noext"]);
    drop_of_nothing_asks_nobody(&drop);
}

/// Nobody is asked where there is nothing to take.
fn drop_of_nothing_asks_nobody(folder: &Path) {
    let output = obligato(&["policy", "--bus", "unix:path=/nowhere", "deliver", folder.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_units_of_the_drop_folder_expose_little_and_speak_of_one_folder() {
    let read = |name: &str| fs::read_to_string(root().join("systemd").join(name)).unwrap();
    let folder = "/var/lib/obligato-drop";
    assert!(read("obligato-update.path").contains(&format!("PathChanged={folder}\n")));
    assert!(read("obligato-update.service").contains(&format!("deliver {folder}\n")));
    assert!(read("obligato.tmpfiles").contains(&format!("d {folder} ")));
    let timer = read("obligato-update.timer");
    for line in ["Unit=obligato-update.service", "OnClockChange=yes", "OnUnitInactiveSec=15min"] {
        assert!(timer.lines().any(|found| found == line), "{line}: what waits is never looked at again");
    }
    let unit = root().join("systemd/obligato-update.service");
    let Ok(output) =
        Command::new("systemd-analyze").args(["security", "--offline=true", "--threshold=15"]).arg(unit).output()
    else {
        println!("skipped: systemd-analyze is not here");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
