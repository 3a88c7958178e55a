//! Archives of skills: read within the limits of [`gongfu_core::archive`], and written.
//!
//! Takes and returns bytes. Each format has a module; the rules about entries are the core's.

mod tar;
pub mod zip;

use gongfu_core::archive::{Archive, ArchiveError, ArchiveLimits};

/// The longest path that a link may lead to, in bytes.
const MAX_TARGET: u64 = 4_096;

/// The content of an archive, whose format shows in its bytes: zip, tar, or tar with gzip. `None` for other bytes.
///
/// # Errors
/// The archive isn't taken.
pub fn read(bytes: &[u8], limits: ArchiveLimits) -> Result<Option<Archive>, ArchiveError> {
    if zip::is_zip(bytes) {
        return zip::content(bytes, limits).map(Some);
    }
    if tar::is_gzip(bytes) {
        return tar::unpack(bytes, limits).map(Some);
    }
    if tar::is_tar(bytes) {
        return tar::content(bytes, limits).map(Some);
    }
    Ok(None)
}
