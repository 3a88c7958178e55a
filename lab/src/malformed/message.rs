//! Messages of MCP, and what can be done to them.
//!
//! The same seed and number give the same bytes. Knows no transport: a line or a body is made of
//! what comes out of here.

use serde_json::{Map, Value, json};

use crate::random::Random;

/// The revision that a conversation uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// With `initialize`: 2025-11-25.
    Session,
    /// Without: 2026-07-28, where each request names its client.
    Stateless,
}

/// A message that something was done to.
pub(super) struct Message {
    /// The change that was made.
    pub(super) kind: &'static str,
    pub(super) bytes: Vec<u8>,
}

type Change = fn(&mut Random, &Value) -> Vec<u8>;

/// All changes of a message, each with its name.
const CHANGES: [(&str, Change); 23] = [
    ("unchanged", |_, message| message.to_string().into_bytes()),
    ("bits flipped", flipped),
    ("cut short", cut),
    ("a part missing", holed),
    ("a part twice", stuttered),
    ("pieces put in", pieced),
    ("nested deeply", nested),
    ("many values", |random, message| {
        // Rarely very many: they take the longest of all to make.
        let count = random.pick(&[10, 100, 1_000, 10_000, 99_000, 110_000, 1_000_000]);
        let count = if random.one_in(8) { count } else { count / 100 };
        let value = random.pick(&["1", "[]", "{\"a\":1}", "\"\""]);
        put(
            random,
            message,
            &format!("[{}]", vec![value; count].join(",")),
        )
    }),
    ("a huge number", |random, message| {
        spliced(random, message, &HUGE)
    }),
    ("another type", retyped),
    ("a broken escape", |random, message| {
        spliced(random, message, &ESCAPES)
    }),
    ("not UTF-8", |random, message| {
        let mut bytes = message.to_string().into_bytes();
        let at = random.below(bytes.len());
        let wrong = random.pick(&[
            &b"\xff"[..],
            b"\xc3",
            b"\xed\xa0\x80",
            b"\xf8\x88\x80\x80\x80",
        ]);
        bytes.splice(at..at, wrong.iter().copied());
        bytes
    }),
    ("a batch", batch),
    ("an id twice", |random, message| {
        let mut other = message.clone();
        if random.one_in(2) {
            set(&mut other, "method", json!("tools/list"));
        }
        format!("{message}\n{other}").into_bytes()
    }),
    ("a wrong version", |random, message| {
        let versions = [
            json!("1.0"),
            json!(2),
            json!(null),
            json!("2.0 "),
            json!([]),
        ];
        with(message, "jsonrpc", &choice(random, &versions))
    }),
    ("an unknown method", |random, message| {
        let methods = [
            json!(""),
            json!("tools/Call"),
            json!("rpc.discover"),
            json!("tools/call\u{0}"),
            json!("x".repeat(random.length(20_000))),
            json!("../../etc/passwd"),
        ];
        with(message, "method", &choice(random, &methods))
    }),
    ("a wrong id", |random, message| {
        let ids = [
            json!(null),
            json!(1.5),
            json!({}),
            json!([1]),
            json!(true),
            json!(1e300),
            json!(u64::MAX),
            json!("x".repeat(random.length(20_000))),
        ];
        with(message, "id", &choice(random, &ids))
    }),
    ("a name twice", |random, message| {
        let text = message.to_string();
        let more = random.pick(&[
            "\"id\":7,",
            "\"method\":\"ping\",",
            "\"jsonrpc\":\"2.0\",",
            "\"params\":{},",
        ]);
        format!("{{{more}{}", text.get(1..).unwrap_or_default()).into_bytes()
    }),
    ("a member missing", |random, message| {
        let mut message = message.clone();
        let name = random.pick(&["jsonrpc", "id", "method", "params"]);
        if let Some(object) = message.as_object_mut() {
            object.remove(name);
        }
        message.to_string().into_bytes()
    }),
    ("a member too many", |random, message| {
        let name = random.pick(&["result", "error", "__proto__", "", "extra"]);
        with(message, name, &json!({ "code": 1, "message": "x" }))
    }),
    ("an answer to nothing", |random, _| {
        let id = random.below(100);
        let answers = [
            json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": 1, "message": "no" } }),
            json!({ "jsonrpc": "2.0", "id": id, "error": "no" }),
            json!({ "jsonrpc": "2.0", "result": {} }),
            json!({ "jsonrpc": "2.0", "id": null, "error": { "code": 1, "message": "no" } }),
        ];
        choice(random, &answers).to_string().into_bytes()
    }),
    ("white space around", |random, message| {
        let space = random.pick(&["\r", " \t", "\u{feff}", "\u{a0}", "\u{b}", "\0"]);
        format!("{space}{message}{}", random.pick(&["\r", " ", "\0", ""])).into_bytes()
    }),
    ("two in one", |random, message| {
        let between = random.pick(&["", " ", ",", "\r", "\u{1e}"]);
        format!("{message}{between}{message}").into_bytes()
    }),
];

