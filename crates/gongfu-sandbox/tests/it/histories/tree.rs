//! Files of a workspace and of change sets, and what holds for all of them.

use std::collections::BTreeMap;
use std::path::Path;

/// Files by their paths below the workspace.
pub(super) type Tree = BTreeMap<String, String>;

/// Returns whether a program obeys a file.
pub(super) fn is_obeyed(path: &str) -> bool {
    let names = ["CLAUDE.md", "AGENTS.md", ".envrc", ".git"];
    path.split('/').any(|name| names.contains(&name))
}

/// Reads all files below a folder.
pub(super) fn tree_of(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                tree.insert(name, std::fs::read_to_string(path).unwrap_or_default());
            }
        }
    }
    tree
}

/// Checks that no half of a move is applied while the other one waits. Nobody else changed what is moved.
pub(super) fn check_moves(
    begun: &Tree,
    now: &Tree,
    after: &Tree,
    waiting: &Tree,
) -> Result<(), String> {
    for (path, text) in now {
        let is_gone = after.get(path) != Some(text) && begun.get(path) == Some(text);
        let has = |tree: &Tree| tree.values().any(|other| other == text);
        if is_gone && has(waiting) && !has(after) {
            return Err(format!("{path} is gone, and waits somewhere else"));
        }
        let is_same = |tree: &Tree| tree.get(path) == Some(text);
        // An earlier conflict may have left it at two paths.
        let is_only = now.values().filter(|other| *other == text).count() == 1;
        let mut new = after.iter().filter(|(path, _)| !now.contains_key(*path));
        if let Some((new, _)) = new.find(|(_, other)| *other == text)
            && is_only
            && is_same(begun)
            && is_same(after)
        {
            return Err(format!("{path} waits, and is at {new} as well"));
        }
    }
    Ok(())
}
