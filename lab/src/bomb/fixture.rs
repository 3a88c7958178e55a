//! A server in a place of its own, as root or as a user, and what is left of its processes.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use tempfile::TempDir;

use crate::http::process::Process;
use crate::http::wire::Address;
use crate::server::Recipe;

/// The user who owns nothing on any machine.
const NOBODY: u32 = 65_534;
/// The time to wait for the last process.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// When it is looked for processes first.
const LOOK: Duration = Duration::from_millis(200);
/// The pause after a look, as a multiple of the time that the look took: a look takes a processor, and
/// more than one answer in a hundred must not be late for it.
const REST: u32 = 200;

/// The user that the server runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    Itself,
    Nobody,
}

impl User {
    /// The users that it can run as here.
    pub(super) fn all() -> Vec<Self> {
        if rustix::process::geteuid().is_root() {
            vec![Self::Itself, Self::Nobody]
        } else {
            vec![Self::Itself]
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Itself if rustix::process::geteuid().is_root() => "root",
            Self::Itself | Self::Nobody => "a user",
        }
    }
}

/// A process, by its number and when it began.
type ProcessKey = (u32, u64);

/// The processes that a server had, while they are noted.
pub(super) struct Watch {
    server: u32,
    seen: Arc<Mutex<HashSet<ProcessKey>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// The time until none of them is alive, whatever their parent is by now; `None` if some never
    /// end. Returns their number, too.
    pub(super) fn dead_after(&self) -> (Option<Duration>, usize) {
        let begun = Instant::now();
        while begun.elapsed() < END_TIMEOUT {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.extend(below(self.server));
            let count = seen.len();
            let all = alive();
            if !seen.iter().any(|(process, since)| {
                all.get(process)
                    .is_some_and(|(_, began, is_none)| began == since && !is_none)
            }) {
                return (Some(begun.elapsed()), count);
            }
            drop(seen);
            std::thread::sleep(Duration::from_millis(5));
        }
        (None, 0)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// The name of the process that forks runs for a server.
const FORK_SERVER: &str = "(gongfu-fork)";

/// Every process that isn't over: its parent, when it began, and whether it is the one that begins runs.
fn alive() -> HashMap<u32, (u32, u64, bool)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = entries.filter_map(|entry| {
        let process = entry.file_name().to_str()?.parse().ok()?;
        let told = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // Behind the name, which may hold anything (`proc_pid_stat(5)`).
        let (name, rest) = told.rsplit_once(')')?;
        let name = format!("{name})");
        let mut fields = rest.split_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let began = fields.nth(17)?.parse().ok()?;
        let is_none = name.ends_with(FORK_SERVER);
        (state != "Z").then_some((process, (parent, began, is_none)))
    });
    all.collect()
}

/// The processes below another one.
fn below(server: u32) -> Vec<ProcessKey> {
    let all = alive();
    let descends = |process: u32| {
        let mut at = process;
        for _ in 0..1_000 {
            match all.get(&at) {
                Some((parent, ..)) if *parent == server => return true,
                Some((parent, ..)) => at = *parent,
                None => return false,
            }
        }
        false
    };
    let of_runs = all.iter().filter(|(_, (.., is_none))| !is_none);
    let ours = of_runs.filter(|(process, _)| descends(**process));
    ours.map(|(process, (_, began, _))| (*process, *began))
        .collect()
}

/// A server and what it stands on.
pub(super) struct Fixture {
    server: Process,
    pub(super) address: Address,
    _folder: TempDir,
}

impl Fixture {
    pub(super) fn start(program: &Path, as_whom: User) -> Result<Self> {
        let folder = TempDir::new()?;
        let path = |below: &str| folder.path().join(below);
        std::fs::create_dir_all(path("skills/bomb"))?;
        std::fs::create_dir(path("home"))?;
        std::fs::write(
            path("skills/bomb/SKILL.md"),
            "---\nname: bomb\ndescription: Takes everything\n---\n\n# Bomb\n",
        )?;
        std::fs::copy(program, path("gongfu"))?;
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
        if as_whom == User::Nobody {
            std::os::unix::fs::chown(path("home"), Some(NOBODY), Some(NOBODY))?;
        }
        let skills = path("skills").display().to_string();
        let gongfu = path("gongfu").display().to_string();
        let (user, group) = (format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"));
        let mut words = match as_whom {
            User::Itself => vec![],
            User::Nobody => vec!["setpriv", &user, &group, "--clear-groups", "--"],
        };
        words.extend([&*gongfu, "serve", "--listen", "127.0.0.1:0"]);
        words.extend(["--no-default-dirs", "--skills-dir", &skills]);
        let mut words = words.into_iter().map(str::to_owned);
        let mut server = Process::start(&Recipe {
            program: words.next().unwrap_or_default().into(),
            arguments: words.collect(),
            variables: vec![("GONGFU_HOME".to_owned(), path("home").display().to_string())],
        })?;
        let address = server.address()?;
        Ok(Self {
            server,
            address,
            _folder: folder,
        })
    }

    /// The memory of the server, in mebibytes.
    pub(super) fn memory(&self) -> Result<f64> {
        Ok(self.server.memory()?.resident)
    }

    /// Notes every process below the server from now on.
    pub(super) fn watch(&self) -> Watch {
        let (seen, over) = (
            Arc::<Mutex<HashSet<ProcessKey>>>::default(),
            Arc::<AtomicBool>::default(),
        );
        let (server, noted, ends) = (self.server.id(), Arc::clone(&seen), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            let mut next = Instant::now() + LOOK;
            while !ends.load(Ordering::Relaxed) {
                let looking = Instant::now();
                if looking < next {
                    std::thread::park_timeout(next - looking);
                    continue;
                }
                let below = below(server);
                noted
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend(below);
                next = Instant::now() + looking.elapsed() * REST;
            }
        });
        Watch {
            server,
            seen,
            over,
            thread: Some(thread),
        }
    }

    /// Ends the server as a system does.
    pub(super) fn end(self) -> Result<()> {
        let (status, _) = self.server.end(END_TIMEOUT)?;
        anyhow::ensure!(status.success(), "the server ended with {status}");
        Ok(())
    }
}
