//! Copies of the folders that a run sees, for backends that can't mount an overlay.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use gongfu_core::sandbox::{Mode, Mount, Spec};

use super::Failure;
use super::layer::{Baseline, Layer, nested};
use crate::copier::{Copier, Sources};
use crate::file_time::Beginning;
use crate::plan::UnixId;
use crate::run_as::run_as;

/// The most bytes that are copied for a run.
pub const MAX_COPIED_BYTES: u64 = 256 * 1024 * 1024;
/// The most files that are copied for a run.
pub const MAX_COPIED_FILES: u64 = 50_000;

/// The form in which a run sees a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// An empty folder.
    Empty,
    /// The folder itself.
    Bind,
    /// A copy that is merged back in the end.
    Layer,
    /// A copy that is dropped in the end.
    Copy,
}

/// The user that binds folders into the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountedBy {
    /// The user of the run, who reaches only public folders.
    Tenant,
    /// Root, who reaches every folder.
    Root,
}

/// The form in which a run of this user sees a mount.
pub fn exposure(
    mount: &Mount,
    hidden: &[String],
    tenant: Option<UnixId>,
    by: MountedBy,
) -> Exposure {
    let hides = hidden
        .iter()
        .any(|path| Path::new(path).starts_with(&mount.target));
    match (mount.mode, mount.sources.as_slice()) {
        (Mode::Layered, []) => Exposure::Empty,
        (Mode::Layered, _) => Exposure::Layer,
        // What is hidden isn't copied.
        (Mode::ReadOnly, [_, ..]) if hides => Exposure::Copy,
        (Mode::ReadOnly, [source, ..]) if tenant.is_some() && !is_open_to_all(source, by) => {
            Exposure::Copy
        }
        // The tenant can't write what belongs to root: the copy is merged by root.
        (Mode::ReadWrite, [source, ..]) if tenant.is_some() && source.is_dir() => Exposure::Layer,
        _ => Exposure::Bind,
    }
}

/// Returns whether every user can read a folder, and reach it where the tenant has to.
fn is_open_to_all(path: &Path, by: MountedBy) -> bool {
    let Ok(path) = std::fs::canonicalize(path) else {
        return false;
    };
    let allows = |path: &Path, bits: u32| {
        let found = std::fs::metadata(path);
        found.is_ok_and(|found| found.permissions().mode() & bits == bits)
    };
    let mut above = match by {
        MountedBy::Tenant => path.ancestors(),
        MountedBy::Root => Path::new("").ancestors(),
    };
    let bits = if path.is_dir() { 0o005 } else { 0o004 };
    allows(&path, bits) && above.all(|above| !above.is_dir() || allows(above, 0o001))
}

/// The sources of a mount; those of a layer were checked, and others may write to the folders around them.
fn sources_of(mount: &Mount) -> Sources<'_> {
    Sources {
        paths: &mount.sources,
        are_real: mount.mode == Mode::Layered,
    }
}

/// A mount that is copied.
struct MountCopy<'a> {
    mount: &'a Mount,
    is_layer: bool,
    /// The targets of other mounts in it, which are left out.
    nested: Vec<PathBuf>,
}

/// The mounts of a run that are copied.
pub struct MountCopies<'a> {
    mounts: Vec<MountCopy<'a>>,
    tenant: Option<UnixId>,
    /// The size of all copies.
    #[cfg(target_os = "linux")]
    pub bytes: u64,
}

