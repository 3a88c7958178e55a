//! The API through its routes, over everything in memory.

mod access;
mod account;
mod admin;
mod agent;
mod body;
mod connection;
mod document;
mod limit;
mod openai;
mod skill;
mod tool;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use gongfu_core::account::{Email, Owner, Scope, Scopes, User, UserId, Username};
use gongfu_core::port::Servers;
use gongfu_core::registry::{
    AccountParts, AccountSettings, Accounts, Identity, NewToken, NewUser, Registration,
};
use gongfu_core::set::{CapabilitySet, Sets};
use gongfu_hub::{Catalog, Profile, Quota, upstream};
use gongfu_testing::{
    FakePasswords, FakeSecrets, FakeServers, FixedClock, MemoryRecords, MemorySpace, MemorySpaces,
    now, sample,
};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tower_service::Service as _;

use self::agent::FakeAgent;
use super::{AccountApiParts, ApiParts};
use crate::metric::Metrics;
use crate::rate::{RateLimits, RateSettings};
use crate::route::Surface;
use crate::state::Health;

/// The password of every user.
const PASSWORD: &str = "three unrelated words";
/// The URL of the server.
const ISSUER: &str = "http://127.0.0.1:7878";

struct TestServer {
    accounts: Accounts,
    spaces: Arc<MemorySpaces>,
    passwords: Arc<FakePasswords>,
    clock: Arc<FixedClock>,
    agent: Arc<FakeAgent>,
    router: Router,
}

/// The set `review`, with a tool of another server and a skill.
#[derive(Debug)]
struct OneSet;

impl Sets for OneSet {
    fn find(&self, name: &str) -> Result<Arc<CapabilitySet>, String> {
        let members = ["mcp.echo.say", "skill.nosuch"].map(str::to_owned);
        match name {
            "review" => CapabilitySet::new(members.to_vec()).map(Arc::new),
            _ => Err("there is no such set; there is review".to_owned()),
        }
    }
}

/// An answer, read whole.
struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = String::from_utf8_lossy(&self.body);
        write!(formatter, "{} {text}", self.status)
    }
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.body)))
    }

    /// The code of a refusal in the form of OpenAI.
    fn openai_code(&self) -> Option<String> {
        let document: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let error = document.get("error")?;
        assert!(error["message"].is_string() && error["type"].is_string());
        Some(error["code"].as_str().unwrap().to_owned())
    }

    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// The status and the code of a problem, after checking that it is a complete one.
    #[track_caller]
    fn problem(&self) -> (u16, String) {
        if let Some(code) = self.openai_code() {
            return (self.status.as_u16(), code);
        }
        assert_eq!(
            self.header("content-type"),
            "application/problem+json",
            "{self:?}"
        );
        assert_eq!(self.header("cache-control"), "no-store");
        assert_eq!(self.header("x-content-type-options"), "nosniff");
        let document = self.json();
        for member in ["type", "title", "detail", "code", "timestamp"] {
            assert!(document[member].is_string(), "{member}: {document}");
        }
        assert_eq!(document["status"], self.status.as_u16());
        if self.status == StatusCode::UNAUTHORIZED {
            assert!(
                self.header("www-authenticate")
                    .starts_with("Bearer resource_metadata=")
            );
        }
        (
            self.status.as_u16(),
            document["code"].as_str().unwrap().to_owned(),
        )
    }
}

impl TestServer {
    fn new() -> Self {
        Self::with(RateSettings {
            logins: None,
            requests: None,
        })
    }

    fn with(rates: RateSettings) -> Self {
        let (passwords, clock) = (
            Arc::<FakePasswords>::default(),
            Arc::<FixedClock>::default(),
        );
        let records = Arc::<MemoryRecords>::default();
        let parts = AccountParts {
            records: Arc::<MemoryRecords>::clone(&records),
            passwords: Arc::<FakePasswords>::clone(&passwords),
            secrets: Arc::new(FakeSecrets::of(1)),
            clock: Arc::<FixedClock>::clone(&clock),
        };
        let settings = AccountSettings {
            registration: Registration::Open,
            ..AccountSettings::at(ISSUER)
        };
        let accounts = Accounts::new(parts, settings);
        let spaces = Arc::<MemorySpaces>::default();
        let catalog = Catalog::new(Arc::<MemorySpaces>::clone(&spaces), Quota::default(), None);
        let servers: Arc<dyn Servers> = Arc::new(FakeServers::default());
        now(upstream::provide(&catalog, &servers, None)).unwrap();
        let agent = Arc::<FakeAgent>::default();
        let surface = Surface {
            mcp: Router::new().fallback(mcp),
            health: Arc::new(|| Health {
                version: "1".to_owned(),
                ready: true,
                sandbox: None,
            }),
            metrics: Arc::new(Metrics::new("1", Vec::new())),
            clock: Arc::<FixedClock>::clone(&clock),
            link_parent_trace: None,
            public_url: None,
            token: None,
            sign_in: None,
            published: None,
            api: Some(ApiParts {
                catalog: Arc::new(catalog),
                profiles: vec![Profile::Standard],
                sets: Arc::new(OneSet),
                set: None,
                agent: Some(Arc::<FakeAgent>::clone(&agent) as _),
                accounts: Some(AccountApiParts {
                    users_grant: true,
                    accounts: accounts.clone(),
                    logs: records,
                    teams: Arc::new(()),
                    rates: Arc::new(RateLimits::new(
                        rates,
                        Arc::<FixedClock>::clone(&clock) as _,
                    )),
                }),
            }),
        };
        Self {
            accounts,
            spaces,
            passwords,
            clock,
            agent,
            router: surface.router().0,
        }
    }

