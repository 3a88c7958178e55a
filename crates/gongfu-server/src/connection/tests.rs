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
    first: LONG,
    next: LONG,
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
async fn the_first_head_is_waited_for_a_while_and_an_answer_as_long_as_it_takes() {
    let short = Patience {
        first: MOMENT * 2,
        ..PATIENT
    };
    for sent in ["", HALF] {
        let line = Line::with(short, sent).await;
        assert_eq!(line.rest().await, "");
    }
    let mut line = Line::with(short, &WHOLE.replace("quick", "slow")).await;
    // The next one has its own time.
    tokio::time::sleep(MOMENT * 5).await;
    line.client
        .write_all(
            WHOLE
                .replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")
                .as_bytes(),
        )
        .await
        .unwrap();
    let rest = line.rest().await;
    assert!(
        rest.matches("200 OK").count() == 2 && rest.ends_with("quick"),
        "{rest}"
    );
}

#[tokio::test]
async fn the_next_head_is_waited_for_a_while_too() {
    let short = Patience {
        next: MOMENT * 2,
        ..PATIENT
    };
    let line = Line::with(short, &format!("{WHOLE}{HALF}")).await;
    let rest = line.rest().await;
    assert_eq!(rest.matches("200 OK").count(), 1, "{rest}");
}
