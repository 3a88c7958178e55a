//! What is told of messages that nobody can act upon, and what goes on.

use rmcp::model::{ClientRequest, ErrorCode, JsonRpcMessage, RequestId};
use serde_json::{Value, json};

use super::{Incoming, MAX_DEPTH, MAX_VALUES, METHODS, Refusal, read};

/// A refusal as the client sees it.
fn refused(text: impl AsRef<[u8]>) -> Value {
    let text = text.as_ref();
    let Err(refusal) = read(text) else {
        panic!("taken: {}", String::from_utf8_lossy(text));
    };
    serde_json::to_value(refusal.answer()).unwrap()
}

#[track_caller]
fn check(text: impl AsRef<[u8]>, code: i32, id: &Value, part: &str) {
    let answer = refused(text);
    assert_eq!(answer["jsonrpc"], "2.0");
    assert_eq!(answer["error"]["code"], code, "{answer}");
    assert_eq!(answer.get("id").unwrap_or(&Value::Null), id, "{answer}");
    let said = answer["error"]["message"].as_str().unwrap();
    assert!(said.contains(part), "{said}");
}

const NONE: Value = Value::Null;

#[test]
fn what_is_no_json_is_a_parse_error_with_its_place() {
    check("", -32700, &NONE, "line 1 column 0");
    check("not json", -32700, &NONE, "line 1 column 2");
    check(
        r#"{"jsonrpc":"2.0","id":3,"method":"#,
        -32700,
        &json!(3),
        "EOF while parsing a value",
    );
    check(
        r#"{"jsonrpc":"2.0","id":"a","method":"\ud800"}"#,
        -32700,
        &json!("a"),
        "hex escape",
    );
    check(
        b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"\xff\"}",
        -32700,
        &json!(4),
        "byte 34 belongs to no character",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}{"#,
        -32700,
        &json!(1),
        "trailing characters",
    );
    check("[1, 2", -32700, &NONE, "EOF");
    let answer = refused("{\"a\":\n x}");
    assert_eq!(answer["error"]["data"], json!({"line": 2, "column": 2}));
}

#[test]
fn what_is_no_message_is_an_invalid_request_with_its_id() {
    let cases = [
        ("[]", NONE, "2025-06-18"),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            NONE,
            "batches",
        ),
        ("7", NONE, "a number"),
        ("null", NONE, "null"),
        (
            r#"{"id":1,"method":"ping"}"#,
            json!(1),
            "`jsonrpc` is missing",
        ),
        (
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            json!(1),
            "says `1.0`",
        ),
        (
            r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#,
            json!(1),
            "is a number",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
            json!(1),
            "`method` is a string, this one is a number",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1}"#,
            json!(1),
            "`method` is missing",
        ),
        (r#"{"jsonrpc":"2.0"}"#, NONE, "`method` is missing"),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            NONE,
            "this one is null",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            NONE,
            "a fraction",
        ),
        (
            r#"{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}"#,
            NONE,
            "out of range",
        ),
        (
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            NONE,
            "an object",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
            NONE,
            "`id` stands twice",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#,
            json!(1),
            "`method` stands twice",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
            json!(1),
            "can't have both",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"a"}}"#,
            NONE,
            "has both",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":"a"}"#,
            NONE,
            "`error` of an answer",
        ),
        (r#"{"jsonrpc":"2.0","result":{}}"#, NONE, "has the `id`"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"a"}"#,
            json!(1),
            "`params` is an object, this one is a string",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":true}"#,
            json!(1),
            "a boolean",
        ),
    ];
    for (text, id, part) in cases {
        check(text, -32600, &id, part);
    }
}

#[test]
fn parameters_that_no_method_could_take_are_told_by_method() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}"#,
        -32602,
        &json!(1),
        "an array",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":5}}"#,
        -32602,
        &json!(1),
        "`_meta`",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"no/such","params":[1]}"#,
        -32601,
        &json!(1),
        "`no/such`",
    );
}

#[test]
fn depth_has_a_limit_that_is_told() {
    let nested = |depth: usize| {
        // The message and its params are two levels.
        let (open, close) = ("[".repeat(depth - 2), "]".repeat(depth - 2));
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{open}{close}}}}}"#)
    };
    assert!(read(nested(MAX_DEPTH).as_bytes()).is_ok());
    check(
        nested(MAX_DEPTH + 1),
        -32600,
        &json!(1),
        "deeper than 127 levels",
    );
    check(nested(90_000), -32600, &json!(1), "deeper");
    check("[".repeat(90_000), -32600, &NONE, "deeper");
}

