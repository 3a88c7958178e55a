//! A client that lost the connection comes back for the rest.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower_service::Service as _;

use super::{
    HttpEndpoint, HttpResponse, HttpSettings, Long, answer, initialize, post, session, told,
};

fn call(id: u64) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "slow"}})
        .to_string()
}

fn again(session: &str, last: &str) -> Request<Full<Bytes>> {
    Request::builder()
        .method(Method::GET)
        .uri("/mcp")
        .header("host", "localhost")
        .header("accept", "text/event-stream")
        .header("mcp-session-id", session)
        .header("last-event-id", last)
        .body(Full::default())
        .unwrap()
}

/// The name of the event that a stream begins with.
async fn first(response: &mut HttpResponse) -> String {
    let frame = response.body_mut().frame().await.unwrap().unwrap();
    let text = String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap();
    let id = text.lines().find_map(|line| line.strip_prefix("id:"));
    id.expect("it has a name").trim().to_owned()
}

/// The messages of a stream, to its end.
async fn messages(response: HttpResponse) -> Vec<Value> {
    assert_eq!(response.status(), StatusCode::OK);
    let (_, text) = told(response).await;
    let text = text.as_str().expect("a stream of events").to_owned();
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| serde_json::from_str(data).ok())
        .collect()
}

#[tokio::test]
async fn an_answer_waits_for_a_client_that_comes_back() {
    let endpoint = super::endpoint(HttpSettings::default());
    let id = session(&answer(&endpoint, initialize()).await);
    let headers = [("mcp-session-id", id.as_str())];
    // It comes back while the tool still runs, after that, and after it had the answer.
    for (number, wait, is_cut) in [(1, 0, true), (2, 600, true), (3, 0, false)] {
        let mut asked = answer(&endpoint, post("/mcp", &headers, &call(number))).await;
        let last = first(&mut asked).await;
        if is_cut {
            drop(asked);
        } else {
            assert_eq!(messages(asked).await.len(), 1);
        }
        tokio::time::sleep(Duration::from_millis(wait)).await;
        for _ in 0..2 {
            let come = messages(answer(&endpoint, again(&id, &last)).await).await;
            assert_eq!(come.len(), 1, "{number}: {come:?}");
            assert_eq!(come[0]["id"], json!(number));
            assert!(come[0]["result"].is_object(), "{number}: {come:?}");
        }
    }
}

#[tokio::test]
async fn what_is_no_event_of_the_session_is_refused() {
    let endpoint = super::endpoint(HttpSettings::default());
    let id = session(&answer(&endpoint, initialize()).await);
    let headers = [("mcp-session-id", id.as_str())];
    let mut asked = answer(&endpoint, post("/mcp", &headers, &call(1))).await;
    let last = first(&mut asked).await;
    messages(asked).await;
    for unknown in [
        "7/7",
        "garbage",
        "../../x",
        "",
        "0",
        "+0/0",
        "99999999999999999999/1",
    ] {
        let (status, told_of) = told(answer(&endpoint, again(&id, unknown)).await).await;
        assert_eq!(
            (status.as_u16(), &told_of["error"]["code"]),
            (400, &json!(-32_600)),
            "{unknown}: {told_of}"
        );
    }
    // Another session's events are none of this one.
    let other = session(&answer(&endpoint, initialize()).await);
    let (status, _) = told(answer(&endpoint, again(&other, &last)).await).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(
        messages(answer(&endpoint, again(&id, &last)).await)
            .await
            .len(),
        1
    );
    let (status, _) = told(answer(&endpoint, again("none", &last)).await).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_answer_that_is_too_long_to_be_kept_is_said_to_be_gone() {
    let mut endpoint = HttpEndpoint::new(|| Long, HttpSettings::default());
    let begun = endpoint.call(initialize()).await.unwrap();
    let id = session(&begun);
    let request = post("/mcp", &[("mcp-session-id", id.as_str())], &call(1));
    let mut asked = endpoint.call(request).await.unwrap();
    let last = first(&mut asked).await;
    assert_eq!(messages(asked).await.len(), 1);
    let (status, told_of) = told(endpoint.call(again(&id, &last)).await.unwrap()).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(told_of.to_string().contains("send the request again"));
}

#[tokio::test]
async fn a_session_begins_once() {
    let endpoint = super::endpoint(HttpSettings::default());
    let id = session(&answer(&endpoint, initialize()).await);
    let mut second = initialize();
    second
        .headers_mut()
        .insert("mcp-session-id", id.parse().unwrap());
    let (status, told_of) = told(answer(&endpoint, second).await).await;
    assert_eq!(
        (status.as_u16(), &told_of["error"]["code"], &told_of["id"]),
        (400, &json!(-32_600), &json!(1)),
        "{told_of}"
    );
}
