//! One-time links: a user sets their password.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use gongfu_core::account::User;
use gongfu_core::registry::AccountError;
use gongfu_core::registry::link::LinkSecret;
use http::StatusCode;
use maud::html;

use super::new_password::{new_password_fields, password_text};
use super::path::LOGIN;
use super::site::Site;
use super::text::Text;
use super::visit::{Form, Holder, Page, Visit, fill, token_field};

/// Shows the form.
pub(super) async fn show(State(site): State<Arc<Site>>, request: Request) -> Response {
    let (visit, _) = match Visit::of(site, request).await {
        Ok(visit) => visit,
        Err(response) => return response,
    };
    match user(&visit).await {
        Ok((_, user)) => form(&visit, &user, StatusCode::OK, None),
        Err(response) => response,
    }
}

/// Sets the password.
pub(super) async fn answer(State(site): State<Arc<Site>>, request: Request) -> Response {
    let (visit, body) = match Visit::of(site, request).await {
        Ok(visit) => visit,
        Err(response) => return response,
    };
    match Form::read(&visit, body, Holder::Visitor).await {
        Ok(fields) => set(&visit, &fields).await.unwrap_or_else(|refused| refused),
        Err(response) => response,
    }
}

async fn set(visit: &Visit, fields: &Form) -> Result<Response, Response> {
    let (secret, user) = user(visit).await?;
    let refused = |text| form(visit, &user, StatusCode::UNPROCESSABLE_ENTITY, Some(text));
    if fields.get("password") != fields.get("again") {
        return Err(refused(Text::PasswordsDiffer));
    }
    let wait = |after| visit.wait(after);
    visit
        .site
        .rates
        .registration_allowed(visit.address)
        .map_err(wait)?;
    let _permit = visit.site.rates.hashing().map_err(wait)?;
    let password = fields.get("password").to_owned();
    match visit.site.accounts().use_link(&secret, password).await {
        Ok(_) => Ok(visit.to_page(&format!("{LOGIN}?done=password"))),
        Err(AccountError::Password(error)) => Err(refused(password_text(error))),
        Err(error) => Err(over(visit, error)),
    }
}

/// The user of the link that was opened.
async fn user(visit: &Visit) -> Result<(LinkSecret, User), Response> {
    let wait = |after| visit.wait(after);
    visit
        .site
        .rates
        .refresh_allowed(visit.address)
        .map_err(wait)?;
    let path = visit.target.split('?').next().unwrap_or_default();
    let secret = LinkSecret::parse(path.rsplit('/').next().unwrap_or_default());
    let secret = secret.ok_or_else(|| over(visit, AccountError::Unknown("link")))?;
    match visit.site.accounts().user_of_link(&secret).await {
        Ok(user) => Ok((secret, user)),
        Err(error) => Err(over(visit, error)),
    }
}

fn over(visit: &Visit, error: AccountError) -> Response {
    match error {
        AccountError::Store(error) => visit.fault(&error),
        _ => visit.refuse(StatusCode::NOT_FOUND, Text::LinkOver),
    }
}

fn form(visit: &Visit, user: &User, status: StatusCode, wrong: Option<Text>) -> Response {
    let body = html! {
        p { (fill(visit.text(Text::SetPasswordFor), user.username.as_str())) }
        @if let Some(wrong) = wrong { p.alert role="alert" { (visit.text(wrong)) } }
        form method="post" {
            (token_field(visit, Holder::Visitor))
            input type="text" name="name" value=(user.username) autocomplete="username" hidden;
            (new_password_fields(visit))
            button type="submit" { (visit.text(Text::Save)) }
        }
    };
    Page::new(visit, status, visit.text(Text::SetPassword), body).respond()
}
