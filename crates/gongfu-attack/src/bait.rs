//! What is laid out for a probe to reach: files, sockets, a process. All of it goes away again.

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
use serde::{Deserialize, Serialize};

use crate::{ARGUMENT, process};

/// Where it is laid out: a folder that everybody may write to, and that no sandbox replaces by one of
/// its own.
const PLACES: [&str; 2] = ["/var/tmp", "/tmp"];
/// The variable of the server that holds a secret.
pub(crate) const VARIABLE: &str = "GONGFU_PROBE_SECRET";
/// Somebody else who runs things here, where gongfu is root.
const NEIGHBOUR: u32 = 2_000_000_001;
/// What a name ends with that a probe leaves behind.
pub(crate) const LEFT: &str = "left";
/// The programs that are laid out with more rights than those who begin them.
const PROGRAMS: [&str; 2] = ["id", "cat"];

/// What a probe knows of what it is to reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bait {
    /// What stands in every secret, and in the name of all that is laid out.
    pub(crate) token: String,
    /// The folder of the server that everything lies in.
    pub(crate) folder: PathBuf,
    /// A file of the server.
    pub(crate) secret: PathBuf,
    /// The workspace of somebody else, with a file `private`.
    pub(crate) neighbour: PathBuf,
    /// A folder that is shown to be read, as the probe sees it.
    pub(crate) shown: PathBuf,
    /// Files that were left in the folders for what is soon forgotten.
    pub(crate) leftovers: [PathBuf; 2],
    /// A port at 127.0.0.1 that is listened to, and one at `::1` where there is one.
    pub(crate) port: u16,
    pub(crate) port_6: Option<u16>,
    /// A socket that is listened to.
    pub(crate) socket: PathBuf,
    /// The name of one without a path.
    pub(crate) name: String,
    /// A process of the server's user.
    pub(crate) victim: u32,
    /// Where that process has a secret in its memory.
    pub(crate) address: u64,
    /// The server.
    pub(crate) server: u32,
    /// Where this program lies on the machine.
    pub(crate) program: PathBuf,
    /// What the machine is called.
    pub(crate) machine: String,
    /// Whether what is mounted would be mounted on the machine.
    pub(crate) shares_mounts: bool,
}

/// What is laid out, until it is dropped.
pub(crate) struct Decoys {
    pub(crate) bait: Bait,
    victim: Child,
    _holds: ChildStdin,
    /// What a careless server leaves open to whoever it begins.
    _forgotten: [OwnedFd; 2],
    pub(crate) listener: TcpListener,
    listener_6: Option<TcpListener>,
    paths: [UnixListener; 2],
}

impl Decoys {
    /// Lays everything out.
    ///
    /// # Errors
    /// There is no folder that can be written, or no process can be begun.
    pub(crate) fn new() -> io::Result<Self> {
        let token = token()?;
        let folder = folder(&token)?;
        let mut held = Cleanup {
            leftovers: ["/tmp", "/dev/shm"].map(|place| leftover(place, &token)),
            folder,
            is_kept: false,
        };
        let decoys = lay(token, &held)?;
        held.is_kept = true;
        Ok(decoys)
    }

    /// The workspace of whoever tries.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.bait.folder.join("workspace")
    }

    /// Where it may write besides, outside of a sandbox.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.bait.folder.join("scratch")
    }

    /// What a folder with this name that is shown is outside.
    pub(crate) fn shown(&self) -> PathBuf {
        self.bait.folder.join("shown")
    }

    /// What is no longer as it was laid out; empty when everything is.
    pub(crate) fn spoilt(&mut self) -> Vec<String> {
        let mut spoilt = Vec::new();
        let mut expect = |holds: bool, what: &str| {
            if !holds {
                spoilt.push(what.to_owned());
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
        expect(names == LAID, &format!("a folder holds {names:?}"));
        expect(
            matches!(self.victim.try_wait(), Ok(None)),
            "a process was ended",
        );
        let came = |result: io::Result<()>| result.is_ok();
        let tcp = [Some(&self.listener), self.listener_6.as_ref()];
        for listener in tcp.into_iter().flatten() {
            expect(
                !came(listener.accept().map(drop)),
                "a connection was made by network",
            );
        }
        for listener in &self.paths {
            expect(
                !came(listener.accept().map(drop)),
                "a connection was made by socket",
            );
        }
        spoilt
    }
}

impl Drop for Decoys {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        remove(&self.bait.folder, &self.bait.leftovers);
    }
}

/// What the folder holds, in order.
const LAID: [&str; 6] = [
    "neighbour",
    "scratch",
    "secret",
    "shown",
    "socket",
    "workspace",
];

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The folder, should the rest fail.
struct Cleanup {
    folder: PathBuf,
    leftovers: [PathBuf; 2],
    is_kept: bool,
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        if !self.is_kept {
            remove(&self.folder, &self.leftovers);
        }
    }
}

