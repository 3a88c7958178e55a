//! Errors of the disk, in words for people and as errors of the ports.

use std::io;
use std::path::Path;

use gongfu_core::port::PortError;

use super::writing::PutError;

/// Returns whether an error says that a path would lead out of its root.
pub fn is_escape(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// Returns whether an error says that links lead in a circle.
pub fn is_loop(error: &io::Error) -> bool {
    // Stable Rust has no error kind for it; the number is that of Linux, macOS and the BSDs.
    let number = if cfg!(target_os = "linux") { 40 } else { 62 };
    error.raw_os_error() == Some(number)
}

/// The reason of an error in words for people, without numbers or paths.
pub fn reason(error: &io::Error) -> String {
    if is_escape(error) {
        return "it leads outside its folder".to_owned();
    }
    if is_loop(error) {
        return "its links form a loop".to_owned();
    }
    match error.kind() {
        io::ErrorKind::NotFound => "it points to nothing".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotADirectory => "it is not a folder".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "the disk is full".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "it is on a read-only file system".to_owned(),
        io::ErrorKind::FileTooLarge => "the system allows no file of that size".to_owned(),
        _ => error.to_string(),
    }
}

/// The reason why something can't be created or written, in words for people.
pub fn write_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "nothing can be created there".to_owned(),
        _ => reason(error),
    }
}

/// An error of the disk as one of the port's.
pub fn port_error(error: io::Error) -> PortError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => PortError::NotFound,
        io::ErrorKind::PermissionDenied => PortError::Denied(reason(&error)),
        io::ErrorKind::Other => PortError::Denied(error.to_string()),
        io::ErrorKind::IsADirectory => PortError::IsAFolder,
        _ if is_loop(&error) => PortError::Denied(reason(&error)),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            PortError::Unavailable(reason(&error))
        }
        io::ErrorKind::ReadOnlyFilesystem => PortError::Denied(reason(&error)),
        _ => PortError::Other(Box::new(error)),
    }
}

/// An error of writing as one of the port's.
pub fn put_error(error: PutError) -> PortError {
    match error {
        PutError::Conflict(reason) => PortError::Conflict(reason),
        PutError::IsAFolder => PortError::IsAFolder,
        // A file stands where a folder above it should be.
        PutError::Io(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists
            ) =>
        {
            PortError::NotAFolder
        }
        PutError::ReadOnly => {
            let text = "the file is read-only; a person can make it writable";
            PortError::Unavailable(text.to_owned())
        }
        PutError::Io(error) => write_error(error),
    }
}

/// An error of a folder of the home, as one of the port's.
pub fn home_error(error: &io::Error) -> PortError {
    PortError::Unavailable(format!(
        "a folder of the home can't be created: {}",
        write_reason(error)
    ))
}

/// An error of writing with the path that it is about; one that names it already stays.
pub fn error_at(path: &Path, error: &io::Error) -> io::Error {
    let (path, why) = (path.display().to_string(), write_reason(error));
    if why.contains(&path) {
        return io::Error::new(error.kind(), why);
    }
    io::Error::new(error.kind(), format!("{path}: {why}"))
}

/// An error of the disk while something is written, as one of the port's: a folder that nobody may
/// write to is no fault of the path.
pub fn write_error(error: io::Error) -> PortError {
    match error.kind() {
        io::ErrorKind::PermissionDenied if !is_escape(&error) => {
            let text = "permission denied; a person can allow writing there";
            PortError::Unavailable(text.to_owned())
        }
        _ => port_error(error),
    }
}
