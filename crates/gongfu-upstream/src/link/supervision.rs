//! The watch over a session.

use std::sync::Arc;
use std::time::Duration;

use gongfu_core::connection::State;
use gongfu_core::port::PortError;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::Link;
use crate::session::Session;

/// The time between two probes of a server that is not used.
const PROBE_INTERVAL: Duration = Duration::from_secs(30);
/// The time after which a server is stopped that nobody used.
const IDLE: Duration = Duration::from_mins(10);
/// The least and the longest time between two listings that a server asks for: it grows while the server asks again each
/// time.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Waits until a connection is closed.
pub(super) async fn closed(closing: &mut watch::Receiver<bool>) {
    let _ = closing.wait_for(|closing| *closing).await;
}

/// Watches over a session until it ends.
pub(super) async fn watch_over(link: Arc<Link>, session: Arc<Session>) {
    let mut closing = link.closing.subscribe();
    // They end with this.
    let mut followers = JoinSet::new();
    followers.spawn(follow_tools(Arc::clone(&link), Arc::clone(&session)));
    followers.spawn(follow_content(Arc::clone(&link), Arc::clone(&session)));
    let end = loop {
        tokio::select! {
            end = session.ended() => break Some(end),
            () = closed(&mut closing) => break None,
            // It was replaced, and ends with its last call.
            () = session.released() => return,
            () = sleep(PROBE_INTERVAL) => {
                link.look().await;
                if link.unused() > IDLE && !link.is_busy() {
                    link.replace(None);
                    link.update(|health| health.stopped("nobody needs it now; a call starts it"));
                    return;
                }
                // A server that is busy with calls may not get to answer.
                let is_answered = link.is_busy() || session.probe().await;
                if !link.update(|health| health.probed(is_answered)) {
                    break Some("it doesn't answer".to_owned());
                }
            }
        }
    };
    let is_same = |current: &mut Arc<Session>| Arc::ptr_eq(current, &session);
    if link.current().take_if(is_same).is_none() {
        return;
    }
    followers.shutdown().await;
    drop(session);
    if let Some(end) = end
        && link.health().state() != State::Dead
    {
        link.lost(end);
    }
}

/// Lists the tools again whenever the server says that they changed.
async fn follow_tools(link: Arc<Link>, session: Arc<Session>) {
    let mut pace = Pace::new();
    loop {
        session.tools_changed().await;
        pace.wait().await;
        if let Err(trouble) = session.list().await {
            let error = PortError::from(trouble);
            tracing::warn!(%error, connection = %link.connection().name, "its tools can't be listed");
            continue;
        }
        let Ok(pin) = link.upstream.pin().await else {
            continue;
        };
        let verdict = link.judge(&pin, &session);
        link.update(|health| health.listed(&verdict));
        link.version.send_modify(|version| *version += 1);
    }
}

/// Lists the prompts and resources once, and again whenever the server says that they changed.
async fn follow_content(link: Arc<Link>, session: Arc<Session>) {
    let client = session.service.service();
    // They may have changed while it didn't run.
    client.resources_change();
    let mut pace = Pace::new();
    loop {
        let are_resources = tokio::select! {
            () = client.resources_changed() => true,
            () = client.prompts_changed() => false,
        };
        pace.wait().await;
        if are_resources {
            link.skills_changed(&session).await;
        }
        link.list_content(&session).await;
    }
}

/// The pace of listings.
struct Pace {
    pause: Duration,
    last: Option<Instant>,
}

impl Pace {
    fn new() -> Self {
        Self {
            pause: PAUSE,
            last: None,
        }
    }

    /// Waits until it is time for another listing.
    async fn wait(&mut self) {
        let since = self.last.map(|last| last.elapsed());
        match since {
            Some(since) if since < self.pause * 2 => {
                sleep(self.pause.saturating_sub(since)).await;
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            }
            _ => self.pause = PAUSE,
        }
        self.last = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Pace;

    #[tokio::test(start_paused = true)]
    async fn server_that_asks_again_each_time_waits_longer() {
        let (mut pace, begun) = (Pace::new(), Instant::now());
        for seconds in [0.0, 0.5, 1.5, 3.5, 7.5] {
            pace.wait().await;
            assert!((begun.elapsed().as_secs_f64() - seconds).abs() < 0.1);
        }
        tokio::time::sleep(Duration::from_mins(1)).await;
        let begun = Instant::now();
        pace.wait().await;
        assert!(begun.elapsed() < Duration::from_millis(10));
    }
}
