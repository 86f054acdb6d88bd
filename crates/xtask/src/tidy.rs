//! `cargo xtask tidy`: the rules of the house that rustc and clippy do not know.
//! May touch: the tracked files, read only.
//! Must not: have an exception that is not written down beside its rule.

#![allow(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "the repository's own names are lower case"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail};

/// Longest source file and function, in lines.
const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 80;
/// Largest tracked file, in bytes; recorded test data and the lock file aside.
const BLOB_BYTES_MAX: usize = 256 * 1024;

/// What the cores may depend on.
const CORE_DEPENDENCIES: &[&str] = &[
    "capacity-scheduler",
    "yarn-types",
    "smallvec",
    "time",
    "indexmap",
    "serde",
    "serde_json",
    "proptest",
    "testkit",
];

/// Text that may not stand in a Rust file, the part of the tree it is banned from, and why.
const BANNED: &[(&str, Scope, &str)] = &[
    (
        "#[ignore",
        Scope::Rust,
        "a test that does not run is no test",
    ),
    ("todo!(", Scope::Rust, "finish it"),
    (
        "env::set_var",
        Scope::Rust,
        "pass the environment as an argument",
    ),
    (
        "thread::sleep",
        Scope::Tests,
        "tests wait for a state, they do not sleep",
    ),
    (
        "time::sleep(",
        Scope::Tests,
        "tests wait for a state, they do not sleep",
    ),
    ("async fn", Scope::Cores, "cores know no async"),
    (
        "rand::",
        Scope::Cores,
        "randomness comes as a seed in an event",
    ),
    ("std::time", Scope::Cores, "time comes with the event"),
    ("now_utc", Scope::Cores, "time comes with the event"),
    ("now_local", Scope::Cores, "time comes with the event"),
    ("std::fs", Scope::Cores, "cores do no IO"),
    ("std::net", Scope::Cores, "cores do no IO"),
];

/// Suffixes of type names that say nothing.
const EMPTY_NAMES: &[&str] = &["Manager", "Helper", "Util", "Utils", "Impl"];

#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Rust,
    Tests,
    Cores,
}

impl Scope {
    fn holds(self, path: &str) -> bool {
        match self {
            Self::Rust => true,
            Self::Tests => path.ends_with("_test.rs") || path.contains("/tests/"),
            Self::Cores => {
                let core = ["/core/src/", "/scheduler/src/"];
                core.iter().any(|c| path.contains(c)) && !path.ends_with("_test.rs")
            }
        }
    }
}

struct Tidy {
    root: PathBuf,
    findings: Vec<String>,
}

/// Runs every rule over the files that git tracks (or would track).
///
/// # Errors
/// The number of findings, after each was printed as `path[:line]: rule`.
pub fn run() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()?;
    let mut tidy = Tidy {
        root,
        findings: Vec::new(),
    };
    let files = tidy.files()?;
    for path in &files {
        tidy.file(path, &files)?;
    }
    tidy.dependencies()?;
    for finding in &tidy.findings {
        println!("{finding}");
    }
    match tidy.findings.len() {
        0 => Ok(()),
        n => bail!("{n} findings"),
    }
}

impl Tidy {
    fn files(&self) -> anyhow::Result<Vec<String>> {
        let output = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .current_dir(&self.root)
            .output()
            .context("run git ls-files")?;
        let names = String::from_utf8(output.stdout).context("file names are UTF-8")?;
        let exists = |name: &&str| self.root.join(name).is_file();
        Ok(names.lines().filter(exists).map(str::to_owned).collect())
    }

    fn found(&mut self, place: impl std::fmt::Display, rule: &str) {
        self.findings.push(format!("{place}: {rule}"));
    }

    fn file(&mut self, path: &str, all: &[String]) -> anyhow::Result<()> {
        let bytes = fs::read(self.root.join(path)).with_context(|| format!("read {path}"))?;
        let data =
            path == "Cargo.lock" || path.contains("/tests/data/") || path.contains("/golden/");
        if bytes.len() > BLOB_BYTES_MAX && !data {
            self.found(path, "larger than a source file should be");
        }
        let Ok(text) = String::from_utf8(bytes) else {
            return Ok(());
        };
        if !data {
            self.machine(path, &text);
        }
        let generated = path.contains("/generated/");
        if path.ends_with(".rs") && !generated {
            self.header(path, &text);
            self.size(path, &text);
            self.words(path, &text);
            self.reached(path, all)?;
        }
        if path.ends_with("core/Cargo.toml") || path.ends_with("scheduler/Cargo.toml") {
            self.core_dependencies(path, &text);
        }
        Ok(())
    }

    /// Paths of one machine have no place in the product.
    fn machine(&mut self, path: &str, text: &str) {
        for (n, line) in text.lines().enumerate() {
            if ["/wo", "/fa"]
                .iter()
                .zip(["rk/", "rm/"])
                .any(|(a, b)| line.contains(&format!("{a}{b}")))
            {
                self.found(format!("{path}:{}", n + 1), "names a path of one machine");
            }
        }
    }

    /// Purpose, what it may touch, what it must not.
    fn header(&mut self, path: &str, text: &str) {
        let head: String = text.lines().take_while(|l| l.starts_with("//!")).collect();
        for part in ["//! ", "May touch:", "Must not:"] {
            if !head.contains(part) {
                self.found(path, &format!("the first lines lack '{part}'"));
                return;
            }
        }
    }

