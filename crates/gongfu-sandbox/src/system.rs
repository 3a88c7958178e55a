//! The part of the host that every run sees: programs and libraries, and nothing about its users.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use gongfu_core::sandbox::{HOME, SKILL, WORKSPACE};
use rustix::fs::{self, AtFlags, CWD, Mode, OFlags};

use crate::folder::open_real;
use crate::plan::{FileId, Mapping, Piece, Source, UnixId};

/// The folders of programs and libraries besides `/usr`.
const PROGRAMS: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// The settings of the system that programs read.
const SETTINGS: [&str; 12] = [
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
];
/// Package stores that some systems have.
const STORES: [&str; 2] = ["/nix/store", "/gnu/store"];
/// The place of the skill, to which [`SKILL`] is a link: scripts ask for the folders above them, and expect as many as
/// where agents keep skills.
const SKILL_PLACE: &str = "/run/agent/skills/skill";
/// The devices that every program may expect.
const DEVICES: [&str; 5] = ["full", "null", "random", "urandom", "zero"];
/// The pseudo-terminals of a run.
pub(crate) const TERMINALS: &str = "/dev/pts";
/// The input, the outputs and new pseudo-terminals by name.
const HANDLES: [(&str, &str); 5] = [
    ("/dev/ptmx", "pts/ptmx"),
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];
/// The users, the hosts and the name of every sandbox.
const TEXTS: [(&str, &str); 5] = [
    (
        "/etc/passwd",
        "root:x:0:0:root:/:/bin/sh\nuser:x:1000:1000:user:/run/home:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
    ),
    ("/etc/group", "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n"),
    (
        "/etc/hosts",
        "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
    ),
    ("/etc/hostname", "sandbox\n"),
    (
        "/etc/nsswitch.conf",
        "passwd: files\ngroup: files\nhosts: files\n",
    ),
];

/// Other names of programs that scripts use.
const OTHER_NAMES: [(&str, &[&str]); 3] = [
    ("python", &["python3"]),
    ("pip", &["pip3"]),
    ("node", &["nodejs"]),
];

/// The place of a mount in the view of the system: its target, unless that is in the skill.
pub fn place(target: &str) -> Cow<'_, str> {
    match target.strip_prefix(SKILL) {
        Some(below) if below.is_empty() || below.starts_with('/') => {
            format!("{SKILL_PLACE}{below}").into()
        }
        _ => target.into(),
    }
}

/// A view while it is composed.
#[derive(Debug, Default)]
pub struct View {
    /// The files and folders of the machine that it shows.
    pub sources: Vec<Source>,
    /// Its pieces, in the order in which they are built.
    pub pieces: Vec<Piece>,
    /// The folders that it has already.
    folders: BTreeSet<String>,
}

impl View {
    /// The part of the machine that every run sees.
    ///
    /// # Errors
    /// The machine has no `/usr`, or lacks a device.
    pub fn of_the_system() -> io::Result<Self> {
        let mut view = Self::default();
        view.add_part(Path::new("/usr"), "/usr", false)?;
        for at in PROGRAMS {
            let path = Path::new(at);
            match std::fs::read_link(path) {
                Ok(to) => view.add_link(at, &to.to_string_lossy()),
                Err(_) if path.is_dir() => view.add_part(path, at, false)?,
                Err(_) => {}
            }
        }
        for at in STORES.iter().chain(&SETTINGS) {
            if Path::new(at).exists() {
                view.add_part(Path::new(at), at, false)?;
            }
        }
        for (at, text) in TEXTS {
            view.add_parents(at);
            let (at, text) = (at.to_owned(), text.to_owned());
            view.pieces.push(Piece::Text { at, text });
        }
        for device in DEVICES {
            let at = format!("/dev/{device}");
            view.add_part(Path::new(&at), &at, true)?;
        }
        for (at, to) in HANDLES {
            view.add_link(at, to);
        }
        view.pieces.push(Piece::Processes("/proc".to_owned()));
        view.pieces.push(Piece::Terminals(TERMINALS.to_owned()));
        view.add_other_names();
        view.add_link(SKILL, SKILL_PLACE);
        // `../workspace` is there from the skill, as it is from `/skill`.
        view.add_other_name("/run/agent/skills/workspace", WORKSPACE);
        for at in ["/dev/shm", "/tmp", HOME] {
            view.add_scratch(at);
        }
        Ok(view)
    }

    fn add_other_names(&mut self) {
        let find = |name: &str| {
            let folders = ["/usr/local/bin", "/usr/bin"].into_iter();
            let mut paths = folders.map(|folder| format!("{folder}/{name}"));
            paths.find(|path| Path::new(path).exists())
        };
        for (name, programs) in OTHER_NAMES {
            if find(name).is_some() {
                continue;
            }
            if let Some(to) = programs.iter().find_map(|program| find(program)) {
                let at = format!("/run/programs/{name}");
                self.add_parents(&at);
                self.add_link(&at, &to);
            }
        }
    }

