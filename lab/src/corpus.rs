//! Real skills, and the files of a folder.

use std::io;
use std::path::{Path, PathBuf};

/// The folder of real skills, from the root of the repository.
pub(crate) const FOLDER: &str = "../shared/corpus";

/// The files below a folder, sorted. Links are files, and nothing behind them is listed.
pub(crate) fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let paths = if entry.file_type()?.is_dir() {
                &mut open
            } else {
                &mut files
            };
            paths.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}
