//! The id of a message that is no JSON.
//!
//! Reads tokens as far as they can be told apart and believes little: an id counts when it stands
//! once, at the top, as a whole token, and when what was read doesn't look like an answer.

use rmcp::model::RequestId;

/// The id of the request that these bytes begin like, if one can be told.
pub(crate) fn id(bytes: &[u8]) -> Option<RequestId> {
    let mut tokens = Tokens { bytes };
    if tokens.next()? != b"{" {
        return None;
    }
    let mut depth = 1_usize;
    let (mut seen, mut ids) = (None, 0);
    let (mut method, mut answer) = (false, false);
    // At the top, a name follows `{` or `,`.
    let mut before: &[u8] = b"{";
    while let Some(token) = tokens.next() {
        match token {
            b"{" | b"[" => depth += 1,
            b"}" | b"]" => depth -= 1,
            name if depth == 1 && matches!(before, b"{" | b",") => match name {
                b"\"method\"" => method = true,
                b"\"result\"" | b"\"error\"" => answer = true,
                b"\"id\"" => {
                    ids += 1;
                    let value = tokens.next().filter(|colon| *colon == b":");
                    let value = value.and_then(|_| tokens.next());
                    if matches!(value, Some(b"{" | b"[")) {
                        depth += 1;
                    }
                    // A value that something else stands right behind is a part of what was meant.
                    let whole = tokens.is_at_end();
                    seen = value
                        .filter(|_| whole)
                        .and_then(|value| serde_json::from_slice(value).ok());
                }
                _ => {}
            },
            _ => {}
        }
        if depth == 0 {
            break;
        }
        before = token;
    }
    seen.filter(|_| ids == 1 && (method || !answer))
}

/// Brackets, commas, colons, whole strings, and runs of anything else that something ends.
struct Tokens<'a> {
    bytes: &'a [u8],
}

impl<'a> Tokens<'a> {
    /// Whether a value may end here.
    fn is_at_end(&self) -> bool {
        let rest = self.bytes.trim_ascii_start();
        rest.first().is_none_or(|byte| matches!(byte, b',' | b'}'))
    }

    /// The next token; none at the end, or where one doesn't end.
    fn next(&mut self) -> Option<&'a [u8]> {
        let bytes = self.bytes.trim_ascii_start();
        let length = match bytes.first()? {
            b'"' => string(bytes)?,
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            _ => bytes.iter().copied().position(ends)?,
        };
        let (token, rest) = bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(token)
    }
}

/// Whether a byte ends a number or a word; a number that nothing ends may have been cut.
fn ends(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'"' | b'{' | b'}' | b'[' | b']' | b',' | b':')
}

/// How long a string is, with its quotes.
fn string(bytes: &[u8]) -> Option<usize> {
    let mut escaped = false;
    let end = bytes.iter().skip(1).position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    })?;
    Some(end + 2)
}

#[cfg(test)]
mod tests {
    use rmcp::model::RequestId;

    use super::id;

    fn number(text: &[u8]) -> Option<i64> {
        match id(text)? {
            RequestId::Number(number) => Some(number),
            RequestId::String(_) => None,
        }
    }

    #[test]
    fn an_id_is_told_where_it_stands_whole() {
        assert_eq!(number(br#"{"jsonrpc":"2.0","id":7,"method":"x","#), Some(7));
        assert_eq!(number(br#"{"method":"\ud800","id":7}"#), Some(7));
        assert_eq!(number(b"{\"method\":\"\xff\",\"id\" : 7 }"), Some(7));
        assert_eq!(number(br#"{"a":{"id":1},"id":2,"b":[{"id":3}"#), Some(2));
        assert_eq!(
            id(br#"{"id":"a\"b\\","x":"#),
            Some(RequestId::String("a\"b\\".into()))
        );
    }

    #[test]
    fn an_id_is_not_guessed() {
        for text in [
            &b""[..],
            b"{",
            b"}",
            b"]]]",
            br#"[{"id":1}"#,
            br#"{"id":1"#,
            br#"{"id":"1"#,
            br#"{"id":1.5,"#,
            br#"{"id":null,"#,
            br#"{"id":{"id":1},"#,
            br#"{"id":1,"id":2,"#,
            br#"{"id":1"2,"method":"x"}"#,
            br#"{"id":"a""b","method":"x"}"#,
            br#"{"id":1 2,"method":"x"}"#,
            br#"{"a":}"id":1,"#,
            br#"{"a":"id","b":1,"#,
            br#"{"id" 1,"#,
            br#"{"id":1,"result":{"#,
            br#"{"error":{},"id":1,"#,
        ] {
            assert_eq!(id(text), None, "{}", String::from_utf8_lossy(text));
        }
    }
}
