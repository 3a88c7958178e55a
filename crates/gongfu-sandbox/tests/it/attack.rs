//! Attacks that must fail: each is a script that says `REACHED` when it got what it wanted.
//!
//! Every one runs outside first, where it must succeed: else it proves nothing, and counts as failed.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::{Command as Process, Stdio};

use gongfu_core::sandbox::{Command, Level};
use libtest_mimic::{Failed, Trial};

use crate::ground::{Ground, VICTIM, text};

/// What a script says that got what it wanted.
const REACHED: &str = "REACHED";

/// What an attack needs to succeed outside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// To be root, who may do nearly everything.
    Root,
}

/// Each attack: its name, what its control needs, and its Python.
///
/// `secret` is a file of the machine, `port` a listener at 127.0.0.1, `path` and `name` sockets,
/// `victim` a process of the machine.
const ATTACKS: &[(&str, Needs, &str)] = &[
    (
        "files::a_file_of_the_machine",
        Needs::Nothing,
        "open(secret).read(); reached()",
    ),
    (
        "files::climbing_out",
        Needs::Nothing,
        "open('../' * 20 + secret).read(); reached()",
    ),
    (
        "files::a_link_out",
        Needs::Nothing,
        "os.symlink(secret, mine + '/l'); open(mine + '/l').read(); reached()",
    ),
    (
        "files::a_hard_link_out",
        Needs::Nothing,
        "os.link(secret, os.path.dirname(secret) + '/hard'); reached()",
    ),
    (
        "files::root_of_the_victim",
        Needs::Root,
        "open(f'/proc/{victim}/root' + secret).read(); reached()",
    ),
    (
        "files::writing_to_programs",
        Needs::Root,
        "open('/usr/local/planted', 'w').close(); os.unlink('/usr/local/planted'); reached()",
    ),
    (
        "files::writing_to_settings",
        Needs::Root,
        "open('/etc/planted', 'w').close(); os.unlink('/etc/planted'); reached()",
    ),
    (
        "files::the_hosts_passwords",
        Needs::Root,
        "'root' in open('/etc/shadow').read() and reached()",
    ),
    (
        "files::the_kernels_files",
        Needs::Nothing,
        "os.listdir('/sys/kernel') and reached()",
    ),
    (
        "files::settings_of_the_kernel",
        Needs::Nothing,
        "open('/proc/sys/kernel/hostname').read() and reached()",
    ),
    (
        "files::disks_of_the_machine",
        Needs::Nothing,
        "open('/proc/partitions').read() and reached()",
    ),
    (
        "kernel::ptrace",
        Needs::Root,
        "call(101, 16, victim, 0, 0); reached()",
    ),
    (
        "kernel::mount",
        Needs::Root,
        "enter(); call(165, b'none', b'/tmp', b'tmpfs', 0, 0); reached()",
    ),
    (
        "kernel::open_tree",
        Needs::Root,
        "call(428, -100, b'/', 1); reached()",
    ),
    (
        "kernel::fsopen",
        Needs::Root,
        "call(430, b'tmpfs', 0); reached()",
    ),
    (
        "kernel::unshare_a_user",
        Needs::Nothing,
        "call(272, 0x10000000); reached()",
    ),
    (
        "kernel::clone_into_a_user",
        Needs::Nothing,
        "pid = call(56, 0x10000000 | 17, 0, 0, 0, 0); pid or os._exit(0); reached()",
    ),
    (
        "kernel::setns",
        Needs::Root,
        "call(308, os.open('/proc/self/ns/net', 0), 0); reached()",
    ),
    ("kernel::chroot", Needs::Root, "call(161, b'/'); reached()"),
    (
        "kernel::keys",
        Needs::Nothing,
        "call(248, b'user', b'k', b'v', 1, -2); reached()",
    ),
    (
        "kernel::bpf",
        Needs::Root,
        "call(321, 0, struct.pack('IIIIIIII', 2, 4, 4, 1, 0, 0, 0, 0) + bytes(96), 128); reached()",
    ),
    (
        "kernel::watching_the_processor",
        Needs::Root,
        "call(298, struct.pack('IIQ', 1, 128, 0) + bytes(112), 0, -1, -1, 0); reached()",
    ),
    (
        "kernel::faults_of_memory",
        Needs::Root,
        "call(323, 1); reached()",
    ),
    (
        "kernel::memory_of_another",
        Needs::Root,
        "import ctypes as c; b = c.create_string_buffer(8); open(f'/proc/{victim}/mem', 'rb'); reached()",
    ),
    (
        "kernel::a_handle_of_another",
        Needs::Root,
        "call(438, call(434, victim, 0), 0, 0); reached()",
    ),
    (
        "kernel::files_by_number",
        Needs::Root,
        "h = ctypes.create_string_buffer(struct.pack('II', 128, 0) + bytes(128)); m = ctypes.c_int(); call(303, -100, b'/', h, ctypes.byref(m), 0); reached()",
    ),
    (
        "kernel::the_log",
        Needs::Root,
        "call(103, 10, 0, 0); reached()",
    ),
    (
        "kernel::the_name_of_the_machine",
        Needs::Root,
        "call(170, socket.gethostname().encode(), len(socket.gethostname())); reached()",
    ),
    (
        "kernel::the_clock",
        Needs::Nothing,
        "call(305, 0, ctypes.create_string_buffer(512)); reached()",
    ),
    (
        "kernel::another_user",
        Needs::Root,
        "os.setuid(65534); reached()",
    ),
    (
        "kernel::a_device",
        Needs::Root,
        "os.mknod(mine + '/d', 0o20600, os.makedev(1, 3)); reached()",
    ),
    (
        "kernel::the_program_behind_it",
        Needs::Nothing,
        "open(f'/proc/{os.getppid()}/exe', 'rb').read(4) and reached()",
    ),
    (
        "kernel::memory_of_what_is_behind_it",
        Needs::Root,
        "open(f'/proc/{os.getppid()}/mem', 'r+b') and reached()",
    ),
    (
        "kernel::limits_of_others",
        Needs::Root,
        "import resource as r; r.prlimit(victim, r.RLIMIT_NOFILE); reached()",
    ),
    (
        "kernel::memory_that_nobody_counts",
        Needs::Nothing,
        "os.memfd_create('x'); reached()",
    ),
    (
        "kernel::memory_between_processes",
        Needs::Nothing,
        "call(29, 0, 4096, 0o1600); reached()",
    ),
    (
        "kernel::limits_of_what_watches",
        Needs::Nothing,
        "import resource as r; r.prlimit(os.getppid(), r.RLIMIT_NOFILE, r.prlimit(os.getppid(), r.RLIMIT_NOFILE)); reached()",
    ),
    (
        "kernel::signals_to_others",
        Needs::Root,
        "os.kill(victim, 0); reached()",
    ),
    (
        "kernel::seeing_others",
        Needs::Nothing,
        "str(victim) in os.listdir('/proc') and reached()",
    ),
    (
        "kernel::running_sooner",
        Needs::Root,
        "os.setpriority(os.PRIO_PROCESS, 0, -10); reached()",
    ),
    (
        "network::a_listener_of_the_machine",
        Needs::Nothing,
        "socket.create_connection(('127.0.0.1', port), 5); reached()",
    ),
    (
        "network::packets",
        Needs::Root,
        "socket.socket(socket.AF_PACKET, socket.SOCK_RAW); reached()",
    ),
    (
        "network::netlink",
        Needs::Nothing,
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); reached()",
    ),
    (
        "network::pairs_that_can_be_connected",
        Needs::Nothing,
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); reached()",
    ),
    (
        "network::odd_families",
        Needs::Nothing,
        "any(opens(f) for f in range(3, 46)) and reached()",
    ),
    (
        "network::a_socket_with_a_path",
        Needs::Nothing,
        "s = socket.socket(socket.AF_UNIX); s.connect(path); reached()",
    ),
    (
        "network::a_socket_with_a_name",
        Needs::Nothing,
        "s = socket.socket(socket.AF_UNIX); s.connect(name); reached()",
    ),
    (
        "tenancy::the_servers_environment",
        Needs::Nothing,
        "'GONGFU_TEST_SECRET' in os.environ and reached()",
    ),
    (
        "tenancy::environment_of_a_parent",
        Needs::Nothing,
        "b'GONGFU_TEST_SECRET' in open(f'/proc/{os.getppid()}/environ', 'rb').read() and reached()",
    ),
    (
        "tenancy::inherited_handles",
        Needs::Nothing,
        "len(os.listdir('/proc/self/fd')) > 4 and reached()",
    ),
    (
        "tenancy::leftovers_in_tmp",
        Needs::Nothing,
        "any(os.path.exists(p) for p in (leftover,)) and reached()",
    ),
];

