//! Temporary folders of runs on the disk, for sandboxes that can't mount anything.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Once;

use rustix::fs::{self, CWD, Mode, OFlags};

use crate::locked_folder::{LockedFolder, clear, remove_left_behind};
use crate::platform;

/// The start of their names.
const PREFIX: &str = "gongfu-run-";

/// A temporary folder. Dropping it removes it.
#[derive(Debug)]
pub struct RunDir {
    folder: LockedFolder,
    /// Its path.
    pub path: PathBuf,
}

impl RunDir {
    /// Makes one; where it `is_passage`, other users may pass through it, but not list it. The first one of a
    /// process removes those of dead servers.
    ///
    /// # Errors
    /// The folder for temporary files can't be written.
    pub fn new(is_passage: bool) -> io::Result<Self> {
        static SWEEP: Once = Once::new();
        let above = std::fs::canonicalize(std::env::temp_dir())?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let parent = fs::openat(CWD, &above, flags, Mode::empty())?;
        SWEEP.call_once(|| remove_left_behind(&parent, PREFIX));
        let folder = LockedFolder::new(parent, PREFIX)?;
        if is_passage {
            fs::fchmod(&folder.handle, Mode::from_raw_mode(0o711))?;
        }
        let path = above.join(OsStr::from_bytes(folder.name.to_bytes()));
        Ok(Self { folder, path })
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        if clear(&self.folder.handle).is_err() {
            platform::make_removable(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use rustix::fs::{self, CWD, Mode, OFlags};

    use super::{PREFIX, RunDir, remove_left_behind};

    #[test]
    fn removes_everything_but_the_targets_of_links() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("file"), "x").unwrap();
        let run_dir = RunDir::new(false).unwrap();
        let path = run_dir.path.clone();
        let closed = path.join("closed/folder");
        std::fs::create_dir_all(&closed).unwrap();
        std::fs::write(closed.join("file"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path(), path.join("link")).unwrap();
        for closed in [&*closed, &path.join("closed")] {
            std::fs::set_permissions(closed, std::fs::Permissions::from_mode(0o0)).unwrap();
        }
        // Deeper than the longest path.
        let open = |path: &std::path::Path| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            fs::openat(CWD, path, flags, Mode::empty()).unwrap()
        };
        let mut deep = open(&path);
        let name = "d".repeat(250);
        for _ in 0..20 {
            fs::mkdirat(&deep, &*name, Mode::from_raw_mode(0o700)).unwrap();
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            deep = fs::openat(&deep, &*name, flags, Mode::empty()).unwrap();
        }
        // It is locked.
        let temporary = open(&std::env::temp_dir());
        remove_left_behind(&temporary, PREFIX);
        assert!(path.exists());
        drop(run_dir);
        assert!(!path.exists());
        assert!(outside.path().join("file").exists());
    }
}
