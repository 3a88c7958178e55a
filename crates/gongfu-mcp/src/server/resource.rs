//! `resources/…`: files and folders of skills by their URIs.

use gongfu_hub::encoding;
use gongfu_hub::surface::resource::{
    DirectoryRead, FileText, Resource, ResourcesList, ResourcesRead, ResourcesSubscribe, TEMPLATES,
};
use rmcp::model::{
    Annotations, ErrorData, ListResourceTemplatesResult, ListResourcesResult,
    PaginatedRequestParams, ReadResourceDirectoryRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ResourceContents, ResourceTemplate, Role,
    SubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer};

use super::Server;
use super::change;
use super::operation::{cursor, file_hint, list_hint};
use crate::wire;

pub(super) async fn list(
    server: &Server,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListResourcesResult, ErrorData> {
    let operation = ResourcesList {
        cursor: cursor(request),
    };
    let page = server.answer(operation, context).await?;
    Ok(listed(page.items, page.next, context))
}

pub(super) async fn read_directory(
    server: &Server,
    request: ReadResourceDirectoryRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<ListResourcesResult, ErrorData> {
    let operation = DirectoryRead {
        uri: request.uri,
        cursor: request.cursor,
    };
    let page = server.answer(operation, context).await?;
    Ok(listed(page.items, page.next, context))
}

fn listed(
    items: Vec<Resource>,
    next: Option<String>,
    context: &RequestContext<RoleServer>,
) -> ListResourcesResult {
    let mut result = ListResourcesResult::with_all_items(items.into_iter().map(resource).collect());
    result.next_cursor = next;
    (result.ttl_ms, result.cache_scope) = list_hint(context);
    result
}

pub(super) fn templates(context: &RequestContext<RoleServer>) -> ListResourceTemplatesResult {
    let templates = TEMPLATES.iter().map(|template| {
        let wire = ResourceTemplate::new(template.uri, template.name)
            .with_title(template.title)
            .with_description(template.description);
        match template.media_type {
            Some(media_type) => wire.with_mime_type(media_type),
            None => wire,
        }
    });
    let mut result = ListResourceTemplatesResult::with_all_items(templates.collect());
    (result.ttl_ms, result.cache_scope) = list_hint(context);
    result
}

pub(super) async fn read(
    server: &Server,
    request: ReadResourceRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<ReadResourceResponse, ErrorData> {
    let uri = request.uri;
    let operation = ResourcesRead { uri: uri.clone() };
    let read = server.operate(operation, context).await;
    let read = read.map_err(|error| wire::no_resource(&error))?;
    // Under the URI that the client asked for, because it looks for that one.
    let contents = match read.content {
        FileText::Text(text) => ResourceContents::text(text, uri),
        FileText::Binary(bytes) => ResourceContents::blob(encoding::base64(&bytes), uri),
    };
    let contents = contents.with_mime_type(read.media_type);
    let mut result = ReadResourceResult::new(vec![contents]);
    (result.ttl_ms, result.cache_scope) = file_hint(context);
    Ok(result.into())
}

pub(super) async fn subscribe(
    server: &Server,
    request: SubscribeRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let uri = request.uri;
    let operation = ResourcesSubscribe { uri: uri.clone() };
    let known = server.operate(operation, context).await;
    let known = known.map_err(|error| wire::no_resource(&error))?;
    let mut subscribed = server.subscribed.lock().await;
    if subscribed.len() >= change::MAX_SUBSCRIPTIONS && !subscribed.contains_key(&uri) {
        let text = format!(
            "at most {} resources can be subscribed to",
            change::MAX_SUBSCRIPTIONS
        );
        return Err(ErrorData::invalid_params(text, None));
    }
    subscribed.insert(uri, Some(known));
    Ok(())
}

fn resource(resource: Resource) -> rmcp::model::Resource {
    let mut wire =
        rmcp::model::Resource::new(resource.uri, resource.name).with_mime_type(resource.media_type);
    wire.title = resource.title;
    wire.description = resource.description;
    wire.size = resource.size;
    if resource.is_instructions {
        let audience = Annotations::default().with_audience(vec![Role::Assistant]);
        return wire.with_annotations(audience);
    }
    wire
}
