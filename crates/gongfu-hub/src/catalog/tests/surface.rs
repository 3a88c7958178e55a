//! Manifests, resources, prompts and completion against skills in memory.

use std::sync::Arc;

use gongfu_core::account::{Actor, Role};
use gongfu_core::skill::Digest;
use serde_json::{Map, Value, json};

use gongfu_testing::MemorySpace;

use super::now;
use super::world::{audited, reading};

use crate::catalog::Catalog;
use crate::error::ToolError;
use crate::surface::Operation;
use crate::surface::completion::{Completion, CompletionComplete};
use crate::surface::manifest::{SkillsGet, SkillsList};
use crate::surface::prompt::{PromptsGet, PromptsList};
use crate::surface::resource::{
    DirectoryRead, FILE, FileText, INSTRUCTIONS, ResourcesList, ResourcesRead,
};

/// A file of a skill: its path and content.
type File<'a> = (&'a str, &'a [u8]);

const PDF: &[u8] = b"---\nname: pdf\ndescription: >\n  Reads\n  PDFs.\nlicense: MIT\nmetadata: {title: \"PDF, read\"}\nargument-hint: \"[fast|slow]\"\n---\n\n# PDF\n\nDo $ARGUMENTS now.\n";
const NAMED: &[u8] = b"---\nname: ship-it\ndescription: Ships.\narguments: [target, mode]\nargument-hint: <target> [dry|real]\n---\nShip $target ($mode).\n";
const SHADOWED: &[u8] = b"---\nname: pdf\ndescription: Another one.\n---\nOther.\n";
const LOWER: &[u8] = b"---\nname: lower\ndescription: Lower case.\n---\nlower\n";
const HIDDEN: &[u8] =
    b"---\nname: hidden\ndescription: For models.\nuser-invocable: false\n---\nhidden\n";
const BLANK: &[u8] = b"---\nname: my skill\ndescription: With a blank.\n---\nblank\n";
const BARE: &[u8] = b"# Just text\n\nWithout a frontmatter.\n";
const LONG: &str = "---\nname: long\ndescription: ";

fn everything() -> (Catalog, Arc<MemorySpace>) {
    let long = format!("{LONG}{}\n---\nx\n", "x".repeat(1_025));
    let wide: Vec<(String, Vec<u8>)> = (0..600)
        .map(|at| (format!("f/{at:03}.txt"), b"x".to_vec()))
        .collect();
    let mut files: Vec<File<'_>> = wide
        .iter()
        .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
        .collect();
    files.push((
        "SKILL.md",
        b"---\nname: wide\ndescription: Many files.\n---\nx\n",
    ));
    reading(&[
        (
            "lib/office/folder",
            &[
                ("SKILL.md", PDF),
                ("a b/%2e?.md", b"odd"),
                ("a.png", b"\x89PNG\0"),
                ("ref/deep/x.md", b"one\n"),
            ],
        ),
        ("lib/ship-it", &[("SKILL.md", NAMED)]),
        (
            "lib/lower",
            &[("ref/skill.md", b"plain"), ("skill.md", LOWER)],
        ),
        ("lib/hidden", &[("SKILL.md", HIDDEN)]),
        ("lib/blank", &[("SKILL.md", BLANK), ("b.png", b"\x89PNG\0")]),
        ("lib/bare", &[("SKILL.md", BARE)]),
        ("lib/long", &[("SKILL.md", long.as_bytes())]),
        ("lib/wide", &files),
        (
            "-lib/off",
            &[("SKILL.md", b"---\nname: off\ndescription: Off.\n---\n")],
        ),
        ("user/pdf", &[("SKILL.md", SHADOWED)]),
    ])
}

fn asked<O: Operation>(catalog: &Catalog, operation: O) -> Result<O::Output, ToolError> {
    let actor = Actor::local(Role::ExternalAgent, "test");
    now(catalog.operate(operation, &actor))
}

fn code<T: std::fmt::Debug>(outcome: Result<T, ToolError>) -> String {
    outcome.unwrap_err().code().to_string()
}

fn read(catalog: &Catalog, uri: &str) -> Result<FileText, ToolError> {
    let operation = ResourcesRead {
        uri: uri.to_owned(),
    };
    asked(catalog, operation).map(|read| read.content)
}

