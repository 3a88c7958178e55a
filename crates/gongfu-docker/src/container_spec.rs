//! The specification of a container: runs with the same one can follow each other in a container.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use gongfu_core::account;
use gongfu_core::sandbox::{Mode, Mount, Spec};
use gongfu_sandbox::backend::{
    Exposure, Failure, MAX_COPIED_BYTES, MAX_COPIED_FILES, MountedBy, Piece, RunContext, SCRATCH,
    Source, UnixId, View, exposure, missing, place,
};

use super::Settings;

/// Space that a file system takes for itself, in bytes.
const OVERHEAD: u64 = 1024 * 1024;
/// Files that a file system has of its own.
const OVERHEAD_FILES: u64 = 16;

/// A folder or file of the host that is mounted as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bind {
    /// The path in the container.
    pub(super) at: String,
    /// The number of its source.
    pub(super) source: usize,
    pub(super) writable: bool,
}

/// A folder or file on the disk that is filled for each run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Copy {
    pub(super) at: String,
    pub(super) is_file: bool,
    pub(super) writable: bool,
}

/// The destination of a mount that is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Destination {
    /// The layer of this number, in memory.
    Layer(usize),
    /// The copy of this number, on the disk.
    Copy(usize),
}

/// The specification of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContainerSpec {
    /// The owner of its runs.
    pub(super) owner: account::Owner,
    /// The user of its runs; `None` for gongfu's own.
    pub(super) tenant: Option<UnixId>,
    pub(super) memory: u64,
    pub(super) processes: u32,
    /// The size of each file system in memory, in bytes and in files.
    pub(super) size: u64,
    pub(super) files: u64,
    /// The programs are the host's; else they are an image's.
    pub(super) has_host_programs: bool,
    pub(super) sources: Vec<Source>,
    pub(super) binds: Vec<Bind>,
    /// Folders in memory that are filled for each run.
    pub(super) layers: Vec<String>,
    /// Empty folders in memory.
    pub(super) scratch: Vec<String>,
    pub(super) copies: Vec<Copy>,
    /// The destinations of the mounts that are copied, in their order.
    destinations: Vec<Destination>,
}

impl ContainerSpec {
    /// The specification that a run needs.
    pub(super) fn of(
        spec: &Spec,
        context: &RunContext<'_>,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let tenant = context.tenant;
        let has_host_programs = settings.image.is_none();
        let mut view = if has_host_programs {
            View::of_the_system()?
        } else {
            View::default()
        };
        view.pieces
            .retain(|piece| matches!(piece, Piece::Bind { device: false, .. }));
        let mut binds = Vec::new();
        for piece in &view.pieces {
            if let Piece::Bind { at, source, .. } = piece {
                binds.push(Bind {
                    at: at.clone(),
                    source: *source,
                    writable: false,
                });
            }
        }
        let limits = &spec.limits;
        let mut container = Self {
            owner: context.owner.clone(),
            tenant,
            memory: limits.memory,
            processes: limits.processes,
            size: limits
                .disk
                .saturating_add(MAX_COPIED_BYTES)
                .saturating_add(OVERHEAD),
            files: limits
                .files
                .saturating_add(MAX_COPIED_FILES)
                .saturating_add(OVERHEAD_FILES),
            has_host_programs,
            sources: Vec::new(),
            binds,
            layers: Vec::new(),
            scratch: SCRATCH.map(str::to_owned).into(),
            copies: Vec::new(),
            destinations: Vec::new(),
        };
        for mount in &spec.mounts {
            container.add_mount(spec, mount, &mut view)?;
        }
        // A container has no links of its own: another name is the file once more.
        for (at, to) in &spec.links {
            let bound = view.add_bind(Path::new(to), at, false, false);
            bound.map_err(|error| {
                Failure::Refused(format!("`{to}` can't be shown in the container: {error}"))
            })?;
            container.binds.push(Bind {
                at: at.clone(),
                source: view.sources.len() - 1,
                writable: false,
            });
        }
        container.sources = view.sources;
        container.drop_devices();
        Ok(container)
    }

