//! The files that an agent works on: a folder of its own, and what the operator mounted beside it.
//!
//! Every path is resolved below a handle that was opened when the folder was first needed; a link
//! that is swapped in later leads nowhere.

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::account::Owner;
use gongfu_core::place::Location;
use gongfu_core::port::{
    Change, FileContent, FolderEntry, FolderEntryKind, Pending, PortError, Workspace,
};
use gongfu_core::sandbox::LOGS;
use gongfu_core::skill::SkillPath;

use crate::disk::{self, EntryKind, Root};

/// A folder of this machine that tools may reach, as the operator declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The folder.
    pub host: PathBuf,
    /// The absolute path that it is reached by, without its first `/`.
    pub guest: SkillPath,
    /// Whether it is only read.
    pub read_only: bool,
}

/// Why a text declares no mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountError(String);

impl std::fmt::Display for MountError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{}; write HOST, HOST:GUEST, HOST:ro or HOST:GUEST:ro, e.g. /srv/data:/data:ro",
            self.0
        )
    }
}

impl std::error::Error for MountError {}

impl FromStr for Mount {
    type Err = MountError;

    fn from_str(text: &str) -> Result<Self, MountError> {
        let mut parts: Vec<&str> = text.split(':').collect();
        let read_only = parts.len() > 1 && parts.last() == Some(&"ro");
        if read_only {
            parts.pop();
        }
        let (host, guest) = match parts.as_slice() {
            [host] => (*host, None),
            [host, guest] => (*host, Some(*guest)),
            _ => return Err(MountError(format!("`{text}` has too many colons"))),
        };
        if host.is_empty() {
            return Err(MountError(format!("`{text}` names no folder")));
        }
        let host = std::path::absolute(host)
            .map_err(|error| MountError(format!("`{host}` can't be a path: {error}")))?;
        let shown = host.to_string_lossy().into_owned();
        let guest = guest.unwrap_or(&shown);
        if !guest.starts_with('/') {
            return Err(MountError(format!("`{guest}` is no absolute path")));
        }
        match Location::parse(guest) {
            Ok(Location::Absolute(guest)) if is_taken(&guest) => Err(MountError(format!(
                "/{guest} is something else inside of commands"
            ))),
            Ok(Location::Absolute(guest)) if !guest.is_root() => Ok(Self {
                host,
                guest,
                read_only,
            }),
            Ok(Location::Absolute(_)) => {
                Err(MountError("everything (`/`) can't be mounted".to_owned()))
            }
            Ok(Location::Workspace(_)) => Err(MountError(
                "/workspace is where the workspace itself is".to_owned(),
            )),
            Err(error) => Err(MountError(format!("`{guest}` can't be used: {error}"))),
        }
    }
}

/// What commands have of their own: neither these nor what is below them.
const RESERVED: [&str; 5] = ["dev", "proc", "runs", "skill", "sys"];
/// What commands see of the system: folders below these may be mounted, they themselves not.
const SYSTEM: [&str; 11] = [
    "bin",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "run",
    "sbin",
    "tmp",
    "usr",
    "workspace",
];

fn is_taken(guest: &SkillPath) -> bool {
    let guest = guest.as_str();
    let first = guest.split('/').next().unwrap_or_default();
    RESERVED.contains(&first) || SYSTEM.contains(&guest)
}

/// The workspace of a local installation.
#[derive(Debug)]
pub struct LocalWorkspace {
    path: PathBuf,
    root: Mutex<Option<Arc<Root>>>,
    /// Where the long outputs of its runs are kept, if they are shown.
    logs: Option<PathBuf>,
    /// The longest guest path first: the innermost mount is meant.
    mounts: Vec<(Mount, Root)>,
}

