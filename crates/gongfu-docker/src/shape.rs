//! What a container is made for: runs whose shape is the same can follow each other in one.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use gongfu_core::account;
use gongfu_core::sandbox::{Mode, Mount, Spec};
use gongfu_sandbox::backend::{
    Exposure, Failure, MAX_COPIED_BYTES, MAX_COPIED_FILES, MountedBy, Piece, RunContext, SCRATCH,
    Source, UnixId, View, exposure, missing,
};

use super::Settings;

/// What a file system takes itself.
const ROOM: u64 = 1024 * 1024;

/// A folder or file of the machine that is seen as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bind {
    /// Where it is seen.
    pub(super) at: String,
    /// The number of its source.
    pub(super) source: usize,
    pub(super) writable: bool,
}

/// A place that is filled for each run, and lies on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Copy {
    pub(super) at: String,
    pub(super) is_file: bool,
    pub(super) writable: bool,
}

/// Where a mount that is copied comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    /// The place in memory of this number among those that are filled.
    Memory(usize),
    /// The copy of this number.
    Copy(usize),
}

/// What a container is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    /// Whose runs they are.
    pub(super) owner: account::Owner,
    /// Whom they are on the machine.
    pub(super) tenant: Option<UnixId>,
    pub(super) memory: u64,
    pub(super) processes: u32,
    /// What one place in memory takes at most, and how many files.
    pub(super) size: u64,
    pub(super) files: u64,
    /// Where programs of this machine are seen; else they are an image's.
    pub(super) is_of_machine: bool,
    pub(super) sources: Vec<Source>,
    pub(super) binds: Vec<Bind>,
    /// Places in memory that are filled.
    pub(super) layers: Vec<String>,
    /// Places in memory that are empty.
    pub(super) empty: Vec<String>,
    pub(super) copies: Vec<Copy>,
    copied: Vec<To>,
}

impl Shape {
    /// The one that a run needs.
    pub(super) fn of(
        spec: &Spec,
        context: &RunContext<'_>,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let tenant = context.tenant;
        let is_of_machine = settings.image.is_none();
        let mut view = if is_of_machine {
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
        let mut shape = Self {
            owner: context.owner.clone(),
            tenant,
            memory: limits.memory,
            processes: limits.processes,
            size: limits
                .disk
                .saturating_add(MAX_COPIED_BYTES)
                .saturating_add(ROOM),
            files: limits
                .files
                .saturating_add(MAX_COPIED_FILES)
                .saturating_add(16),
            is_of_machine,
            sources: Vec::new(),
            binds,
            layers: Vec::new(),
            empty: SCRATCH.map(str::to_owned).into(),
            copies: Vec::new(),
            copied: Vec::new(),
        };
        for mount in &spec.mounts {
            shape.mount(mount, &mut view)?;
        }
        shape.sources = view.sources;
        shape.drop_devices();
        Ok(shape)
    }

    fn mount(&mut self, mount: &Mount, view: &mut View) -> Result<(), Failure> {
        let at = mount.target.clone();
        if !is_place(&at) {
            let why = format!("`{at}` can't be a folder in the sandbox");
            return Err(Failure::Refused(why));
        }
        let writable = mount.mode != Mode::ReadOnly;
        let is_file = mount.sources.first().is_some_and(|source| source.is_file());
        match (
            exposure(mount, self.tenant, MountedBy::Root),
            mount.sources.first(),
        ) {
            (Exposure::Empty, _) => self.empty.push(at),
            (Exposure::Layer, _) if !is_file => {
                self.copied.push(To::Memory(self.layers.len()));
                self.layers.push(at);
            }
            (Exposure::Layer | Exposure::Copy, _) => {
                self.copied.push(To::Copy(self.copies.len()));
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

    /// Leaves out the sources that are no folder or file of anybody's: a container has devices of its own.
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

    /// The handles of those mounts that are copied, in their order: of places in memory and of copies.
    pub(super) fn in_order<T>(
        &self,
        memories: impl Fn(usize) -> Option<T>,
        copies: impl Fn(usize) -> Option<T>,
    ) -> Option<Vec<T>> {
        let copied = self.copied.iter().map(|to| match to {
            To::Memory(number) => memories(*number),
            To::Copy(number) => copies(*number),
        });
        copied.collect()
    }

    /// What the first process looks over before each run: what is seen as it is, and where layers are.
    pub(super) fn seen(&self) -> Vec<Piece> {
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

    /// Where a run may write, with these places in memory.
    pub(super) fn writable(&self, memories: &[String]) -> Vec<PathBuf> {
        let binds = self.binds.iter().filter(|bind| bind.writable);
        let copies = self.copies.iter().filter(|copy| copy.writable);
        let binds = binds.map(|bind| &bind.at);
        let all = binds.chain(copies.map(|copy| &copy.at)).chain(memories);
        all.map(PathBuf::from).collect()
    }

    /// Whether one run can follow another in a container: what lies inside of something else can't be
    /// cleared with it.
    pub(super) fn is_for_many(&self) -> bool {
        let copies = self.copies.iter().map(|copy| &copy.at);
        let binds = self.binds.iter().map(|bind| &bind.at);
        let all: Vec<&String> = copies
            .chain(binds)
            .chain(&self.layers)
            .chain(&self.empty)
            .collect();
        let memories = self.layers.iter().chain(&self.empty);
        let within = |memory: &String| {
            all.iter()
                .any(|other| *other != memory && Path::new(other).starts_with(memory))
        };
        !memories.into_iter().any(within) && !self.copies.iter().any(|copy| copy.writable)
    }
}

/// Whether something can be seen at a path.
fn is_place(at: &str) -> bool {
    let Some(below) = at.strip_prefix('/') else {
        return false;
    };
    let mut components = Path::new(below).components();
    // What stands between the parts of a mount for the daemon can't stand in it.
    let is_name = |component| matches!(component, Component::Normal(_));
    !below.is_empty() && components.all(is_name) && !at.contains([':', ',', '\0'])
}

#[cfg(test)]
mod tests {
    use super::is_place;

    #[test]
    fn a_place_is_a_whole_path() {
        for good in ["/skill", "/workspace/a b", "/a/b/c"] {
            assert!(is_place(good), "{good}");
        }
        for bad in [
            "", "/", "skill", "/../x", "/a/../b", "/a:b", "/a,b", "/a\0b",
        ] {
            assert!(!is_place(bad), "{bad}");
        }
    }
}