    /// Creates a user with a skill, who may be an admin.
    fn user(&self, name: &str, is_admin: bool) -> User {
        let new = NewUser {
            email: Email::new(&format!("{name}@example.com")).unwrap(),
            username: Username::new(name).unwrap(),
            password: Some(PASSWORD.to_owned()),
            is_admin,
        };
        let user = now(self.accounts.create(new, None)).unwrap();
        let owner = Owner::User(user.id.clone());
        let with_servers = MemorySpace {
            servers: Arc::new(FakeServers::default()),
            ..MemorySpace::default()
        };
        self.spaces.insert(owner.clone(), with_servers);
        let space = self.spaces.parts(&owner);
        space
            .skills
            .replace(&[("lib/pdf-tools", &sample::PDF_TOOLS_FILES)]);
        user
    }

    /// The access token of a new sign-in.
    fn sign_in(&self, name: &str) -> String {
        let sign_in = now(self.accounts.sign_in(name, PASSWORD.to_owned())).unwrap();
        sign_in.access.as_str().to_owned()
    }

    /// The text and the id of a new API token.
    fn token(&self, user: &UserId, scopes: &[Scope]) -> (String, String) {
        let new = NewToken {
            name: "test".to_owned(),
            scopes: scopes.iter().copied().collect(),
            skills: None,
            profile: None,
            expires: None,
        };
        let (token, record) = now(self.accounts.create_token(user, new)).unwrap();
        (token.as_str().to_owned(), record.id)
    }

    async fn send(&self, request: Request) -> Reply {
        let mut router = self.router.clone();
        let response: Response = router.call(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        Reply {
            status: parts.status,
            headers: parts.headers,
            body: body.to_vec(),
        }
    }

    /// Sends a request with a credential and a JSON body, if there is one.
    async fn call(&self, method: &str, path: &str, token: &str, body: Value) -> Reply {
        let request = request(method, path, token);
        let request = if body.is_null() {
            request.body(Body::empty())
        } else {
            let request = request.header(CONTENT_TYPE, "application/json");
            request.body(Body::from(body.to_string()))
        };
        self.send(request.unwrap()).await
    }

    /// Uploads a file for a skill, or a new skill if `skill` is empty.
    async fn upload(&self, token: &str, skill: &str, name: &str, content: &[u8]) -> Reply {
        let path = "/api/v1/skills/upload";
        self.upload_to(path, token, skill, name, content).await
    }

    async fn upload_to(
        &self,
        path: &str,
        token: &str,
        skill: &str,
        name: &str,
        content: &[u8],
    ) -> Reply {
        let mut form = Vec::new();
        if !skill.is_empty() {
            let field = "--x\r\nContent-Disposition: form-data; name=\"skill_id\"\r\n\r\n";
            form.extend_from_slice(format!("{field}{skill}\r\n").as_bytes());
        }
        let field = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=";
        form.extend_from_slice(format!("{field}\"{name}\"\r\n\r\n").as_bytes());
        form.extend_from_slice(content);
        form.extend_from_slice(b"\r\n--x--\r\n");
        let request = request("POST", path, token);
        let request = request.header(CONTENT_TYPE, "multipart/form-data; boundary=x");
        self.send(request.body(Body::from(form)).unwrap()).await
    }

    async fn get(&self, path: &str, token: &str) -> Reply {
        self.call("GET", path, token, Value::Null).await
    }
}

/// A request with a credential, unless that is empty.
fn request(method: &str, path: &str, token: &str) -> http::request::Builder {
    let request = Request::builder().method(method).uri(path);
    let request = request.header(HOST, "127.0.0.1:7878");
    if token.is_empty() {
        request
    } else {
        request.header(AUTHORIZATION, format!("Bearer {token}"))
    }
}

/// In place of MCP: says who called.
async fn mcp(request: Request) -> axum::Json<Value> {
    let identity = request.extensions().get::<Arc<Identity>>().unwrap();
    axum::Json(json!({
        "user": identity.user.as_str(),
        "scopes": identity.scopes.to_string(),
    }))
}

fn all_scopes() -> Vec<Scope> {
    Scopes::usual().iter().collect()
}
