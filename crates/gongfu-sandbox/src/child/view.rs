//! Builds the file system that a run sees out of nothing, piece by piece: nothing else is visible.
//!
//! Some pieces lie in folders that untrusted programs filled. So every path is resolved beneath a handle of the view,
//! and no link on the way is followed.

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

use super::step::{Failure, at};
use super::syscall::{self, MountAttributes};
use crate::plan::{Piece, Plan, Step};

/// The folder that everything is built on; its content is hidden only from this process.
const BASE: &str = "/tmp";
/// The old root, while the view is built. Mounting `/proc` takes another one that is visible.
const OLD_ROOT: &str = "/old";
/// The view, while it is built.
const NEW_ROOT: &str = "/new";
/// The file system that the run writes to.
const DATA: &str = "/data";

const FOLDER_MODE: Mode = Mode::from_raw_mode(0o755);
const FILE_MODE: Mode = Mode::from_raw_mode(0o644);
const SAFE_FLAGS: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);
/// The same for a detached mount.
const SAFE_ATTRIBUTES: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);
/// The most pseudo-terminals of a run at once.
const MAX_TERMINALS: &str = "16";

/// Mounts a root of our own, the file system that the run writes to, and an empty view; returns a handle of the
/// view.
fn mount_base(plan: &Plan) -> rustix::io::Result<OwnedFd> {
    // What is unmounted on the machine must not be kept busy from here.
    let downstream = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change(c"/", downstream)?;
    mount(c"tmpfs", BASE, c"tmpfs", SAFE_FLAGS, c"mode=755,size=1m")?;
    chdir(BASE)?;
    for folder in [OLD_ROOT, NEW_ROOT, DATA] {
        fs::mkdir(folder.trim_start_matches('/'), FOLDER_MODE)?;
    }
    pivot_root(c".", OLD_ROOT.trim_start_matches('/'))?;
    chdir(c"/")?;
    let limits = &plan.limits;
    let sized = format!("mode=755,size={},nr_inodes={}\0", limits.disk, limits.files);
    let sized = std::ffi::CStr::from_bytes_with_nul(sized.as_bytes()).unwrap_or(c"size=1m");
    mount(c"tmpfs", DATA, c"tmpfs", SAFE_FLAGS, sized)?;
    mount(
        c"tmpfs",
        NEW_ROOT,
        c"tmpfs",
        SAFE_FLAGS,
        c"mode=755,size=4m",
    )?;
    fs::open(NEW_ROOT, HANDLE | OFlags::DIRECTORY, Mode::empty())
}

/// Makes the view the root, and unmounts everything else.
fn enter(root: &OwnedFd) -> io::Result<()> {
    let read_only = MountAttributes {
        set: MountAttributes::READ_ONLY,
        ..MountAttributes::default()
    };
    syscall::set_mount(root, c"", &read_only, false)?;
    fchdir(root)?;
    // The old root is stacked on the new one, and unmounted from there.
    pivot_root(c".", c".")?;
    unmount(c".", UnmountFlags::DETACH)?;
    chdir(c"/")?;
    Ok(())
}

/// Opens a handle that only names a file.
const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Builds the view of a plan out of mounts of its sources, and makes it the root; returns a handle of each
/// layer, in their order.
pub(super) fn build(plan: &Plan, mounts: Vec<OwnedFd>) -> Result<Vec<OwnedFd>, Failure> {
    let root = mount_base(plan).map_err(at(Step::Root))?;
    let mut builder = Builder {
        sources: mounts.into_iter().map(Some).collect(),
        root,
        layers: Vec::new(),
        data_folders: 0,
    };
    for (number, piece) in plan.view.iter().enumerate() {
        let wrong = Failure::at(Step::View(number));
        builder.add(piece).map_err(wrong)?;
    }
    enter(&builder.root).map_err(Failure::at(Step::Root))?;
    Ok(builder.layers)
}

/// A view while it is built.
struct Builder {
    /// The mounts of the sources; each is used once.
    sources: Vec<Option<OwnedFd>>,
    root: OwnedFd,
    layers: Vec<OwnedFd>,
    /// The number of folders in the file system that the run writes to.
    data_folders: usize,
}

