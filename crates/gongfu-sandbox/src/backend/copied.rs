//! Which of the folders that a run sees are copied, where no layer can be put above them, and the
//! copying.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use gongfu_core::sandbox::{Mode, Mount, Spec};

use super::Failure;
use super::keep::{self, Layer};
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

/// Who makes what is seen as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Maker {
    /// Somebody who comes no further than the run itself.
    Tenant,
    /// Somebody who comes everywhere: what lies above doesn't matter.
    Root,
}

/// How a mount comes to be seen by somebody, where it isn't by whoever runs gongfu.
pub(super) fn way(mount: &Mount, tenant: Option<Owner>, maker: Maker) -> Way {
    match (mount.mode, mount.sources.as_slice()) {
        (Mode::Layered, []) => Way::Empty,
        (Mode::Layered, _) => Way::Layer,
        (Mode::ReadOnly, [source, ..]) if tenant.is_some() && !is_open_to_all(source, maker) => {
            Way::Copy
        }
        // What belongs to root can't be written by anybody else: it comes there when the run has ended.
        (Mode::ReadWrite, [source, ..]) if tenant.is_some() && source.is_dir() => Way::Layer,
        _ => Way::AsItIs,
    }
}

/// Whether everybody may come to a folder and read it.
fn is_open_to_all(path: &Path, maker: Maker) -> bool {
    let Ok(path) = std::fs::canonicalize(path) else {
        return false;
    };
    let allows = |path: &Path, bits: u32| {
        let found = std::fs::metadata(path);
        found.is_ok_and(|found| found.permissions().mode() & bits == bits)
    };
    let mut above = match maker {
        Maker::Tenant => path.ancestors(),
        Maker::Root => Path::new("").ancestors(),
    };
    let itself = if path.is_dir() { 0o005 } else { 0o004 };
    allows(&path, itself) && above.all(|above| !above.is_dir() || allows(above, 0o001))
}

/// A mount that is copied.
struct One<'a> {
    mount: &'a Mount,
    way: Way,
    /// Where others lie in it.
    places: Vec<PathBuf>,
}

/// Where others lie in a mount.
fn places(spec: &Spec, mount: &Mount) -> Vec<PathBuf> {
    let below = spec.mounts.iter().filter_map(|other| {
        let below = Path::new(&other.target).strip_prefix(&mount.target).ok()?;
        (!below.as_os_str().is_empty()).then(|| below.to_owned())
    });
    below.collect()
}

/// What is copied for a run.
pub(super) struct Copied<'a> {
    mounts: Vec<One<'a>>,
    owner: Option<Owner>,
    /// How many bytes it takes.
    #[cfg(target_os = "linux")]
    pub(super) bytes: u64,
}

impl<'a> Copied<'a> {
    /// Finds out what is copied; there is a bound to it.
    pub(super) fn of(spec: &'a Spec, tenant: Option<Owner>, maker: Maker) -> Result<Self, Failure> {
        let ways = spec
            .mounts
            .iter()
            .map(|mount| (mount, way(mount, tenant, maker)));
        for (mount, _) in ways.clone().filter(|(_, way)| *way == Way::AsItIs) {
            // It would have to be made on the machine, past whatever others planted there.
            if !places(spec, mount).is_empty() {
                return Err(Failure::Refused(format!(
                    "nothing else can be seen in `{}`, which is shown as it is",
                    mount.target
                )));
            }
        }
        let copies = ways.filter(|(_, way)| matches!(way, Way::Layer | Way::Copy));
        let mounts: Vec<_> = copies
            .map(|(mount, way)| One {
                mount,
                way,
                places: places(spec, mount),
            })
            .collect();
        let mut copier = Copier::new(MOST_BYTES, MOST_FILES);
        for One { mount, places, .. } in &mounts {
            copier.measure(&mount.sources, places).map_err(|error| {
                let paths = mount.sources.iter().map(|path| path.display().to_string());
                let paths = paths.collect::<Vec<_>>().join(", ");
                Failure::Refused(format!(
                    "`{paths}` can't be copied into the sandbox: {error}; at most {MOST_BYTES} bytes \
                     in {MOST_FILES} files are, or any number where gongfu may make namespaces, which \
                     `gongfu doctor` tells"
                ))
            })?;
        }
        Ok(Self {
            mounts,
            owner: tenant,
            #[cfg(target_os = "linux")]
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
            for (one, folder) in self.mounts.iter().zip(folders) {
                let before = copier.copy(&one.mount.sources, &one.places, folder)?;
                if one.way == Way::Layer {
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
        let kept = of.filter(|(one, _)| one.way == Way::Layer);
        kept.map(|(_, folder)| folder).collect()
    }

    /// Where what is written comes to, in the order of those folders.
    pub(super) fn layers(&self) -> Vec<Layer<'a>> {
        let kept = self.mounts.iter().filter(|one| one.way == Way::Layer);
        let layers = kept.map(|one| Layer {
            seen: &one.mount.target,
            keep: match one.mount.mode {
                Mode::ReadWrite => one.mount.sources.first(),
                Mode::ReadOnly | Mode::Layered => one.mount.keep.as_ref(),
            },
            below: keep::below(one.mount),
        });
        layers.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use gongfu_core::sandbox::{Mode, Mount};

    use super::{Maker, Way, way};
    use crate::plan::Owner;

    #[test]
    fn what_lies_in_a_closed_folder_is_copied_where_nobody_else_binds_it() {
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
        let tenant = Some(Owner { user: 1, group: 1 });
        for (closed, maker, expected) in [
            (0o755, Maker::Tenant, Way::AsItIs),
            (0o700, Maker::Tenant, Way::Copy),
            (0o700, Maker::Root, Way::AsItIs),
        ] {
            mode(inside.parent().unwrap(), closed);
            assert_eq!(way(&mount, tenant, maker), expected, "{closed:o} {maker:?}");
        }
        mode(&inside, 0o700);
        assert_eq!(way(&mount, tenant, Maker::Root), Way::Copy);
        assert_eq!(way(&mount, None, Maker::Tenant), Way::AsItIs);
    }
}
