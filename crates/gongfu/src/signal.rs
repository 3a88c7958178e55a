//! The signals that end a server.

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGXFSZ, on every system that this is built for: a file would grow beyond what the system allows.
#[cfg(unix)]
const FILE_TOO_LARGE: i32 = 25;

/// The wish that a signal stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The person pressed Ctrl-C.
    Interrupt,
    /// The program is to end.
    End,
}

/// The signals that end a server, SIGTERM, SIGINT and SIGHUP, which from now on only tell it to.
pub(crate) struct Signals {
    #[cfg(unix)]
    ending: Vec<(Wish, Signal)>,
    /// It would end the server; with somebody who listens, only the write fails.
    #[cfg(unix)]
    _file_too_large: Option<Signal>,
}

impl Signals {
    /// Listens, from this moment. Must be called within a runtime.
    pub(crate) fn listen() -> Self {
        #[cfg(unix)]
        {
            let ending = [
                (Wish::End, SignalKind::terminate()),
                (Wish::Interrupt, SignalKind::interrupt()),
                (Wish::End, SignalKind::hangup()),
            ];
            Self {
                ending: ending
                    .into_iter()
                    .filter_map(|(wish, kind)| Some((wish, signal(kind).ok()?)))
                    .collect(),
                _file_too_large: signal(SignalKind::from_raw(FILE_TOO_LARGE)).ok(),
            }
        }
        #[cfg(not(unix))]
        Self {}
    }

    /// Waits for the next of them.
    pub(crate) async fn next(&mut self) {
        self.wish().await;
    }

    /// Waits for the next of them, and says what it stands for.
    #[cfg(unix)]
    pub(crate) async fn wish(&mut self) -> Wish {
        use std::task::Poll;

        std::future::poll_fn(|context| {
            let mut ending = self.ending.iter_mut();
            let wish = ending
                .find_map(|(wish, signal)| signal.poll_recv(context).is_ready().then_some(*wish));
            wish.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Waits for Ctrl-C.
    #[cfg(not(unix))]
    pub(crate) async fn wish(&mut self) -> Wish {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Wish::Interrupt
    }
}
