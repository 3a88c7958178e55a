//! The repository as the checks see it: its text files and its packages, read once.
//!
//! It must not know any rule, so that a check can be tried on a tree made of a few lines of text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{DependencyKind, MetadataCommand};

/// The packages that work on the product, and are no part of it.
const TOOLS: &[&str] = &["gongfu-conformance", "gongfu-testing", "lab", "xtask"];

/// The repository: its text files and its packages.
#[derive(Default)]
pub(crate) struct Tree {
    /// The text of each file, by its path from the root, with `/` between folders.
    pub(crate) files: BTreeMap<String, String>,
    /// The files that git neither tracks nor ignores: somebody's next commit, or a stray log.
    pub(crate) untracked: BTreeSet<String>,
    /// The packages of the workspace.
    pub(crate) packages: Vec<Package>,
}

/// A package of the workspace.
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its folder from the root, such as `crates/gongfu-core`.
    pub(crate) folder: String,
    /// The files at which its targets start.
    pub(crate) roots: Vec<String>,
    /// The dependencies in its manifest.
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency as a manifest states it.
pub(crate) struct Dependency {
    /// The name of the package, whatever the manifest renames it to.
    pub(crate) name: String,
    /// True when only tests, examples and benchmarks have it.
    pub(crate) only_tests: bool,
}

/// The root of the workspace: above this package when cargo started the program, else the current folder.
pub(crate) fn root() -> Result<PathBuf> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    match package
        .as_deref()
        .and_then(|package| Path::new(package).parent())
    {
        Some(root) => Ok(root.to_path_buf()),
        None => std::env::current_dir().context("the current folder can't be read"),
    }
}

impl Package {
    /// True for a part of the product, false for what works on it.
    pub(crate) fn is_product(&self) -> bool {
        !TOOLS.contains(&self.name.as_str())
    }
}

impl Tree {
    /// Reads the repository at this root.
    pub(crate) fn load(root: &Path) -> Result<Tree> {
        let mut tree = Tree {
            packages: packages(root)?,
            ..Tree::default()
        };
        let (tracked, untracked) = list(root)?;
        for path in tracked.into_iter().chain(untracked.iter().cloned()) {
            // What is not text has no lines to check; what git lists and is gone is being deleted.
            if let Ok(text) = std::fs::read_to_string(root.join(&path)) {
                tree.files.insert(path, text);
            }
        }
        tree.untracked = untracked.into_iter().collect();
        Ok(tree)
    }

    /// The Rust files with their text.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.all().filter(|(path, _)| has_extension(path, "rs"))
    }

    /// All files with their text.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The packages that the product is made of.
    pub(crate) fn crates(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.is_product())
    }

    /// The package that a file belongs to, and its path from the folder of that package.
    pub(crate) fn home<'a>(&self, path: &'a str) -> Option<(&Package, &'a str)> {
        let homes = self.packages.iter().filter_map(|package| {
            let rest = path.strip_prefix(&package.folder)?.strip_prefix('/')?;
            Some((package, rest))
        });
        // A package may lie in the folder of another.
        homes.min_by_key(|(_, rest)| rest.len())
    }

    /// The text of a file, empty without such a file.
    pub(crate) fn text(&self, path: &str) -> &str {
        self.files.get(path).map_or("", String::as_str)
    }

    /// The first line of a file that one of its readers looks for, 1 when none fits.
    pub(crate) fn line_where(&self, path: &str, fits: impl Fn(&str) -> bool) -> usize {
        self.text(path)
            .lines()
            .position(fits)
            .map_or(1, |index| index + 1)
    }
}

/// True when a path ends in this extension.
pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|found| found == extension)
}

/// The files that git tracks, and those that it neither tracks nor ignores.
fn list(root: &Path) -> Result<(Vec<String>, Vec<String>)> {
    if !root.join(".git").exists() {
        let mut files = Vec::new();
        walk(root, "", &mut files)?;
        return Ok((files, Vec::new()));
    }
    let tracked = ask_git(root, &["--cached"])?;
    let untracked = ask_git(root, &["--others", "--exclude-standard"])?;
    Ok((tracked, untracked))
}

fn ask_git(root: &Path, which: &[&str]) -> Result<Vec<String>> {
    let output = Command::new("git")
        // The folder may belong to another user than the one who checks it, as in a container.
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .args(which)
        .current_dir(root)
        .output()
        .context("could not start git, which lists the files to check")?;
    if !output.status.success() {
        bail!(
            "git could not list the files: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let names = String::from_utf8(output.stdout).context("a tracked path is not UTF-8")?;
    Ok(names
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect())
}

/// Lists the files of a copy without a repository, such as an unpacked archive.
fn walk(folder: &Path, prefix: &str, files: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if matches!(name.as_str(), "target" | ".tools" | "node_modules") {
            continue;
        }
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// The packages of the workspace, as their manifests state them: nothing is resolved or built.
fn packages(root: &Path) -> Result<Vec<Package>> {
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cargo metadata failed")?;
    let relative = |path: &Path| {
        let path = path.strip_prefix(root).unwrap_or(path);
        path.to_string_lossy().replace('\\', "/")
    };
    let package = |package: &cargo_metadata::Package| Package {
        name: package.name.to_string(),
        folder: package
            .manifest_path
            .parent()
            .map_or_else(String::new, |folder| relative(folder.as_std_path())),
        roots: package
            .targets
            .iter()
            .map(|target| relative(target.src_path.as_std_path()))
            .collect(),
        dependencies: package
            .dependencies
            .iter()
            .map(|dependency| Dependency {
                name: dependency.name.clone(),
                only_tests: dependency.kind == DependencyKind::Development,
            })
            .collect(),
    };
    Ok(metadata.packages.iter().map(package).collect())
}
