//! One story on every surface: the protocol, `gongfu tool call` and `gongfu skill` say the same.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gongfu_testing::json::{at, failed, keys, succeeded, text_at};
use serde_json::{Value, json};

use crate::fixture::{DOT, Fixture, STORY};
use crate::stdio::Client;

/// SHA-256 of `hello` and a line feed.
const HELLO: &str = "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";

/// A way to call a tool.
trait Surface {
    /// The result of a call, as the protocol has it.
    fn call(&mut self, tool: &str, arguments: Value) -> Value;

    fn good(&mut self, tool: &str, arguments: Value) -> Value {
        succeeded(self.call(tool, arguments))
    }

    fn bad(&mut self, tool: &str, arguments: Value) -> Value {
        failed(&self.call(tool, arguments))
    }

    fn text(&mut self, tool: &str, arguments: Value) -> String {
        text_at(&self.good(tool, arguments), "/content/0/text").to_owned()
    }
}

impl Surface for Client {
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        (**self).call(tool, arguments)
    }
}

/// `gongfu tool call TOOL JSON --json`.
struct CommandLine<'a>(&'a Fixture);

impl Surface for CommandLine<'_> {
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let ran = self
            .0
            .only(["tool", "call", tool, &arguments.to_string(), "--json"])
            .run();
        let result = ran.json();
        let failed = result.get("isError") == Some(&Value::Bool(true));
        assert_eq!(failed, ran.code != Some(0), "{:?}: {result:#}", ran.code);
        result
    }
}

fn tell(surface: &mut dyn Surface) {
    let listed = surface.good("skill_list", json!({}));
    let skills = at(&listed, "/structuredContent/skills").as_array().unwrap();
    assert_eq!(skills.len(), 2, "{listed:#}");
    assert_eq!(
        keys(&skills[0]),
        ["description", "enabled", "full_name", "name", "source"]
    );
    assert_eq!(text_at(&skills[0], "/name"), "pdf-tools");
    assert_eq!(text_at(&skills[0], "/full_name"), "skills/pdf-tools");
    assert_eq!(at(&listed, "/structuredContent/total"), 2);
    let shown = text_at(&listed, "/content/0/text");
    assert_eq!(
        shown,
        "- pdf-tools: Fills forms and merges PDF files.\n- release-notes: Writes release notes.\n"
    );

    assert_eq!(
        surface.text("skill_load", json!({ "skill_name": "pdf-tools" })),
        STORY
    );
    assert_eq!(
        surface.text(
            "skill_load",
            json!({ "skill_name": "skills/pdf-tools", "part": "whole" })
        ),
        STORY
    );
    let body = surface.text(
        "skill_load",
        json!({ "skill_name": "pdf-tools", "part": "body" }),
    );
    assert!(
        body.starts_with("# PDF tools\n") && STORY.ends_with(&body),
        "{body:?}"
    );
    let section = surface.text(
        "skill_load",
        json!({ "skill_name": "pdf-tools", "section": "Merge" }),
    );
    assert_eq!(
        section.trim_end(),
        "## Merge\n\nUse the merger.\n\n### Order\n\nKeep it."
    );
    let lines = surface.text(
        "skill_load",
        json!({ "skill_name": "pdf-tools", "start_line": 2, "end_line": 4 }),
    );
    assert_eq!(
        lines,
        STORY
            .split_inclusive('\n')
            .skip(1)
            .take(3)
            .collect::<String>()
    );

    let guide = json!({ "skill_name": "pdf-tools", "path": "references/guide.md" });
    assert_eq!(surface.text("skill_read", guide), "one\ntwo\nthree\n");
    let second = json!({ "skill_name": "pdf-tools", "path": "references/guide.md", "start_line": 2, "end_line": 2 });
    assert_eq!(surface.text("skill_read", second), "two\n");
    let dot = surface.good(
        "skill_read",
        json!({ "skill_name": "pdf-tools", "path": "assets/dot.png" }),
    );
    assert_eq!(text_at(&dot, "/content/0/type"), "resource");
    assert_eq!(text_at(&dot, "/content/0/resource/mimeType"), "image/png");
    assert_eq!(
        STANDARD
            .decode(text_at(&dot, "/content/0/resource/blob"))
            .unwrap(),
        DOT
    );

    let files = surface.good("skill_read", json!({ "skill_name": "pdf-tools" }));
    let paths: Vec<&str> = at(&files, "/structuredContent/files")
        .as_array()
        .unwrap()
        .iter()
        .map(|file| text_at(file, "/path"))
        .collect();
    assert_eq!(
        paths,
        [
            "SKILL.md",
            "assets/dot.png",
            "hello.txt",
            "references/guide.md"
        ]
    );
    let hello = at(&files, "/structuredContent/files/2");
    assert_eq!(
        hello,
        &json!({ "path": "hello.txt", "size": 6, "kind": "text", "digest": HELLO })
    );
    assert_eq!(text_at(&files, "/structuredContent/files/1/kind"), "binary");
    let folder = surface.good(
        "skill_read",
        json!({ "skill_name": "pdf-tools", "path": "references" }),
    );
    assert_eq!(at(&folder, "/structuredContent/total"), 1);

    go_wrong(surface);
}

