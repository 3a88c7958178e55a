//! Files, sockets and a process, laid out for a probe to reach and removed afterwards.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::fs::{Mode, OFlags};

use crate::argument::{ARGUMENT, VICTIM};
use crate::bait::Bait;
use crate::system::{c_path, hexadecimal, is_root};

/// The folders to lay everything out in: everybody may write to them, and no sandbox replaces both by
/// its own.
const PLACES: [&str; 2] = ["/var/tmp", "/tmp"];
/// The variable of the server that holds a secret.
pub(crate) const VARIABLE: &str = "GONGFU_PROBE_SECRET";
/// The user id of another tenant, if gongfu is root.
const NEIGHBOUR: u32 = 2_000_000_001;
/// The extension of a file that a probe leaves for the next run.
pub(crate) const LEFT: &str = "left";
/// The programs that are laid out with more rights than their callers have.
const PROGRAMS: [&str; 2] = ["id", "cat"];
/// The entries of the folder, in order.
const ENTRIES: [&str; 6] = [
    "neighbour",
    "scratch",
    "secret",
    "shown",
    "socket",
    "workspace",
];

/// Targets that exist until this is dropped.
pub(crate) struct Decoys {
    pub(crate) bait: Bait,
    victim: Victim,
    /// Files that a careless server leaves open for the programs it starts.
    _forgotten: [OwnedFd; 2],
    pub(crate) listener: TcpListener,
    listener_6: Option<TcpListener>,
    paths: [UnixListener; 2],
    /// Dropped last, when nothing uses the files any more.
    _cleanup: Cleanup,
}

impl Decoys {
    /// Lays everything out.
    ///
    /// # Errors
    /// No folder can be written, or no process can be started.
    pub(crate) fn new() -> io::Result<Self> {
        let token = token()?;
        let cleanup = Cleanup {
            folder: new_folder(&token)?,
            leftovers: ["/tmp", "/dev/shm"].map(|place| leftover(place, &token)),
        };
        let (folder, leftovers) = (cleanup.folder.clone(), cleanup.leftovers.clone());
        lay_out_files(&folder, &leftovers, &token)?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let listener_6 = TcpListener::bind("[::1]:0").ok();
        for listener in [Some(&listener), listener_6.as_ref()].into_iter().flatten() {
            listener.set_nonblocking(true)?;
        }
        let (socket, name) = (folder.join("socket"), format!("gongfu-probe-{token}"));
        let paths = [
            UnixListener::bind(&socket)?,
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?,
        ];
        fs::set_permissions(&socket, Permissions::from_mode(0o777))?;
        for listener in &paths {
            listener.set_nonblocking(true)?;
        }
        let secret = folder.join("secret");
        let forgotten = [
            rustix::fs::open(&secret, OFlags::RDONLY, Mode::empty())?,
            rustix::io::dup(&listener)?,
        ];
        let victim = Victim::start(&folder, &token)?;
        let port_6 = listener_6.as_ref().map(TcpListener::local_addr);
        let machine = rustix::system::uname();
        let bait = Bait {
            token,
            secret,
            neighbour: folder.join("neighbour"),
            shown: folder.join("shown"),
            leftovers,
            port: listener.local_addr()?.port(),
            port_6: port_6.transpose()?.map(|address| address.port()),
            socket,
            name,
            victim: victim.process.id(),
            address: victim.address,
            server: std::process::id(),
            program: std::env::current_exe()?,
            machine: machine.nodename().to_string_lossy().into_owned(),
            shares_mounts: true,
            folder,
        };
        Ok(Self {
            bait,
            victim,
            _forgotten: forgotten,
            listener,
            listener_6,
            paths,
            _cleanup: cleanup,
        })
    }

