//! Looks for what programs obey in a folder that a change takes away.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use gongfu_core::change::table;
use rustix::fs::{Dir, FileType};

use super::{Parts, REPOSITORY};
use crate::folder::open_folder_of_mount;
use crate::merge::MAX_DEPTH;

/// The most entries that are looked at for the changes of one merged folder.
const MAX_ENTRIES: usize = 200_000;
/// The folder of installed packages.
const PACKAGES: &str = "node_modules";
/// The folder of a repository.
const REPOSITORY_FOLDER: &str = ".git";
/// The reason where nobody can say what else is in a folder.
const TOO_MUCH: &str = "it has more files than gongfu checks";

/// A search through folders that go.
pub(super) struct Search {
    /// The entries that may still be looked at.
    left: usize,
}

impl Default for Search {
    fn default() -> Self {
        Self { left: MAX_ENTRIES }
    }
}

impl Search {
    /// Says why a folder can't go without a person; `names` are those on the way to it, and its own.
    pub(super) fn reason(&mut self, folder: &OwnedFd, names: &mut Vec<String>) -> Option<String> {
        let depth = names.len();
        self.folder(folder, names, depth)
    }

    fn folder(&mut self, folder: &OwnedFd, names: &mut Vec<String>, top: usize) -> Option<String> {
        let depth = names.len() - top;
        if depth > MAX_DEPTH {
            return Some(TOO_MUCH.to_owned());
        }
        if Parts::of(&[], Some(folder)).is_repository {
            return Some(told(names, top, REPOSITORY));
        }
        // Packages bring settings that nobody obeys there, and come back by one command.
        let is_installed = names.iter().any(|name| name == PACKAGES);
        let mut folders: Vec<CString> = Vec::new();
        for entry in Dir::read_from(folder).ok()?.flatten() {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let Some(left) = self.left.checked_sub(1) else {
                return Some(TOO_MUCH.to_owned());
            };
            self.left = left;
            let text = name.to_string_lossy();
            let obeyed = table::obeyed(names.iter().map(String::as_str), &text);
            let counts = |_: &&str| !is_installed || table::plain(&text) == REPOSITORY_FOLDER;
            if let Some(why) = obeyed.filter(counts) {
                names.push(text.into_owned());
                let told = told(names, top, why);
                names.pop();
                return Some(told);
            }
            if matches!(entry.file_type(), FileType::Directory | FileType::Unknown) {
                folders.push(name.to_owned());
            }
        }
        folders.sort_unstable();
        folders.iter().find_map(|name| {
            let inside = open_folder_of_mount(folder, name).ok()?;
            names.push(name.to_string_lossy().into_owned());
            let why = self.folder(&inside, names, top);
            names.pop();
            why
        })
    }
}

/// The reason for people, with the path below the folder that goes.
fn told(names: &[String], top: usize, why: &str) -> String {
    match names.get(top..) {
        None | Some([]) => why.to_owned(),
        Some(path) => format!(
            "{} would be removed with it: {why}",
            path.join("/").escape_debug()
        ),
    }
}
