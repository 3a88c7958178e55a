//! What the run sees: built up out of nothing, piece by piece, so that what isn't named isn't there.

use std::os::fd::OwnedFd;

use rustix::fs::{self, CWD, Mode, OFlags};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, UnmountFlags, mount, mount_change,
    move_mount, unmount,
};
use rustix::process::{chdir, pivot_root};

use super::call::{self, MountAttributes};
use super::{Failure, at, stage};
use crate::plan::{Piece, Plan, Source, Step};

/// Where everything is built; what lies there is hidden from this process alone.
const BASE: &str = "/tmp";
/// The machine, while the view is built.
const OLD: &str = "/old";
/// The view, while it is built.
const NEW: &str = "/new";
/// What the run writes.
const DATA: &str = "/data";

const FOLDER: Mode = Mode::from_raw_mode(0o755);
const SAFE: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// Builds the view and goes into it; answers a handle of each layer, in their order.
pub(super) fn build(plan: &Plan) -> Result<Vec<OwnedFd>, Failure> {
    base(plan).map_err(at(Step::Root))?;
    let mut builder = Builder {
        sources: &plan.sources,
        layers: Vec::new(),
        places: 0,
    };
    for (number, piece) in plan.view.iter().enumerate() {
        builder
            .add(piece)
            .map_err(Failure::at(Step::View(number)))?;
    }
    enter().map_err(Failure::at(Step::Root))?;
    Ok(builder.layers)
}

/// A root of our own with the machine below it, and the memory that the run writes to.
fn base(plan: &Plan) -> rustix::io::Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change(c"/", private)?;
    mount(c"tmpfs", BASE, c"tmpfs", SAFE, c"mode=755,size=1m")?;
    chdir(BASE)?;
    for folder in [OLD, NEW, DATA] {
        fs::mkdir(folder.trim_start_matches('/'), FOLDER)?;
    }
    pivot_root(c".", OLD.trim_start_matches('/'))?;
    chdir(c"/")?;
    let sized = format!("mode=755,size={},nr_inodes={}\0", plan.disk, plan.files);
    let sized = std::ffi::CStr::from_bytes_with_nul(sized.as_bytes()).unwrap_or(c"size=1m");
    mount(c"tmpfs", DATA, c"tmpfs", SAFE, sized)?;
    mount(c"tmpfs", NEW, c"tmpfs", SAFE, c"mode=755,size=4m")
}

/// Makes the view the root, and lets go of everything else.
fn enter() -> std::io::Result<()> {
    let read_only = MountAttributes {
        set: MountAttributes::READ_ONLY,
        ..MountAttributes::default()
    };
    let root = fs::open(NEW, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    call::set_mount(&root, c"", &read_only, false)?;
    chdir(NEW)?;
    // The old root comes to lie on the new one, from where it is taken.
    pivot_root(c".", c".")?;
    unmount(c".", UnmountFlags::DETACH)?;
    chdir(c"/")?;
    Ok(())
}

struct Builder<'a> {
    sources: &'a [Source],
    layers: Vec<OwnedFd>,
    /// How many folders were made for what is written.
    places: usize,
}

impl Builder<'_> {
    fn add(&mut self, piece: &Piece) -> std::io::Result<()> {
        match piece {
            Piece::Folder(at) => fs::mkdir(inside(at), FOLDER)?,
            Piece::Link { at, to } => fs::symlink(to, inside(at))?,
            Piece::Text { at, text } => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                let file = fs::open(inside(at), flags, Mode::from_raw_mode(0o644))?;
                std::io::Write::write_all(&mut std::fs::File::from(file), text.as_bytes())?;
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
            Piece::Scratch(at) => {
                let place = self.place()?;
                fs::mkdir(inside(at), FOLDER)?;
                let tree = rustix::mount::open_tree(CWD, &*place, clone())?;
                attach(&tree, &inside(at))?;
            }
            Piece::Processes(at) => {
                fs::mkdir(inside(at), FOLDER)?;
                let flags = SAFE | MountFlags::NOEXEC;
                let options = c"hidepid=invisible,subset=pid";
                mount(c"proc", inside(at), c"proc", flags, options)?;
            }
        }
        Ok(())
    }

    /// A folder of its own for what is written.
    fn place(&mut self) -> rustix::io::Result<String> {
        let place = format!("{DATA}/{}", self.places);
        self.places += 1;
        fs::mkdir(&place, FOLDER)?;
        Ok(place)
    }

    /// A mount of its own of a source.
    fn source(&self, number: usize) -> std::io::Result<OwnedFd> {
        let source = self
            .sources
            .get(number)
            .ok_or(std::io::ErrorKind::NotFound)?;
        let mut path = OLD.as_bytes().to_vec();
        path.extend(source.path.as_os_str().as_encoded_bytes());
        stage::tree(&path, source.id)
    }

    fn bind(&self, at: &str, number: usize, writable: bool, device: bool) -> std::io::Result<()> {
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
        let place = inside(at);
        stage::point(&tree, &place)?;
        attach(&tree, &place)?;
        Ok(())
    }

    /// A folder that can be read, without saying where it lies: the system tells the path of a mount
    /// to whoever is shown it, but not those of the folders that lie above each other in one.
    fn show(&mut self, at: &str, number: usize) -> std::io::Result<()> {
        let place = self.place()?;
        let (below, nothing) = (format!("{place}/below"), format!("{place}/nothing"));
        fs::mkdir(&below, FOLDER)?;
        fs::mkdir(&nothing, FOLDER)?;
        attach(&self.source(number)?, &below)?;
        fs::mkdir(inside(at), FOLDER)?;
        // Two are the fewest of which there need be none to be written to.
        let options = format!("lowerdir={below}:{nothing},userxattr");
        let options = std::ffi::CString::new(options)?;
        let flags = SAFE | MountFlags::RDONLY;
        mount(c"overlay", inside(at), c"overlay", flags, &*options)?;
        Ok(())
    }

    fn layer(&mut self, at: &str, sources: &[usize]) -> std::io::Result<()> {
        let place = self.place()?;
        let (above, work) = (format!("{place}/above"), format!("{place}/work"));
        fs::mkdir(&above, FOLDER)?;
        fs::mkdir(&work, FOLDER)?;
        let mut below = Vec::new();
        for (number, source) in sources.iter().enumerate() {
            let tree = self.source(*source)?;
            let lower = format!("{place}/{number}");
            fs::mkdir(&lower, FOLDER)?;
            attach(&tree, &lower)?;
            below.push(lower);
        }
        fs::mkdir(inside(at), FOLDER)?;
        self.layers.push(fs::open(
            &above,
            OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?);
        let options = format!(
            "lowerdir={},upperdir={above},workdir={work},userxattr",
            below.join(":")
        );
        let options = std::ffi::CString::new(options)?;
        mount(c"overlay", inside(at), c"overlay", SAFE, &*options)?;
        Ok(())
    }
}

fn clone() -> rustix::mount::OpenTreeFlags {
    rustix::mount::OpenTreeFlags::OPEN_TREE_CLONE | rustix::mount::OpenTreeFlags::OPEN_TREE_CLOEXEC
}

fn attach(tree: &OwnedFd, place: &str) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(tree, c"", CWD, place, flags)
}

/// Where a place of the view is while it is built.
fn inside(at: &str) -> String {
    format!("{NEW}{at}")
}
