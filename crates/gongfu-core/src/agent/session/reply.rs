//! The reply to the person, from the last answer of a turn.

use crate::agent::entry::End;
use crate::agent::fence;
use crate::port::{ModelAnswer, StopReason};

/// Replaces the reply of a model that still calls tools in its last answer.
pub(super) const NO_ANSWER: &str = "I reached the limit of steps before I could answer. The calls above show what was done; \
    the rest is unfinished.";
/// Follows the text of such a model.
pub(super) const STOPPED: &str = "[Stopped: the limit of steps is reached, and the work may be unfinished. Another \
    prompt continues it; `agent.steps` is the limit.]";
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
            // It was told to answer: what it says before another call is no answer.
            let said = if wants_calls {
                fence::before_calls(text)
            } else {
                text
            };
            let reply = match (said.trim_end(), wants_calls) {
                ("", _) => NO_ANSWER.to_owned(),
                (said, true) => format!("{said}\n\n{STOPPED}"),
                (said, false) => said.to_owned(),
            };
            (reply, End::Steps)
        }
        StopReason::End | StopReason::Calls => (text.to_owned(), End::Answered),
    }
}
