//! The layout of `rules.cedar`: Cedar's own formatter, held to losing nothing.

use std::collections::BTreeMap;
use std::str::FromStr;

use cedar_policy::PolicySet;
use cedar_policy_formatter::{Config, policies_str_to_pretty};

use super::error::{CompileError, CompileErrors, Report};
use super::rules;
use super::source::SourceFile;

/// Columns of a line, as in the project's own code.
const WIDTH: usize = 120;
/// Columns of one level.
const INDENT: isize = 4;

/// A rules file as `obligato fmt` lays it out. Every rule keeps its annotations, every comment stays.
///
/// # Errors
/// [`CompileErrors`] with the line of whatever is no Cedar, or when the formatter would lose something.
pub fn format(file: &SourceFile) -> Result<String, CompileErrors> {
    let mut report = Report::default();
    let found = rules::parse_all(file, &mut report);
    if let Some(errors) = report.failed() {
        return Err(errors);
    }
    if found == 0 {
        return Ok(file.text().to_owned());
    }
    let config = Config { line_width: WIDTH, indent_width: INDENT };
    let broken = |why: String| CompileErrors(vec![CompileError::Cedar { place: file.whole(), why }]);
    let text = policies_str_to_pretty(file.text(), &config).map_err(|e| broken(format!("cannot be laid out: {e}")))?;
    let lost = |what: &str| broken(format!("the formatter would lose {what}, so the file is left as it is"));
    if annotations(file.text()) != annotations(&text) {
        return Err(lost("an annotation"));
    }
    if comments(file.text()) != comments(&text) {
        return Err(lost("a comment; put comments on lines of their own above a rule or a condition"));
    }
    Ok(text)
}

/// Annotations of all rules, in the order of the file; none when the text is no Cedar.
fn annotations(text: &str) -> Option<Vec<BTreeMap<String, String>>> {
    let set = PolicySet::from_str(text).ok()?;
    let mut policies: Vec<_> = set.policies().collect();
    // Ids of a parsed text count the policies: `policy0`, `policy1`, …
    policies.sort_by_key(|p| p.id().to_string().trim_start_matches("policy").parse::<usize>().unwrap_or(usize::MAX));
    let of = |p: &&cedar_policy::Policy| p.annotations().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    Some(policies.iter().map(of).collect())
}

/// All comments, each without the space around it.
fn comments(text: &str) -> Vec<String> {
    let mut found: Vec<String> = rules::comments(text).map(|c| c.trim().to_owned()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOSE: &str = "// Climate.\n\n@id(\"a\") @kind(\"prohibition\") @consent(\"Open it;  // really?\")\nforbid(principal,action==Action::\"x\",resource is Car)when{\n// Cold.\ncontext.input.on&&resource.fan>2};\n// The end.\n";

    fn file(text: &str) -> SourceFile {
        SourceFile::new("x/rules.cedar", text)
    }

    #[test]
    fn layout_keeps_comments_and_annotations_and_is_stable() {
        let once = format(&file(LOOSE)).unwrap();
        for kept in ["// Climate.", "// Cold.", "// The end.", "@consent(\"Open it;  // really?\")", "resource.fan > 2"]
        {
            assert!(once.contains(kept), "{kept}: {once}");
        }
        assert_eq!(format(&file(&once)).unwrap(), once);
    }

    #[test]
    fn what_is_no_cedar_is_told_with_its_line() {
        let told =
            format(&file("// ok\n\nforbid (principal, action, resource) when { 1 + };")).unwrap_err().to_string();
        assert!(told.starts_with("x/rules.cedar:3: "), "{told}");
    }

    #[test]
    fn a_file_without_rules_stays_as_it_is() {
        assert_eq!(format(&file("// nothing yet\n")).unwrap(), "// nothing yet\n");
    }
}
