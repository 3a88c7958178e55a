//! Calls at random: many short-lived processes make any call there is with any arguments, and
//! whatever comes of that stays inside.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gongfu_core::account::Owner;
use gongfu_core::sandbox::Exit;
use gongfu_sandbox::Runner;
use gongfu_sandbox::backend::{HostView, Profile};
use gongfu_sandbox::syscall::{anything, fork};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, waitpid};

use crate::bait::{Bait, Decoys};
use crate::{ARGUMENT, process, server, tool};

/// How long one run takes; after it, all that it may have harmed is looked at.
const RUN: Duration = Duration::from_secs(2);
/// How many calls a process makes.
const CALLS: u64 = 24;
/// How long they may take together, in nanoseconds: a call that waits is waited for no longer.
const TIMEOUT: i64 = 15_000_000;
/// Calls with higher numbers aren't there.
const HIGHEST: u64 = 480;
/// What would only end the process that makes the calls, or have it wait for nothing.
const LEFT_OUT: &[i64] = &[
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_rt_sigsuspend,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_pause,
];
/// What is said of how many calls were made.
const SAID: &str = "calls ";

/// A request to make calls at random.
pub struct Fuzz {
    /// The kind of sandbox that it is done in.
    pub profile: &'static Profile,
    /// What runs things in it.
    pub runner: Runner,
    /// The kinds of mounts that appear on the host when such a sandbox is made.
    pub own_mounts: &'static [&'static str],
    /// What decides which calls are made.
    pub seed: u64,
    /// For how long.
    pub time: Duration,
}

/// A report of them.
#[derive(Debug, Default)]
pub struct FuzzReport {
    /// How often a sandbox was made.
    pub runs: u64,
    /// How many calls were made at least.
    pub calls: u64,
    /// How the runs ended, and how many of them so.
    pub ended: BTreeMap<String, u64>,
    /// What of the machine was harmed; empty when nothing was.
    pub harmed: Vec<String>,
}

/// Makes calls at random in sandboxes, one after the other; `progress` hears of what came of it so far.
///
/// # Errors
/// Nothing can be laid out, or the level is one in which a signal could reach what isn't laid out.
pub fn fuzz(what: Fuzz, mut progress: impl FnMut(&FuzzReport)) -> io::Result<FuzzReport> {
    if what.profile.host == HostView::Open {
        let why = "without namespaces, calls at random would only be kept from this machine's \
                   processes by what they are to prove";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    let begun = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let program = server::Program::new(false)?;
    let mut decoys = Decoys::new()?;
    let bait = server::seen_from(what.profile, &program, &decoys);
    let before = machine(what.own_mounts);
    let mut random = Random::new(what.seed);
    let mut fuzzed = FuzzReport::default();
    while fuzzed.harmed.is_empty() && begun.elapsed() < what.time {
        let time = RUN.min(what.time.saturating_sub(begun.elapsed()));
        let arguments = [
            ARGUMENT.to_owned(),
            process::FUZZ.to_owned(),
            bait.token.clone(),
            random.next().to_string(),
            time.as_millis().to_string(),
            process::told(&bait)?,
        ];
        let spec = server::spec(what.profile, &program, &decoys, arguments.into())?;
        let ran = runtime.block_on(what.runner.run(&Owner::Local, spec, Arc::new(|_, _| {})));
        let ended = match ran {
            Ok(outcome) => {
                let said = [outcome.stdout.head, outcome.stdout.tail].concat();
                fuzzed.calls += calls(&said);
                match outcome.exit {
                    Some(Exit::Code(code)) => format!("exit {code}"),
                    Some(Exit::Signal(signal)) => format!("signal {signal}"),
                    None => outcome.reason.as_str().to_owned(),
                }
            }
            Err(error) => format!("error: {error}"),
        };
        *fuzzed.ended.entry(ended).or_default() += 1;
        fuzzed.runs += 1;
        fuzzed.harmed = decoys.spoilt();
        let strays = strays(&bait);
        if strays > 0 {
            fuzzed.harmed.push(format!("{strays} processes live on"));
        }
        if machine(what.own_mounts) != before {
            fuzzed.harmed.push("the machine was changed".to_owned());
        }
        progress(&fuzzed);
    }
    Ok(fuzzed)
}

/// How many calls a run says that it made.
fn calls(said: &[u8]) -> u64 {
    let said = String::from_utf8_lossy(said);
    let told = said.lines().filter_map(|line| line.strip_prefix(SAID));
    let told = told.filter_map(|number| number.parse::<u64>().ok());
    // Whatever else is said at random is no such number.
    told.filter(|number| *number < 100_000_000)
        .max()
        .unwrap_or_default()
}

/// What calls could change of the server and of what it runs on.
fn machine(own_mounts: &[&str]) -> Vec<String> {
    let is_own = |line: &str| {
        let mut own = own_mounts.iter();
        own.any(|kind| line.contains(&format!(" - {kind} ")))
    };
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mounts: Vec<&str> = mounts.lines().filter(|line| !is_own(line)).collect();
    let name = rustix::system::uname();
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    vec![
        name.nodename().to_string_lossy().into_owned(),
        name.domainname().to_string_lossy().into_owned(),
        mounts.join("\n"),
        read("/proc/self/limits"),
        read("/proc/self/uid_map"),
        read("/proc/self/oom_score_adj"),
    ]
}

/// How many processes of a run are still there.
fn strays(bait: &Bait) -> usize {
    let all = tool::processes().unwrap_or_default().into_iter();
    let is_stray = |number: &u32| {
        let told = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        *number != bait.victim && tool::contains(&told, bait.token.as_bytes())
    };
    all.filter(is_stray).count()
}

/// Makes calls at random until the time is over: is told what stands in the name of all that is laid
/// out, a seed, milliseconds, and the bait.
pub(crate) fn inside(arguments: &[String]) -> io::Result<()> {
    let [_, seed, time, bait] = arguments else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let (Ok(seed), Ok(time), Some(bait)) = (seed.parse(), time.parse(), process::read(bait)) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let (begun, time) = (Instant::now(), Duration::from_millis(time));
    let mut random = Random::new(seed);
    // Who loses its parent comes to this one.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let (count, counted) = rustix::pipe::pipe()?;
    for end in [&count, &counted] {
        rustix::fs::fcntl_setfl(end, OFlags::NONBLOCK)?;
    }
    let values = Values::new(&bait)?;
    let (mut calls, mut processes) = (0_u64, 0_u64);
    while begun.elapsed() < time {
        let seed = random.next();
        match fork() {
            Ok(None) => child(&mut Random::new(seed), &values, &counted),
            Ok(Some(number)) => end(number),
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
        clear();
        let mut room = [0; 4096];
        if let Ok(read) = rustix::io::read(&count, &mut room) {
            calls += read as u64;
        }
        processes += 1;
        if processes.is_multiple_of(50) {
            writeln!(io::stdout(), "\n{SAID}{calls}")?;
        }
    }
    writeln!(io::stdout(), "\n{SAID}{calls}")
}

/// Waits for a process, and ends it when it doesn't.
fn end(number: Pid) {
    let patience = Timespec {
        tv_sec: 0,
        tv_nsec: TIMEOUT,
    };
    if let Ok(handle) = pidfd_open(number, PidfdFlags::empty()) {
        let mut watched = [PollFd::new(&handle, PollFlags::IN)];
        let _ = poll(&mut watched, Some(&patience));
    }
    let _ = kill_process(number, Signal::KILL);
    let _ = waitpid(Some(number), WaitOptions::empty());
}

/// Ends what the processes began, and only that.
fn clear() {
    let mark = format!("PPid:\t{}\n", std::process::id());
    for number in tool::processes().unwrap_or_default() {
        let status = fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
        let number = i32::try_from(number).ok().and_then(Pid::from_raw);
        if let Some(number) = number.filter(|_| status.contains(&mark)) {
            let _ = kill_process(number, Signal::KILL);
            let _ = waitpid(Some(number), WaitOptions::empty());
        }
    }
}

/// Makes some calls, and counts each.
#[expect(
    clippy::disallowed_methods,
    reason = "it is another process, which has nothing else to do"
)]
fn child(random: &mut Random, values: &Values, counted: &std::os::fd::OwnedFd) -> ! {
    for _ in 0..CALLS {
        let number = number(random);
        if LEFT_OUT.contains(&number) {
            continue;
        }
        let arguments = [(); 6].map(|()| values.any(random));
        let _ = rustix::io::write(counted, b"1");
        let _ = anything(number, arguments);
    }
    std::process::exit(0);
}

