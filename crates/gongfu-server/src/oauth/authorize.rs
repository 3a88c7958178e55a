//! The authorization endpoint: a signed-in user sees who asks for what, and says yes or no.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use gongfu_core::account::User;
use gongfu_core::registry::browser::BrowserSession;
use gongfu_core::registry::oauth::{
    AuthorizationRefusal, AuthorizationRequest, OAuthError, OAuthErrorCode, Parameters,
    RedirectTarget,
};
use http::StatusCode;
use maud::{Markup, html};

use crate::page::{
    AUTHORIZE, Form, Holder, LOGOUT, Page, Site, Text, Visit, fill, login_for, scope_text,
    token_field,
};

/// Shows who asks for what. Only a signed-in user makes the server look at a client.
pub(super) async fn show(State(site): State<Arc<Site>>, request: Request) -> Response {
    let (visit, _) = match Visit::of(site, request).await {
        Ok(visit) => visit,
        Err(response) => return response,
    };
    match &visit.session {
        Some((session, user)) => {
            let asking = ask(&visit, session, user).await;
            asking.unwrap_or_else(|refused| refused)
        }
        None => visit.to_page(&login_for(&format!("{AUTHORIZE}?{}", visit.query))),
    }
}

async fn ask(visit: &Visit, session: &BrowserSession, user: &User) -> Result<Response, Response> {
    let server = &visit.site.server;
    let bad = |error: &OAuthError| bad_request(visit, error);
    // A document may have to be fetched.
    let allowed = visit.site.rates.refresh_allowed(visit.address);
    allowed.map_err(|after| visit.wait(after))?;
    let parameters = Parameters::read(visit.query.as_bytes()).map_err(|error| bad(&error))?;
    let request = match server.check(&parameters, user).await {
        Ok(request) => request,
        Err(AuthorizationRefusal::Redirect(to)) => return Err(visit.redirect(&to, None)),
        Err(AuthorizationRefusal::Page(error)) => return Err(bad(&error)),
    };
    let is_allowed = server.is_allowed(&request, user).await;
    if is_allowed.map_err(|error| bad(&error))? {
        let to = server.allow(&request, user).await;
        return Ok(visit.redirect(&to.map_err(|error| bad(&error))?, None));
    }
    let body = consent(visit, &request);
    let source = request.redirect.form_source();
    let sealed = server.seal(request, &session.id);
    let sealed = sealed.map_err(|error| bad(&error))?;
    let form = html! {
        (body)
        form method="post" action=(visit.site.path(AUTHORIZE)) {
            (token_field(visit, Holder::Session))
            input type="hidden" name="request" value=(sealed);
            div.row {
                button type="submit" name="decision" value="allow" { (visit.text(Text::Allow)) }
                button.quiet type="submit" name="decision" value="deny" { (visit.text(Text::Deny)) }
            }
        }
        form.plain method="post" action=(visit.site.path(LOGOUT)) {
            (token_field(visit, Holder::Session))
            input type="hidden" name="next" value=(format!("{AUTHORIZE}?{}", visit.query));
            button.quiet type="submit" { (visit.text(Text::NotYou)) }
        }
    };
    let mut page = Page::new(visit, StatusCode::OK, visit.text(Text::Consent), form);
    page.form_source = Some(source);
    Ok(page.respond())
}

/// Takes the answer of the user.
pub(super) async fn answer(State(site): State<Arc<Site>>, request: Request) -> Response {
    let (visit, body) = match Visit::of(site, request).await {
        Ok(visit) => visit,
        Err(response) => return response,
    };
    let fields = match Form::read(&visit, body, Holder::Session).await {
        Ok(fields) => fields,
        Err(response) => return response,
    };
    let server = &visit.site.server;
    let request = visit.session.as_ref().and_then(|(session, user)| {
        let request = server.open(fields.get("request"), &session.id)?;
        Some((request, user))
    });
    let Some((request, user)) = request else {
        return visit.refuse(StatusCode::BAD_REQUEST, Text::RequestOld);
    };
    // Only the one word means yes.
    if fields.get("decision") != "allow" {
        return visit.redirect(&server.deny(&request), None);
    }
    match server.allow(&request, user).await {
        Ok(to) => visit.redirect(&to, None),
        Err(error) => bad_request(&visit, &error),
    }
}

/// The part of the page that says who asks for what.
fn consent(visit: &Visit, request: &AuthorizationRequest) -> Markup {
    let client = &request.client;
    let name = client.name.as_deref().unwrap_or(visit.text(Text::Unnamed));
    let target = request.redirect.target();
    let place = request.redirect.place();
    let host = client.host();
    let is_verified = host.as_ref() == Some(&place);
    html! {
        p { bdi { strong { (fill(visit.text(Text::ConsentNamed), name)) } } }
        dl.card {
            dt { (visit.text(Text::Program)) } dd { bdi { (name) } }
            dt { (visit.text(Text::Identity)) }
            dd {
                @match &host {
                    Some(host) => (fill(visit.text(Text::IdentityDocument), host)),
                    None => (visit.text(Text::IdentityRegistered)),
                }
            }
            dt { (visit.text(Text::AnswerGoesTo)) }
            dd {
                strong { (place) }
                @if target != RedirectTarget::Web { " (" (visit.text(Text::TargetLocal)) ")" }
            }
        }
        @if target != RedirectTarget::Web {
            p.alert { (visit.text(Text::ConsentLocal)) }
        } @else if !is_verified {
            p.alert { (visit.text(Text::ConsentUnverified)) }
        }
        section aria-labelledby="scopes" {
            h2 id="scopes" { (visit.text(Text::ItMay)) }
            ul {
                @for scope in request.scopes.iter() {
                    li { (visit.text(scope_text(scope))) }
                }
            }
        }
    }
}

/// The page for a request whose client or redirect isn't known to be good: nothing is sent anywhere.
fn bad_request(visit: &Visit, error: &OAuthError) -> Response {
    let status = match error.code {
        OAuthErrorCode::ServerError => {
            tracing::error!(error = ?error.store, "a sign-in can't be answered");
            StatusCode::SERVICE_UNAVAILABLE
        }
        _ => StatusCode::BAD_REQUEST,
    };
    let body = html! {
        p role="alert" { (visit.text(Text::RequestBadHelp)) }
        p lang="en" { (error.text) " (" code { (error.code.as_str()) } ")" }
    };
    Page::new(visit, status, visit.text(Text::RequestBad), body).respond()
}
