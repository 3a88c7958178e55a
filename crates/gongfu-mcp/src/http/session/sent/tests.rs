//! What is kept, for how long, and how much of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rmcp::model::{
    CallToolResult, ContentBlock, ErrorData, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use tokio::time::{Duration, advance};

use super::{ALL, ANSWER, Behind, EventId, KEPT, LEFT, MOST, Room, SESSION, Sent, weight};

fn answer(stream: u64, index: u64, size: usize) -> ServerSseMessage {
    let result = CallToolResult::success(vec![ContentBlock::text("x".repeat(size))]);
    let message =
        ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), RequestId::Number(1));
    ServerSseMessage::new(format!("{index}/{stream}"), message)
}

fn priming(stream: u64) -> ServerSseMessage {
    ServerSseMessage::priming(format!("0/{stream}"), Duration::from_secs(1))
}

fn note(sent: &mut Sent, event: &ServerSseMessage) -> Option<u64> {
    sent.note(event, weight(event))
}

/// Sends a whole answer on a stream.
fn send(sent: &mut Sent, stream: u64, size: usize) {
    assert_eq!(note(sent, &priming(stream)), Some(stream));
    assert_eq!(note(sent, &answer(stream, 1, size)), None);
}

/// What comes behind an event: how many events, `None` where it isn't known.
fn behind(sent: &Sent, last: &str) -> Option<usize> {
    match sent.behind(EventId::parse(last)?) {
        Behind::Ended(events) => Some(events.len()),
        Behind::Open | Behind::Unknown => None,
    }
}

#[test]
fn an_event_has_one_name() {
    for (text, index, stream) in [("0", 0, None), ("12/3", 12, Some(3))] {
        assert_eq!(EventId::parse(text), Some(EventId { index, stream }));
    }
    for text in [
        "",
        "/",
        "1/",
        "/1",
        "+1",
        "-1",
        " 1",
        "1/2/3",
        "x",
        "../../x",
        "1e3",
        "99999999999999999999",
    ] {
        assert_eq!(EventId::parse(text), None, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_kept_for_a_while() {
    let room = Arc::new(Room::default());
    let mut sent = Sent::new(&room);
    assert_eq!(note(&mut sent, &priming(3)), Some(3));
    let begun = EventId::parse("0/3").unwrap();
    assert!(matches!(sent.behind(begun), Behind::Open));
    assert_eq!(note(&mut sent, &answer(3, 1, 10)), None);
    assert_eq!(behind(&sent, "0/3"), Some(1));
    assert_eq!(behind(&sent, "1/3"), Some(0));
    for unknown in ["2/3", "0/4", "0"] {
        let unknown = EventId::parse(unknown).unwrap();
        assert!(matches!(sent.behind(unknown), Behind::Unknown));
    }
    sent.opened_alone();
    assert!(matches!(
        sent.behind(EventId::parse("0").unwrap()),
        Behind::Open
    ));
    advance(KEPT).await;
    sent.forget_old();
    assert_eq!(behind(&sent, "0/3"), None);
    assert_eq!(room.0.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn an_error_ends_a_stream_as_well() {
    let room = Arc::new(Room::default());
    let mut sent = Sent::new(&room);
    note(&mut sent, &priming(1));
    let error = ErrorData::invalid_params("no", None);
    let message = ServerJsonRpcMessage::error(error, Some(RequestId::Number(1)));
    assert_eq!(
        note(&mut sent, &ServerSseMessage::new("1/1", message)),
        None
    );
    assert_eq!(behind(&sent, "0/1"), Some(1));
}

#[tokio::test]
async fn the_oldest_answers_go_first() {
    let room = Arc::new(Room::default());
    let mut sent = Sent::new(&room);
    for stream in 0..=MOST as u64 {
        send(&mut sent, stream, 10);
    }
    assert_eq!(behind(&sent, "0/0"), None);
    assert_eq!(behind(&sent, "0/1"), Some(1));
    // Three of nearly the longest are more than a session keeps.
    for stream in 20..23 {
        send(&mut sent, stream, ANSWER - 2_000);
    }
    assert_eq!(behind(&sent, "0/20"), None);
    assert_eq!(behind(&sent, "0/22"), Some(1));
    assert!(room.0.load(Ordering::Relaxed) <= SESSION);
    drop(sent);
    assert_eq!(room.0.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn what_has_no_room_is_not_kept() {
    let room = Arc::new(Room::default());
    let mut sent = Sent::new(&room);
    send(&mut sent, 1, ANSWER);
    assert_eq!(behind(&sent, "0/1"), None);
    assert_eq!(room.0.load(Ordering::Relaxed), 0);
    let mut many = Vec::new();
    for _ in 0..2 * ALL / SESSION {
        let mut sent = Sent::new(&room);
        send(&mut sent, 1, ANSWER - 2_000);
        send(&mut sent, 2, ANSWER - 2_000);
        many.push(sent);
    }
    let kept = many.iter().filter(|sent| behind(sent, "0/2").is_some());
    let kept = kept.count();
    assert!((10..many.len()).contains(&kept), "{kept}");
    assert!(room.0.load(Ordering::Relaxed) <= ALL);
    drop(many);
    assert_eq!(room.0.load(Ordering::Relaxed), 0);
    send(&mut sent, 3, 10);
    assert_eq!(behind(&sent, "0/3"), Some(1));
}

#[test]
fn streams_that_nobody_reads_are_bounded() {
    let room = Arc::new(Room::default());
    let mut sent = Sent::new(&room);
    for stream in 0..=LEFT as u64 {
        note(&mut sent, &priming(stream));
        sent.stopped(stream);
    }
    let known = |sent: &Sent, stream: u64| {
        let last = EventId {
            index: 0,
            stream: Some(stream),
        };
        matches!(sent.behind(last), Behind::Open)
    };
    assert!(!known(&sent, 0));
    assert!(known(&sent, 1));
    // One that goes on is no longer one of them.
    sent.resumed(1);
    for stream in 100..=100 + LEFT as u64 {
        note(&mut sent, &priming(stream));
        sent.stopped(stream);
    }
    assert!(known(&sent, 1));
    assert!(!known(&sent, 2));
}
