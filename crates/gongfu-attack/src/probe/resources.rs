//! Probes that take more of the machine than a run is given, none of which would hurt it.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use gongfu_sandbox::syscall::fork;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::argument::{ARGUMENT, DAEMON};
use crate::decoys::Decoys;
use crate::goal::reached_if;
use crate::probe::Probe;
use crate::system::{c_path, call, command_line, contains, processes};

/// More files and more processes than a run may have.
const EXCESS: usize = 300;
/// The time that too many processes must survive; a sandbox may need a moment to count them.
const SURVIVAL: Duration = Duration::from_secs(3);

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(
        "resources::memfd",
        "Makes memory that no process has mapped.",
        |_| call!(libc::SYS_memfd_create, c"x", 0).map(drop),
    ),
    Probe::new(
        "resources::memfd_secret",
        "Makes memory that not even the kernel sees.",
        |_| call!(libc::SYS_memfd_secret, 0).map(drop),
    )
    .depends_on("secret memory"),
    Probe::new(
        "resources::shared_memory",
        "Makes memory that lives longer than its process.",
        |_| {
            let id = call!(libc::SYS_shmget, 0, 4096, libc::IPC_CREAT | 0o600)?;
            call!(libc::SYS_shmctl, id, libc::IPC_RMID, 0).map(drop)
        },
    ),
    Probe::new(
        "resources::semaphores",
        "Makes semaphores that live longer than their process.",
        |_| {
            let id = call!(libc::SYS_semget, 0, 1, libc::IPC_CREAT | 0o600)?;
            call!(libc::SYS_semctl, id, 0, libc::IPC_RMID, 0).map(drop)
        },
    ),
    Probe::new(
        "resources::watches",
        "Takes a place for watches of files, of which each user has a few.",
        |_| call!(libc::SYS_inotify_init1, 0).map(drop),
    ),
    Probe::new(
        "resources::messages",
        "Makes a queue that lives longer than its process.",
        |_| {
            let id = call!(libc::SYS_msgget, 0, libc::IPC_CREAT | 0o600)?;
            call!(libc::SYS_msgctl, id, libc::IPC_RMID, 0).map(drop)
        },
    ),
    Probe::new(
        "resources::message_queue",
        "Makes a queue with a name.",
        |bait| {
            let name = c_path(&bait.name)?;
            let flags = libc::O_CREAT | libc::O_RDWR;
            call!(libc::SYS_mq_open, &*name, flags, 0o600, 0)?;
            call!(libc::SYS_mq_unlink, &*name).map(drop)
        },
    )
    .depends_on("queues with names"),
    Probe::new(
        "resources::locked_memory",
        "Has all its memory stay in memory.",
        |_| call!(libc::SYS_mlockall, libc::MCL_CURRENT | libc::MCL_FUTURE).map(drop),
    )
    .root(),
    Probe::new(
        "resources::files",
        "Has more files open than a run may.",
        |_| {
            let open = (0..EXCESS).map(|_| File::open("/dev/null"));
            open.collect::<io::Result<Vec<_>>>().map(drop)
        },
    ),
    Probe::new(
        "resources::processes",
        "Runs more processes at once than a run may.",
        |_| start_many(),
    ),
    Probe::new(
        "resources::long_file",
        "Makes a file that is longer than a run may make.",
        |_| {
            let file = File::create("long")?;
            file.set_len(1 << 30)
        },
    ),
    Probe::new(
        "resources::higher_limit",
        "Gives itself a higher limit.",
        // Of one of them it is only said that it is done.
        |_| raise(Resource::Core).or_else(|_| raise(Resource::Msgqueue)),
    )
    .root()
    .depends_on("root that may go past limits"),
    Probe::new(
        "resources::priority",
        "Has itself run before others.",
        |_| call!(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, -10).map(drop),
    )
    .root(),
    Probe::new(
        "resources::real_time",
        "Has itself run before everything.",
        |_| {
            let priority = 1_u32.to_ne_bytes();
            call!(
                libc::SYS_sched_setscheduler,
                0,
                libc::SCHED_FIFO,
                &priority[..]
            )
            .map(drop)
        },
    )
    .root()
    .depends_on("time on processors that is given out so"),
    Probe::new(
        "resources::oom_score",
        "Has others be ended before it when memory is short.",
        |_| fs::write("/proc/self/oom_score_adj", "-500"),
    )
    .root()
    .depends_on("root that may go past limits"),
    Probe::new(
        "resources::oom_score_as_before",
        "Has itself be ended no sooner than others when memory is short.",
        |_| fs::write("/proc/self/oom_score_adj", "0"),
    )
    .root(),
    Probe::new(
        "resources::daemon",
        "Begins a process that lives longer than its run.",
        |bait| start_daemon(&bait.token),
    )
    .found(find_daemon),
];

/// Reached when the limit is higher than before.
fn raise(of: Resource) -> io::Result<()> {
    let limit = getrlimit(of);
    let more = limit.maximum.map_or(1 << 40, |maximum| maximum + 1);
    let to = |current, maximum| {
        let limit = Rlimit { current, maximum };
        setrlimit(of, limit)
    };
    // Where there is no limit there is one to begin with.
    if limit.maximum.is_none() {
        to(Some(0), Some(0))?;
    }
    to(limit.current, Some(more))?;
    reached_if(getrlimit(of).maximum == Some(more))
}

/// Reached when all of them exist at once, and survive.
#[expect(
    clippy::disallowed_methods,
    reason = "it is another process, which has nothing else to do"
)]
fn start_many() -> io::Result<()> {
    let (wait, end) = rustix::pipe::pipe()?;
    for _ in 0..EXCESS {
        if fork()?.is_none() {
            drop(end);
            let _ = rustix::io::read(&wait, &mut [0; 1]);
            std::process::exit(0);
        }
    }
    std::thread::sleep(SURVIVAL);
    drop(end);
    Ok(())
}

/// Starts a daemon.
fn start_daemon(token: &str) -> io::Result<()> {
    let mut daemon = Command::new("/proc/self/exe")
        .args([ARGUMENT, DAEMON, token])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    // It is found by its arguments, which it has once it writes.
    let output = daemon.stdout.take();
    output
        .map_or(Ok(0), |mut output| output.read(&mut [0; 1]))
        .map(drop)
}

/// True when a daemon still runs; it is killed.
fn find_daemon(decoys: &Decoys) -> bool {
    let mark = [DAEMON, &decoys.bait.token].join("\0");
    let is_daemon = |number: &u32| contains(&command_line(*number), mark.as_bytes());
    let all = processes().unwrap_or_default();
    let living: Vec<u32> = all.into_iter().filter(is_daemon).collect();
    for number in &living {
        let number = i32::try_from(*number).ok();
        if let Some(number) = number.and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(number, rustix::process::Signal::KILL);
        }
    }
    !living.is_empty()
}
