//! The tools against skills in memory, called as every surface calls them.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use gongfu_core::account::{Actor, Owner, Role};
use gongfu_core::library::{FindingCount, Library, Skill, Source, SourceKind};
use gongfu_core::port::{
    AuditEntry, AuditLog, Clock, FileContent, Pending, PortError, SkillStore, Timestamp,
};
use gongfu_core::skill::{Digest, FileEntry, FileKind, SkillName, SkillPath};
use serde_json::{Value, json};

use super::{Catalog, Ports};
use crate::error::ToolError;
use crate::profile::Profile;
use crate::tool::{Content, ToolResult};

/// Skills in memory: full name to files.
struct Memory {
    library: Arc<Library>,
    files: HashMap<(String, String), Vec<u8>>,
}

impl SkillStore for Memory {
    fn library<'a>(&'a self, _owner: &'a Owner) -> Pending<'a, Arc<Library>> {
        Box::pin(std::future::ready(Ok(Arc::clone(&self.library))))
    }

    fn read<'a>(
        &'a self,
        _owner: &'a Owner,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        let found = self
            .files
            .get(&(skill.full_name.to_string(), path.to_string()));
        let content = found.map(|bytes| FileContent {
            bytes: bytes
                .iter()
                .copied()
                .take(usize::try_from(limit).unwrap())
                .collect(),
            size: bytes.len() as u64,
        });
        Box::pin(std::future::ready(content.ok_or(PortError::NotFound)))
    }

    fn set_enabled<'a>(
        &'a self,
        _owner: &'a Owner,
        _skill: &'a Skill,
        _enabled: bool,
    ) -> Pending<'a, bool> {
        Box::pin(std::future::ready(Ok(false)))
    }
}

impl AuditLog for Memory {
    fn record<'a>(&'a self, _owner: &'a Owner, _entry: &'a AuditEntry) -> Pending<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Clock for Memory {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
}

const DOCUMENT: &str = "---\nname: pdf\ndescription: Read\n  PDFs.\n---\n\n# PDF\n\nintro\n\n## Use\n\nuse it\n\n## Limits\n\nnone\n";

fn catalog() -> Catalog {
    let mut files: HashMap<(String, String), Vec<u8>> = HashMap::new();
    let mut skills = Vec::new();
    let wide: Vec<(String, Vec<u8>)> = (0..600)
        .map(|number| (format!("assets/{number:03}.txt"), b"x".to_vec()))
        .collect();
    for (full_name, name, enabled, more) in [
        (
            "lib/pdf",
            "pdf",
            true,
            vec![
                ("SKILL.md".to_owned(), DOCUMENT.into()),
                ("a.png".to_owned(), b"\x89PNG\0".to_vec()),
                ("ref/x.md".to_owned(), b"one\ntwo\n".to_vec()),
            ],
        ),
        ("lib/wide", "wide", true, wide),
        (
            "lib/off",
            "off",
            false,
            vec![("SKILL.md".to_owned(), DOCUMENT.into())],
        ),
        (
            "user/pdf",
            "pdf",
            true,
            vec![("skill.md".to_owned(), b"lower".to_vec())],
        ),
    ] {
        let mut entries: Vec<FileEntry> = Vec::new();
        for (path, bytes) in more {
            entries.push(FileEntry {
                path: SkillPath::new(&path).unwrap(),
                size: bytes.len() as u64,
                digest: Some(Digest::of(&bytes)),
                kind: FileKind::of(&bytes),
            });
            files.insert((full_name.to_owned(), path), bytes);
        }
        entries.sort_by(|left, right| left.path.cmp(&right.path));
        skills.push(Arc::new(Skill {
            name: SkillName::new(name).unwrap(),
            full_name: full_name.into(),
            description: "Read\n  PDFs.".to_owned(),
            frontmatter: "{}".into(),
            source: full_name.split('/').next().unwrap().into(),
            path: format!("/x/{full_name}"),
            files: entries.into(),
            findings: FindingCount::default(),
            enabled,
        }));
    }
    let sources = ["lib", "user"].map(|id| Source {
        id: id.into(),
        kind: SourceKind::Explicit,
        root: format!("/x/{id}"),
    });
    let memory = Arc::new(Memory {
        library: Arc::new(Library::new(sources.into(), skills, Vec::new())),
        files,
    });
    Catalog::new(Ports {
        skills: Arc::clone(&memory) as Arc<dyn SkillStore>,
        workspace: Arc::clone(&memory) as Arc<dyn Workspace>,
        audit: Arc::clone(&memory) as Arc<dyn AuditLog>,
        clock: memory,
    })
}

