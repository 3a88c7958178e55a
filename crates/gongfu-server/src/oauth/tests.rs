//! The sign-in of clients as browsers and clients see it. Each attack has the control beside it that must succeed.

mod attack;
mod browser;
mod flow;
mod page;
mod sso;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use gongfu_core::account::{Email, User, Username};
use gongfu_core::registry::oauth::{AuthorizationServer, OAuthSettings};
use gongfu_core::registry::{AccountParts, AccountSettings, Accounts, NewUser};
use gongfu_testing::{
    FakeClientDocuments, FakePasswords, FakeSecrets, FixedClock, MemoryRecords, now,
};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tower_service::Service as _;

use super::OAuthParts;
use crate::rate::{RateLimits, RateSettings};

const PASSWORD: &str = "three unrelated words";
const ISSUER: &str = "https://skills.example.com";
const WEB: &str = "https://app.example/oauth/client.json";
const WEB_REDIRECT: &str = "https://app.example/callback";
/// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A server with the users `ann` and `bob`.
struct Server {
    router: Router,
    oauth: AuthorizationServer,
    clock: Arc<FixedClock>,
    documents: Arc<FakeClientDocuments>,
    ann: User,
    issuer: String,
}

/// An answer of the server.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    fn location(&self) -> &str {
        assert_eq!(self.status, StatusCode::SEE_OTHER, "{}", self.body);
        self.header("location")
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The value of a hidden field.
    fn field(&self, name: &str) -> String {
        let start = format!("name=\"{name}\" value=\"");
        let at = self
            .body
            .find(&start)
            .unwrap_or_else(|| panic!("no {name}: {}", self.body));
        let value = &self.body[at + start.len()..];
        let value = &value[..value.find('"').unwrap()];
        value.replace("&amp;", "&").replace("&quot;", "\"")
    }
}

impl Server {
    fn new() -> Self {
        Self::at(ISSUER)
    }

    fn at(issuer: &str) -> Self {
        Self::with(issuer, |accounts| accounts)
    }

    fn with(issuer: &str, change: impl FnOnce(Accounts) -> Accounts) -> Self {
        let (clock, documents) = (Arc::<FixedClock>::default(), Arc::default());
        let parts = AccountParts {
            records: Arc::<MemoryRecords>::default(),
            passwords: Arc::<FakePasswords>::default(),
            secrets: Arc::new(FakeSecrets::of(1)),
            clock: Arc::<FixedClock>::clone(&clock),
        };
        let accounts = change(Accounts::new(parts, AccountSettings::at(issuer)));
        let create = |name: &str| {
            let new = NewUser {
                email: Email::new(&format!("{name}@example.com")).unwrap(),
                username: Username::new(name).unwrap(),
                password: Some(PASSWORD.to_owned()),
                is_admin: false,
            };
            now(accounts.create(new, None)).unwrap()
        };
        let ann = create("ann");
        create("bob");
        let settings = OAuthSettings {
            resource: format!("{issuer}/mcp"),
            registers_clients: true,
        };
        let documents: Arc<FakeClientDocuments> = documents;
        let document = json!({
            "client_id": WEB,
            "client_name": "App",
            "redirect_uris": [WEB_REDIRECT, "http://127.0.0.1/cb", "http://[::1]/cb", "app.x:/cb", "https://other.example/cb"],
        });
        documents.put(WEB, document.to_string());
        let oauth = AuthorizationServer::new(
            accounts,
            Some(Arc::<FakeClientDocuments>::clone(&documents)),
            settings,
        );
        let clock_of_rates = Arc::<FixedClock>::clone(&clock);
        let rates = RateLimits::new(RateSettings::default(), clock_of_rates);
        let router = super::router(OAuthParts {
            server: oauth.clone(),
            rates: Arc::new(rates),
            has_proxy: true,
        });
        Self {
            router,
            oauth,
            clock,
            documents,
            ann,
            issuer: issuer.to_owned(),
        }
    }

    async fn send(&self, request: Request) -> Answer {
        let response = self.router.clone().call(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    /// A request of a program with a form.
    async fn program(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let request = Request::post(path)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(query(fields)))
            .unwrap();
        self.send(request).await
    }

    /// A request of a program with JSON.
    async fn register(&self, client: &Value) -> Answer {
        let request = Request::post("/register")
            .header("content-type", "application/json")
            .body(Body::from(client.to_string()))
            .unwrap();
        self.send(request).await
    }

    /// Returns true if an access token is good for the MCP endpoint.
    fn is_good(&self, token: &str) -> bool {
        let resource = self.oauth.settings().resource.clone();
        now(self.oauth.accounts().identify(token, &[&resource])).is_ok()
    }
}

/// Fields as a query or a form.
fn query(fields: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(fields);
    query.finish()
}

/// The value of a name in the query of a URI.
fn value_of(uri: &str, name: &str) -> Option<String> {
    let query = uri.split_once('?')?.1;
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    Some(pairs.find(|(found, _)| found == name)?.1.into_owned())
}

/// A good authorization request of the web client.
fn authorize() -> Vec<(&'static str, &'static str)> {
    vec![
        ("response_type", "code"),
        ("client_id", WEB),
        ("redirect_uri", WEB_REDIRECT),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", "s&t"),
        ("scope", "skills:read skills:run"),
    ]
}

/// The fields with another value for a name.
fn with<'a>(
    mut fields: Vec<(&'a str, &'a str)>,
    name: &'a str,
    value: &'a str,
) -> Vec<(&'a str, &'a str)> {
    fields.retain(|(found, _)| *found != name);
    fields.push((name, value));
    fields
}

fn authorize_path(fields: &[(&str, &str)]) -> String {
    format!("/authorize?{}", query(fields))
}

/// A good token request of the web client.
fn redemption(code: &str) -> Vec<(&'static str, &str)> {
    vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("client_id", WEB),
        ("redirect_uri", WEB_REDIRECT),
        ("code_verifier", VERIFIER),
    ]
}
