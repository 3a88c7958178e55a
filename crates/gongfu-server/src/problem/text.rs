//! The status, the code and the words of each problem.

use http::StatusCode;

use super::{CredentialFault, Problem};
use crate::caller::Caller;

/// The code and the words of a problem.
pub(crate) struct Words {
    pub(crate) code: &'static str,
    pub(crate) detail: String,
    pub(crate) hint: Option<String>,
}

impl Problem {
    /// The HTTP status.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::HostMalformed | Self::CredentialMisplaced | Self::Malformed(_) => {
                StatusCode::BAD_REQUEST
            }
            Self::Unauthenticated(_)
            | Self::CredentialMissing
            | Self::Credential(_)
            | Self::SignInRefused => StatusCode::UNAUTHORIZED,
            Self::HostUnknown(_)
            | Self::OriginForeign(_)
            | Self::ScopesMissing(_)
            | Self::PersonNeeded
            | Self::AdminNeeded
            | Self::PasswordsOff
            | Self::AgentOff
            | Self::Forbidden { .. } => StatusCode::FORBIDDEN,
            Self::RouteUnknown | Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::MethodWrong(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict { .. } => StatusCode::CONFLICT,
            Self::TransportGone => StatusCode::GONE,
            Self::BodySlow => StatusCode::REQUEST_TIMEOUT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::MediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::RateLimited(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Fault => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Tool(error) => StatusCode::from_u16(error.code().http_status())
                .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    /// The code and the words.
    pub(crate) fn words(&self) -> Words {
        let with = |code, detail: &str, hint: &str| Words {
            code,
            detail: detail.to_owned(),
            hint: Some(hint.to_owned()),
        };
        match self {
            Self::CredentialMissing => with(
                "UNAUTHORIZED",
                "the request has no credential",
                "send a token as `Authorization: Bearer TOKEN`",
            ),
            Self::CredentialMisplaced => with(
                "BAD_REQUEST",
                "the request has several credentials, or one in its URL",
                "send one token as `Authorization: Bearer TOKEN`, and nothing else",
            ),
            Self::Credential(fault) => refused(*fault),
            Self::ScopesMissing(scopes) => {
                let names: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
                let names = names.join(" ");
                with(
                    "FORBIDDEN",
                    &format!("the credential lacks: {names}"),
                    "use a token with these scopes",
                )
            }
            Self::PersonNeeded => with(
                "FORBIDDEN",
                "an API token doesn't reach accounts, approvals and settings",
                "sign in, and send the access token",
            ),
            Self::AdminNeeded => with(
                "FORBIDDEN",
                "this is for admins of the server",
                "ask an admin",
            ),
            Self::SignInRefused => with(
                "UNAUTHORIZED",
                "the name or the password is wrong",
                "check both; an admin can set a new password",
            ),
            Self::PasswordsOff => with(
                "PASSWORDS_OFF",
                "this server takes no passwords",
                "sign in by the company's provider at /login",
            ),
            Self::AgentOff => agent_off(),
            Self::NotFound(what) => with(
                "NOT_FOUND",
                &format!("there is no such {what}"),
                "list what there is, and use an id from there",
            ),
            Self::Malformed(why) => with("BAD_REQUEST", why, "see /openapi.json"),
            Self::Invalid(errors) => with(
                "VALIDATION_ERROR",
                &errors
                    .first()
                    .map_or_else(String::new, |error| match error.field.as_str() {
                        "" => error.message.clone(),
                        field => format!("{field}: {}", error.message),
                    }),
                "see /openapi.json",
            ),
            Self::TooLarge(limit) => with(
                "PAYLOAD_TOO_LARGE",
                "the body is too long",
                &format!("send at most {limit} bytes"),
            ),
            Self::BodySlow => with(
                "REQUEST_TIMEOUT",
                "the body didn't come in time",
                "send it again",
            ),
            Self::MediaType(wanted) => with(
                "UNSUPPORTED_MEDIA_TYPE",
                "the body has another media type",
                &format!("send {wanted}"),
            ),
            Self::Conflict { detail, hint, .. } => with("CONFLICT", detail, hint),
            Self::Forbidden { detail, hint } => with("FORBIDDEN", detail, hint),
            Self::RateLimited(after) => with(
                "RATE_LIMIT_EXCEEDED",
                "there were too many requests",
                &format!("try again in {} s", after.0),
            ),
            Self::Unavailable(why) => with("UNAVAILABLE", why, "try again in a moment"),
            Self::Tool(error) => {
                let text = error.problem.text();
                with(error.code().as_str(), &text.message, &text.hint)
            }
            _ => {
                let (code, detail) = self.of_transport();
                Words {
                    code,
                    detail,
                    hint: None,
                }
            }
        }
    }

    /// The code and the words of a problem of any server.
    fn of_transport(&self) -> (&'static str, String) {
        match self {
            Self::RouteUnknown => (
                "NOT_FOUND",
                "there is nothing at this address; MCP is at /mcp".to_owned(),
            ),
            Self::MethodWrong(allowed) => (
                "METHOD_NOT_ALLOWED",
                format!("this address is for other methods; use {allowed}"),
            ),
            Self::TransportGone => (
                "TRANSPORT_GONE",
                "the HTTP+SSE transport of 2024-11-05 is not served; use Streamable HTTP at /mcp"
                    .to_owned(),
            ),
            Self::HostMalformed => (
                "HOST_MALFORMED",
                "the request must name one host; send one `Host` header".to_owned(),
            ),
            Self::HostUnknown(host) => (
                "HOST_UNKNOWN",
                format!(
                    "requests for host `{host}` are refused; set the server's address with --public-url"
                ),
            ),
            Self::OriginForeign(origin) => (
                "ORIGIN_FOREIGN",
                format!(
                    "requests from pages of `{origin}` are refused; set the server's address with --public-url"
                ),
            ),
            Self::Unauthenticated(caller) => ("UNAUTHENTICATED", unauthenticated(*caller)),
            _ => (
                "INTERNAL_SERVER_ERROR",
                "internal error; see the server's log".to_owned(),
            ),
        }
    }
}

/// The code and the words about an agent that isn't for users.
fn agent_off() -> Words {
    Words {
        code: "AGENT_OFF",
        detail: "this server's agent isn't for its users: it would ask the operator's models"
            .to_owned(),
        hint: Some(
            "an operator allows it: gongfu config set agent.accounts true, and a restart of the server"
                .to_owned(),
        ),
    }
}

/// The code and the words about a credential that is refused.
fn refused(fault: CredentialFault) -> Words {
    let (code, detail, hint) = match fault {
        CredentialFault::Form => (
            "INVALID_TOKEN_FORMAT",
            "the token has the wrong form",
            "an API token is `ask_live_` and 64 hexadecimal digits; check for a typo",
        ),
        CredentialFault::Kind => (
            "INVALID_TOKEN_TYPE",
            "a refresh token isn't a credential for requests",
            "send the access token, or get one at /api/v1/auth/refresh",
        ),
        CredentialFault::Foreign => (
            "INVALID_TOKEN",
            "the token isn't valid here",
            "sign in again, or create another token",
        ),
        CredentialFault::Unknown => (
            "TOKEN_NOT_FOUND",
            "there is no such token",
            "create one at /api/v1/tokens",
        ),
        CredentialFault::Expired => (
            "TOKEN_EXPIRED",
            "the token has expired",
            "refresh it, sign in again, or create another token",
        ),
        CredentialFault::Revoked => (
            "TOKEN_REVOKED",
            "the token was revoked, or its account is disabled",
            "sign in again, or create another token; where that is refused, ask an admin",
        ),
    };
    Words {
        code,
        detail: detail.to_owned(),
        hint: Some(hint.to_owned()),
    }
}

/// The reason why a client needs the token, and the way to it.
fn unauthenticated(caller: Caller) -> String {
    const TOKEN: &str =
        "the server's token (the file `token` in its GONGFU_HOME) as `Authorization: Bearer TOKEN`";
    match caller {
        Caller::Other => format!(
            "the server only answers its own user, and this connection belongs to another; run the client as the server's user, or send {TOKEN}"
        ),
        Caller::Proxy => format!(
            "a server with a public URL can't identify users by connection; have the proxy or the client send {TOKEN}"
        ),
        Caller::Own | Caller::Unknown => format!(
            "the server only answers its own user, and this system doesn't report the owner of a connection; send {TOKEN}"
        ),
    }
}
