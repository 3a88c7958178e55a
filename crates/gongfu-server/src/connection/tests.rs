//! What is waited for and what isn't, over pipes in memory.

use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::{get, post};
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Patience, serve};

const HALF: &str = "POST /echo HTTP/1.1\r\nHost:";
const WHOLE: &str = "GET /quick HTTP/1.1\r\nHost: x\r\n\r\n";
/// What nothing here may come near.
const LONG: Duration = Duration::from_secs(30);
const PATIENT: Patience = Patience {
    head: LONG,
    idle: LONG,
    write: LONG,
};
/// So long that a server that has something to read has read it.
const MOMENT: Duration = Duration::from_millis(100);

struct Line {
    client: DuplexStream,
    ending: watch::Sender<()>,
    server: JoinHandle<()>,
    gauge: Gauge,
}

impl Line {
    /// A connection on which this has been sent, and read.
    async fn with(patience: Patience, sent: &str) -> Self {
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
        let (ending, ended) = watch::channel(());
        let gauge = Gauge::default();
        let server = tokio::spawn(serve(io, router, patience, ended, gauge.clone()));
        client.write_all(sent.as_bytes()).await.unwrap();
        tokio::time::sleep(MOMENT).await;
        Self {
            client,
            ending,
            server,
            gauge,
        }
    }

    /// What is answered until the connection is closed.
    async fn rest(mut self) -> String {
        let mut rest = String::new();
        let read = self.client.read_to_string(&mut rest);
        tokio::time::timeout(LONG, read).await.unwrap().unwrap();
        self.server.await.unwrap();
        assert_eq!(self.gauge.get(), 0);
        rest
    }
}

#[tokio::test]
async fn at_the_end_nothing_waits_for_a_request_that_isnt_there() {
    let both = format!("{WHOLE}{HALF}");
    for (sent, answers) in [("", 0), ("P", 0), (HALF, 0), (WHOLE, 1), (&both, 1)] {
        let line = Line::with(PATIENT, sent).await;
        let started = Instant::now();
        line.ending.send(()).unwrap();
        let rest = line.rest().await;
        assert_eq!(rest.matches("200 OK").count(), answers, "{sent:?}: {rest}");
        assert!(started.elapsed() < LONG / 10, "{sent:?}");
    }
}

#[tokio::test]
async fn at_the_end_a_request_that_is_there_is_answered() {
    let line = Line::with(PATIENT, &WHOLE.replace("quick", "slow")).await;
    line.ending.send(()).unwrap();
    let rest = line.rest().await;
    assert!(rest.contains("200 OK") && rest.ends_with("slow"), "{rest}");

    // Its body may still be on its way.
    let head = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\none";
    let mut line = Line::with(PATIENT, head).await;
    line.ending.send(()).unwrap();
    tokio::time::sleep(MOMENT).await;
    line.client.write_all(b"two").await.unwrap();
    let rest = line.rest().await;
    assert!(
        rest.contains("200 OK") && rest.ends_with("onetwo"),
        "{rest}"
    );
}

#[tokio::test]
async fn a_head_that_has_begun_is_waited_for_a_while() {
    let short = Patience {
        head: MOMENT * 3,
        ..PATIENT
    };
    for (sent, answers) in [(HALF, 0), (WHOLE, 1)] {
        let line = Line::with(short, sent).await;
        let started = Instant::now();
        let (mut reading, mut writing) = tokio::io::split(line.client);
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
        line.server.await.unwrap();
        assert_eq!(rest.matches("200 OK").count(), answers, "{rest}");
        assert!(started.elapsed() < LONG / 10, "{sent:?}");
    }
}

#[tokio::test]
async fn what_is_no_head_has_its_own_time() {
    let short = Patience {
        head: MOMENT,
        ..PATIENT
    };
    // Nothing at all, an answer, a body, and the time between two requests take longer each.
    let mut line = Line::with(short, "").await;
    tokio::time::sleep(MOMENT * 2).await;
    let slow = WHOLE.replace("quick", "slow");
    line.client.write_all(slow.as_bytes()).await.unwrap();
    tokio::time::sleep(MOMENT * 8).await;
    let head = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\none";
    line.client.write_all(head).await.unwrap();
    tokio::time::sleep(MOMENT * 3).await;
    line.client.write_all(b"two").await.unwrap();
    tokio::time::sleep(MOMENT * 3).await;
    let last = WHOLE.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    line.client.write_all(last.as_bytes()).await.unwrap();
    let rest = line.rest().await;
    assert!(
        rest.matches("200 OK").count() == 3
            && rest.contains("\r\n\r\nonetwo")
            && rest.ends_with("quick"),
        "{rest}"
    );
}

#[tokio::test]
async fn the_next_request_is_waited_for_a_while() {
    let short = Patience {
        idle: MOMENT * 2,
        ..PATIENT
    };
    for (sent, answers) in [("", 0), (WHOLE, 1)] {
        let line = Line::with(short, sent).await;
        let rest = line.rest().await;
        assert_eq!(rest.matches("200 OK").count(), answers, "{rest}");
    }
}
