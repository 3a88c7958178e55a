//! Our side of the protocol: what a server may ask of us and tell us.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::port::{Progress, ProgressListener};
use rmcp::ClientHandler;
use rmcp::model::{ClientConfig, Implementation, ProgressNotificationParam, ProgressToken};
use rmcp::service::{NotificationContext, RoleClient};
use tokio::sync::Notify;

/// The handler of one connection. A server that asks for a model, for folders or for a person is refused.
#[derive(Clone, Default)]
pub(crate) struct Client {
    state: Arc<ClientState>,
}

#[derive(Default)]
struct ClientState {
    /// The listeners of calls that go on.
    listeners: Mutex<HashMap<ProgressToken, ProgressListener>>,
    /// Tells that the list of tools changed.
    tools: Notify,
}

/// A listener of progress, until it is dropped.
pub(crate) struct Listening {
    state: Arc<ClientState>,
    token: ProgressToken,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.state.listeners().remove(&self.token);
    }
}

impl ClientState {
    fn listeners(&self) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, ProgressListener>> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    /// Passes the progress of a call on.
    pub(crate) fn listen(&self, token: ProgressToken, listener: ProgressListener) -> Listening {
        self.state.listeners().insert(token.clone(), listener);
        Listening {
            state: Arc::clone(&self.state),
            token,
        }
    }

    /// Waits until the list of tools changed.
    pub(crate) async fn tools_changed(&self) {
        self.state.tools.notified().await;
    }

    /// Tells that the list of tools changed.
    pub(crate) fn tools_change(&self) {
        self.state.tools.notify_one();
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.client_info = Implementation::new("gongfu", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let listener = self
            .state
            .listeners()
            .get(&progress.progress_token)
            .cloned();
        if let Some(listener) = listener {
            listener(Progress {
                done: progress.progress,
                total: progress.total,
                message: progress.message,
            });
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.tools_change();
    }
}
