//! libFuzzer over one target, named by `FUZZ_TARGET`.
#![no_main]

use std::sync::OnceLock;

#[path = "../targets/mod.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();
    let target = TARGET.get_or_init(|| {
        let wanted = std::env::var("FUZZ_TARGET").unwrap_or_default();
        let found = targets::TARGETS.iter().find(|(name, _)| *name == wanted);
        found.unwrap_or_else(|| panic!("FUZZ_TARGET=`{wanted}` names no target")).1
    });
    target(data);
});
