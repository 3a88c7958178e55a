//! The server itself: what it declares and how it answers.

use std::sync::Arc;
use std::time::Duration;

use gongfu_core::account::{Actor, Role};
use gongfu_core::library::Revision;
use gongfu_hub::{Catalog, ErrorCode, Problem, Profile};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, DiscoverResult,
    ErrorData, Implementation, InitializeRequestParams, InitializeResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::end::End;
use crate::http::Asked;
use crate::wire;

/// The longest text that a client may call itself in the audit, in characters.
const MAX_CLIENT: usize = 200;
/// How long the first answer waits for the library.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a server is told at its start.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which tools it shows.
    pub profiles: Vec<Profile>,
    /// How many characters the catalogue of skills in its instructions takes.
    pub catalogue: usize,
    /// The version that it tells its clients.
    pub version: String,
}

/// An MCP server over a catalog.
#[derive(Clone)]
pub struct Server {
    catalog: Arc<Catalog>,
    settings: Arc<Settings>,
    /// What tells the client of changes; it ends with the connection.
    pub(crate) telling: Arc<Mutex<JoinSet<()>>>,
    /// The end of the client's input.
    pub(crate) end: End,
}

impl Server {
    /// A server of this catalog.
    pub fn new(catalog: Arc<Catalog>, settings: Settings) -> Self {
        Self {
            catalog,
            settings: Arc::new(settings),
            telling: Arc::default(),
            end: End::default(),
        }
    }

    /// The same server for one more connection or request, with nothing of another's.
    #[must_use]
    pub fn connection(&self) -> Self {
        Self {
            catalog: Arc::clone(&self.catalog),
            settings: Arc::clone(&self.settings),
            telling: Arc::default(),
            end: End::default(),
        }
    }

    /// The profiles that a request sees: those that its address asks for, else the server's.
    fn profiles(&self, context: &RequestContext<RoleServer>) -> Vec<Profile> {
        let parts = context.extensions.get::<http::request::Parts>();
        let asked = parts.and_then(|parts| parts.extensions.get::<Asked>());
        asked.map_or_else(|| self.settings.profiles.clone(), |asked| asked.0.clone())
    }

    /// What the skills are, for the model of the client; a library that is still being read for the
    /// first time is not waited for longer than a client waits for an answer.
    async fn instructions(&self, context: &RequestContext<RoleServer>) -> String {
        let (catalog, budget) = (Arc::clone(&self.catalog), self.settings.catalogue);
        let (profiles, actor) = (self.profiles(context), Self::actor(context));
        let introduction = Catalog::introduction(&profiles);
        let mut writing = JoinSet::new();
        writing.spawn(async move { catalog.instructions(&profiles, &actor, budget).await });
        let written = tokio::time::timeout(PATIENCE, writing.join_next()).await;
        match written {
            Ok(Some(Ok(text))) => text,
            _ => introduction,
        }
    }

    /// Waits for a change of the library; answers whether there will be more.
    ///
    /// Its first reading is none: who comes later knows it as it is then.
    async fn change(&self, actor: &Actor, known: &mut Option<Revision>) -> bool {
        let before = match known {
            Some(before) => *before,
            None => match self.catalog.changed(actor, Revision::default()).await {
                Ok(first) => first,
                Err(_) => return false,
            },
        };
        let after = self.catalog.changed(actor, before).await;
        *known = after.as_ref().ok().copied();
        after.is_ok()
    }

    /// Who calls: on a local transport, a program that the person started.
    fn actor(context: &RequestContext<RoleServer>) -> Actor {
        let client = context.client_info().map_or_else(
            || "unknown".to_owned(),
            |client| format!("{} {}", client.name, client.version),
        );
        Actor::local(
            Role::ExternalAgent,
            client.chars().take(MAX_CLIENT).collect::<String>(),
        )
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let itself = Implementation::new("gongfu", self.settings.version.clone())
            .with_title("gongfu: practised skill");
        ServerConfig::new(capabilities).with_server_info(itself)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        result.instructions = Some(self.instructions(&context).await);
        Ok(result)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = DiscoverResult::from_server_info(versions, self.get_info());
        result.instructions = Some(self.instructions(&context).await);
        Ok(result)
    }

    /// A client of the older revisions is told of changes without asking for it.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (server, peer) = (self.clone(), context.peer);
        let mut telling = self.telling.lock().await;
        telling.abort_all();
        telling.spawn(async move {
            let actor = Actor::local(Role::ExternalAgent, "");
            let mut known = None;
            while server.change(&actor, &mut known).await {
                if peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        });
    }

    /// A client of 2026-07-28 is told when it asks for it.
    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let actor = Self::actor(context.request_context());
        let mut known = None;
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.end.reached() => return Ok(()),
                more = self.change(&actor, &mut known) => {
                    if !more || context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let actor = Self::actor(&context);
        let specs = self.catalog.list(&self.profiles(&context), &actor).await;
        Ok(ListToolsResult::with_all_items(
            specs.into_iter().map(wire::tool).collect(),
        ))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        let version = context.protocol_version();
        let stateless = version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        let gone = stateless && OF_SESSIONS.contains(&method.as_str());
        Err(if ANSWERED.contains(&method.as_str()) && !gone {
            let text = format!("the parameters of {method} are not as the protocol wants them");
            ErrorData::invalid_params(text, None)
        } else {
            let text = format!("there is no method {method}");
            ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, text, None)
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (actor, profiles) = (Self::actor(&context), self.profiles(&context));
        let catalog = Arc::clone(&self.catalog);
        // A task of its own, so that a fault in a tool ends the call and not the server; the set
        // ends the task when this call is cancelled.
        let mut running = JoinSet::new();
        running.spawn(async move {
            let arguments = request.arguments.unwrap_or_default();
            catalog
                .call(&profiles, &request.name, arguments, &actor)
                .await
        });
        let outcome = match running.join_next().await {
            Some(Ok(outcome)) => outcome,
            _ => Err(Problem::Fault {
                reason: "the tool ended without an answer".to_owned(),
            }
            .error()),
        };
        self.end.answered();
        match outcome {
            Ok(result) => Ok(wire::result(result).into()),
            Err(error) if error.code() == ErrorCode::ToolNotFound => {
                Err(wire::unknown_tool(&error))
            }
            Err(error) => Ok(wire::failure(error).into()),
        }
    }
}

/// The requests that 2026-07-28 took out, with the sessions that they were about.
const OF_SESSIONS: [&str; 5] = [
    "initialize",
    "logging/setLevel",
    "ping",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// The requests that this server answers: one of these that arrives as an unknown request has
/// parameters of the wrong form.
const ANSWERED: [&str; 6] = [
    "initialize",
    "ping",
    "server/discover",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];