fn remove(folder: &Path, leftovers: &[PathBuf]) {
    for path in leftovers {
        let _ = fs::remove_file(path);
        let _ = fs::remove_file(path.with_extension(LEFT));
    }
    let _ = fs::remove_dir_all(folder);
}

/// The file of a name in a place that everybody may write to.
pub(crate) fn leftover(place: impl AsRef<Path>, token: &str) -> PathBuf {
    place.as_ref().join(format!("gongfu-probe-{token}"))
}

/// What stands in the name of all that is laid out together.
pub(crate) fn token() -> io::Result<String> {
    let mut bytes = [0; 12];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(crate::tool::hexadecimal(&bytes))
}

/// A folder that is nobody else's.
pub(crate) fn folder(token: &str) -> io::Result<PathBuf> {
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

fn lay(token: String, held: &Cleanup) -> io::Result<Decoys> {
    let folder = held.folder.clone();
    let program = std::env::current_exe()?;
    let open = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o755));
    open(&folder)?;
    for name in ["neighbour", "scratch", "shown", "workspace"] {
        fs::create_dir(folder.join(name))?;
        open(&folder.join(name))?;
    }
    // Everybody may read them: what refuses it is the sandbox, and not whose they are.
    let write = |path: &Path| {
        fs::write(path, &token)?;
        fs::set_permissions(path, Permissions::from_mode(0o644))
    };
    let (secret, neighbour) = (folder.join("secret"), folder.join("neighbour"));
    write(&secret)?;
    write(&neighbour.join("private"))?;
    write(&folder.join("shown/file"))?;
    for path in &held.leftovers {
        write(path)?;
    }
    if crate::tool::is_root() {
        let owner = Some(NEIGHBOUR);
        chown(&neighbour, owner, owner)?;
        chown(neighbour.join("private"), owner, owner)?;
    }
    programs(&folder.join("shown"));
    symlink(&secret, folder.join("workspace/out"))?;
    symlink("../neighbour/private", folder.join("workspace/up"))?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let listener_6 = TcpListener::bind("[::1]:0").ok();
    if let Some(listener) = &listener_6 {
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
    let forgotten = [
        rustix::fs::open(&secret, OFlags::RDONLY, Mode::empty())?,
        rustix::io::dup(&listener)?,
    ];
    let (mut victim, holds, address) = victim(&folder, &token)?;
    let port_6 = listener_6.as_ref().map(TcpListener::local_addr);
    let ports = listener
        .local_addr()
        .and_then(|port| Ok((port.port(), port_6.transpose()?.map(|port| port.port()))));
    let (port, port_6) = match ports {
        Ok(ports) => ports,
        Err(error) => {
            let _ = victim.kill();
            let _ = victim.wait();
            return Err(error);
        }
    };
    Ok(Decoys {
        bait: Bait {
            token,
            secret,
            neighbour,
            shown: folder.join("shown"),
            leftovers: held.leftovers.clone(),
            port,
            port_6,
            socket,
            name,
            victim: victim.id(),
            address,
            server: std::process::id(),
            program,
            machine: rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned(),
            shares_mounts: true,
            folder,
        },
        victim,
        _holds: holds,
        _forgotten: forgotten,
        listener,
        listener_6,
        paths,
    })
}

/// Programs with more rights than those who begin them have, where somebody could give them.
fn programs(folder: &Path) {
    if !crate::tool::is_root() {
        return;
    }
    for name in PROGRAMS {
        let (from, to) = (Path::new("/usr/bin").join(name), folder.join(name));
        if fs::copy(from, &to).is_err() {
            continue;
        }
        let mode = if name == "id" { 0o4755 } else { 0o755 };
        let _ = fs::set_permissions(&to, Permissions::from_mode(mode));
    }
    // Two capabilities, and they are used (`struct vfs_cap_data`, version 2).
    let rights = [1, 0, 0, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    if let Ok(path) = crate::tool::text(folder.join("cat")) {
        let none = rustix::fs::XattrFlags::empty();
        let _ = rustix::fs::setxattr(&*path, c"security.capability", &rights, none);
    }
}

/// A process that holds secrets in every way that it can.
fn victim(folder: &Path, token: &str) -> io::Result<(Child, ChildStdin, u64)> {
    let mut victim = Command::new("/proc/self/exe")
        .args([ARGUMENT, process::VICTIM, token])
        .current_dir(folder)
        .env(VARIABLE, token)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    let told = victim.stdout.take();
    let read = told.map(|told| BufReader::new(told).read_line(&mut line));
    if let (Some(Ok(_)), Ok(address), Some(holds)) =
        (read, line.trim().parse(), victim.stdin.take())
    {
        return Ok((victim, holds, address));
    }
    let _ = victim.kill();
    let _ = victim.wait();
    Err(io::Error::other("there is nobody to attack"))
}

/// Is the victim: has a secret in its memory and a file open, until nobody holds its input.
pub(crate) fn be_victim(token: Option<&OsStr>) -> io::Result<()> {
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
