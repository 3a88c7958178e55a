//! The account page as HTML.

use axum::response::Response;
use gongfu_core::account::{Scope, Scopes, Team, TeamRole, User};
use gongfu_core::port::PortError;
use gongfu_core::registry::AccountError;
use gongfu_core::registry::api_token::{ApiToken, ApiTokenRecord, MAX_NAME};
use gongfu_core::registry::browser::BrowserSession;
use gongfu_core::registry::oauth::Connection;
use http::StatusCode;
use maud::{Markup, html};

use crate::page::new_password::new_password_fields;
use crate::page::path::{END, PASSWORD, TEAM, TOKEN};
use crate::page::text::{Text, scope_text};
use crate::page::visit::{Holder, Page, Visit, fill, time, token_field};

/// The choices of a token's life, in days.
const DAYS: [u16; 3] = [30, 90, 365];

/// A thing that a user may end on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndedThing {
    Token,
    Session,
    Connection,
    Membership,
}

impl EndedThing {
    pub(super) fn parse(name: &str) -> Option<Self> {
        let all = [
            Self::Token,
            Self::Session,
            Self::Connection,
            Self::Membership,
        ];
        let mut all = all.into_iter();
        all.find(|thing| thing.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Session => "session",
            Self::Connection => "connection",
            Self::Membership => "membership",
        }
    }

    pub(super) fn done(self) -> Text {
        match self {
            Self::Token => Text::TokenDone,
            Self::Session => Text::SessionDone,
            Self::Connection => Text::ConnectionDone,
            Self::Membership => Text::LeftTeam,
        }
    }
}

/// The sentence at the top of the page.
pub(super) enum Notice {
    None,
    Done(Text),
    Wrong(Text),
    /// A sentence of the core, which is in English.
    Detail(String),
    /// A new token, shown this once.
    Token(ApiToken),
}

/// The lists of the page.
struct Lists {
    tokens: Vec<ApiTokenRecord>,
    connections: Vec<Connection>,
    sessions: Vec<BrowserSession>,
    teams: Vec<Team>,
}

/// The page.
pub(super) async fn page(
    visit: &Visit,
    session: &BrowserSession,
    user: &User,
    status: StatusCode,
    notice: Notice,
) -> Response {
    let lists = match lists(visit, user).await {
        Ok(lists) => lists,
        Err(error) => return visit.fault(&error),
    };
    let body = html! {
        (top(visit, &notice))
        (profile(visit, user))
        (teams(visit, user, &lists.teams))
        (connections(visit, &lists.connections))
        (tokens(visit, user, &lists.tokens))
        (sessions(visit, session, &lists.sessions))
        // Somebody who signs in elsewhere has none to change.
        @if user.password.is_some() { (password(visit, user)) }
    };
    Page::new(visit, status, visit.text(Text::Account), body).respond()
}

async fn lists(visit: &Visit, user: &User) -> Result<Lists, PortError> {
    let (server, accounts) = (&visit.site.server, visit.site.accounts());
    let store = |error| match error {
        AccountError::Store(error) => error,
        error => PortError::Other(error.into()),
    };
    Ok(Lists {
        tokens: accounts.tokens(&user.id).await.map_err(store)?,
        connections: server.connections(user).await?,
        sessions: accounts.browsers(user).await?,
        teams: accounts.teams_of(&user.id).await.map_err(store)?,
    })
}

fn top(visit: &Visit, notice: &Notice) -> Markup {
    html! {
        @match notice {
            Notice::None => {},
            Notice::Done(text) => p.notice role="status" { (visit.text(*text)) },
            Notice::Wrong(text) => p.alert role="alert" { (visit.text(*text)) },
            Notice::Detail(text) => p.alert role="alert" lang="en" { (text) },
            Notice::Token(token) => section.notice role="status" {
                h2 { (visit.text(Text::TokenNew)) }
                p { code.secret { (token.as_str()) } }
                p { (visit.text(Text::TokenOnce)) }
            },
        }
    }
}

fn profile(visit: &Visit, user: &User) -> Markup {
    html! {
        section aria-labelledby="profile" {
            h2 id="profile" { (visit.text(Text::Profile)) }
            dl {
                dt { (visit.text(Text::Username)) } dd { (user.username) }
                dt { (visit.text(Text::Email)) } dd { (user.email) }
                @if user.is_admin {
                    dt { (visit.text(Text::IsAdmin)) } dd { (visit.text(Text::Admin)) }
                }
            }
        }
    }
}

fn teams(visit: &Visit, user: &User, teams: &[Team]) -> Markup {
    html! {
        section aria-labelledby="teams" {
            h2 id="teams" { (visit.text(Text::Teams)) }
            p.help { (visit.text(Text::TeamsHelp)) }
            ul.list {
                @for team in teams {
                    @let role = match team.role_of(&user.id) {
                        Some(TeamRole::Maintainer) => Text::TeamMaintainer,
                        _ => Text::TeamMember,
                    };
                    @let source = format!("team-{}", team.name);
                    li {
                        div {
                            strong { (team.name) }
                            p.help { (visit.text(role)) " · " (fill(visit.text(Text::TeamSkills), &source)) }
                        }
                        (button_form(visit, EndedThing::Membership, team.id.as_str(), [Text::Leave, Text::LeaveNamed], team.name.as_str()))
                    }
                }
            }
            form method="post" action=(visit.site.path(TEAM)) {
                (token_field(visit, Holder::Session))
                label for="invitation" { (visit.text(Text::Invitation)) }
                input id="invitation" name="invitation" autocomplete="off" spellcheck="false" maxlength="200" required;
                button type="submit" { (visit.text(Text::JoinTeam)) }
            }
        }
    }
}