#[test]
fn hosts_are_offered_only_conforming_skills() {
    let (catalog, _) = everything();
    let page = asked(&catalog, SkillsList::default()).unwrap();
    let uris: Vec<&str> = page.items.iter().map(|entry| entry.uri.as_str()).collect();
    // Not the one whose name needs encoding, nor those that break the format, nor what is off.
    assert_eq!(
        uris,
        [
            "skill://lib/hidden/SKILL.md",
            "skill://lib/lower/SKILL.md",
            "skill://lib/office/pdf/SKILL.md",
            "skill://lib/ship-it/SKILL.md",
            "skill://lib/wide/SKILL.md",
            "skill://user/pdf/SKILL.md",
        ]
    );
    let pdf = &page.items[2];
    assert_eq!(pdf.description, "Reads PDFs.\n", "as it is, not trimmed");
    assert_eq!(
        Value::Object(pdf.fields.clone()),
        json!({ "license": "MIT", "metadata": { "title": "PDF, read" }, "argument-hint": "[fast|slow]" })
    );
    let files = pdf.files.as_ref().unwrap();
    let shown: Vec<(&str, u64)> = files
        .iter()
        .map(|file| (file.uri.as_str(), file.size))
        .collect();
    assert_eq!(
        shown,
        [
            ("skill://lib/office/pdf/SKILL.md", PDF.len() as u64),
            ("skill://lib/office/pdf/a%20b/%252e%3F.md", 3),
            ("skill://lib/office/pdf/a.png", 5),
            ("skill://lib/office/pdf/ref/deep/x.md", 4),
        ]
    );
    assert_eq!(files[0].digest, Digest::of(PDF));
    assert_eq!(page.items[4].files, None, "600 files are too many to list");
    let lower = page.items[1].files.as_ref().unwrap();
    assert_eq!(lower[1].uri, "skill://lib/lower/SKILL.md", "{lower:?}");
    assert_eq!(lower[0].uri, "skill://lib/lower/ref/skill.md");
}

#[test]
fn every_listed_file_reads_as_described() {
    let (catalog, _) = everything();
    let page = asked(&catalog, SkillsList::default()).unwrap();
    let files = page
        .items
        .iter()
        .flat_map(|entry| entry.files.iter().flatten());
    let mut count = 0;
    for file in files {
        let bytes = match read(&catalog, &file.uri).unwrap() {
            FileText::Text(text) => text.into_bytes(),
            FileText::Binary(bytes) => bytes,
        };
        assert_eq!(
            (Digest::of(&bytes), bytes.len() as u64),
            (file.digest, file.size)
        );
        count += 1;
    }
    assert_eq!(count, 4 + 1 + 2 + 1 + 1);
}

#[test]
fn unlisted_skill_has_an_entry() {
    let (catalog, _) = everything();
    let get = |uri: &str| {
        let uri = uri.to_owned();
        asked(&catalog, SkillsGet { uri })
    };
    let long = get("skill://lib/long/SKILL.md").unwrap();
    assert_eq!(long.description.len(), 1_025);
    for (uri, wanted) in [
        ("skill://lib/bare/SKILL.md", "SKILLS_READ_ERROR"),
        ("skill://lib/off/SKILL.md", "RESOURCE_NOT_FOUND"),
        ("skill://lib/my%20skill/SKILL.md", "RESOURCE_NOT_FOUND"),
        ("skill://lib/blank/SKILL.md", "RESOURCE_NOT_FOUND"),
        ("skill://lib/office/folder/SKILL.md", "RESOURCE_NOT_FOUND"),
        ("skill://lib/office/pdf", "RESOURCE_NOT_FOUND"),
        ("skill://lib/office/pdf/ref/deep/x.md", "RESOURCE_NOT_FOUND"),
        ("skill://lib/lower/skill.md", "RESOURCE_NOT_FOUND"),
        // Another spelling of what is there.
        ("skill://LIB/long/SKILL.md", "INVALID_URI"),
        ("skill://lib/lon%67/SKILL.md", "INVALID_URI"),
        ("skill://lib/../lib/long/SKILL.md", "INVALID_URI"),
        ("file:///lib/long/SKILL.md", "INVALID_URI"),
    ] {
        assert_eq!(code(get(uri)), wanted, "{uri}");
    }
}

