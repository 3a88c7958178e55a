//! Interpreters that lie elsewhere than the system's programs: what version managers put below
//! somebody's folder, as the search path names them.
//!
//! Only looks; whoever runs something shows it these folders, and no others of that person.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

use gongfu_core::dependency::Language;
use gongfu_core::sandbox::{Mode, Mount};

/// The interpreters that scripts of skills are written for.
const NAMES: [&str; 6] = ["python3", "python", "node", "ruby", "perl", "php"];
/// Where the system's own programs lie, which every run sees.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/nix/store", "/gnu/store"];
/// What a program of the system begins with.
const PROGRAM: [u8; 4] = *b"\x7fELF";

/// Where systems have their programs.
const FOLDERS: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// The interpreters of a search path and of the system.
#[derive(Debug, Default)]
pub struct Interpreters {
    /// Where a person's are looked for.
    search_path: Vec<PathBuf>,
    /// Where those lie that aren't the system's, once somebody asks: most commands run nothing.
    beyond: OnceLock<Vec<PathBuf>>,
}

impl Interpreters {
    /// Those of a search path.
    pub fn new(search_path: Vec<PathBuf>) -> Self {
        Self {
            search_path,
            beyond: OnceLock::new(),
        }
    }

    fn beyond(&self) -> &[PathBuf] {
        self.beyond
            .get_or_init(|| beyond_the_system(&self.search_path))
    }

    /// How runs see those that aren't the system's: each with the folder of its programs.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (Mount, String)> {
        // What can't be written down can't be looked for.
        let named = self
            .beyond()
            .iter()
            .filter_map(|folder| Some((folder, folder.to_str()?)));
        named.map(|(folder, at)| {
            let mount = Mount {
                sources: vec![folder.clone()],
                target: at.to_owned(),
                mode: Mode::ReadOnly,
                keep: None,
            };
            (mount, format!("{at}/bin"))
        })
    }

    /// What tells the interpreters of a language here from others: where each lies, how long it is and when
    /// it was installed.
    pub(crate) fn identity(&self, language: Language) -> Vec<String> {
        let names: &[&str] = match language {
            Language::Python => &["python3", "python"],
            Language::Node => &["node", "nodejs"],
        };
        let mut found: Vec<String> = Vec::new();
        for folder in self.folders() {
            let programs = names.iter().filter_map(|name| program(&folder, name));
            for program in programs.filter_map(|program| stamped(&program)) {
                if !found.contains(&program) {
                    found.push(program);
                }
            }
        }
        found
    }

    /// Where a program of this name is.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        self.folders().find_map(|folder| program(&folder, name))
    }

    /// Whether a path is a program that runs see.
    pub(crate) fn has(&self, file: &Path) -> bool {
        let is_seen = SYSTEM
            .iter()
            .map(Path::new)
            .chain(self.beyond().iter().map(PathBuf::as_path));
        let is_plain = file
            .components()
            .all(|part| !matches!(part, std::path::Component::ParentDir));
        is_plain && is_program(file) && is_seen.into_iter().any(|folder| file.starts_with(folder))
    }

    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let own = self
            .search_path
            .iter()
            .filter(|folder| folder.is_absolute());
        own.cloned().chain(FOLDERS.map(PathBuf::from))
    }
}

/// Where a program really lies, with what changes when it is another one.
#[expect(
    clippy::disallowed_methods,
    reason = "a look at what the search path of whoever runs gongfu names"
)]
fn stamped(file: &Path) -> Option<String> {
    let real = std::fs::canonicalize(file).ok()?;
    let found = std::fs::metadata(&real).ok()?;
    let changed = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!(
        "{} {} {}",
        real.display(),
        found.len(),
        changed.as_nanos()
    ))
}

/// The folders of the interpreters that a search path finds first, each with `bin` and `lib` in it, and
/// none of the system's.
pub(crate) fn beyond_the_system(path: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for name in NAMES {
        let mut folders = path.iter().filter(|folder| folder.is_absolute());
        let program = folders.find_map(|folder| program(folder, name));
        let prefix = program.and_then(|program| prefix(&program));
        found.extend(prefix.filter(|prefix| !found.contains(prefix)));
    }
    found
}

