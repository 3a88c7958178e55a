//! The rest of a request's body that nobody read, because the request was refused by its head.
//!
//! Left unread, it would end the connection without a word to the client, whose next request on it fails then.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderValue;
use http::header::CONNECTION;
use http_body::{Body as HttpBody, Frame, SizeHint};

/// The longest rest that is read, in bytes.
const MAX_REST: usize = 64 * 1024;
/// The time that it may take.
const REST_TIME: Duration = Duration::from_secs(1);

/// Reads what a refusal left of the body; where that is much, says that the connection ends.
pub(crate) async fn finish(request: Request, next: Next) -> Response {
    let rest = Rest::default();
    let lent = Arc::clone(&rest);
    let request = request.map(|body| {
        Body::new(LentBody {
            body: Some(body),
            rest: lent,
        })
    });
    let mut response = next.run(request).await;
    if !response.status().is_client_error() && !response.status().is_server_error() {
        return response;
    }
    let left = rest.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(body) = left {
        let read = tokio::time::timeout(REST_TIME, to_bytes(body, MAX_REST)).await;
        if !matches!(read, Ok(Ok(_))) {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
    }
    response
}

/// The place of a body that was dropped before its end.
type Rest = Arc<Mutex<Option<Body>>>;

/// A body that comes back when it is dropped before its end.
struct LentBody {
    body: Option<Body>,
    rest: Rest,
}

impl HttpBody for LentBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(body).poll_frame(context);
        if !matches!(polled, Poll::Pending | Poll::Ready(Some(Ok(_)))) {
            self.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let body = self.body.as_ref();
        body.map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for LentBody {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            *self.rest.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}
