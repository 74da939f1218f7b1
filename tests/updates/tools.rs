//! The samples for RAUC, SWUpdate and Mender, called as those tools call them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use obligato::policy::update::{SecretKey, sign_keys};

use super::car::{Garage, sick, stage};
use super::rig::{Client, Rig, Setup, root};

/// A tool of the field.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Tool {
    Rauc,
    SwUpdate,
    Mender,
}

const TOOLS: [Tool; 3] = [Tool::Rauc, Tool::SwUpdate, Tool::Mender];

struct Bench {
    garage: Garage,
    rig: Rig,
}

impl Bench {
    async fn new() -> Self {
        let garage = Garage::new();
        let rig = Rig::start(Setup::without_student().config(&garage.config())).await;
        Self { garage, rig }
    }

    async fn restart(&mut self) {
        self.rig.signal("TERM");
        assert!(self.rig.ended().await.success());
        self.rig = Rig::start(Setup::without_student().config(&self.garage.config())).await;
    }

    async fn client(&self) -> Client {
        Client::new(self.rig.connect().await).await
    }

    /// Calls a sample with these arguments and this environment.
    fn call(&self, script: &Path, arguments: &[&str], environment: &[(&str, &Path)]) -> Output {
        let mut command = Command::new("sh");
        command.arg(script).args(arguments);
        command.env("OBLIGATO", env!("CARGO_BIN_EXE_obligato")).env("DBUS_SESSION_BUS_ADDRESS", self.rig.address());
        command.envs(environment.iter().copied());
        command.output().unwrap()
    }

    /// One call of a state of Mender's module, with what was delivered before.
    fn mender(&self, state: &str) -> i32 {
        let tree = self.folder("tree");
        code(&self.call(&sample("mender/obligato-policy"), &[state, tree.to_str().unwrap()], &[]))
    }

    /// A delivery as that tool makes it, to its end: a failure is followed by what the tool calls then.
    fn deliver(&self, tool: Tool, update: &Path) -> i32 {
        match tool {
            Tool::Rauc => {
                let folder = self.folder("bundle");
                fs::copy(update, folder.join("cabin.policy")).unwrap();
                code(&self.call(&sample("rauc/handler.sh"), &[], &[("RAUC_BUNDLE_MOUNT_POINT", &folder)]))
            }
            Tool::SwUpdate => {
                let path = self.folder("delivered").join("cabin.policy");
                fs::copy(update, &path).unwrap();
                let call = |when| code(&self.call(&sample("swupdate/policy.sh"), &[when, path.to_str().unwrap()], &[]));
                let ended = call("postinst");
                assert!(ended == 0 || call("postfailure") == 0);
                assert!(!path.exists());
                ended
            }
            Tool::Mender => {
                fs::copy(update, self.folder("tree/files").join("cabin.policy")).unwrap();
                let ended = match self.mender("ArtifactInstall") {
                    0 => self.mender("ArtifactCommit"),
                    failed => failed,
                };
                assert!(ended == 0 || self.mender("ArtifactRollback") == 0);
                ended
            }
        }
    }

    /// In force, staged, whether on trial, the floor, and the policy in force.
    async fn state(&self) -> (u64, u64, bool, u64, String) {
        let policy = self.client().await.policy;
        let (version, staged) = (policy.version().await.unwrap(), policy.staged_version().await.unwrap());
        let (tried, floor) = (policy.on_trial().await.unwrap(), policy.floor().await.unwrap());
        (version, staged, tried, floor, policy.hash().await.unwrap())
    }

    async fn versions(&self) -> (u64, u64, bool) {
        let policy = self.client().await.policy;
        assert_eq!(policy.staged_version().await.unwrap(), 0, "something is left staged");
        (policy.version().await.unwrap(), policy.floor().await.unwrap(), policy.on_trial().await.unwrap())
    }

    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.garage.at(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// The update cut off.
    fn truncated(&self, version: u64) -> PathBuf {
        let path = self.garage.update(version, |_| {});
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..1000]).unwrap();
        path
    }
}

/// Where somebody else's genuine update is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Staged,
    OnTrial,
    Committed,
}

