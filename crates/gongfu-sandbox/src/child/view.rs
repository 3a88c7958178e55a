//! What the run sees: built up out of nothing, piece by piece, so that what isn't named isn't there.
//!
//! Some of it lies in folders that strangers filled. So every place is looked for beneath a handle of
//! the view, and no link is followed on the way: what lies there leads nowhere else.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{self, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount,
    fsopen, mount, mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{chdir, fchdir, pivot_root};

use super::call::{self, MountAttributes};
use super::stage::Stage;
use super::{Failure, at};
use crate::plan::{Ground, Piece, Plan, Source, Step};

/// Where everything is built; what lies there is hidden from this process alone.
const BASE: &str = "/tmp";
/// The machine, while the view is built.
const MACHINE: &str = "/old";
/// The view, while it is built.
const NEW: &str = "/new";
/// What the run writes.
const DATA: &str = "/data";

const FOLDER: Mode = Mode::from_raw_mode(0o755);
const FILE: Mode = Mode::from_raw_mode(0o644);
const SAFE: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);
/// The same, of a mount that lies nowhere yet.
const SAFE_ATTRIBUTES: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);

/// A root of our own with the machine below it, and the memory that the run writes to; answers a handle
/// of the view.
fn base(ground: &Ground) -> rustix::io::Result<OwnedFd> {
    // What the machine takes away goes from here as well, as long as it is still there.
    let heard = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change(c"/", heard)?;
    mount(c"tmpfs", BASE, c"tmpfs", SAFE, c"mode=755,size=1m")?;
    chdir(BASE)?;
    for folder in [MACHINE, NEW, DATA] {
        fs::mkdir(folder.trim_start_matches('/'), FOLDER)?;
    }
    pivot_root(c".", MACHINE.trim_start_matches('/'))?;
    chdir(c"/")?;
    let sized = format!("mode=755,size={},nr_inodes={}\0", ground.disk, ground.files);
    let sized = std::ffi::CStr::from_bytes_with_nul(sized.as_bytes()).unwrap_or(c"size=1m");
    mount(c"tmpfs", DATA, c"tmpfs", SAFE, sized)?;
    mount(c"tmpfs", NEW, c"tmpfs", SAFE, c"mode=755,size=4m")?;
    fs::open(NEW, HANDLE | OFlags::DIRECTORY, Mode::empty())
}

/// Makes the view the root, and lets go of everything else.
fn enter(root: &OwnedFd) -> io::Result<()> {
    let read_only = MountAttributes {
        set: MountAttributes::READ_ONLY,
        ..MountAttributes::default()
    };
    call::set_mount(root, c"", &read_only, false)?;
    fchdir(root)?;
    // The old root comes to lie on the new one, from where it is taken.
    pivot_root(c".", c".")?;
    unmount(c".", UnmountFlags::DETACH)?;
    chdir(c"/")?;
    Ok(())
}

/// A handle by which a file is named and nothing else.
const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// A view while it is built.
pub(super) struct Builder {
    /// Each is used once.
    sources: Vec<Option<OwnedFd>>,
    root: OwnedFd,
    layers: Vec<OwnedFd>,
    /// How many folders were made for what is written.
    places: usize,
}

impl Builder {
    /// Begins it by what is the same for every run. `sources` are those of the ground, where they were
    /// taken already.
    pub(super) fn begin(ground: &Ground, sources: Option<Vec<OwnedFd>>) -> Result<Self, Failure> {
        let root = base(ground).map_err(at(Step::Root))?;
        let mut builder = Self {
            sources: Vec::new(),
            root,
            layers: Vec::new(),
            places: 0,
        };
        builder.build(0, &ground.sources, &ground.view, sources)?;
        Ok(builder)
    }

    /// Adds what a plan has besides the ground, and goes into it; answers a handle of each layer, in
    /// their order.
    pub(super) fn finish(
        mut self,
        plan: &Plan,
        pieces: usize,
        sources: Option<Vec<OwnedFd>>,
    ) -> Result<Vec<OwnedFd>, Failure> {
        self.build(pieces, &plan.sources, &plan.view, sources)?;
        enter(&self.root).map_err(Failure::at(Step::Root))?;
        Ok(self.layers)
    }

