//! Reads the id of a message from bytes that are not one.
//!
//! Members are read one after the other until the bytes stop being JSON; values are skipped unread.

use std::fmt;

use rmcp::model::RequestId;
use serde::Deserialize as _;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// The members found before the bytes stopped being JSON.
#[derive(Debug, Default)]
struct Members {
    id: Option<RequestId>,
    has_method: bool,
    is_answer: bool,
}

/// Reads the id of the request that bytes begin like.
///
/// The id of a broken answer is ignored: it counts the server's requests, and the client may have
/// given the same one to a request of its own.
pub(crate) fn salvage_id(bytes: &[u8]) -> Option<RequestId> {
    let mut members = Members::default();
    let mut json = serde_json::Deserializer::from_slice(super::without_mark(bytes));
    // The fault is known already.
    let _ = json.deserialize_map(MembersVisitor(&mut members));
    let is_request = members.has_method || !members.is_answer;
    members.id.filter(|_| is_request)
}

struct MembersVisitor<'a>(&'a mut Members);

impl<'de> Visitor<'de> for MembersVisitor<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "id" => {
                    self.0.id = RequestId::deserialize(map.next_value::<Value>()?).ok();
                    continue;
                }
                "method" => self.0.has_method = true,
                "result" | "error" => self.0.is_answer = true,
                _ => {}
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::RequestId;

    use super::salvage_id;

    #[test]
    fn finds_an_id_before_the_fault() {
        let one = Some(RequestId::Number(1));
        for text in [
            &br#"{"jsonrpc":"2.0","id":1,"method":"x","#[..],
            br#"{"method":"\ud800","id":1}"#,
            b"{\"method\":\"\xff\",\"id\" : 1 }",
            br#"{"a":{"id":2},"id":1,"b":[{"id":3}"#,
            b"\xEF\xBB\xBF{\"id\":1",
        ] {
            assert_eq!(salvage_id(text), one, "{}", String::from_utf8_lossy(text));
        }
        let deep = format!(
            r#"{{"a":{}{},"id":1,"#,
            "[".repeat(90_000),
            "]".repeat(90_000)
        );
        assert_eq!(salvage_id(deep.as_bytes()), one);
        let text = br#"{"id":"a\"b\\","x":"#;
        assert_eq!(salvage_id(text), Some(RequestId::String("a\"b\\".into())));
    }

    #[test]
    fn guesses_no_id() {
        for text in [
            &b""[..],
            b"{",
            b"]]]",
            br#"[{"id":1}"#,
            br#"{"id":"1"#,
            br#"{"id":1.5,"#,
            br#"{"id":null,"#,
            br#"{"id":{"id":1},"#,
            br#"{"a":"id","b":1,"#,
            br#"{"id" 1,"#,
            br#"{"id":1,"result":{"#,
            br#"{"error":{},"id":1,"#,
        ] {
            assert_eq!(salvage_id(text), None, "{}", String::from_utf8_lossy(text));
        }
    }
}
