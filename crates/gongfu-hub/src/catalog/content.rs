//! Prompts and resources of other servers, for clients.

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::capability::{Access, Origin, Safety};
use gongfu_core::connection::permission;
use gongfu_core::port::{ServerContents, ServerMethod, ServerReply, ServerRequest};
use gongfu_core::trace::TraceContext;
use serde_json::{Map, Value};

use super::call::NeverAsks;
use super::{Catalog, is_permitted};
use crate::call::{Call, Events};
use crate::error::ToolError;
use crate::foreign::content::{self, ContentEntry, ContentRequest, ResourceKind, ServerTarget};
use crate::foreign::refusal;
use crate::problem::Problem;
use crate::profile::{self, Profile};
use crate::surface::page::{self, Page};
use crate::tool::ToolSpec;

/// A list of what other servers have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentList {
    /// Their prompts.
    Prompts,
    /// Their resources.
    Resources,
    /// Their templates of resources.
    Templates,
}

impl ContentList {
    /// The name of the list in its cursors.
    fn name(self) -> &'static str {
        match self {
            Self::Prompts => "prompts/list of servers",
            Self::Resources => "resources/list of servers",
            Self::Templates => "resources/templates/list of servers",
        }
    }

    /// Returns true if a cursor leads through this list.
    pub fn has_cursor(self, cursor: Option<&str>) -> bool {
        cursor.is_some() && page::behind(self.name(), cursor).is_ok()
    }
}

impl Catalog {
    /// A page of what other servers have, in the names that it has here: prompts as `<server>__<prompt>`, resources by the
    /// URIs of their servers. Starts nothing.
    ///
    /// # Errors
    /// The cursor belongs to another list, or the caller's space can't be opened.
    pub async fn server_content(
        &self,
        list: ContentList,
        profiles: &[Profile],
        actor: &Actor,
        cursor: Option<&str>,
    ) -> Result<Page<ContentEntry>, ToolError> {
        let after = page::behind(list.name(), cursor)?;
        let all = self.contents(profiles, actor).await?;
        let entries = match list {
            ContentList::Prompts => content::prompts(&all),
            ContentList::Resources => content::resources(&all, ResourceKind::Resource),
            ContentList::Templates => content::resources(&all, ResourceKind::Template),
        };
        let entries = entries.iter();
        let rest = entries.filter(|(key, _)| after.as_ref().is_none_or(|after| *key > after));
        Ok(Page::fill(
            list.name(),
            rest,
            |(key, _)| key,
            |(_, entry)| {
                let bytes = serde_json::to_vec(entry).map_or(0, |bytes| bytes.len());
                Some(((*entry).clone(), bytes))
            },
        ))
    }

    /// Asks the server that has it for a prompt or a resource; `None` where no server has it. Answers the result as MCP
    /// writes it.
    ///
    /// # Errors
    /// A stage of the gate refuses, or the server does, or it gives no answer.
    pub async fn ask_server(
        &self,
        request: &ContentRequest,
        profiles: &[Profile],
        actor: &Actor,
        trace: Option<TraceContext>,
    ) -> Result<Option<Value>, ToolError> {
        let all = self.contents(profiles, actor).await?;
        let Some(ServerTarget {
            server,
            method,
            params,
        }) = request.find(&all)
        else {
            return Ok(None);
        };
        let spec = spec(server, method);
        let mut call = self.direct(&spec, params, actor, Events::default()).await?;
        call.trace = self.trace_of(&spec, trace);
        let run = |call: Call| async move { ask(server, method, &call).await };
        let result = self.gate.pass(call, &spec, &NeverAsks, run).await?;
        Ok(Some(result))
    }

    /// The prompts and resources that a caller may have.
    async fn contents(
        &self,
        profiles: &[Profile],
        actor: &Actor,
    ) -> Result<Vec<ServerContents>, ToolError> {
        if !profile::shows_foreign(profiles) {
            return Ok(Vec::new());
        }
        let space = self.open(actor).await?;
        let mut all = space
            .servers()
            .contents()
            .await
            .map_err(|error| Problem::broken("the connections", &error).error())?;
        all.retain(|server| is_permitted(&spec(server, ServerMethod::Complete), actor));
        Ok(all)
    }
}

/// A request to a server, for the gate.
fn spec(server: &ServerContents, method: ServerMethod) -> ToolSpec {
    let connection = &server.connection;
    ToolSpec {
        name: method.name().into(),
        title: method.name().into(),
        description: String::new(),
        input_schema: Arc::default(),
        output_schema: None,
        access: Access::Execute,
        destructive: false,
        safety: match method {
            // It helps a person to write an argument.
            ServerMethod::Complete => Safety::Low,
            ServerMethod::GetPrompt | ServerMethod::ReadResource => server.safety,
        },
        says_read_only: true,
        person_only: false,
        ui: Map::new(),
        origin: Origin::Server(connection.to_string()),
        permission: permission(connection, method.name()).into(),
        definition: None,
        target: Some(server.target),
    }
}

async fn ask(
    server: &ServerContents,
    method: ServerMethod,
    call: &Call,
) -> Result<Value, ToolError> {
    let connection = &server.connection;
    let mut params = (*call.arguments).clone();
    if let Some(trace) = &call.trace {
        // SEP-414
        let mut meta = Map::from_iter([("traceparent".to_owned(), trace.parent.clone().into())]);
        if let Some(state) = &trace.state {
            meta.insert("tracestate".to_owned(), state.clone().into());
        }
        params.insert("_meta".to_owned(), meta.into());
    }
    let request = ServerRequest {
        connection: connection.clone(),
        method,
        params,
    };
    let reply = call.space.servers().request(request).await;
    match reply.map_err(|error| refusal(connection, &error, call))? {
        ServerReply::Result(result) => Ok(result),
        ServerReply::Refusal(why) => {
            let field = match method {
                ServerMethod::GetPrompt => "arguments",
                ServerMethod::ReadResource => "uri",
                ServerMethod::Complete => "ref",
            };
            let hint = "ask for something that it lists";
            let why = format!("{connection} refuses it: {why}");
            Err(Problem::wrong_value(field, why, hint).error())
        }
    }
}
