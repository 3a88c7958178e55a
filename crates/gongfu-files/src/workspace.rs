//! The files that an agent works on: a folder of its own, and the folders that the operator mounted.
//!
//! Every path is resolved below a handle that was opened when the folder was first needed; a link
//! that is swapped in later leads nowhere.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gongfu_core::place::Location;
use gongfu_core::port::{Change, FileContent, Files, FolderEntry, Pending, PortError, ready};
use gongfu_core::sandbox::{self, LOGS};
use gongfu_core::skill::SkillPath;

use crate::disk::{self, Root, real_outside};
use crate::mount::Mount;
use crate::port::{list_folder, read_file};
use crate::private::PrivatePaths;

/// The workspace of one owner.
#[derive(Debug)]
pub struct LocalWorkspace {
    folder: Mutex<Folder>,
    private: Option<PrivatePaths>,
    /// The longest guest path first, so that the innermost mount is found.
    mounts: Vec<(Mount, Arc<Root>)>,
}

/// The folder of a workspace.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    root: Option<Arc<Root>>,
    /// The folder with the long outputs of runs, if they are shown.
    logs: Option<PathBuf>,
}

/// A folder that a location leads into.
struct Target {
    /// `None` while the workspace doesn't exist.
    root: Option<Arc<Root>>,
    /// The path below it.
    path: SkillPath,
    /// The name of the folder, if nothing may be written there.
    read_only: Option<String>,
}

impl LocalWorkspace {
    /// The workspace in a folder, which is created when it is first written to, and the mounts.
    ///
    /// # Errors
    /// A mount is no folder, or two have one path.
    pub fn new(path: PathBuf, mounts: &[Mount]) -> io::Result<Self> {
        let mut open: Vec<(Mount, Arc<Root>)> = Vec::new();
        for mount in mounts {
            if open.iter().any(|(known, _)| known.guest == mount.guest) {
                let text = format!("/{} is mounted twice", mount.guest);
                return Err(io::Error::other(text));
            }
            let root = Root::open(&mount.host).map_err(|error| {
                let host = mount.host.display();
                let text = format!("{host} can't be mounted: {error}; use a folder that exists");
                io::Error::new(error.kind(), text)
            })?;
            let mount = Mount {
                host: root.path().to_owned(),
                ..mount.clone()
            };
            open.push((mount, Arc::new(root)));
        }
        open.sort_by_key(|(mount, _)| std::cmp::Reverse(mount.guest.as_str().len()));
        Ok(Self {
            folder: Mutex::new(Folder {
                path,
                root: None,
                logs: None,
            }),
            private: None,
            mounts: open,
        })
    }

    /// The same workspace with the long outputs of runs, which lie in this folder, as [`LOGS`].
    #[must_use]
    pub fn with_logs(self, logs: PathBuf) -> Self {
        self.lock().logs = Some(logs);
        self
    }

