//! Archives of skills: read within the limits of [`gongfu_core::archive`], and written.
//!
//! Takes and returns bytes. Each format has a module; the rules about entries are the core's.

mod tar;
pub mod zip;

use gongfu_core::archive::{ArchiveError, ArchiveFile, ArchiveLimits};

/// The files of an archive, whose format shows in its bytes: zip, tar, or tar with gzip. `None` for other bytes.
///
/// # Errors
/// The archive isn't taken.
pub fn read(bytes: &[u8], limits: ArchiveLimits) -> Result<Option<Vec<ArchiveFile>>, ArchiveError> {
    if zip::is_zip(bytes) {
        return zip::files(bytes, limits).map(Some);
    }
    if tar::is_gzip(bytes) {
        let unpacked = tar::unpack(bytes, limits)?;
        return tar::files(&unpacked, limits).map(Some);
    }
    if tar::is_tar(bytes) {
        return tar::files(bytes, limits).map(Some);
    }
    Ok(None)
}
