//! What the official conformance suite asks of a server, put in front of the product's own.
//!
//! Compiled only with the feature `fixtures`, for tests. Knows nothing of skills and tools: what it
//! doesn't answer by itself is the product's, so that the suite tests the product's server and wire.
#![expect(
    deprecated,
    reason = "subscribing and the log level are of the older revisions, and the suite asks for them"
)]

mod prompt;
mod resource;
mod round;
mod tool;

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam,
    CompleteRequestParams, CompleteResult, CustomNotification, CustomRequest, CustomResult,
    DiscoverResult, ErrorData, GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams,
    GetSkillResult, GetTaskParams, GetTaskResult, InitializeRequestParams, InitializeResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, PromptsCapability,
    ProtocolVersion, ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult,
    ReadResourceRequestParams, ReadResourceResponse, ResourcesCapability, ServerCapabilities,
    ServerConfig, SetLevelRequestMethod, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, Tool, ToolsCapability, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::Server;

/// How often the lists were changed on demand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Changes {
    tools: u64,
    prompts: u64,
}

/// The product's server with the fixtures of the conformance suite in its lists.
pub struct Fixtures {
    server: Server,
    /// Each subscription watches it; one client changes what another listens to.
    changes: Arc<watch::Sender<Changes>>,
    /// The least severe log message that a client of the older revisions wants.
    level: watch::Sender<tool::Level>,
}

impl Fixtures {
    /// The fixtures in front of this server.
    pub fn new(server: Server) -> Self {
        Self {
            server,
            changes: Arc::default(),
            level: watch::Sender::default(),
        }
    }

    /// The same for one more connection or request.
    #[must_use]
    pub fn connection(&self) -> Self {
        Self {
            server: self.server.connection(),
            changes: Arc::clone(&self.changes),
            level: watch::Sender::default(),
        }
    }
}

/// Adds what the fixtures need to what the product can do.
fn with_fixtures(mut capabilities: ServerCapabilities) -> ServerCapabilities {
    let tools = capabilities
        .tools
        .get_or_insert_with(ToolsCapability::default);
    tools.list_changed = Some(true);
    let prompts = capabilities
        .prompts
        .get_or_insert_with(PromptsCapability::default);
    prompts.list_changed = Some(true);
    let resources = capabilities
        .resources
        .get_or_insert_with(ResourcesCapability::default);
    resources.subscribe = Some(true);
    capabilities.completions.get_or_insert_default();
    capabilities.logging.get_or_insert_default();
    capabilities
}

/// Whether an answer of a paged list is its first page, where the fixtures are.
fn first_page(request: Option<&PaginatedRequestParams>) -> bool {
    request.is_none_or(|page| page.cursor.is_none())
}

/// Whether the client speaks a revision with a handshake and sessions.
fn older_era(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_none_or(|version| version.as_str() < ProtocolVersion::V_2026_07_28.as_str())
}

/// The members of a JSON object; of anything else none.
fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.server.get_info();
        info.capabilities = with_fixtures(info.capabilities);
        info
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.server.supported_protocol_versions()
    }

    async fn ping(&self, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.server.ping(context).await
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.server.initialize(request, context).await?;
        result.capabilities = with_fixtures(result.capabilities);
        Ok(result)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let mut result = self.server.discover(context).await?;
        result.capabilities = with_fixtures(result.capabilities);
        Ok(result)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let first = first_page(request.as_ref());
        let mut result = self.server.list_tools(request, context).await?;
        if first {
            result.tools.extend(tool::list(*self.changes.borrow()));
        }
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tool::find(name, *self.changes.borrow()).or_else(|| self.server.get_tool(name))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if round::is_one(&request.name) {
            round::call(&request, &context)
        } else if tool::is_one(&request.name) {
            tool::call(self, request, &context).await
        } else {
            self.server.call_tool(request, context).await
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let first = first_page(request.as_ref());
        let mut result = self.server.list_prompts(request, context).await?;
        if first {
            result.prompts.extend(prompt::list(*self.changes.borrow()));
        }
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        match prompt::get(&request, &context) {
            Some(answer) => answer,
            None => self.server.get_prompt(request, context).await,
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let first = first_page(request.as_ref());
        let mut result = self.server.list_resources(request, context).await?;
        if first {
            result.resources.extend(resource::list());
        }
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let first = first_page(request.as_ref());
        let mut result = self
            .server
            .list_resource_templates(request, context)
            .await?;
        if first {
            result.resource_templates.extend(resource::templates());
        }
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match resource::read(&request.uri) {
            Some(result) => Ok(result.into()),
            None => self.server.read_resource(request, context).await,
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        match prompt::complete(&request) {
            Some(result) => Ok(result),
            None => self.server.complete(request, context).await,
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Nothing to remember: what never changes is never told of.
        if resource::read(&request.uri).is_some() {
            return Ok(());
        }
        self.server.subscribe(request, context).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if resource::read(&request.uri).is_some() {
            return Ok(());
        }
        self.server.unsubscribe(request, context).await
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // 2026-07-28 took the method away.
        if !older_era(&context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        self.level.send_replace(tool::Level::from(request.level));
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let product = self
            .server
            .accepted_subscription_filter(requested)
            .unwrap_or_default();
        let mut all = requested.clone();
        all.resources_list_changed = product.resources_list_changed;
        all.resource_subscriptions = product.resource_subscriptions;
        Some(all)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let sink = context.sink().clone();
        let accepted = sink.accepted().clone();
        let mut changes = self.changes.subscribe();
        let mut known = *changes.borrow_and_update();
        let telling = async {
            while changes.changed().await.is_ok() {
                let now = *changes.borrow_and_update();
                if now.tools != known.tools && accepted.tools_list_changed == Some(true) {
                    let _ = sink.notify_tool_list_changed().await;
                }
                if now.prompts != known.prompts && accepted.prompts_list_changed == Some(true) {
                    let _ = sink.notify_prompt_list_changed().await;
                }
                known = now;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            ended = self.server.listen(context) => ended,
            () = telling => Ok(()),
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        self.server.on_custom_request(request, context).await
    }

    async fn on_cancelled(
        &self,
        notification: CancelledNotificationParam,
        context: NotificationContext<RoleServer>,
    ) {
        self.server.on_cancelled(notification, context).await;
    }

    async fn on_progress(
        &self,
        notification: ProgressNotificationParam,
        context: NotificationContext<RoleServer>,
    ) {
        self.server.on_progress(notification, context).await;
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.server.on_initialized(context).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.server.on_roots_list_changed(context).await;
    }

    async fn on_custom_notification(
        &self,
        notification: CustomNotification,
        context: NotificationContext<RoleServer>,
    ) {
        self.server
            .on_custom_notification(notification, context)
            .await;
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.server.get_task(request, context).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.server.update_task(request, context).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.server.cancel_task(request, context).await
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        self.server.list_skills(request, context).await
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        self.server.get_skill(request, context).await
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        self.server.read_resource_directory(request, context).await
    }
}
