//! The failures of backups: what is wrong with one, and what to do.

use std::io;
use std::path::Path;

use gongfu_files::disk;

use crate::failure::Failure;
use crate::terminal::plain;

/// A path for people.
pub(super) fn shown(path: &Path) -> String {
    plain(&path.to_string_lossy())
}

/// A folder can't take a backup.
pub(super) fn unusable_folder(path: &Path, error: &io::Error) -> Failure {
    let why = disk::write_reason(error);
    let message = format!(
        "{} can't be used for a backup: {}",
        shown(path),
        plain(&why)
    );
    let hint = "name a folder that doesn't exist yet, where you may create one";
    Failure::new("FOLDER_UNUSABLE", message, hint)
}

/// The system refuses to copy something.
pub(super) fn failed(why: &str) -> Failure {
    let message = format!("the copy failed: {}", plain(why));
    let hint =
        "check the space and the permissions there, and try again; a backup needs a new folder";
    Failure::new("COPY_FAILED", message, hint)
}

/// The system refuses to copy a file.
pub(super) fn uncopied(path: &Path, error: &io::Error) -> Failure {
    failed(&format!("{}: {}", shown(path), disk::write_reason(error)))
}

/// Content of the server is damaged.
pub(super) fn content(what: &str) -> Failure {
    let message = format!("{} can't be copied", plain(what));
    let hint = "restore the last backup that is whole, or remove the skill that it belongs to";
    Failure::new("CONTENT_DAMAGED", message, hint)
}

/// A backup isn't as it was written.
pub(super) fn damaged(what: &str) -> Failure {
    let message = format!("the backup is damaged: {}", plain(what));
    let hint =
        "copy it again from where it was written, or restore another one; nothing was restored";
    Failure::new("BACKUP_DAMAGED", message, hint)
}

/// A folder holds no backup.
pub(super) fn unusable(from: &Path, why: &str) -> Failure {
    let message = format!("{} is not a backup: {}", shown(from), plain(why));
    let hint = "name a folder that `gongfu backup` wrote";
    Failure::new("BACKUP_UNUSABLE", message, hint)
}

/// A backup is in another form.
pub(super) fn other_form(from: &Path, is_newer: bool) -> Failure {
    let (age, hint) = if is_newer {
        ("a newer gongfu", "update gongfu")
    } else {
        (
            "an older gongfu, which noted no digests of files",
            "restore it with that gongfu, and make a new backup with this one",
        )
    };
    let message = format!("{} was made by {age}", shown(from));
    Failure::new("BACKUP_FORMAT", message, hint)
}

/// A home has something already that a backup would replace.
pub(super) fn in_use(message: String) -> Failure {
    let hint = "set GONGFU_HOME to an empty folder";
    Failure::new("HOME_IN_USE", message, hint)
}
