//! Reads the facts that decide which folder is a project.

use std::path::{Path, PathBuf};

use gongfu_core::project::{self, MARKERS, Machine, NoProject};

use crate::disk::{EntryKind, kind_outside, real_outside};
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
        is_marked: &|folder| {
            let mut markers = MARKERS.iter();
            markers.any(|marker| kind_outside(&folder.join(marker)).is_some())
        },
        is_private: &|folder| user.iter().chain(&homes).any(|home| is_store(home, folder)),
    };
    with(&machine)
}
