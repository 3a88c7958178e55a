//! The server itself: what it declares and how it answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gongfu_core::connection::{UI_EXTENSION, is_for_ui_alone};
use gongfu_core::set::SetChoice;
use gongfu_hub::{Catalog, InstructionRoom, KnownTools, Profile};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetSkillRequestParams, GetSkillResult, GetTaskParams, GetTaskResult,
    Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceDirectoryRequestParams,
    ReadResourceDirectoryResult, ReadResourceRequestParams, ReadResourceResponse,
    RequestStateCodec, ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::task_manager::TaskManager;
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::client_limits::ClientLimits;
use crate::http::{HttpEndpoint, HttpSettings};
use crate::message::params;
use crate::visible::shown;
use crate::wire;

mod approval;
mod call;
mod caller;
mod capability;
mod change;
mod content;
mod operation;
mod person;
mod progress;
mod prompt;
mod question;
mod resource;
mod roots;
mod skill;

use caller::TaskOwners;
use change::{LastState, SubscribedFiles};
use question::WaitingCalls;
use roots::Roots;

pub use roots::AdoptRoots;

/// The settings of a server.
#[derive(Clone)]
pub struct Settings {
    /// The profiles whose tools it shows.
    pub profiles: Vec<Profile>,
    /// The set that its clients work with where their requests name none; `None` for everything.
    pub set: Option<SetChoice>,
    /// The characters that the catalogue of skills in its instructions takes.
    pub catalogue: usize,
    /// The version that it tells its clients.
    pub version: String,
    /// Makes a request a part of the trace that its `_meta` names (SEP-414), if that is of
    /// interest.
    pub adopt: Option<Adopt>,
    /// Runs what may take a processor or wait for a disk, beside the runtime that moves messages; without it, that
    /// does.
    pub work: Option<Handle>,
    /// Takes the folders that a client says it works in, where the server has no project of its own.
    pub roots: Option<AdoptRoots>,
}

/// Makes a span part of the trace that a request brings, in the members that the function finds.
pub type Adopt = fn(&tracing::Span, &dyn Fn(&str) -> Option<String>);

/// An MCP server over a catalog.
#[derive(Clone)]
pub struct Server {
    catalog: Arc<Catalog>,
    settings: Arc<Settings>,
    /// The task that notifies the client of changes; it ends with the connection.
    pub(crate) telling: Arc<Mutex<JoinSet<()>>>,
    /// True once the client got tools whose descriptions lack the library.
    said_less: Arc<AtomicBool>,
    /// The files that a client of the older revisions wants to hear of.
    subscribed: Arc<Mutex<SubscribedFiles>>,
    /// The end of the client's input.
    pub(crate) end: CancellationToken,
    /// The calls that run for clients that come back for them.
    tasks: TaskManager,
    task_owners: Arc<TaskOwners>,
    /// The calls whose clients were asked a question of another server.
    waiting: Arc<WaitingCalls>,
    /// The codec that seals states that clients keep for the next round.
    codec: Option<RequestStateCodec>,
    /// The roots of the client.
    roots: Roots,
    /// The connection, for answers that end with it; `None` where the system has no random numbers.
    session: Option<Arc<str>>,
    /// The tools of other servers that the client has had to do with.
    known: Arc<KnownTools>,
}

impl Server {
    /// A server of this catalog.
    pub fn new(catalog: Arc<Catalog>, settings: Settings) -> Self {
        Self {
            catalog,
            roots: Roots::new(settings.roots.clone()),
            settings: Arc::new(settings),
            telling: Arc::default(),
            said_less: Arc::default(),
            subscribed: Arc::default(),
            end: CancellationToken::new(),
            tasks: TaskManager::new(),
            task_owners: Arc::default(),
            waiting: Arc::default(),
            codec: approval::codec(),
            session: caller::new_session(),
            known: Arc::default(),
        }
    }

    /// The server on one address, over HTTP.
    ///
    /// Must be called within a runtime: a task of the endpoint closes expired sessions.
    pub fn endpoint(self, settings: HttpSettings) -> HttpEndpoint {
        HttpEndpoint::new(move || self.connection(), settings)
    }

    /// The same server for one more connection or request, with nothing of another's.
    #[must_use]
    pub fn connection(&self) -> Self {
        Self {
            catalog: Arc::clone(&self.catalog),
            settings: Arc::clone(&self.settings),
            telling: Arc::default(),
            said_less: Arc::default(),
            subscribed: Arc::default(),
            end: CancellationToken::new(),
            tasks: self.tasks.clone(),
            task_owners: Arc::clone(&self.task_owners),
            waiting: Arc::clone(&self.waiting),
            codec: self.codec.clone(),
            roots: self.roots.connection(),
            session: caller::new_session(),
            known: Arc::default(),
        }
    }

    /// Returns the instructions for the model of the client; a library that is still being read for the
    /// first time is not waited for longer than a client waits for an answer.
    async fn instructions(&self, context: &RequestContext<RoleServer>) -> String {
        let catalog = Arc::clone(&self.catalog);
        let limits = ClientLimits::of(context.client_info().as_ref());
        let room = InstructionRoom {
            catalogue: self.settings.catalogue,
            total: limits.instructions,
        };
        let (profiles, actor) = (self.profiles(context), self.actor(context));
        let introduction = Catalog::introduction(&profiles);
        let writing = async move { catalog.instructions(&profiles, &actor, room).await };
        self.in_time(limits.wait, writing)
            .await
            .unwrap_or(introduction)
    }