impl LocalWorkspace {
    /// The workspace in a folder, which is made when it is first written to, and the mounts.
    ///
    /// # Errors
    /// A mount is no folder, or two have one path.
    pub fn new(path: PathBuf, mounts: &[Mount]) -> io::Result<Self> {
        let mut open: Vec<(Mount, Root)> = Vec::new();
        for mount in mounts {
            if open.iter().any(|(known, _)| known.guest == mount.guest) {
                let text = format!("/{} is mounted twice", mount.guest);
                return Err(io::Error::other(text));
            }
            let root = Root::open(&mount.host).map_err(|error| {
                let host = mount.host.display();
                let text = format!("{host} can't be mounted: {error}; give a folder that exists");
                io::Error::new(error.kind(), text)
            })?;
            open.push((mount.clone(), root));
        }
        open.sort_by_key(|(mount, _)| std::cmp::Reverse(mount.guest.as_str().len()));
        Ok(Self {
            path,
            root: Mutex::default(),
            logs: None,
            mounts: open,
        })
    }

    /// The same workspace with the long outputs of runs, which lie in this folder, as [`LOGS`].
    #[must_use]
    pub fn with_logs(self, logs: PathBuf) -> Self {
        let logs = Some(logs);
        Self { logs, ..self }
    }

    /// What the operator mounted beside it.
    pub fn mounts(&self) -> impl Iterator<Item = &Mount> {
        self.mounts.iter().map(|(mount, _)| mount)
    }

    /// Where the workspace really is, made where it is missing.
    ///
    /// # Errors
    /// It can't be made.
    pub fn made(&self) -> io::Result<PathBuf> {
        let root = self.workspace(true)?.ok_or(io::ErrorKind::NotFound)?;
        Ok(root.path().to_owned())
    }

