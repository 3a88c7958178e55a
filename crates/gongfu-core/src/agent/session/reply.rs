//! The reply to the person, from the last answer of a turn.

use crate::agent::entry::End;
use crate::port::{ModelAnswer, StopReason};

/// Replaces the reply of a model that still calls tools in its last answer.
pub(super) const NO_ANSWER: &str = "I reached the limit of steps before I could answer. The calls above show what was done; \
    the rest is unfinished.";
/// Follows a reply whose end is missing.
pub(super) const CUT: &str = "[The answer is cut off: it reached the model's length limit.]";

/// The reply, and the reason why the turn ends.
pub(super) fn reply(
    text: &str,
    answer: &ModelAnswer,
    last: bool,
    wants_calls: bool,
) -> (String, End) {
    let text = text.trim();
    match answer.stop {
        StopReason::Length => (
            format!("{text}\n\n{CUT}").trim_start().to_owned(),
            End::Length,
        ),
        StopReason::Filter => {
            let note = "[The provider's filter stopped the answer.]";
            (
                format!("{text}\n\n{note}").trim_start().to_owned(),
                End::Filter,
            )
        }
        StopReason::End | StopReason::Calls if last => {
            let is_call = wants_calls && text.starts_with("```action");
            let text = if text.is_empty() || is_call {
                NO_ANSWER
            } else {
                text
            };
            (text.to_owned(), End::Steps)
        }
        StopReason::End | StopReason::Calls => (text.to_owned(), End::Answered),
    }
}
