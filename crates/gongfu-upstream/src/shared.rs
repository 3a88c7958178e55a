//! One process for all clients: the servers of a person run once, however many clients use them.
//!
//! The process is started by the first call, and ends soon after its last client. Until then, and without it, the tools
//! are those that a person approved, which needs no server.

mod line;
mod process;
mod wire;
mod writer;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gongfu_core::connection::ConnectionName;
use gongfu_core::port::{
    ConnectionStatus, Discovery, Pending, PortError, ServerAnswer, ServerCall, ServerContents,
    ServerReply, ServerRequest, ServerSkills, ServerTools, Servers, SignIn,
};
use serde_json::value::RawValue;
use tokio::net::UnixStream;
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, sleep};

use self::line::{AskFailure, Line, Listeners};
use self::wire::{Ask, Status};
use crate::servers::LocalServers;

pub use process::{Process, serve};

/// The longest time that the process may take to start, on a machine that is busy: after it, servers run twice.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// The time until the process is started once more, where nobody listens yet; each further one is three times as long.
const START_AGAIN: Duration = Duration::from_millis(250);
/// The time in which the process says what it knows; after it, what a person approved is listed without it.
const LIST_TIMEOUT: Duration = Duration::from_secs(2);
/// The processes that are asked at most, where one ends after the other.
const MAX_PROCESSES: usize = 3;

/// The way to the process.
#[derive(Clone)]
pub struct ProcessAddress {
    /// The socket that it listens on.
    pub socket: PathBuf,
    /// The user whose process it must be.
    pub user: u32,
    /// Starts it, where nobody listens. One that is started in vain ends by itself.
    pub start: Arc<dyn Fn() -> io::Result<()> + Send + Sync>,
}

/// The servers of a space, run by a process that other clients use as well.
pub struct SharedServers {
    /// The same connections, of which a server is started here only where no process can be had.
    local: Arc<LocalServers>,
    /// True once no process could be had: another version of gongfu, or of the connections, is in its place.
    is_alone: AtomicBool,
    address: ProcessAddress,
    line: Mutex<Option<Arc<Line>>>,
    /// Counts what may change the tools that can be called.
    version: watch::Sender<u64>,
}

impl SharedServers {
    /// The servers of these connections, run by the process at this address.
    pub fn new(local: Arc<LocalServers>, address: ProcessAddress) -> Self {
        Self {
            local,
            is_alone: AtomicBool::new(false),
            address,
            line: Mutex::default(),
            version: watch::Sender::new(0),
        }
    }

    /// The line to the process, if it runs.
    async fn existing(&self) -> Option<Arc<Line>> {
        if self.is_alone.load(Ordering::Relaxed) {
            return None;
        }
        let mut line = self.line.lock().await;
        if line.as_ref().is_none_or(|line| line.is_closed()) {
            *line = match UnixStream::connect(&self.address.socket).await {
                Ok(stream) if is_of(&stream, self.address.user) => {
                    Line::new(stream, self.version.clone()).ok()
                }
                Ok(_) => {
                    tracing::warn!("the process that runs other servers is another user's");
                    None
                }
                Err(_) => None,
            };
        }
        line.clone()
    }

    /// The line to the process, which is started if it doesn't run; `None` where there can't be one.
    async fn line(&self) -> Option<Arc<Line>> {
        let deadline = Instant::now() + START_TIMEOUT;
        let mut pause = Duration::from_millis(5);
        let (mut next_start, mut gap) = (Instant::now(), START_AGAIN);
        while !self.is_alone.load(Ordering::Relaxed) {
            if let Some(line) = self.existing().await {
                return Some(line);
            }
            let mut started = Ok(());
            if Instant::now() >= next_start {
                // One that was started before may have found the place of a process that was about to end.
                started = (self.address.start)();
                next_start = Instant::now() + gap;
                gap *= 3;
            }
            if started.is_err() || Instant::now() > deadline {
                let error = started.err();
                tracing::warn!(?error, "no process for other servers: they run in this one");
                self.is_alone.store(true, Ordering::Relaxed);
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
        None
    }

    /// Asks the process, and another one where it ended before it began; `None` where no process can be had.
    async fn ask(
        &self,
        ask: Ask,
        listeners: Listeners,
    ) -> Option<Result<Box<RawValue>, PortError>> {
        // What a server is needed for is worth the start of a process.
        let is_started = ask.is_long();
        for _ in 0..MAX_PROCESSES {
            let line = if is_started {
                self.line().await
            } else {
                self.existing().await
            };
            let line = line?;
            if !is_started && line.is_stuck() {
                return None;
            }
            let asking = line.ask(ask.clone(), listeners.clone());
            let answer = if is_started {
                asking.await
            } else {
                let Ok(answer) = tokio::time::timeout(LIST_TIMEOUT, asking).await else {
                    tracing::warn!("the process that runs other servers doesn't answer");
                    line.stick();
                    return None;
                };
                answer
            };
            match answer {
                Ok(answer) => return Some(Ok(answer)),
                Err(AskFailure::Refused(why)) => return Some(Err(why)),
                Err(AskFailure::NotBegun) => {}
                Err(AskFailure::Ended) => break,
                Err(AskFailure::Stuck) => {
                    let why = "the process that runs it (`gongfu servers`) doesn't answer";
                    return Some(Err(PortError::Unavailable(why.to_owned())));
                }
            }
        }
        let why = "the process that runs it has ended; another call starts it again";
        Some(Err(PortError::Unavailable(why.to_owned())))
    }
}

/// Returns true if the other end of a stream is a process of this user.
fn is_of(stream: &UnixStream, user: u32) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == user)
}