#[test]
fn values_have_a_limit_that_is_told() {
    let many = |value: &str, count: usize| {
        let values = vec![value; count].join(",");
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":[{values}]}}}}"#)
    };
    for value in ["1", "[]", "{}", r#"{"a":1}"#] {
        check(
            many(value, MAX_VALUES + 1),
            -32600,
            &json!(1),
            "100000 values",
        );
    }
    // With what else is in it, exactly as many as there may be.
    assert!(read(many("1", MAX_VALUES - 5).as_bytes()).is_ok());
    check(
        many("1", MAX_VALUES - 4),
        -32600,
        &json!(1),
        "100000 values",
    );
    // What stands in a text is none.
    let text = r#"\",[{"#.repeat(MAX_VALUES);
    assert!(read(many(&format!(r#""{text}""#), 1).as_bytes()).is_ok());
}

#[test]
fn what_follows_the_protocol_goes_on() {
    let method = |text: &str| match read(text.as_bytes()).unwrap() {
        JsonRpcMessage::Request(request) => (request.id, request.request.method().to_owned()),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        method(r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#),
        (RequestId::String("a".into()), "tools/list".to_owned())
    );
    assert_eq!(
        method("\u{feff} {\"jsonrpc\":\"2.0\",\"id\":-1,\"method\":\"no/such\"}\r"),
        (RequestId::Number(-1), "no/such".to_owned())
    );
    // A known method with parameters of its own wrong form: the server answers these.
    let wrong = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#;
    let Ok(JsonRpcMessage::Request(request)) = read(wrong.as_bytes()) else {
        panic!("refused");
    };
    assert!(matches!(request.request, ClientRequest::CustomRequest(_)));
    // Inside of arguments the last of two counts.
    let twice = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call",
        "params":{"name":"a","arguments":{"b":1,"b":2}}}"#;
    let Ok(JsonRpcMessage::Request(request)) = read(twice.as_bytes()) else {
        panic!("refused");
    };
    let ClientRequest::CallToolRequest(call) = request.request else {
        panic!("no call");
    };
    assert_eq!(json!(call.params.arguments), json!({"b": 2}));
}

#[test]
fn notifications_are_told_apart() {
    let silent = |text: &str| read(text.as_bytes()).unwrap_err().is_notification();
    assert!(silent(r#"{"method":"notifications/stderr","params":{}}"#));
    assert!(silent(
        r#"{"jsonrpc":"1.0","method":"textDocument/didOpen"}"#
    ));
    assert!(silent(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"_meta":1}}"#
    ));
    assert!(!silent(r#"{"method":"notifications/initialized"}"#));
    assert!(!silent(r#"{"id":1,"method":"textDocument/hover"}"#));
    assert!(!silent(r#"{"jsonrpc":"2.0"}"#));
    assert!(!silent("{"));
}

#[test]
fn an_answer_stays_short() {
    let long = "x".repeat(1 << 20);
    for text in [
        format!(r#"{{"jsonrpc":"{long}","id":1,"method":"ping"}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{long}","params":[]}}"#),
        long.clone(),
    ] {
        assert!(refused(&text).to_string().len() < 1000);
    }
}

/// A generator that needs no library: the same seed gives the same bytes.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % below.max(1)
    }
}

/// Pieces that are put into messages, chosen to meet at the borders of what is read.
const PIECES: [&[u8]; 24] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\",
    b"null",
    b"1e999",
    b"-0",
    b"1.5",
    b"\"id\":7,",
    b"\"method\":\"x\",",
    b"\"result\":{},",
    b"\"error\":{},",
    b"\\ud800",
    b"\xff",
    b"\0",
    b"true",
    b"\"jsonrpc\":\"2.0\",",
    b"\"params\":[1],",
    b"\xEF\xBB\xBF",
    b"\"_meta\":1,",
];

fn mutated(dice: &mut Dice) -> Vec<u8> {
    let method = METHODS[dice.roll(METHODS.len())];
    let params = [
        "{}",
        r#"{"name":"skill_load","arguments":{"name":"pdf","n":[1,{"a":"ü\n"}]}}"#,
        r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}"#,
        r#"{"requestId":1,"_meta":{"progressToken":"t"}}"#,
        r#"{"uri":"skill://a/b/SKILL.md","cursor":"x"}"#,
    ][dice.roll(5)];
    let whole = [
        format!(r#"{{"jsonrpc":"2.0","id":12,"method":"{method}","params":{params}}}"#),
        format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":"a","result":{params}}}"#),
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"a"}}"#.to_owned(),
    ];
    let mut bytes = whole[dice.roll(4)].clone().into_bytes();
    for _ in 0..dice.roll(4) {
        let at = dice.roll(bytes.len() + 1);
        match dice.roll(5) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] ^= 1 << dice.roll(8),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 => {
                let end = (at + dice.roll(20)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            _ => drop(bytes.splice(at..at, PIECES[dice.roll(PIECES.len())].to_vec())),
        }
    }
    bytes
}

#[test]
fn made_up_messages_are_taken_as_the_library_takes_them() {
    let (mut taken, mut by_code) = (0, std::collections::BTreeMap::<i32, usize>::new());
    for seed in 1..=60_000_u64 {
        let bytes = mutated(&mut Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let bare = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
        let theirs = serde_json::from_slice::<Incoming>(bare);
        let ours = read(&bytes);
        let shown = String::from_utf8_lossy(&bytes);
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                assert_eq!(json!(ours), json!(theirs), "{shown}");
                taken += 1;
            }
            (Err(refusal), Err(_)) => {
                let Refusal { id, error, .. } = refusal.as_ref();
                let envelope =
                    [ErrorCode::PARSE_ERROR, ErrorCode::INVALID_REQUEST].contains(&error.code);
                let told = id.is_some() || refusal.is_notification();
                assert!(envelope || told, "{shown}");
                assert!(!error.message.is_empty());
                *by_code.entry(error.code.0).or_default() += 1;
            }
            (ours, theirs) => panic!("{shown}: {ours:?} and {theirs:?}"),
        }
    }
    // Each kind was met, or the generator proves nothing.
    assert!(taken > 10_000, "{taken}");
    for (code, least) in [(-32700, 1000), (-32600, 1000), (-32602, 1)] {
        let count = by_code.get(&code).copied().unwrap_or_default();
        assert!(count >= least, "{by_code:?}");
    }
}