/// Any call, sometimes one that isn't there or of another convention.
fn number(random: &mut Random) -> i64 {
    let number = match random.below(100) {
        0 => 0x4000_0000 | random.below(HIGHEST),
        1 => random.next(),
        _ => random.below(HIGHEST),
    };
    number.cast_signed()
}

/// What arguments are chosen from.
struct Values {
    paths: Vec<CString>,
    processes: Vec<i64>,
}

impl Values {
    fn new(bait: &Bait) -> io::Result<Self> {
        let parent = std::os::unix::process::parent_id();
        let paths = [
            "/".to_owned(),
            "/proc/1/mem".to_owned(),
            "/proc/self/exe".to_owned(),
            "/proc/self/oom_score_adj".to_owned(),
            "/usr/bin/env".to_owned(),
            "/dev/null".to_owned(),
            "/tmp/x".to_owned(),
            "x".to_owned(),
            "..".to_owned(),
            String::new(),
            bait.secret.display().to_string(),
            bait.socket.display().to_string(),
            "out".to_owned(),
        ];
        let paths = paths.into_iter().map(CString::new);
        Ok(Self {
            paths: paths.collect::<Result<_, _>>()?,
            processes: [0, 1, parent, std::process::id(), bait.victim, bait.server]
                .map(i64::from)
                .into(),
        })
    }

    /// Any value: a number, flags, an open file, a process, or the address of something.
    fn any(&self, random: &mut Random) -> i64 {
        let value = match random.below(10) {
            0 => 0,
            1 => random.below(16),
            2 => random.below(4096),
            3 => 1 << random.below(64),
            4 => 1 << random.below(32) | 1 << random.below(32),
            5 => u64::MAX - random.below(128),
            6 => random.next(),
            7 => {
                let which = random.below(self.processes.len() as u64);
                let process = usize::try_from(which).ok();
                let process = process.and_then(|which| self.processes.get(which));
                process.copied().unwrap_or_default().cast_unsigned()
            }
            8 => {
                let which = random.below(self.paths.len() as u64);
                let path = usize::try_from(which).ok();
                let path = path.and_then(|which| self.paths.get(which));
                path.map_or(0, |path| path.as_ptr().expose_provenance()) as u64
            }
            _ => {
                let numbers = [(); 64].map(|()| random.next() >> random.below(64));
                // It is never given back: the process is soon over.
                Box::leak(Box::new(numbers))
                    .as_mut_ptr()
                    .expose_provenance() as u64
            }
        };
        value.cast_signed()
    }
}

/// Numbers that look like chance, and are the same for the same seed (xorshift64*).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        // From zero it would never get away.
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).max(1))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 16).checked_rem(end).unwrap_or_default()
    }
}