fn go_wrong(surface: &mut dyn Surface) {
    let unknown = surface.bad("skill_load", json!({ "skill_name": "pdf_tool" }));
    assert_eq!(text_at(&unknown, "/code"), "SKILL_NOT_FOUND");
    assert_eq!(
        at(&unknown, "/available"),
        &json!(["pdf-tools", "release-notes"])
    );
    assert!(
        text_at(&unknown, "/hint").contains("pdf-tools"),
        "{unknown:#}"
    );
    let section = surface.bad(
        "skill_load",
        json!({ "skill_name": "pdf-tools", "section": "Marge" }),
    );
    assert_eq!(text_at(&section, "/code"), "SECTION_NOT_FOUND");
    assert_eq!(text_at(&section, "/available/0"), "Merge");
    let file = surface.bad(
        "skill_read",
        json!({ "skill_name": "pdf-tools", "path": "references/guides.md" }),
    );
    assert_eq!(text_at(&file, "/code"), "FILE_NOT_FOUND");
    assert_eq!(text_at(&file, "/available/0"), "references/guide.md");
    let climbing = surface.bad(
        "skill_read",
        json!({ "skill_name": "pdf-tools", "path": "../release-notes/SKILL.md" }),
    );
    assert_eq!(text_at(&climbing, "/code"), "INVALID_FILE_PATH");
    let path = surface.bad("skill_load", json!({ "skill_name": "../skills/pdf-tools" }));
    assert_eq!(text_at(&path, "/code"), "INVALID_SKILL_NAME");
}

#[test]
fn protocol_tells_the_story() {
    let fixture = Fixture::with_skills();
    let mut client = fixture.client();
    tell(&mut client);
    let end = client.close();
    assert_eq!(end.code, Some(0), "{}", end.stderr);
}

#[test]
fn tool_call_tells_the_story() {
    let fixture = Fixture::with_skills();
    tell(&mut CommandLine(&fixture));
}

#[test]
fn tool_call_and_protocol_answer_the_same() {
    let fixture = Fixture::with_skills();
    let mut client = fixture.client();
    let mut line = CommandLine(&fixture);
    for (tool, arguments) in [
        ("skill_list", json!({ "limit": 1 })),
        (
            "skill_load",
            json!({ "skill_name": "pdf-tools", "part": "body" }),
        ),
        (
            "skill_load",
            json!({ "skill_name": "pdf-tools", "start_line": 99 }),
        ),
        ("skill_read", json!({ "skill_name": "pdf-tools" })),
        (
            "skill_read",
            json!({ "skill_name": "pdf-tools", "path": "assets/dot.png" }),
        ),
        (
            "skill_read",
            json!({ "skill_name": "pdf-tools", "path": "nowhere" }),
        ),
        ("skill_read", json!({})),
    ] {
        let (wire, shown) = (
            client.call(tool, arguments.clone()),
            line.call(tool, arguments.clone()),
        );
        for part in ["content", "structuredContent"] {
            assert_eq!(wire.get(part), shown.get(part), "{tool} {arguments}");
        }
    }
}

