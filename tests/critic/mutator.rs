//! Rules as text, taken apart so that one part can be spoilt.

use std::path::{Path, PathBuf};

use obligato::compile::{SetSource, SourceFile};

use crate::Faulty;

/// Tools that switch something of the car, and what.
pub const SWITCHES: [(&str, &str); 5] = [
    ("set_air_conditioning", "air_conditioning"),
    ("set_dome_light", "dome_light"),
    ("set_head_lights_low_beams", "low_beams"),
    ("set_head_lights_high_beams", "high_beams"),
    ("set_child_lock", "child_lock"),
];

/// A rule with a remedy, on a call of this tool about this kind of thing.
pub fn remedying(id: &str, tool: &str, about: &str, when: impl Into<String>) -> Parts {
    let base = rules(&cabin()).into_iter().find(|r| r.id == "fog-lights-need-low-beams").unwrap();
    let mut rule = base.when(when);
    rule.annotations.retain(|a| !a.starts_with("@on_failure("));
    rule.id = id.to_owned();
    rule.scope = format!("principal, action == Action::\"{tool}\", resource is {about}");
    rule
}

/// A rule of a set, in its parts.
#[derive(Debug, Clone)]
pub struct Parts {
    pub id: String,
    /// Annotations but `@id`, a line each.
    pub annotations: Vec<String>,
    /// `principal, action == …, resource is …`
    pub scope: String,
    /// What stands in `when`; empty where there is none.
    pub when: String,
}

impl Parts {
    pub fn text(&self) -> String {
        let when = if self.when.is_empty() { String::new() } else { format!(" when {{ {} }}", self.when) };
        // A read that answers nothing any more would be a fault of its own.
        let unread = |a: &&String| a.starts_with("@read(") && !self.when.contains("context.weather");
        let annotations: Vec<&str> = self.annotations.iter().filter(|a| !unread(a)).map(String::as_str).collect();
        format!("@id(\"{}\")\n{}\nforbid ({}){when};\n", self.id, annotations.join("\n"), self.scope)
    }

    pub fn annotation(&self, name: &str) -> Option<&str> {
        let start = format!("@{name}(\"");
        self.annotations.iter().find_map(|a| a.strip_prefix(&start)?.strip_suffix("\")"))
    }

    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut changed = self.clone();
        changed.annotations.retain(|a| !a.starts_with(&format!("@{name}(")));
        changed.annotations.push(format!("@{name}(\"{value}\")"));
        changed
    }

    /// As a plain prohibition.
    pub fn plain(&self) -> Self {
        let mut changed = self.clone();
        changed.annotations.retain(|a| a.starts_with("@source(") || a.starts_with("@read("));
        changed.with("kind", "prohibition")
    }

    pub fn when(&self, when: impl Into<String>) -> Self {
        Self { when: when.into(), ..self.clone() }
    }

    pub fn named(&self, suffix: &str) -> Self {
        Self { id: format!("{}{suffix}", self.id), ..self.clone() }
    }

    pub fn is_plain(&self) -> bool {
        ["remedy", "consent", "disclose", "advise"].iter().all(|name| self.annotation(name).is_none())
    }

    /// The top-level conjuncts; none where the top is a disjunction.
    pub fn conjuncts(&self) -> Vec<String> {
        let (mut parts, mut depth, mut at) = (Vec::new(), 0_i32, 0);
        for (i, c) in self.when.char_indices() {
            depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
            if depth == 0 && self.when[i..].starts_with("||") {
                return Vec::new();
            }
            if depth == 0 && self.when[i..].starts_with("&&") {
                parts.push(self.when[at..i].trim().to_owned());
                at = i + 2;
            }
        }
        parts.push(self.when[at..].trim().to_owned());
        parts.retain(|p| !p.is_empty());
        parts
    }

    /// The conjuncts about arguments alone, and the others.
    pub fn guard_and_state(&self) -> (Vec<String>, Vec<String>) {
        let about_state = |c: &str| c.replace("context.input", "").contains("context.") || c.contains("resource.");
        self.conjuncts().into_iter().partition(|c| !about_state(c))
    }
}

/// The cabin without its tests, which speak of rules that a mutant may lack.
pub fn cabin() -> SetSource {
    let set = SetSource::read(&root().join("policies/cabin"), None, None).unwrap();
    SetSource { tests: Vec::new(), ..set }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// A folder of `../shared`, or why there is none.
pub fn shared(name: &str) -> Option<PathBuf> {
    let found = ["../shared", "../../shared"].map(|s| root().join(s).join(name)).into_iter().find(|p| p.exists());
    if found.is_none() {
        println!("skipped: ../shared/{name} is absent");
    }
    found
}

/// The rules of a set.
pub fn rules(set: &SetSource) -> Vec<Parts> {
    let code: Vec<&str> = set.rules.text().lines().filter(|l| !l.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    code.split("@id(\"").skip(1).map(parts).collect()
}

fn parts(text: &str) -> Parts {
    let (id, rest) = text.split_once("\")").unwrap();
    let (annotations, rest) = rest.split_once("forbid (").unwrap();
    let (scope, rest) = rest.split_once(")\nwhen {").or_else(|| rest.split_once(");")).unwrap();
    let when = rest.trim_end().strip_suffix("};").unwrap_or_default();
    // A remark at the end of a line of code goes with the line break.
    let when: Vec<&str> = when.lines().map(|l| l.split(" // ").next().unwrap().trim()).collect();
    Parts {
        id: id.to_owned(),
        annotations: annotations.lines().map(str::trim).filter(|l| !l.is_empty()).map(str::to_owned).collect(),
        scope: scope.to_owned(),
        when: when.join(" ").trim().to_owned(),
    }
}

/// The cabin with these rules alone.
pub fn with(rules: &[&Parts]) -> SetSource {
    let text: String = rules.iter().map(|r| r.text()).collect();
    SetSource { rules: SourceFile::new("rules.cedar", text), ..cabin() }
}

/// A fault in one rule, beside the rules that it needs.
pub fn fault(what: impl Into<String>, culprit: &Parts, beside: &[&Parts]) -> Faulty {
    let rules: Vec<&Parts> = beside.iter().copied().chain([culprit]).collect();
    Faulty { what: format!("{}: {}", culprit.id, what.into()), set: with(&rules), culprit: Some(culprit.id.clone()) }
}

#[test]
fn the_mutator_gives_back_the_rules_that_it_took_apart() {
    let set = cabin();
    let rules = rules(&set);
    let whole = with(&rules.iter().collect::<Vec<_>>());
    let [before, after] = [&set, &whole].map(|s| obligato::compile::compile(s).unwrap().parts.rules);
    assert_eq!(before, after);
}
