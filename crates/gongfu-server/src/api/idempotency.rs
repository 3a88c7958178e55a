//! Idempotency keys: a request that is sent again gets the answer that it got, for a day.
//!
//! In memory: after a restart, a request that is sent again is a new one.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes};
use axum::response::Response;
use gongfu_core::port::Timestamp;
use gongfu_core::registry::Credential;
use gongfu_core::skill::Digest;
use http::{HeaderMap, StatusCode};

use super::context::Context;
use super::skill::IDEMPOTENCY_KEY;
use crate::problem::Problem;

/// The time for which an answer is remembered, in milliseconds.
const MEMORY: i64 = 24 * 60 * 60 * 1_000;
/// The answers that are remembered.
const MAX_ANSWERS: usize = 5_000;
/// The longest key and the longest answer.
const MAX_KEY: usize = 255;
const MAX_ANSWER: usize = 64 * 1024;

/// An answer that was given.
#[derive(Clone)]
struct Past {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

/// A request with a key.
struct KeyRecord {
    /// The digest of what it asked for.
    request: Digest,
    at: Timestamp,
    /// The answer; missing until it was given.
    answer: Option<Past>,
}

#[derive(Default)]
struct Table {
    requests: HashMap<Digest, KeyRecord>,
    /// The keys, the oldest first.
    order: VecDeque<Digest>,
}

/// The requests with keys.
#[derive(Default)]
pub(super) struct Idempotency(Mutex<Table>);

/// The right to answer a request with a key. Dropped without an answer, it leaves the key free.
pub(super) struct Turn {
    table: Arc<Idempotency>,
    key: Digest,
    is_answered: bool,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.is_answered {
            self.table.lock().requests.remove(&self.key);
        }
    }
}

/// The start of a request with a key.
pub(super) enum Start {
    /// It is the first.
    First(Turn),
    /// It was answered before.
    Answered(Response),
}

impl Idempotency {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a request of an endpoint; `None` where it has no key.
    ///
    /// # Errors
    /// The key can't be one, was used for something else, or its request isn't answered yet.
    pub(super) fn start(
        self: &Arc<Self>,
        context: &Context,
        endpoint: &str,
        request: Digest,
    ) -> Result<Option<Start>, Problem> {
        let Some(key) = context.headers.get(IDEMPOTENCY_KEY) else {
            return Ok(None);
        };
        let is_plain = |byte: &u8| (b' '..=b'~').contains(byte);
        let key = key.as_bytes();
        if !(1..=MAX_KEY).contains(&key.len()) || !key.iter().all(is_plain) {
            let why = "it has 1 to 255 printable ASCII characters";
            return Err(Problem::field(IDEMPOTENCY_KEY, why));
        }
        let identity = context.identity()?;
        let user = identity.user.as_str().as_bytes();
        // A token may reach less than another one of its user.
        let token = match &identity.credential {
            Credential::ApiToken(id) => id.as_bytes(),
            Credential::SignIn(_) => b"",
        };
        let team = context.team.as_ref().map_or("", |team| team.as_str());
        let scope = [user, token, team.as_bytes(), endpoint.as_bytes(), key];
        let key = Digest::of(&scope.join(&0));
        let (now, mut table) = (context.now(), self.lock());
        table.forget(now);
        if let Some(known) = table.requests.get(&key) {
            if known.request != request {
                let why = "it was used for another request; use a new one";
                return Err(Problem::field(IDEMPOTENCY_KEY, why));
            }
            let Some(past) = known.answer.clone() else {
                return Err(Problem::Conflict {
                    detail: "the first request with this key isn't answered yet".to_owned(),
                    hint: "try again in a moment",
                    field: None,
                });
            };
            let mut response = Response::new(Body::from(past.body));
            *response.status_mut() = past.status;
            *response.headers_mut() = past.headers;
            return Ok(Some(Start::Answered(response)));
        }
        let keyed = KeyRecord {
            request,
            at: now,
            answer: None,
        };
        table.requests.insert(key, keyed);
        table.order.push_back(key);
        Ok(Some(Start::First(Turn {
            table: Arc::clone(self),
            key,
            is_answered: false,
        })))
    }
}

impl Table {
    /// Forgets what is too old or too much.
    fn forget(&mut self, now: Timestamp) {
        while let Some(oldest) = self.order.front().copied() {
            let keyed = self.requests.get(&oldest);
            let is_old = keyed.is_none_or(|keyed| now.0.saturating_sub(keyed.at.0) >= MEMORY);
            if !is_old && self.order.len() < MAX_ANSWERS {
                return;
            }
            self.order.pop_front();
            self.requests.remove(&oldest);
        }
    }
}

impl Turn {
    /// Remembers an answer, and gives it back.
    ///
    /// # Errors
    /// The answer can't be read.
    pub(super) async fn remember(mut self, response: Response) -> Result<Response, Problem> {
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, MAX_ANSWER).await;
        let body = body.map_err(|_| Problem::Fault)?;
        let past = Past {
            status: parts.status,
            headers: parts.headers.clone(),
            body: body.clone(),
        };
        if let Some(keyed) = self.table.lock().requests.get_mut(&self.key) {
            keyed.answer = Some(past);
        }
        self.is_answered = true;
        Ok(Response::from_parts(parts, Body::from(body)))
    }
}
