//! `resources/…`: files and folders of skills by their URIs.

use gongfu_core::connection::split_full_uri;
use gongfu_hub::encoding;
use gongfu_hub::surface::page;
use gongfu_hub::surface::resource::{
    DirectoryRead, FileText, Resource, ResourcesList, ResourcesRead, ResourcesSubscribe, TEMPLATES,
};
use gongfu_hub::{ContentList, ContentRequest};
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
    let cursor = cursor(request);
    let own = async {
        let cursor = cursor.clone();
        let page = server.answer(ResourcesList { cursor }, context).await?;
        Ok((page.items.into_iter().map(resource).collect(), page.next))
    };
    let listing = server.with_others(ContentList::Resources, cursor.as_deref(), context, own);
    let (resources, next) = listing.await?;
    Ok(listed(resources, next, context))
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
    let resources = page.items.into_iter().map(resource).collect();
    Ok(listed(resources, page.next, context))
}

fn listed(
    resources: Vec<rmcp::model::Resource>,
    next: Option<String>,
    context: &RequestContext<RoleServer>,
) -> ListResourcesResult {
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = next;
    (result.ttl_ms, result.cache_scope) = list_hint(context);
    result
}

pub(super) async fn templates(
    server: &Server,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListResourceTemplatesResult, ErrorData> {
    let list = ContentList::Templates;
    let cursor = cursor(request);
    if cursor.is_some() && !list.has_cursor(cursor.as_deref()) {
        return Err(wire::refused(&page::foreign("resources/templates/list")));
    }
    let own = async { Ok((own_templates(), None)) };
    let listing = server.with_others(list, cursor.as_deref(), context, own);
    let (templates, next) = listing.await?;
    let mut result = ListResourceTemplatesResult::with_all_items(templates);
    result.next_cursor = next;
    (result.ttl_ms, result.cache_scope) = list_hint(context);
    Ok(result)
}

fn own_templates() -> Vec<ResourceTemplate> {
    let templates = TEMPLATES.iter().map(|template| {
        let wire = ResourceTemplate::new(template.uri, template.name)
            .with_title(template.title)
            .with_description(template.description);
        match template.media_type {
            Some(media_type) => wire.with_mime_type(media_type),
            None => wire,
        }
    });
    templates.collect()
}

pub(super) async fn read(
    server: &Server,
    request: ReadResourceRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<ReadResourceResponse, ErrorData> {
    let uri = request.uri;
    let asked = ContentRequest::Resource { uri: uri.clone() };
    if let Some(result) = server
        .ask_others::<ReadResourceResult>(asked, context)
        .await
    {
        let theirs = result.map_err(|error| wire::no_resource(&error))?;
        let contents = theirs.contents.into_iter();
        let contents = contents.map(|content| under(content, &uri)).collect();
        let mut result = ReadResourceResult::new(contents);
        result.meta = theirs.meta;
        (result.ttl_ms, result.cache_scope) = file_hint(context);
        return Ok(result.into());
    }
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

/// A content under the URI that the client asked for, where that names the server as well.
fn under(mut content: ResourceContents, asked: &str) -> ResourceContents {
    let Some((_, own)) = split_full_uri(asked) else {
        return content;
    };
    match &mut content {
        ResourceContents::TextResourceContents { uri, .. }
        | ResourceContents::BlobResourceContents { uri, .. }
            if *uri == own =>
        {
            asked.clone_into(uri);
        }
        _ => {}
    }
    content
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
