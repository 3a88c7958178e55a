//! Forms: read once, and only from a page of this server.

use axum::body::Body;
use axum::response::Response;
use gongfu_core::registry::oauth::Parameters;
use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, HeaderName, StatusCode};

use super::Visit;
use crate::page::text::Text;

/// The longest form, in bytes.
pub(crate) const MAX_FORM: usize = 64 * 1024;
/// The field with the token.
pub(super) const TOKEN: &str = "form_token";
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The owner of a form's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    /// The session of a user.
    Session,
    /// A browser without a session.
    Visitor,
}

/// The fields of a form that a page of this server sent.
pub(crate) struct Form(Parameters);

impl Form {
    /// Reads the form of a visit.
    pub(crate) async fn read(visit: &Visit, body: Body, holder: Holder) -> Result<Self, Response> {
        let refused = || visit.refuse(StatusCode::FORBIDDEN, Text::FormForeign);
        if !is_own(visit) {
            return Err(refused());
        }
        let malformed = || visit.refuse(StatusCode::BAD_REQUEST, Text::FormMalformed);
        let fields = read_form(&visit.headers, body)
            .await
            .ok_or_else(malformed)?;
        fields.check_single().map_err(|_| malformed())?;
        let token = fields.get(TOKEN).ok().flatten().unwrap_or_default();
        let holder = visit.holder(holder).ok_or_else(refused)?;
        if !visit.site.accounts().is_form_token(holder, token) {
            return Err(refused());
        }
        Ok(Self(fields))
    }

    /// A field; empty where it is missing.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).ok().flatten().unwrap_or_default()
    }
}

impl Visit {
    /// The text that the token of a form belongs to.
    pub(super) fn holder(&self, holder: Holder) -> Option<&str> {
        match holder {
            Holder::Visitor => Some(&self.bits),
            Holder::Session => Some(self.session.as_ref()?.0.id.as_str()),
        }
    }
}

/// The fields of a form; `None` for another body.
pub(crate) async fn read_form(headers: &HeaderMap, body: Body) -> Option<Parameters> {
    let media = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let media = media.split(';').next()?.trim();
    if !media.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return None;
    }
    let bytes = axum::body::to_bytes(body, MAX_FORM).await.ok()?;
    Parameters::read(&bytes).ok()
}

/// Returns true if a request comes from a page of this server. Browsers say so, and no page can say otherwise.
fn is_own(visit: &Visit) -> bool {
    let header = |name| {
        let mut values = visit.headers.get_all(name).iter();
        let value = values.next().and_then(|value| value.to_str().ok());
        value.filter(|_| values.next().is_none())
    };
    let site = visit.headers.get(FETCH_SITE);
    if site.is_some_and(|site| site.as_bytes() != b"same-origin") {
        return false;
    }
    let Some(origin) = header(ORIGIN) else {
        return false;
    };
    // On this machine without TLS, the names of it are as good as each other.
    let is_host = || {
        let host = header(HOST).filter(|_| !visit.site.is_secure);
        host.is_some_and(|host| origin.strip_prefix("http://") == Some(host))
    };
    origin == visit.site.origin || is_host()
}
