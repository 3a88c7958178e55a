//! Signing in by the company's provider.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use gongfu_core::port::PortError;
use gongfu_core::registry::sso::{SsoAnswer, SsoError};
use http::StatusCode;
use maud::html;

use super::login::signed_in;
use super::path::{LOGIN, next};
use super::site::Site;
use super::text::Text;
use super::visit::{Page, Visit, fill};

/// Sends a browser to the provider.
pub(super) async fn begin(State(site): State<Arc<Site>>, request: Request) -> Response {
    let visit = match visit(site, request).await {
        Ok(visit) => visit,
        Err(response) => return response,
    };
    let next = next(&visit.parameter("next").unwrap_or_default());
    if visit.session.is_some() {
        return visit.to_page(&next);
    }
    let begun = visit.site.accounts().begin_sso(visit.bits(), &next).await;
    match begun {
        Ok(page) => visit.redirect(&page, None),
        Err(error) => failed(&visit, error),
    }
}

/// Takes the provider's answer, with which the browser comes back.
pub(super) async fn finish(State(site): State<Arc<Site>>, request: Request) -> Response {
    let visit = match visit(site, request).await {
        Ok(visit) => visit,
        Err(response) => return response,
    };
    let answer = SsoAnswer {
        state: visit.parameter("state").unwrap_or_default(),
        code: visit.parameter("code").unwrap_or_default(),
        issuer: visit.parameter("iss"),
        error: visit.parameter("error"),
    };
    let finished = visit.site.accounts().finish_sso(visit.bits(), &answer);
    match finished.await {
        Ok((user, next)) => signed_in(&visit, &user, &next).await,
        Err(error) => failed(&visit, error),
    }
}

async fn visit(site: Arc<Site>, request: Request) -> Result<Visit, Response> {
    let (visit, _) = Visit::of(site, request).await?;
    let allowed = visit.site.rates.refresh_allowed(visit.address);
    allowed.map_err(|after| visit.wait(after))?;
    Ok(visit)
}

fn failed(visit: &Visit, error: SsoError) -> Response {
    let (status, text) = match &error {
        SsoError::Off => (StatusCode::NOT_FOUND, Text::SsoOff),
        SsoError::Old => (StatusCode::BAD_REQUEST, Text::SsoOld),
        SsoError::Refused(why) => {
            tracing::warn!(why, "a sign-in by the provider is refused");
            (StatusCode::FORBIDDEN, Text::SsoRefused)
        }
        SsoError::Address => (StatusCode::FORBIDDEN, Text::SsoAddress),
        SsoError::Taken => (StatusCode::CONFLICT, Text::SsoTaken),
        SsoError::Disabled => (StatusCode::FORBIDDEN, Text::SsoDisabled),
        SsoError::Store(PortError::Unavailable(why)) => {
            tracing::warn!(why, "nobody can sign in by the provider");
            (StatusCode::SERVICE_UNAVAILABLE, Text::SsoUnavailable)
        }
        SsoError::Store(error) => return visit.fault(error),
    };
    let name = visit.site.accounts().sso().map(|sso| &*sso.settings().name);
    let text = fill(visit.text(text), name.unwrap_or_default());
    let body = html! {
        p role="alert" { (text) }
        @if let SsoError::Refused(why) = &error { p lang="en" { (why) } }
        p { a href=(visit.site.path(LOGIN)) { (visit.text(Text::Back)) } }
    };
    Page::new(visit, status, visit.text(Text::Problem), body).respond()
}