    /// Returns the tools for the model of the client. Those whose description depends on a library that is still being
    /// read say less; the client is told when there is more.
    async fn tools(&self, context: &RequestContext<RoleServer>) -> Vec<Tool> {
        let limits = ClientLimits::of(context.client_info().as_ref());
        let (profiles, actor) = (self.profiles(context), self.actor(context));
        let listing = {
            let (catalog, profiles) = (Arc::clone(&self.catalog), profiles.clone());
            let (actor, known) = (actor.clone(), Arc::clone(&self.known));
            async move { catalog.list(&profiles, &actor, Some(&known)).await }
        };
        let specs = if let Some(specs) = self.in_time(limits.wait, listing).await {
            specs
        } else {
            self.said_less.store(true, Ordering::Relaxed);
            self.catalog
                .list_without_library(&profiles, &actor, Some(&self.known))
        };
        let has_ui = context.client_capabilities().is_some_and(|client| {
            let mut extensions = client.extensions.iter().flatten();
            extensions.any(|(name, _)| name == UI_EXTENSION)
        });
        let specs = specs.into_iter();
        let specs = specs.filter(|spec| has_ui || !is_for_ui_alone(&spec.ui));
        specs.map(|spec| wire::tool(spec, limits)).collect()
    }

    /// Waits for work that needs the library; `None` when it takes longer.
    async fn in_time<T: Send + 'static>(
        &self,
        wait: Duration,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        // On a task of its own: reading the library blocks the one that it is on.
        let mut working = JoinSet::new();
        self.spawn(&mut working, work);
        let done = tokio::time::timeout(wait, working.join_next()).await;
        done.ok()??.ok()
    }

    /// Starts a task that may take a processor, or wait for a disk.
    fn spawn<T: Send + 'static>(
        &self,
        tasks: &mut JoinSet<T>,
        work: impl Future<Output = T> + Send + 'static,
    ) {
        match &self.settings.work {
            Some(runtime) => tasks.spawn_on(work, runtime),
            None => tasks.spawn(work),
        };
    }

    /// The span of a request, named as the conventions for MCP want it.
    fn span(
        &self,
        context: &RequestContext<RoleServer>,
        method: &str,
        target: &str,
    ) -> tracing::Span {
        let span = tracing::info_span!(
            "mcp",
            otel.name = format_args!("{method} {target}"),
            otel.kind = "server",
            mcp.method.name = method,
            gen_ai.tool.name = target,
            jsonrpc.request.id = %context.id,
        );
        if let Some(adopt) = self.settings.adopt
            && context.meta.contains_key("traceparent")
        {
            adopt(&span, &|name| {
                let value = context.meta.get(name)?.as_str()?;
                Some(value.to_owned())
            });
        }
        span
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let itself = Implementation::new("gongfu", self.settings.version.clone())
            .with_title("gongfu: Agent Skills");
        ServerConfig::new(capability::all()).with_server_info(itself)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        self.roots.expect(has_roots(&request));
        result.instructions = Some(self.instructions(&context).await);
        shown(Ok(result))
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = DiscoverResult::from_server_info(versions, self.get_info());
        result.instructions = Some(self.instructions(&context).await);
        shown(Ok(result))
    }

    /// A client of the older revisions is told of changes without asking for it.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.roots.is_expected() {
            self.roots.ask(&context.peer).await;
        }
        let mut actor = self.listener(&context);
        let (mut server, peer, extensions) = (self.clone(), context.peer, context.extensions);
        // A task that held its own set would outlive the connection.
        server.telling = Arc::default();
        let mut telling = self.telling.lock().await;
        telling.abort_all();
        self.spawn(&mut telling, async move {
            let mut seen = LastState::by(&server);
            while let Some(changed) = server.change(&actor, &mut seen).await {
                actor.permissions.set = server.set(&extensions);
                if !server.tell_peer(&peer, changed, &actor).await {
                    return;
                }
            }
        });
    }

    /// A client that has other roots is asked again.
    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.roots.ask(&context.peer).await;
    }

    /// A client of 2026-07-28 is told when it asks for it.
    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(change::acceptable(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut actor = self.actor(context.request_context());
        let mut seen = LastState::by(self);
        let mut subscribed = self.subscribed_by(&context, &actor).await;
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.end.cancelled() => return Ok(()),
                changed = self.change(&actor, &mut seen) => {
                    let Some(changed) = changed else { return Ok(()) };
                    actor.permissions.set = self.set(&context.request_context().extensions);
                    if !self.tell_listener(&context, changed, &mut subscribed, &actor).await {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        operation::whole("tools/list", request)?;
        let tools = self.tools(&context).await;
        shown(Ok(ListToolsResult::with_all_items(tools)))
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        shown(skill::list(self, request, &context).await)
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        shown(skill::get(self, request, &context).await)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        shown(resource::list(self, request, &context).await)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        shown(resource::templates(self, request, &context).await)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        // Exactly the file: its digest is told.
        resource::read(self, request, &context).await
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        shown(resource::read_directory(self, request, &context).await)
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
        shown(prompt::list(self, request, &context).await)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        shown(prompt::get(self, request, &context).await)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        shown(prompt::complete(self, request, &context).await)
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
            let text = params::wrong(&method, request.params.as_ref());
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
        self.roots.settled().await;
        shown(call::tool(self, request, context).await)
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.task_owners.check(&request.task_id, &context)?;
        self.tasks
            .get_task(&request.task_id)
            .map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.task_owners.check(&request.task_id, &context)?;
        self.tasks
            .update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.task_owners.check(&request.task_id, &context)?;
        self.tasks.cancel_task(&request.task_id)
    }
}

/// Returns whether a client says that it has roots.
fn has_roots(request: &InitializeRequestParams) -> bool {
    request.capabilities.roots.is_some()
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

#[cfg(test)]
mod tests;
