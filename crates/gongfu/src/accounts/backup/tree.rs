//! The workspaces in a backup: every file by its bytes, and links as links that nothing follows.
//!
//! ```json
//! {"path": "user-…", "mode": 448}
//! {"path": "user-…/notes.txt", "mode": 420, "digest": "sha256:…"}
//! {"path": "user-…/latest", "mode": 511, "link": "notes.txt"}
//! ```
//!
//! A name that isn't UTF-8 is an array of its bytes. The permissions are in the list alone: a backup may be kept where
//! there are none.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use gongfu_files::disk::{self, Root, TreeEntry, TreeKind};
use serde::{Deserialize, Serialize};

use super::failure::{damaged, shown, uncopied};
use super::{BackupList, FILES, LeftOut, WORKSPACES, copy};
use crate::failure::Failure;

/// The most names of what was left out.
const MAX_NAMED: usize = 100;

/// A path as text, where it is that.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Path> for Name {
    fn from(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(path.as_os_str().as_bytes().to_vec()),
        }
    }
}

impl From<Name> for PathBuf {
    fn from(name: Name) -> Self {
        match name {
            Name::Text(text) => Self::from(text),
            Name::Bytes(bytes) => Self::from(OsString::from_vec(bytes)),
        }
    }
}

/// A line of the list: a file has a digest, a link has a target, and a folder neither.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    path: Name,
    mode: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    link: Option<Name>,
}

/// The workspaces while they are saved.
pub(super) struct Trees<'a> {
    lines: BufWriter<File>,
    list: &'a mut BackupList,
}

impl<'a> Trees<'a> {
    /// None yet; the file takes the list of what is in them.
    pub(super) fn new(file: File, list: &'a mut BackupList) -> Self {
        let lines = BufWriter::new(file);
        Self { lines, list }
    }

    /// Copies everything below a folder into the backup, as the workspace of this name.
    pub(super) fn save(&mut self, from: &Root, to: &Root, name: &Path) -> Result<(), Failure> {
        let folder = to.path().join(WORKSPACES).join(name);
        let target = Root::create_private(&folder);
        let target = target.map_err(|error| uncopied(&folder, &error))?;
        self.note(name, 0o700, None, None)?;
        from.walk(|entry| self.save_entry(from, &target, name, entry))
    }

    fn save_entry(
        &mut self,
        from: &Root,
        to: &Root,
        name: &Path,
        entry: TreeEntry,
    ) -> Result<(), Failure> {
        let TreeEntry { path, kind, mode } = entry;
        let place = name.join(&path);
        match kind {
            TreeKind::Folder => {
                let created = to.create_folder_exact(&path, 0o700);
                if self.is_there(&place, created)?.is_some() {
                    self.note(&place, mode, None, None)?;
                }
            }
            TreeKind::Link(target) => {
                let created = to.create_link_exact(&path, &target);
                if self.is_there(&place, created)?.is_some() {
                    self.note(&place, mode, None, Some(&target))?;
                    self.list.links += 1;
                }
            }
            TreeKind::File => {
                let mut source = match from.open_exact(&path) {
                    Ok(source) => source,
                    // It was removed meanwhile.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                    Err(error) => {
                        self.leave_out(&place, disk::reason(&error));
                        return Ok(());
                    }
                };
                let created = to.create_exact(&path, 0o600);
                if let Some(mut target) = self.is_there(&place, created)? {
                    let digest = copy(&mut source, &mut target);
                    let digest = digest.map_err(|error| uncopied(&place, &error))?;
                    self.note(&place, mode, Some(digest.to_string()), None)?;
                    self.list.files += 1;
                }
            }
            TreeKind::Other(why) => self.leave_out(&place, why),
        }
        Ok(())
    }

    /// The created entry; `None` where the backup's file system can't have it, or not the folder above it.
    fn is_there<T>(&mut self, place: &Path, created: io::Result<T>) -> Result<Option<T>, Failure> {
        match created {
            Ok(created) => Ok(Some(created)),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidFilename
                        | io::ErrorKind::InvalidInput
                        | io::ErrorKind::NotFound
                        | io::ErrorKind::Unsupported
                ) =>
            {
                self.leave_out(place, "the backup's disk can't have its name".to_owned());
                Ok(None)
            }
            Err(error) => Err(uncopied(place, &error)),
        }
    }

    fn leave_out(&mut self, place: &Path, why: String) {
        self.list.left_out += 1;
        if self.list.left_out_paths.len() < MAX_NAMED {
            let path = Path::new(WORKSPACES).join(place);
            let path = path.to_string_lossy().into_owned();
            self.list.left_out_paths.push(LeftOut { path, why });
        }
    }

    fn note(
        &mut self,
        path: &Path,
        mode: u32,
        digest: Option<String>,
        link: Option<&Path>,
    ) -> Result<(), Failure> {
        let line = Line {
            path: path.into(),
            mode,
            digest,
            link: link.map(Name::from),
        };
        let text = serde_json::to_string(&line).map_err(io::Error::from);
        let written = text.and_then(|text| writeln!(self.lines, "{text}"));
        written.map_err(|error| uncopied(Path::new(FILES), &error))
    }

    /// Writes the list durably.
    pub(super) fn finish(self) -> io::Result<()> {
        let file = self
            .lines
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.sync_all()
    }
}