#[test]
fn resources_are_skills_with_a_uri() {
    let (catalog, _) = everything();
    let page = asked(&catalog, ResourcesList::default()).unwrap();
    let names: Vec<&str> = page.items.iter().map(|item| item.name.as_str()).collect();
    let all = [
        "bare", "hidden", "long", "lower", "pdf", "ship-it", "wide", "pdf",
    ];
    assert_eq!(names, all);
    let pdf = &page.items[4];
    assert_eq!(
        (pdf.title.as_deref(), pdf.description.as_deref(), pdf.size),
        (
            Some("PDF, read"),
            Some("Reads PDFs.\n"),
            Some(PDF.len() as u64)
        )
    );
    assert_eq!(page.items[5].title.as_deref(), Some("Ship it"));
    for item in &page.items {
        assert!(
            matches!(read(&catalog, &item.uri), Ok(FileText::Text(_))),
            "{}",
            item.uri
        );
    }
    assert_eq!(
        read(&catalog, "skill://lib/office/pdf/a%20b/%252e%3F.md"),
        Ok(FileText::Text("odd".to_owned()))
    );
    assert_eq!(
        read(&catalog, "skill://lib/office/pdf/a.png"),
        Ok(FileText::Binary(b"\x89PNG\0".to_vec()))
    );
    let error = read(&catalog, "skill://lib/office/pdf/ref/x.md").unwrap_err();
    assert_eq!(error.code().as_str(), "RESOURCE_NOT_FOUND");
    assert_eq!(error.to_json()["uri"], "skill://lib/office/pdf/ref/x.md");
    assert!(error.to_string().contains("ref/deep/x.md"), "{error}");
}

#[test]
fn skill_read_names_a_file_by_its_uri() {
    let (catalog, _) = everything();
    for (name, uri) in [
        ("pdf", "skill://lib/office/pdf/a.png"),
        ("my skill", "skill://lib/blank/b.png"),
    ] {
        let path = uri.rsplit('/').next().unwrap();
        let arguments = json!({ "skill_name": name, "path": path });
        let result = super::call_in(
            &catalog,
            crate::profile::Profile::Standard,
            "skill_read",
            arguments,
        );
        let shown = super::shown(&result.unwrap());
        assert!(shown.starts_with(&format!("[{uri} image/png ")), "{shown}");
        let known = read(&catalog, uri).is_ok();
        assert_eq!(
            known,
            name == "pdf",
            "one without an address can't be read by it"
        );
    }
}

#[test]
fn directory_lists_its_children() {
    let (catalog, _) = everything();
    let list = |uri: &str| {
        let operation = DirectoryRead {
            uri: uri.to_owned(),
            cursor: None,
        };
        asked(&catalog, operation).map(|page| {
            let line = |item: &crate::surface::resource::Resource| {
                format!("{} {}", item.uri, item.media_type)
            };
            page.items.iter().map(line).collect::<Vec<_>>()
        })
    };
    assert_eq!(
        list("skill://").unwrap(),
        [
            "skill://lib inode/directory",
            "skill://user inode/directory"
        ]
    );
    assert_eq!(
        list("skill://lib/office").unwrap(),
        ["skill://lib/office/pdf inode/directory"]
    );
    assert_eq!(
        list("skill://lib/office/pdf").unwrap(),
        [
            "skill://lib/office/pdf/SKILL.md text/markdown",
            "skill://lib/office/pdf/a%20b inode/directory",
            "skill://lib/office/pdf/a.png image/png",
            "skill://lib/office/pdf/ref inode/directory",
        ]
    );
    assert_eq!(
        list("skill://lib/office/pdf/a%20b").unwrap(),
        ["skill://lib/office/pdf/a%20b/%252e%3F.md text/markdown"]
    );
    assert_eq!(
        list("skill://lib/lower").unwrap(),
        [
            "skill://lib/lower/SKILL.md text/markdown",
            "skill://lib/lower/ref inode/directory"
        ]
    );
    for (uri, wanted) in [
        ("skill://lib/office/pdf/SKILL.md", "INVALID_URI"),
        ("skill://lib/office/pdf/ref/", "INVALID_URI"),
        ("skill://lib/office/pdf/none", "RESOURCE_NOT_FOUND"),
        ("skill://lib/off", "RESOURCE_NOT_FOUND"),
        ("skill://nowhere", "RESOURCE_NOT_FOUND"),
    ] {
        assert_eq!(code(list(uri)), wanted, "{uri}");
    }
    // A folder of many files comes in pages.
    let (mut count, mut cursor) = (0, None);
    loop {
        let uri = "skill://lib/wide/f".to_owned();
        let page = asked(&catalog, DirectoryRead { uri, cursor }).unwrap();
        count += page.items.len();
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
        // It leads on in this folder alone.
        for other in ["skill://lib/wide", "skill://lib/lower"] {
            let uri = other.to_owned();
            let cursor = cursor.clone();
            let told = asked(&catalog, DirectoryRead { uri, cursor }).unwrap_err();
            assert_eq!(told.code().as_str(), "INVALID_CURSOR", "{other}");
        }
    }
    assert_eq!(count, 600);
}

