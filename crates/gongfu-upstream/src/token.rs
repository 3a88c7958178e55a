//! Requests with the token of a sign-in, and the refresh of that token.
//!
//! A provider that rotates refresh tokens forgets the old one when it answers. So a refresh that has begun goes on until
//! the new tokens are stored, whatever becomes of the request that needed them.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use oauth2::TokenResponse as _;
use reqwest::Client;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{AuthError, CredentialStore as _, StoredCredentials};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::Sse;
use tokio::sync::watch;

use crate::sign_in::SignIns;

/// A token is refreshed this long before its end, or a quarter of its lifetime where that is shorter.
const MARGIN: Duration = Duration::from_secs(30);
/// The time that refreshes have at the end of the process.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// The number of refreshes that have begun and not ended in this process.
static REFRESHES: LazyLock<watch::Sender<usize>> = LazyLock::new(watch::Sender::default);

/// Waits until no token is being refreshed, for five seconds at most.
///
/// Call it before the runtime ends: a provider may have given new tokens that are not stored yet, and the old ones are
/// void.
pub async fn refreshes_ended() {
    let mut running = REFRESHES.subscribe();
    let ended = running.wait_for(|running| *running == 0);
    if tokio::time::timeout(END_TIMEOUT, ended).await.is_err() {
        tracing::warn!(
            "a token was being refreshed at the end; a person may have to sign in again"
        );
    }
}

/// Counts a refresh for as long as it runs.
struct Refresh;

impl Refresh {
    fn begin() -> Self {
        REFRESHES.send_modify(|running| *running += 1);
        Self
    }
}

impl Drop for Refresh {
    fn drop(&mut self) {
        REFRESHES.send_modify(|running| *running -= 1);
    }
}

/// An HTTP client that sends the token of a sign-in, where there is one.
#[derive(Clone)]
pub(crate) struct TokenClient {
    client: Client,
    tokens: Arc<Tokens>,
}

struct Tokens {
    sign_ins: SignIns,
    manager: AuthorizationManager,
}

type Answer<T> = Result<T, StreamableHttpError<reqwest::Error>>;

impl TokenClient {
    pub(crate) fn new(client: Client, sign_ins: SignIns, manager: AuthorizationManager) -> Self {
        let tokens = Arc::new(Tokens { sign_ins, manager });
        Self { client, tokens }
    }

    /// Makes a request with the token, and once more with a new one where the server refuses it.
    ///
    /// Without a token the request is made as well: the server's refusal says how to sign in.
    async fn request<T, F>(&self, request: impl Fn(Option<String>) -> F) -> Answer<T>
    where
        F: Future<Output = Answer<T>>,
    {
        let sent = self.tokens.token(None).await?;
        match (request(sent.clone()).await, sent) {
            (Err(StreamableHttpError::AuthRequired(challenge)), Some(refused)) => {
                match self.tokens.token(Some(refused)).await? {
                    Some(fresh) => request(Some(fresh)).await,
                    None => Err(StreamableHttpError::AuthRequired(challenge)),
                }
            }
            (answer, _) => answer,
        }
    }
}

impl Tokens {
    /// The token to send, unless a person must sign in. `refused` is one that the server takes no more.
    async fn token(self: &Arc<Self>, refused: Option<String>) -> Result<Option<String>, AuthError> {
        let stored = self.sign_ins.load().await?;
        match Token::of(stored, refused.as_deref()) {
            Token::Usable(token) => return Ok(Some(token)),
            Token::Missing => return Ok(None),
            Token::Old => {}
        }
        let (this, running) = (Arc::clone(self), Refresh::begin());
        let refreshing = tokio::spawn(async move {
            let refreshed = this.refreshed(refused.as_deref()).await;
            drop(running);
            refreshed
        });
        let refreshed = refreshing.await;
        refreshed.map_err(|error| AuthError::InternalError(error.to_string()))?
    }

    async fn refreshed(&self, refused: Option<&str>) -> Result<Option<String>, AuthError> {
        let _lock = self.sign_ins.lock().await?;
        // Somebody else may have refreshed it meanwhile.
        match Token::of(self.sign_ins.load().await?, refused) {
            Token::Usable(token) => return Ok(Some(token)),
            Token::Missing => return Ok(None),
            Token::Old => {}
        }
        match self.manager.refresh_token().await {
            Ok(fresh) => {
                let fresh = fresh.access_token().secret().clone();
                Ok(Some(fresh).filter(|fresh| refused != Some(fresh)))
            }
            Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The token that a sign-in has for a request.
#[derive(Debug, PartialEq, Eq)]
enum Token {
    Usable(String),
    /// It must be refreshed first.
    Old,
    /// A person must sign in.
    Missing,
}

impl Token {
    fn of(stored: Option<StoredCredentials>, refused: Option<&str>) -> Self {
        let Some(stored) = stored else {
            return Self::Missing;
        };
        let Some(response) = stored.token_response else {
            return Self::Missing;
        };
        let token = response.access_token().secret();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_secs();
        let is_fresh = match (response.expires_in(), stored.token_received_at) {
            (Some(life), Some(received)) => {
                let age = Duration::from_secs(now.saturating_sub(received));
                life.saturating_sub(age) > MARGIN.min(life / 4)
            }
            // The server will say when it has ended.
            _ => true,
        };
        if is_fresh && refused != Some(token) {
            Self::Usable(token.clone())
        } else {
            Self::Old
        }
    }
}

impl StreamableHttpClient for TokenClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answer<StreamableHttpPostResponse> {
        let max = StreamableHttpClientTransportConfig::default().max_sse_event_size;
        self.post_message_with_max_sse_event_size(uri, message, session_id, None, headers, max)
            .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        max: usize,
    ) -> Answer<StreamableHttpPostResponse> {
        self.request(|token| {
            let (uri, message) = (Arc::clone(&uri), message.clone());
            let (session, headers) = (session_id.clone(), headers.clone());
            self.client
                .post_message_with_max_sse_event_size(uri, message, session, token, headers, max)
        })
        .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answer<()> {
        self.request(|token| {
            let (uri, session) = (Arc::clone(&uri), Arc::clone(&session_id));
            self.client
                .delete_session(uri, session, token, headers.clone())
        })
        .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answer<BoxStream<'static, Result<Sse, SseError>>> {
        let max = StreamableHttpClientTransportConfig::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(uri, session_id, last, None, headers, max)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        max: usize,
    ) -> Answer<BoxStream<'static, Result<Sse, SseError>>> {
        self.request(|token| {
            let (uri, session, last) = (Arc::clone(&uri), session_id.clone(), last.clone());
            let headers = headers.clone();
            self.client
                .get_stream_with_max_sse_event_size(uri, session, last, token, headers, max)
        })
        .await
    }
}

#[cfg(test)]
mod tests;
