//! Reads the facts that decide which folder is a project.

use std::path::{Path, PathBuf};

use gongfu_core::project::{self, Machine, NoProject};

use crate::disk::{EntryKind, kind_outside, owner_outside, real_outside};
use crate::home::Home;
use crate::private::{homes_of_users, is_store};

/// The project that a folder belongs to, by its real path.
///
/// # Errors
/// Programs shouldn't work on the folder unasked.
pub fn project_of(start: &Path, user: Option<&Path>, home: &Home) -> Result<PathBuf, NoProject> {
    if kind_outside(start) != Some(EntryKind::Folder) {
        return Err(NoProject::Missing);
    }
    on_machine(user, home, |machine| {
        project::project(&real_outside(start), machine)
    })
}

/// Why a folder is no project; `None` for one that is, or is in one.
pub fn refusal_of(folder: &Path, user: Option<&Path>, home: &Home) -> Option<NoProject> {
    let folder = real_outside(folder);
    on_machine(user, home, |machine| {
        project::refusal(&folder, true, machine)
    })
}

fn on_machine<T>(user: Option<&Path>, home: &Home, with: impl FnOnce(&Machine<'_>) -> T) -> T {
    let user = user.map(real_outside);
    let homes: Vec<PathBuf> = homes_of_users()
        .iter()
        .map(|home| real_outside(home))
        .collect();
    let machine = Machine {
        user: user.as_deref(),
        homes: &homes,
        own: &real_outside(home.path()),
        runner: rustix::process::geteuid().as_raw(),
        owner: &owner_outside,
        is_private: &|folder| user.iter().chain(&homes).any(|home| is_store(home, folder)),
    };
    with(&machine)
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};

    use super::project_of;
    use crate::home::Home;

    #[test]
    fn marker_counts_by_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let shared = std::fs::canonicalize(folder.path()).unwrap().join("shared");
        let mine = shared.join("mine");
        std::fs::create_dir_all(&mine).unwrap();
        let home = Home::at(folder.path().join("home"));
        let project = || project_of(&mine, None, &home).unwrap();
        assert_eq!(project(), mine);
        let marker = shared.join(".git");
        for make in [
            (|marker| std::fs::create_dir(marker)) as fn(_) -> _,
            |marker| std::fs::write(marker, "gitdir: /x"),
            |marker| symlink("/usr", marker),
        ] {
            make(marker.as_path()).unwrap();
            assert_eq!(project(), shared);
            // Only the system's own user can give a file away.
            if rustix::process::geteuid().is_root() {
                lchown(&marker, Some(4_711), None).unwrap();
                assert_eq!(project(), mine);
            }
            let removed = std::fs::remove_file(&marker);
            removed.or_else(|_| std::fs::remove_dir(&marker)).unwrap();
        }
        // A link that leads nowhere marks nothing.
        symlink("nowhere", &marker).unwrap();
        assert_eq!(project(), mine);
    }
}