impl Builder {
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
                let file = fs::openat(folder, name, flags, FILE_MODE)?;
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
            // The server fills files only where it copies.
            Piece::File(_) => return Err(io::ErrorKind::Unsupported.into()),
            Piece::Scratch(at) => {
                let folder = self.data_folder()?;
                let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
                let tree = open_tree(CWD, &*folder, flags)?;
                attach(&tree, self.folder(at)?)?;
            }
            Piece::Hidden(at) => self.hide(at)?,
            Piece::Processes(at) => {
                let options = [("hidepid", Some("invisible")), ("subset", Some("pid"))];
                let flags = SAFE_ATTRIBUTES | MountAttrFlags::MOUNT_ATTR_NOEXEC;
                attach(&file_system("proc", &options, flags)?, self.folder(at)?)?;
            }
            Piece::Terminals(at) => {
                let options = [
                    ("newinstance", None),
                    ("ptmxmode", Some("0666")),
                    ("mode", Some("0600")),
                    ("max", Some(MAX_TERMINALS)),
                ];
                // They are devices.
                let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
                let folder = self.folder(at)?;
                // Few programs need them, and some kernels have none.
                if let Ok(terminals) = file_system("devpts", &options, flags) {
                    attach(&terminals, folder)?;
                }
            }
        }
        Ok(())
    }

    /// Opens a handle of a path in the view, which must not be a link.
    fn handle(&self, at: &str) -> rustix::io::Result<OwnedFd> {
        beneath(&self.root, at)
    }

    /// The folder of a path, and the name in it.
    fn parent<'a>(&self, at: &'a str) -> io::Result<(OwnedFd, &'a str)> {
        let (folder, name) = at
            .trim_end_matches('/')
            .rsplit_once('/')
            .ok_or(io::ErrorKind::InvalidInput)?;
        Ok((self.handle(folder)?, name))
    }

    /// Makes a folder of the view, unless it is there.
    fn folder(&self, at: &str) -> io::Result<OwnedFd> {
        let (parent, name) = self.parent(at)?;
        match fs::mkdirat(&parent, name, FOLDER_MODE) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        folder_of(beneath(&parent, name)?)
    }

    /// Makes a mount point: a folder for a folder, a file for a file.
    fn mount_point(&self, tree: &OwnedFd, at: &str) -> io::Result<OwnedFd> {
        if is_folder(tree)? {
            return self.folder(at);
        }
        let (parent, name) = self.parent(at)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        match fs::openat(&parent, name, flags, FILE_MODE) {
            Ok(_) | Err(Errno::EXIST) => Ok(beneath(&parent, name)?),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a folder in the file system that the run writes to.
    fn data_folder(&mut self) -> rustix::io::Result<String> {
        let folder = format!("{DATA}/{}", self.data_folders);
        self.data_folders += 1;
        fs::mkdir(&folder, FOLDER_MODE)?;
        Ok(folder)
    }

    /// Mounts something empty on a file or folder, so that nothing in it can be read, written, moved or removed.
    fn hide(&mut self, at: &str) -> io::Result<()> {
        let found = match self.handle(at) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            found => found?,
        };
        let mut empty = self.data_folder()?;
        if !is_folder(&found)? {
            empty.push_str("/empty");
            fs::open(
                &*empty,
                OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC,
                FILE_MODE,
            )?;
        }
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let tree = open_tree(CWD, &*empty, flags)?;
        let read_only = MountAttributes {
            set: MountAttributes::READ_ONLY,
            ..MountAttributes::default()
        };
        syscall::set_mount(&tree, c"", &read_only, false)?;
        attach(&tree, found)?;
        Ok(())
    }

    /// Takes the mount of a source.
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
        syscall::set_mount(&tree, c"", &attributes, true)?;
        attach(&tree, self.mount_point(&tree, at)?)?;
        Ok(())
    }

    /// Shows a folder read-only without its path on the machine: `mountinfo` has the path of a bind mount,
    /// but not those of the lower folders of an overlay.
    fn show(&mut self, at: &str, number: usize) -> io::Result<()> {
        let folder = self.data_folder()?;
        let empty = format!("{folder}/empty");
        fs::mkdir(&empty, FOLDER_MODE)?;
        let below = self.lower(&folder, number)?;
        // An overlay without an upper folder needs two lower ones.
        let below = format!("{below}:{empty}");
        let options = [("lowerdir", Some(below.as_str())), ("userxattr", None)];
        let flags = SAFE_ATTRIBUTES | MountAttrFlags::MOUNT_ATTR_RDONLY;
        attach(&file_system("overlay", &options, flags)?, self.folder(at)?)?;
        Ok(())
    }

    /// Mounts a source as a lower folder of an overlay; returns its path.
    fn lower(&mut self, folder: &str, number: usize) -> io::Result<String> {
        let tree = self.source(number)?;
        let lower = format!("{folder}/{number}");
        fs::mkdir(&lower, FOLDER_MODE)?;
        attach(&tree, fs::open(&lower, HANDLE, Mode::empty())?)?;
        Ok(lower)
    }

    fn layer(&mut self, at: &str, sources: &[usize]) -> io::Result<()> {
        let folder = self.data_folder()?;
        let (upper, work) = (format!("{folder}/upper"), format!("{folder}/work"));
        fs::mkdir(&upper, FOLDER_MODE)?;
        fs::mkdir(&work, FOLDER_MODE)?;
        let lower = sources.iter().map(|source| self.lower(&folder, *source));
        let lower = lower.collect::<io::Result<Vec<_>>>()?;
        self.layers.push(fs::open(
            &upper,
            OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?);
        // All names in these paths are ours.
        let lower = lower.join(":");
        let options = [
            ("lowerdir", Some(lower.as_str())),
            ("upperdir", Some(&upper)),
            ("workdir", Some(&work)),
            ("userxattr", None),
        ];
        attach(
            &file_system("overlay", &options, SAFE_ATTRIBUTES)?,
            self.folder(at)?,
        )?;
        Ok(())
    }
}

/// Opens a handle of a path beneath a folder; neither the path nor anything on the way may be a link.
fn beneath(folder: impl AsFd, path: &str) -> rustix::io::Result<OwnedFd> {
    let path = path.trim_start_matches('/');
    let path = if path.is_empty() { "." } else { path };
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    loop {
        match fs::openat2(&folder, path, HANDLE, Mode::empty(), resolve) {
            // Something was renamed meanwhile, or a signal arrived.
            Err(Errno::AGAIN | Errno::INTR) => {}
            found => return found,
        }
    }
}

fn is_folder(handle: &OwnedFd) -> rustix::io::Result<bool> {
    let kind = FileType::from_raw_mode(fs::fstat(handle)?.st_mode);
    Ok(kind == FileType::Directory)
}

/// Returns the handle, if it is of a folder.
fn folder_of(handle: OwnedFd) -> io::Result<OwnedFd> {
    if is_folder(&handle)? {
        Ok(handle)
    } else {
        Err(io::ErrorKind::NotADirectory.into())
    }
}

/// Makes a file system as a detached mount.
fn file_system(
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

/// Attaches a detached mount to a file or folder.
fn attach(tree: &OwnedFd, point: OwnedFd) -> rustix::io::Result<()> {
    let by_handles =
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, c"", point, c"", by_handles)
}

#[cfg(test)]
mod tests;
