//! The words about a model that didn't answer.

use gongfu_core::port::{ModelError, ModelErrorKind};

/// The message and the hint; `session` is that of the turn that waits, if it is kept.
pub(super) fn model_text(
    model: &str,
    error: &ModelError,
    session: Option<&str>,
) -> (String, String) {
    let ModelError {
        kind,
        message,
        attempts,
    } = error;
    let attempts = match attempts {
        0 | 1 => String::new(),
        more => format!(" (after {more} attempts)"),
    };
    let again = match session {
        Some(id) => format!(
            "`resume` the session {id}: what was done is kept (gongfu chat --session {id} --resume)"
        ),
        None => "send the request again".to_owned(),
    };
    let hint = match kind {
        ModelErrorKind::NotConfigured => {
            "set a model: gongfu config set models.default PROVIDER/NAME, and the provider's key in its variable"
        }
        ModelErrorKind::Unauthorized => "check the provider's key",
        ModelErrorKind::UnknownModel => {
            "check the name of the model and the base URL of the provider"
        }
        ModelErrorKind::Rejected => {
            "the message is the provider's; check the model and its settings"
        }
        ModelErrorKind::TooLong => {
            "lower `agent.context_tokens` in the settings, so that the conversation is summarised earlier"
        }
        ModelErrorKind::RateLimited => &format!("wait, then {again}"),
        ModelErrorKind::Unavailable
        | ModelErrorKind::Stalled
        | ModelErrorKind::Incomplete
        | ModelErrorKind::Malformed => &again,
        ModelErrorKind::TooLarge => "ask for less at a time",
    };
    let message = match kind {
        ModelErrorKind::NotConfigured => message.clone(),
        _ => format!("`{model}` didn't answer: {message}{attempts}"),
    };
    (message, hint.to_owned())
}
