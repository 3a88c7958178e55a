//! Skills as manifests, resources and prompts, and notifications of their changes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{at, case, context, error_code, list_at, result, text_at, texts};
use gongfu_testing::sample::{DOT, PDF_TOOLS, plain};
use serde_json::{Value, json};

use crate::fixture::{Fixture, LocalClient};

const ROOT: &str = "skill://lib/pdf-tools";
const UPDATED: &str = "notifications/resources/updated";
const LISTS: [&str; 3] = [
    "notifications/tools/list_changed",
    "notifications/resources/list_changed",
    "notifications/prompts/list_changed",
];
/// Long enough for a notification within this process.
const QUIET: Duration = Duration::from_millis(300);

/// All pages of a list.
fn all(client: &mut LocalClient, method: &str, list: &str) -> Vec<Value> {
    let (mut items, mut params) = (Vec::new(), json!({}));
    for _ in 0..1_000 {
        let page = client.ask(method, params);
        items.extend_from_slice(list_at(&page, list));
        match page.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return items,
        }
    }
    panic!("{method} doesn't end")
}

/// The digests and sizes of files by their URI.
fn digests(files: &[Value], uri: impl Fn(&Value) -> String) -> BTreeMap<String, (Value, Value)> {
    let pair = |file: &Value| (at(file, "/digest").clone(), at(file, "/size").clone());
    files.iter().map(|file| (uri(file), pair(file))).collect()
}

#[test]
fn skill_is_a_manifest_resources_and_a_folder() {
    let mut client = Fixture::with_skills().silent_client();
    let itself = client.initialize("2025-11-25");
    let capabilities = at(&itself, "/capabilities");
    for (name, wanted) in [
        (
            "extensions/io.modelcontextprotocol~1skills",
            json!({ "directoryRead": true }),
        ),
        (
            "resources",
            json!({ "subscribe": true, "listChanged": true }),
        ),
        ("prompts", json!({ "listChanged": true })),
        ("completions", json!({})),
    ] {
        assert_eq!(at(capabilities, &format!("/{name}")), &wanted);
    }

    let skills = all(&mut client, "skills/list", "/skills");
    let uris = [
        "skill://lib/pdf-tools/SKILL.md",
        "skill://lib/release-notes/SKILL.md",
    ];
    assert_eq!(texts(&skills, "/uri"), uris);
    assert_eq!(
        at(&skills[0], "/frontmatter"),
        &json!({ "name": "pdf-tools", "description": "Fills forms and merges PDF files.", "license": "MIT" })
    );
    // The tools show the same digests.
    let listed = client.good("skill_read", json!({ "skill_name": "pdf-tools" }));
    let of_tool = digests(list_at(&listed, "/structuredContent/files"), |file| {
        format!("{ROOT}/{}", text_at(file, "/path"))
    });
    let of_manifest = digests(list_at(&skills[0], "/resources"), |file| {
        text_at(file, "/uri").to_owned()
    });
    assert_eq!(of_tool, of_manifest);
    assert_eq!(of_manifest.len(), 4);
    let got = client.ask("skills/get", json!({ "uri": format!("{ROOT}/SKILL.md") }));
    assert_eq!(at(&got, "/skill"), &skills[0]);
    assert!(
        got.get("ttlMs").is_none() && got.get("resultType").is_none(),
        "{got:#}"
    );

    let resources = all(&mut client, "resources/list", "/resources");
    assert_eq!(texts(&resources, "/name"), ["pdf-tools", "release-notes"]);
    assert_eq!(text_at(&resources[0], "/mimeType"), "text/markdown");
    assert_eq!(at(&resources[0], "/size"), PDF_TOOLS.len());
    let mut read = |path: &str| {
        let uri = format!("{ROOT}/{path}");
        let read = client.ask("resources/read", json!({ "uri": uri }));
        assert_eq!(text_at(&read, "/contents/0/uri"), uri);
        at(&read, "/contents/0").clone()
    };
    assert_eq!(text_at(&read("SKILL.md"), "/text"), PDF_TOOLS);
    let dot = read("assets/dot.png");
    assert_eq!(text_at(&dot, "/mimeType"), "image/png");
    assert_eq!(text_at(&dot, "/blob").len(), DOT.len().div_ceil(3) * 4);
    let folder = client.ask("resources/directory/read", json!({ "uri": ROOT }));
    let children = list_at(&folder, "/resources");
    assert_eq!(texts(children, "/mimeType")[1], "inode/directory");
    let names: BTreeSet<&str> = texts(children, "/name").into_iter().collect();
    let wanted = ["assets", "hello.txt", "pdf-tools", "references"];
    assert_eq!(names, BTreeSet::from(wanted));
}