fn call(name: &str, arguments: Value) -> Result<ToolResult, ToolError> {
    let catalog = catalog();
    let Value::Object(arguments) = arguments else {
        unreachable!()
    };
    let actor = Actor::local(Role::ExternalAgent, "test");
    let calling = catalog.call(&[Profile::Standard], name, arguments, &actor);
    match pin!(calling).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// The text of an answer, or the code of an error.
fn text(name: &str, arguments: Value) -> String {
    match call(name, arguments) {
        Ok(result) => result
            .content
            .iter()
            .map(|content| match content {
                Content::Text { text } => text.clone(),
                Content::Resource { resource } => format!(
                    "[{} {} {}]",
                    resource.uri, resource.mime_type, resource.blob
                ),
            })
            .collect(),
        Err(error) => error.code().to_string(),
    }
}

#[test]
fn a_skill_is_loaded_whole_or_in_parts() {
    assert_eq!(text("skill_load", json!({ "skill_name": "pdf" })), DOCUMENT);
    assert_eq!(
        text(
            "skill_load",
            json!({ "skill_name": "lib/pdf", "part": "body" })
        ),
        &DOCUMENT[DOCUMENT.find("# PDF").unwrap()..]
    );
    assert_eq!(
        text(
            "skill_load",
            json!({ "skill_name": "pdf", "section": "use" })
        ),
        "## Use\n\nuse it\n\n"
    );
    assert_eq!(
        text(
            "skill_load",
            json!({ "skill_name": "pdf", "start_line": 2, "end_line": 2 })
        ),
        "name: pdf\n"
    );
    assert_eq!(
        text(
            "skill_load",
            json!({ "skill_name": "user/pdf", "section": null })
        ),
        "lower"
    );
    assert!(
        call("skill_load", json!({ "skill_name": "pdf" }))
            .unwrap()
            .structured_content
            .is_none(),
        "a document is sent once"
    );
}

#[test]
fn a_wrong_call_says_what_to_do() {
    for (name, arguments, code, hint) in [
        ("skill_load", json!({}), "MISSING_ARGUMENT", "skill_list"),
        (
            "skill_load",
            json!({ "skill_name": "pd" }),
            "SKILL_NOT_FOUND",
            "pdf",
        ),
        (
            "skill_load",
            json!({ "skill_name": "off" }),
            "SKILL_DEACTIVATED",
            "gongfu skill enable lib/off",
        ),
        (
            "skill_load",
            json!({ "skill_name": "../pdf" }),
            "INVALID_SKILL_NAME",
            "never a path",
        ),
        (
            "skill_load",
            json!({ "skill_name": "pdf", "section": "usage" }),
            "SECTION_NOT_FOUND",
            "Use, ",
        ),
        (
            "skill_load",
            json!({ "skill_name": "pdf", "section": "use", "start_line": 1 }),
            "INVALID_ARGUMENT",
            "one of them",
        ),
        (
            "skill_load",
            json!({ "skill_name": "pdf", "part": "half" }),
            "INVALID_ARGUMENT",
            "whole, body",
        ),
        (
            "skill_load",
            json!({ "skill_name": "pdf", "start_line": 0 }),
            "INVALID_ARGUMENT",
            "1 or more",
        ),
        (
            "skill_load",
            json!({ "skill_name": "pdf", "sektion": "x" }),
            "UNKNOWN_ARGUMENT",
            "section",
        ),
        (
            "skill_load",
            json!({ "skill_name": ["pdf"] }),
            "INVALID_ARGUMENT",
            "a text",
        ),
        (
            "skill_read",
            json!({ "skill_name": "pdf", "path": "ref/y.md" }),
            "FILE_NOT_FOUND",
            "ref/x.md",
        ),
        (
            "skill_read",
            json!({ "skill_name": "pdf", "path": "../x" }),
            "INVALID_FILE_PATH",
            "relative",
        ),
        (
            "skill_read",
            json!({ "skill_name": "pdf", "path": "a.png", "start_line": 1 }),
            "INVALID_ARGUMENT",
            "whole",
        ),
        (
            "skill_list",
            json!({ "source": "nowhere" }),
            "INVALID_ARGUMENT",
            "lib, user",
        ),
        (
            "skill_list",
            json!({ "after": "nowhere" }),
            "INVALID_ARGUMENT",
            "without `after`",
        ),
        ("skill_lst", json!({}), "TOOL_NOT_FOUND", "skill_list"),
    ] {
        let error = call(name, arguments.clone()).unwrap_err();
        assert_eq!(error.code().as_str(), code, "{arguments}");
        assert!(
            error.problem.text().hint.contains(hint),
            "{arguments}: {}",
            error.problem.text().hint
        );
    }
}

#[test]
fn files_are_listed_and_read() {
    assert_eq!(
        text(
            "skill_read",
            json!({ "skill_name": "pdf", "path": "ref/x.md", "start_line": 2 })
        ),
        "two\n"
    );
    assert_eq!(
        text(
            "skill_read",
            json!({ "skill_name": "pdf", "path": "a.png" })
        ),
        "[skill://lib/pdf/a.png image/png iVBORwA=]"
    );
    let listing = call("skill_read", json!({ "skill_name": "pdf" }))
        .unwrap()
        .structured_content
        .unwrap();
    assert_eq!(
        listing["files"][2],
        json!({ "path": "ref/x.md", "size": 8, "kind": "text", "digest": Digest::of(b"one\ntwo\n").to_string() })
    );
    let first = call(
        "skill_read",
        json!({ "skill_name": "wide", "path": "assets" }),
    )
    .unwrap()
    .structured_content
    .unwrap();
    assert_eq!(
        (
            first["total"].as_u64(),
            first["files"].as_array().map(Vec::len)
        ),
        (Some(600), Some(512))
    );
    let rest = call(
        "skill_read",
        json!({ "skill_name": "wide", "after": first["next"] }),
    )
    .unwrap()
    .structured_content
    .unwrap();
    assert_eq!(
        (rest["files"].as_array().map(Vec::len), rest.get("next")),
        (Some(88), None)
    );
}

#[test]
fn the_library_is_listed_in_pages() {
    assert_eq!(
        text("skill_list", json!({})),
        "- pdf: Read PDFs.\n- wide: Read PDFs.\n- user/pdf: Read PDFs.\n"
    );
    let page = call(
        "skill_list",
        json!({ "limit": 1, "include_disabled": true }),
    )
    .unwrap();
    let data = page.structured_content.unwrap();
    assert_eq!(
        (data["total"].as_u64(), data["next"].as_str()),
        (Some(4), Some("lib/pdf"))
    );
    let next = text(
        "skill_list",
        json!({ "limit": 2, "include_disabled": true, "after": "lib/pdf" }),
    );
    assert_eq!(
        next,
        "- wide: Read PDFs.\n- off (switched off): Read PDFs.\n… and 1 more: call skill_list with after=\"lib/off\"\n"
    );
    assert_eq!(
        text("skill_list", json!({ "source": "user" })),
        "- user/pdf: Read PDFs.\n"
    );
}