    fn add_mount(&mut self, spec: &Spec, mount: &Mount, view: &mut View) -> Result<(), Failure> {
        // The link of the skill is in our own image alone.
        let at = if self.has_host_programs {
            place(&mount.target).into_owned()
        } else {
            mount.target.clone()
        };
        if !is_mount_point(&at) {
            let why = format!("`{at}` can't be created as a folder in the sandbox");
            return Err(Failure::Refused(why));
        }
        let writable = mount.mode != Mode::ReadOnly;
        let is_file = mount.sources.first().is_some_and(|source| source.is_file());
        match (
            exposure(mount, &spec.hidden, self.tenant, MountedBy::Root),
            mount.sources.first(),
        ) {
            (Exposure::Empty, _) => self.scratch.push(at),
            (Exposure::Layer, _) if !is_file => {
                let layer = Destination::Layer(self.layers.len());
                self.destinations.push(layer);
                self.layers.push(at);
            }
            (Exposure::Layer | Exposure::Copy, _) => {
                self.destinations.push(Destination::Copy(self.copies.len()));
                self.copies.push(Copy {
                    at,
                    is_file,
                    writable,
                });
            }
            (Exposure::Bind, Some(source)) => {
                let bound = view.add_bind(source, &at, writable, false);
                bound.map_err(|error| missing(mount, &error))?;
                self.binds.push(Bind {
                    at,
                    source: view.sources.len().saturating_sub(1),
                    writable,
                });
            }
            (Exposure::Bind, None) => {}
        }
        Ok(())
    }

    /// Drops the sources that are devices: a container has its own.
    fn drop_devices(&mut self) {
        let used: BTreeSet<usize> = self.binds.iter().map(|bind| bind.source).collect();
        let mut kept = Vec::new();
        let all = std::mem::take(&mut self.sources).into_iter().enumerate();
        let mut numbers = std::collections::BTreeMap::new();
        for (number, source) in all.filter(|(number, _)| used.contains(number)) {
            numbers.insert(number, kept.len());
            kept.push(source);
        }
        for bind in &mut self.binds {
            if let Some(number) = numbers.get(&bind.source) {
                bind.source = *number;
            }
        }
        self.sources = kept;
    }

    /// Handles of the mounts that are copied, in their order.
    ///
    /// # Errors
    /// One is missing, or there can be no more handles.
    pub(super) fn destinations(
        &self,
        layers: &[OwnedFd],
        copies: &[OwnedFd],
    ) -> io::Result<Vec<OwnedFd>> {
        let handles = self.destinations.iter().map(|destination| {
            let handle = match destination {
                Destination::Layer(number) => layers.get(*number),
                Destination::Copy(number) => copies.get(*number),
            };
            let missing = || io::Error::other("there is no folder for a copy");
            handle.ok_or_else(missing)?.try_clone()
        });
        handles.collect()
    }

    /// The view that init checks before each run: the bind mounts and the layers.
    pub(super) fn view(&self) -> Vec<Piece> {
        let binds = self.binds.iter().map(|bind| Piece::Bind {
            at: bind.at.clone(),
            source: bind.source,
            writable: bind.writable,
            device: false,
            nameless: false,
        });
        let layers = self.layers.iter().map(|at| Piece::Layer {
            at: at.clone(),
            sources: Vec::new(),
        });
        binds.chain(layers).collect()
    }

    /// The paths that a run may write, with these file systems in memory.
    pub(super) fn writable(&self, file_systems: &[String]) -> Vec<PathBuf> {
        let binds = self.binds.iter().filter(|bind| bind.writable);
        let copies = self.copies.iter().filter(|copy| copy.writable);
        let binds = binds.map(|bind| &bind.at);
        let copies = copies.map(|copy| &copy.at);
        let all = binds.chain(copies).chain(file_systems);
        all.map(PathBuf::from).collect()
    }

    /// Returns whether one run can follow another: a file system in memory can't be cleared where something else
    /// is mounted in it.
    pub(super) fn is_reusable(&self) -> bool {
        let copies = self.copies.iter().map(|copy| &copy.at);
        let binds = self.binds.iter().map(|bind| &bind.at);
        let all: Vec<&String> = copies
            .chain(binds)
            .chain(&self.layers)
            .chain(&self.scratch)
            .collect();
        let mut memories = self.layers.iter().chain(&self.scratch);
        let within = |memory: &String| {
            all.iter()
                .any(|other| *other != memory && Path::new(other).starts_with(memory))
        };
        !memories.any(within) && !self.copies.iter().any(|copy| copy.writable)
    }
}

/// Returns whether something can be mounted at a path.
fn is_mount_point(at: &str) -> bool {
    let Some(below) = at.strip_prefix('/') else {
        return false;
    };
    let mut components = Path::new(below).components();
    // The daemon separates the parts of a mount by colons and commas.
    let is_name = |component| matches!(component, Component::Normal(_));
    !below.is_empty() && components.all(is_name) && !at.contains([':', ',', '\0'])
}

#[cfg(test)]
mod tests {
    use super::is_mount_point;

    #[test]
    fn mount_point_is_an_absolute_path_without_separators() {
        for good in ["/skill", "/workspace/a b", "/a/b/c"] {
            assert!(is_mount_point(good), "{good}");
        }
        for bad in [
            "", "/", "skill", "/../x", "/a/../b", "/a:b", "/a,b", "/a\0b",
        ] {
            assert!(!is_mount_point(bad), "{bad}");
        }
    }
}