impl Servers for SharedServers {
    fn statuses(&self) -> Pending<'_, Vec<ConnectionStatus>> {
        Box::pin(async move {
            let mut all = self.local.statuses().await?;
            let known = match self.ask(Ask::Statuses, Listeners::default()).await {
                Some(Ok(known)) => wire::decoded::<Vec<Status>>(&known),
                _ => return Ok(all),
            };
            for known in known.unwrap_or_default() {
                let mut all = all.iter_mut();
                if let Some(status) = all.find(|status| status.connection.name == known.name)
                    && status.connection.is_shared
                {
                    known.fill(status);
                }
            }
            Ok(all)
        })
    }

    fn tools(&self) -> Pending<'_, Vec<ServerTools>> {
        Box::pin(async move {
            // What a person approved is known without the process as well.
            let known = self.ask(Ask::Tools, Listeners::default()).await;
            let known = known.and_then(Result::ok);
            let known = known.and_then(|known| wire::decoded::<Vec<ServerTools>>(&known).ok());
            let Some(mut all) = known else {
                return self.local.tools().await;
            };
            if self.local.has_own() {
                all.retain(|server| !self.local.is_own(&server.connection));
                let own = self.local.tools().await?.into_iter();
                all.extend(own.filter(|server| self.local.is_own(&server.connection)));
                all.sort_by(|one, other| one.connection.cmp(&other.connection));
            }
            Ok(all)
        })
    }

    fn skills(&self) -> Pending<'_, Vec<ServerSkills>> {
        // What a person approved is known without the process.
        self.local.skills()
    }

    fn fetch<'a>(&'a self, name: &'a ConnectionName, uri: &'a str) -> Pending<'a, Vec<u8>> {
        if self.local.is_own(name) {
            return self.local.fetch(name, uri);
        }
        Box::pin(async move {
            let ask = Ask::Fetch {
                name: name.clone(),
                uri: uri.to_owned(),
            };
            match self.ask(ask, Listeners::default()).await {
                Some(file) => Ok(wire::decoded::<wire::Bytes>(&file?)?.into()),
                None => self.local.fetch(name, uri).await,
            }
        })
    }

    fn contents(&self) -> Pending<'_, Vec<ServerContents>> {
        // They are in a record, which the process keeps.
        self.local.contents()
    }

    fn request(&self, request: ServerRequest) -> Pending<'_, ServerReply> {
        if self.local.is_own(&request.connection) {
            return self.local.request(request);
        }
        Box::pin(async move {
            let ask = Ask::Request(request.clone());
            match self.ask(ask, Listeners::default()).await {
                Some(reply) => wire::decoded(&reply?),
                None => self.local.request(request).await,
            }
        })
    }

    fn changed(&self, since: u64) -> Pending<'_, u64> {
        Box::pin(async move {
            let mut version = self.version.subscribe();
            let local = self.local.version();
            let change = async {
                let _ = version.wait_for(|version| *version != since).await;
            };
            tokio::select! {
                () = change => {}
                // What a person approves is seen without the process as well.
                _ = self.local.changed(local) => self.version.send_modify(|version| *version += 1),
            }
            Ok(*self.version.borrow())
        })
    }

    fn discover<'a>(&'a self, name: &'a ConnectionName) -> Pending<'a, Discovery> {
        if self.local.is_own(name) {
            return self.local.discover(name);
        }
        Box::pin(async move {
            let ask = Ask::Discover { name: name.clone() };
            match self.ask(ask, Listeners::default()).await {
                Some(found) => wire::decoded(&found?),
                None => self.local.discover(name).await,
            }
        })
    }

    fn sign_in<'a>(
        &'a self,
        name: &'a ConnectionName,
        redirect: String,
    ) -> Pending<'a, Box<dyn SignIn>> {
        // The tokens are in a record, where the process finds them.
        self.local.sign_in(name, redirect)
    }

    fn sign_out<'a>(&'a self, name: &'a ConnectionName) -> Pending<'a, bool> {
        if self.local.is_own(name) {
            return self.local.sign_out(name);
        }
        Box::pin(async move {
            let ask = Ask::SignOut { name: name.clone() };
            match self.ask(ask, Listeners::default()).await {
                Some(removed) => wire::decoded(&removed?),
                None => self.local.sign_out(name).await,
            }
        })
    }

    fn call(&self, call: ServerCall) -> Pending<'_, ServerAnswer> {
        if self.local.is_own(&call.connection) {
            return self.local.call(call);
        }
        Box::pin(async move {
            let listeners = Listeners {
                progress: Some(call.progress.clone()),
                asker: Some(call.ask.clone()),
            };
            let ask = Ask::Call {
                connection: call.connection.clone(),
                tool: call.tool.clone(),
                arguments: call.arguments.clone(),
                trace: call.trace.clone(),
            };
            match self.ask(ask, listeners).await {
                Some(answer) => wire::decoded(&answer?),
                None => self.local.call(call).await,
            }
        })
    }
}
