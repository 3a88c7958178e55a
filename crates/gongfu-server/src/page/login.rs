//! Signing in and out.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use gongfu_core::account::User;
use gongfu_core::registry::SignInError;
use http::StatusCode;
use maud::html;

use super::path::{LOGIN, is_authorize, login_for, next, sso_for};
use super::site::Site;
use super::text::Text;
use super::visit::{Form, Holder, Page, Visit, fill, token_field};

/// Shows the form.
pub(super) async fn show(State(site): State<Arc<Site>>, request: Request) -> Response {
    let (visit, _) = match Visit::of(site, request).await {
        Ok(visit) => visit,
        Err(response) => return response,
    };
    let next = next(&visit.parameter("next").unwrap_or_default());
    if visit.session.is_some() {
        return visit.to_page(&next);
    }
    let notice = match visit.parameter("done").as_deref() {
        Some("left") => Some(Text::LeftDone),
        Some("password") => Some(Text::PasswordSetDone),
        Some("joined") => Some(Text::JoinedDone),
        _ => None,
    };
    form(&visit, StatusCode::OK, "", &next, None, notice)
}

/// Signs in.
pub(super) async fn answer(State(site): State<Arc<Site>>, request: Request) -> Response {
    let (visit, body) = match Visit::of(site, request).await {
        Ok(visit) => visit,
        Err(response) => return response,
    };
    let form_read = Form::read(&visit, body, Holder::Visitor).await;
    match form_read {
        Ok(fields) => sign_in(&visit, &fields)
            .await
            .unwrap_or_else(|refused| refused),
        Err(response) => response,
    }
}

async fn sign_in(visit: &Visit, fields: &Form) -> Result<Response, Response> {
    let (name, next) = (fields.get("name"), next(fields.get("next")));
    let rates = &visit.site.rates;
    let wait = |after| visit.wait(after);
    rates.login_allowed(visit.address, name).map_err(wait)?;
    let _permit = rates.hashing().map_err(wait)?;
    let accounts = visit.site.accounts();
    let password = fields.get("password").to_owned();
    let user = match accounts.authenticate(name, password).await {
        Ok(user) => user,
        Err(SignInError::Store(error)) => return Err(visit.fault(&error)),
        Err(SignInError::PasswordsOff) => {
            return Err(visit.refuse(StatusCode::FORBIDDEN, Text::PasswordsOff));
        }
        Err(_) => {
            rates.login_failed(name);
            let wrong = Some(Text::SignInWrong);
            return Err(form(
                visit,
                StatusCode::UNAUTHORIZED,
                name,
                &next,
                wrong,
                None,
            ));
        }
    };
    rates.login_succeeded(name);
    Ok(signed_in(visit, &user, &next).await)
}

/// Begins a session of a user, and leads the browser to a page.
pub(super) async fn signed_in(visit: &Visit, user: &User, next: &str) -> Response {
    let accounts = visit.site.accounts();
    let begun = accounts.begin_browser(user, visit.agent(), visit.secret.as_ref());
    let secret = match begun.await {
        Ok(secret) => secret,
        Err(error) => return visit.fault(&error),
    };
    let to = visit.site.path(next);
    if !is_authorize(next) {
        return visit.redirect(&to, Some(secret.as_str()));
    }
    // It may lead to a client at once, and a redirect of a form may not leave this server (CSP).
    let body = html! {
        p { a.button href=(to) { (visit.text(Text::Continue)) } }
    };
    let mut page = Page::new(visit, StatusCode::OK, visit.text(Text::SignedIn), body);
    page.next = Some(to);
    page.session = Some(secret.as_str().to_owned());
    page.respond()
}

/// Signs out.
pub(super) async fn leave(State(site): State<Arc<Site>>, request: Request) -> Response {
    let (visit, body) = match Visit::of(site, request).await {
        Ok(visit) => visit,
        Err(response) => return response,
    };
    if visit.session.is_none() {
        return visit.to_page(LOGIN);
    }
    let fields = match Form::read(&visit, body, Holder::Session).await {
        Ok(fields) => fields,
        Err(response) => return response,
    };
    if let Some(secret) = &visit.secret
        && let Err(error) = visit.site.accounts().end_browser_of(secret).await
    {
        return visit.fault(&error);
    }
    let to = match fields.get("next") {
        "" => format!("{LOGIN}?done=left"),
        asked => login_for(&next(asked)),
    };
    visit.redirect(&visit.site.path(&to), Some(""))
}

fn form(
    visit: &Visit,
    status: StatusCode,
    name: &str,
    next: &str,
    wrong: Option<Text>,
    notice: Option<Text>,
) -> Response {
    let accounts = visit.site.accounts();
    let body = html! {
        @if let Some(wrong) = wrong { p.alert role="alert" { (visit.text(wrong)) } }
        @if let Some(notice) = notice { p.notice role="status" { (visit.text(notice)) } }
        @if let Some(sso) = accounts.sso() {
            @let text = fill(visit.text(Text::SignInWith), &sso.settings().name);
            p { a.button href=(visit.site.path(&sso_for(next))) { (text) } }
        }
        @if accounts.takes_passwords() {
            form method="post" action=(visit.site.path(LOGIN)) {
                (token_field(visit, Holder::Visitor))
                input type="hidden" name="next" value=(next);
                label for="name" { (visit.text(Text::NameOrEmail)) }
                input id="name" name="name" value=(name) autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="254" required autofocus;
                label for="password" { (visit.text(Text::Password)) }
                input id="password" name="password" type="password" autocomplete="current-password" maxlength="128" required;
                button type="submit" { (visit.text(Text::SignIn)) }
            }
            p.help { (visit.text(Text::SignInHelp)) }
        }
    };
    Page::new(visit, status, visit.text(Text::SignIn), body).respond()
}
