//! One story on every surface: the protocol, `gongfu tool call` and `gongfu skill` say the same.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gongfu_testing::json::{at, case, failed, keys, list_at, succeeded, text_at};
use serde_json::{Value, json};

use gongfu_testing::sample::{DOT, PDF_TOOLS};

use crate::fixture::Fixture;
use crate::stdio::Client;

/// SHA-256 of `hello` and a line feed.
const HELLO: &str = "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";

/// A section of the skill of the story.
const MERGE: &str = "## Merge\n\nUse the merger.\n\n### Order\n\nKeep it.\n\n";

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
    let skills = list_at(&listed, "/structuredContent/skills");
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

    let (_, body) = PDF_TOOLS.split_once("---\n\n").unwrap();
    let lines: String = PDF_TOOLS.split_inclusive('\n').skip(1).take(3).collect();
    for (call, wanted) in [
        (r#"skill_load {"skill_name":"pdf-tools"}"#, PDF_TOOLS),
        (
            r#"skill_load {"skill_name":"skills/pdf-tools","part":"whole"}"#,
            PDF_TOOLS,
        ),
        (
            r#"skill_load {"skill_name":"pdf-tools","part":"body"}"#,
            body,
        ),
        (
            r#"skill_load {"skill_name":"pdf-tools","section":"Merge"}"#,
            MERGE,
        ),
        (
            r#"skill_load {"skill_name":"pdf-tools","start_line":2,"end_line":4}"#,
            &lines,
        ),
        (
            r#"skill_read {"skill_name":"pdf-tools","path":"references/guide.md"}"#,
            "one\ntwo\nthree\n",
        ),
        (
            r#"skill_read {"skill_name":"pdf-tools","path":"references/guide.md","start_line":2,"end_line":2}"#,
            "two\n",
        ),
    ] {
        let (tool, arguments, _) = case(call);
        assert_eq!(surface.text(tool, arguments), wanted, "{call}");
    }
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
    let paths: Vec<&str> = list_at(&files, "/structuredContent/files")
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
    let names = json!(["pdf-tools", "release-notes"]);
    assert_eq!(at(&unknown, "/available"), &names);
    assert!(
        text_at(&unknown, "/hint").contains("pdf-tools"),
        "{unknown:#}"
    );
    for wrong in [
        r#"skill_load {"skill_name":"pdf-tools","section":"Marge"} SECTION_NOT_FOUND Merge"#,
        r#"skill_read {"skill_name":"pdf-tools","path":"references/guides.md"} FILE_NOT_FOUND references/guide.md"#,
        r#"skill_read {"skill_name":"pdf-tools","path":"../release-notes/SKILL.md"} INVALID_FILE_PATH"#,
        r#"skill_load {"skill_name":"../skills/pdf-tools"} INVALID_SKILL_NAME"#,
    ] {
        let (tool, arguments, rest) = case(wrong);
        let mut wanted = rest.split(' ');
        let error = surface.bad(tool, arguments);
        assert_eq!(wanted.next(), Some(text_at(&error, "/code")), "{wrong}");
        if let Some(near) = wanted.next() {
            assert_eq!(text_at(&error, "/available/0"), near, "{wrong}");
        }
    }
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
    for call in [
        r#"skill_list {"limit":1}"#,
        r#"skill_load {"skill_name":"pdf-tools","part":"body"}"#,
        r#"skill_load {"skill_name":"pdf-tools","start_line":99}"#,
        r#"skill_read {"skill_name":"pdf-tools"}"#,
        r#"skill_read {"skill_name":"pdf-tools","path":"assets/dot.png"}"#,
        r#"skill_read {"skill_name":"pdf-tools","path":"nowhere"}"#,
        "skill_read {}",
    ] {
        let (tool, arguments, _) = case(call);
        let wire = client.call(tool, arguments.clone());
        let shown = line.call(tool, arguments);
        for part in ["content", "structuredContent"] {
            assert_eq!(wire.get(part), shown.get(part), "{call}");
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
    assert_eq!(read(&[]), PDF_TOOLS.as_bytes());
    assert_eq!(read(&["SKILL.md"]), PDF_TOOLS.as_bytes());
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
            && wrong.stderr.contains("did you mean `pdf-tools`?"),
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
    assert_eq!(call(&["skill_name=pdf-tools"]).good().text(), PDF_TOOLS);
    assert_eq!(
        call(&["pdf-tools"]).good().text(),
        PDF_TOOLS,
        "the only one that is required needs no name"
    );
    assert_eq!(
        call(&["{\"skill_name\": \"pdf-tools\"}"]).good().text(),
        PDF_TOOLS
    );
    assert_eq!(
        call(&["-"])
            .reading("{\"skill_name\": \"pdf-tools\"}")
            .good()
            .text(),
        PDF_TOOLS
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
