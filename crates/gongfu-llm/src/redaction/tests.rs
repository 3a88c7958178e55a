//! Tests of what may not be shown.

use base64::Engine as _;
use gongfu_core::port::{Message, ModelRequest};

use super::{MAX_SHOWN, clean};

fn request(text: &str) -> ModelRequest {
    ModelRequest {
        system: "You work for the people of the house".to_owned(),
        messages: vec![Message::User {
            text: text.to_owned(),
        }],
        ..ModelRequest::default()
    }
}

#[test]
fn masks_each_word_with_a_part_of_the_key() {
    let key = Some("sk-ant-0123456789");
    let clean = |text: &str| clean(text, key, &request(""));
    assert_eq!(clean("bad key 'sk-ant-0123456789'."), "bad key '[key]'.");
    assert_eq!(
        clean("header Bearer=sk-ant-0123456789, sorry"),
        "header [key], sorry"
    );
    assert_eq!(clean("it starts with sk-ant-0"), "it starts with [key]");
    assert_eq!(clean("it is like sk-ant"), "it is like sk-ant");
    assert_eq!(
        super::clean("the key abc is short", Some("abc"), &request("")),
        "the key [key] is short"
    );
    assert_eq!(super::clean("no key", Some(""), &request("")), "no key");
}

#[test]
fn masks_the_encoded_key() {
    let key = "sk+live/0123456789abcdef";
    let base64 = |text: String| base64::engine::general_purpose::STANDARD.encode(text);
    for said in [
        "736b2b6c6976652f30313233".to_owned(),
        "736B2B6C6976652F30313233".to_owned(),
        "?key=sk%2Blive%2F0123".to_owned(),
        base64(key.to_owned()),
        base64(format!(":{key}")),
        base64(format!("u:{key}@")),
    ] {
        let cleaned = clean(&format!("refused {said} here"), Some(key), &request(""));
        assert_eq!(cleaned, "refused [key] here", "{said}");
    }
    let short = clean("You say YWJj", Some("abc"), &request(""));
    assert_eq!(short, "You say YWJj");
}

#[test]
fn ends_where_the_request_begins() {
    let text = "my number is 4111 1111 1111 1111 and nothing else matters in here";
    let said = format!("cannot parse: {text}");
    assert_eq!(clean(&said, None, &request(text)), "cannot parse:");
    let part = "number is 4111 1111 1111 1111 and nothing";
    assert!(
        !clean(&format!("cannot parse: {part}"), None, &request(text)).contains("4111 1111 1111")
    );
    assert_eq!(
        clean("no such thing as 'swordfish'", None, &request("swordfish")),
        "no such thing as '"
    );
    assert_eq!(
        clean("no such model", None, &request(text)),
        "no such model"
    );
}

#[test]
fn writes_control_characters_out_and_shortens() {
    let none = request("");
    assert_eq!(
        clean("a\u{1b}[31mb\n\u{202e}c\0", None, &none),
        "a\\u{1b}[31mb \\u{202e}c\\u{0}"
    );
    let long = clean(&"功".repeat(5000), None, &none);
    assert_eq!(long.chars().count(), MAX_SHOWN);
    assert!(long.ends_with('…'));
}
