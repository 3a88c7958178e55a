//! A server in this process that does nothing: what the load reaches against it is what the load
//! itself can do.

use std::convert::Infallible;
use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context as _, Result};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::runtime;
use super::wire::Address;

/// A server that answers every request with the same text, on a thread of its own.
pub(crate) struct Echo {
    /// The address that it listens at.
    pub(crate) address: Address,
    /// It ends when this goes.
    _end: oneshot::Sender<Infallible>,
}

impl Echo {
    /// Starts one that answers with this text.
    pub(crate) fn start(text: &str) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?;
        listener.set_nonblocking(true)?;
        let address = Address::local(listener.local_addr()?.port());
        let result = json!({ "content": [{ "type": "text", "text": text }] });
        let tail = Bytes::from(format!(r#","result":{result}}}"#));
        let runtime = runtime()?;
        let (end, mut ended) = oneshot::channel::<Infallible>();
        std::thread::spawn(move || {
            runtime.block_on(async move {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                    return;
                };
                loop {
                    tokio::select! {
                        _ = &mut ended => return,
                        Ok((stream, _)) = listener.accept() => {
                            let _ = stream.set_nodelay(true);
                            let tail = tail.clone();
                            let service = service_fn(move |request| answer(request, tail.clone()));
                            let connection = http1::Builder::new()
                                .serve_connection(TokioIo::new(stream), service);
                            tokio::spawn(connection);
                        }
                    }
                }
            });
        });
        Ok(Self { address, _end: end })
    }
}

/// The number of the request and the text.
async fn answer(
    request: Request<Incoming>,
    tail: Bytes,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let body = request.into_body().collect().await?.to_bytes();
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let id = message.get("id").and_then(Value::as_u64).unwrap_or(0);
    let mut answer = format!(r#"{{"jsonrpc":"2.0","id":{id}"#).into_bytes();
    answer.extend_from_slice(&tail);
    let mut response = Response::new(Full::new(Bytes::from(answer)));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}
