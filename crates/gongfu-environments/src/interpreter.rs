//! Interpreters outside of the system's folders, such as those of version managers.
//!
//! Runs see only the folders that the search path of the operator leads to, and nothing else of a home.
#![expect(
    clippy::disallowed_methods,
    reason = "a look at what the search path of the operator names; nothing is opened for others"
)]

use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

use gongfu_core::dependency::Language;
use gongfu_core::sandbox::{Mode, Mount};

/// The interpreters that scripts of skills are written for.
const NAMES: [&str; 6] = ["python3", "python", "node", "ruby", "perl", "php"];
/// The folders of the system's programs, which every run sees.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/nix/store", "/gnu/store"];
/// Folders of programs that are searched after the search path.
const FOLDERS: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
/// The first bytes of a program.
const ELF: [u8; 4] = *b"\x7fELF";

/// The interpreters of a search path and of the system.
#[derive(Debug, Default)]
pub struct Interpreters {
    search_path: Vec<PathBuf>,
    /// The prefixes outside of the system's folders, found when first needed: most commands run nothing.
    prefixes: OnceLock<Vec<PathBuf>>,
}

impl Interpreters {
    /// The interpreters of a search path.
    pub fn new(mut search_path: Vec<PathBuf>) -> Self {
        search_path.retain(|folder| folder.is_absolute());
        Self {
            search_path,
            prefixes: OnceLock::new(),
        }
    }

    fn prefixes(&self) -> &[PathBuf] {
        self.prefixes.get_or_init(|| prefixes(&self.search_path))
    }

    /// The mounts of the prefixes, each with its folder of programs.
    pub fn mounts(&self) -> impl Iterator<Item = (Mount, String)> {
        self.prefixes().iter().filter_map(|prefix| {
            let target = prefix.to_str()?;
            let mount = Mount {
                sources: vec![prefix.clone()],
                target: target.to_owned(),
                mode: Mode::ReadOnly,
                keep: None,
            };
            Some((mount, format!("{target}/bin")))
        })
    }

    /// The identity of the interpreters of a language: path, size and time of each.
    pub(crate) fn identity(&self, language: Language) -> Vec<String> {
        let names = match language {
            Language::Python => ["python3", "python"],
            Language::Node => ["node", "nodejs"],
        };
        let mut found: Vec<String> = Vec::new();
        for folder in self.folders() {
            let programs = names.iter().filter_map(|name| program(&folder, name));
            for stamp in programs.filter_map(|program| stamp(&program)) {
                if !found.contains(&stamp) {
                    found.push(stamp);
                }
            }
        }
        found
    }

    /// The path of the program of this name.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        self.folders().find_map(|folder| program(&folder, name))
    }

    /// True for a program that runs can see.
    pub(crate) fn is_visible(&self, file: &Path) -> bool {
        let prefixes = self.prefixes().iter().map(PathBuf::as_path);
        let mut visible = SYSTEM.iter().map(Path::new).chain(prefixes);
        let climbs = file.components().any(|part| part == Component::ParentDir);
        !climbs && is_program(file) && visible.any(|folder| file.starts_with(folder))
    }

    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let own = self.search_path.iter().cloned();
        own.chain(FOLDERS.map(PathBuf::from))
    }
}

/// The real path of a program, with its size and time.
fn stamp(file: &Path) -> Option<String> {
    let real = fs::canonicalize(file).ok()?;
    let metadata = fs::metadata(&real).ok()?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let (size, nanoseconds) = (metadata.len(), modified.as_nanos());
    Some(format!("{} {size} {nanoseconds}", real.display()))
}

/// The prefixes of the interpreters that a search path finds first, each with `bin` and `lib` in it, without
/// those of the system.
pub(crate) fn prefixes(search_path: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for name in NAMES {
        let program = search_path.iter().find_map(|folder| program(folder, name));
        let prefix = program.and_then(|program| prefix(&program));
        found.extend(prefix.filter(|prefix| !found.contains(prefix)));
    }
    found
}

/// The program of this name in a folder of the search path.
fn program(folder: &Path, name: &str) -> Option<PathBuf> {
    let file = folder.join(name);
    if is_program(&file) {
        return Some(file);
    }
    // A script that looks for the real program (pyenv, rbenv, nodenv).
    let root = folder.parent().filter(|_| folder.ends_with("shims"))?;
    let version = fs::metadata(&file).ok().filter(fs::Metadata::is_file);
    let version = version.and_then(|_| first_line(&root.join("version")))?;
    let is_plain = !version.contains(['/', '\0']) && version != "." && version != "..";
    let file = root.join("versions").join(version).join("bin").join(name);
    (is_plain && is_program(&file)).then_some(file)
}

/// The prefix that a program is installed in, unless it is the system's, or holds a person's own files.
fn prefix(file: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(file).ok()?;
    if SYSTEM.iter().any(|system| real.starts_with(system)) {
        return None;
    }
    let bin = real.parent().filter(|bin| bin.ends_with("bin"))?;
    let prefix = bin.parent()?;
    // `~/.local` has both folders, and everything else of a person as well.
    let is_personal = prefix.ends_with(".local") && prefix.join("share").exists();
    let is_prefix = prefix.parent().is_some() && prefix.join("lib").is_dir();
    (is_prefix && !is_personal).then(|| prefix.to_owned())
}

/// True for a program of this system.
pub(crate) fn is_program(file: &Path) -> bool {
    let mut first = [0; 4];
    // A look at the kind first: to open a pipe would wait.
    let is_file = fs::metadata(file).is_ok_and(|found| found.is_file());
    let read =
        is_file && fs::File::open(file).is_ok_and(|mut file| file.read_exact(&mut first).is_ok());
    read && first == ELF
}

fn first_line(file: &Path) -> Option<String> {
    let mut text = String::new();
    let file = fs::File::open(file).ok()?;
    file.take(1_000).read_to_string(&mut text).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests;
