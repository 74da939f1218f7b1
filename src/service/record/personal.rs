//! Names of personal content that nothing has: what they were meant for would be recorded as it is.

use crate::journal::Names;
use crate::policy::Policy;

/// Tools that a sentence names.
const NAMED: usize = 3;

/// Says in the log which of the configured names no record can have under a policy.
pub(super) fn tell(redact: &[String], policy: &Policy) {
    for (name, why) in useless(redact, policy) {
        tracing::warn!(name, policy = policy.id, "{why}");
    }
}

/// The names that no record can have, each with a sentence for whoever configured it.
fn useless<'a>(redact: &'a [String], policy: &Policy) -> Vec<(&'a str, String)> {
    if redact.is_empty() {
        return Vec::new();
    }
    let names = Names::under(policy);
    let told = |name: &'a String| {
        let path: Vec<&str> = name.split('.').collect();
        (!names.know(&path)).then(|| (name.as_str(), sentence(name, &path, &names, &policy.id)))
    };
    redact.iter().filter_map(told).collect()
}

fn sentence(name: &str, path: &[&str], names: &Names, policy: &str) -> String {
    let unless = match names.open() {
        [] => String::new(),
        open => {
            let named = open.iter().take(NAMED).map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", ");
            let others = match open.len().saturating_sub(NAMED) {
                0 => String::new(),
                others => format!(" and {others} more"),
            };
            format!(" unless it is part of what {named}{others} take or answer, of which the policy does not say all")
        }
    };
    let remedy = match names.near(path) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "correct it, or remove it".to_owned(),
    };
    format!(
        "`{name}` of `journal.redact` hides nothing: no record of what is said or done has such a member, and no tool \
         of the policy `{policy}` takes or answers one{unless}; {remedy}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::kitchen;

    fn told(redact: &[&str]) -> Vec<String> {
        let redact: Vec<String> = redact.iter().map(|name| (*name).to_owned()).collect();
        useless(&redact, &kitchen()).into_iter().map(|(_, why)| why).collect()
    }

    #[test]
    fn a_name_that_hides_nothing_is_told_with_the_one_that_was_meant() {
        assert_eq!(told(&["utterance", "arguments.text", "addresses"]), [""; 0]);
        let told = told(&["utterence", "reply", "zyx"]);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("`utterence` of `journal.redact` hides nothing: "), "{}", told[0]);
        assert!(told[0].contains(" more take or answer, of which the policy does not say all"), "{}", told[0]);
        assert!(told[0].ends_with("; did you mean `utterance`?"), "{}", told[0]);
        assert!(told[1].ends_with("; correct it, or remove it"), "{}", told[1]);
    }
}
