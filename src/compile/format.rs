//! The layout of `rules.cedar`: Cedar's own formatter for each rule, held to losing nothing.
//!
//! What stands between rules (headings, blank lines) stays as it is.

use cedar_policy::{Policy as CedarPolicy, PolicyId};
use cedar_policy_formatter::{Config, policies_str_to_pretty};

use super::error::{CompileError, CompileErrors, Report};
use super::rules;
use super::source::SourceFile;

/// Columns of a line: a condition of more is read one conjunct a line.
const WIDTH: usize = 100;
/// Columns of one level, as Cedar's own documentation has it.
const INDENT: isize = 2;

/// A rules file as `obligato fmt` lays it out. Every rule keeps its annotations, every comment stays.
///
/// # Errors
/// [`CompileErrors`] with the line of whatever is no Cedar, or of what the formatter would lose.
pub fn format(file: &SourceFile) -> Result<String, CompileErrors> {
    let mut report = Report::default();
    rules::parse_all(file, &mut report);
    if let Some(errors) = report.failed() {
        return Err(errors);
    }
    let (text, mut out, mut end) = (file.text(), String::new(), 0);
    for range in rules::statements(text) {
        between(text.get(end..range.start).unwrap_or_default(), &mut out);
        let rule = text.get(range.clone()).unwrap_or_default();
        let laid_out = statement(rule)
            .map_err(|why| CompileErrors(vec![CompileError::Cedar { place: file.at(range.start), why }]))?;
        out.push_str(&laid_out);
        end = range.end;
    }
    between(text.get(end..).unwrap_or_default(), &mut out);
    let kept = out.trim_end().len();
    out.truncate(kept);
    if !out.is_empty() {
        out.push('\n');
    }
    Ok(out)
}

/// What stands between two rules: the rest of a line, comments, at most one blank line in a row and at least
/// one behind a rule.
fn between(gap: &str, out: &mut String) {
    let mut lines = gap.lines().map(str::trim);
    if !out.is_empty() {
        match lines.next() {
            Some(tail) if !tail.is_empty() => out.push_str(&format!(" {tail}\n\n")),
            _ => out.push_str("\n\n"),
        }
    }
    for line in lines {
        let blank = out.is_empty() || out.ends_with("\n\n");
        if !line.is_empty() {
            out.push_str(line);
            out.push('\n');
        } else if !blank {
            out.push('\n');
        }
    }
}

/// One rule.
fn statement(text: &str) -> Result<String, String> {
    if rules::too_deep(text).is_some() {
        return Err(rules::TOO_DEEP.to_owned());
    }
    let config = Config { line_width: WIDTH, indent_width: INDENT };
    let pretty = policies_str_to_pretty(text, &config).map_err(|e| format!("cannot be laid out: {e}"))?;
    let laid_out = compact(pretty.trim_end());
    let same = |text: &str| CedarPolicy::parse(Some(PolicyId::new("it")), text).ok().and_then(|p| p.to_json().ok());
    if same(text) != same(&laid_out) || same(text).is_none() {
        return Err("the formatter would change what it says, so the file is left as it is".to_owned());
    }
    let comments = |text: &str| rules::comments(text).map(|c| c.trim().to_owned()).collect::<Vec<_>>();
    if comments(text) != comments(&laid_out) {
        let why = "the formatter would lose or move a comment, so the file is left as it is; put comments on lines of their own, above the rule or above a part of its condition";
        return Err(why.to_owned());
    }
    Ok(laid_out)
}

/// The scope on one line where it fits, and the brace beside its `when`: rules are read by the page.
fn compact(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line == "forbid (" || line == "permit (" {
            let inner: Vec<&str> = std::iter::from_fn(|| lines.next_if(|l| !l.starts_with(')'))).collect();
            let close = lines.next().unwrap_or_default();
            let scope: Vec<&str> = inner.iter().map(|l| l.trim()).collect();
            let whole = format!("{line}{}{close}", scope.join(" "));
            if whole.chars().count() <= WIDTH && rules::comments(&inner.join("\n")).next().is_none() {
                out.push(whole);
            } else {
                out.push(line.to_owned());
                out.extend(inner.iter().chain([&close]).map(|l| (*l).to_owned()));
            }
        } else if matches!(line, "when" | "unless") && lines.next_if_eq(&"{").is_some() {
            out.push(format!("{line} {{"));
        } else {
            out.push(line.to_owned());
        }
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOSE: &str = "// Climate.\n\n\n@id(\"a\") @kind(\"prohibition\") @consent(\"Open it;  // really?\")\nforbid(principal,action==Action::\"x\",resource is Car)when{\n// Cold.\ncontext.input.on&&resource.fan>2}; // so far\nforbid(principal,action==Action::\"y\",resource is Car);\n// The end.\n";

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
        assert!(once.starts_with("// Climate.\n\n@id(\"a\")\n@kind"), "a heading stays apart: {once}");
        assert!(once.contains("\nforbid (principal, action == Action::\"x\", resource is Car)\nwhen {\n"), "{once}");
        assert!(once.contains("}; // so far\n\nforbid ("), "{once}");
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
