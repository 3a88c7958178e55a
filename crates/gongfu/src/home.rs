//! Finding and creating gongfu's home, and what to do where that fails.

use std::io;
use std::path::{Path, PathBuf};

use gongfu_files::Home;
use gongfu_files::disk::{self, Root};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::plain;

/// gongfu's home: `GONGFU_HOME`, else `gongfu` in the platform's data folder.
///
/// # Errors
/// The environment names no folder or a relative one, since a project could bring a home of its own; or a home
/// folder that isn't there.
pub(crate) fn home(environment: &Environment) -> anyhow::Result<Home> {
    let path = environment
        .home
        .clone()
        .or_else(|| environment.data.as_ref().map(|data| data.join("gongfu")));
    let Some(path) = path else {
        let (message, hint) = (
            "there is no home folder",
            "set GONGFU_HOME to a writable folder",
        );
        return Err(Failure::new("HOME_UNUSABLE", message, hint).into());
    };
    if path.is_relative() {
        let path = plain(&path.to_string_lossy());
        let message = format!("gongfu's home {path} would be another folder in each project");
        let hint = "set GONGFU_HOME to an absolute path";
        return Err(Failure::new("HOME_UNUSABLE", message, hint).into());
    }
    // A home folder is somebody else's to create.
    let user = environment.user.as_deref();
    if let Some(user) =
        user.filter(|user| path.starts_with(user) && disk::kind_outside(user).is_none())
        && environment.home.is_none()
    {
        let user = plain(&user.to_string_lossy());
        let message = format!("your home folder {user} doesn't exist");
        let hint = "set HOME to your home folder, or GONGFU_HOME to a folder for gongfu's files";
        return Err(Failure::new("HOME_UNUSABLE", message, hint).into());
    }
    let home = Home::at(std::path::absolute(path)?);
    match home.blocked_by() {
        None => Ok(home),
        Some(file) => {
            let (path, file) = (home.path().to_string_lossy(), file.to_string_lossy());
            let (path, file) = (plain(&path), plain(&file));
            let message = format!("gongfu's home {path} can't be used: {file} is not a folder");
            let hint = "set GONGFU_HOME to a writable folder, or move that file away";
            Err(Failure::new("HOME_UNUSABLE", message, hint).into())
        }
    }
}

/// Creates the home with its folders; answers whether it is new.
///
/// # Errors
/// It can't be created.
pub(crate) fn create(home: &Home) -> Result<bool, Failure> {
    home.create().map_err(|error| unusable(home, &error))
}

/// Opens the home, which is created where it is missing.
///
/// # Errors
/// It can't be created.
pub(crate) fn open(home: &Home) -> Result<Root, Failure> {
    home.open().map_err(|error| unusable(home, &error))
}

/// The failure of a home that can't be written.
pub(crate) fn unusable(home: &Home, error: &io::Error) -> Failure {
    let path = plain(&home.path().to_string_lossy());
    let why = disk::write_reason(error);
    let message = format!("gongfu's home {path} can't be created: {why}");
    let hint = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or set GONGFU_HOME to a folder on another disk"
        }
        _ => "set GONGFU_HOME to a folder that you may write to",
    };
    Failure::new("HOME_UNUSABLE", message, hint)
}

/// A folder that a person named: `~/` is the person's home folder, also where no shell said so.
pub(crate) fn expanded(folder: &Path, user: Option<&Path>) -> PathBuf {
    match (folder.strip_prefix("~"), user) {
        (Ok(below), Some(user)) => user.join(below),
        _ => folder.to_owned(),
    }
}
