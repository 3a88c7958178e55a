//! Random calls of the kernel: many short-lived processes make any call with any arguments, and must
//! harm nothing outside of the sandbox.

mod random;

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

use crate::argument::{ARGUMENT, FUZZ};
use crate::bait::Bait;
use crate::decoys::Decoys;
use crate::inside::{Program, bait_inside, spec};
use crate::system::{command_line, contains, processes};
use random::Random;

/// The length of one run; damage is looked for after each.
const RUN: Duration = Duration::from_secs(2);
/// The number of calls that a process makes.
const CALLS: u64 = 24;
/// The time limit of all calls of a process together, in nanoseconds: some calls wait for ever.
const TIMEOUT: i64 = 15_000_000;
/// The limit of the numbers of calls; the kernel has none above.
const CALL_NUMBERS: u64 = 480;
/// Calls that are never made: they would only end the process, or wait for nothing.
const EXCLUDED: &[i64] = &[
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_rt_sigsuspend,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_pause,
];
/// The start of the line with the number of calls that were made.
const COUNT: &str = "calls ";

/// A request to make random calls.
pub struct Fuzz {
    /// The kind of sandbox to make them in.
    pub profile: &'static Profile,
    /// The runner of that sandbox.
    pub runner: Runner,
    /// The kinds of mounts that appear on the host when such a sandbox is made.
    pub own_mounts: &'static [&'static str],
    /// The seed that all calls follow from.
    pub seed: u64,
    /// The time to spend.
    pub time: Duration,
}

/// A report about random calls.
#[derive(Debug, Default)]
pub struct FuzzReport {
    /// The number of sandboxes that were made.
    pub runs: u64,
    /// The number of calls, at least.
    pub calls: u64,
    /// The number of runs by how they ended.
    pub ended: BTreeMap<String, u64>,
    /// Damage to the machine.
    pub harmed: Vec<String>,
}

