//! Skills as manifests, resources and prompts: one library, told in every way that the protocol has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::stdio::{Client, result};
use crate::world::{DOT, PATIENCE, STORY, World, at, text_at};

const UPDATED: &str = "notifications/resources/updated";
const LISTS: [&str; 3] = [
    "notifications/tools/list_changed",
    "notifications/resources/list_changed",
    "notifications/prompts/list_changed",
];
const QUIET: Duration = Duration::from_millis(1_500);

/// What a request of 2026-07-28 says about its sender.
fn context() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// All pages of a list.
fn all(client: &mut Client, method: &str, list: &str) -> Vec<Value> {
    let (mut items, mut cursor, mut pages) = (Vec::new(), None::<Value>, 0);
    loop {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let page = result(client.request(method, params));
        let listed = at(&page, list).as_array();
        items.extend(listed.into_iter().flatten().cloned());
        cursor = page.get("nextCursor").cloned();
        pages += 1;
        assert!(pages < 1_000, "{method} doesn't end");
        if cursor.is_none() {
            return items;
        }
    }
}

fn texts<'a>(items: &'a [Value], pointer: &str) -> Vec<&'a str> {
    items.iter().map(|item| text_at(item, pointer)).collect()
}

fn error_code(response: &Value) -> i64 {
    let code = at(response, "/error/code").as_i64();
    code.unwrap_or_else(|| panic!("no code: {response:#}"))
}

#[test]
fn one_skill_on_every_surface() {
    let world = World::with_skills();
    let mut client = world.silent_client();
    let itself = client.initialize("2025-11-25");
    let capabilities = at(&itself, "/capabilities");
    assert_eq!(
        at(capabilities, "/extensions/io.modelcontextprotocol~1skills"),
        &json!({ "directoryRead": true })
    );
    assert_eq!(
        at(capabilities, "/resources"),
        &json!({ "subscribe": true, "listChanged": true })
    );
    assert_eq!(
        at(capabilities, "/prompts"),
        &json!({ "listChanged": true })
    );
    assert_eq!(at(capabilities, "/completions"), &json!({}));

    let skills = all(&mut client, "skills/list", "/skills");
    let root = "skill://skills/pdf-tools";
    assert_eq!(
        texts(&skills, "/uri"),
        [
            &format!("{root}/SKILL.md"),
            "skill://skills/release-notes/SKILL.md"
        ]
    );
    assert_eq!(
        at(&skills[0], "/frontmatter"),
        &json!({ "name": "pdf-tools", "description": "Fills forms and merges PDF files.", "license": "MIT" })
    );
    // The same digests as the tools tell: they are of one store.
    let listed = client.good("skill_read", json!({ "skill_name": "pdf-tools" }));
    let of_tool: BTreeMap<String, (Value, Value)> = at(&listed, "/structuredContent/files")
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            (
                format!("{root}/{}", text_at(file, "/path")),
                (at(file, "/digest").clone(), at(file, "/size").clone()),
            )
        })
        .collect();
    let of_manifest: BTreeMap<String, (Value, Value)> = at(&skills[0], "/resources")
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            (
                text_at(file, "/uri").to_owned(),
                (at(file, "/digest").clone(), at(file, "/size").clone()),
            )
        })
        .collect();
    assert_eq!(of_tool, of_manifest);
    assert_eq!(of_manifest.len(), 4);
    let got = result(client.request("skills/get", json!({ "uri": format!("{root}/SKILL.md") })));
    assert_eq!(at(&got, "/skill"), &skills[0]);
    assert!(
        got.get("ttlMs").is_none() && got.get("resultType").is_none(),
        "{got:#}"
    );

    let resources = all(&mut client, "resources/list", "/resources");
    assert_eq!(texts(&resources, "/name"), ["pdf-tools", "release-notes"]);
    assert_eq!(text_at(&resources[0], "/mimeType"), "text/markdown");
    assert_eq!(at(&resources[0], "/size"), STORY.len());
    let mut read = |path: &str| {
        let uri = format!("{root}/{path}");
        let read = result(client.request("resources/read", json!({ "uri": uri })));
        assert_eq!(text_at(&read, "/contents/0/uri"), uri);
        at(&read, "/contents/0").clone()
    };
    assert_eq!(text_at(&read("SKILL.md"), "/text"), STORY);
    let dot = read("assets/dot.png");
    assert_eq!(text_at(&dot, "/mimeType"), "image/png");
    assert_eq!(text_at(&dot, "/blob").len(), DOT.len().div_ceil(3) * 4);
    let folder = result(client.request("resources/directory/read", json!({ "uri": root })));
    let children = at(&folder, "/resources").as_array().unwrap();
    assert_eq!(texts(children, "/mimeType")[1], "inode/directory");
    let names: BTreeSet<&str> = texts(children, "/name").into_iter().collect();
    assert_eq!(
        names,
        BTreeSet::from(["assets", "hello.txt", "pdf-tools", "references"])
    );

    assert_eq!(client.close().code, Some(0));
}