impl<'a> MountCopies<'a> {
    /// Decides which mounts of a run are copied, and measures them.
    ///
    /// # Errors
    /// There is more than the limits allow, or a mount lies in one that isn't copied.
    pub fn new(job: &'a Spec, tenant: Option<UnixId>, by: MountedBy) -> Result<Self, Failure> {
        let mut mounts = Vec::new();
        let mut copier = Copier::new(MAX_COPIED_BYTES, MAX_COPIED_FILES);
        for mount in &job.mounts {
            let (exposure, nested) = (exposure(mount, &job.hidden, tenant, by), nested(job, mount));
            match exposure {
                // The mount point would have to be made on the host, where others may have planted a link.
                Exposure::Bind if !nested.is_empty() => {
                    return Err(Failure::Refused(format!(
                        "nothing else can be shown inside `{}`, which is shown unchanged",
                        mount.target
                    )));
                }
                Exposure::Empty | Exposure::Bind => continue,
                Exposure::Layer | Exposure::Copy => {}
            }
            copier.measure(&sources_of(mount), &nested).map_err(|error| {
                let paths = mount.sources.iter().map(|path| path.display().to_string());
                let paths = paths.collect::<Vec<_>>().join(", ");
                Failure::Refused(format!(
                    "`{paths}` can't be copied into the sandbox: {error}; the limit is {MAX_COPIED_BYTES} bytes in {MAX_COPIED_FILES} files; with namespaces there is no limit (see `gongfu doctor`)"
                ))
            })?;
            mounts.push(MountCopy {
                mount,
                is_layer: exposure == Exposure::Layer,
                nested,
            });
        }
        Ok(Self {
            mounts,
            tenant,
            #[cfg(target_os = "linux")]
            bytes: MAX_COPIED_BYTES - copier.bytes_left(),
        })
    }

    /// Copies each mount into its folder; returns the state of the layers before the run.
    ///
    /// # Errors
    /// A mount can't be read, or a folder can't be written.
    pub fn fill(&self, folders: &[OwnedFd]) -> io::Result<Baseline> {
        if folders.len() != self.mounts.len() {
            return Err(io::Error::other("a copy has no folder"));
        }
        let began = Beginning::now();
        run_as(self.tenant, || {
            let mut copier = Copier::new(MAX_COPIED_BYTES, MAX_COPIED_FILES);
            let mut layers = Vec::new();
            for (copy, folder) in self.mounts.iter().zip(folders) {
                let before = copier.copy(&sources_of(copy.mount), &copy.nested, folder)?;
                if copy.is_layer {
                    layers.push(before);
                }
            }
            copier.settle();
            Ok(Baseline { began, layers })
        })
    }

    /// Leaves only those of the folders that are layers.
    pub fn only_layers(&self, folders: Vec<OwnedFd>) -> Vec<OwnedFd> {
        let all = self.mounts.iter().zip(folders);
        let layers = all.filter(|(copy, _)| copy.is_layer);
        layers.map(|(_, folder)| folder).collect()
    }

    /// The layers, in the order of those folders.
    ///
    /// # Errors
    /// A folder that keeps one can't be opened.
    pub fn layers(&self) -> Result<Vec<Layer<'a>>, Failure> {
        let layers = self.mounts.iter().filter(|copy| copy.is_layer);
        layers.map(|copy| Layer::of(copy.mount)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use gongfu_core::sandbox::{Mode, Mount};

    use super::{Exposure, MountedBy, exposure};
    use crate::plan::UnixId;

    #[test]
    fn copies_a_folder_that_the_tenant_can_not_reach_unless_root_mounts_it() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("closed/inside");
        fs::create_dir_all(&inside).unwrap();
        let mode = |path: &std::path::Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };
        mode(folder.path(), 0o755);
        mode(&inside, 0o755);
        let mount = Mount {
            sources: vec![inside.clone()],
            target: "/seen".to_owned(),
            mode: Mode::ReadOnly,
            keep: None,
        };
        let tenant = Some(UnixId { user: 1, group: 1 });
        for (closed, by, expected) in [
            (0o755, MountedBy::Tenant, Exposure::Bind),
            (0o700, MountedBy::Tenant, Exposure::Copy),
            (0o700, MountedBy::Root, Exposure::Bind),
        ] {
            mode(inside.parent().unwrap(), closed);
            assert_eq!(
                exposure(&mount, &[], tenant, by),
                expected,
                "{closed:o} {by:?}"
            );
        }
        mode(&inside, 0o700);
        assert_eq!(
            exposure(&mount, &[], tenant, MountedBy::Root),
            Exposure::Copy
        );
        let own = |hidden: &[&str]| {
            let hidden: Vec<String> = hidden.iter().map(|path| (*path).to_owned()).collect();
            exposure(&mount, &hidden, None, MountedBy::Tenant)
        };
        assert_eq!(own(&["/other/.ssh"]), Exposure::Bind);
        // A part of it is hidden.
        assert_eq!(own(&["/seen/.ssh"]), Exposure::Copy);
    }
}
