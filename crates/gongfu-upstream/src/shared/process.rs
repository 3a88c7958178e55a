//! The process that runs servers for all clients of a person.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gongfu_core::port::{Asker, PortError, ServerCall, Servers};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};

use super::wire::{self, Ask, FromProcess, Status, ToProcess};
use super::writer::Writer;
use crate::stream;

/// The interval at which the process looks whether it is still needed.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The pause after a client that can't be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// All that the process is made of.
pub struct Process {
    /// Accepts its clients.
    pub listener: UnixListener,
    /// The user whose programs may be clients.
    pub user: u32,
    /// The servers.
    pub servers: Arc<dyn Servers>,
    /// The time that it goes on without a client.
    pub linger: Duration,
    /// Answers whether clients still find it.
    pub is_reachable: Box<dyn Fn() -> bool + Send>,
}

/// Serves clients until nobody has come for a while, or until the last has left once nobody finds the way any more.
pub async fn serve(process: Process) {
    let (changed, _) = watch::channel(());
    let clients = Arc::new(());
    let mut tasks = JoinSet::new();
    tasks.spawn(follow(Arc::clone(&process.servers), changed.clone()));
    let mut last_use = tokio::time::Instant::now();
    loop {
        let accepted = tokio::time::timeout(CHECK_INTERVAL, process.listener.accept()).await;
        if Arc::strong_count(&clients) > 1 || accepted.is_ok() {
            last_use = tokio::time::Instant::now();
        }
        match accepted {
            Ok(Ok((stream, _))) => {
                let peer = stream.peer_cred();
                if !peer.is_ok_and(|peer| peer.uid() == process.user) {
                    continue;
                }
                let (servers, alive) = (Arc::clone(&process.servers), Arc::clone(&clients));
                let changes = changed.subscribe();
                tasks.spawn(async move {
                    client(stream, servers, changes).await;
                    drop(alive);
                });
            }
            // There may be too many files open for a while; those who are here go on.
            Ok(Err(error)) => {
                tracing::warn!(%error, "a client can't be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
            Err(_) => {
                while tasks.try_join_next().is_some() {}
                let is_unused = Arc::strong_count(&clients) == 1;
                let is_over = last_use.elapsed() > process.linger;
                if is_unused && (is_over || !(process.is_reachable)()) {
                    return;
                }
            }
        }
    }
}

/// Tells of every change of the tools.
async fn follow(servers: Arc<dyn Servers>, changed: watch::Sender<()>) {
    let mut version = 0;
    while let Ok(next) = servers.changed(version).await {
        version = next;
        changed.send_replace(());
    }
}

/// A client of the process.
struct Client {
    servers: Arc<dyn Servers>,
    writer: Writer,
    /// The questions that a person has not answered yet.
    questions: Mutex<HashMap<u64, oneshot::Sender<Option<Value>>>>,
    next: AtomicU64,
}

async fn client(stream: UnixStream, servers: Arc<dyn Servers>, mut changes: watch::Receiver<()>) {
    let Ok((mut reader, writer)) = stream::split(stream) else {
        return;
    };
    let mut tasks = JoinSet::new();
    let client = Arc::new(Client {
        servers,
        writer: Writer::new(writer),
        questions: Mutex::default(),
        next: AtomicU64::new(0),
    });
    let teller = Arc::clone(&client);
    tasks.spawn(async move {
        while changes.changed().await.is_ok() {
            teller.send(&FromProcess::Changed);
        }
    });
    let mut running: HashMap<u64, AbortHandle> = HashMap::new();
    let mut bytes = Vec::new();
    // With the end of the line all tasks end, and with them the calls.
    while let Ok(Some(message)) = wire::next(&mut reader, &mut bytes).await {
        running.retain(|_, task| !task.is_finished());
        let message = match message {
            Ok(message) => message,
            Err(unreadable) => {
                client.refuse(&unreadable);
                continue;
            }
        };
        match message {
            ToProcess::Ask { id, ask } => {
                let client = Arc::clone(&client);
                running.insert(id, tasks.spawn(async move { client.answer(id, ask).await }));
            }
            ToProcess::Cancel { id } => {
                if let Some(task) = running.remove(&id) {
                    task.abort();
                }
            }
            ToProcess::Reply { number, answer } => {
                client.reply(number, answer);
            }
        }
    }
}

impl Client {
    /// Answers a message that can't be read.
    fn refuse(&self, unreadable: &wire::Unreadable) {
        if let Some(ask) = &unreadable.ask {
            let why = "it is asked something that is nested too deeply";
            let failure = PortError::Unavailable(why.to_owned()).into();
            self.send(&FromProcess::Failure {
                id: ask.id,
                failure,
            });
        }
        if let Some(reply) = &unreadable.reply {
            self.reply(reply.number, None);
        }
    }

    /// Gives a question its answer.
    fn reply(&self, number: u64, answer: Option<Value>) {
        if let Some(question) = self.questions().remove(&number) {
            // The call may be over.
            let _ = question.send(answer);
        }
    }

    fn send(&self, message: &FromProcess) {
        self.writer.send(&wire::line(message));
    }

    /// Sends a message, and waits until it is on its way.
    async fn send_now(&self, message: &FromProcess) {
        self.send(message);
        self.writer.written().await;
    }

    fn questions(&self) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Option<Value>>>> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(self: Arc<Self>, id: u64, ask: Ask) {
        let answer = match self.done(id, ask).await {
            Ok(answer) => FromProcess::Answer { id, answer },
            Err(error) => FromProcess::Failure {
                id,
                failure: error.into(),
            },
        };
        self.send(&answer);
    }

    async fn done(self: &Arc<Self>, id: u64, ask: Ask) -> Result<Box<RawValue>, PortError> {
        if ask.has_effect() {
            self.send_now(&FromProcess::Begun { id }).await;
        } else if ask.is_long() {
            self.send(&FromProcess::Begun { id });
        }
        match ask {
            Ask::Statuses => {
                let all = self.servers.statuses().await?;
                encoded(&all.into_iter().map(Status::from).collect::<Vec<_>>())
            }
            Ask::Tools => encoded(&self.servers.tools().await?),
            Ask::Fetch { name, uri } => {
                let file = self.servers.fetch(&name, &uri).await?;
                encoded(&wire::Bytes::from(file))
            }
            Ask::Discover { name } => encoded(&self.servers.discover(&name).await?),
            Ask::Request(request) => encoded(&self.servers.request(request).await?),
            Ask::SignOut { name } => encoded(&self.servers.sign_out(&name).await?),
            Ask::Call {
                connection,
                tool,
                arguments,
                trace,
            } => {
                let listener = Arc::clone(self);
                let call = ServerCall {
                    connection,
                    tool,
                    arguments,
                    trace,
                    progress: Arc::new(move |progress| {
                        listener.send(&FromProcess::Progress { id, progress });
                    }),
                    ask: self.asker(id),
                };
                encoded(&self.servers.call(call).await?)
            }
        }
    }

    fn asker(self: &Arc<Self>, id: u64) -> Asker {
        let client = Arc::clone(self);
        Arc::new(move |question| {
            let client = Arc::clone(&client);
            Box::pin(async move {
                let number = client.next.fetch_add(1, Ordering::Relaxed);
                let (answer, answered) = oneshot::channel();
                client.questions().insert(number, answer);
                client.send(&FromProcess::Question {
                    id,
                    number,
                    question,
                });
                Ok(answered.await.ok().flatten())
            })
        })
    }
}

fn encoded(answer: &impl Serialize) -> Result<Box<RawValue>, PortError> {
    to_raw_value(answer).map_err(|error| PortError::Other(error.into()))
}
