//! The local audit: JSON lines, one append each, rotated by size.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Mutex;

use cap_fs_ext::OpenOptionsSyncExt as _;
use cap_std::fs::OpenOptions;
use gongfu_core::account::Owner;
use gongfu_core::port::{AuditEntry, AuditLog, Pending, PortError};

use crate::disk;
use crate::home::Home;

const FOLDER: &str = "audit";
const FILE: &str = "audit.jsonl";
/// The size at which the file is rotated, in bytes.
const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// How many rotated files are kept.
const KEPT: usize = 4;

/// The audit of a local installation, below its home.
#[derive(Debug)]
pub struct LocalAudit {
    home: Home,
    path: PathBuf,
    file: Mutex<Option<cap_std::fs::File>>,
}

impl LocalAudit {
    /// An audit below a home; its folder is made with the first entry.
    pub fn new(home: Home) -> Self {
        Self {
            path: home.path().join(FOLDER).join(FILE),
            home,
            file: Mutex::new(None),
        }
    }

    fn append(&self, entry: &AuditEntry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry).map_err(io::Error::other)?;
        line.push(b'\n');
        let mut open = self
            .file
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        // What isn't the file at its path takes no more: an entry in it would be lost.
        let usable = match open.as_ref() {
            Some(file) => self.is_current(file)?,
            None => false,
        };
        if !usable {
            *open = None;
            *open = Some(self.open()?);
        }
        match open.as_mut() {
            // One write a line: lines of several processes don't mix.
            Some(file) => file.write_all(&line),
            None => Ok(()),
        }
    }

    /// Whether a handle is still the file at the audit's path, with room in it: a person may have
    /// removed or replaced it, and another process may have rotated it away.
    fn is_current(&self, file: &cap_std::fs::File) -> io::Result<bool> {
        let held = file.metadata()?;
        Ok(held.len() < MAX_BYTES && disk::is_at(&self.path, &held))
    }

    fn open(&self) -> io::Result<cap_std::fs::File> {
        let folder = self.home.folder(FOLDER)?;
        let dir = folder.dir();
        if dir
            .metadata(FILE)
            .is_ok_and(|metadata| metadata.len() >= MAX_BYTES)
        {
            let lock = dir.create("rotate.lock")?.into_std();
            lock.lock()?;
            // Somebody else may have rotated while this process waited.
            if dir
                .metadata(FILE)
                .is_ok_and(|metadata| metadata.len() >= MAX_BYTES)
            {
                for number in (1..KEPT).rev() {
                    let _ = dir.rename(
                        format!("audit.{number}.jsonl"),
                        dir,
                        format!("audit.{}.jsonl", number + 1),
                    );
                }
                dir.rename(FILE, dir, "audit.1.jsonl")?;
            }
        }
        let mut options = OpenOptions::new();
        // A pipe that stands there is not waited for.
        options.create(true).append(true).nonblock(true);
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt as _;
            // What was called, and with what, is for its owner alone.
            options.mode(0o600);
        }
        let file = dir.open_with(FILE, &options)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(file)
    }
}

impl AuditLog for LocalAudit {
    fn record<'a>(&'a self, _owner: &'a Owner, entry: &'a AuditEntry) -> Pending<'a, ()> {
        let outcome = self.append(entry).map_err(|error| {
            PortError::Unavailable(format!("the audit can't be written: {error}"))
        });
        Box::pin(std::future::ready(outcome))
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
mod tests {
    use gongfu_core::account::Role;
    use gongfu_core::capability::Access;
    use gongfu_core::port::{AuditEntry, Phase, Timestamp};

    use super::{LocalAudit, MAX_BYTES};
    use crate::home::Home;

    fn entry(call: u64) -> AuditEntry {
        AuditEntry {
            at: Timestamp(0),
            call,
            phase: Phase::End,
            tool: "t".to_owned(),
            access: Access::Read,
            role: Role::Developer,
            client: "test".to_owned(),
            outcome: "ok",
            refused_by: None,
            arguments: String::new(),
            milliseconds: Some(1),
            hosts: Vec::new(),
        }
    }

    #[test]
    fn entries_are_whole_lines_and_the_file_rotates() {
        let folder = tempfile::tempdir().unwrap();
        let audit = LocalAudit::new(Home::at(folder.path()));
        audit.append(&entry(1)).unwrap();
        let file = folder.path().join("audit/audit.jsonl");
        let line: serde_json::Value =
            serde_json::from_str(std::fs::read_to_string(&file).unwrap().trim()).unwrap();
        assert_eq!(
            (
                line["call"].as_u64(),
                line["outcome"].as_str(),
                line["at"].as_str()
            ),
            (Some(1), Some("ok"), Some("1970-01-01T00:00:00.000Z"))
        );
        std::fs::OpenOptions::new()
            .write(true)
            .open(&file)
            .unwrap()
            .set_len(MAX_BYTES)
            .unwrap();
        audit.append(&entry(2)).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
        assert!(folder.path().join("audit/audit.1.jsonl").exists());
    }

    #[test]
    #[cfg(unix)]
    fn only_its_owner_reads_it_unless_a_person_let_others() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let audit = || LocalAudit::new(Home::at(folder.path()));
        audit().append(&entry(1)).unwrap();
        let file = folder.path().join("audit/audit.jsonl");
        let mode = || std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        audit().append(&entry(2)).unwrap();
        assert_eq!(mode(), 0o640);
    }

    #[test]
    #[cfg(unix)]
    fn a_file_that_went_away_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let audit = LocalAudit::new(Home::at(folder.path()));
        let file = folder.path().join("audit/audit.jsonl");
        let calls = || -> Vec<u64> {
            let text = std::fs::read_to_string(&file).unwrap();
            text.lines()
                .map(|line| {
                    let line: serde_json::Value = serde_json::from_str(line).unwrap();
                    line["call"].as_u64().unwrap()
                })
                .collect()
        };
        audit.append(&entry(1)).unwrap();
        std::fs::remove_file(&file).unwrap();
        audit.append(&entry(2)).unwrap();
        assert_eq!(calls(), [2]);
        std::fs::remove_dir_all(folder.path().join("audit")).unwrap();
        audit.append(&entry(3)).unwrap();
        assert_eq!(calls(), [3]);
        // As another process rotates it.
        std::fs::rename(&file, folder.path().join("audit/audit.1.jsonl")).unwrap();
        audit.append(&entry(4)).unwrap();
        assert_eq!(calls(), [4]);
        std::fs::write(folder.path().join("audit/other"), "").unwrap();
        std::fs::rename(folder.path().join("audit/other"), &file).unwrap();
        audit.append(&entry(5)).unwrap();
        assert_eq!(calls(), [5]);
        // What can't be a file again takes no entry, and says so.
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        audit.append(&entry(6)).unwrap_err();
    }
}