#[test]
fn skill_is_a_prompt_and_its_name_is_completed() {
    let mut client = Fixture::with_skills().client();
    let prompts = all(&mut client, "prompts/list", "/prompts");
    assert_eq!(texts(&prompts, "/name"), ["pdf-tools", "release-notes"]);
    let arguments = json!({ "arguments": "two files" });
    let prompt = json!({ "name": "pdf-tools", "arguments": arguments });
    let said = client.ask("prompts/get", prompt);
    let text = text_at(&said, "/messages/0/content/text");
    assert!(
        text.starts_with("# PDF tools\n") && text.ends_with("\n\nARGUMENTS: two files"),
        "{text}"
    );
    let templates = client.ask("resources/templates/list", json!({}));
    let family = text_at(&templates, "/resourceTemplates/0/uriTemplate").to_owned();
    let typed = json!({
        "ref": { "type": "ref/resource", "uri": family },
        "argument": { "name": "skill", "value": "rel" },
        "context": { "arguments": { "source": "lib" } },
    });
    let completed = client.ask("completion/complete", typed);
    let wanted = json!({ "values": ["release-notes"], "total": 1, "hasMore": false });
    assert_eq!(at(&completed, "/completion"), &wanted);
}

#[test]
fn answers_of_2026_say_how_long_they_hold() {
    let mut client = Fixture::with_skills().silent_client();
    let uri = format!("{ROOT}/SKILL.md");
    for (method, mut params) in [
        ("skills/list", json!({})),
        ("skills/get", json!({ "uri": uri })),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": uri })),
        ("resources/directory/read", json!({ "uri": "skill://lib" })),
        ("prompts/list", json!({})),
    ] {
        params["_meta"] = context("2026-07-28");
        let told = client.ask(method, params);
        assert_eq!(text_at(&told, "/resultType"), "complete", "{method}");
        assert_eq!(text_at(&told, "/cacheScope"), "private", "{method}");
        let ttl = at(&told, "/ttlMs").as_u64().unwrap();
        assert!(ttl <= 1_000, "{method}");
    }
}