    /// Adds a link with the folders above it.
    pub(crate) fn add_other_name(&mut self, at: &str, to: &str) {
        self.add_parents(at);
        self.add_link(at, to);
    }

    fn add_link(&mut self, at: &str, to: &str) {
        let (at, to) = (at.to_owned(), to.to_owned());
        self.pieces.push(Piece::Link { at, to });
    }

    /// Adds an empty folder that can be written.
    pub(crate) fn add_scratch(&mut self, at: &str) {
        self.add_parents(at);
        self.folders.insert(at.to_owned());
        self.pieces.push(Piece::Scratch(at.to_owned()));
    }

    /// Hides a file or folder of a piece before it.
    pub(crate) fn add_hidden(&mut self, at: &str) {
        self.pieces.push(Piece::Hidden(at.to_owned()));
    }

    /// Adds an empty file that the server fills.
    pub(crate) fn add_file(&mut self, at: &str) {
        self.add_parents(at);
        self.pieces.push(Piece::File(at.to_owned()));
    }

    /// Adds a file or folder of the system, which keeps its owner.
    fn add_part(&mut self, path: &Path, at: &str, device: bool) -> io::Result<()> {
        let source = self.add_source(path, None)?;
        self.push_bind(at, source, device, device, false);
        Ok(())
    }

    /// Adds a file or folder of the machine that appears as the run's own.
    ///
    /// # Errors
    /// It isn't there.
    pub fn add_bind(
        &mut self,
        path: &Path,
        at: &str,
        writable: bool,
        device: bool,
    ) -> io::Result<()> {
        // A public file is readable even where the file system can't map owners.
        let source = self.add_source(path, Some(writable))?;
        self.push_bind(at, source, writable, device, false);
        Ok(())
    }

    /// Adds a file or folder that can be read; the path of a folder on the machine is hidden.
    ///
    /// # Errors
    /// It isn't there.
    pub(crate) fn add_nameless(&mut self, path: &Path, at: &str) -> io::Result<()> {
        let source = self.add_source(path, Some(false))?;
        self.push_bind(at, source, false, false, path.is_dir());
        Ok(())
    }

    /// Adds a file or folder at its own path, as it is at every moment.
    ///
    /// # Errors
    /// It isn't there, or there is a link on the way.
    pub(crate) fn add_own(&mut self, path: &Path, at: &str, writable: bool) -> io::Result<()> {
        let handle = open_real(path, OFlags::PATH)?;
        let source = self.add_handle(path.to_owned(), &handle, Some(writable))?;
        self.push_bind(at, source, writable, false, false);
        Ok(())
    }

    fn push_bind(&mut self, at: &str, source: usize, writable: bool, device: bool, nameless: bool) {
        self.add_parents(at);
        self.folders.insert(at.to_owned());
        self.pieces.push(Piece::Bind {
            at: at.to_owned(),
            source,
            writable,
            device,
            nameless,
        });
    }

    /// Adds an overlay of folders, the top one first, with a layer for what the run writes.
    ///
    /// # Errors
    /// One of them isn't there.
    pub(crate) fn add_layer(&mut self, paths: &[PathBuf], at: &str) -> io::Result<()> {
        self.add_parents(at);
        let sources = paths.iter().map(|path| {
            let handle = open_real(path, OFlags::PATH)?;
            self.add_handle(path.clone(), &handle, Some(true))
        });
        let sources = sources.collect::<io::Result<Vec<_>>>()?;
        self.folders.insert(at.to_owned());
        self.pieces.push(Piece::Layer {
            at: at.to_owned(),
            sources,
        });
        Ok(())
    }

    /// Adds a source. With `Some(true)` the run must own it, with `Some(false)` it may; with `None` it keeps its
    /// owner.
    fn add_source(&mut self, path: &Path, is_required: Option<bool>) -> io::Result<usize> {
        // The real path: links of the machine lead nowhere while the view is built.
        let path = std::fs::canonicalize(path)?;
        let handle = fs::openat(CWD, &path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        self.add_handle(path, &handle, is_required)
    }

    /// Adds a source by its real path and a handle of it.
    fn add_handle(
        &mut self,
        path: PathBuf,
        handle: &OwnedFd,
        is_required: Option<bool>,
    ) -> io::Result<usize> {
        let found = fs::statat(handle, c"", AtFlags::EMPTY_PATH)?;
        let owner = UnixId {
            user: found.st_uid,
            group: found.st_gid,
        };
        self.sources.push(Source {
            path,
            id: FileId {
                device: found.st_dev,
                inode: found.st_ino,
            },
            mapping: is_required.map(|is_required| Mapping { owner, is_required }),
        });
        Ok(self.sources.len() - 1)
    }

    /// Adds the folders above a path, unless they are there.
    fn add_parents(&mut self, at: &str) {
        let ends = at.match_indices('/').map(|(end, _)| end).skip(1);
        for end in ends {
            let folder = at.get(..end).unwrap_or_default();
            if self.folders.insert(folder.to_owned()) {
                self.pieces.push(Piece::Folder(folder.to_owned()));
            }
        }
    }
}
