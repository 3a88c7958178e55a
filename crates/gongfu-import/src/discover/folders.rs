//! The folders of a source, made of the paths of its files.

use std::collections::{BTreeMap, BTreeSet};

use super::{Content, SKILL_FILE, SKILL_FILE_LOWER, SKIPPED};

/// The folders of a source, and the documents of skills in them.
pub(super) struct Folders {
    /// The names of the folders in each.
    children: BTreeMap<String, BTreeSet<String>>,
    documents: BTreeMap<String, &'static str>,
}

impl Folders {
    pub(super) fn of(content: &Content) -> Self {
        let mut folders = Self {
            children: BTreeMap::from([(String::new(), BTreeSet::new())]),
            documents: BTreeMap::new(),
        };
        for path in content.files.keys() {
            let mut here = String::new();
            let parent = path.parent();
            for name in parent.as_str().split('/').filter(|name| !name.is_empty()) {
                let names = folders.children.entry(here.clone()).or_default();
                names.insert(name.to_owned());
                here = join(&here, name);
                folders.children.entry(here.clone()).or_default();
            }
            match path.file_name() {
                SKILL_FILE => {
                    folders.documents.insert(here, SKILL_FILE);
                }
                SKILL_FILE_LOWER => {
                    folders.documents.entry(here).or_insert(SKILL_FILE_LOWER);
                }
                _ => {}
            }
        }
        folders
    }

    /// Returns whether a folder is there.
    pub(super) fn has(&self, folder: &str) -> bool {
        self.children.contains_key(folder)
    }

    /// The name of the document in a folder.
    pub(super) fn document(&self, folder: &str) -> Option<&'static str> {
        self.documents.get(folder).copied()
    }

    /// The folders with a document.
    pub(super) fn skills(&self) -> impl Iterator<Item = &String> {
        self.documents.keys()
    }

    /// The folders with a document below one, down to a depth, each searched no further.
    pub(super) fn below(&self, folder: &str, depth: usize, found: &mut Vec<String>) {
        for name in self.children.get(folder).into_iter().flatten() {
            let child = join(folder, name);
            if self.documents.contains_key(&child) {
                found.push(child);
            } else if depth > 1 && !SKIPPED.contains(&name.as_str()) {
                self.below(&child, depth - 1, found);
            }
        }
    }

    /// All folders with a document, down to a depth, those inside of another one included.
    pub(super) fn all(&self, folder: &str, depth: usize, found: &mut Vec<String>) {
        if self.documents.contains_key(folder) {
            found.push(folder.to_owned());
        }
        if depth == 0 {
            return;
        }
        for name in self.children.get(folder).into_iter().flatten() {
            if !SKIPPED.contains(&name.as_str()) {
                self.all(&join(folder, name), depth - 1, found);
            }
        }
    }
}

/// The path of something in a folder.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}