#[test]
fn skill_commands_tell_the_story() {
    let fixture = Fixture::with_skills();
    let names: Vec<String> = fixture
        .listed()
        .iter()
        .map(|skill| text_at(skill, "/name").to_owned())
        .collect();
    assert_eq!(names, ["pdf-tools", "release-notes"]);

    let read = |more: &[&str]| {
        let mut arguments = vec!["skill", "read", "pdf-tools"];
        arguments.extend(more);
        fixture.only(arguments).good().stdout
    };
    assert_eq!(read(&[]), STORY.as_bytes());
    assert_eq!(read(&["SKILL.md"]), STORY.as_bytes());
    assert!(
        String::from_utf8(read(&["--body"]))
            .unwrap()
            .starts_with("# PDF tools\n")
    );
    assert!(
        String::from_utf8(read(&["--section", "Merge"]))
            .unwrap()
            .starts_with("## Merge\n")
    );
    assert_eq!(read(&["references/guide.md"]), b"one\ntwo\nthree\n");
    assert_eq!(read(&["assets/dot.png"]), DOT);

    let shown = fixture
        .only(["skill", "show", "pdf-tools", "--json"])
        .good()
        .json();
    assert_eq!(text_at(&shown, "/files/2/digest"), HELLO);
    assert_eq!(text_at(&shown, "/frontmatter/license"), "MIT");

    let wrong = fixture.only(["skill", "read", "pdf_tool"]).ends(1);
    assert!(wrong.stdout.is_empty(), "{}", wrong.text());
    assert!(
        wrong.stderr.starts_with("error[SKILL_NOT_FOUND]: ")
            && wrong
                .stderr
                .contains("hint: nearest first, there are: pdf-tools"),
        "{}",
        wrong.stderr
    );
    let file = fixture
        .only(["skill", "read", "pdf-tools", "guides.md"])
        .ends(1);
    assert!(
        file.stderr.contains("references/guide.md"),
        "{}",
        file.stderr
    );
    for path in ["../release-notes/SKILL.md", "/etc/hostname", "..\\x"] {
        let out = fixture.only(["skill", "read", "pdf-tools", path]).ends(1);
        assert!(
            out.stdout.is_empty() && out.stderr.contains("INVALID_FILE_PATH"),
            "{path}: {}",
            out.stderr
        );
    }
    let json = fixture
        .only(["skill", "show", "pdf_tool", "--json"])
        .ends(1)
        .json();
    assert_eq!(text_at(&json, "/error/code"), "SKILL_NOT_FOUND");
}

#[test]
fn arguments_come_in_four_forms() {
    let fixture = Fixture::with_skills();
    let call = |arguments: &[&str]| {
        let mut all = vec!["tool", "call", "skill_load"];
        all.extend(arguments);
        fixture.only(all)
    };
    assert_eq!(call(&["skill_name=pdf-tools"]).good().text(), STORY);
    assert_eq!(
        call(&["pdf-tools"]).good().text(),
        STORY,
        "the only one that is required needs no name"
    );
    assert_eq!(
        call(&["{\"skill_name\": \"pdf-tools\"}"]).good().text(),
        STORY
    );
    assert_eq!(
        call(&["-"])
            .reading("{\"skill_name\": \"pdf-tools\"}")
            .good()
            .text(),
        STORY
    );
    assert_eq!(
        call(&["skill_name=pdf-tools", "start_line=1", "end_line=1"])
            .good()
            .text(),
        "---\n"
    );
    for wrong in [
        &["{\"skill_name\": "][..],
        &["skill_name=a", "skill_name=b"],
        &["name=pdf-tools"],
        &[],
    ] {
        let ran = call(wrong).ends(2);
        assert!(
            ran.stdout.is_empty() && ran.stderr.starts_with("error"),
            "{wrong:?}: {}",
            ran.stderr
        );
    }
    let huge = json!({ "skill_name": "x".repeat(5_000_000) }).to_string();
    let deep = format!("{{\"skill_name\": {}", "[".repeat(100_000));
    for (typed, part) in [(huge, "ARGUMENTS_TOO_LARGE"), (deep, "error")] {
        let ran = call(&["-"]).reading(typed).ends(2);
        assert!(ran.stderr.contains(part) && ran.stderr.len() < 2_000);
    }
}
