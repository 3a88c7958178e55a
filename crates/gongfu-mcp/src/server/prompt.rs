//! `prompts/…` and `completion/complete`.

use gongfu_hub::surface::completion::CompletionComplete;
use gongfu_hub::surface::prompt::{Prompt, PromptsGet, PromptsList};
use gongfu_hub::{ContentList, ContentRequest};
use rmcp::model::{
    CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, ListPromptsResult, PaginatedRequestParams, PromptArgument,
    PromptMessage, Reference, Role,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

use super::Server;
use super::operation::{cursor, list_hint};
use crate::wire;

pub(super) async fn list(
    server: &Server,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListPromptsResult, ErrorData> {
    let cursor = cursor(request);
    let own = async {
        let cursor = cursor.clone();
        let page = server.answer(PromptsList { cursor }, context).await?;
        Ok((page.items.into_iter().map(prompt).collect(), page.next))
    };
    let listing = server.with_others(ContentList::Prompts, cursor.as_deref(), context, own);
    let (prompts, next) = listing.await?;
    let mut result = ListPromptsResult::with_all_items(prompts);
    result.next_cursor = next;
    (result.ttl_ms, result.cache_scope) = list_hint(context);
    Ok(result)
}

pub(super) async fn get(
    server: &Server,
    request: GetPromptRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    let (name, arguments) = (request.name, request.arguments.unwrap_or_default());
    let asked = ContentRequest::Prompt {
        name: name.clone(),
        arguments: arguments.clone(),
    };
    if let Some(result) = server.ask_others::<GetPromptResult>(asked, context).await {
        let theirs = result.map_err(|error| wire::refused(&error))?;
        let mut result = GetPromptResult::new(theirs.messages);
        (result.description, result.meta) = (theirs.description, theirs.meta);
        return Ok(result.into());
    }
    let operation = PromptsGet { name, arguments };
    let prompt = server.answer(operation, context).await?;
    let message = PromptMessage::new_text(Role::User, prompt.text);
    let result = GetPromptResult::new(vec![message]).with_description(prompt.description);
    Ok(result.into())
}

pub(super) async fn complete(
    server: &Server,
    request: CompleteRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CompleteResult, ErrorData> {
    if let Ok(Value::Object(params)) = serde_json::to_value(&request) {
        let asked = ContentRequest::Completion { params };
        if let Some(result) = server.ask_others::<CompleteResult>(asked, context).await {
            let theirs = result.map_err(|error| wire::refused(&error))?;
            return Ok(CompleteResult::new(theirs.completion));
        }
    }
    let chosen = request.context.and_then(|context| context.arguments);
    let mut chosen = chosen.unwrap_or_default();
    let (template, prompt) = match request.r#ref {
        Reference::Resource(family) => (Some(family.uri), None),
        Reference::Prompt(prompt) => (None, Some(prompt.name)),
        // A kind of reference that this server doesn't know has no values.
        _ => (None, None),
    };
    let operation = CompletionComplete {
        template,
        prompt,
        argument: request.argument.name,
        value: request.argument.value,
        source: chosen.remove("source"),
        skill: chosen.remove("skill"),
    };
    let found = server.answer(operation, context).await?;
    let more = found.total > found.values.len();
    let total = u32::try_from(found.total).ok();
    let values = CompletionInfo::with_pagination(found.values, total, more);
    let values = values.map_err(|error| ErrorData::internal_error(error, None))?;
    Ok(CompleteResult::new(values))
}

fn prompt(prompt: Prompt) -> rmcp::model::Prompt {
    let arguments = prompt.arguments.into_iter().map(|argument| {
        let wire = PromptArgument::new(argument.name).with_required(argument.is_required);
        match argument.description {
            Some(description) => wire.with_description(description),
            None => wire,
        }
    });
    let arguments = arguments.collect();
    rmcp::model::Prompt::new(prompt.name, Some(prompt.description), Some(arguments))
        .with_title(prompt.title)
}
