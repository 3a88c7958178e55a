//! The pages of a server with accounts: what all of them share, and those that belong to no protocol.
//!
//! Plain HTML without a script. Every form has a token of its session, and is answered only from a page of this
//! server.

mod account;
mod cookie;
mod form;
mod invite;
mod language;
mod layout;
mod login;
mod site;
mod text;
mod visit;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

pub(crate) use form::{Form, Holder, read_form};
pub(crate) use layout::{Page, fill, token_field};
pub(crate) use login::login_for;
pub(crate) use site::Site;
pub(crate) use text::{Text, scope_text};
pub(crate) use visit::Visit;

/// The routes of the pages.
pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route(layout::STYLE, get(layout::style))
        .route(login::LOGIN, get(login::show).post(login::answer))
        .route(login::LOGOUT, post(login::leave))
        .route("/invite/{secret}", get(invite::show).post(invite::answer))
        .route(account::ACCOUNT, get(account::show))
        .route(account::PASSWORD, post(account::change_password))
        .route(account::TOKEN, post(account::create_token))
        .route(account::END, post(account::end))
}
