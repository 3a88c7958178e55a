//! The place of a call in somebody's trace (W3C Trace Context).

use serde::{Deserialize, Serialize};

/// The longest state of a trace that is passed on, in bytes (W3C Trace Context, 3.3.1.5).
const MAX_STATE: usize = 512;

/// The place of a call in a trace, as it is passed on to another server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceContext {
    /// The `traceparent`: version, trace, span and flags.
    pub parent: String,
    /// The `tracestate`, where there is one.
    pub state: Option<String>,
}

impl TraceContext {
    /// The context in what `find` finds by the names of the headers; `None` where that isn't one.
    pub fn read(find: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let parent = find("traceparent").filter(|parent| is_parent(parent))?;
        let is_state = |state: &String| {
            let is_plain = state.bytes().all(|byte| matches!(byte, b' '..=b'~'));
            is_plain && (1..=MAX_STATE).contains(&state.len())
        };
        let state = find("tracestate").filter(is_state);
        Some(Self { parent, state })
    }
}

/// Returns true for a parent of version 00, which is what every version can be read as.
fn is_parent(parent: &str) -> bool {
    let parts: Vec<&str> = parent.split('-').collect();
    let is_hex = |part: &str, length: usize| {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        part.len() == length && part.bytes().all(is_digit)
    };
    let is_set = |part: &str| part.bytes().any(|byte| byte != b'0');
    match parts.as_slice() {
        ["00", trace, span, flags] => {
            is_hex(trace, 32)
                && is_hex(span, 16)
                && is_hex(flags, 2)
                && is_set(trace)
                && is_set(span)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::TraceContext;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn read(parent: &str, state: &str) -> Option<TraceContext> {
        let found = [("traceparent", parent), ("tracestate", state)];
        TraceContext::read(|name| {
            let value = found.iter().find(|(known, _)| *known == name)?.1;
            (!value.is_empty()).then(|| value.to_owned())
        })
    }

    #[test]
    fn context_is_read_whole() {
        let context = read(PARENT, "vendor=1").unwrap();
        assert_eq!(context.parent, PARENT);
        assert_eq!(context.state.as_deref(), Some("vendor=1"));
        assert_eq!(read(PARENT, "").unwrap().state, None);
    }

    #[test]
    fn what_is_no_context_is_left_out() {
        let zero = PARENT.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32));
        let upper = PARENT.to_uppercase();
        let long = format!("{PARENT}-extra");
        for parent in ["", "00", &zero, &upper, &long, "ff-1-2-3", "00-é"] {
            assert_eq!(read(parent, "vendor=1"), None, "{parent}");
        }
        for state in ["a=\n", "a=é", &"a".repeat(513)] {
            assert_eq!(read(PARENT, state).unwrap().state, None, "{state}");
        }
    }
}
