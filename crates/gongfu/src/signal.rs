//! The signals that end a server.

/// SIGXFSZ, on every system that this is built for: a file would grow beyond what the system allows.
#[cfg(unix)]
const FILE_TOO_LARGE: i32 = 25;

/// Waits for the signals that end a server: SIGTERM, SIGINT and SIGHUP.
#[cfg(unix)]
pub(crate) async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    // It would end the server; with somebody who listens, only the write fails.
    let _listening = signal(SignalKind::from_raw(FILE_TOO_LARGE));
    let (Ok(mut term), Ok(mut interrupt), Ok(mut hangup)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
        signal(SignalKind::hangup()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
        _ = hangup.recv() => {}
    }
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
pub(crate) async fn terminated() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