#[test]
fn a_skill_is_called_and_its_name_completed() {
    let world = World::with_skills();
    let mut client = world.client();
    let prompts = all(&mut client, "prompts/list", "/prompts");
    assert_eq!(texts(&prompts, "/name"), ["pdf-tools", "release-notes"]);
    let arguments = json!({ "arguments": "two files" });
    let said = result(client.request(
        "prompts/get",
        json!({ "name": "pdf-tools", "arguments": arguments }),
    ));
    let text = text_at(&said, "/messages/0/content/text");
    assert!(
        text.starts_with("# PDF tools\n") && text.ends_with("\n\nARGUMENTS: two files"),
        "{text}"
    );

    let templates = result(client.request("resources/templates/list", json!({})));
    let family = text_at(&templates, "/resourceTemplates/0/uriTemplate").to_owned();
    let typed = json!({
        "ref": { "type": "ref/resource", "uri": family },
        "argument": { "name": "skill", "value": "rel" },
        "context": { "arguments": { "source": "skills" } },
    });
    let completed = result(client.request("completion/complete", typed));
    assert_eq!(
        at(&completed, "/completion"),
        &json!({ "values": ["release-notes"], "total": 1, "hasMore": false })
    );
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn what_is_asked_of_2026_says_how_long_it_holds() {
    let world = World::with_skills();
    let mut client = world.silent_client();
    let uri = "skill://skills/pdf-tools/SKILL.md";
    for (method, mut params) in [
        ("skills/list", json!({})),
        ("skills/get", json!({ "uri": uri })),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": uri })),
        (
            "resources/directory/read",
            json!({ "uri": "skill://skills" }),
        ),
        ("prompts/list", json!({})),
    ] {
        params["_meta"] = context();
        let told = result(client.request(method, params));
        assert_eq!(text_at(&told, "/resultType"), "complete", "{method}");
        assert_eq!(text_at(&told, "/cacheScope"), "private", "{method}");
        assert!(
            at(&told, "/ttlMs").as_u64().is_some_and(|ttl| ttl <= 1_000),
            "{method}"
        );
    }
}

#[test]
fn what_is_not_there_has_a_code_in_each_era() {
    let world = World::with_skills();
    let (mut old, mut new) = (world.client(), world.silent_client());
    for uri in [
        "skill://skills/pdf-tools/none.md",
        "skill://skills/pdf-tools/%2e%2e/release-notes/SKILL.md",
        "skill://skills/pdf-tools/..%2Frelease-notes/SKILL.md",
        "skill://skills/pdf-tools/SKILL.md?x",
        "skill://skills@other/pdf-tools/SKILL.md",
        "file:///etc/passwd",
        "test://nothing",
        "",
    ] {
        for method in [
            "resources/read",
            "resources/subscribe",
            "skills/get",
            "resources/directory/read",
        ] {
            let response = old.request(method, json!({ "uri": uri }));
            let is_resource = matches!(method, "resources/read" | "resources/subscribe");
            assert_eq!(
                error_code(&response),
                if is_resource { -32002 } else { -32602 },
                "{method} {uri}"
            );
            if is_resource {
                assert_eq!(text_at(&response, "/error/data/uri"), uri);
            }
        }
        let response = new.request("resources/read", json!({ "uri": uri, "_meta": context() }));
        assert_eq!(error_code(&response), -32602, "{uri}");
        assert_eq!(text_at(&response, "/error/data/uri"), uri);
    }
    for (method, params) in [
        ("skills/list", json!({ "cursor": "nonsense" })),
        ("resources/list", json!({ "cursor": "" })),
        ("prompts/list", json!({ "cursor": "%%%" })),
        ("skills/get", json!({})),
        ("resources/read", json!({ "uri": 5 })),
        (
            "resources/directory/read",
            json!({ "uri": "skill://skills/pdf-tools/SKILL.md" }),
        ),
        (
            "resources/directory/read",
            json!({ "uri": "skill://skills/pdf-tools/" }),
        ),
        ("prompts/get", json!({ "name": "pdf-tool" })),
        (
            "prompts/get",
            json!({ "name": "pdf-tools", "arguments": { "x": "y" } }),
        ),
        ("completion/complete", json!({ "ref": {} })),
    ] {
        assert_eq!(
            error_code(&old.request(method, params.clone())),
            -32602,
            "{method} {params}"
        );
    }
    let unknown = old.request("prompts/get", json!({ "name": "pdf-tool" }));
    assert_eq!(text_at(&unknown, "/error/data/available/0"), "pdf-tools");
    let completed = old.request("completion/complete", json!({ "ref": { "type": "ref/prompt", "name": "none" }, "argument": { "name": "x", "value": "" } }));
    assert_eq!(at(&result(completed), "/completion/values"), &json!([]));
}

/// Six hundred plain skills, and eighteen that are anything but.
fn nasty() -> World {
    let world = World::new();
    for number in 0..600 {
        world.skill(&format!("skill-{number:03}"), "Is plain.");
    }
    let skill = |name: &str| format!("---\nname: {name}\ndescription: d\n---\nx\n");
    for (path, text) in [
        ("same-a/SKILL.md", skill("same")),
        ("same-b/SKILL.md", skill("same")),
        ("other/SKILL.md", skill("skill-000")),
        ("outer/SKILL.md", skill("outer")),
        ("outer/inner/SKILL.md", skill("inner")),
        ("outer/renamed/SKILL.md", skill("inner") + "y\n"),
        ("lower/skill.md", skill("lower")),
        ("with blank/SKILL.md", skill("with blank")),
        ("日本/SKILL.md", skill("日本")),
        ("日本/plain/SKILL.md", skill("plain")),
        ("upper/SKILL.md", skill("Upper_Case")),
        ("number/SKILL.md", skill("12")),
        ("quoted/SKILL.md", skill("\" padded \"")),
        ("percent/SKILL.md", skill("\"a%41\"")),
        ("dots/SKILL.md", skill("\"..\"")),
        ("bare/SKILL.md", "no frontmatter\n".to_owned()),
        (
            "broken/SKILL.md",
            "---\nname: broken\ndescription: a: b: c\n---\n".to_owned(),
        ),
        (
            "undescribed/SKILL.md",
            "---\nname: undescribed\n---\n".to_owned(),
        ),
    ] {
        world.write(format!("skills/{path}"), text);
    }
    for name in ["a b.md", "ä?#%41.md", "[x].md", "e\u{301}.md"] {
        world.write(format!("skills/outer/{name}"), name);
    }
    world
}

#[test]
fn every_prompt_that_is_listed_can_be_had() {
    let world = nasty();
    let mut client = world.client();
    let prompts = all(&mut client, "prompts/list", "/prompts");
    assert_eq!(prompts.len(), 618);
    for prompt in prompts
        .iter()
        .filter(|prompt| !text_at(prompt, "/name").starts_with("skill-"))
    {
        result(client.request("prompts/get", json!({ "name": text_at(prompt, "/name") })));
    }
}

#[test]
fn pages_stay_whole_on_a_library_that_is_nasty_and_changes() {
    let world = nasty();
    let mut client = world.client();
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
        "lower",
        "%E6%97%A5%E6%9C%AC/plain",
    ] {
        assert!(
            uris.contains(&*format!("skill://skills/{wanted}/SKILL.md")),
            "{wanted}"
        );
    }
    assert_eq!(skills.len(), 600 + 8, "those of the format");
    // Whatever is listed is read, and an entry told by its URI is the listed one.
    let outer = skills
        .iter()
        .find(|skill| text_at(skill, "/frontmatter/name") == "outer")
        .unwrap();
    let files = at(outer, "/resources").as_array().unwrap();
    assert_eq!(files.len(), 7);
    for file in files {
        let read =
            result(client.request("resources/read", json!({ "uri": text_at(file, "/uri") })));
        assert_eq!(
            text_at(&read, "/contents/0/text").len() as u64,
            at(file, "/size").as_u64().unwrap()
        );
    }
    for uri in [
        "skill://skills/upper/Upper_Case/SKILL.md",
        "skill://skills/Upper_Case/SKILL.md",
    ] {
        let told = client.request("skills/get", json!({ "uri": uri }));
        let found = told.get("result").is_some();
        assert_eq!(found, uri.contains("skills/Upper_Case"), "{told:#}");
    }
    // What comes and goes between two pages moves nothing else.
    let first = result(client.request("skills/list", json!({})));
    world.skill("aaa", "Is new.");
    fs::remove_dir_all(world.path("skills/skill-001")).unwrap();
    let next = json!({ "cursor": at(&first, "/nextCursor") });
    let second = result(client.request("skills/list", next.clone()));
    let last = text_at(
        at(&first, "/skills").as_array().unwrap().last().unwrap(),
        "/uri",
    );
    let after = text_at(&second, "/skills/0/uri");
    let position = |uri: &str| {
        skills
            .iter()
            .position(|skill| text_at(skill, "/uri") == uri)
            .unwrap()
    };
    assert_eq!(position(last) + 1, position(after));
    assert_eq!(
        error_code(&client.request("prompts/list", next)),
        -32602,
        "it is a cursor of skills"
    );
}