/// The number of inputs between two that are longer than a server reads.
const LARGE: u64 = 4_001;

const HUGE: [&str; 8] = [
    "1e999",
    "-1e999",
    "123456789012345678901234567890",
    "9223372036854775808",
    "-9223372036854775809",
    "0.00000000000000000000000000000000000000000000001",
    "1e-999",
    "00",
];

const ESCAPES: [&str; 7] = [
    "\"\\ud800\"",
    "\"\\udc00\\ud800\"",
    "\"\\u12\"",
    "\"\\x\"",
    "\"\\",
    "\"\u{1}\"",
    "\"\\ud83d\\ude00\"",
];

const PIECES: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "null",
    "true",
    "\0",
    "\n",
    "\r\n",
    "NaN",
    "-",
    "/**/",
    "'",
    "\"id\":1,",
    "\"method\":null,",
    "\"result\":{},",
    "\u{feff}",
    "\u{2028}",
    "𝄞",
    "Content-Length: 5\r\n\r\n",
];

/// The message of this number.
pub(super) fn message(random: &mut Random, number: u64, most: usize, era: Era) -> Message {
    let valid = valid(random, number, era);
    if number % LARGE == LARGE - 1 {
        let long = "x".repeat(most + random.below(1000));
        let bytes = with(&valid, "params", &json!({ "name": long }));
        return Message {
            kind: "too large",
            bytes,
        };
    }
    let (kind, change) = CHANGES
        .get(random.below(CHANGES.len()))
        .copied()
        .unwrap_or(("unchanged", |_, message| message.to_string().into_bytes()));
    Message {
        kind,
        bytes: change(random, &valid),
    }
}

/// The parameters by which a stateless request names its client.
pub(super) fn sender() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "malformed", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A request as its era wants it.
pub(super) fn request(id: &Value, method: &str, mut params: Value, era: Era) -> Value {
    if era == Era::Stateless {
        set(&mut params, "_meta", sender());
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A message that follows the protocol, of any method.
fn valid(random: &mut Random, number: u64, era: Era) -> Value {
    let id = match random.below(3) {
        0 => json!(number),
        1 => json!(format!("m{number}")),
        _ => json!(-i64::try_from(number).unwrap_or(0) - 1),
    };
    let uri = "skill://test/alpha/SKILL.md";
    let requests = [
        ("ping", json!({})),
        ("tools/list", json!({})),
        ("tools/list", json!({ "cursor": "none" })),
        (
            "tools/call",
            json!({ "name": "skill_list", "arguments": { "limit": 1 } }),
        ),
        (
            "tools/call",
            json!({ "name": "skill_load", "arguments": { "skill_name": "alpha" } }),
        ),
        (
            "tools/call",
            json!({ "name": "skill_read", "arguments": { "skill_name": "beta", "path": "SKILL.md" } }),
        ),
        (
            "tools/call",
            json!({ "name": "skill_search", "arguments": { "query": "gamma rays" } }),
        ),
        (
            "tools/call",
            json!({ "name": "no_such_tool", "arguments": {} }),
        ),
        ("server/discover", json!({})),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": uri })),
        ("resources/templates/list", json!({})),
        (
            "resources/directory/read",
            json!({ "uri": "skill://test/alpha" }),
        ),
        ("resources/subscribe", json!({ "uri": uri })),
        ("resources/unsubscribe", json!({ "uri": uri })),
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "alpha", "arguments": {} })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "alpha" }, "argument": { "name": "a", "value": "b" } }),
        ),
        ("logging/setLevel", json!({ "level": "info" })),
        ("skills/list", json!({})),
        ("skills/get", json!({ "uri": uri })),
        ("tasks/get", json!({ "taskId": "t" })),
        ("tasks/cancel", json!({ "taskId": "t" })),
        (
            "subscriptions/listen",
            json!({ "notifications": { "toolsListChanged": true } }),
        ),
        (
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } }),
        ),
    ];
    let notifications = [
        ("notifications/initialized", json!({})),
        (
            "notifications/cancelled",
            json!({ "requestId": 1_000_000_000, "reason": "no" }),
        ),
        (
            "notifications/progress",
            json!({ "progressToken": "t", "progress": 1 }),
        ),
        ("notifications/roots/list_changed", json!({})),
        ("notifications/unheard/of", json!({ "a": 1 })),
    ];
    let at = random.below(requests.len() + notifications.len());
    if let Some((method, params)) = requests.get(at) {
        return request(&id, method, params.clone(), era);
    }
    let (method, params) = notifications
        .get(at - requests.len())
        .cloned()
        .unwrap_or_default();
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