#[test]
fn prompts_are_skills_that_a_person_may_call() {
    let (catalog, _) = everything();
    let page = asked(&catalog, PromptsList::default()).unwrap();
    let shown: Vec<String> = page
        .items
        .iter()
        .map(|prompt| {
            let names = prompt.arguments.iter().map(|one| one.name.as_str());
            format!("{}({})", prompt.name, names.collect::<Vec<_>>().join(", "))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "bare(arguments)",
            "my skill(arguments)",
            "long(arguments)",
            "lower(arguments)",
            "pdf(arguments)",
            "ship-it(target, mode)",
            "wide(arguments)",
            "user/pdf(arguments)",
        ]
    );
    let about: Vec<Option<&str>> = page.items[5]
        .arguments
        .iter()
        .map(|one| one.description.as_deref())
        .collect();
    assert_eq!(about, [Some("<target>"), Some("[dry|real]")]);
    let get = |name: &str, arguments: Value| {
        let Value::Object(arguments) = arguments else {
            unreachable!()
        };
        let name = name.to_owned();
        asked(&catalog, PromptsGet { name, arguments }).map(|prompt| prompt.text)
    };
    for (name, arguments, text) in [
        (
            "pdf",
            json!({ "arguments": "it \"all\"" }),
            "# PDF\n\nDo it \"all\" now.\n",
        ),
        ("pdf", json!({}), "# PDF\n\nDo  now.\n"),
        (
            "lib/office/folder",
            json!({ "arguments": "x" }),
            "# PDF\n\nDo x now.\n",
        ),
        (
            "user/pdf",
            json!({ "arguments": "x" }),
            "Other.\n\nARGUMENTS: x",
        ),
        ("my skill", json!({}), "blank\n"),
        (
            "ship-it",
            json!({ "target": "web", "mode": "dry" }),
            "Ship web (dry).\n",
        ),
        ("ship-it", json!({ "mode": true }), "Ship $target (true).\n"),
        (
            "ship-it",
            json!({ "arguments": "'a b' c" }),
            "Ship a b (c).\n",
        ),
    ] {
        assert_eq!(
            get(name, arguments.clone()).as_deref(),
            Ok(text),
            "{name} {arguments}"
        );
    }
    for (name, arguments, wanted) in [
        ("hidden", json!({}), "PROMPT_NOT_FOUND"),
        ("off", json!({}), "SKILL_DEACTIVATED"),
        ("pdff", json!({}), "PROMPT_NOT_FOUND"),
        ("../pdf", json!({}), "PROMPT_NOT_FOUND"),
        ("ship-it", json!({ "other": "x" }), "UNKNOWN_ARGUMENT"),
        ("ship-it", json!({ "target": ["x"] }), "INVALID_ARGUMENT"),
        (
            "ship-it",
            json!({ "arguments": "x", "mode": "dry" }),
            "INVALID_ARGUMENT",
        ),
    ] {
        assert_eq!(
            code(get(name, arguments.clone())),
            wanted,
            "{name} {arguments}"
        );
    }
    let error = get("pdff", json!({})).unwrap_err();
    assert_eq!(error.to_json()["available"][0], "pdf");
}

