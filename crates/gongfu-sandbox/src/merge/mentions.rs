//! Finds files that are obeyed because a file that is obeyed names them: the script of a hook, an import of
//! instructions.
//!
//! A word of the file counts where it is a path below the folder. Paths that a program puts together aren't found.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags};

use super::git::{MAX_ABOVE, is_top};
use crate::folder::open_real;

/// The bytes of a file that are read.
const MAX_LENGTH: u64 = 256 * 1024;
/// The most paths that one folder's files name.
const MAX_NAMED: usize = 1000;
/// Files whose words are commands.
const COMMANDS: [&str; 16] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".mcp.json",
    ".cursor/mcp.json",
    ".cursor/hooks.json",
    ".vscode/mcp.json",
    ".vscode/settings.json",
    ".vscode/tasks.json",
    ".gemini/settings.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    "opencode.json",
    ".devcontainer/devcontainer.json",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".envrc",
];
/// Folders of hooks, whose words are commands as well.
const HOOKS: [&str; 3] = [".git/hooks", ".githooks", ".husky"];
/// The most files of a folder of hooks that are read.
const MAX_HOOKS: usize = 100;
/// The end of the names of hooks that git only shows.
const SAMPLE: &[u8] = b".sample";
/// Instructions, which import what stands behind an `@`.
const INSTRUCTIONS: [&str; 6] = [
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".claude/CLAUDE.md",
    "AGENTS.md",
    "GEMINI.md",
    "QWEN.md",
];
/// The names that programs have for the folder.
const FOLDER: [&str; 6] = [
    "$CLAUDE_PROJECT_DIR/",
    "${CLAUDE_PROJECT_DIR}/",
    "$GEMINI_PROJECT_DIR/",
    "${workspaceFolder}/",
    "$PWD/",
    "./",
];

/// The paths below the root that obeyed files of one folder name; `host` is its path on this machine.
pub(super) fn targets(folder: &OwnedFd, path: &Path, host: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let commands = COMMANDS.iter().map(PathBuf::from);
    for file in commands.chain(HOOKS.iter().flat_map(|hooks| files(folder, hooks))) {
        let words = words(folder, &file);
        found.extend(words.iter().filter_map(|word| named(folder, host, word)));
    }
    for file in INSTRUCTIONS {
        let words = words(folder, Path::new(file));
        let imports = words.iter().filter_map(|word| word.strip_prefix('@'));
        found.extend(imports.filter_map(|word| named(folder, host, word)));
    }
    let found = found.into_iter().take(MAX_NAMED);
    found.map(|below| path.join(below)).collect()
}

/// The paths below a root that obeyed files name in the folders above it, up to the top of its repository.
pub(super) fn above(root: &Path) -> BTreeSet<PathBuf> {
    let real = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let folders: Vec<&Path> = real.ancestors().skip(1).take(MAX_ABOVE).collect();
    let Some(top) = folders.iter().position(|folder| is_top(folder)) else {
        return BTreeSet::new();
    };
    let mut found = BTreeSet::new();
    for host in folders.into_iter().take(top + 1) {
        let Ok(folder) = open_real(host, OFlags::RDONLY | OFlags::DIRECTORY) else {
            continue;
        };
        let named = targets(&folder, host, host);
        let below = named
            .iter()
            .filter_map(|path| path.strip_prefix(&real).ok());
        found.extend(below.map(Path::to_owned));
    }
    found
}

/// The files in a folder of hooks.
fn files(folder: &OwnedFd, hooks: &str) -> Vec<PathBuf> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = fs::openat(folder, hooks, flags, Mode::empty());
    let Ok(entries) = opened.and_then(Dir::read_from) else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.file_name().to_owned());
    let hooks = Path::new(hooks);
    let wanted = names.filter(|name| {
        !name.to_bytes().ends_with(SAMPLE) && name.as_c_str() != c"." && name.as_c_str() != c".."
    });
    let paths = wanted.map(|name| hooks.join(OsStr::from_bytes(name.to_bytes())));
    paths.take(MAX_HOOKS).collect()
}

/// The words of a file below a folder, once each; none where it can't be read.
fn words(folder: &OwnedFd, file: &Path) -> BTreeSet<String> {
    let mut bytes = Vec::new();
    // Links are followed, as the program does that obeys the file; never waits for a pipe.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    if let Ok(file) = fs::openat(folder, file, flags, Mode::empty()) {
        // The part before an error counts.
        let _ = File::from(file).take(MAX_LENGTH).read_to_end(&mut bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    let ends = |one: char| one.is_whitespace() || "\"'`=:;,()|&<>[]\\".contains(one);
    let words = text.split(ends).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// The path of a file that a word is, without anything for the folder itself.
fn named(folder: &OwnedFd, host: &Path, word: &str) -> Option<PathBuf> {
    let mut word = word;
    while let Some(rest) = FOLDER.iter().find_map(|start| word.strip_prefix(start)) {
        word = rest;
    }
    let word = Path::new(word.trim_end_matches(['.', '/']));
    // A quoted variable is a word of its own, so what stands behind it begins with a slash.
    let below = word.strip_prefix(host).or_else(|_| word.strip_prefix("/"));
    let path = below.unwrap_or(word);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if path.as_os_str().is_empty() || !path.components().all(is_plain) {
        return None;
    }
    let is_path = match fs::statat(folder, path, AtFlags::empty()) {
        Ok(found) => FileType::from_raw_mode(found.st_mode) == FileType::RegularFile,
        // A run may make it.
        Err(_) => word.to_string_lossy().contains(['/', '.']),
    };
    is_path.then(|| path.to_owned())
}