#[test]
fn missing_resource_has_the_code_of_each_revision() {
    let fixture = Fixture::with_skills();
    let (mut old, mut new) = (fixture.client(), fixture.silent_client());
    for uri in [
        "skill://lib/pdf-tools/none.md",
        "skill://lib/pdf-tools/%2e%2e/release-notes/SKILL.md",
        "skill://lib/pdf-tools/..%2Frelease-notes/SKILL.md",
        "skill://lib/pdf-tools/SKILL.md?x",
        "skill://lib@other/pdf-tools/SKILL.md",
        "file:///etc/passwd",
        "test://nothing",
        "",
    ] {
        for (method, code) in [
            ("resources/read", -32002),
            ("resources/subscribe", -32002),
            ("skills/get", -32602),
            ("resources/directory/read", -32602),
        ] {
            let response = old.request(method, json!({ "uri": uri }));
            assert_eq!(error_code(&response), code, "{method} {uri}");
            if code == -32002 {
                assert_eq!(text_at(&response, "/error/data/uri"), uri);
            }
        }
        let params = json!({ "uri": uri, "_meta": context("2026-07-28") });
        let response = new.request("resources/read", params);
        assert_eq!(error_code(&response), -32602, "{uri}");
        assert_eq!(text_at(&response, "/error/data/uri"), uri);
    }
    for wrong in [
        r#"skills/list {"cursor":"nonsense"}"#,
        r#"resources/list {"cursor":""}"#,
        r#"prompts/list {"cursor":"%%%"}"#,
        r#"resources/directory/read {"uri":"skill://lib/pdf-tools/SKILL.md"}"#,
        r#"resources/directory/read {"uri":"skill://lib/pdf-tools/"}"#,
        r#"prompts/get {"name":"pdf-tool"}"#,
        r#"prompts/get {"name":"pdf-tools","arguments":{"x":"y"}}"#,
        r#"completion/complete {"ref":{}}"#,
    ] {
        let (method, params, _) = case(wrong);
        let response = old.request(method, params);
        assert_eq!(error_code(&response), -32602, "{wrong}");
    }
    let unknown = old.request("prompts/get", json!({ "name": "pdf-tool" }));
    assert_eq!(text_at(&unknown, "/error/data/available/0"), "pdf-tools");
    let of_nothing = json!({ "ref": { "type": "ref/prompt", "name": "none" }, "argument": { "name": "x", "value": "" } });
    let completed = old.ask("completion/complete", of_nothing);
    assert_eq!(at(&completed, "/completion/values"), &json!([]));
}

/// Six hundred plain skills, and others that share names, lie in each other or are no text.
fn crowd() -> Fixture {
    let fixture = Fixture::default();
    fixture.change(|skills| {
        let mut put = |folder: &str, text: String| {
            let files = [("SKILL.md".to_owned(), text.into_bytes())];
            skills.insert(format!("lib/{folder}"), files.into());
        };
        for number in 0..600 {
            let name = format!("skill-{number:03}");
            put(&name, plain(&name, "Is plain."));
        }
        for (folder, name) in [
            ("same-a", "same"),
            ("same-b", "same"),
            ("other", "skill-000"),
            ("outer", "outer"),
            ("outer/inner", "inner"),
            ("outer/renamed", "inner"),
            ("with blank", "with blank"),
            ("日本", "日本"),
            ("日本/plain", "plain"),
            ("upper", "Upper_Case"),
            ("number", "12"),
            ("quoted", "\" padded \""),
            ("percent", "\"a%41\""),
            ("dots", "\"..\""),
        ] {
            put(
                folder,
                format!("---\nname: {name}\ndescription: d\n---\n{folder}\n"),
            );
        }
        put("bare", "no frontmatter\n".to_owned());
        put(
            "broken",
            "---\nname: broken\ndescription: a: b: c\n---\n".to_owned(),
        );
        put("undescribed", "---\nname: undescribed\n---\n".to_owned());
        let outer = skills.get_mut("lib/outer").unwrap();
        for name in ["a b.md", "ä?#%41.md", "[x].md", "e\u{301}.md"] {
            outer.insert(name.to_owned(), name.into());
        }
        // As on disk, the files of a skill that lies in another one are its files, too.
        for folder in ["inner", "renamed"] {
            let document = format!("---\nname: inner\ndescription: d\n---\nouter/{folder}\n");
            outer.insert(format!("{folder}/SKILL.md"), document.into());
        }
    });
    fixture
}

#[test]
fn every_listed_prompt_can_be_read() {
    let mut client = crowd().client();
    let prompts = all(&mut client, "prompts/list", "/prompts");
    assert_eq!(prompts.len(), 617);
    for name in texts(&prompts, "/name") {
        if !name.starts_with("skill-") {
            client.ask("prompts/get", json!({ "name": name }));
        }
    }
}

