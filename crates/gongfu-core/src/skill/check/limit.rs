//! The limits of one skill that every host accepts (SEP-2640).

use crate::skill::diagnostic::Diagnostic;
use crate::skill::finding::Finding;
use crate::skill::folder::Folder;

/// The most files of a skill that every host accepts.
pub const MAX_FILES: usize = 512;
/// The most bytes of a skill that every host accepts.
pub const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Finds skills that some hosts will refuse.
pub fn check(folder: &Folder, diagnostics: &mut Vec<Diagnostic>) {
    if folder.files.len() > MAX_FILES {
        diagnostics.push(Diagnostic::about_folder(Finding::FilesTooMany {
            files: folder.files.len(),
            limit: MAX_FILES,
        }));
    }
    if folder.bytes() > MAX_BYTES {
        diagnostics.push(Diagnostic::about_folder(Finding::SkillTooLarge {
            bytes: folder.bytes(),
            limit: MAX_BYTES,
        }));
    }
}
