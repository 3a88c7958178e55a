//! Links by which somebody creates their account.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use gongfu_core::account::{Email, Username};
use gongfu_core::registry::link::LinkSecret;
use gongfu_core::registry::{AccountError, NewUser};
use http::StatusCode;
use maud::html;

use super::new_password::{new_password_fields, password_text};
use super::path::LOGIN;
use super::site::Site;
use super::text::Text;
use super::visit::{Form, Holder, Page, Visit, token_field};

/// Shows the form.
pub(super) async fn show(State(site): State<Arc<Site>>, request: Request) -> Response {
    let (visit, _) = match Visit::of(site, request).await {
        Ok(visit) => visit,
        Err(response) => return response,
    };
    match secret(&visit).await {
        Ok(_) => form(&visit, None, StatusCode::OK, None),
        Err(response) => response,
    }
}

/// Creates the account.
pub(super) async fn answer(State(site): State<Arc<Site>>, request: Request) -> Response {
    let (visit, body) = match Visit::of(site, request).await {
        Ok(visit) => visit,
        Err(response) => return response,
    };
    match Form::read(&visit, body, Holder::Visitor).await {
        Ok(fields) => create(&visit, &fields)
            .await
            .unwrap_or_else(|refused| refused),
        Err(response) => response,
    }
}

async fn create(visit: &Visit, fields: &Form) -> Result<Response, Response> {
    let secret = secret(visit).await?;
    let refused = |text| {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        form(visit, Some(fields), status, Some(text))
    };
    let email = Email::new(fields.get("email")).map_err(|_| refused(Text::EmailWrong))?;
    let username = Username::new(fields.get("name")).map_err(|_| refused(Text::UsernameWrong))?;
    if fields.get("password") != fields.get("again") {
        return Err(refused(Text::PasswordsDiffer));
    }
    let (rates, wait) = (&visit.site.rates, |after| visit.wait(after));
    rates.registration_allowed(visit.address).map_err(wait)?;
    let _permit = rates.hashing().map_err(wait)?;
    let new = NewUser {
        email,
        username,
        password: Some(fields.get("password").to_owned()),
        is_admin: false,
    };
    match visit.site.accounts().register_by_link(&secret, new).await {
        Ok(_) => Ok(visit.to_page(&format!("{LOGIN}?done=joined"))),
        Err(AccountError::Password(error)) => Err(refused(password_text(error))),
        Err(AccountError::EmailTaken) => Err(refused(Text::EmailTaken)),
        Err(AccountError::UsernameTaken) => Err(refused(Text::UsernameTaken)),
        Err(error) => Err(over(visit, error)),
    }
}

/// The secret of the link that was opened, if it counts.
async fn secret(visit: &Visit) -> Result<LinkSecret, Response> {
    let wait = |after| visit.wait(after);
    let allowed = visit.site.rates.refresh_allowed(visit.address);
    allowed.map_err(wait)?;
    let path = visit.target.split('?').next().unwrap_or_default();
    let secret = LinkSecret::parse(path.rsplit('/').next().unwrap_or_default());
    let secret = secret.ok_or_else(|| over(visit, AccountError::Unknown("link")))?;
    match visit.site.accounts().check_newcomer(&secret).await {
        Ok(()) => Ok(secret),
        Err(error) => Err(over(visit, error)),
    }
}

fn over(visit: &Visit, error: AccountError) -> Response {
    match error {
        AccountError::Store(error) => visit.fault(&error),
        _ => visit.refuse(StatusCode::NOT_FOUND, Text::LinkOver),
    }
}

fn form(visit: &Visit, fields: Option<&Form>, status: StatusCode, wrong: Option<Text>) -> Response {
    let value = |name| fields.map_or("", |fields| fields.get(name));
    let body = html! {
        p { (visit.text(Text::JoinHelp)) }
        @if let Some(wrong) = wrong { p.alert role="alert" { (visit.text(wrong)) } }
        form method="post" {
            (token_field(visit, Holder::Visitor))
            label for="email" { (visit.text(Text::Email)) }
            input id="email" name="email" type="email" value=(value("email")) autocomplete="email" maxlength="254" required autofocus;
            label for="name" { (visit.text(Text::Username)) }
            input id="name" name="name" value=(value("name")) autocomplete="username" autocapitalize="none" spellcheck="false" minlength="3" maxlength="64" required;
            (new_password_fields(visit))
            button type="submit" { (visit.text(Text::CreateAccount)) }
        }
    };
    Page::new(visit, status, visit.text(Text::CreateAccount), body).respond()
}
