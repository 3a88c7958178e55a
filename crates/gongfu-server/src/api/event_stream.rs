//! Server-sent events as the body of an answer.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::stream;
use serde::Serialize;

/// The longest silence, so that nobody on the way takes the connection for dead.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// A comment, which clients pass over.
const STILL_HERE: &str = ": still here\n\n";

/// Gives events, written by [`event`], one or several at once.
pub(super) trait EventSource: Send + 'static {
    /// The next events; `None` after the last ones. No event is lost if the future is dropped.
    fn next(&mut self) -> impl Future<Output = Option<String>> + Send;
}

/// An event with data, and a name if it has one.
pub(super) fn event(name: Option<&str>, data: &impl Serialize) -> String {
    let name = name.map_or_else(String::new, |name| format!("event: {name}\n"));
    let data = serde_json::to_string(data).unwrap_or_default();
    format!("{name}data: {data}\n\n")
}

/// The body with these events, then with those of a source.
pub(super) fn body(first: String, source: impl EventSource) -> Body {
    let first = Some(first).filter(|first| !first.is_empty());
    Body::from_stream(stream::unfold(
        (first, source),
        |(first, mut source)| async move {
            let piece = match first {
                Some(first) => first,
                None => match tokio::time::timeout(KEEP_ALIVE, source.next()).await {
                    Ok(events) => events?,
                    Err(_) => STILL_HERE.to_owned(),
                },
            };
            Some((Ok::<_, Infallible>(Bytes::from(piece)), (None, source)))
        },
    ))
}
