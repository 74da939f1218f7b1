//! The samples for RAUC, SWUpdate and Mender, called as those tools call them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::car::{Garage, sick};
use super::rig::{Client, Rig, Setup, root};

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

    /// Calls a sample with these arguments and this environment.
    fn call(&self, script: &Path, arguments: &[&str], environment: &[(&str, &Path)]) -> Output {
        let mut command = Command::new("sh");
        command.arg(script).args(arguments);
        command.env("OBLIGATO", env!("CARGO_BIN_EXE_obligato")).env("DBUS_SESSION_BUS_ADDRESS", self.rig.address());
        command.envs(environment.iter().copied());
        command.output().unwrap()
    }

    async fn versions(&self) -> (u64, u64, bool) {
        let client = Client::new(self.rig.connect().await).await;
        let policy = &client.policy;
        (policy.version().await.unwrap(), policy.floor().await.unwrap(), policy.on_trial().await.unwrap())
    }

    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.garage.at(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }
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
