//! Timeouts and shutdown of a connection, over pipes in memory.

use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::{get, post};
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Caller, Peer, Timeouts, serve};

const HALF: &str = "POST /echo HTTP/1.1\r\nHost:";
const WHOLE: &str = "GET /quick HTTP/1.1\r\nHost: x\r\n\r\n";
/// Only a hang takes as long.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Long enough for the server to read what was sent.
const MOMENT: Duration = Duration::from_millis(100);

struct Connection {
    client: DuplexStream,
    shutdown: watch::Sender<()>,
    server: JoinHandle<()>,
    gauge: Gauge,
}

impl Connection {
    /// A connection over which the server has read a text.
    async fn with(head: Duration, sent: &str) -> Self {
        let router = Router::new()
            .route("/quick", get(|| async { "quick" }))
            .route("/echo", post(|body: String| async { body }))
            .route(
                "/slow",
                get(|| async {
                    tokio::time::sleep(MOMENT * 5).await;
                    "slow"
                }),
            );
        let (mut client, io) = tokio::io::duplex(64 * 1024);
        let (shutdown, receiver) = watch::channel(());
        let gauge = Gauge::default();
        let write = TIMEOUT;
        let timeouts = Timeouts { head, write };
        let server = tokio::spawn(serve(
            io,
            (Caller::Own, Peer(None)),
            router,
            timeouts,
            receiver,
            gauge.clone(),
        ));
        client.write_all(sent.as_bytes()).await.unwrap();
        tokio::time::sleep(MOMENT).await;
        Self {
            client,
            shutdown,
            server,
            gauge,
        }
    }

    /// Reads all answers until the connection is closed.
    async fn rest(mut self) -> String {
        let mut rest = String::new();
        let read = self.client.read_to_string(&mut rest);
        tokio::time::timeout(TIMEOUT, read).await.unwrap().unwrap();
        self.server.await.unwrap();
        assert_eq!(self.gauge.get(), 0);
        rest
    }
}

#[tokio::test]
async fn shutdown_closes_a_connection_without_a_request() {
    let both = format!("{WHOLE}{HALF}");
    for (sent, answers) in [("", 0), ("P", 0), (HALF, 0), (WHOLE, 1), (&both, 1)] {
        let connection = Connection::with(TIMEOUT, sent).await;
        let started = Instant::now();
        connection.shutdown.send(()).unwrap();
        let rest = connection.rest().await;
        assert_eq!(rest.matches("200 OK").count(), answers, "{sent:?}: {rest}");
        assert!(started.elapsed() < TIMEOUT / 10, "{sent:?}");
    }
}

#[tokio::test]
async fn shutdown_waits_for_the_answer_to_a_request() {
    let connection = Connection::with(TIMEOUT, &WHOLE.replace("quick", "slow")).await;
    connection.shutdown.send(()).unwrap();
    let rest = connection.rest().await;
    assert!(rest.contains("200 OK") && rest.ends_with("slow"), "{rest}");

    // A part of its body may still be on its way.
    let head = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\none";
    let mut connection = Connection::with(TIMEOUT, head).await;
    connection.shutdown.send(()).unwrap();
    tokio::time::sleep(MOMENT).await;
    connection.client.write_all(b"two").await.unwrap();
    let rest = connection.rest().await;
    assert!(
        rest.contains("200 OK") && rest.ends_with("onetwo"),
        "{rest}"
    );
}

#[tokio::test]
async fn closes_a_connection_whose_head_takes_too_long() {
    for (sent, answers) in [(HALF, 0), (WHOLE, 1)] {
        let connection = Connection::with(MOMENT * 3, sent).await;
        let started = Instant::now();
        let (mut reading, mut writing) = tokio::io::split(connection.client);
        // Each piece comes in time; the whole never does.
        let dripping = tokio::spawn(async move {
            for piece in std::iter::once(HALF).chain(std::iter::repeat("x")) {
                if writing.write_all(piece.as_bytes()).await.is_err() {
                    break;
                }
                tokio::time::sleep(MOMENT / 5).await;
            }
        });
        let mut rest = String::new();
        reading.read_to_string(&mut rest).await.unwrap();
        dripping.abort();
        connection.server.await.unwrap();
        assert_eq!(rest.matches("200 OK").count(), answers, "{rest}");
        assert!(started.elapsed() < TIMEOUT / 10, "{sent:?}");
    }
}

#[tokio::test]
async fn answer_and_body_may_take_longer_than_a_head() {
    let slow = WHOLE.replace("quick", "slow");
    let mut connection = Connection::with(MOMENT * 2, &slow).await;
    tokio::time::sleep(MOMENT * 5).await;
    let head = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\none";
    connection.client.write_all(head).await.unwrap();
    tokio::time::sleep(MOMENT * 4).await;
    connection.client.write_all(b"two").await.unwrap();
    let rest = connection.rest().await;
    assert!(
        rest.matches("200 OK").count() == 2 && rest.contains("slow") && rest.ends_with("onetwo"),
        "{rest}"
    );
}

#[tokio::test]
async fn closes_an_idle_connection() {
    for (sent, answers) in [("", 0), (WHOLE, 1)] {
        let connection = Connection::with(MOMENT * 2, sent).await;
        let rest = connection.rest().await;
        assert_eq!(rest.matches("200 OK").count(), answers, "{rest}");
    }
}