const PRELUDE: &str = r"
import ctypes, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def reached(): print('REACHED')
def call(*a):
    r = libc.syscall(*(ctypes.c_long(x) if isinstance(x, int) else x for x in a))
    if r < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return r
def enter(): call(272, 0x20000)
def opens(family):
    try: socket.socket(family, socket.SOCK_RAW); return True
    except OSError: return False
";

/// What stands outside while an attack runs.
struct Bait {
    ground: Ground,
    port: u16,
    path: std::path::PathBuf,
    name: String,
    victim: std::process::Child,
    _listeners: (TcpListener, UnixListener, UnixListener),
}

impl Drop for Bait {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

impl Bait {
    fn new() -> Self {
        use std::os::linux::net::SocketAddrExt as _;
        let ground = Ground::new(Level::Namespaces);
        ground.write("secret", "secret");
        ground.write("leftover", "x");
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let path = ground.path("socket");
        let unix = UnixListener::bind(&path).unwrap();
        let name = ground
            .folder
            .path()
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
        let abstract_one = UnixListener::bind_addr(&address).unwrap();
        let victim = Process::new("sleep").arg("600").spawn().unwrap();
        Self {
            port: tcp.local_addr().unwrap().port(),
            path,
            name,
            victim,
            _listeners: (tcp, unix, abstract_one),
            ground,
        }
    }

