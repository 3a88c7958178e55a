//! The account page: profile, password, API tokens, connected apps, browser sessions.

mod view;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use gongfu_core::account::{Scope, TeamId, User};
use gongfu_core::port::Timestamp;
use gongfu_core::registry::browser::BrowserSession;
use gongfu_core::registry::team::InvitationSecret;
use gongfu_core::registry::{AccountError, NewToken};
use http::StatusCode;

use self::view::{EndedThing, Notice};
use super::new_password::password_text;
use super::path::{ACCOUNT, LOGIN, login_for};
use super::site::Site;
use super::text::Text;
use super::visit::{Form, Holder, Visit};

const DAY: i64 = 24 * 60 * 60 * 1_000;

/// A request of a signed-in user, with the fields of its form.
struct Action {
    visit: Visit,
    session: BrowserSession,
    user: User,
    fields: Form,
}

impl Action {
    async fn of(site: Arc<Site>, request: Request) -> Result<Self, Response> {
        let (mut visit, session, user, body) = signed_in(site, request).await?;
        visit.session = Some((session.clone(), user.clone()));
        let fields = Form::read(&visit, body, Holder::Session).await?;
        Ok(Self {
            visit,
            session,
            user,
            fields,
        })
    }

    /// The page again, with what went wrong.
    async fn refused(&self, notice: Notice) -> Response {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        view::page(&self.visit, &self.session, &self.user, status, notice).await
    }

    async fn failed(&self, error: AccountError) -> Response {
        match error {
            AccountError::Store(error) => self.visit.fault(&error),
            AccountError::Password(error) => {
                self.refused(Notice::Wrong(password_text(error))).await
            }
            AccountError::WrongPassword => {
                self.refused(Notice::Wrong(Text::CurrentPasswordWrong))
                    .await
            }
            AccountError::Unknown(_) => self.refused(Notice::Wrong(Text::Gone)).await,
            error => self.refused(Notice::Detail(error.to_string())).await,
        }
    }
}

/// A visit of a signed-in user; others are sent to the sign-in.
async fn signed_in(
    site: Arc<Site>,
    request: Request,
) -> Result<(Visit, BrowserSession, User, Body), Response> {
    let (visit, body) = Visit::of(site, request).await?;
    match visit.session.clone() {
        Some((session, user)) => Ok((visit, session, user, body)),
        None => Err(visit.to_page(&login_for(ACCOUNT))),
    }
}

/// Shows the page.
pub(super) async fn show(State(site): State<Arc<Site>>, request: Request) -> Response {
    let (visit, session, user, _) = match signed_in(site, request).await {
        Ok(parts) => parts,
        Err(response) => return response,
    };
    let done = visit.parameter("done").unwrap_or_default();
    let notice = match done.as_str() {
        "password" => Notice::Done(Text::PasswordDone),
        "joined" => Notice::Done(Text::JoinedTeam),
        thing => EndedThing::parse(thing).map_or(Notice::None, |thing| Notice::Done(thing.done())),
    };
    view::page(&visit, &session, &user, StatusCode::OK, notice).await
}

/// Changes the password. Every session ends, and this browser gets a new one.
pub(super) async fn change_password(State(site): State<Arc<Site>>, request: Request) -> Response {
    match Action::of(site, request).await {
        Ok(action) => action
            .change_password()
            .await
            .unwrap_or_else(|refused| refused),
        Err(response) => response,
    }
}

/// Creates an API token, and shows it this once.
pub(super) async fn create_token(State(site): State<Arc<Site>>, request: Request) -> Response {
    let action = match Action::of(site, request).await {
        Ok(action) => action,
        Err(response) => return response,
    };
    let scopes = Scope::ALL.into_iter();
    let scopes = scopes.filter(|scope| !action.fields.get(scope.as_str()).is_empty());
    let days: Option<i64> = action.fields.get("days").parse().ok();
    let now = action.visit.site.accounts().now().0;
    let new = NewToken {
        name: action.fields.get("name").to_owned(),
        scopes: scopes.collect(),
        skills: None,
        profile: None,
        expires: days.map(|days| Timestamp(now.saturating_add(days.saturating_mul(DAY)))),
    };
    let accounts = action.visit.site.accounts();
    match accounts.create_token(&action.user.id, new).await {
        Ok((token, _)) => {
            let notice = Notice::Token(token);
            view::page(
                &action.visit,
                &action.session,
                &action.user,
                StatusCode::OK,
                notice,
            )
            .await
        }
        Err(error) => action.failed(error).await,
    }
}