#[test]
fn every_listed_uri_is_unique_and_can_be_read() {
    let mut client = crowd().client();
    let skills = all(&mut client, "skills/list", "/skills");
    let uris: BTreeSet<&str> = texts(&skills, "/uri").into_iter().collect();
    assert_eq!(uris.len(), skills.len(), "no URI comes twice");
    for wanted in [
        "same-a/same",
        "same-b/same",
        "other/skill-000",
        "skill-000",
        "outer",
        "outer/inner",
        "outer/renamed/inner",
        "%E6%97%A5%E6%9C%AC/plain",
    ] {
        let uri = format!("skill://lib/{wanted}/SKILL.md");
        assert!(uris.contains(&*uri), "{wanted}");
    }
    assert_eq!(skills.len(), 600 + 7, "those of the format");
    let is_outer = |skill: &&Value| text_at(skill, "/frontmatter/name") == "outer";
    let outer = skills.iter().find(is_outer).unwrap();
    let files = list_at(outer, "/resources");
    assert_eq!(files.len(), 7);
    for file in files {
        let read = client.ask("resources/read", json!({ "uri": text_at(file, "/uri") }));
        let text = text_at(&read, "/contents/0/text");
        assert_eq!(at(file, "/size"), text.len(), "{file}");
    }
    for (uri, is_found) in [
        ("skill://lib/upper/Upper_Case/SKILL.md", false),
        ("skill://lib/Upper_Case/SKILL.md", true),
    ] {
        let told = client.request("skills/get", json!({ "uri": uri }));
        assert_eq!(told.get("result").is_some(), is_found, "{told:#}");
    }
}

#[test]
fn change_between_two_pages_moves_nothing_else() {
    let fixture = crowd();
    let mut client = fixture.client();
    let before = all(&mut client, "skills/list", "/skills");
    let first = client.ask("skills/list", json!({}));
    fixture.change(|skills| {
        let document = plain("aaa", "Is new.").into_bytes();
        skills.insert(
            "lib/aaa".to_owned(),
            [("SKILL.md".to_owned(), document)].into(),
        );
        skills.remove("lib/skill-001").unwrap();
    });
    let next = json!({ "cursor": at(&first, "/nextCursor") });
    let second = client.ask("skills/list", next.clone());
    let position = |uri: &str| {
        before
            .iter()
            .position(|skill| text_at(skill, "/uri") == uri)
    };
    let last = text_at(list_at(&first, "/skills").last().unwrap(), "/uri");
    let after = text_at(&second, "/skills/0/uri");
    assert_eq!(position(last).unwrap() + 1, position(after).unwrap());
    let foreign = client.request("prompts/list", next);
    assert_eq!(error_code(&foreign), -32602, "it is a cursor of skills");
}

#[test]
fn pages_of_any_size_hold_each_skill_once() {
    let fixture = crowd();
    let mut client = fixture.client();
    for limit in [json!(null), json!(7), json!(250), json!(1_000_000)] {
        let (mut names, mut after) = (BTreeSet::new(), Value::Null);
        loop {
            let page = client.good("skill_list", json!({ "limit": limit, "after": after }));
            let data = at(&page, "/structuredContent");
            assert_eq!(at(data, "/total"), 617);
            let skills = list_at(data, "/skills");
            let most = limit.as_u64().map_or(100, |most| most.min(1_000));
            assert!(skills.len() as u64 <= most, "limit {limit}");
            for name in texts(skills, "/full_name") {
                assert!(names.insert(name.to_owned()), "{name} comes twice");
            }
            match data.get("next") {
                Some(next) => after = next.clone(),
                None => break,
            }
        }
        assert_eq!(names.len(), 617, "limit {limit}");
    }
}

