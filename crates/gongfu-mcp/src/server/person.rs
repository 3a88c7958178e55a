//! The person at a client, who can be asked by forms and pages (elicitation).

use gongfu_core::text::visible;
use rmcp::model::{ElicitRequestParams, ProtocolVersion};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

use crate::visible::show;

/// The longest question, in bytes of JSON; a longer one is not asked.
const MAX_QUESTION: usize = 64 * 1024;

/// The way to the person at a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// An answer that requires input.
    Rounds,
    /// A request to the client.
    Request,
}

/// The person at a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Person {
    pub(super) way: Way,
    /// True if they can be shown forms.
    pub(super) has_forms: bool,
    /// True if they can be shown pages.
    pub(super) has_pages: bool,
}

impl Person {
    /// The person at this client, if they can be asked.
    pub(super) fn at(context: &RequestContext<RoleServer>) -> Option<Self> {
        let declared = context.client_capabilities()?.elicitation?;
        let is_new = context
            .protocol_version()
            .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        Some(Self {
            way: if is_new { Way::Rounds } else { Way::Request },
            // A client that names no mode has forms.
            has_forms: declared.form.is_some() || declared.url.is_none(),
            has_pages: declared.url.is_some(),
        })
    }

    /// A question of another server, as MCP writes it, in the form in which they are asked; `None` where it has none.
    pub(super) fn asked(self, mut question: Value) -> Option<ElicitRequestParams> {
        if question.to_string().len() > MAX_QUESTION {
            return None;
        }
        let fields = question.pointer("/requestedSchema/properties");
        let mut names = fields.and_then(Value::as_object).into_iter().flatten();
        if names.any(|(name, _)| visible(name) != *name) {
            return None;
        }
        show(&mut question);
        let question = serde_json::from_value(question).ok()?;
        let can_be_asked = match &question {
            ElicitRequestParams::FormElicitationParams { .. } => self.has_forms,
            ElicitRequestParams::UrlElicitationParams { url, .. } => {
                let is_page = ["https://", "http://"]
                    .iter()
                    .any(|scheme| url.starts_with(scheme));
                self.has_pages && is_page
            }
            _ => false,
        };
        can_be_asked.then_some(question)
    }
}
