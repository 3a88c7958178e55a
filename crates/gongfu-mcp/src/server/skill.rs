//! `skills/list` and `skills/get` (SEP-2640).

use gongfu_hub::surface::manifest::{SkillEntry, SkillsGet, SkillsList};
use rmcp::model::{
    ErrorData, GetSkillRequestParams, GetSkillResult, ListSkillsResult, PaginatedRequestParams,
    Skill, SkillFrontmatter, SkillResource, SkillResources,
};
use rmcp::service::{RequestContext, RoleServer};

use super::Server;
use super::operation::{cursor, list_hint};

pub(super) async fn list(
    server: &Server,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListSkillsResult, ErrorData> {
    let operation = SkillsList {
        cursor: cursor(request),
    };
    let page = server.answer(operation, context).await?;
    let mut result = ListSkillsResult::with_all_items(page.items.into_iter().map(skill).collect());
    result.next_cursor = page.next;
    (result.ttl_ms, result.cache_scope) = list_hint(context);
    Ok(result)
}

pub(super) async fn get(
    server: &Server,
    request: GetSkillRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetSkillResult, ErrorData> {
    let operation = SkillsGet { uri: request.uri };
    let mut result = GetSkillResult::new(skill(server.answer(operation, context).await?));
    (result.ttl_ms, result.cache_scope) = list_hint(context);
    Ok(result)
}

fn skill(entry: SkillEntry) -> Skill {
    let mut frontmatter = SkillFrontmatter::new(entry.name, entry.description);
    frontmatter.extra = entry.fields;
    let files = entry.files.map(|files| {
        let files = files.into_iter();
        files.map(|file| SkillResource::new(file.uri, file.digest.to_string(), file.size))
    });
    let resources = files.map_or(SkillResources::Dynamic, |files| {
        SkillResources::Files(files.collect())
    });
    Skill::new(entry.uri, frontmatter, resources)
}
