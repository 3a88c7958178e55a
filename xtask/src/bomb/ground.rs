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

use crate::bench::server::Recipe;
use crate::http::process::Process;
use crate::http::wire::Address;

/// Who has nothing on any machine.
const NOBODY: u32 = 65_534;
/// How long it is waited for the last process.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked for processes.
const LOOK: Duration = Duration::from_millis(400);

/// Whom the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    Itself,
    Nobody,
}

impl User {
    /// Whom it can be.
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
type Known = (u32, u64);

/// The processes that a server had, while they are noted.
pub(super) struct Watch {
    server: u32,
    seen: Arc<Mutex<HashSet<Known>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// How long it takes until none of them is alive, wherever it hangs by now; `None` when that is
    /// never. Tells also how many there were.
    pub(super) fn dead_after(&self) -> (Option<Duration>, usize) {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.extend(below(self.server));
            let count = seen.len();
            let all = alive();
            if !seen
                .iter()
                .any(|(process, since)| all.get(process).is_some_and(|(_, began)| began == since))
            {
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
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What the first process of a sandbox calls itself that was begun ahead of time, and waits for a run:
/// nothing of anybody's was ever begun in it.
const SPARE: &str = "(gongfu-spare)";

/// Every process that isn't over: its parent, and when it began. Those that only wait for a run, and
/// those that only wait for these, are none of a run.
fn alive() -> HashMap<u32, (u32, u64)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut spares = Vec::new();
    let all = entries.filter_map(|entry| {
        let process = entry.file_name().to_str()?.parse().ok()?;
        let told = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // Behind the name, which may hold anything (`proc_pid_stat(5)`).
        let (name, rest) = told.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let began = fields.nth(17)?.parse().ok()?;
        if format!("{name})").ends_with(SPARE) {
            spares.push(process);
        }
        (state != "Z").then_some((process, (parent, began)))
    });
    let mut all: HashMap<u32, (u32, u64)> = all.collect();
    for spare in spares {
        let mut at = spare;
        // One or two wait for it; above them is the server, which is another program.
        for _ in 0..3 {
            if !is_child(at) {
                break;
            }
            let Some((parent, _)) = all.remove(&at) else {
                break;
            };
            at = parent;
        }
    }
    all
}

/// Whether a process is one that gongfu begins a run in.
fn is_child(process: u32) -> bool {
    let told = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    told.split(|byte| *byte == 0).nth(1) == Some(b"sandbox-child")
}

/// The processes below another one.
fn below(server: u32) -> Vec<Known> {
    let all = alive();
    let descends = |process: u32| {
        let mut at = process;
        for _ in 0..1_000 {
            match all.get(&at) {
                Some((parent, _)) if *parent == server => return true,
                Some((parent, _)) => at = *parent,
                None => return false,
            }
        }
        false
    };
    let ours = all.iter().filter(|(process, _)| descends(**process));
    ours.map(|(process, (_, began))| (*process, *began))
        .collect()
}

/// A server and what it stands on.
pub(super) struct Ground {
    server: Process,
    pub(super) address: Address,
    _folder: TempDir,
}

impl Ground {
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

    /// What the server holds, in mebibytes.
    pub(super) fn memory(&self) -> Result<f64> {
        Ok(self.server.memory()?.resident)
    }

    /// Notes every process below the server from now on.
    pub(super) fn watch(&self) -> Watch {
        let (seen, over) = (
            Arc::<Mutex<HashSet<Known>>>::default(),
            Arc::<AtomicBool>::default(),
        );
        let (server, noted, ends) = (self.server.id(), Arc::clone(&seen), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                let below = below(server);
                noted
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend(below);
                std::thread::sleep(LOOK);
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
        let (status, _) = self.server.end(PATIENCE)?;
        anyhow::ensure!(status.success(), "the server ended with {status}");
        Ok(())
    }
}
