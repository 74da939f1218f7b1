//! A small set of another domain: what holds for cars holds for kitchens.

use std::path::Path;

use obligato::compile::{Compiled, SetSource, compile};
use obligato::policy::Policy;

/// The compiled kitchen.
pub(crate) fn compiled() -> Compiled {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policies/kitchen");
    compile(&SetSource::read(&folder, None, None).unwrap()).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn compiles_without_a_warning_and_loads_from_its_blob() {
    let compiled = compiled();
    assert_eq!(compiled.warnings, []);
    let policy = Policy::from_blob(&compiled.parts.to_blob().unwrap()).unwrap();
    assert_eq!((policy.id.as_str(), policy.rules().len()), ("kitchen", 12));
}

#[test]
fn the_same_sources_give_the_same_bytes() {
    assert_eq!(compiled().parts.to_blob().unwrap(), compiled().parts.to_blob().unwrap());
}