    fn size(&mut self, path: &str, text: &str) {
        if text.lines().count() > FILE_LINES_MAX {
            self.found(path, &format!("longer than {FILE_LINES_MAX} lines"));
        }
        let mut open: Option<(usize, usize)> = None;
        for (n, line) in text.lines().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let code = line.trim_start();
            let starts = code.starts_with("fn ")
                || code.contains(" fn ")
                    && (code.starts_with("pub")
                        || code.starts_with("async")
                        || code.starts_with("const"));
            match open {
                None if starts && !line.trim_end().ends_with(';') => open = Some((n, indent)),
                Some((start, at)) if indent == at && code.starts_with('}') => {
                    if n - start > FUNCTION_LINES_MAX {
                        let place = format!("{path}:{}", start + 1);
                        self.found(
                            place,
                            &format!("function longer than {FUNCTION_LINES_MAX} lines"),
                        );
                    }
                    open = None;
                }
                Some((start, at)) if indent == at && code.ends_with("{}") && n >= start => {
                    open = None;
                }
                _ => {}
            }
        }
    }

    fn words(&mut self, path: &str, text: &str) {
        if path.starts_with("crates/xtask/") {
            return; // the rules name what they ban
        }
        for (n, line) in text.lines().enumerate() {
            let place = format!("{path}:{}", n + 1);
            for (word, scope, why) in BANNED {
                if scope.holds(path) && line.contains(word) && !line.trim_start().starts_with("//")
                {
                    self.found(&place, &format!("'{word}': {why}"));
                }
            }
            let code = line
                .trim_start()
                .trim_start_matches("pub ")
                .trim_start_matches("pub(super) ");
            for keyword in ["struct ", "enum ", "trait "] {
                let Some(name) = code.strip_prefix(keyword) else {
                    continue;
                };
                let name: String = name.chars().take_while(|c| c.is_alphanumeric()).collect();
                if EMPTY_NAMES.iter().any(|suffix| name.ends_with(suffix)) {
                    self.found(&place, &format!("'{name}' says nothing; name what it is"));
                }
            }
        }
        let accounts = path.contains("/src/sched/") && !path.ends_with("_test.rs");
        let may = ["commit.rs", "users.rs", "reload.rs"]
            .iter()
            .any(|f| path.ends_with(f));
        if accounts && !may {
            for (n, line) in text.lines().enumerate() {
                if [
                    ".used = ",
                    ".used += ",
                    ".reserved.add(",
                    ".used.add(",
                    ".containers = ",
                ]
                .iter()
                .any(|change| line.contains(change))
                {
                    self.found(
                        format!("{path}:{}", n + 1),
                        "only commit.rs changes what is held",
                    );
                }
            }
        }
    }

    /// A source file that no `mod` names is dead.
    fn reached(&mut self, path: &str, all: &[String]) -> anyhow::Result<()> {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        let root_file = ["lib.rs", "main.rs", "build.rs"].contains(&name);
        let target = ["bin", "benches", "tests", "examples", "fuzz_targets"];
        if root_file
            || target.iter().any(|t| dir.ends_with(&format!("/{t}")))
            || dir.contains("/tests/")
        {
            return Ok(());
        }
        let (module, owner_dir) = match name.strip_suffix(".rs") {
            Some("mod") => match dir.rsplit_once('/') {
                Some((up, module)) => (module, up),
                None => return Ok(()),
            },
            Some(stem) => (stem, dir),
            None => return Ok(()),
        };
        let beside = format!("{owner_dir}.rs");
        let owners = all.iter().filter(|f| {
            f.ends_with(".rs")
                && (**f == beside || f.rsplit_once('/').is_some_and(|(d, _)| d == owner_dir))
        });
        for owner in owners {
            let text = fs::read_to_string(self.root.join(owner))?;
            if text.contains(&format!("mod {module};")) || text.contains(&format!("\"{name}\"")) {
                return Ok(());
            }
        }
        self.found(path, "no module names this file");
        Ok(())
    }

    fn core_dependencies(&mut self, path: &str, text: &str) {
        let mut inside = false;
        for (n, line) in text.lines().enumerate() {
            if line.starts_with('[') {
                inside = line == "[dependencies]";
                continue;
            }
            let name = line.split(['.', ' ', '=']).next().unwrap_or("");
            if inside && !name.is_empty() && !CORE_DEPENDENCIES.contains(&name) {
                self.found(
                    format!("{path}:{}", n + 1),
                    &format!("a core may not depend on '{name}'"),
                );
            }
        }
    }

    /// Each library has its line in docs/dependencies.md.
    fn dependencies(&mut self) -> anyhow::Result<()> {
        let manifest = fs::read_to_string(self.root.join("Cargo.toml"))?;
        let page = fs::read_to_string(self.root.join("docs/dependencies.md")).unwrap_or_default();
        let table = manifest
            .split("[workspace.dependencies]")
            .nth(1)
            .unwrap_or("");
        for line in table.lines().take_while(|l| !l.starts_with('[')) {
            let Some((name, value)) = line.split_once(" = ") else {
                continue;
            };
            if !value.contains("path = ") && !page.contains(&format!("`{name}`")) {
                self.found("docs/dependencies.md", &format!("no line for `{name}`"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    /// `cargo test` is enough to learn that the house is in order.
    #[test]
    fn the_repository_is_tidy() {
        super::run().unwrap();
    }
}
