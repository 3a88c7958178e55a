//! `prompts/…` and `completion/complete`.

use gongfu_hub::surface::completion::CompletionComplete;
use gongfu_hub::surface::prompt::{Prompt, PromptsGet, PromptsList};
use rmcp::model::{
    CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, ListPromptsResult, PaginatedRequestParams, PromptArgument,
    PromptMessage, Reference, Role,
};
use rmcp::service::{RequestContext, RoleServer};

use super::Server;
use super::operation::{cursor, list_hint};

pub(super) async fn list(
    server: &Server,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListPromptsResult, ErrorData> {
    let operation = PromptsList {
        cursor: cursor(request),
    };
    let page = server.answer(operation, context).await?;
    let prompts = page.items.into_iter().map(prompt).collect();
    let mut result = ListPromptsResult::with_all_items(prompts);
    result.next_cursor = page.next;
    (result.ttl_ms, result.cache_scope) = list_hint(context);
    Ok(result)
}

pub(super) async fn get(
    server: &Server,
    request: GetPromptRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    let operation = PromptsGet {
        name: request.name,
        arguments: request.arguments.unwrap_or_default(),
    };
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