    fn script(&self, mine: &str, attack: &str) -> String {
        let path = |path: std::path::PathBuf| path.display().to_string();
        format!(
            "{PRELUDE}\nsecret = {:?}\nleftover = {:?}\nport = {}\npath = {:?}\nname = {:?}\nvictim = {}\nmine = {mine:?}\ntry:\n    {attack}\n    print('tried')\nexcept Exception as e:\n    print('refused:', e)\n",
            path(self.ground.path("secret")),
            path(self.ground.path("leftover")),
            self.port,
            path(self.path.clone()),
            format!("\0{}", self.name),
            self.victim.id(),
        )
    }

    /// Runs an attack outside of any sandbox.
    fn outside(&self, attack: &str) -> String {
        let mine = tempfile::tempdir().unwrap();
        let script = self.script(&mine.path().display().to_string(), attack);
        // The handles that a careless server would leave open.
        let output = Process::new("bash")
            .args([
                "-c",
                "exec 7</dev/null 8</dev/null 9</dev/null; python3 -c \"$0\"; exit 0",
                &script,
            ])
            .env("GONGFU_TEST_SECRET", "secret")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs an attack in a sandbox of a server that has secrets in its environment and handles that
    /// it forgot to mark.
    fn inside_of_a_careless_server(&self, attack: &str) -> String {
        let script = self.script("/tmp", attack).replace('\'', "'\\''");
        let output = Process::new("bash")
            .args([
                "-c",
                "exec 7</dev/null 8</dev/null 9</dev/null; exec \"$0\" \"$@\"",
            ])
            .arg(std::env::current_exe().unwrap())
            .arg(VICTIM)
            .arg(Level::Namespaces.as_str())
            .arg(self.ground.path("logs"))
            .arg(format!("python3 -c '{script}'"))
            .env("GONGFU_TEST_SECRET", "secret")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn inside(&self, attack: &str) -> String {
        let script = self.script("/tmp", attack);
        let command = Command::Program(vec!["python3".to_owned(), "-c".to_owned(), script]);
        let outcome = self.ground.runs(command).unwrap();
        format!("{}{}", text(&outcome.stdout), text(&outcome.stderr))
    }
}

pub(crate) fn trials() -> Vec<Trial> {
    let is_root = rustix::process::geteuid().is_root();
    let trial = |(name, needs, attack): &(&'static str, Needs, &'static str)| {
        let (name, attack) = (*name, *attack);
        let is_void = *needs == Needs::Root && !is_root;
        let run = move || {
            let bait = Bait::new();
            let control = bait.outside(attack);
            if !control.contains(REACHED) {
                return Err(Failed::from(format!(
                    "outside it fails as well, so it proves nothing: {control}"
                )));
            }
            let told = if name.starts_with("tenancy::") {
                bait.inside_of_a_careless_server(attack)
            } else {
                bait.inside(attack)
            };
            if told.trim().is_empty() {
                return Err(Failed::from("it said nothing, so perhaps it never ran"));
            }
            if told.contains(REACHED) {
                return Err(Failed::from(format!("it got through: {told}")));
            }
            Ok(())
        };
        Trial::test(format!("attack::{name}"), run).with_ignored_flag(is_void)
    };
    ATTACKS.iter().map(trial).collect()
}
