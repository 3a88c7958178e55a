//! The watch over a session.

use std::sync::Arc;
use std::time::Duration;

use gongfu_core::connection::State;
use gongfu_core::port::PortError;
use tokio::sync::watch;
use tokio::time::sleep;

use super::{Link, MAX_CALLS};
use crate::session::Session;

/// The time between two probes of a server that is not used.
const PROBE_INTERVAL: Duration = Duration::from_secs(30);
/// The time after which a server is stopped that nobody used.
const IDLE: Duration = Duration::from_mins(10);

/// Waits until a connection is closed.
pub(super) async fn closed(closing: &mut watch::Receiver<bool>) {
    let _ = closing.wait_for(|closing| *closing).await;
}

/// Watches over a session until it ends.
pub(super) async fn watch_over(link: Arc<Link>, session: Arc<Session>) {
    let mut closing = link.closing.subscribe();
    // They may have changed while it didn't run.
    session.service.service().resources_change();
    session.service.service().prompts_change();
    let end = loop {
        tokio::select! {
            end = session.ended() => break Some(end),
            () = closed(&mut closing) => break None,
            // It was replaced, and ends with its last call.
            () = session.released() => return,
            () = session.tools_changed() => {
                if let Err(trouble) = session.list().await {
                    let error = PortError::from(trouble);
                    tracing::warn!(%error, connection = %link.connection().name, "its tools can't be listed");
                    continue;
                }
                let Ok(pin) = link.upstream.pin().await else { continue };
                let verdict = link.judge(&pin, &session);
                link.update(|health| health.listed(&verdict));
                link.version.send_modify(|version| *version += 1);
            }
            () = session.service.service().resources_changed() => {
                link.skills_changed(&session).await;
                link.list_content(&session).await;
            }
            () = session.service.service().prompts_changed() => link.list_content(&session).await,
            () = sleep(PROBE_INTERVAL) => {
                link.look().await;
                if link.unused() > IDLE {
                    link.replace(None);
                    link.update(|health| health.stopped("nobody needs it now; a call starts it"));
                    return;
                }
                // A server that is busy with calls may not get to answer.
                let is_busy = link.calls.available_permits() < MAX_CALLS;
                let is_answered = is_busy || session.probe().await;
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
    drop(session);
    if let Some(end) = end
        && link.health().state() != State::Dead
    {
        link.lost(end);
    }
}
