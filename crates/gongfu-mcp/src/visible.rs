//! The edge to clients: everything that a model reads, a person can see.
//!
//! Only files that are read as resources are sent as they are: their digests are told.

use std::borrow::Cow;
use std::io;

use gongfu_core::text::visible_lines;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, ErrorData, GetPromptResponse};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// An answer to a client.
pub(crate) trait Answer: Sized {
    /// The same without hidden characters: each is shown by its number.
    ///
    /// # Errors
    /// It can't be read as what it is; that is a fault of this crate.
    fn shown(self) -> Result<Self, ErrorData>;
}

/// Implements [`Answer`] for results that are complete or ask for something first.
macro_rules! responses {
    ($($response:ident),+) => {
        $(impl Answer for $response {
            fn shown(self) -> Result<Self, ErrorData> {
                Ok(match self {
                    Self::Complete(result) => Self::Complete(shown_part(result)?),
                    Self::InputRequired(result) => Self::InputRequired(shown_part(result)?),
                    #[allow(unreachable_patterns, reason = "only a call can become a task")]
                    other => other,
                })
            }
        })+
    };
}

responses!(GetPromptResponse);

impl Answer for CallToolResponse {
    fn shown(self) -> Result<Self, ErrorData> {
        Ok(match self {
            Self::Complete(result) => Self::Complete(shown_call(result)?),
            Self::InputRequired(result) => Self::InputRequired(shown_part(result)?),
            other => other,
        })
    }
}

/// Shows the hidden characters in the answer of a call. Most are text alone, which is looked at where it lies.
fn shown_call(mut result: CallToolResult) -> Result<CallToolResult, ErrorData> {
    let mut texts = Vec::new();
    for block in &mut result.content {
        match block {
            ContentBlock::Text(text) if text.meta.is_none() && text.annotations.is_none() => {
                texts.push(&mut text.text);
            }
            _ => return shown_part(result),
        }
    }
    if result.meta.is_some() {
        return shown_part(result);
    }
    texts.into_iter().for_each(show_text);
    result.structured_content.iter_mut().for_each(show);
    Ok(result)
}

/// Implements [`Answer`] for results that are values.
macro_rules! results {
    ($($result:ident),+ $(,)?) => {
        $(impl Answer for rmcp::model::$result {
            fn shown(self) -> Result<Self, ErrorData> {
                shown_part(self)
            }
        })+
    };
}

results!(
    CompleteResult,
    DiscoverResult,
    GetSkillResult,
    InitializeResult,
    ListPromptsResult,
    ListResourceTemplatesResult,
    ListResourcesResult,
    ListSkillsResult,
    ListToolsResult,
);

/// An answer or a failure without hidden characters.
///
/// # Errors
/// The failure.
pub(crate) fn shown<T: Answer>(answer: Result<T, ErrorData>) -> Result<T, ErrorData> {
    match answer {
        Ok(answer) => answer.shown(),
        Err(error) => Err(shown_part(error)?),
    }
}

/// Shows the hidden characters in a part of an answer.
fn shown_part<T: Serialize + DeserializeOwned>(part: T) -> Result<T, ErrorData> {
    let broken = |error: serde_json::Error| ErrorData::internal_error(error.to_string(), None);
    let mut look = Look::default();
    serde_json::to_writer(&mut look, &part).map_err(broken)?;
    if !look.is_doubtful {
        return Ok(part);
    }
    let mut value = serde_json::to_value(&part).map_err(broken)?;
    show(&mut value);
    serde_json::from_value(value).map_err(broken)
}

/// Shows the hidden characters in all texts of a value.
pub(crate) fn show(value: &mut Value) {
    match value {
        Value::String(text) => show_text(text),
        Value::Array(all) => all.iter_mut().for_each(show),
        Value::Object(members) => members.values_mut().for_each(show),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn show_text(text: &mut String) {
    if let Cow::Owned(shown) = visible_lines(text) {
        *text = shown;
    }
}

/// A look at JSON without keeping it: whether a character in it may be hidden. Most answers have none.
#[derive(Default)]
struct Look {
    is_doubtful: bool,
}

impl io::Write for Look {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The serializer writes whole characters.
        let text = std::str::from_utf8(bytes).unwrap_or("\u{0}");
        // An escape of a control character: of those that JSON has a letter for, line breaks and tabs are plain.
        let is_escape =
            text.starts_with('\\') && !matches!(text, "\\n" | "\\r" | "\\t" | "\\\"" | "\\\\");
        self.is_doubtful |= is_escape || matches!(visible_lines(text), Cow::Owned(_));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
