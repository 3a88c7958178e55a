//! The pages of a server with accounts: what all of them share, and those that belong to no protocol.
//!
//! Plain HTML without a script. Every form has a token of its session, and is answered only from a page of this
//! server.

mod account;
mod cookie;
mod invite;
mod join;
mod language;
mod login;
mod new_password;
mod path;
mod site;
mod sso;
mod text;
mod visit;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use gongfu_core::registry::sso::CALLBACK;

pub(crate) use path::{AUTHORIZE, LOGOUT, login_for};
pub(crate) use site::Site;
pub(crate) use text::{Text, scope_text};
pub(crate) use visit::{Form, Holder, Page, Visit, fill, read_form, token_field};

/// The routes of the pages.
pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route(path::STYLE, get(visit::style))
        .route(path::LOGIN, get(login::show).post(login::answer))
        .route(path::SSO, get(sso::begin))
        .route(CALLBACK, get(sso::finish))
        .route(LOGOUT, post(login::leave))
        .route(path::INVITE, get(invite::show).post(invite::answer))
        .route(path::JOIN, get(join::show).post(join::answer))
        .route(path::ACCOUNT, get(account::show))
        .route(path::TEAM, get(account::show).post(account::join_team))
        .route(
            path::PASSWORD,
            get(account::show).post(account::change_password),
        )
        .route(path::TOKEN, get(account::show).post(account::create_token))
        .route(path::END, get(account::show).post(account::end))
}