/// Makes random calls in one sandbox after the other, until something is harmed or the time is over;
/// `progress` gets the report so far.
///
/// # Errors
/// Nothing can be laid out, or the sandbox shows the host, where a signal could reach any process.
pub fn fuzz(request: Fuzz, mut progress: impl FnMut(&FuzzReport)) -> io::Result<FuzzReport> {
    if request.profile.host == HostView::Open {
        let why = "without namespaces, calls at random would only be kept from this machine's \
                   processes by what they are to prove";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    let started = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let program = Program::new(false)?;
    let mut decoys = Decoys::new()?;
    let bait = bait_inside(request.profile, &program, &decoys);
    let before = machine_state(request.own_mounts);
    let mut random = Random::new(request.seed);
    let mut report = FuzzReport::default();
    while report.harmed.is_empty() && started.elapsed() < request.time {
        let time = RUN.min(request.time.saturating_sub(started.elapsed()));
        let arguments = [
            ARGUMENT.to_owned(),
            FUZZ.to_owned(),
            bait.token.clone(),
            random.next().to_string(),
            time.as_millis().to_string(),
            bait.encode()?,
        ];
        let spec = spec(request.profile, &program, &decoys, arguments.into())?;
        let outcome =
            runtime.block_on(request.runner.run(&Owner::Local, spec, Arc::new(|_, _| {})));
        let ended = match outcome {
            Ok(outcome) => {
                let output = [outcome.stdout.head, outcome.stdout.tail].concat();
                report.calls += calls(&output);
                match outcome.exit {
                    Some(Exit::Code(code)) => format!("exit {code}"),
                    Some(Exit::Signal(signal)) => format!("signal {signal}"),
                    None => outcome.reason.as_str().to_owned(),
                }
            }
            Err(error) => format!("error: {error}"),
        };
        *report.ended.entry(ended).or_default() += 1;
        report.runs += 1;
        report.harmed = decoys.damage();
        let strays = strays(&bait);
        if strays > 0 {
            report.harmed.push(format!("{strays} processes live on"));
        }
        if machine_state(request.own_mounts) != before {
            report.harmed.push("the machine was changed".to_owned());
        }
        progress(&report);
    }
    Ok(report)
}

/// The number of calls in the output of a run.
fn calls(output: &[u8]) -> u64 {
    let output = String::from_utf8_lossy(output);
    let counts = output.lines().filter_map(|line| line.strip_prefix(COUNT));
    let counts = counts.filter_map(|number| number.parse::<u64>().ok());
    // A random call may have written such a line as well.
    counts
        .filter(|number| *number < 100_000_000)
        .max()
        .unwrap_or_default()
}

/// The state of the machine and of this process that calls could change.
fn machine_state(own_mounts: &[&str]) -> Vec<String> {
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

/// The number of processes of a run that still exist.
fn strays(bait: &Bait) -> usize {
    let all = processes().unwrap_or_default().into_iter();
    let is_stray = |number: &u32| {
        *number != bait.victim && contains(&command_line(*number), bait.token.as_bytes())
    };
    all.filter(is_stray).count()
}

/// Makes random calls until the time is over. The arguments are the token, by which strays are found, a
/// seed, milliseconds, and the bait.
pub(crate) fn run_inside(arguments: &[String]) -> io::Result<()> {
    let [_, seed, time, bait] = arguments else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let (Ok(seed), Ok(time), Some(bait)) = (seed.parse(), time.parse(), Bait::decode(bait)) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let (started, time) = (Instant::now(), Duration::from_millis(time));
    let mut random = Random::new(seed);
    // Orphans become children of this process.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let (count, counted) = rustix::pipe::pipe()?;
    for end in [&count, &counted] {
        rustix::fs::fcntl_setfl(end, OFlags::NONBLOCK)?;
    }
    let values = Values::new(&bait)?;
    let (mut calls, mut children) = (0_u64, 0_u64);
    while started.elapsed() < time {
        let seed = random.next();
        match fork() {
            Ok(None) => child(&mut Random::new(seed), &values, &counted),
            Ok(Some(number)) => end(number),
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
        kill_children();
        let mut room = [0; 4096];
        if let Ok(read) = rustix::io::read(&count, &mut room) {
            calls += read as u64;
        }
        children += 1;
        if children.is_multiple_of(50) {
            writeln!(io::stdout(), "\n{COUNT}{calls}")?;
        }
    }
    writeln!(io::stdout(), "\n{COUNT}{calls}")
}

/// Waits for a process, and kills it at the time limit.
fn end(number: Pid) {
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: TIMEOUT,
    };
    if let Ok(handle) = pidfd_open(number, PidfdFlags::empty()) {
        let mut watched = [PollFd::new(&handle, PollFlags::IN)];
        let _ = poll(&mut watched, Some(&timeout));
    }
    let _ = kill_process(number, Signal::KILL);
    let _ = waitpid(Some(number), WaitOptions::empty());
}

/// Kills the children of this process, and nothing else.
fn kill_children() {
    let mark = format!("PPid:\t{}\n", std::process::id());
    for number in processes().unwrap_or_default() {
        let status = fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
        let number = i32::try_from(number).ok().and_then(Pid::from_raw);
        if let Some(number) = number.filter(|_| status.contains(&mark)) {
            let _ = kill_process(number, Signal::KILL);
            let _ = waitpid(Some(number), WaitOptions::empty());
        }
    }
}

/// Makes some calls, and writes a byte for each.
#[expect(
    clippy::disallowed_methods,
    reason = "it is another process, which has nothing else to do"
)]
fn child(random: &mut Random, values: &Values, counted: &std::os::fd::OwnedFd) -> ! {
    for _ in 0..CALLS {
        let number = number(random);
        if EXCLUDED.contains(&number) {
            continue;
        }
        let arguments = [(); 6].map(|()| values.any(random));
        let _ = rustix::io::write(counted, b"1");
        let _ = anything(number, arguments);
    }
    std::process::exit(0);
}

/// The number of any call; sometimes one that doesn't exist, or one of another convention.
fn number(random: &mut Random) -> i64 {
    let number = match random.below(100) {
        0 => 0x4000_0000 | random.below(CALL_NUMBERS),
        1 => random.next(),
        _ => random.below(CALL_NUMBERS),
    };
    number.cast_signed()
}

/// Values that arguments are chosen from.
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
                // Leaked, because the process soon ends.
                Box::leak(Box::new(numbers))
                    .as_mut_ptr()
                    .expose_provenance() as u64
            }
        };
        value.cast_signed()
    }
}
