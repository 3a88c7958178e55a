//! Interpreters outside of the system's folders, such as those of version managers.
//!
//! Of an interpreter that the search path of the operator leads to, runs see the program and its library, and
//! nothing else of the folder that it is installed in: that may be a home.
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
use gongfu_files::ProgramFolder;

/// The interpreters that scripts of skills are written for, each with the folders and files of its library. `{}` is
/// the name of the program itself, and a `*` at the end stands for any end.
const LIBRARIES: [(&str, &[&str]); 6] = [
    ("python3", PYTHON),
    ("python", PYTHON),
    ("node", &["lib/node_modules"]),
    ("ruby", &["lib/ruby", "lib/libruby.so*"]),
    ("perl", &["lib/perl5", "lib/5.*", "lib/site_perl"]),
    ("php", &["lib/php"]),
];
const PYTHON: &[&str] = &["lib/{}", "lib64/{}", "lib/lib{}.so*"];
/// The folder of a prefix that belongs to conda, with the libraries of everything in it.
const CONDA: &str = "conda-meta";
/// The most names in a folder of programs that are looked at.
const MAX_NAMES: usize = 10_000;

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
    /// Further ones of Python, which the operator allows.
    further: Vec<PathBuf>,
    /// Those outside of the system's folders, found when first needed: most commands run nothing.
    others: OnceLock<Vec<ProgramFolder>>,
}

impl Interpreters {
    /// The interpreters of a search path, and further ones of Python for skills that need another version.
    pub fn new(mut search_path: Vec<PathBuf>, mut further: Vec<PathBuf>) -> Self {
        search_path.retain(|folder| folder.is_absolute());
        further.retain(|file| file.is_absolute());
        Self {
            search_path,
            further,
            others: OnceLock::new(),
        }
    }

    /// Those outside of the system's folders.
    pub fn others(&self) -> &[ProgramFolder] {
        self.others
            .get_or_init(|| others(&self.search_path, &self.further))
    }

    /// The identity of the interpreters of a language: path, size and time of each.
    pub(crate) fn identity(&self, language: Language) -> Vec<String> {
        let names = match language {
            Language::Python => ["python3", "python"],
            Language::Node => ["node", "nodejs"],
        };
        let folders = self.folders();
        let programs = folders.flat_map(|folder| {
            names
                .into_iter()
                .filter_map(move |name| program(&folder, name))
        });
        let further = self.further.iter().cloned();
        let further = further.filter(|_| language == Language::Python);
        let mut found: Vec<String> = Vec::new();
        for stamp in programs
            .chain(further)
            .filter_map(|program| stamp(&program))
        {
            if !found.contains(&stamp) {
                found.push(stamp);
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
        let mounts = self.others().iter().flat_map(|other| &other.mounts);
        let shown = mounts.map(|mount| Path::new(&mount.target));
        let mut visible = SYSTEM.iter().map(Path::new).chain(shown);
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

/// The interpreters that a search path finds first, and further ones of Python, without those of the system.
fn others(search_path: &[PathBuf], further: &[PathBuf]) -> Vec<ProgramFolder> {
    let mut found: Vec<ProgramFolder> = Vec::new();
    for (name, library) in LIBRARIES {
        let program = search_path.iter().find_map(|folder| program(folder, name));
        let other = program.and_then(|program| interpreter(&program, library));
        found.extend(other.filter(|other| !found.contains(other)));
    }
    for program in further.iter().filter(|program| is_program(program)) {
        let other = interpreter(program, PYTHON);
        found.extend(other.filter(|other| !found.contains(other)));
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

/// The parts of an interpreter, unless it is the system's.
fn interpreter(file: &Path, library: &[&str]) -> Option<ProgramFolder> {
    let real = fs::canonicalize(file).ok()?;
    if SYSTEM.iter().any(|system| real.starts_with(system)) {
        return None;
    }
    let bin = real.parent()?;
    let prefix = bin.parent()?;
    let name = real.file_name()?.to_str()?;
    let mut parts: Vec<PathBuf> = Vec::new();
    if bin.ends_with("bin") {
        let whole = prefix.join(CONDA).is_dir().then_some("lib");
        for part in library.iter().copied().chain(whole) {
            parts.extend(matching(prefix, &part.replace("{}", name)));
        }
    }
    let mut links = Vec::new();
    for entry in fs::read_dir(bin).ok()?.take(MAX_NAMES).flatten() {
        let at = entry.path();
        let Ok(to) = fs::canonicalize(&at) else {
            continue;
        };
        let is_shown = to == real || parts.iter().any(|part| to.starts_with(part));
        if at != to && is_shown {
            links.push((at.to_str()?.to_owned(), to.to_str()?.to_owned()));
        }
    }
    links.sort_unstable();
    let mounts = std::iter::once(real.clone())
        .chain(parts)
        .filter_map(|path| {
            let target = path.to_str()?.to_owned();
            Some(Mount {
                sources: vec![path],
                target,
                mode: Mode::ReadOnly,
                keep: None,
            })
        });
    Some(ProgramFolder {
        mounts: mounts.collect(),
        programs: bin.to_str()?.to_owned(),
        links,
    })
}

/// The files and folders of a prefix at a path, whose last name may end with a `*`. What a link leads out of the
/// prefix isn't one.
fn matching(prefix: &Path, path: &str) -> Vec<PathBuf> {
    let found = match path.split_once('*') {
        None => vec![prefix.join(path)],
        Some((start, _)) => {
            let (folder, start) = start.rsplit_once('/').unwrap_or(("", start));
            let entries = fs::read_dir(prefix.join(folder)).into_iter().flatten();
            let entries = entries.take(MAX_NAMES).flatten();
            let entries =
                entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(start));
            entries.map(|entry| entry.path()).collect()
        }
    };
    let mut found: Vec<PathBuf> = found;
    found.retain(|path| {
        let real = fs::canonicalize(path);
        // Neither the prefix itself nor anything outside of it.
        let is_inside = |real: PathBuf| real != prefix && real.starts_with(prefix);
        // A link to a file is another name of a part.
        let is_alias = path.is_symlink() && path.is_file();
        !is_alias && real.is_ok_and(is_inside)
    });
    found.sort_unstable();
    found
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