/// The program that a folder of the search path has under a name.
fn program(folder: &Path, name: &str) -> Option<PathBuf> {
    let file = folder.join(name);
    if is_program(&file) {
        return Some(file);
    }
    if !is_file(&file) {
        return None;
    }
    // A script that looks for the real one (pyenv, rbenv, nodenv).
    let root = folder.parent().filter(|_| folder.ends_with("shims"))?;
    let version = first_line(&root.join("version"))?;
    let plain = !version.contains(['/', '\0']) && version != "." && version != "..";
    let file = root.join("versions").join(version).join("bin").join(name);
    (plain && is_program(&file)).then_some(file)
}

/// Where a program is installed, unless it is one of the system's, or lies among a person's own files.
#[expect(
    clippy::disallowed_methods,
    reason = "tells where a program really lies; nothing is opened for others"
)]
fn prefix(file: &Path) -> Option<PathBuf> {
    let real = std::fs::canonicalize(file).ok()?;
    if SYSTEM.iter().any(|system| real.starts_with(system)) {
        return None;
    }
    let bin = real.parent().filter(|bin| bin.ends_with("bin"))?;
    let prefix = bin.parent()?;
    let has_parent = prefix.parent().is_some();
    // `~/.local` has both, and everything else of a person as well.
    let is_own = prefix.join("share").exists() && prefix.ends_with(".local");
    (has_parent && !is_own && prefix.join("lib").is_dir()).then(|| prefix.to_owned())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a look at what the search path of whoever runs gongfu names"
)]
fn is_file(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|found| found.is_file())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a look at what the search path of whoever runs gongfu names"
)]
pub(crate) fn is_program(file: &Path) -> bool {
    let mut begins = [0; 4];
    let read = is_file(file)
        && std::fs::File::open(file).is_ok_and(|mut file| file.read_exact(&mut begins).is_ok());
    read && begins == PROGRAM
}

#[expect(
    clippy::disallowed_methods,
    reason = "a look at what the search path of whoever runs gongfu names"
)]
fn first_line(file: &Path) -> Option<String> {
    let mut text = String::new();
    let file = std::fs::File::open(file).ok()?;
    file.take(1_000).read_to_string(&mut text).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::beyond_the_system;

    fn put(folder: &Path, path: &str, bytes: &[u8]) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn found(folder: &Path, path: &[&str]) -> Vec<String> {
        let path: Vec<_> = path.iter().map(|below| folder.join(below)).collect();
        let found = beyond_the_system(&path);
        let below = found.iter().map(|path| path.strip_prefix(folder).unwrap());
        below.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn interpreters_of_version_managers_are_found_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(folder.path()).unwrap();
        for (path, bytes) in [
            ("nvm/v22/bin/node", b"\x7fELF..".as_slice()),
            ("nvm/v22/lib/x", b""),
            ("pyenv/shims/python3", b"#!/bin/sh"),
            ("pyenv/version", b"3.12.1\n"),
            ("pyenv/versions/3.12.1/bin/python3", b"\x7fELF.."),
            ("pyenv/versions/3.12.1/lib/x", b""),
            ("climbing/shims/ruby", b"#!/bin/sh"),
            ("climbing/version", b"../../nvm/v22\n"),
            ("scripts/python3", b"#!/bin/sh"),
            (".local/bin/php", b"\x7fELF.."),
            (".local/lib/x", b""),
            (".local/share/secret", b""),
            ("bare/bin/perl", b"\x7fELF.."),
        ] {
            put(&folder, path, bytes);
        }
        let all = [
            "scripts",
            "nvm/v22/bin",
            "pyenv/shims",
            "climbing/shims",
            ".local/bin",
            "bare/bin",
        ];
        assert_eq!(found(&folder, &all), ["pyenv/versions/3.12.1", "nvm/v22"]);
        assert_eq!(found(&folder, &[]), [""; 0]);
        // The system's own comes first, so it is meant.
        assert_eq!(
            beyond_the_system(&["/usr/bin", "/bin"].map(Into::into)),
            [""; 0].map(Path::new)
        );
        // A link leads to where it is installed.
        std::os::unix::fs::symlink(folder.join("nvm/v22/bin"), folder.join("current")).unwrap();
        assert_eq!(found(&folder, &["current"]), ["nvm/v22"]);
    }
}