fn choice(random: &mut Random, values: &[Value]) -> Value {
    values
        .get(random.below(values.len()))
        .cloned()
        .unwrap_or_default()
}

fn set(message: &mut Value, name: &str, value: Value) {
    if let Some(object) = message.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}

fn with(message: &Value, name: &str, value: &Value) -> Vec<u8> {
    let mut message = message.clone();
    set(&mut message, name, value.clone());
    message.to_string().into_bytes()
}

fn flipped(random: &mut Random, message: &Value) -> Vec<u8> {
    let mut bytes = message.to_string().into_bytes();
    for _ in 0..=random.below(4) {
        let (at, bit) = (random.below(bytes.len()), random.below(8));
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << bit;
        }
    }
    bytes
}

fn cut(random: &mut Random, message: &Value) -> Vec<u8> {
    let mut bytes = message.to_string().into_bytes();
    bytes.truncate(random.below(bytes.len()));
    bytes
}

fn holed(random: &mut Random, message: &Value) -> Vec<u8> {
    let mut bytes = message.to_string().into_bytes();
    let from = random.below(bytes.len());
    let to = (from + random.length(200)).min(bytes.len());
    bytes.drain(from..to);
    bytes
}

fn stuttered(random: &mut Random, message: &Value) -> Vec<u8> {
    let mut bytes = message.to_string().into_bytes();
    let from = random.below(bytes.len());
    let to = (from + random.length(200)).min(bytes.len());
    let part = bytes.get(from..to).unwrap_or_default().to_vec();
    let at = random.below(bytes.len());
    bytes.splice(at..at, part);
    bytes
}

fn pieced(random: &mut Random, message: &Value) -> Vec<u8> {
    let mut bytes = message.to_string().into_bytes();
    for _ in 0..=random.below(3) {
        let (at, piece) = (random.below(bytes.len() + 1), random.pick(&PIECES));
        bytes.splice(at..at, piece.bytes());
    }
    bytes
}

fn nested(random: &mut Random, message: &Value) -> Vec<u8> {
    let depth = random.pick(&[100, 127, 128, 1_000, 100_000]);
    let (open, close) = random.pick(&[("[", "]"), ("{\"a\":", "}"), ("[{\"a\":[", "]}]")]);
    let (open, mut close) = (open.repeat(depth), close.repeat(depth));
    if random.one_in(3) {
        close.clear();
    }
    put(random, message, &format!("{open}1{close}"))
}

fn spliced(random: &mut Random, message: &Value, choices: &[&'static str]) -> Vec<u8> {
    let piece = random.pick(choices);
    put(random, message, piece)
}

/// The message with this text in the place of some value.
fn put(random: &mut Random, message: &Value, text: &str) -> Vec<u8> {
    let mut marked = message.clone();
    let values = count(&marked);
    replace(&mut marked, &mut random.below(values), &json!("\u{1}here"));
    let marked = marked.to_string();
    marked.replacen("\"\\u0001here\"", text, 1).into_bytes()
}

fn retyped(random: &mut Random, message: &Value) -> Vec<u8> {
    let others = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0.5),
        json!(""),
        json!("text"),
        json!([]),
        json!([[], {}]),
        json!({}),
        json!({ "a": { "b": [1] } }),
    ];
    let mut message = message.clone();
    for _ in 0..=random.below(2) {
        let (values, other) = (count(&message), choice(random, &others));
        replace(&mut message, &mut random.below(values), &other);
    }
    message.to_string().into_bytes()
}

fn batch(random: &mut Random, message: &Value) -> Vec<u8> {
    let batch = match random.below(4) {
        0 => json!([]),
        1 => json!([message]),
        2 => json!([message, 1, null]),
        _ => Value::Array(vec![message.clone(); 1 + random.below(200)]),
    };
    batch.to_string().into_bytes()
}

/// The number of values in a value, itself included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

/// Puts another value in the place of the one of this number; the number counts down.
fn replace(value: &mut Value, number: &mut usize, other: &Value) -> bool {
    if *number == 0 {
        *value = other.clone();
        return true;
    }
    *number -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| replace(item, number, other)),
        Value::Object(members) => replace_member(members, number, other),
        _ => false,
    }
}

fn replace_member(members: &mut Map<String, Value>, number: &mut usize, other: &Value) -> bool {
    members
        .values_mut()
        .any(|member| replace(member, number, other))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{CHANGES, Era, message};
    use crate::random::Random;

    #[test]
    fn every_change_is_made_and_the_same_again_for_the_same_seed() {
        let make = |number| message(&mut Random::of_input(3, number), number, 100, Era::Session);
        let kinds: BTreeSet<&str> = (0..9000).map(|number| make(number).kind).collect();
        assert_eq!(kinds.len(), CHANGES.len() + 1, "{kinds:?}");
        assert!((0..500).all(|number| make(number).bytes == make(number).bytes));
    }
}
