//! What tests of updates share: keys, an image that trusts them, small signed policies, slots.

use std::path::PathBuf;
use std::sync::Arc;

use obligato::policy::update::{
    Accepted, Checkup, Disk, Floor, Floors, Header, Installed, Issue, KeyList, LiveCar, Meant, Reading, SecretKey,
    Setup, Slots, Trust, UpdateError, accept, sign, sign_keys,
};
use obligato::policy::{HardLimits, Policy, PolicyParts};
use obligato::tools::Removed;

/// A time at which everything that the kit signs is valid.
pub const NOW: Reading = Reading(Some(1_800_000_000));
pub const NOT_BEFORE: u64 = 1_790_000_000;
pub const EXPIRES: u64 = 1_830_000_000;
/// When the image was built.
pub const EPOCH: u64 = 1_780_000_000;

/// An image and the keys that it trusts.
pub struct Image {
    pub root: SecretKey,
    pub key: SecretKey,
    pub trust: Trust,
}

impl Image {
    pub fn new() -> Self {
        Self::with("")
    }

    /// An image with more lines in its trust file, before its keys.
    pub fn with(lines: &str) -> Self {
        let (root, key) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
        let trust = Trust::parse(&trust_file(&root, &key, lines)).unwrap();
        Self { root, key, trust }
    }

    /// The update of that version.
    pub fn update(&self, version: u64) -> Vec<u8> {
        self.signed(&blob(version), &issue(version), &self.key)
    }

    pub fn signed(&self, blob: &[u8], issue: &Issue<'_>, key: &SecretKey) -> Vec<u8> {
        sign(blob, issue, key).unwrap().1
    }

    /// Decides as a car that has committed to a version.
    pub fn accept(&self, bytes: &[u8]) -> Result<Accepted, UpdateError> {
        accept(bytes, &self.trust, &Installed::default(), NOW)
    }

    pub fn list(&self, version: u64, add: &[&SecretKey], revoke: &[&SecretKey]) -> Vec<u8> {
        let public = |keys: &[&SecretKey]| keys.iter().map(|k| k.public()).collect::<Vec<_>>();
        sign_keys(version, &public(add), &public(revoke), &self.root).unwrap()
    }

    /// The same image after a list of keys.
    pub fn trusting(&self, list: &[u8]) -> Trust {
        self.trust.with_list(Some(KeyList::verify(list, &self.trust).unwrap()))
    }

    pub fn slots(&self, disk: Arc<dyn Disk>) -> Slots {
        self.slots_with(disk, Arc::new(Well))
    }

    pub fn slots_with(&self, disk: Arc<dyn Disk>, checkup: Arc<dyn Checkup>) -> Slots {
        let floors = Floors::new(disk.clone(), PathBuf::from("/state/floor"), None);
        Slots::new(Setup { disk, folder: "/state/policy".into(), floors, trust: self.trust.clone(), checkup })
    }
}

pub fn trust_file(root: &SecretKey, key: &SecretKey, lines: &str) -> String {
    format!(
        "target = \"hu\"\npolicy = \"cabin\"\nepoch = {EPOCH}\n{lines}\nroot = \"{}\"\n\
         [[key]]\nname = \"release\"\npublic = \"{}\"\n",
        root.public(),
        key.public()
    )
}

pub fn issue(version: u64) -> Issue<'static> {
    Issue { target: "hu", version, not_before: NOT_BEFORE, expires: EXPIRES }
}

/// The smallest policy that differs from one version to the next.
pub fn blob(version: u64) -> Vec<u8> {
    blob_of("cabin", version)
}

pub fn blob_of(id: &str, version: u64) -> Vec<u8> {
    let prose = vec![format!("This is version {version}.")];
    PolicyParts { id: id.into(), prose, ..PolicyParts::default() }.to_blob().unwrap()
}

/// The version that a policy of [`blob`] has.
pub fn version_of(policy: &Policy) -> u64 {
    let digits: String = policy.prose[0].chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// Every policy is well.
pub struct Well;

impl Checkup for Well {
    fn usable(&self, _: &Policy) -> Result<(), UpdateError> {
        Ok(())
    }

    fn check(&self, _: &Policy) -> Result<usize, String> {
        Ok(1)
    }
}

/// Policies of these versions are not well.
pub struct SickOf(pub Vec<u64>);

impl Checkup for SickOf {
    fn usable(&self, _: &Policy) -> Result<(), UpdateError> {
        Ok(())
    }

    fn check(&self, policy: &Policy) -> Result<usize, String> {
        match self.0.contains(&version_of(policy)) {
            true => Err("1 of its 1 tests fail".to_owned()),
            false => Ok(1),
        }
    }
}

/// Puts what is staged in force in a car that can do anything.
pub fn activate(slots: &Slots) -> Result<Header, UpdateError> {
    let (limits, removed) = (HardLimits::default(), Removed::default());
    let car = LiveCar { limits: &limits, removed: &removed, serves: &|_| true };
    slots.activate(Meant::Any, NOW, &|policy| car.fits(policy)).map(|activated| activated.header)
}

/// A whole update.
pub fn install(slots: &Slots, update: &[u8]) -> Result<u64, UpdateError> {
    let meant = Meant::Version(slots.stage(update, NOW)?.version);
    slots.verify(meant, NOW)?;
    activate(slots)?;
    slots.commit(meant).map(|header| header.version)
}

/// The version that the service would start with; 0: the factory's.
pub fn started(slots: &Slots) -> u64 {
    let started = slots.start();
    if let Some((header, policy)) = &started.policy {
        assert_eq!(header.version, version_of(policy), "the header speaks of another policy");
    }
    started.version()
}

/// What a car has committed to.
pub fn committed(floor: u64, digest: [u8; 32]) -> Installed {
    Installed { floor: Floor { policy: floor, digest, ..Floor::default() } }
}