fn password(visit: &Visit, user: &User) -> Markup {
    html! {
        section aria-labelledby="password-title" {
            h2 id="password-title" { (visit.text(Text::ChangePassword)) }
            p.help { (visit.text(Text::PasswordEnds)) }
            form method="post" action=(visit.site.path(PASSWORD)) {
                (token_field(visit, Holder::Session))
                input type="text" name="name" value=(user.username) autocomplete="username" hidden;
                label for="current" { (visit.text(Text::CurrentPassword)) }
                input id="current" name="current" type="password" autocomplete="current-password" maxlength="128" required;
                (new_password_fields(visit))
                button type="submit" { (visit.text(Text::Save)) }
            }
        }
    }
}

fn connections(visit: &Visit, connections: &[Connection]) -> Markup {
    html! {
        section aria-labelledby="connections" {
            h2 id="connections" { (visit.text(Text::Connections)) }
            @if connections.is_empty() { p.help { (visit.text(Text::Nothing)) } }
            ul.list {
                @for connection in connections {
                    @let name = connection.name.as_deref().unwrap_or(visit.text(Text::Unnamed));
                    li {
                        div {
                            strong { bdi { (name) } }
                            p.help {
                                (connection.place) " · " (connection.scopes) " · "
                                (fill(visit.text(Text::Since), &time(connection.created))) " · "
                                (fill(visit.text(Text::LastSeen), &time(connection.refreshed)))
                            }
                        }
                        (end_form(visit, EndedThing::Connection, &connection.id, name))
                    }
                }
            }
        }
    }
}

fn sessions(visit: &Visit, current: &BrowserSession, sessions: &[BrowserSession]) -> Markup {
    html! {
        section aria-labelledby="sessions" {
            h2 id="sessions" { (visit.text(Text::Sessions)) }
            ul.list {
                @for session in sessions {
                    @let agent = match session.agent.as_str() {
                        "" => visit.text(Text::UnknownBrowser),
                        agent => agent,
                    };
                    li {
                        div {
                            strong { bdi { (agent) } }
                            p.help {
                                @if session.id == current.id { em { (visit.text(Text::ThisSession)) } " · " }
                                (fill(visit.text(Text::Since), &time(session.created))) " · "
                                (fill(visit.text(Text::LastSeen), &time(session.seen)))
                            }
                        }
                        (end_form(visit, EndedThing::Session, session.id.as_str(), agent))
                    }
                }
            }
        }
    }
}

fn tokens(visit: &Visit, user: &User, tokens: &[ApiTokenRecord]) -> Markup {
    let now = visit.site.accounts().now();
    html! {
        section aria-labelledby="tokens" {
            h2 id="tokens" { (visit.text(Text::Tokens)) }
            p.help { (visit.text(Text::TokensHelp)) }
            ul.list {
                @for token in tokens {
                    li {
                        div {
                            strong { bdi { (token.name) } }
                            p.help {
                                (token.scopes) " · "
                                (fill(visit.text(Text::Since), &time(token.created)))
                                @if token.is_expired(now) { " · " (visit.text(Text::Expired)) }
                                @else if let Some(expires) = token.expires {
                                    " · " (fill(visit.text(Text::Until), &time(expires)))
                                }
                            }
                        }
                        (end_form(visit, EndedThing::Token, &token.id, &token.name))
                    }
                }
            }
            (token_form(visit, user))
        }
    }
}

fn token_form(visit: &Visit, user: &User) -> Markup {
    html! {
        form method="post" action=(visit.site.path(TOKEN)) {
            (token_field(visit, Holder::Session))
            label for="token-name" { (visit.text(Text::TokenName)) }
            input id="token-name" name="name" maxlength=(MAX_NAME) autocomplete="off" required;
            fieldset {
                legend { (visit.text(Text::TokenScopes)) }
                @for scope in Scopes::of_user(user.is_admin).iter() {
                    label.check {
                        input type="checkbox" name=(scope.as_str()) value="on" checked[scope == Scope::SkillsRead];
                        span { (visit.text(scope_text(scope))) " " code { (scope.as_str()) } }
                    }
                }
            }
            label for="days" { (visit.text(Text::TokenExpiry)) }
            select id="days" name="days" {
                @for (index, days) in DAYS.into_iter().enumerate() {
                    option value=(days) selected[index == 1] { (fill(visit.text(Text::Days), &days.to_string())) }
                }
                option value="never" { (visit.text(Text::Never)) }
            }
            button type="submit" { (visit.text(Text::CreateToken)) }
        }
    }
}

/// The form with one button that ends a thing.
fn end_form(visit: &Visit, thing: EndedThing, id: &str, name: &str) -> Markup {
    button_form(visit, thing, id, [Text::Revoke, Text::RevokeNamed], name)
}

/// The same with texts of its own: the one to see, and the one that names the thing.
fn button_form(
    visit: &Visit,
    thing: EndedThing,
    id: &str,
    [text, named]: [Text; 2],
    name: &str,
) -> Markup {
    html! {
        form method="post" action=(visit.site.path(END)) {
            (token_field(visit, Holder::Session))
            input type="hidden" name="thing" value=(thing.name());
            input type="hidden" name="id" value=(id);
            button.quiet type="submit" aria-label=(fill(visit.text(named), name)) { (visit.text(text)) }
        }
    }
}