#[test]
fn disabled_skill_is_in_no_list_and_has_no_uri() {
    let fixture = Fixture::with_skills();
    fixture.change(|skills| {
        let files = skills.remove("lib/pdf-tools").unwrap();
        skills.insert("-lib/pdf-tools".to_owned(), files);
    });
    let mut client = fixture.client();
    for (method, list, name) in [
        ("skills/list", "/skills", "/frontmatter/name"),
        ("resources/list", "/resources", "/name"),
        ("prompts/list", "/prompts", "/name"),
    ] {
        let items = all(&mut client, method, list);
        assert_eq!(texts(&items, name), ["release-notes"], "{method}");
    }
    let uri = json!({ "uri": format!("{ROOT}/SKILL.md") });
    for (method, params, code) in [
        ("resources/read", uri.clone(), -32002),
        ("skills/get", uri, -32602),
        ("prompts/get", json!({ "name": "pdf-tools" }), -32602),
    ] {
        assert_eq!(
            error_code(&client.request(method, params)),
            code,
            "{method}"
        );
    }
}

/// Changes a file until the client is notified: it may not have been waiting the first time.
fn change_until_notified(fixture: &Fixture, client: &mut LocalClient) {
    for round in 0.. {
        fixture.write("lib/pdf-tools", "hello.txt", format!("{round}\n"));
        if client.notified(LISTS[2], QUIET) > 0 {
            break;
        }
        assert!(round < 100, "no notification");
    }
    for list in LISTS {
        while client.notified(list, QUIET) > 0 {}
    }
}

#[test]
fn subscriber_is_notified_of_its_file_alone() {
    let fixture = Fixture::with_skills();
    let uri = format!("{ROOT}/references/guide.md");
    let mut old = fixture.client();
    let subscribed = old.ask("resources/subscribe", json!({ "uri": uri }));
    assert_eq!(subscribed, json!({}));
    let mut new = fixture.silent_client();
    let wanted = json!({ "resourceSubscriptions": [uri, "skill://lib/nothing"], "promptsListChanged": true });
    let listen = json!({ "notifications": wanted, "_meta": context("2026-07-28") });
    new.begin("s", "subscriptions/listen", listen);
    let acknowledged = "notifications/subscriptions/acknowledged";
    assert_eq!(new.notified(acknowledged, TIMEOUT), 1);
    for client in [&mut old, &mut new] {
        change_until_notified(&fixture, client);
        assert_eq!(client.notified(UPDATED, QUIET), 0, "it is another file");
    }
    while old.notified(LISTS[2], QUIET) > 0 {}

    fixture.write("lib/pdf-tools", "references/guide.md", "one\ntwo\nfour\n");
    for list in LISTS {
        assert_eq!(old.notified(list, TIMEOUT), 1, "{list}");
    }
    assert_eq!(old.notified(UPDATED, TIMEOUT), 1);
    assert_eq!(new.notified(UPDATED, TIMEOUT), 1);
    assert_eq!(new.notified(LISTS[0], QUIET), 0, "nobody asked for it");

    let done = old.ask("resources/unsubscribe", json!({ "uri": uri }));
    assert_eq!(done, json!({}));
    fixture.remove("lib/pdf-tools", "references/guide.md");
    assert_eq!(new.notified(UPDATED, TIMEOUT), 1, "the file went");
    assert_eq!(old.notified(LISTS[2], TIMEOUT), 1);
    assert_eq!(old.notified(UPDATED, QUIET), 0, "it unsubscribed");

    new.notify(
        "notifications/cancelled",
        json!({ "requestId": "s", "_meta": context("2026-07-28") }),
    );
    let mut call = json!({ "name": "skill_list", "arguments": {} });
    call["_meta"] = context("2026-07-28");
    result(new.request("tools/call", call));
    while new.notified(LISTS[2], QUIET) > 0 {}
    fixture.skill("unheard", "Is new.");
    assert_eq!(
        old.notified(LISTS[2], TIMEOUT),
        1,
        "else the next line proves nothing"
    );
    assert_eq!(new.notified(LISTS[2], QUIET), 0, "it cancelled");
}
