//! The REST API: all of it with accounts, and without them the endpoints of the agent, for the server's own user.
//!
//! One list of endpoints; the routes, the checks and the documentation follow from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::IntoResponse as _;
use axum::routing::{MethodFilter, MethodRouter, get, on};
use axum::{Json, Router, middleware};
use gongfu_core::account::{Scope, Scopes, TeamRole};
use gongfu_core::port::{Clock, LogChain};
use gongfu_core::registry::Accounts;
use gongfu_core::set::{SetChoice, Sets};
use gongfu_hub::agent::ChatAgent;
use gongfu_hub::{Catalog, Profile};
use http::Method;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use self::endpoint::{Access, Endpoint, Refusal, ReplyBody, RequestBody};
use self::idempotency::Idempotency;
use self::identity_cache::IdentityCache;
use self::request::Places;
use self::schema::TypeSchema;
use crate::path::MCP_PATH;
use crate::problem::Problem;
use crate::rate::RateLimits;
use crate::state::AppState;
use crate::teams::TeamsChanged;

mod admin;
mod agent;
mod approval;
mod audit;
mod auth;
mod capability;
mod connection;
mod context;
mod credential;
mod endpoint;
mod event_stream;
mod grant;
mod idempotency;
mod identity_cache;
mod invite;
mod json;
mod openai;
mod openapi;
mod page;
mod quota;
mod request;
mod revocation;
mod schema;
mod skill;
mod skill_file;
mod team;
mod team_access;
mod team_member;
mod team_skill;
mod token;
mod tool;
mod user;
mod work;

#[cfg(test)]
mod tests;

pub(crate) use credential::{authenticate_admin, authenticate_mcp};
pub(crate) use openai::refusal::speak_openai;

/// The path of the documentation for programs.
const OPENAPI_PATH: &str = "/openapi.json";
/// The path of the metadata of protected resources (RFC 9728).
const RESOURCE_PATH: &str = "/.well-known/oauth-protected-resource";

/// The long bodies that are in memory at once.
const MAX_UPLOADS: usize = 8;

/// The parts of the API.
pub struct ApiParts {
    /// The tools, and the gate in front of them.
    pub catalog: Arc<Catalog>,
    /// The tools of a credential that names no profile.
    pub profiles: Vec<Profile>,
    /// The sets that a request may name.
    pub sets: Arc<dyn Sets>,
    /// The set of a request that names none.
    pub set: Option<SetChoice>,
    /// gongfu's own agent; `None` where it isn't for the callers.
    pub agent: Option<Arc<dyn ChatAgent>>,
    /// The accounts, where there are any.
    pub accounts: Option<AccountApiParts>,
}

/// The parts of a server with accounts.
pub struct AccountApiParts {
    /// The accounts.
    pub accounts: Accounts,
    /// The logs of the server itself, for its audit.
    pub logs: Arc<dyn LogChain>,
    /// The limits on how often somebody may ask.
    pub rates: Arc<RateLimits>,
    /// True if users who are no admins may let scripts reach hosts.
    pub users_grant: bool,
    /// Told when teams changed.
    pub teams: Arc<dyn TeamsChanged>,
}

/// The API.
pub(crate) struct Api {
    pub(crate) parts: ApiParts,
    /// The URL of MCP as clients see it: the audience of access tokens for it.
    pub(crate) mcp_url: String,
    /// The URL of the server as clients see it.
    issuer: String,
    /// Stops the turns of the agent.
    turns: CancellationToken,
    clock: Arc<dyn Clock>,
    identities: IdentityCache,
    idempotency: Arc<Idempotency>,
    /// Bounds the long bodies that are in memory at once.
    uploads: Semaphore,
}

/// Makes the list of endpoints.
macro_rules! endpoints {
    ($($family:ident $(::$inner:ident)+,)+) => {
        fn entries() -> Vec<Entry> {
            let mut entries = Vec::new();
            $(Entry::add::<$family $(::$inner)+>(&mut entries, stringify!($family));)+
            entries
        }
    };
}