/// Joins a team by an invitation.
pub(super) async fn join_team(State(site): State<Arc<Site>>, request: Request) -> Response {
    let action = match Action::of(site, request).await {
        Ok(action) => action,
        Err(response) => return response,
    };
    let over = || action.refused(Notice::Wrong(Text::InvitationOver));
    let secret = InvitationSecret::parse(action.fields.get("invitation").trim());
    let Some(secret) = secret else {
        return over().await;
    };
    match action
        .visit
        .site
        .accounts()
        .join(&secret, &action.user.id)
        .await
    {
        Ok(_) => action.visit.to_page(&format!("{ACCOUNT}?done=joined")),
        Err(AccountError::Unknown(_)) => over().await,
        Err(error) => action.failed(error).await,
    }
}

/// Ends a session or a connection, revokes a token, or leaves a team.
pub(super) async fn end(State(site): State<Arc<Site>>, request: Request) -> Response {
    let action = match Action::of(site, request).await {
        Ok(action) => action,
        Err(response) => return response,
    };
    let Some(thing) = EndedThing::parse(action.fields.get("thing")) else {
        return action.refused(Notice::Wrong(Text::Gone)).await;
    };
    let (site, user, id) = (&action.visit.site, &action.user.id, action.fields.get("id"));
    let ended = match thing {
        EndedThing::Token => site.accounts().revoke_token(user, id).await,
        EndedThing::Session => site.accounts().end_browser(user, id).await,
        EndedThing::Connection => site.server.disconnect(user, id).await,
        EndedThing::Membership => match TeamId::new(id) {
            Ok(team) => {
                let left = site.accounts().remove_member(&team, user, Some(user));
                left.await.map(drop)
            }
            Err(_) => Err(AccountError::Unknown("team")),
        },
    };
    match ended {
        Ok(()) if id == action.session.id.as_str() => action.visit.to_page(LOGIN),
        Ok(()) => action
            .visit
            .to_page(&format!("{ACCOUNT}?done={}", thing.name())),
        Err(error) => action.failed(error).await,
    }
}

impl Action {
    async fn change_password(&self) -> Result<Response, Response> {
        let (visit, user) = (&self.visit, &self.user);
        if self.fields.get("password") != self.fields.get("again") {
            return Err(self.refused(Notice::Wrong(Text::PasswordsDiffer)).await);
        }
        let (rates, accounts) = (&visit.site.rates, visit.site.accounts());
        let name = user.username.as_str();
        let wait = |after| visit.wait(after);
        rates.login_allowed(visit.address, name).map_err(wait)?;
        let _permit = rates.hashing().map_err(wait)?;
        let current = self.fields.get("current").to_owned();
        if let Err(error) = accounts.check_password(&user.id, current).await {
            rates.login_failed(name);
            return Err(self.failed(error).await);
        }
        rates.login_succeeded(name);
        let new = self.fields.get("password").to_owned();
        if let Err(error) = accounts.set_password(&user.id, new, Some(&user.id)).await {
            return Err(self.failed(error).await);
        }
        let renewed = match accounts.user(&user.id).await {
            Ok(user) => user,
            Err(error) => return Err(self.failed(error).await),
        };
        let secret = accounts.begin_browser(&renewed, visit.agent(), visit.secret.as_ref());
        let secret = secret.await.map_err(|error| visit.fault(&error))?;
        let to = visit.site.path(&format!("{ACCOUNT}?done=password"));
        Ok(visit.redirect(&to, Some(secret.as_str())))
    }
}
