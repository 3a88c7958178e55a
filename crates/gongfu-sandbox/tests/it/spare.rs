//! The child that is begun ahead of time: whose it is, how often it is used, and when it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command as Process, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gongfu_core::account::{Owner, UserId};
use gongfu_core::port::Sandbox as _;
use gongfu_core::sandbox::{Command, Exit, Input, Level, Limits, Outcome, Reason};
use gongfu_sandbox::Runner;
use tokio::runtime::Runtime;

use crate::alone::{ALONE, PATIENCE, alive, children, ends};
use crate::ground::{Ground, groups_of, runtime, text};

/// What the first process of a sandbox calls itself that waits for its plan.
const NAME: &str = "gongfu-spare";

pub(crate) const ALL: [(&str, fn()); 10] = [
    ("each_is_used_once", each_is_used_once),
    ("whoever_ends_leaves_none", whoever_ends_leaves_none),
    ("limits_are_those_of_the_run", limits_are_those_of_the_run),
    ("time_begins_with_the_run", time_begins_with_the_run),
    (
        "nothing_of_one_run_is_in_the_next",
        nothing_of_one_run_is_in_the_next,
    ),
    (
        "a_network_is_used_again_by_its_owner_alone",
        a_network_is_used_again_by_its_owner_alone,
    ),
    (
        "nothing_of_one_run_is_in_the_network_of_the_next",
        nothing_of_one_run_is_in_the_network_of_the_next,
    ),
    ("one_that_died_is_not_used", one_that_died_is_not_used),
    (
        "one_that_dies_on_its_way_takes_nothing_with_it",
        one_that_dies_on_its_way_takes_nothing_with_it,
    ),
    ("a_killed_server_leaves_none", a_killed_server_leaves_none),
];

/// A server with a ground.
struct Server {
    ground: Ground,
    runner: Runner,
    runtime: Runtime,
}

impl Server {
    fn new() -> Self {
        Self {
            ground: Ground::new(Level::Namespaces),
            runner: Runner::new(Some(Level::Namespaces)),
            runtime: runtime(),
        }
    }

    fn run(&self, owner: &Owner, line: &str, limits: Limits) -> Outcome {
        let mut spec = self.ground.spec(Command::Line(line.to_owned()));
        spec.limits = limits;
        let running = self.runner.run(owner, spec, Arc::new(|_, _| {}));
        self.runtime.block_on(running).unwrap()
    }

    fn says(&self, line: &str) -> String {
        let outcome = self.run(&Owner::Local, line, self.ground.limits);
        assert_eq!(outcome.exit, Some(Exit::Code(0)), "{line}: {outcome:?}");
        text(&outcome.stdout)
    }
}

