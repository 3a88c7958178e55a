//! The tools, prompts and resources that the official conformance suite asks a server for.
//!
//! They stand in front of the product's own server, which answers everything else: so the suite tests
//! the product's server and wire. Knows nothing of skills and of the product's tools.
#![expect(
    deprecated,
    reason = "subscribing and the log level are of the older revisions, and the suite asks for them"
)]

mod prompt;
mod resource;
mod round;
mod tool;

use std::sync::Arc;

use gongfu_mcp::Server;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, DiscoverResult, ErrorData, GetPromptRequestParams, GetPromptResponse,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, PromptsCapability,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ResourcesCapability,
    ServerCapabilities, ServerConfig, SetLevelRequestMethod, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, ToolsCapability, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Map, Value};
use tokio::sync::watch;

/// Counts the changes of the lists that a client triggered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Changes {
    tools: u64,
    prompts: u64,
}

/// The product's server with the fixtures of the conformance suite in its lists.
pub(crate) struct Fixtures {
    server: Server,
    /// Watched by each subscription; a change by one client reaches the others.
    changes: Arc<watch::Sender<Changes>>,
    /// The least severe log message that a client of the older revisions wants.
    level: watch::Sender<tool::Level>,
}

impl Fixtures {
    /// The fixtures in front of this server.
    pub(crate) fn new(server: Server) -> Self {
        Self {
            server,
            changes: Arc::default(),
            level: watch::Sender::default(),
        }
    }

    /// The same for one more connection or request.
    #[must_use]
    pub(crate) fn connection(&self) -> Self {
        Self {
            server: self.server.connection(),
            changes: Arc::clone(&self.changes),
            level: watch::Sender::default(),
        }
    }
}

/// Adds the capabilities of the fixtures to those of the product.
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

/// True when a request is for the first page of a list, where the fixtures are.
fn first_page(request: Option<&PaginatedRequestParams>) -> bool {
    request.is_none_or(|page| page.cursor.is_none())
}

/// True when the client speaks a revision with a handshake and sessions.
fn older_era(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_none_or(|version| version.as_str() < ProtocolVersion::V_2026_07_28.as_str())
}

/// The members of a JSON object, or no members.
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
        tool::find(name, *self.changes.borrow())
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
        // Nothing to remember: the fixtures never change.
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
        let notify = async {
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
            result = self.server.listen(context) => result,
            () = notify => Ok(()),
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        self.server.on_custom_request(request, context).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.server.on_initialized(context).await;
    }
}
