//! The server itself: what it declares and how it answers.

use std::sync::Arc;
use std::time::Duration;

use gongfu_core::account::{Actor, Role};
use gongfu_core::library::Revision;
use gongfu_hub::{Catalog, ErrorCode, Problem, Profile};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, DiscoverResult, ErrorData, GetPromptRequestParams, GetPromptResponse,
    GetSkillRequestParams, GetSkillResult, Implementation, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListSkillsResult, ListToolsResult, PaginatedRequestParams, ReadResourceDirectoryRequestParams,
    ReadResourceDirectoryResult, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{
    NotificationContext, RequestContext, RoleServer, ServerInitializeError, SubscriptionContext,
};
use rmcp::{ServerHandler, ServiceExt as _};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::input::{End, Input};
use crate::wire;

mod capability;
mod change;
mod operation;
mod prompt;
mod resource;
mod skill;

use change::Subscribed;

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
    telling: Arc<Mutex<JoinSet<()>>>,
    /// The files that a client of the older revisions wants to hear of.
    subscribed: Arc<Mutex<Subscribed>>,
    /// The end of the client's input.
    end: End,
}

impl Server {
    /// A server of this catalog.
    pub fn new(catalog: Arc<Catalog>, settings: Settings) -> Self {
        Self {
            catalog,
            settings: Arc::new(settings),
            telling: Arc::default(),
            subscribed: Arc::default(),
            end: End::default(),
        }
    }

    /// What the skills are, for the model of the client; a library that is still being read for the
    /// first time is not waited for longer than a client waits for an answer.
    async fn instructions(&self, actor: &Actor) -> String {
        let (catalog, settings) = (Arc::clone(&self.catalog), Arc::clone(&self.settings));
        let actor = actor.clone();
        let mut writing = JoinSet::new();
        writing.spawn(async move {
            let budget = settings.catalogue;
            catalog
                .instructions(&settings.profiles, &actor, budget)
                .await
        });
        let written = tokio::time::timeout(PATIENCE, writing.join_next()).await;
        match written {
            Ok(Some(Ok(text))) => text,
            _ => Catalog::introduction(&self.settings.profiles),
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
        let itself = Implementation::new("gongfu", self.settings.version.clone())
            .with_title("gongfu: practised skill");
        ServerConfig::new(capability::all()).with_server_info(itself)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        result.instructions = Some(self.instructions(&Self::actor(&context)).await);
        Ok(result)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = DiscoverResult::from_server_info(versions, self.get_info());
        result.instructions = Some(self.instructions(&Self::actor(&context)).await);
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
                if !server.tell_peer(&peer, &actor).await {
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
        Some(change::acceptable(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let actor = Self::actor(context.request_context());
        let mut known = None;
        let mut subscribed = self.subscribed_by(&context, &actor).await;
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.end.reached() => return Ok(()),
                more = self.change(&actor, &mut known) => {
                    if !more || !self.tell_listener(&context, &mut subscribed, &actor).await {
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
        let specs = self.catalog.list(&self.settings.profiles, &actor).await;
        Ok(ListToolsResult::with_all_items(
            specs.into_iter().map(wire::tool).collect(),
        ))
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        skill::list(self, request, &context).await
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        skill::get(self, request, &context).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        resource::list(self, request, &context).await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resource::templates(&context))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resource::read(self, request, &context).await
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        resource::read_directory(self, request, &context).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        resource::subscribe(self, request, &context).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed.lock().await.remove(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        prompt::list(self, request, &context).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompt::get(self, request, &context).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        prompt::complete(self, request, &context).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        Err(if ANSWERED.contains(&method.as_str()) {
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
        let actor = Self::actor(&context);
        let (catalog, settings) = (Arc::clone(&self.catalog), Arc::clone(&self.settings));
        // A task of its own, so that a fault in a tool ends the call and not the server; the set
        // ends the task when this call is cancelled.
        let mut running = JoinSet::new();
        running.spawn(async move {
            let arguments = request.arguments.unwrap_or_default();
            catalog
                .call(&settings.profiles, &request.name, arguments, &actor)
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

/// The requests that this server answers: one of these that arrives as an unknown request has
/// parameters of the wrong form.
const ANSWERED: [&str; 17] = [
    "completion/complete",
    "initialize",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/directory/read",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "server/discover",
    "skills/get",
    "skills/list",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

/// Why serving ended with an error.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The client went away, or said something else, before the session began.
    #[error("the session did not begin: {0}")]
    Start(String),
    /// The server's own task failed.
    #[error("the server stopped: {0}")]
    Stopped(String),
}

/// Serves one client on standard input and output until the client closes them.
///
/// Calls that are still running then have a short while to end.
///
/// # Errors
/// The session did not begin, or the server stopped by a fault of its own.
pub async fn serve_stdio(server: Server) -> Result<(), StdioError> {
    let telling = Arc::clone(&server.telling);
    let end = server.end.clone();
    let (input, output) = rmcp::transport::io::stdio_pipes();
    let transport = (Input::new(input, end.clone()), output);
    let running = match server.serve(transport).await {
        Ok(running) => running,
        // A client that closes at once asked for nothing: that is no fault.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {
            let text =
                "the client's first message was neither `initialize` nor a request of 2026-07-28";
            return Err(StdioError::Start(text.to_owned()));
        }
        Err(error) => return Err(StdioError::Start(error.to_string())),
    };
    let ended = tokio::select! {
        ended = running.waiting() => ended.map(|_| ()),
        () = end.quiet() => Ok(()),
    };
    telling.lock().await.abort_all();
    ended.map_err(|error| StdioError::Stopped(error.to_string()))
}