/// Waits until there is a spare; answers which.
fn spare() -> u32 {
    let begun = Instant::now();
    loop {
        if let Some(spare) = spares().first() {
            return *spare;
        }
        assert!(begun.elapsed() < PATIENCE, "there is no spare");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The spares of this process.
fn spares() -> Vec<u32> {
    children(NAME)
}

fn each_is_used_once() {
    let server = Server::new();
    let world = || server.says("readlink /proc/self/ns/pid /proc/self/ns/user /proc/self/ns/mnt");
    let mut worlds = vec![world()];
    for _ in 0..3 {
        let waits = spare();
        worlds.push(world());
        // It was used for the run, and went with it.
        ends(waits);
    }
    let count = worlds.len();
    worlds.sort();
    worlds.dedup();
    assert_eq!(worlds.len(), count);
    // What still waits goes with the one that keeps it.
    let last = spare();
    drop(server);
    ends(last);
}

/// Whether one is just being begun, is there, or was there for a while when its server ends.
fn whoever_ends_leaves_none() {
    for pause in [0, 0, 0, 0, 2, 4, 8, 16, 64] {
        let server = Server::new();
        server.says("true");
        std::thread::sleep(Duration::from_millis(pause));
        drop(server.runner);
        assert_eq!(spares(), Vec::<u32>::new(), "after {pause} ms");
        let left = groups_of(std::process::id());
        assert_eq!(left, Vec::<PathBuf>::new(), "after {pause} ms");
    }
}

fn limits_are_those_of_the_run() {
    let server = Server::new();
    server.says("true");
    spare();
    let mut limits = server.ground.limits;
    limits.disk = 1024 * 1024;
    limits.open_files = 33;
    let outcome = server.run(
        &Owner::Local,
        "ulimit -n; head -c 8388608 /dev/zero > /tmp/much",
        limits,
    );
    assert_eq!(text(&outcome.stdout), "33\n");
    assert_eq!(outcome.reason, Reason::Disk, "{outcome:?}");
    // And those before it are so again.
    spare();
    server.says("head -c 8388608 /dev/zero > /tmp/much");
}

fn time_begins_with_the_run() {
    let server = Server::new();
    let mut limits = server.ground.limits;
    limits.wall = Duration::from_secs(4);
    server.run(&Owner::Local, "true", limits);
    spare();
    std::thread::sleep(Duration::from_secs(5));
    let outcome = server.run(&Owner::Local, "echo said", limits);
    assert_eq!(
        (outcome.reason, text(&outcome.stdout).as_str()),
        (Reason::Ok, "said\n")
    );
    spare();
    let outcome = server.run(&Owner::Local, "sleep 60", limits);
    assert_eq!(outcome.reason, Reason::Timeout);
}

fn nothing_of_one_run_is_in_the_next() {
    let server = Server::new();
    let owners = [
        Owner::User(UserId::new("one").unwrap()),
        Owner::User(UserId::new("other").unwrap()),
    ];
    let line = "env | grep -c secret; ls -A /tmp /dev/shm | grep -c file; \
                echo > /tmp/file; echo > /dev/shm/file; id -u";
    let mut spec = server.ground.spec(Command::Line(line.to_owned()));
    spec.environment = BTreeMap::from([("NAME".to_owned(), "secret".to_owned())]);
    let running = server.runner.run(&owners[0], spec, Arc::new(|_, _| {}));
    let outcome = server.runtime.block_on(running).unwrap();
    assert_eq!(text(&outcome.stdout), "1\n0\n1000\n");
    for owner in [&owners[1], &owners[1], &owners[0]] {
        spare();
        let outcome = server.run(owner, line, server.ground.limits);
        assert_eq!(text(&outcome.stdout), "0\n0\n1000\n");
    }
}

/// A user of a server.
fn user(name: &str) -> Owner {
    Owner::User(UserId::new(name).unwrap())
}

fn a_network_is_used_again_by_its_owner_alone() {
    let server = Server::new();
    let (one, other) = (user("one"), user("other"));
    let network = |owner: &Owner| {
        let outcome = server.run(owner, "readlink /proc/self/ns/net", server.ground.limits);
        text(&outcome.stdout)
    };
    // What is begun ahead of time has one as well, which comes into use by and by.
    let of = |owner: &Owner| -> BTreeSet<String> { (0..6).map(|_| network(owner)).collect() };
    let (ones, others) = (of(&one), of(&other));
    assert!(ones.len() < 6, "none was used again: {ones:?}");
    let both: Vec<_> = ones.intersection(&others).collect();
    assert_eq!(both, Vec::<&String>::new());
    // Nor are two runs in the same one at a time.
    let line = "readlink /proc/self/ns/net; sleep 1";
    let spec = || server.ground.spec(Command::Line(line.to_owned()));
    let run = || server.runner.run(&one, spec(), Arc::new(|_, _| {}));
    let ran = server
        .runtime
        .block_on(async { tokio::join!(run(), run(), run()) });
    let ran = [ran.0, ran.1, ran.2].map(|outcome| text(&outcome.unwrap().stdout));
    assert_eq!(BTreeSet::from(ran).len(), 3);
}

fn nothing_of_one_run_is_in_the_network_of_the_next() {
    let server = Server::new();
    // What it shows of itself, and whether the ends of a socket can be had.
    server.ground.write(
        "skill/look.py",
        r#"
import os, socket, sys, time
for name in "arp dev nf_conntrack packet raw route snmp snmp6 tcp tcp6 udp udp6 unix".split():
    try:
        print(name, open("/proc/self/net/" + name).read())
    except OSError as error:
        print(name, error.errno)
ends = [
    (socket.AF_INET, ("0.0.0.0", 7777)),
    (socket.AF_INET, ("127.0.0.1", 7778)),
    (socket.AF_UNIX, "\0name"),
]
for family, address in ends:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            end = socket.socket(family, kind)
            end.bind(address)
            if kind == socket.SOCK_STREAM:
                end.listen()
            other = socket.socket(family, kind)
            other.connect(address)
            other.send(b"1")
            print(family, kind, "sent")
        except OSError as error:
            print(family, kind, error.errno)
pair = socket.socketpair()
print("sockets", len(open("/proc/self/net/unix").readlines()))
sys.stdout.flush()
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
os._exit(0)
"#,
    );
    let look = || {
        let told = server.says("readlink /proc/self/ns/net; python3 look.py");
        let (network, told) = told.split_once('\n').unwrap();
        (network.to_owned(), told.to_owned())
    };
    let (network, first) = look();
    // Its own pair, below a line of titles, would be there of another run as well.
    assert!(
        first.contains("snmp Ip:") && first.contains("sockets 3"),
        "{first}"
    );
    let mut networks = BTreeSet::from([network]);
    for _ in 0..9 {
        let (network, told) = look();
        assert_eq!(told, first);
        networks.insert(network);
    }
    assert!(networks.len() < 10, "none was used again: {networks:?}");
}

fn one_that_died_is_not_used() {
    let server = Server::new();
    server.says("true");
    let waits = spare();
    let number = rustix::process::Pid::from_raw(i32::try_from(waits).unwrap()).unwrap();
    rustix::process::kill_process(number, rustix::process::Signal::KILL).unwrap();
    ends(waits);
    assert_eq!(server.says("echo said"), "said\n");
}

fn one_that_dies_on_its_way_takes_nothing_with_it() {
    let server = Server::new();
    server.says("true");
    let waits = spare();
    let number = rustix::process::Pid::from_raw(i32::try_from(waits).unwrap()).unwrap();
    // It is there, and never does what it is told.
    rustix::process::kill_process(number, rustix::process::Signal::STOP).unwrap();
    let ending = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        rustix::process::kill_process(number, rustix::process::Signal::KILL).unwrap();
    });
    let long = "line\n".repeat(100_000);
    let comes = std::io::Cursor::new(long.clone().into_bytes());
    let mut spec = server.ground.spec(Command::Line("wc -c".to_owned()));
    spec.input = Input::Reader(Arc::new(Mutex::new(comes)));
    let running = server.runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
    let outcome = server.runtime.block_on(running).unwrap();
    ending.join().unwrap();
    ends(waits);
    assert_eq!(text(&outcome.stdout), format!("{}\n", long.len()));
}

/// What a server is told to be that waits with its spare until it is killed.
pub(crate) const FORGOTTEN: &str = "forgotten";

pub(crate) fn forgotten() -> ExitCode {
    let server = Server::new();
    server.says("true");
    println!("{}", spare());
    loop {
        std::thread::park();
    }
}

fn a_killed_server_leaves_none() {
    let mut server = Process::new(std::env::current_exe().unwrap())
        .args([ALONE, FORGOTTEN])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = String::new();
    let mut said = BufReader::new(server.stdout.take().unwrap());
    said.read_line(&mut told).unwrap();
    let waits = told.trim().parse().unwrap();
    assert!(alive(waits));
    server.kill().unwrap();
    server.wait().unwrap();
    ends(waits);
}