#[test]
fn typed_text_is_completed() {
    let (catalog, _) = everything();
    let complete = |template: &str, argument: &str, value: &str, chosen: [Option<&str>; 2]| {
        let [source, skill] = chosen.map(|text| text.map(str::to_owned));
        let operation = CompletionComplete {
            template: template.starts_with("skill").then(|| template.to_owned()),
            prompt: (!template.starts_with("skill")).then(|| template.to_owned()),
            argument: argument.to_owned(),
            value: value.to_owned(),
            source,
            skill,
        };
        asked(&catalog, operation).unwrap().values
    };
    let none = [None, None];
    assert_eq!(complete(INSTRUCTIONS, "source", "", none), ["lib", "user"]);
    assert_eq!(complete(FILE, "skill", "pd", none), ["pdf", "office/pdf"]);
    assert_eq!(
        complete(FILE, "skill", "PDF", [Some("lib"), None]),
        ["office/pdf"]
    );
    assert_eq!(complete(FILE, "skill", "lowre", none)[0], "lower");
    assert_eq!(
        complete(FILE, "file", "", [Some("lib"), Some("lower")]),
        ["SKILL.md", "ref/skill.md"]
    );
    assert_eq!(complete("pdf", "arguments", "", none), ["fast", "slow"]);
    assert_eq!(complete("ship-it", "mode", "d", none), ["dry"]);
    for (template, argument) in [
        ("no such prompt", "x"),
        ("hidden", "arguments"),
        ("skill://{other}", "other"),
        (INSTRUCTIONS, "file"),
    ] {
        assert!(
            complete(template, argument, "", none).is_empty(),
            "{template}"
        );
    }
    let files = |count: usize| {
        let skill = (0..count)
            .map(|at| format!("lib/s{at:03}"))
            .collect::<Vec<_>>();
        let documents: Vec<Vec<u8>> = (0..count)
            .map(|at| format!("---\nname: s{at:03}\ndescription: d\n---\n").into_bytes())
            .collect();
        let one: Vec<[File<'_>; 1]> = documents
            .iter()
            .map(|bytes| [("SKILL.md", bytes.as_slice())])
            .collect();
        let planned: Vec<(&str, &[File<'_>])> = skill
            .iter()
            .zip(&one)
            .map(|(name, file)| (name.as_str(), file.as_slice()))
            .collect();
        let (catalog, _) = reading(&planned);
        let operation = CompletionComplete {
            template: Some(FILE.to_owned()),
            prompt: None,
            argument: "skill".to_owned(),
            value: "s".to_owned(),
            source: None,
            skill: None,
        };
        let Completion { values, total } = asked(&catalog, operation).unwrap();
        (values.len(), total)
    };
    assert_eq!(files(100), (100, 100));
    assert_eq!(files(101), (100, 101));
}

#[test]
fn every_request_passes_the_gate_and_is_audited() {
    let (catalog, space) = everything();
    asked(&catalog, SkillsList::default()).unwrap();
    read(&catalog, "skill://user/pdf/SKILL.md").unwrap();
    read(&catalog, "skill://user/none/SKILL.md").unwrap_err();
    let huge = ResourcesRead {
        uri: "x".repeat(5 * 1024 * 1024),
    };
    let error = asked(&catalog, huge).unwrap_err();
    assert_eq!(error.refused_by, Some("size"));
    let name = "pdf".to_owned();
    let arguments = Map::new();
    asked(&catalog, PromptsGet { name, arguments }).unwrap();
    let audited = audited(&space);
    let audited: Vec<(&str, &str)> = audited
        .iter()
        .map(|(tool, code)| (tool.as_str(), code.as_str()))
        .collect();
    assert_eq!(
        audited,
        [
            ("skills/list", "ok"),
            ("resources/read", "ok"),
            ("resources/read", "RESOURCE_NOT_FOUND"),
            ("resources/read", "ARGUMENTS_TOO_LARGE"),
            ("prompts/get", "ok"),
        ]
    );
}

#[test]
fn changed_library_is_seen_and_reported() {
    let (catalog, space) = everything();
    let actor = Actor::local(Role::ExternalAgent, "test");
    let uris = [
        "skill://user/pdf/SKILL.md".to_owned(),
        "skill://lib/new/SKILL.md".to_owned(),
    ];
    let before = now(catalog.fingerprints(&actor, &uris));
    assert_eq!(before.len(), 1);
    space.skills.replace(&[
        (
            "lib/new",
            &[("SKILL.md", b"---\nname: new\ndescription: New.\n---\n")],
        ),
        (
            "user/pdf",
            &[(
                "SKILL.md",
                b"---\nname: pdf\ndescription: Another 1.\n---\nOther!\n",
            )],
        ),
    ]);
    let after = now(catalog.fingerprints(&actor, &uris));
    assert_eq!(after.len(), 2);
    assert_ne!(after[&uris[0]], before[&uris[0]]);
    let page = asked(&catalog, SkillsList::default()).unwrap();
    assert_eq!(page.items.len(), 2);
    assert!(read(&catalog, "skill://lib/new/SKILL.md").is_ok());
}

#[test]
fn cursor_of_a_removed_source_is_invalid() {
    use base64::Engine as _;
    let (catalog, _) = everything();
    let cursor = |text: &str| Some(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text));
    let next = SkillsList {
        cursor: cursor("skills/list\nlib/office/gone"),
    };
    assert_eq!(asked(&catalog, next).unwrap().items[0].name, "ship-it");
    for text in [
        "skills/list\ngone/x",
        "prompts/list\nlib/lower",
        "skills/list",
        "",
    ] {
        let page = asked(
            &catalog,
            SkillsList {
                cursor: cursor(text),
            },
        );
        assert_eq!(code(page), "INVALID_CURSOR", "{text:?}");
    }
}
