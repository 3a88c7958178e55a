//! Which of the folders that a run sees are copied, where no layer can be put above them, and the
//! copying.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use gongfu_core::sandbox::{Mode, Mount, Spec};

use super::Failure;
use crate::behalf;
use crate::copies::{Before, Copier};
use crate::plan::Owner;

/// The most that is copied for a run, in bytes and in files.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
const MOST_FILES: u64 = 50_000;

/// How a mount comes to be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// As an empty folder.
    Empty,
    /// As it is.
    AsItIs,
    /// As a copy, from which what changed is kept.
    Layer,
    /// As a copy that can't be written.
    Copy,
}

/// How a mount comes to be seen by somebody, where it isn't by whoever runs gongfu.
pub(super) fn way(mount: &Mount, tenant: Option<Owner>) -> Way {
    match (mount.mode, mount.sources.as_slice()) {
        (Mode::Layered, []) => Way::Empty,
        (Mode::Layered, _) => Way::Layer,
        (Mode::ReadOnly, [source, ..]) if tenant.is_some() && !is_open_to_all(source) => Way::Copy,
        _ => Way::AsItIs,
    }
}

/// Whether everybody may come to a folder and read it.
fn is_open_to_all(path: &Path) -> bool {
    let Ok(path) = std::fs::canonicalize(path) else {
        return false;
    };
    let allows = |path: &Path, bits: u32| {
        let found = std::fs::metadata(path);
        found.is_ok_and(|found| found.permissions().mode() & bits == bits)
    };
    allows(&path, 0o004)
        && path
            .ancestors()
            .all(|above| !above.is_dir() || allows(above, 0o001))
}

/// What is copied for a run.
pub(super) struct Copied<'a> {
    mounts: Vec<(&'a Mount, Way)>,
    owner: Option<Owner>,
    /// How many bytes it takes.
    pub(super) bytes: u64,
}

impl<'a> Copied<'a> {
    /// Finds out what is copied; there is a bound to it.
    pub(super) fn of(spec: &'a Spec, tenant: Option<Owner>) -> Result<Self, Failure> {
        let ways = spec.mounts.iter().map(|mount| (mount, way(mount, tenant)));
        let copies = ways.filter(|(_, way)| matches!(way, Way::Layer | Way::Copy));
        let mounts: Vec<_> = copies.collect();
        let mut copier = Copier::new(MOST_BYTES, MOST_FILES);
        for (mount, _) in &mounts {
            copier.measure(&mount.sources).map_err(|error| {
                let paths = mount.sources.iter().map(|path| path.display().to_string());
                let paths = paths.collect::<Vec<_>>().join(", ");
                Failure::Refused(format!(
                    "`{paths}` can't be copied into the sandbox: {error}; it may be \
                     {MOST_BYTES} bytes in {MOST_FILES} files, or any number where namespaces can be made, as `gongfu doctor` \
                     says"
                ))
            })?;
        }
        Ok(Self {
            mounts,
            owner: tenant,
            bytes: MOST_BYTES - copier.left().0,
        })
    }

    /// Copies each into a folder; answers what those held from which something is kept.
    pub(super) fn fill(&self, folders: &[OwnedFd]) -> io::Result<Vec<Before>> {
        if folders.len() != self.mounts.len() {
            return Err(io::Error::other("there is no place for what is copied"));
        }
        behalf::of(self.owner, || {
            let mut copier = Copier::new(MOST_BYTES, MOST_FILES);
            let mut kept = Vec::new();
            for ((mount, way), folder) in self.mounts.iter().zip(folders) {
                let before = copier.copy(&mount.sources, folder)?;
                if *way == Way::Layer {
                    kept.push(before);
                }
            }
            copier.settle();
            Ok(kept)
        })
    }

    /// Those of the folders from which something is kept.
    pub(super) fn kept(&self, folders: Vec<OwnedFd>) -> Vec<OwnedFd> {
        let of = self.mounts.iter().zip(folders);
        let kept = of.filter(|((_, way), _)| *way == Way::Layer);
        kept.map(|(_, folder)| folder).collect()
    }
}