#[test]
fn a_subscriber_of_each_era_is_told_of_its_file_alone() {
    let world = World::with_skills();
    let uri = "skill://skills/pdf-tools/references/guide.md";
    let mut old = world.client();
    old.good("skill_list", json!({}));
    while LISTS.iter().any(|list| old.notified(list, QUIET) > 0) {}
    assert_eq!(
        result(old.request("resources/subscribe", json!({ "uri": uri }))),
        json!({})
    );
    let mut new = world.silent_client();
    let wanted = json!({ "resourceSubscriptions": [uri, "skill://skills/nothing"], "promptsListChanged": true });
    new.send(&json!({ "jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": { "notifications": wanted, "_meta": context() } }));
    assert_eq!(
        new.notified("notifications/subscriptions/acknowledged", PATIENCE),
        1
    );
    result(new.request("resources/read", json!({ "uri": uri, "_meta": context() })));
    std::thread::sleep(QUIET);

    world.write("skills/pdf-tools/hello.txt", "changed\n");
    for list in LISTS {
        assert_eq!(old.notified(list, PATIENCE), 1, "{list}");
    }
    assert_eq!(old.notified(UPDATED, QUIET), 0, "it is another file");
    assert_eq!(new.notified(LISTS[2], PATIENCE), 1);
    assert_eq!(new.notified(LISTS[0], QUIET), 0, "nobody asked for it");
    assert_eq!(new.notified(UPDATED, QUIET), 0, "it is another file");

    world.write("skills/pdf-tools/references/guide.md", "one\ntwo\nfour\n");
    assert_eq!(old.notified(UPDATED, PATIENCE), 1);
    assert_eq!(new.notified(UPDATED, PATIENCE), 1);

    assert_eq!(
        result(old.request("resources/unsubscribe", json!({ "uri": uri }))),
        json!({})
    );
    fs::remove_file(world.path("skills/pdf-tools/references/guide.md")).unwrap();
    assert_eq!(new.notified(UPDATED, PATIENCE), 1, "it went");
    assert_eq!(
        old.notified(UPDATED, QUIET),
        0,
        "it is of no interest any more"
    );
    assert_eq!((old.close().code, new.close().code), (Some(0), Some(0)));
}

#[test]
fn a_skill_that_is_switched_off_is_on_no_surface() {
    let world = World::with_skills();
    world.only(["skill", "disable", "pdf-tools"]).good();
    let mut client = world.client();
    for (method, list, name) in [
        ("skills/list", "/skills", "/frontmatter/name"),
        ("resources/list", "/resources", "/name"),
        ("prompts/list", "/prompts", "/name"),
    ] {
        assert_eq!(
            texts(&all(&mut client, method, list), name),
            ["release-notes"],
            "{method}"
        );
    }
    let uri = "skill://skills/pdf-tools/SKILL.md";
    assert_eq!(
        error_code(&client.request("resources/read", json!({ "uri": uri }))),
        -32002
    );
    assert_eq!(
        error_code(&client.request("skills/get", json!({ "uri": uri }))),
        -32602
    );
    assert_eq!(
        error_code(&client.request("prompts/get", json!({ "name": "pdf-tools" }))),
        -32602
    );
}
