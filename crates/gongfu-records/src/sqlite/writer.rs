//! The writer: one task that takes all writes that wait, commits them together, and answers them afterwards.
//!
//! A commit waits for the disk. While it does, more writes arrive, and the next commit takes all of them: the more
//! writers there are, the fewer waits each write costs.

use std::sync::Arc;
use std::time::Duration;

use gongfu_core::port::PortError;
use sqlx::{Connection as _, SqliteConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::commit::{Commit, Heads, Outcome};
use super::connection;
use super::failure::unavailable;
use super::file::DatabaseFile;

/// The most writes of one commit.
const MAX_GROUP: usize = 256;
/// The time that writes for which nobody waits wait for others at most.
const DEFER: Duration = Duration::from_millis(500);
/// The unit in which the room of the queue is counted, in bytes; a write takes one at least.
const UNIT: usize = 64 * 1024;
/// The room of the queue, in units: 64 MiB, and so 1,024 writes.
const ROOM: u32 = 1024;

/// A writer, to which several handles send.
#[derive(Debug)]
pub(super) struct Writer {
    file: Arc<DatabaseFile>,
    queue: mpsc::UnboundedSender<Message>,
    room: Arc<Semaphore>,
}

enum Message {
    Write(Waiting),
    /// A write for which nobody waits.
    Defer(Waiting),
    Close(oneshot::Sender<()>),
}

/// A write that waits for its answer, if anybody asks for one.
struct Waiting {
    commit: Commit,
    answer: Option<oneshot::Sender<Outcome>>,
    /// Its room in the queue.
    _room: OwnedSemaphorePermit,
}

impl Writer {
    /// Starts the task on the current runtime.
    pub(super) fn start(file: Arc<DatabaseFile>, connection: SqliteConnection) -> Self {
        let (queue, messages) = mpsc::unbounded_channel();
        let task = Task {
            file: Arc::clone(&file),
            connection: Some(connection),
        };
        tokio::spawn(task.run(messages));
        Self {
            file,
            queue,
            room: Arc::new(Semaphore::new(ROOM as usize)),
        }
    }

    /// Waits until the commit is on the disk, or refused. When the queue is full, it waits for its room first.
    ///
    /// A caller that gives up in between doesn't know whether the commit is made.
    pub(super) async fn commit(&self, commit: Commit) -> Outcome {
        let units = units_of(commit.size());
        let room = Arc::clone(&self.room).acquire_many_owned(units).await;
        let room = room.map_err(|_| self.closed())?;
        let (answer, outcome) = oneshot::channel();
        let waiting = Waiting {
            commit,
            answer: Some(answer),
            _room: room,
        };
        let sent = self.queue.send(Message::Write(waiting));
        sent.map_err(|_| self.closed())?;
        outcome.await.map_err(|_| self.closed())?
    }

    /// Hands a commit over that is made within half a second, with whatever else is written until then. When the queue is
    /// full, it waits as [`Self::commit`] does.
    ///
    /// A crash before that loses it, and a failure is only logged.
    pub(super) async fn defer(&self, commit: Commit) -> Result<(), PortError> {
        let units = units_of(commit.size());
        let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(units) else {
            return self.commit(commit).await.map(drop);
        };
        let waiting = Waiting {
            commit,
            answer: None,
            _room: room,
        };
        let sent = self.queue.send(Message::Defer(waiting));
        sent.map_err(|_| self.closed())
    }

    /// Commits what waits, refuses what comes later, and closes the connection.
    pub(super) async fn close(&self) {
        self.room.close();
        let (done, closed) = oneshot::channel();
        if self.queue.send(Message::Close(done)).is_ok() {
            let _ = closed.await;
        }
    }

    fn closed(&self) -> PortError {
        let path = self.file.path().display();
        PortError::Unavailable(format!("{path}: it is closed"))
    }
}

/// The stage at which a transaction failed.
enum Failure {
    /// Before or after its writes: none of them is the cause.
    Whole(PortError),
    /// At one of its writes.
    OneWrite(PortError),
}

struct Task {
    file: Arc<DatabaseFile>,
    /// None after a failure, until the next write.
    connection: Option<SqliteConnection>,
}

impl Task {
    async fn run(mut self, mut messages: mpsc::UnboundedReceiver<Message>) {
        let (mut received, mut deferred) = (Vec::new(), Vec::new());
        let mut due: Option<Instant> = None;
        let mut closing = None;
        while closing.is_none() {
            let receiving = messages.recv_many(&mut received, MAX_GROUP);
            let is_open = match due {
                None => receiving.await > 0,
                Some(due) => tokio::select! {
                    count = receiving => count > 0,
                    () = sleep_until(due) => true,
                },
            };
            let mut group = Vec::new();
            for message in received.drain(..) {
                match message {
                    // A write that comes later finds no receiver, and is refused.
                    Message::Close(done) => closing = Some(done),
                    Message::Write(waiting) => group.push(waiting),
                    Message::Defer(waiting) => deferred.push(waiting),
                }
            }
            let is_due = due.is_some_and(|due| due <= Instant::now());
            let is_full = deferred.len() >= MAX_GROUP;
            if is_due || is_full || !group.is_empty() || closing.is_some() || !is_open {
                deferred.append(&mut group);
                let mut rest = std::mem::take(&mut deferred);
                while !rest.is_empty() {
                    let later = rest.split_off(rest.len().min(MAX_GROUP));
                    self.write(rest).await;
                    rest = later;
                }
                due = None;
            } else if due.is_none() && !deferred.is_empty() {
                due = Some(Instant::now() + DEFER);
            }
            if !is_open {
                break;
            }
        }
        self.disconnect().await;
        if let Some(done) = closing {
            let _ = done.send(());
        }
    }

    /// Commits a group, and answers it.
    async fn write(&mut self, group: Vec<Waiting>) {
        if group.is_empty() {
            return;
        }
        let commits: Vec<&Commit> = group.iter().map(|waiting| &waiting.commit).collect();
        let outcomes = match self.attempt(&commits).await {
            Ok(outcomes) => outcomes,
            Err(Failure::Whole(error)) => refuse_all(&error, commits.len()),
            Err(Failure::OneWrite(error)) if commits.len() == 1 => vec![Err(error)],
            // The others must not fail for it, such as for a damaged page of one owner.
            Err(Failure::OneWrite(_)) => {
                let mut outcomes = Vec::new();
                for commit in commits {
                    outcomes.push(match self.attempt(&[commit]).await {
                        Ok(outcome) => outcome.into_iter().next().unwrap_or_else(|| {
                            let why = "the database gave no answer; try again".to_owned();
                            Err(PortError::Unavailable(why))
                        }),
                        Err(Failure::Whole(error) | Failure::OneWrite(error)) => Err(error),
                    });
                }
                outcomes
            }
        };
        for (waiting, outcome) in group.into_iter().zip(outcomes) {
            match (waiting.answer, outcome) {
                // A caller that doesn't wait any more needs no answer.
                (Some(answer), outcome) => drop(answer.send(outcome)),
                (None, Err(error)) => tracing::warn!(%error, "an entry of a log is lost"),
                (None, Ok(_)) => {}
            }
        }
    }

    /// Makes one transaction of these commits. Nobody has an answer before it is on the disk: even a refusal may be due
    /// to another commit of the same transaction.
    async fn attempt(&mut self, commits: &[&Commit]) -> Result<Vec<Outcome>, Failure> {
        let outcomes = self.transact(commits).await;
        if outcomes.is_err() {
            // It may be broken, or still in a transaction.
            self.disconnect().await;
        }
        outcomes
    }

    async fn transact(&mut self, commits: &[&Commit]) -> Result<Vec<Outcome>, Failure> {
        let file = Arc::clone(&self.file);
        let whole = |error: sqlx::Error| Failure::Whole(unavailable(file.path(), &error));
        if !file.is_in_place() {
            let why = "the file was moved, removed or replaced while it was open; restart gongfu";
            let why = format!("{}: {why}", file.path().display());
            return Err(Failure::Whole(PortError::Unavailable(why)));
        }
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(connection::write(file.path()).await.map_err(whole)?),
        };
        let begin = connection.begin_with("BEGIN IMMEDIATE").await;
        let mut transaction = begin.map_err(whole)?;
        let mut heads = Heads::new();
        let mut outcomes = Vec::new();
        for commit in commits {
            let outcome = commit
                .apply(&mut transaction, file.path(), &mut heads)
                .await;
            let outcome =
                outcome.map_err(|error| Failure::OneWrite(unavailable(file.path(), &error)))?;
            outcomes.push(outcome);
        }
        transaction.commit().await.map_err(whole)?;
        Ok(outcomes)
    }

    async fn disconnect(&mut self) {
        if let Some(connection) = self.connection.take() {
            // What is not committed is rolled back.
            let _ = connection.close().await;
        }
    }
}

/// The room that a commit of this length takes. One that is larger than the queue waits until it is alone.
fn units_of(size: usize) -> u32 {
    let units = size.div_ceil(UNIT).max(1);
    u32::try_from(units).map_or(ROOM, |units| units.min(ROOM))
}

/// The same refusal for each commit of a group.
fn refuse_all(error: &PortError, count: usize) -> Vec<Outcome> {
    let refuse = || Err(PortError::Unavailable(error.to_string()));
    std::iter::repeat_with(refuse).take(count).collect()
}

#[cfg(test)]
mod tests;
