//! The threads on which futures run.

use std::time::Duration;

use anyhow::Context as _;

/// The time for which an idle thread is kept: it keeps the memory that it has freed.
const KEPT: Duration = Duration::from_secs(1);

/// A runtime for what waits.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_keep_alive(KEPT)
        .enable_all()
        .build()
        .context("can't start threads")
}

/// A runtime that moves the messages of one client, on the thread of its caller: what a message passes through takes no
/// other thread.
pub(crate) fn message_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .thread_keep_alive(KEPT)
        .enable_all()
        .build()
        .context("can't start the runtime of messages")
}

/// A runtime for a server of many: a thread a processor.
pub(crate) fn server_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .thread_keep_alive(KEPT)
        .enable_all()
        .build()
        .context("can't start threads")
}