/// Copies the workspaces of a backup below a folder. Each must be as the list of the backup says.
pub(super) fn restore(backup: &Root, to: &Path) -> Result<(), Failure> {
    let mut listed = listed(backup)?;
    let from = match Root::open(&backup.path().join(WORKSPACES)) {
        Ok(from) => Some(from),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(uncopied(Path::new(WORKSPACES), &error)),
    };
    if let Some(from) = from {
        let to = Root::create_private(to).map_err(|error| uncopied(to, &error))?;
        from.walk(|entry| {
            let line = listed.remove(&entry.path);
            let line = line.ok_or_else(|| different(&entry.path, "was added"))?;
            restore_entry(&from, &to, entry, line)
        })?;
    }
    match listed.first_key_value() {
        Some((path, _)) => Err(different(path, "is missing")),
        None => Ok(()),
    }
}

fn restore_entry(from: &Root, to: &Root, entry: TreeEntry, line: Line) -> Result<(), Failure> {
    let path = entry.path;
    let created = match (entry.kind, line.digest, line.link.map(PathBuf::from)) {
        (TreeKind::Folder, None, None) => to.create_folder_exact(&path, line.mode),
        (TreeKind::Link(target), None, Some(link)) if target == link => {
            to.create_link_exact(&path, &target)
        }
        (TreeKind::File, Some(digest), None) => {
            let mut source = match from.open_exact(&path) {
                Ok(source) => source,
                Err(error) => return Err(different(&path, &disk::reason(&error))),
            };
            let copied = to
                .create_exact(&path, line.mode)
                .and_then(|mut target| copy(&mut source, &mut target));
            match copied {
                Ok(found) if found.to_string() != digest => {
                    return Err(different(&path, "was changed"));
                }
                copied => copied.map(drop),
            }
        }
        _ => return Err(different(&path, "was changed")),
    };
    created.map_err(|error| uncopied(&path, &error))
}

/// The list of what is in the workspaces of a backup.
fn listed(backup: &Root) -> Result<BTreeMap<PathBuf, Line>, Failure> {
    let unread = |error: io::Error| damaged(&format!("{FILES}: {}", disk::reason(&error)));
    let file = backup.open_exact(Path::new(FILES)).map_err(unread)?;
    let lines = BufReader::new(file).lines().map(|line| {
        let line: Line = serde_json::from_str(&line.map_err(unread)?)
            .map_err(|error| damaged(&format!("{FILES}: {error}")))?;
        Ok((line.path.clone().into(), line))
    });
    lines.collect()
}

fn different(path: &Path, what: &str) -> Failure {
    damaged(&format!(
        "{} {what}",
        shown(&Path::new(WORKSPACES).join(path))
    ))
}
