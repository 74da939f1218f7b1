//! Compiled policies: bare, in a signed envelope, and with a digest that is right whatever is in them.

use obligato::policy::update::unverified;
use obligato::policy::{FORMAT, Policy};
use obligato::state::History;
use obligato::trials::unpack;
use sha2::{Digest, Sha256};

use super::scene::{everything, judge};

/// A blob of this content.
pub fn seal(content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    [b"OBLIGATO".as_slice(), &FORMAT.to_le_bytes(), &length.to_le_bytes(), &Sha256::digest(content), content].concat()
}

pub(super) fn run(data: &[u8]) {
    // As it was delivered.
    let _ = unverified(data);
    let _ = Policy::from_blob(data);
    // As whoever holds a key could have signed it.
    let Ok(policy) = Policy::from_blob(&seal(data)) else { return };
    policy.inventory.warm();
    let _ = unpack(&policy.tests);
    let mut history = History::new(&policy.model);
    history.heard("Open the window to 50 percent, please.");
    for draft in everything(&policy) {
        let first = judge(&policy, &history, &draft);
        assert_eq!(first, judge(&policy, &history, &draft), "judged twice");
    }
}
