//! The port's implementation: which sandbox is used, how many run at once, and who ends them.

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::port::{Listener, Pending, PortError, Sandbox};
use gongfu_core::sandbox::{Command, Level, Limits, Outcome, Spec, Standing};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

use crate::backend::{BACKENDS, Backend, Failure, Surroundings};
use crate::plan;

/// How many runs there are at once for each processor; others wait.
const RUNS: usize = 4;
/// The first of the users that runs are, where gongfu is root: far from those that people have.
const TENANTS: u32 = 2_000_000_000;
/// How many of them there are.
const MOST_TENANTS: u32 = 100_000_000;

/// Runs things in the strongest sandbox that works here.
pub struct Runner {
    /// The level that was asked for; `None` for the strongest that works.
    wanted: Option<Level>,
    room: Arc<Semaphore>,
    standing: OnceCell<Vec<Standing>>,
}

impl Runner {
    /// A runner that uses this level alone, or the strongest that works here.
    pub fn new(wanted: Option<Level>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            wanted,
            room: Arc::new(Semaphore::new(RUNS * processors)),
            standing: OnceCell::new(),
        }
    }

    /// Tries every level once.
    async fn tried(&self) -> &[Standing] {
        let tried = self.standing.get_or_init(|| async {
            let mut standing = Vec::new();
            for backend in BACKENDS {
                let obstacle = attempt(*backend).await.err();
                standing.push(Standing {
                    level: backend.level(),
                    obstacle: obstacle.map(|obstacle| obstacle.to_string()),
                });
            }
            standing
        });
        tried.await
    }

    /// What things are run in here; `None` where nothing is.
    pub async fn level(&self) -> Option<Level> {
        self.strongest().await.ok()
    }

    async fn strongest(&self) -> Result<Level, PortError> {
        let standing = self.tried().await;
        let is_wanted = |one: &&Standing| self.wanted.is_none_or(|wanted| one.level == wanted);
        let standing = standing.iter().filter(is_wanted);
        let works = standing.clone().find(|one| one.obstacle.is_none());
        works.map(|works| works.level).ok_or_else(|| {
            let why = standing.map(|one| {
                let obstacle = one.obstacle.as_deref().unwrap_or_default();
                format!("{}: {obstacle}", one.level)
            });
            let why = why.collect::<Vec<_>>().join("; ");
            PortError::Unavailable(match self.wanted {
                None => format!("no sandbox works on this machine: {why}"),
                Some(_) => format!("the sandbox that was asked for doesn't work here: {why}"),
            })
        })
    }
}

/// Runs nothing in particular.
async fn attempt(backend: &'static dyn Backend) -> Result<(), Failure> {
    let spec = Spec {
        command: Command::Program(vec!["true".to_owned()]),
        folder: "/".to_owned(),
        mounts: Vec::new(),
        environment: std::collections::BTreeMap::new(),
        input: Vec::new(),
        limits: Limits {
            wall: std::time::Duration::from_secs(10),
            ..Limits::default()
        },
        logs: None,
    };
    let listener: Listener = Arc::new(|_, _| {});
    let outcome = begin(backend, spec, tenant(&Owner::Local), listener, None);
    match outcome.await?.exit {
        Some(gongfu_core::sandbox::Exit::Code(0)) => Ok(()),
        exit => Err(Failure::Unavailable(format!("a trial ended with {exit:?}"))),
    }
}

/// Runs it on a thread of its own; ends it when nobody waits any more.
async fn begin(
    backend: &'static dyn Backend,
    spec: Spec,
    tenant: Option<plan::Owner>,
    listener: Listener,
    room: Option<OwnedSemaphorePermit>,
) -> Result<Outcome, Failure> {
    // The run ends when the one end is closed, by whoever drops it.
    let (wanted, cancel) = UnixStream::pair()?;
    let running = tokio::task::spawn_blocking(move || {
        let _room = room;
        let surroundings = Surroundings {
            tenant,
            cancel: cancel.as_fd(),
            listener: &*listener,
        };
        backend.run(&spec, &surroundings)
    });
    let ended = running.await;
    drop(wanted);
    ended.unwrap_or_else(|error| Err(Failure::Io(std::io::Error::other(error))))
}

/// Whom an owner's runs are, where gongfu could be anybody.
fn tenant(owner: &Owner) -> Option<plan::Owner> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let number = match owner {
        Owner::Local => 0,
        Owner::User(user) => {
            // FNV-1a: the same user always has the same number.
            let hash = user.as_str().bytes().fold(0x811C_9DC5_u32, |hash, byte| {
                (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
            });
            1 + hash % MOST_TENANTS
        }
    };
    let tenant = TENANTS + number;
    let there_is = ["/proc/self/uid_map", "/proc/self/gid_map"]
        .iter()
        .all(|map| {
            let map = std::fs::read_to_string(map).unwrap_or_default();
            is_mapped(&map, tenant)
        });
    // Root of a container may be nobody else: its runs are then who it is itself, in namespaces.
    there_is.then_some(plan::Owner {
        user: tenant,
        group: tenant,
    })
}

/// Whether a map of users, `inside outside count` a line, has this one (`user_namespaces(7)`).
fn is_mapped(map: &str, user: u32) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        let (Some(Ok(first)), Some(Ok(_)), Some(Ok(count))) =
            (numbers.next(), numbers.next(), numbers.next())
        else {
            return false;
        };
        (first..first.saturating_add(count)).contains(&u64::from(user))
    })
}

impl Sandbox for Runner {
    fn standing(&self) -> Pending<'_, Vec<Standing>> {
        Box::pin(async move { Ok(self.tried().await.to_vec()) })
    }

    fn run<'a>(&'a self, owner: &'a Owner, spec: Spec, listener: Listener) -> Pending<'a, Outcome> {
        Box::pin(async move {
            let level = self.strongest().await?;
            let backend = BACKENDS.iter().find(|backend| backend.level() == level);
            let backend = backend.ok_or(PortError::NotFound)?;
            // It is never closed. It is kept until the run has really ended, whoever waits for that.
            let room = Arc::clone(&self.room).acquire_owned().await.ok();
            let ran = begin(*backend, spec, tenant(owner), listener, room).await;
            ran.map_err(|failure| match failure {
                Failure::Unavailable(why) => PortError::Unavailable(why),
                Failure::Refused(why) => PortError::Denied(why),
                Failure::Io(error) => PortError::Other(Box::new(error)),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::is_mapped;

    #[test]
    fn a_user_is_there_where_a_line_has_it() {
        let everybody = "         0          0 4294967295\n";
        assert!(is_mapped(everybody, 2_000_000_000));
        let container = "0 1000 1\n1 100000 65536\n";
        assert!(is_mapped(container, 0) && is_mapped(container, 65_536));
        assert!(!is_mapped(container, 65_537) && !is_mapped(container, 2_000_000_000));
        assert!(!is_mapped("", 0) && !is_mapped("x y z", 0));
    }
}
