//! One request of a browser: who it is, where it comes from, which language it wants.

mod form;
mod layout;

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use gongfu_core::account::User;
use gongfu_core::port::PortError;
use gongfu_core::registry::browser::{BrowserSecret, BrowserSession};
use http::header::{ACCEPT_LANGUAGE, USER_AGENT};
use http::{HeaderMap, StatusCode};

use super::cookie::Cookie;
use super::language::Language;
use super::site::Site;
use super::text::Text;
use crate::client_address::client_address;
use crate::rate::RetryAfter;

pub(crate) use form::{Form, Holder, read_form};
pub(crate) use layout::{Page, fill, token_field};
pub(super) use layout::{style, time};

/// One request of a browser.
pub(crate) struct Visit {
    pub(crate) site: Arc<Site>,
    pub(crate) headers: HeaderMap,
    /// The path and the query that were asked for, without the path of the server's URL.
    pub(crate) target: String,
    pub(crate) query: String,
    pub(crate) address: IpAddr,
    pub(crate) language: Language,
    /// True if the language was chosen with this request.
    chooses_language: bool,
    /// The secret in the cookie of a session, whether or not it counts.
    pub(super) secret: Option<BrowserSecret>,
    /// The session and its user.
    pub(crate) session: Option<(BrowserSession, User)>,
    /// The random bits that forms belong to where there is no session.
    bits: String,
    /// True if the browser doesn't have these bits yet.
    has_new_bits: bool,
}

impl Visit {
    /// Looks at a request. Answers the rest of it, too.
    pub(crate) async fn of(site: Arc<Site>, request: Request) -> Result<(Self, Body), Response> {
        let (parts, body) = request.into_parts();
        let address = client_address(&parts.extensions, &parts.headers, site.has_proxy);
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let chosen = url_value(&query, "lang").and_then(|name| Language::parse(&name));
        let kept = Cookie::Language.read(&parts.headers, site.is_secure);
        let accepted = parts.headers.get(ACCEPT_LANGUAGE);
        let accepted = accepted.and_then(|value| value.to_str().ok());
        let language = chosen
            .or_else(|| kept.and_then(Language::parse))
            .or_else(|| accepted.and_then(Language::accepted))
            .unwrap_or_default();
        let secret = Cookie::Session.read(&parts.headers, site.is_secure);
        let secret = secret.and_then(BrowserSecret::parse);
        let bits = Cookie::Visit.read(&parts.headers, site.is_secure);
        let is_bits = |bits: &&str| bits.len() == 32 && bits.bytes().all(|b| b.is_ascii_hexdigit());
        let bits = bits.filter(is_bits).map(str::to_owned);
        let target = parts.uri.path_and_query();
        let mut visit = Self {
            target: target.map_or_else(String::new, ToString::to_string),
            headers: parts.headers,
            query,
            address,
            language,
            chooses_language: chosen.is_some(),
            secret,
            session: None,
            has_new_bits: bits.is_none(),
            bits: bits.unwrap_or_default(),
            site,
        };
        if visit.has_new_bits {
            visit.bits = match visit.site.accounts().visit() {
                Ok(bits) => bits,
                Err(error) => return Err(visit.fault(&error)),
            };
        }
        if let Some(secret) = &visit.secret {
            let found = visit.site.accounts().browser(secret).await;
            match found {
                Ok(session) => visit.session = session,
                Err(error) => return Err(visit.fault(&error)),
            }
        }
        Ok((visit, body))
    }

    /// A text in the language of the visit.
    pub(crate) fn text(&self, text: Text) -> &'static str {
        text.of(self.language)
    }

    /// The random bits of the browser, which nobody else knows.
    pub(super) fn bits(&self) -> &str {
        &self.bits
    }

    /// The browser's name for itself.
    pub(super) fn agent(&self) -> &str {
        let agent = self.headers.get(USER_AGENT);
        agent
            .and_then(|agent| agent.to_str().ok())
            .unwrap_or_default()
    }

    /// The parameters of the query, where an odd one is nothing to complain about.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        url_value(&self.query, name)
    }

    /// The page that says that the server can't answer.
    pub(crate) fn fault(&self, error: &PortError) -> Response {
        tracing::error!(%error, "a page can't be answered");
        self.refuse(StatusCode::SERVICE_UNAVAILABLE, Text::Fault)
    }

    /// The page that says that there were too many attempts.
    pub(crate) fn wait(&self, after: RetryAfter) -> Response {
        let text = self.text(Text::Wait).replace("{}", &after.0.to_string());
        let mut page = Page::message(self, StatusCode::TOO_MANY_REQUESTS, &text);
        page.retry_after = Some(after.0);
        page.respond()
    }

    /// The page with a sentence alone.
    pub(crate) fn refuse(&self, status: StatusCode, text: Text) -> Response {
        Page::message(self, status, self.text(text)).respond()
    }
}

/// The first value of a name in a query.
fn url_value(query: &str, name: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(query.as_bytes()).take(64);
    let found = pairs.find(|(found, _)| found == name)?;
    Some(found.1.into_owned())
}
