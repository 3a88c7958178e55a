//! Tells whether a folder that is changed is itself obeyed, or lies in one that is.

use std::path::Path;

use super::table;

/// The folders that one belongs to: itself, and those above it up to the top of its project. A worktree is a project
/// of its own, wherever it lies.
pub fn own_folders(
    folder: &Path,
    is_project: impl Fn(&Path) -> bool,
) -> impl Iterator<Item = &Path> {
    let mut is_over = false;
    folder.ancestors().take_while(move |one| {
        let is_in = !is_over;
        is_over = is_over || is_project(one);
        is_in
    })
}

/// Returns why every change in a folder needs a person, where its real path completes a line of the table.
pub fn obeyed_folder(folder: &Path, is_project: impl Fn(&Path) -> bool) -> Option<&'static str> {
    own_folders(folder, is_project).find_map(|one| {
        let name = one.file_name()?.to_string_lossy();
        let above: Vec<_> = one
            .parent()?
            .iter()
            .map(|name| name.to_string_lossy())
            .collect();
        table::obeyed(above.iter().map(AsRef::as_ref), &name)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::obeyed_folder;

    #[test]
    fn folder_in_an_obeyed_one_is_obeyed() {
        let is_obeyed = |path: &str| {
            let is_project = |one: &Path| one.ends_with("project");
            obeyed_folder(Path::new(path), is_project).is_some()
        };
        for path in [
            "/p/.git/hooks",
            "/p/.claude",
            "/p/.github/workflows",
            "/p/.config/git",
            "/p/.claude/a/b/c",
            "/p/project/.vscode",
        ] {
            assert!(is_obeyed(path), "{path}");
        }
        for path in [
            "/",
            "/p/src",
            "/p/.config/other",
            "/p/.claude/worktrees/project",
            "/p/.claude/worktrees/project/src",
        ] {
            assert!(!is_obeyed(path), "{path}");
        }
    }
}