    /// Where the workspace is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The workspace as a handle, opened once, and again when its folder was removed; `None` while
    /// there is none, unless it shall be made.
    fn workspace(&self, make: bool) -> io::Result<Option<Arc<Root>>> {
        let mut open = self.root.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(root) = open.as_ref().filter(|root| root.is_linked()) {
            return Ok(Some(Arc::clone(root)));
        }
        let opened = if make {
            Root::create(&self.path)
        } else {
            Root::open(&self.path)
        };
        *open = match opened {
            Ok(root) => Some(Arc::new(root)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(open.clone())
    }

    /// Where an absolute path leads: the mount, and the path below it.
    fn mount(&self, path: &SkillPath) -> Result<(&Mount, &Root, SkillPath), PortError> {
        let found = self
            .mounts
            .iter()
            .find(|(mount, _)| path.is_within(&mount.guest));
        let Some((mount, root)) = found else {
            let mut declared: Vec<String> = self
                .mounts
                .iter()
                .map(|(mount, _)| format!("/{}", mount.guest))
                .collect();
            declared.sort_unstable();
            let declared = if declared.is_empty() {
                "none is declared".to_owned()
            } else {
                format!("there are {}", declared.join(", "))
            };
            let reason = format!("it lies below no mount ({declared})");
            return Err(PortError::Denied(reason));
        };
        let below = path
            .as_str()
            .strip_prefix(mount.guest.as_str())
            .unwrap_or_default();
        let below = SkillPath::new(below.trim_start_matches('/'))
            .map_err(|error| PortError::Denied(error.to_string()))?;
        Ok((mount, root, below))
    }

    /// The long outputs of runs and the path in them, where the path leads there.
    fn log(&self, path: &SkillPath) -> Option<Result<(Root, SkillPath), PortError>> {
        let below = path.as_str().strip_prefix(LOGS.trim_start_matches('/'))?;
        if !below.is_empty() && !below.starts_with('/') {
            return None;
        }
        let logs = self.logs.as_deref()?;
        let below = SkillPath::new(below.trim_start_matches('/'));
        let below = below.map_err(|error| PortError::Denied(error.to_string()));
        Some(below.and_then(|below| Ok((Root::open(logs).map_err(disk::port_error)?, below))))
    }

    fn entries(&self, place: &Location) -> Result<Vec<FolderEntry>, PortError> {
        match place {
            Location::Workspace(path) => match self.workspace(false).map_err(disk::port_error)? {
                Some(root) => listed(&root, path),
                None if path.is_root() => Ok(Vec::new()),
                None => Err(PortError::NotFound),
            },
            Location::Absolute(path) => {
                if let Some(log) = self.log(path) {
                    return log.and_then(|(root, below)| listed(&root, &below));
                }
                let (_, root, below) = self.mount(path)?;
                listed(root, &below)
            }
        }
    }

    fn content(&self, place: &Location, limit: u64) -> Result<FileContent, PortError> {
        match place {
            Location::Workspace(path) => match self.workspace(false).map_err(disk::port_error)? {
                Some(root) => content(&root, path, limit),
                None if path.is_root() => Err(PortError::IsAFolder),
                None => Err(PortError::NotFound),
            },
            Location::Absolute(path) => {
                if let Some(log) = self.log(path) {
                    return log.and_then(|(root, below)| content(&root, &below, limit));
                }
                let (_, root, below) = self.mount(path)?;
                content(root, &below, limit)
            }
        }
    }

    fn put(&self, place: &Location, change: Change<'_>) -> Result<bool, PortError> {
        match place {
            Location::Workspace(path) => {
                let root = self.workspace(true).map_err(disk::port_error)?;
                let root = root.ok_or(PortError::NotFound)?;
                root.put(path, change).map_err(disk::put_error)
            }
            Location::Absolute(path) => {
                if self.log(path).is_some() {
                    return Err(PortError::ReadOnly {
                        place: LOGS.to_owned(),
                        instead: None,
                    });
                }
                let (mount, root, below) = self.mount(path)?;
                if mount.read_only {
                    return Err(PortError::ReadOnly {
                        place: format!("/{}", mount.guest),
                        instead: None,
                    });
                }
                root.put(&below, change).map_err(disk::put_error)
            }
        }
    }
}

pub(crate) fn content(root: &Root, path: &SkillPath, limit: u64) -> Result<FileContent, PortError> {
    if path.is_root() {
        return Err(PortError::IsAFolder);
    }
    root.read(path, limit).map_err(|error| {
        let is_folder = matches!(root.stat(path), Ok((EntryKind::Folder, _)));
        if is_folder {
            PortError::IsAFolder
        } else {
            disk::port_error(error)
        }
    })
}

pub(crate) fn listed(root: &Root, path: &SkillPath) -> Result<Vec<FolderEntry>, PortError> {
    let entries = root.list(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotADirectory => match root.stat(path) {
            Ok(_) => PortError::NotAFolder,
            Err(_) => PortError::NotFound,
        },
        _ => disk::port_error(error),
    })?;
    let entries = entries.into_iter().map(|entry| {
        let kind = match entry.kind {
            EntryKind::Link => led(root, path, &entry.name),
            EntryKind::File => FolderEntryKind::File(entry.stamp.size),
            EntryKind::Folder => FolderEntryKind::Folder,
            other => FolderEntryKind::Other(disk::described(other).to_owned()),
        };
        FolderEntry {
            name: entry.name,
            kind,
        }
    });
    Ok(entries.collect())
}

/// What a link leads to, as long as that is inside.
fn led(root: &Root, folder: &SkillPath, name: &str) -> FolderEntryKind {
    let there = folder
        .join(name)
        .map_err(io::Error::other)
        .and_then(|link| root.stat(&link));
    match there {
        Ok((EntryKind::File, stamp)) => FolderEntryKind::File(stamp.size),
        Ok((EntryKind::Folder, _)) => FolderEntryKind::Folder,
        Ok((other, _)) => FolderEntryKind::Other(disk::described(other).to_owned()),
        Err(error) => FolderEntryKind::Other(format!("a link: {}", disk::reason(&error))),
    }
}

impl Workspace for LocalWorkspace {
    fn list<'a>(&'a self, _owner: &'a Owner, place: &'a Location) -> Pending<'a, Vec<FolderEntry>> {
        Box::pin(std::future::ready(self.entries(place)))
    }

    fn read<'a>(
        &'a self,
        _owner: &'a Owner,
        place: &'a Location,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        Box::pin(std::future::ready(self.content(place, limit)))
    }

    fn write<'a>(
        &'a self,
        _owner: &'a Owner,
        place: &'a Location,
        change: Change<'a>,
    ) -> Pending<'a, bool> {
        Box::pin(std::future::ready(self.put(place, change)))
    }
}

#[cfg(test)]
mod tests;