    /// The workspace of the probe.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.bait.folder.join("workspace")
    }

    /// The folder for temporary files of a probe outside of a sandbox.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.bait.folder.join("scratch")
    }

    /// The path outside of the folder that the probe may read.
    pub(crate) fn shown(&self) -> PathBuf {
        self.bait.folder.join("shown")
    }

    /// Everything that is no longer as it was laid out.
    pub(crate) fn damage(&mut self) -> Vec<String> {
        let mut damage = Vec::new();
        let mut expect = |holds: bool, what: &str| {
            if !holds {
                damage.push(what.to_owned());
            }
        };
        let bait = &self.bait;
        for path in [bait.secret.clone(), bait.neighbour.join("private")] {
            let read = fs::read_to_string(&path).ok();
            expect(read.as_deref() == Some(&*bait.token), "a file was changed");
            let mode = fs::metadata(&path).map(|found| found.permissions().mode() & 0o7777);
            expect(mode.ok() == Some(0o644), "the mode of a file was changed");
        }
        for path in &bait.leftovers {
            expect(path.exists(), "a file was removed");
        }
        let names = names_in(&bait.folder);
        expect(names == ENTRIES, &format!("a folder holds {names:?}"));
        let is_running = matches!(self.victim.process.try_wait(), Ok(None));
        expect(is_running, "a process was ended");
        let tcp = [Some(&self.listener), self.listener_6.as_ref()];
        for listener in tcp.into_iter().flatten() {
            let is_reached = listener.accept().is_ok();
            expect(!is_reached, "a connection was made by network");
        }
        for listener in &self.paths {
            let is_reached = listener.accept().is_ok();
            expect(!is_reached, "a connection was made by socket");
        }
        damage
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Removes the folder and the leftovers when it is dropped.
struct Cleanup {
    folder: PathBuf,
    leftovers: [PathBuf; 2],
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        for path in &self.leftovers {
            let _ = fs::remove_file(path);
            let _ = fs::remove_file(path.with_extension(LEFT));
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A path in a folder that everybody may write to.
pub(crate) fn leftover(place: impl AsRef<Path>, token: &str) -> PathBuf {
    place.as_ref().join(format!("gongfu-probe-{token}"))
}

/// A random token.
pub(crate) fn token() -> io::Result<String> {
    let mut bytes = [0; 12];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(hexadecimal(&bytes))
}

/// Makes a folder that nobody else has.
pub(crate) fn new_folder(token: &str) -> io::Result<PathBuf> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for place in PLACES {
        let folder = leftover(place, token).with_extension("d");
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn lay_out_files(folder: &Path, leftovers: &[PathBuf], token: &str) -> io::Result<()> {
    let open = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o755));
    open(folder)?;
    for name in ["neighbour", "scratch", "shown", "workspace"] {
        fs::create_dir(folder.join(name))?;
        open(&folder.join(name))?;
    }
    // Everybody may read them, so that only the sandbox can refuse it, and not their owner.
    let write = |path: &Path| {
        fs::write(path, token)?;
        fs::set_permissions(path, Permissions::from_mode(0o644))
    };
    let (secret, neighbour) = (folder.join("secret"), folder.join("neighbour"));
    write(&secret)?;
    write(&neighbour.join("private"))?;
    write(&folder.join("shown/file"))?;
    for path in leftovers {
        write(path)?;
    }
    if is_root() {
        let owner = Some(NEIGHBOUR);
        chown(&neighbour, owner, owner)?;
        chown(neighbour.join("private"), owner, owner)?;
        lay_out_programs(&folder.join("shown"));
    }
    symlink(&secret, folder.join("workspace/out"))?;
    symlink("../neighbour/private", folder.join("workspace/up"))
}

/// Lays out programs with more rights than their callers have, as only root can.
fn lay_out_programs(folder: &Path) {
    for name in PROGRAMS {
        let (from, to) = (Path::new("/usr/bin").join(name), folder.join(name));
        if fs::copy(from, &to).is_err() {
            continue;
        }
        let mode = if name == "id" { 0o4755 } else { 0o755 };
        let _ = fs::set_permissions(&to, Permissions::from_mode(mode));
    }
    // Two effective capabilities (`struct vfs_cap_data`, version 2).
    let rights = [1, 0, 0, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    if let Ok(path) = c_path(folder.join("cat")) {
        let none = rustix::fs::XattrFlags::empty();
        let _ = rustix::fs::setxattr(&*path, c"security.capability", &rights, none);
    }
}

/// A process that holds the token in its environment, its arguments, its memory and an open file.
struct Victim {
    process: Child,
    /// The address of the token in its memory.
    address: u64,
    /// The process ends when this is closed.
    _input: Option<ChildStdin>,
}

impl Victim {
    fn start(folder: &Path, token: &str) -> io::Result<Self> {
        let mut process = Command::new("/proc/self/exe")
            .args([ARGUMENT, VICTIM, token])
            .current_dir(folder)
            .env(VARIABLE, token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let mut victim = Self {
            process,
            address: 0,
            _input: input,
        };
        let mut line = String::new();
        let output = output.ok_or(io::ErrorKind::BrokenPipe)?;
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().parse();
        victim.address = address.map_err(|_| io::Error::other("there is nobody to attack"))?;
        Ok(victim)
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs as the victim until its input is closed.
pub(crate) fn run_victim(token: Option<&OsStr>) -> io::Result<()> {
    let secret = File::open("secret")?;
    let memory = token
        .unwrap_or_default()
        .to_os_string()
        .into_encoded_bytes();
    let address = memory.as_ptr().addr();
    writeln!(io::stdout(), "{address}")?;
    io::copy(&mut io::stdin(), &mut io::sink())?;
    drop((secret, memory));
    Ok(())
}
