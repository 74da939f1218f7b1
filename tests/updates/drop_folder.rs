//! The drop folder: what lies there may be anything.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use obligato::policy::update::{SecretKey, sign_keys};

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
    client.policy.activate().await.unwrap();
    let drop = garage.at("drop");
    fs::create_dir(&drop).unwrap();
    fs::rename(garage.update(3, sick("ac-closes-windows")), drop.join("x.policy")).unwrap();
    let (code, said) = deliver(&rig, &drop);
    assert_eq!(code, 19, "{said}");
    assert_eq!(names(&drop), ["x.policy"]);
    assert!(client.policy.on_trial().await.unwrap());
    assert_eq!(client.policy.commit().await.unwrap(), 2);
}

#[test]
fn the_units_of_the_drop_folder_expose_little_and_speak_of_one_folder() {
    let read = |name: &str| fs::read_to_string(root().join("systemd").join(name)).unwrap();
    let folder = "/var/lib/obligato-drop";
    assert!(read("obligato-update.path").contains(&format!("PathChanged={folder}\n")));
    assert!(read("obligato-update.service").contains(&format!("deliver {folder}\n")));
    assert!(read("obligato.tmpfiles").contains(&format!("d {folder} ")));
    let unit = root().join("systemd/obligato-update.service");
    let Ok(output) =
        Command::new("systemd-analyze").args(["security", "--offline=true", "--threshold=15"]).arg(unit).output()
    else {
        println!("skipped: systemd-analyze is not here");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
