//! What every run sees of the machine: its programs and libraries, and nothing that tells whose
//! machine it is.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, CWD, Mode, OFlags};

use crate::plan::{FileId, Owner, Piece, Source, Taken};

/// Where the system's programs and libraries lie, besides `/usr`.
const PROGRAMS: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// What programs read of the system's settings.
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
/// Where else programs lie, on systems that have it.
const ELSEWHERE: [&str; 2] = ["/nix/store", "/gnu/store"];
/// The devices that every program may expect.
const DEVICES: [&str; 5] = ["full", "null", "random", "urandom", "zero"];
/// The outputs and inputs by name.
const HANDLES: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];
/// Who there is, and what the machine is called.
const TEXTS: [(&str, &str); 5] = [
    (
        "/etc/passwd",
        "root:x:0:0:root:/:/bin/sh\nuser:x:1000:1000:user:/workspace:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
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

/// What scripts call a program that a system has under another name.
const OTHER_NAMES: [(&str, &[&str]); 3] = [
    ("python", &["python3"]),
    ("pip", &["pip3"]),
    ("node", &["nodejs"]),
];

/// A view while it is put together.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) sources: Vec<Source>,
    pub(crate) pieces: Vec<Piece>,
    /// The folders that are there already.
    folders: BTreeSet<String>,
}

impl View {
    /// The system's own part.
    ///
    /// # Errors
    /// A part that every run needs isn't there.
    pub(crate) fn of_the_system() -> io::Result<Self> {
        let mut view = Self::default();
        view.part(Path::new("/usr"), "/usr", false)?;
        for at in PROGRAMS {
            let path = Path::new(at);
            match std::fs::read_link(path) {
                Ok(to) => {
                    let to = to.to_string_lossy().into_owned();
                    let at = at.to_owned();
                    view.pieces.push(Piece::Link { at, to });
                }
                Err(_) if path.is_dir() => view.part(path, at, false)?,
                Err(_) => {}
            }
        }
        for at in ELSEWHERE.iter().chain(&SETTINGS) {
            if Path::new(at).exists() {
                view.part(Path::new(at), at, false)?;
            }
        }
        for (at, text) in TEXTS {
            view.parents(at);
            let (at, text) = (at.to_owned(), text.to_owned());
            view.pieces.push(Piece::Text { at, text });
        }
        for device in DEVICES {
            let at = format!("/dev/{device}");
            view.part(Path::new(&at), &at, true)?;
        }
        for (at, to) in HANDLES {
            let (at, to) = (at.to_owned(), to.to_owned());
            view.pieces.push(Piece::Link { at, to });
        }
        view.pieces.push(Piece::Processes("/proc".to_owned()));
        view.other_names();
        for at in ["/dev/shm", "/tmp"] {
            view.scratch(at);
        }
        Ok(view)
    }

    /// The names by which scripts call programs that the system calls otherwise.
    fn other_names(&mut self) {
        let found = |name: &str| {
            let folders = ["/usr/local/bin", "/usr/bin"].into_iter();
            let mut places = folders.map(|folder| format!("{folder}/{name}"));
            places.find(|place| Path::new(place).exists())
        };
        for (name, programs) in OTHER_NAMES {
            if found(name).is_some() {
                continue;
            }
            if let Some(to) = programs.iter().find_map(|program| found(program)) {
                let at = format!("/run/programs/{name}");
                self.parents(&at);
                self.pieces.push(Piece::Link { at, to });
            }
        }
    }

    /// A folder that can be written.
    pub(crate) fn scratch(&mut self, at: &str) {
        self.parents(at);
        self.folders.insert(at.to_owned());
        self.pieces.push(Piece::Scratch(at.to_owned()));
    }

    /// A file that somebody else fills.
    pub(crate) fn file(&mut self, at: &str) {
        self.parents(at);
        self.pieces.push(Piece::File(at.to_owned()));
    }

    /// A folder or file of the system: as it is, and whoever it belongs to.
    fn part(&mut self, path: &Path, at: &str, device: bool) -> io::Result<()> {
        let source = self.source(path, None)?;
        self.bound(at, source, device, device);
        Ok(())
    }

    /// A folder or file of the machine that the run takes for its own.
    ///
    /// # Errors
    /// It isn't there.
    pub(crate) fn bind(
        &mut self,
        path: &Path,
        at: &str,
        writable: bool,
        device: bool,
    ) -> io::Result<()> {
        // What can be read by everybody can be read where owners can't be mapped.
        let taken = if writable {
            Taken::Needed
        } else {
            Taken::WherePossible
        };
        let source = self.source(path, Some(taken))?;
        self.bound(at, source, writable, device);
        Ok(())
    }

    fn bound(&mut self, at: &str, source: usize, writable: bool, device: bool) {
        self.parents(at);
        self.folders.insert(at.to_owned());
        self.pieces.push(Piece::Bind {
            at: at.to_owned(),
            source,
            writable,
            device,
            nameless: false,
        });
    }

    /// A folder or file of somebody's that can be read; where a folder lies isn't told.
    ///
    /// # Errors
    /// It isn't there.
    pub(crate) fn show(&mut self, path: &Path, at: &str) -> io::Result<()> {
        self.bind(path, at, false, false)?;
        if let Some(Piece::Bind { nameless, .. }) = self.pieces.last_mut() {
            *nameless = path.is_dir();
        }
        Ok(())
    }

    /// Folders above each other that the run takes for its own, and a layer for what it writes.
    ///
    /// # Errors
    /// One isn't there.
    pub(crate) fn layer(&mut self, paths: &[PathBuf], at: &str) -> io::Result<()> {
        self.parents(at);
        let sources = paths
            .iter()
            .map(|path| self.source(path, Some(Taken::Needed)));
        let sources = sources.collect::<io::Result<Vec<_>>>()?;
        self.folders.insert(at.to_owned());
        self.pieces.push(Piece::Layer {
            at: at.to_owned(),
            sources,
        });
        Ok(())
    }

    fn source(&mut self, path: &Path, taken: Option<Taken>) -> io::Result<usize> {
        // Where it really lies: a link of the machine leads nowhere while the view is built.
        let path = std::fs::canonicalize(path)?;
        let handle = fs::openat(CWD, &path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let found = fs::statat(&handle, c"", AtFlags::EMPTY_PATH)?;
        let owner = Owner {
            user: found.st_uid,
            group: found.st_gid,
        };
        self.sources.push(Source {
            path,
            id: FileId {
                device: found.st_dev,
                inode: found.st_ino,
            },
            owner: taken.map(|taken| (owner, taken)),
        });
        Ok(self.sources.len() - 1)
    }

    /// Makes the folders above a place that aren't there yet.
    fn parents(&mut self, at: &str) {
        let ends = at.match_indices('/').map(|(end, _)| end).skip(1);
        for end in ends {
            let folder = at.get(..end).unwrap_or_default();
            if self.folders.insert(folder.to_owned()) {
                self.pieces.push(Piece::Folder(folder.to_owned()));
            }
        }
    }
}