endpoints! {
    auth::AuthRegister,
    auth::AuthLogin,
    auth::AuthRefresh,
    auth::AuthLogout,
    user::UserRead,
    user::UserChange,
    user::UserDelete,
    user::PasswordChange,
    token::TokenList,
    token::TokenCreate,
    token::TokenRevoke,
    team::TeamList,
    team::TeamCreate,
    team::TeamRead,
    team::TeamRename,
    team::TeamDelete,
    team_member::TeamInvite,
    team_member::TeamInvitationDelete,
    team_member::TeamJoin,
    team_member::MemberChange,
    team_member::MemberRemove,
    team_skill::TeamSkillShare,
    skill::SkillList,
    skill::SkillCreate,
    skill::SkillRead,
    skill::SkillChange,
    skill::SkillDelete,
    skill::SkillActivate,
    skill::SkillDeactivate,
    skill_file::SkillUpload,
    skill_file::SkillDownload,
    skill_file::FileList,
    skill_file::FileRead,
    skill_file::FileWrite,
    skill_file::FileDelete,
    tool::ToolList,
    tool::ToolCall,
    tool::SkillFind,
    capability::CapabilityRead,
    agent::AgentChat,
    agent::AgentTool,
    agent::task::AgentTask,
    agent::AgentCapabilities,
    agent::session::AgentSessions,
    agent::session::AgentSession,
    agent::session::AgentSessionRemove,
    openai::ChatCompletion,
    openai::ModelList,
    openai::ModelRead,
    connection::ConnectionList,
    connection::ConnectionRead,
    approval::ApprovalRead,
    approval::ApprovalReply,
    approval::ApprovalDelete,
    grant::GrantRead,
    grant::GrantCreate,
    grant::GrantRemove,
    audit::AuditRead,
    audit::ServerAuditRead,
    audit::ServerAuditVerify,
    admin::AccountList,
    admin::AccountCreate,
    admin::AccountRead,
    admin::AccountEnable,
    admin::AccountDisable,
    admin::AccountDelete,
    invite::AccountInvite,
    invite::AccountLink,
    quota::QuotaRead,
    quota::QuotaSet,
    team::ServerTeamList,
    team::ServerTeamDelete,
    team_member::ServerMemberChange,
}

/// An endpoint as data, and its route.
struct Entry {
    family: &'static str,
    name: String,
    method: Method,
    path: String,
    access: Access,
    /// The least role of its callers, where they act for a team.
    team: Option<TeamRole>,
    /// True where a server without accounts has it as well.
    is_local: bool,
    success: Vec<u16>,
    body: RequestBody,
    headers: &'static [&'static str],
    refusals: &'static [Refusal],
    reply: ReplyBody,
    reply_schema: TypeSchema,
    places: Arc<Places>,
    route: fn(MethodRouter<AppState>, Arc<Api>, Arc<Places>) -> MethodRouter<AppState>,
}

impl Entry {
    /// Adds an endpoint, and the same for teams if it has one.
    fn add<E: Endpoint>(entries: &mut Vec<Self>, family: &'static str) {
        entries.push(Self::of::<E>(family));
        if E::TEAM.is_some() {
            entries.push(Self {
                name: format!("team_{}", E::NAME),
                path: team_access::team_path(E::PATH, "{team}"),
                team: E::TEAM,
                places: Arc::new(request::places::<E>().for_team()),
                ..Self::of::<E>(family)
            });
        }
    }

    fn of<E: Endpoint>(family: &'static str) -> Self {
        let success = [Some(E::SUCCESS), E::OTHER_SUCCESS];
        Self {
            family,
            name: E::NAME.to_owned(),
            method: E::METHOD,
            path: E::PATH.to_owned(),
            access: E::ACCESS,
            team: None,
            is_local: E::IS_LOCAL,
            success: success
                .into_iter()
                .flatten()
                .map(|status| status.as_u16())
                .collect(),
            body: E::BODY,
            headers: E::HEADERS,
            refusals: E::REFUSALS,
            reply: E::REPLY,
            reply_schema: schema::of_reply::<E::Reply>(),
            places: Arc::new(request::places::<E>()),
            route: route::<E>,
        }
    }
}

/// Adds an endpoint to the methods of its path.
fn route<E: Endpoint>(
    methods: MethodRouter<AppState>,
    api: Arc<Api>,
    places: Arc<Places>,
) -> MethodRouter<AppState> {
    let filter = match E::METHOD {
        Method::GET => MethodFilter::GET,
        Method::PUT => MethodFilter::PUT,
        Method::DELETE => MethodFilter::DELETE,
        _ => MethodFilter::POST,
    };
    methods.merge(on(
        filter,
        move |State(state): State<AppState>, request: Request| {
            let (api, places) = (Arc::clone(&api), Arc::clone(&places));
            request::answer::<E>(state, api, places, request)
        },
    ))
}

impl Api {
    pub(crate) fn new(parts: ApiParts, clock: Arc<dyn Clock>, turns: CancellationToken) -> Self {
        let accounts = parts.accounts.as_ref();
        let issuer = accounts.map_or("/", |server| &server.accounts.settings().issuer);
        Self {
            mcp_url: format!("{}{MCP_PATH}", issuer.trim_end_matches('/')),
            issuer: issuer.to_owned(),
            turns,
            parts,
            identities: IdentityCache::new(Arc::clone(&clock)),
            clock,
            idempotency: Arc::default(),
            uploads: Semaphore::new(MAX_UPLOADS),
        }
    }

