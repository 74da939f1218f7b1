//! What was probably meant by a name that nothing has.

/// How alike two names must be (Jaro-Winkler, 0 to 1): one slip of the hand in a name of a few letters is above it.
const ALIKE: f64 = 0.8;

/// The closest of the names that exist; none where none is close.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let likeness = |known: &'a str| (known, strsim::jaro_winkler(&name, &known.to_lowercase()));
    let best = known.into_iter().map(likeness).max_by(|(_, a), (_, b)| a.total_cmp(b));
    best.filter(|(_, likeness)| *likeness > ALIKE).map(|(known, _)| known)
}