    /// Adds every piece but so many of the first, and before them every source that isn't there yet.
    fn build(
        &mut self,
        but: usize,
        sources: &[Source],
        view: &[Piece],
        taken: Option<Vec<OwnedFd>>,
    ) -> Result<(), Failure> {
        let taken = match taken {
            Some(taken) => taken,
            None => Stage {
                machine: MACHINE,
                tenant: None,
            }
            .trees(sources, self.sources.len())?,
        };
        self.sources.extend(taken.into_iter().map(Some));
        for (number, piece) in view.iter().enumerate().skip(but) {
            self.add(piece).map_err(Failure::at(Step::View(number)))?;
        }
        Ok(())
    }

    fn add(&mut self, piece: &Piece) -> io::Result<()> {
        match piece {
            Piece::Folder(at) => self.folder(at).map(drop)?,
            Piece::Link { at, to } => {
                let (folder, name) = self.parent(at)?;
                fs::symlinkat(to, folder, name)?;
            }
            Piece::Text { at, text } => {
                let (folder, name) = self.parent(at)?;
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                let file = fs::openat(folder, name, flags, FILE)?;
                io::Write::write_all(&mut std::fs::File::from(file), text.as_bytes())?;
            }
            Piece::Bind {
                at,
                source,
                nameless: true,
                ..
            } => self.show(at, *source)?,
            Piece::Bind {
                at,
                source,
                writable,
                device,
                ..
            } => self.bind(at, *source, *writable, *device)?,
            Piece::Layer { at, sources } => self.layer(at, sources)?,
            // Nothing is copied here.
            Piece::File(_) => return Err(io::ErrorKind::Unsupported.into()),
            Piece::Scratch(at) => {
                let place = self.place()?;
                let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
                let tree = open_tree(CWD, &*place, flags)?;
                attach(&tree, self.folder(at)?)?;
            }
            Piece::Processes(at) => {
                let options = [("hidepid", Some("invisible")), ("subset", Some("pid"))];
                let flags = SAFE_ATTRIBUTES | MountAttrFlags::MOUNT_ATTR_NOEXEC;
                attach(&made("proc", &options, flags)?, self.folder(at)?)?;
            }
        }
        Ok(())
    }

    /// A handle of what lies at a place of the view, whatever it is but a link.
    fn handle(&self, at: &str) -> rustix::io::Result<OwnedFd> {
        beneath(&self.root, at)
    }

