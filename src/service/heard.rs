//! Reading what was heard from D-Bus arguments.

use std::collections::HashMap;

use zbus::Variant;

use super::Refusal;
use super::fit::sentence;
use crate::turn::Heard;

/// Longest utterance in bytes: several minutes of speech.
const MAX_UTTERANCE_BYTES: usize = 4096;

/// The words of an utterance, which must not be empty.
pub(super) fn words(text: &str) -> Result<&str, Refusal> {
    if text.len() > MAX_UTTERANCE_BYTES {
        return Err(Refusal::too_long("utterance", text.len(), MAX_UTTERANCE_BYTES));
    }
    let words = text.trim();
    if words.is_empty() {
        return Err(Refusal::BadArgument("the utterance is empty; there is nothing to answer".into()));
    }
    Ok(words)
}

/// An utterance with what the recogniser knows of it. An option that is not understood is refused:
/// one of them may be what a consent depends on.
pub(super) fn heard(text: &str, options: &HashMap<&str, Variant<'_>>) -> Result<Heard, Refusal> {
    let mut heard = Heard::text(words(text)?);
    for (name, value) in options {
        match (*name, value) {
            ("language", Variant::Str(code)) => heard.language = Some(code.to_string()),
            ("zone", Variant::Str(zone)) => heard.zone = Some(zone.to_string()),
            ("confidence", Variant::F64(share)) if (0.0..=1.0).contains(share) => heard.confidence = Some(*share),
            ("language" | "zone" | "confidence", other) => {
                return Err(Refusal::BadArgument(format!(
                    "the option `{name}` cannot be {}; language and zone are strings, confidence is a double from 0 \
                     to 1",
                    sentence(&other.to_string())
                )));
            }
            _ => {
                return Err(Refusal::BadArgument(format!(
                    "there is no option `{}`; there are `language`, `zone` and `confidence`",
                    sentence(name)
                )));
            }
        }
    }
    Ok(heard)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: Variant<'_>) -> Result<Heard, Refusal> {
        heard("yes", &HashMap::from([(name, value)]))
    }

    #[test]
    fn a_confidence_that_is_no_share_is_refused() {
        assert_eq!(read("confidence", 0.9.into()).unwrap().confidence, Some(0.9));
        for wrong in [Variant::from(1.5), Variant::from(f64::NAN), Variant::from("high"), Variant::from(1_u32)] {
            assert!(matches!(read("confidence", wrong), Err(Refusal::BadArgument(_))));
        }
    }

    #[test]
    fn an_option_that_nobody_knows_is_refused_by_name() {
        let Err(Refusal::BadArgument(why)) = read("zoen", "driver".into()) else { panic!("refused") };
        assert!(why.contains("`zoen`"), "{why}");
    }

    #[test]
    fn silence_is_no_utterance() {
        assert!(matches!(words(" \n"), Err(Refusal::BadArgument(_))));
        assert!(matches!(words(&"a".repeat(1 << 20)), Err(Refusal::BadArgument(_))));
    }
}