    /// Moves the workspace to another folder, with the long outputs of its runs: for a client that says only
    /// after the start where it works.
    ///
    /// # Errors
    /// The folder is private.
    pub fn move_to(&self, path: PathBuf, logs: PathBuf) -> io::Result<()> {
        self.check_own(&real_outside(&path))?;
        *self.lock() = Folder {
            path,
            root: None,
            logs: Some(logs),
        };
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Folder> {
        self.folder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same workspace in which these are hidden.
    ///
    /// # Errors
    /// The workspace itself or a mount is one of them.
    pub fn with_private(self, private: PrivatePaths) -> io::Result<Self> {
        let private = Some(private);
        let workspace = Self { private, ..self };
        workspace.check_own(&real_outside(&workspace.path()))?;
        for mount in workspace.mounts() {
            workspace.check_own(&mount.host)?;
        }
        Ok(workspace)
    }

    /// Refuses gongfu's own folder.
    fn check_own(&self, folder: &Path) -> io::Result<()> {
        let private = self.private.as_ref();
        if private.is_some_and(|private| private.refuses(folder)) {
            let text = format!(
                "{} is gongfu's own folder; choose another one",
                folder.display()
            );
            return Err(io::Error::other(text));
        }
        Ok(())
    }

    /// The guest paths that are hidden in mounts.
    pub(crate) fn hidden(&self, mounts: &[sandbox::Mount]) -> Vec<String> {
        let Some(private) = &self.private else {
            return Vec::new();
        };
        let mut hidden = Vec::new();
        for mount in mounts {
            let Some(source) = mount.sources.last() else {
                continue;
            };
            let below = private.below(source).into_iter();
            hidden.extend(below.filter_map(|path| {
                let below = path.strip_prefix(source).ok()?.to_str()?;
                Some(format!("{}/{below}", mount.target))
            }));
        }
        hidden
    }

    /// The folder on this machine that a place is in, and its path below.
    pub(crate) fn host(&self, place: &Location) -> Option<(PathBuf, PathBuf)> {
        let target = self.find(place, false).ok()?;
        let root = match &target.root {
            Some(root) => root.path().to_owned(),
            None => real_outside(&self.path()),
        };
        Some((root, PathBuf::from(target.path.as_str())))
    }

    /// Refuses what is hidden, also where a link leads to it.
    fn check_private(&self, target: &Target) -> Result<(), PortError> {
        let (Some(private), Some(root)) = (&self.private, &target.root) else {
            return Ok(());
        };
        let hidden = private.below(root.path());
        if hidden.is_empty() {
            return Ok(());
        }
        let path = root.path().join(target.path.as_str());
        let real = real_outside(&path);
        if hidden
            .iter()
            .any(|one| path.starts_with(one) || real.starts_with(one))
        {
            let why = "keys, passwords and gongfu's own files are hidden; a person can mount such a folder explicitly";
            return Err(PortError::Denied(why.to_owned()));
        }
        Ok(())
    }

    /// The mounts, the innermost first.
    pub(crate) fn mounts(&self) -> impl Iterator<Item = &Mount> {
        self.mounts.iter().map(|(mount, _)| mount)
    }

    /// The real path of the workspace, which is created where it is missing.
    ///
    /// # Errors
    /// It can't be created.
    pub(crate) fn create(&self) -> io::Result<PathBuf> {
        let root = self.open(true)?.ok_or(io::ErrorKind::NotFound)?;
        Ok(root.path().to_owned())
    }

    /// The path of the workspace.
    pub fn path(&self) -> PathBuf {
        self.lock().path.clone()
    }

    /// The handle of the workspace, opened once, and again when its folder was removed; `None` where
    /// it is missing, unless it is to be created.
    fn open(&self, create: bool) -> io::Result<Option<Arc<Root>>> {
        let mut folder = self.lock();
        if let Some(root) = folder.root.as_ref().filter(|root| root.is_linked()) {
            return Ok(Some(Arc::clone(root)));
        }
        let opened = if create {
            Root::create_private(&folder.path)
        } else {
            Root::open(&folder.path)
        };
        folder.root = match opened {
            Ok(root) => Some(Arc::new(root)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(folder.root.clone())
    }

    /// Finds the folder that a location leads into: the workspace, the outputs of runs, or a mount.
    fn target(&self, place: &Location, create: bool) -> Result<Target, PortError> {
        let target = self.find(place, create)?;
        self.check_private(&target)?;
        Ok(target)
    }

    fn find(&self, place: &Location, create: bool) -> Result<Target, PortError> {
        let path = match place {
            Location::Workspace(path) => {
                return Ok(Target {
                    root: self.open(create).map_err(disk::port_error)?,
                    path: path.clone(),
                    read_only: None,
                });
            }
            Location::Absolute(path) => path,
        };
        let logs = self.lock().logs.clone();
        if let Some(logs) = &logs
            && let Some(below) = below(path, LOGS.trim_start_matches('/'))?
        {
            return Ok(Target {
                // An output is never written: its folder needn't exist for that to be refused.
                root: match Root::open(logs) {
                    Err(error) if !create => return Err(disk::port_error(error)),
                    opened => opened.ok().map(Arc::new),
                },
                path: below,
                read_only: Some(LOGS.to_owned()),
            });
        }
        for (mount, root) in &self.mounts {
            if let Some(below) = below(path, mount.guest.as_str())? {
                return Ok(Target {
                    root: Some(Arc::clone(root)),
                    path: below,
                    read_only: mount.read_only.then(|| format!("/{}", mount.guest)),
                });
            }
        }
        let mut declared: Vec<String> = self
            .mounts()
            .map(|mount| format!("/{}", mount.guest))
            .collect();
        declared.sort_unstable();
        let declared = if declared.is_empty() {
            "none is declared".to_owned()
        } else {
            format!("there are {}", declared.join(", "))
        };
        let why = format!("it isn't in a mounted folder ({declared})");
        Err(PortError::Denied(why))
    }

    fn entries(&self, place: &Location) -> Result<Vec<FolderEntry>, PortError> {
        let target = self.target(place, false)?;
        match target.root {
            Some(root) => list_folder(&root, &target.path),
            None if target.path.is_root() => Ok(Vec::new()),
            None => Err(PortError::NotFound),
        }
    }

    fn content(&self, place: &Location, limit: u64) -> Result<FileContent, PortError> {
        let target = self.target(place, false)?;
        match target.root {
            Some(root) => read_file(&root, &target.path, limit),
            None if target.path.is_root() => Err(PortError::IsAFolder),
            None => Err(PortError::NotFound),
        }
    }

    fn put(&self, place: &Location, change: Change<'_>) -> Result<bool, PortError> {
        let target = self.target(place, true)?;
        if let Some(place) = target.read_only {
            return Err(PortError::ReadOnly {
                place,
                instead: None,
            });
        }
        let root = target.root.ok_or(PortError::NotFound)?;
        root.put(&target.path, change).map_err(disk::put_error)
    }
}

/// The path below a folder; `None` for a path that lies elsewhere.
fn below(path: &SkillPath, folder: &str) -> Result<Option<SkillPath>, PortError> {
    let below = match path.as_str().strip_prefix(folder) {
        Some("") => "",
        Some(below) => match below.strip_prefix('/') {
            Some(below) => below,
            None => return Ok(None),
        },
        None => return Ok(None),
    };
    let below = SkillPath::new(below).map_err(|error| PortError::Denied(error.to_string()))?;
    Ok(Some(below))
}

impl Files for LocalWorkspace {
    fn list<'a>(&'a self, place: &'a Location) -> Pending<'a, Vec<FolderEntry>> {
        ready(self.entries(place))
    }

    fn read<'a>(&'a self, place: &'a Location, limit: u64) -> Pending<'a, FileContent> {
        ready(self.content(place, limit))
    }

    fn write<'a>(&'a self, place: &'a Location, change: Change<'a>) -> Pending<'a, bool> {
        ready(self.put(place, change))
    }

    fn keep<'a>(&'a self, folder: &'a str, name: &'a str, bytes: &'a [u8]) -> Pending<'a, String> {
        let Some(logs) = self.lock().logs.clone() else {
            let why = "there is no folder for long answers".to_owned();
            return ready(Err(PortError::Denied(why)));
        };
        let kept = outputs(&logs).and_then(|outputs| outputs.put_folder(folder, &[(name, bytes)]));
        let kept = kept.map(|()| format!("{LOGS}/{folder}/{name}"));
        ready(kept.map_err(|error| disk::home_error(&error)))
    }
}

/// The number of runs and answers whose long outputs are kept in one workspace.
pub(crate) const MAX_OUTPUTS: usize = 50;

/// Opens the folder of long outputs, and removes the oldest above the limit; their names begin with the time.
pub(crate) fn outputs(logs: &Path) -> io::Result<Root> {
    let outputs = Root::create_private(logs)?;
    let entries = outputs.list(&SkillPath::root())?;
    let surplus = entries.len().saturating_sub(MAX_OUTPUTS);
    for entry in entries.into_iter().take(surplus) {
        // Another process may be removing it, too.
        let _ = outputs.dir().remove_dir_all(&entry.name);
    }
    Ok(outputs)
}

#[cfg(test)]
mod tests;