    /// The folder that a place lies in, and its name there.
    fn parent<'a>(&self, at: &'a str) -> io::Result<(OwnedFd, &'a str)> {
        let (folder, name) = at
            .trim_end_matches('/')
            .rsplit_once('/')
            .ok_or(io::ErrorKind::InvalidInput)?;
        Ok((self.handle(folder)?, name))
    }

    /// A folder of the view, made where it isn't there.
    fn folder(&self, at: &str) -> io::Result<OwnedFd> {
        let (parent, name) = self.parent(at)?;
        match fs::mkdirat(&parent, name, FOLDER) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        folder_of(beneath(&parent, name)?)
    }

    /// What a mount can be put on: a folder for a folder, a file for a file.
    fn point(&self, tree: &OwnedFd, at: &str) -> io::Result<OwnedFd> {
        if is_folder(tree)? {
            return self.folder(at);
        }
        let (parent, name) = self.parent(at)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        match fs::openat(&parent, name, flags, FILE) {
            Ok(_) | Err(Errno::EXIST) => Ok(beneath(&parent, name)?),
            Err(error) => Err(error.into()),
        }
    }

    /// A folder of its own for what is written.
    fn place(&mut self) -> rustix::io::Result<String> {
        let place = format!("{DATA}/{}", self.places);
        self.places += 1;
        fs::mkdir(&place, FOLDER)?;
        Ok(place)
    }

    /// A mount of its own of a source.
    fn source(&mut self, number: usize) -> io::Result<OwnedFd> {
        let source = self.sources.get_mut(number).and_then(Option::take);
        source.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn bind(&mut self, at: &str, number: usize, writable: bool, device: bool) -> io::Result<()> {
        let tree = self.source(number)?;
        let mut attributes = MountAttributes {
            set: MountAttributes::NO_SET_USER_ID,
            ..MountAttributes::default()
        };
        if !device {
            attributes.set |= MountAttributes::NO_DEVICE;
        }
        if !writable {
            attributes.set |= MountAttributes::READ_ONLY;
        }
        call::set_mount(&tree, c"", &attributes, true)?;
        attach(&tree, self.point(&tree, at)?)?;
        Ok(())
    }

    /// A folder that can be read, without saying where it lies: the system tells the path of a mount
    /// to whoever is shown it, but not those of the folders that lie above each other in one.
    fn show(&mut self, at: &str, number: usize) -> io::Result<()> {
        let place = self.place()?;
        let nothing = format!("{place}/nothing");
        fs::mkdir(&nothing, FOLDER)?;
        let below = self.below(&place, number)?;
        // Two are the fewest of which there need be none to be written to.
        let below = format!("{below}:{nothing}");
        let options = [("lowerdir", Some(below.as_str())), ("userxattr", None)];
        let flags = SAFE_ATTRIBUTES | MountAttrFlags::MOUNT_ATTR_RDONLY;
        attach(&made("overlay", &options, flags)?, self.folder(at)?)?;
        Ok(())
    }

    /// Puts a source where a layer finds it; answers where that is.
    fn below(&mut self, place: &str, number: usize) -> io::Result<String> {
        let tree = self.source(number)?;
        let below = format!("{place}/{number}");
        fs::mkdir(&below, FOLDER)?;
        attach(&tree, fs::open(&below, HANDLE, Mode::empty())?)?;
        Ok(below)
    }

    fn layer(&mut self, at: &str, sources: &[usize]) -> io::Result<()> {
        let place = self.place()?;
        let (above, work) = (format!("{place}/above"), format!("{place}/work"));
        fs::mkdir(&above, FOLDER)?;
        fs::mkdir(&work, FOLDER)?;
        let below = sources.iter().map(|source| self.below(&place, *source));
        let below = below.collect::<io::Result<Vec<_>>>()?;
        self.layers.push(fs::open(
            &above,
            OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?);
        // None of these paths has a name in it that somebody else gave.
        let below = below.join(":");
        let options = [
            ("lowerdir", Some(below.as_str())),
            ("upperdir", Some(&above)),
            ("workdir", Some(&work)),
            ("userxattr", None),
        ];
        attach(
            &made("overlay", &options, SAFE_ATTRIBUTES)?,
            self.folder(at)?,
        )?;
        Ok(())
    }
}

/// What lies at a path beneath a folder; nothing on the way may be a link, nor may it be one itself.
fn beneath(folder: impl AsFd, path: &str) -> rustix::io::Result<OwnedFd> {
    let path = path.trim_start_matches('/');
    let path = if path.is_empty() { "." } else { path };
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    loop {
        match fs::openat2(&folder, path, HANDLE, Mode::empty(), resolve) {
            // Something was renamed meanwhile, or a signal came.
            Err(Errno::AGAIN | Errno::INTR) => {}
            found => return found,
        }
    }
}

fn is_folder(handle: &OwnedFd) -> rustix::io::Result<bool> {
    let kind = FileType::from_raw_mode(fs::fstat(handle)?.st_mode);
    Ok(kind == FileType::Directory)
}

/// The handle, if it is a folder's.
fn folder_of(handle: OwnedFd) -> io::Result<OwnedFd> {
    if is_folder(&handle)? {
        Ok(handle)
    } else {
        Err(io::ErrorKind::NotADirectory.into())
    }
}

/// A file system that lies nowhere yet.
fn made(
    kind: &str,
    options: &[(&str, Option<&str>)],
    attributes: MountAttrFlags,
) -> rustix::io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        match value {
            Some(value) => fsconfig_set_string(&context, *name, *value)?,
            None => fsconfig_set_flag(&context, *name)?,
        }
    }
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Puts a mount on what a handle names.
fn attach(tree: &OwnedFd, place: OwnedFd) -> rustix::io::Result<()> {
    let by_handles =
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, c"", place, c"", by_handles)
}

#[cfg(test)]
mod tests;