    /// The URL of the server as clients see it: the audience of access tokens for the API.
    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// True with accounts.
    pub(crate) fn has_accounts(&self) -> bool {
        self.parts.accounts.is_some()
    }

    /// The way to a credential, for `WWW-Authenticate` (RFC 6750, RFC 9728).
    pub(crate) fn challenge(&self) -> String {
        let issuer = self.issuer().trim_end_matches('/');
        let scopes = Scopes::usual();
        format!(
            "Bearer resource_metadata=\"{issuer}{RESOURCE_PATH}{MCP_PATH}\", scope=\"{scopes}\""
        )
    }

    /// The metadata of MCP as a protected resource (RFC 9728).
    fn resource(&self) -> Value {
        let scopes: Vec<&str> = Scopes::of_user(true).iter().map(Scope::as_str).collect();
        json!({
            "resource": self.mcp_url,
            "authorization_servers": [self.issuer()],
            "scopes_supported": scopes,
            "bearer_methods_supported": ["header"],
            "resource_name": "gongfu",
        })
    }

    /// The routes.
    pub(crate) fn routes(self: &Arc<Self>) -> Router<AppState> {
        let mut methods: BTreeMap<String, (MethodRouter<AppState>, Vec<String>)> = BTreeMap::new();
        let entries: Vec<Entry> = entries()
            .into_iter()
            .filter(|entry| entry.is_local || self.has_accounts())
            .collect();
        let document = Arc::new(openapi::document(&entries, self.issuer()));
        for entry in entries {
            let (router, allowed) = methods.remove(&entry.path).unwrap_or_default();
            let router = (entry.route)(router, Arc::clone(self), entry.places);
            let mut names = allowed;
            names.push(entry.method.to_string());
            if entry.method == Method::GET {
                names.push("HEAD".to_owned());
            }
            methods.insert(entry.path, (router, names));
        }
        let mut routes = Router::new();
        for (path, (router, allowed)) in methods {
            routes = routes.route(&path, router.fallback(other_method(allowed.join(", "))));
        }
        if !self.has_accounts() {
            return routes.route(OPENAPI_PATH, document_of(&document));
        }
        let resource = Arc::new(self.resource());
        for path in [
            RESOURCE_PATH.to_owned(),
            format!("{RESOURCE_PATH}{MCP_PATH}"),
        ] {
            routes = routes.route(&path, document_of(&resource));
        }
        routes
            .route(OPENAPI_PATH, document_of(&document))
            .merge(page::routes())
    }

    /// Lets only identified callers reach a service.
    pub(crate) fn protect_mcp(
        self: &Arc<Self>,
        routes: Router<AppState>,
        state: &AppState,
    ) -> Router<AppState> {
        let known = (state.clone(), Arc::clone(self));
        routes.route_layer(middleware::from_fn_with_state(known, authenticate_mcp))
    }

    /// Lets only admins reach a service.
    pub(crate) fn protect_admin(
        self: &Arc<Self>,
        routes: Router<AppState>,
        state: &AppState,
    ) -> Router<AppState> {
        let known = (state.clone(), Arc::clone(self));
        routes.route_layer(middleware::from_fn_with_state(known, authenticate_admin))
    }
}

/// A document that everybody may read.
fn document_of(document: &Arc<Value>) -> MethodRouter<AppState> {
    let document = Arc::clone(document);
    let read = move || async move { Json(Value::clone(&document)) };
    get(read).fallback(other_method("GET, HEAD".to_owned()))
}

/// Refuses a method that a path doesn't have.
fn other_method(
    allowed: String,
) -> impl Fn(State<AppState>) -> std::future::Ready<axum::response::Response>
+ Clone
+ Send
+ Sync
+ 'static {
    move |State(state): State<AppState>| {
        let problem = Problem::MethodWrong(allowed.clone().into());
        std::future::ready(state.problem(problem).into_response())
    }
}

/// The path of an endpoint as a label, for metrics.
pub(crate) fn label(matched: &str) -> Option<&'static str> {
    static PATHS: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    let paths = PATHS.get_or_init(|| {
        let endpoints = entries().into_iter().map(|entry| entry.path);
        endpoints
            .chain([OPENAPI_PATH, RESOURCE_PATH, page::PATH].map(str::to_owned))
            .collect()
    });
    let mut paths = paths.iter().map(String::as_str);
    paths.find(|path| *path == matched)
}
