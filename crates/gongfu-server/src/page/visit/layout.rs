//! The frame of every page, its headers, and its style.

use axum::body::Body;
use axum::response::Response;
use gongfu_core::port::Timestamp;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, RETRY_AFTER,
    SET_COOKIE, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use maud::{DOCTYPE, Markup, html};

use super::Visit;
use super::form::{Holder, TOKEN};
use crate::page::cookie::Cookie;
use crate::page::language::Language;
use crate::page::path::{ACCOUNT, LOGOUT, STYLE};
use crate::page::text::Text;

const CSS: &str = include_str!("style.css");

/// A page.
pub(crate) struct Page<'a> {
    visit: &'a Visit,
    status: StatusCode,
    title: String,
    body: Markup,
    /// Another place that a form of the page may lead to (CSP, `form-action`).
    pub(crate) form_source: Option<String>,
    /// The address that the page leads to by itself.
    pub(crate) next: Option<String>,
    /// The seconds to wait before another attempt.
    pub(crate) retry_after: Option<u64>,
    /// The secret of a session that begins with this page; empty where one ends.
    pub(crate) session: Option<String>,
}

impl<'a> Page<'a> {
    /// A page with a title and what is below it.
    pub(crate) fn new(visit: &'a Visit, status: StatusCode, title: &str, body: Markup) -> Self {
        Self {
            visit,
            status,
            title: title.to_owned(),
            body,
            form_source: None,
            next: None,
            retry_after: None,
            session: None,
        }
    }

    /// A page with a sentence alone.
    pub(super) fn message(visit: &'a Visit, status: StatusCode, text: &str) -> Self {
        let home = visit.site.path(ACCOUNT);
        let body = html! {
            p role="alert" { (text) }
            p { a href=(home) { (visit.text(Text::Back)) } }
        };
        Self::new(visit, status, visit.text(Text::Problem), body)
    }

    /// The page as a response.
    pub(crate) fn respond(self) -> Response {
        let document = self.document().into_string();
        let mut response = Response::new(Body::from(document));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        let form = self.form_source.map(|source| format!(" {source}"));
        let policy = format!(
            "default-src 'none'; style-src 'self'; form-action 'self'{}; frame-ancestors 'none'; base-uri 'none'",
            form.unwrap_or_default()
        );
        put(headers, CONTENT_TYPE, "text/html; charset=utf-8");
        put(headers, CONTENT_SECURITY_POLICY, &policy);
        put(headers, X_FRAME_OPTIONS, "DENY");
        self.visit.secure(headers, self.session.as_deref());
        if let Some(seconds) = self.retry_after {
            put(headers, RETRY_AFTER, &seconds.to_string());
        }
        response
    }

    fn document(&self) -> Markup {
        let visit = self.visit;
        html! {
            (DOCTYPE)
            html lang=(visit.language.tag()) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    @if let Some(next) = &self.next {
                        meta http-equiv="refresh" content=(format!("0; url={next}"));
                    }
                    title { (self.title) " – gongfu" }
                    link rel="stylesheet" href=(visit.site.path(STYLE));
                }
                body {
                    a.skip href="#content" { (visit.text(Text::Skip)) }
                    header {
                        span.brand lang="zh-Hans" { "功夫 " span lang="en" { "gongfu" } }
                        @if let Some((_, user)) = &visit.session {
                            div.user {
                                span { (fill(visit.text(Text::SignedInAs), user.username.as_str())) }
                                form method="post" action=(visit.site.path(LOGOUT)) {
                                    (token_field(visit, Holder::Session))
                                    button.quiet type="submit" { (visit.text(Text::LogOut)) }
                                }
                            }
                        }
                    }
                    main id="content" {
                        h1 { (self.title) }
                        (self.body)
                    }
                    footer {
                        nav aria-label=(visit.text(Text::Languages)) {
                            @for language in Language::ALL {
                                @if language == visit.language {
                                    span lang=(language.tag()) aria-current="true" { (language.own_name()) }
                                } @else {
                                    a href=(visit.in_language(language)) hreflang=(language.tag()) lang=(language.tag()) {
                                        (language.own_name())
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Visit {
    /// A redirect to an address.
    pub(crate) fn redirect(&self, to: &str, session: Option<&str>) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SEE_OTHER;
        put(response.headers_mut(), LOCATION, to);
        self.secure(response.headers_mut(), session);
        response
    }

    /// A redirect to a page of this server.
    pub(crate) fn to_page(&self, path: &str) -> Response {
        self.redirect(&self.site.path(path), None)
    }

    /// Sets the headers of every answer to a browser.
    ///
    /// With `no-referrer`, browsers would send forms with the origin `null`, which can be anybody's.
    fn secure(&self, headers: &mut HeaderMap, session: Option<&str>) {
        put(headers, CACHE_CONTROL, "no-store");
        put(headers, REFERRER_POLICY, "same-origin");
        let mut set = |cookie: Cookie, value: &str| {
            if let Ok(value) = HeaderValue::from_str(&cookie.set(value, self.site.is_secure)) {
                headers.append(SET_COOKIE, value);
            }
        };
        if let Some(secret) = session {
            set(Cookie::Session, secret);
        }
        if self.has_new_bits {
            set(Cookie::Visit, &self.bits);
        }
        if self.chooses_language {
            set(Cookie::Language, self.language.name());
        }
    }

    /// The same page in another language.
    fn in_language(&self, language: Language) -> String {
        let path = self.target.split('?').next().unwrap_or_default();
        let mut query = form_urlencoded::Serializer::new(String::new());
        let pairs = form_urlencoded::parse(self.query.as_bytes());
        query.extend_pairs(pairs.filter(|(name, _)| name != "lang"));
        query.append_pair("lang", language.name());
        self.site.path(&format!("{path}?{}", query.finish()))
    }
}

/// The style of the pages.
pub(crate) async fn style() -> Response {
    let mut response = Response::new(Body::from(CSS));
    put(
        response.headers_mut(),
        CONTENT_TYPE,
        "text/css; charset=utf-8",
    );
    put(response.headers_mut(), CACHE_CONTROL, "max-age=3600");
    response
}

/// The field by which a form shows that it comes from a page of this server.
pub(crate) fn token_field(visit: &Visit, holder: Holder) -> Markup {
    let accounts = visit.site.accounts();
    let token = visit
        .holder(holder)
        .map(|holder| accounts.form_token(holder));
    html! {
        input type="hidden" name=(TOKEN) value=(token.unwrap_or_default());
    }
}

/// A text with a value in it.
pub(crate) fn fill(text: &str, value: &str) -> String {
    text.replacen("{}", value, 1)
}

/// A time, to the minute.
pub(crate) fn time(milliseconds: i64) -> String {
    let shown = Timestamp(milliseconds).to_seconds();
    let minute = shown.get(..16).unwrap_or(&shown);
    format!("{} UTC", minute.replace('T', " "))
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    // What can't be a header isn't sent; nothing here has a line end.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