/// What carries the number of somebody else's update and is not that update, with the codes of its delivery by hand:
/// where that update is staged, on trial, committed.
fn impostors(garage: &Garage, version: u64) -> [(&'static str, PathBuf, [i32; 3]); 3] {
    let write = |name: &str, bytes: &[u8]| {
        let path = garage.at(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let mut forged = fs::read(garage.update(version, |_| {})).unwrap();
    let cut = write("cut", &forged[..300]);
    *forged.last_mut().unwrap() ^= 1;
    let other = garage.update(version, |parts| parts.prose.push("Of other content.".to_owned()));
    // A genuine one replaces what is staged and no more; it waits for a trial; the number is taken once it is committed.
    let other = fs::rename(other, garage.at("other")).map(|()| garage.at("other")).unwrap();
    [("forged", write("forged", &forged), [11; 3]), ("cut", cut, [10, 19, 10]), ("other", other, [0, 19, 12])]
}

fn sample(name: &str) -> PathBuf {
    root().join("yocto/ota").join(name)
}

fn code(output: &Output) -> i32 {
    println!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    output.status.code().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn rauc_installs_a_bundle_through_the_custom_handler() {
    let bench = Bench::new().await;
    let manifest = fs::read_to_string(sample("rauc/manifest.raucm")).unwrap();
    let handler = manifest.lines().find_map(|line| line.strip_prefix("filename=")).unwrap();
    let bundle = |update: PathBuf| {
        let folder = bench.folder("bundle");
        fs::copy(sample("rauc").join(handler), folder.join(handler)).unwrap();
        fs::copy(update, folder.join("cabin.policy")).unwrap();
        let output = bench.call(&folder.join(handler), &[], &[("RAUC_BUNDLE_MOUNT_POINT", &folder)]);
        fs::remove_file(folder.join("cabin.policy")).unwrap();
        code(&output)
    };
    assert_eq!(bundle(bench.garage.update(2, |_| {})), 0);
    assert_eq!(bench.versions().await, (2, 2, false));
    assert_eq!(bundle(bench.garage.update(1, |_| {})), 12, "a rollback attack");
    assert_eq!(bundle(bench.garage.update(3, sick("ac-closes-windows"))), 17, "its tests fail");
    assert_eq!(bench.versions().await, (2, 2, false));
    assert_eq!(bundle(bench.garage.update(4, |_| {})), 0);
    assert_eq!(bench.versions().await, (4, 4, false));
    let empty = bench.folder("empty");
    assert_eq!(code(&bench.call(&sample("rauc/handler.sh"), &[], &[("RAUC_BUNDLE_MOUNT_POINT", &empty)])), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn swupdate_calls_the_script_before_after_and_on_failure() {
    let bench = Bench::new().await;
    let description = fs::read_to_string(sample("swupdate/sw-description")).unwrap();
    assert!(description.contains("filename = \"policy.sh\"") && description.contains("atomic-install = \"true\""));
    let path = bench.folder("delivered").join("cabin.policy");
    let data = path.to_str().unwrap();
    let call = |when: &str| code(&bench.call(&sample("swupdate/policy.sh"), &[when, data], &[]));
    assert_eq!(call("preinst"), 0);
    fs::copy(bench.garage.update(2, |_| {}), &path).unwrap();
    assert_eq!(call("postinst"), 0);
    assert!(!path.exists());
    assert_eq!(bench.versions().await, (2, 2, false));
    // A broken file stops the .swu with the reason; SWUpdate then calls for the failure.
    fs::write(&path, "OBLIPOLU").unwrap();
    assert_eq!(call("postinst"), 10);
    assert_eq!(call("postfailure"), 0);
    assert_eq!(bench.versions().await, (2, 2, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_keys_that_goes_along_is_taken_before_the_update_that_it_vouches_for() {
    for (tool, folder) in [(Tool::Rauc, "bundle"), (Tool::SwUpdate, "delivered"), (Tool::Mender, "tree/files")] {
        let mut bench = Bench::new().await;
        let list = bench.folder(folder).join("cabin.keys");
        let next = SecretKey::generate().unwrap();
        let before = bench.garage.key.public();
        fs::write(&list, sign_keys(1, &[next.public()], &[before], &bench.garage.root).unwrap()).unwrap();
        bench.garage.key = next;
        assert_eq!(bench.deliver(tool, &bench.garage.update(2, |_| {})), 0, "{tool:?}");
        assert_eq!(bench.versions().await, (2, 2, false), "{tool:?}");
        // A list that is none ends the delivery with its reason, and nothing is installed.
        fs::write(&list, "OBLIKEYS").unwrap();
        assert_eq!(bench.deliver(tool, &bench.garage.update(3, |_| {})), 10, "{tool:?}");
        assert_eq!(bench.versions().await, (2, 2, false), "{tool:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mender_installs_commits_and_rolls_back_through_the_update_module() {
    let bench = Bench::new().await;
    let module = sample("mender/obligato-policy");
    let tree = bench.folder("tree");
    let files = bench.folder("tree/files");
    let call = |state: &str| bench.call(&module, &[state, tree.to_str().unwrap()], &[]);
    let answer = |state: &str| String::from_utf8(call(state).stdout).unwrap().trim().to_owned();
    let deliver = |update: PathBuf| fs::rename(update, files.join("cabin.policy")).unwrap();
    assert_eq!((answer("NeedsArtifactReboot"), answer("SupportsRollback")), ("No".to_owned(), "Yes".to_owned()));
    assert_eq!(answer("ProvidePayloadFileSizes"), "", "the default");
    // The way of an update that succeeds.
    deliver(bench.garage.update(2, |_| {}));
    for state in ["Download", "ArtifactInstall"] {
        assert_eq!(code(&call(state)), 0, "{state}");
    }
    assert_eq!(bench.versions().await, (2, 0, true), "in force, on trial");
    for state in ["ArtifactCommit", "Cleanup"] {
        assert_eq!(code(&call(state)), 0, "{state}");
    }
    assert_eq!(bench.versions().await, (2, 2, false));
    // Something else in the deployment fails after the installation.
    deliver(bench.garage.update(3, |_| {}));
    assert_eq!(code(&call("ArtifactInstall")), 0);
    assert_eq!(bench.versions().await.0, 3);
    for state in ["ArtifactRollback", "ArtifactFailure", "Cleanup"] {
        assert_eq!(code(&call(state)), 0, "{state}");
    }
    assert_eq!(bench.versions().await, (2, 2, false));
    // The policy itself is not well, or older.
    for (update, reason) in
        [(bench.garage.update(4, sick("ac-closes-windows")), 17), (bench.garage.update(1, |_| {}), 12)]
    {
        deliver(update);
        assert_eq!(code(&call("ArtifactInstall")), reason);
        assert_eq!(code(&call("ArtifactRollback")), 0);
        assert_eq!(bench.versions().await, (2, 2, false));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_reports_success_when_and_only_when_what_it_delivered_is_in_force_and_committed() {
    for tool in TOOLS {
        let mut bench = Bench::new().await;
        let second = bench.garage.update(2, |_| {});
        for (what, update, version, expected) in [
            ("the first", second.clone(), 2, 0),
            ("the same again", second.clone(), 2, 0),
            ("cut off", bench.truncated(3), 3, 10),
            ("sick", bench.garage.update(4, sick("ac-closes-windows")), 4, 17),
            ("older", bench.garage.update(1, |_| {}), 1, 12),
            ("a later one", bench.garage.update(5, |_| {}), 5, 0),
            ("the one before again", second.clone(), 2, 12),
        ] {
            let ended = bench.deliver(tool, &update);
            assert_eq!(ended, expected, "{tool:?}, {what}");
            let now = bench.versions().await;
            assert_eq!(ended == 0, now == (version, version, false), "{tool:?}, {what}: {now:?}");
        }
        // Broken off while it was on trial, and repeated after restarts.
        let client = bench.client().await;
        let sixth = bench.garage.update(6, |_| {});
        stage(&client.policy, &sixth).await.unwrap();
        client.policy.activate(6, "").await.unwrap();
        bench.restart().await;
        assert_eq!(bench.deliver(tool, &sixth), 0, "{tool:?}");
        assert_eq!(bench.versions().await, (6, 6, false));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_leaves_the_trial_of_somebody_else_alone_whatever_it_delivers() {
    for tool in TOOLS {
        let bench = Bench::new().await;
        let client = bench.client().await;
        stage(&client.policy, &bench.garage.update(4, |_| {})).await.unwrap();
        client.policy.activate(4, "").await.unwrap();
        for (what, update) in [
            ("good", bench.garage.update(5, |_| {})),
            ("cut off", bench.truncated(6)),
            ("sick", bench.garage.update(7, sick("ac-closes-windows"))),
        ] {
            assert_eq!(bench.deliver(tool, &update), 19, "{tool:?}, {what}");
            assert_eq!(bench.versions().await, (4, 0, true), "{tool:?}, {what}");
        }
        assert_eq!(client.policy.commit(4, "").await.unwrap(), 4);
        assert_eq!(bench.deliver(tool, &bench.garage.update(5, |_| {})), 0, "{tool:?}");
        assert_eq!(bench.versions().await, (5, 5, false));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mender_learns_that_a_trial_was_undone_by_the_starts_and_that_somebody_elses_is_in_its_place() {
    let mut bench = Bench::new().await;
    assert_eq!(bench.deliver(Tool::Mender, &bench.garage.update(3, |_| {})), 0);
    fs::copy(bench.garage.update(5, |_| {}), bench.folder("tree/files").join("cabin.policy")).unwrap();
    assert_eq!(bench.mender("ArtifactInstall"), 0);
    for _ in 0..4 {
        bench.restart().await;
    }
    assert_eq!(bench.versions().await, (3, 3, false));
    assert_eq!(bench.mender("ArtifactCommit"), 23);
    assert_eq!(bench.mender("ArtifactRollback"), 0);
    assert_eq!(bench.versions().await, (3, 3, false));
    // Somebody rolls it back and tries another one.
    assert_eq!(bench.mender("ArtifactInstall"), 0);
    let client = bench.client().await;
    client.policy.rollback(0, "").await.unwrap();
    let sixth = bench.garage.update(6, |_| {});
    stage(&client.policy, &sixth).await.unwrap();
    client.policy.activate(6, "").await.unwrap();
    assert_eq!(bench.mender("ArtifactCommit"), 23);
    assert_eq!(bench.mender("ArtifactRollback"), 0);
    assert_eq!(bench.versions().await, (6, 3, true));
    // What is committed is not rolled back, and Mender learns of that too.
    client.policy.commit(6, "").await.unwrap();
    fs::copy(sixth, bench.folder("tree/files").join("cabin.policy")).unwrap();
    assert_eq!(bench.mender("ArtifactCommit"), 0);
    assert_eq!(bench.mender("ArtifactRollback"), 23);
    assert_eq!(bench.versions().await, (6, 6, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn swupdate_takes_what_a_script_that_was_cut_off_left_behind_out_again() {
    let bench = Bench::new().await;
    let client = bench.client().await;
    let path = bench.folder("delivered").join("cabin.policy");
    let failure = || code(&bench.call(&sample("swupdate/policy.sh"), &["postfailure", path.to_str().unwrap()], &[]));
    for steps in 0..=3 {
        fs::copy(bench.garage.update(2, |_| {}), &path).unwrap();
        if steps > 0 {
            stage(&client.policy, &path).await.unwrap();
        }
        if steps > 1 {
            client.policy.activate(2, "").await.unwrap();
        }
        if steps > 2 {
            client.policy.commit(2, "").await.unwrap();
        }
        assert_eq!(failure(), 0, "cut off after {steps} steps");
        let committed = if steps > 2 { 2 } else { 0 };
        assert_eq!(bench.versions().await, (committed, committed, false), "cut off after {steps} steps");
        assert!(!path.exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_with_several_policies_is_no_delivery_because_it_could_fail_half_way() {
    let bench = Bench::new().await;
    for folder in [bench.folder("bundle"), bench.folder("tree/files")] {
        for version in [2, 3] {
            fs::copy(bench.garage.update(version, |_| {}), folder.join(format!("{version}.policy"))).unwrap();
        }
    }
    let bundle = bench.folder("bundle");
    assert_eq!(code(&bench.call(&sample("rauc/handler.sh"), &[], &[("RAUC_BUNDLE_MOUNT_POINT", &bundle)])), 10);
    assert_eq!((bench.mender("ArtifactInstall"), bench.mender("ArtifactRollback")), (10, 0));
    assert_eq!(bench.versions().await, (0, 0, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_delivers_the_number_of_somebody_elses_update_touches_nothing_of_it() {
    for (at, place) in [Place::Staged, Place::OnTrial, Place::Committed].into_iter().enumerate() {
        let bench = Bench::new().await;
        let client = bench.client().await;
        stage(&client.policy, &bench.garage.update(4, |_| {})).await.unwrap();
        if place != Place::Staged {
            client.policy.activate(4, "").await.unwrap();
        }
        if place == Place::Committed {
            client.policy.commit(4, "").await.unwrap();
        }
        let before = bench.state().await;
        let list = impostors(&bench.garage, 4);
        for (what, update, codes) in &list {
            let path = bench.folder("delivered").join("cabin.policy");
            let put = || {
                fs::copy(update, &path).unwrap();
                fs::copy(update, bench.folder("tree/files").join("cabin.policy")).unwrap();
            };
            put();
            let script = sample("swupdate/policy.sh");
            let ended = code(&bench.call(&script, &["postfailure", path.to_str().unwrap()], &[]));
            assert_eq!((ended, bench.state().await), (0, before.clone()), "postfailure, {place:?}, {what}");
            put();
            let unsigned = if *what == "cut" { 10 } else { 23 };
            assert_eq!(bench.mender("ArtifactCommit"), unsigned, "{place:?}, {what}: a success that is none");
            assert_eq!(bench.mender("ArtifactRollback"), 0, "{place:?}, {what}");
            assert_eq!(bench.state().await, before, "Mender, {place:?}, {what}");
            for tool in TOOLS.into_iter().filter(|_| codes[at] != 0) {
                let ended = bench.deliver(tool, update);
                assert_eq!(ended, codes[at], "{tool:?}, {place:?}, {what}");
                assert_eq!(bench.state().await, before, "{tool:?}, {place:?}, {what}");
            }
        }
    }
}
