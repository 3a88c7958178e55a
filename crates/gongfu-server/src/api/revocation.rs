//! Ends calls and streams whose credential is revoked meanwhile.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use gongfu_core::registry::{Accounts, Identity};
use http::header::CONTENT_TYPE;
use http_body::{Body as HttpBody, Frame, SizeHint};

use crate::problem::{CredentialFault, Problem};

/// The time between two looks at the credential of a call or a stream.
const INTERVAL: Duration = Duration::from_millis(700);

/// The same response; a stream of events is broken off once the credential of its request is revoked.
pub(super) fn watched(
    response: Response,
    identity: Arc<Identity>,
    accounts: &Accounts,
) -> Response {
    let kind = response.headers().get(CONTENT_TYPE);
    let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !is_stream {
        return response;
    }
    let accounts = accounts.clone();
    response.map(|body| {
        Body::new(RevocableBody {
            body,
            revoked: Some(Box::pin(revoked(accounts, identity))),
        })
    })
}

/// The result of some work, which ends once the credential that it is for is revoked.
///
/// # Errors
/// It was revoked.
pub(super) async fn unless_revoked<T>(
    accounts: &Accounts,
    identity: &Arc<Identity>,
    work: impl Future<Output = T>,
) -> Result<T, Problem> {
    tokio::select! {
        biased;
        result = work => Ok(result),
        () = revoked(accounts.clone(), Arc::clone(identity)) => {
            Err(Problem::Credential(CredentialFault::Revoked))
        }
    }
}

/// Waits until a credential counts no more.
async fn revoked(accounts: Accounts, identity: Arc<Identity>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        match accounts.still_counts(&identity).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%error, "a stream ends because its credential can't be checked");
                return;
            }
        }
    }
}

struct RevocableBody {
    body: Body,
    /// `None` once it was revoked.
    revoked: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl HttpBody for RevocableBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(revoked) = &mut self.revoked
            && revoked.as_mut().poll(context).is_ready()
        {
            self.revoked = None;
            // Dropped at once, so that what runs for it ends.
            self.body = Body::empty();
            // An end as of a whole answer would have a client take it for one.
            let why = "the credential was revoked";
            return Poll::Ready(Some(Err(axum::Error::new(why))));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
