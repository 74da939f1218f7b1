//! The files of a policy set, with the lines that errors name.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{CompileError, CompileErrors};

/// A line of a source file; line 0 is the file as a whole.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, as it was given.
    pub file: Arc<str>,
    /// The line, counted from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// One source file.
#[derive(Debug, Clone)]
pub struct SourceFile {
    path: Arc<str>,
    text: String,
    /// Byte offsets at which lines begin.
    starts: Vec<usize>,
}

impl SourceFile {
    /// A file from its text.
    pub fn new(path: &str, text: impl Into<String>) -> Self {
        let text = text.into();
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { path: path.into(), text, starts }
    }

    /// Reads a file. A byte order mark, which some editors write, is no part of its text.
    ///
    /// # Errors
    /// [`CompileError::Read`] with its name, or [`CompileError::Utf8`] with the line.
    pub fn read(path: &Path) -> Result<Self, CompileError> {
        let shown = path.display().to_string();
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(source) => return Err(CompileError::Read { file: shown, source }),
        };
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self::new(&shown, text)),
            Err(error) => {
                let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
                let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
                Err(CompileError::Utf8 { place: Place { file: shown.as_str().into(), line } })
            }
        }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The file's own name, without its folder.
    pub fn name(&self) -> &str {
        self.path.rsplit(['/', '\\']).next().unwrap_or(&self.path)
    }

    /// The place of a byte of the text.
    pub fn at(&self, offset: usize) -> Place {
        Place { file: self.path.clone(), line: self.starts.partition_point(|start| *start <= offset) }
    }

    /// The file as a whole.
    pub fn whole(&self) -> Place {
        Place { file: self.path.clone(), line: 0 }
    }
}

/// The sources of one policy set.
#[derive(Debug, Clone)]
pub struct SetSource {
    /// The policy in prose.
    pub prose: SourceFile,
    /// The tool inventory.
    pub tools: SourceFile,
    /// The effect model.
    pub vehicle: SourceFile,
    /// The rules.
    pub rules: SourceFile,
    /// The policy tests, by name of their files.
    pub tests: Vec<SourceFile>,
    /// The folder, where the generated schema stands beside the rules.
    pub folder: PathBuf,
}

impl SetSource {
    /// The files that a set is written in, those of its folder by name: what no output may replace.
    pub fn files(folder: &Path, prose: Option<&Path>, tools: Option<&Path>) -> Vec<PathBuf> {
        let own = ["policy.md", "tools.json", "vehicle.toml", "rules.cedar", "rules.cedarschema", "coverage.toml"];
        let own = own.into_iter().map(|name| folder.join(name));
        let tests = std::fs::read_dir(folder.join("tests")).into_iter().flatten().flatten().map(|entry| entry.path());
        own.chain(tests).chain(prose.into_iter().chain(tools).map(Path::to_owned)).collect()
    }

    /// Reads the folder of a set. `prose` and `tools` replace `policy.md` and `tools.json` of sets
    /// whose prose and inventory live elsewhere.
    ///
    /// # Errors
    /// [`CompileError::Lacking`] for every file that cannot be read.
    pub fn read(folder: &Path, prose: Option<&Path>, tools: Option<&Path>) -> Result<Self, CompileErrors> {
        if folder.is_file() {
            return Err(CompileError::NoFolder(folder.display().to_string()).into());
        }
        let needed = |path: &Path| {
            SourceFile::read(path).map_err(|error| match error {
                CompileError::Read { file, source } => CompileError::Lacking { file, source },
                other => other,
            })
        };
        let own = |name: &str| folder.join(name);
        let prose = needed(prose.unwrap_or(&own("policy.md")));
        let tools = needed(tools.unwrap_or(&own("tools.json")));
        let vehicle = needed(&own("vehicle.toml"));
        let rules = needed(&own("rules.cedar"));
        let tests = tests(&own("tests"));
        match (prose, tools, vehicle, rules, tests) {
            (Ok(prose), Ok(tools), Ok(vehicle), Ok(rules), Ok(tests)) => {
                Ok(Self { prose, tools, vehicle, rules, tests, folder: folder.to_owned() })
            }
            (a, b, c, d, e) => {
                let files = [a, b, c, d].into_iter().filter_map(Result::err);
                Err(CompileErrors(files.chain(e.err()).collect()))
            }
        }
    }
}

/// The test files of a folder, by name; a set without the folder has none.
fn tests(folder: &Path) -> Result<Vec<SourceFile>, CompileError> {
    let unreadable = |source| CompileError::Read { file: folder.display().to_string(), source };
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(unreadable)?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| SourceFile::read(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_line_of_a_byte() {
        let file = SourceFile::new("policies/x/rules.cedar", "a\nbc\n\nd");
        let lines: Vec<usize> = [0, 1, 2, 4, 5, 6].into_iter().map(|at| file.at(at).line).collect();
        assert_eq!(lines, [1, 1, 2, 2, 3, 4]);
        assert_eq!(file.at(3).to_string(), "policies/x/rules.cedar:2");
        assert_eq!(file.name(), "rules.cedar");
    }

    #[test]
    fn a_byte_order_mark_is_no_text_and_a_byte_that_is_none_has_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.cedar");
        std::fs::write(&path, "\u{feff}forbid").unwrap();
        assert_eq!(SourceFile::read(&path).unwrap().text(), "forbid");
        std::fs::write(&path, b"good\nbad \xff").unwrap();
        let told = SourceFile::read(&path).unwrap_err().to_string();
        assert!(told.contains("rules.cedar:2: not valid UTF-8"), "{told}");
    }

    #[test]
    fn every_missing_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let errors = SetSource::read(folder.path(), None, None).unwrap_err();
        let text = errors.to_string();
        assert_eq!(errors.0.len(), 4);
        assert!(text.contains("vehicle.toml") && text.contains("rules.cedar"), "{text}");
    }
}
