//! Which words an index may know, by how they begin.

/// Bits: a few hundred beginnings of a policy's words leave most of them unset.
const BITS: usize = 4096;

/// The first three bytes of every word of an index, as a set that may hold more than was put in: most words
/// that people say are no phrase's, and this spares them the search.
#[derive(Debug, Clone)]
pub(super) struct Beginnings([u64; BITS / 64]);

impl Default for Beginnings {
    fn default() -> Self {
        Self([0; BITS / 64])
    }
}

impl Beginnings {
    /// Adds a word; shorter ones are always taken for known.
    pub(super) fn add(&mut self, word: &str) {
        let Some((at, bit)) = place(word) else { return };
        if let Some(bits) = self.0.get_mut(at) {
            *bits |= bit;
        }
    }

    /// Whether some word may begin as this one does; never false for a word that was added, nor for one that
    /// such a word begins, as long as three bytes are left of it.
    pub(super) fn may_hold(&self, word: &str) -> bool {
        place(word).is_none_or(|(at, bit)| self.0.get(at).is_some_and(|bits| bits & bit != 0))
    }
}

fn place(word: &str) -> Option<(usize, u64)> {
    let (a, b, c) = match word.as_bytes() {
        [a, b, c, ..] => (usize::from(*a), usize::from(*b), usize::from(*c)),
        _ => return None,
    };
    let bit = (a * 961 + b * 31 + c) % BITS;
    Some((bit / 64, 1 << (bit % 64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_was_added_is_never_missed_and_others_mostly_are() {
        let mut known = Beginnings::default();
        ["window", "fenster", "ac", "größe"].iter().for_each(|word| known.add(word));
        for word in ["window", "windows", "win", "fensters", "ac", "on", "größer"] {
            assert!(known.may_hold(word), "{word}");
        }
        for word in ["door", "heating", "please", "tür"] {
            assert!(!known.may_hold(word), "{word}");
        }
    }
}
