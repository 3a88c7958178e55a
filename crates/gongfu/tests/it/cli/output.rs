//! The form of answers: columns, colours, JSON everywhere, and nothing that nobody wanted.

use gongfu_testing::json::{at, text_at};
use serde_json::json;

use crate::fixture::Fixture;

const LONG: &str = "Merges, splits, rotates, watermarks and fills PDF files. Use it for everything that has to do with PDF files, forms and scans.";

/// Skills of two sources, one of them shadowed, one disabled, one with a tag.
fn library() -> Fixture {
    let fixture = Fixture::new();
    fixture.skill_in("one", "pdf", LONG);
    fixture.skill_in("two", "pdf", "Another one.");
    fixture.write(
        "two/csv/SKILL.md",
        "---\nname: csv\ndescription: 把表格变成图表。Reads tables.\nmetadata:\n  tags: tables\n---\n\nText.\n",
    );
    fixture
        .over(&["one", "two"], ["skill", "disable", "csv"])
        .good();
    fixture
}

#[test]
fn list_is_columns_with_a_count() {
    let fixture = library();
    for command in [&["list"][..], &["ls"], &["skill", "list"], &["skill", "ls"]] {
        let ran = fixture
            .over(&["one", "two"], command)
            .with("COLUMNS", "80")
            .good();
        let text = ran.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "NAME     SOURCE  DESCRIPTION",
                "pdf      one     Merges, splits, rotates, watermarks and fills PDF files. Use i…",
                "csv      two     [disabled] 把表格变成图表。Reads tables.",
                "two/pdf          [shadowed] Another one.",
            ]
        );
        assert_eq!(
            ran.stderr,
            "3 skills from 2 sources, 1 disabled, 1 shadowed\n"
        );
    }
    let narrow = fixture
        .over(&["one", "two"], ["list"])
        .with("COLUMNS", "40")
        .good();
    let text = narrow.text();
    assert!(
        text.starts_with("pdf\n  Merges, splits, rotates, watermarks a…\n"),
        "{text}"
    );
    // A file has no edge at which text would have to be cut.
    let piped = fixture.over(&["one", "two"], ["list"]).good().text();
    assert!(piped.contains(LONG), "{piped}");
    let quiet = fixture.over(&["one", "two"], ["list", "-q"]).good();
    assert!(quiet.stderr.is_empty() && !quiet.stdout.is_empty());
}

#[test]
fn list_shows_what_filters_admit() {
    let fixture = library();
    for (filter, names) in [
        (&["--source", "two"][..], &["two/csv", "two/pdf"][..]),
        (&["--disabled"], &["two/csv"]),
        (&["--shadowed"], &["two/pdf"]),
        (&["--tag", "Tables"], &["two/csv"]),
        (&["--source", "one", "--disabled"], &[]),
    ] {
        let arguments = [&["list", "--json"], filter].concat();
        let listed = fixture.over(&["one", "two"], arguments).good().json();
        let listed = listed.as_array().unwrap().iter();
        let found: Vec<&str> = listed.map(|skill| text_at(skill, "/full_name")).collect();
        assert_eq!(found, names, "{filter:?}");
    }
    let ran = fixture.over(&["one", "two"], ["list", "--disabled"]).good();
    assert_eq!(ran.stderr, "1 of 3 skills\n");
}

#[test]
fn search_hit_is_three_lines() {
    let fixture = library();
    for command in [&["search"][..], &["find"], &["skill", "search"]] {
        let arguments = [command, &["watermarks", "pdf"]].concat();
        let ran = fixture
            .over(&["one", "two"], arguments)
            .with("COLUMNS", "60")
            .good();
        let text = ran.text();
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("pdf  score ") && lines[0].ends_with("  one/pdf"),
            "{text}"
        );
        assert_eq!(
            lines[1],
            "  Merges, splits, rotates, watermarks and fills PDF files.…"
        );
        assert!(lines[2].starts_with("  > "), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 60),
            "{text}"
        );
    }
}

#[test]
fn color_is_used_where_it_is_wanted() {
    let fixture = library();
    for (color, variables, painted) in [
        ("always", &[][..], true),
        ("always", &[("NO_COLOR", "1"), ("TERM", "dumb")], true),
        ("never", &[], false),
        ("auto", &[], false),
    ] {
        for command in [&["list"][..], &["--help"], &["lint"]] {
            let arguments = [&["--color", color], command].concat();
            let mut run = fixture.gongfu(arguments);
            for (name, value) in variables {
                run = run.with(name, value);
            }
            let ran = run.run();
            let text = format!("{}{}", ran.text(), ran.stderr);
            assert_eq!(
                text.contains('\u{1b}'),
                painted,
                "{color} {command:?}: {text:?}"
            );
        }
    }
}

#[test]
fn every_command_answers_as_json() {
    let fixture = Fixture::with_skills();
    fixture.write("user/.cursor/mcp.json", "{}");
    let json = |words: &str, code: i32| {
        let words: Vec<&str> = words.split(' ').collect();
        fixture.only(words).ends(code).json()
    };
    let plain = |words: &str, code: i32| {
        let words: Vec<&str> = words.split(' ').collect();
        fixture.gongfu(words).ends(code).json()
    };
    let init = json("init --offline --json", 0);
    assert_eq!(at(&init, "/skills"), 2);
    assert_eq!(text_at(&init, "/clients/0/name"), "cursor");
    let install = plain("client install cursor --json", 0);
    assert_eq!(text_at(&install, "/0/outcome"), "added");
    assert!(text_at(&install, "/0/backup").contains("/clients/cursor-"));
    let diff = plain("--json client uninstall cursor --dry-run", 0);
    assert!(text_at(&diff, "/0/diff").contains("-  \"mcpServers\""));
    let foreign = "{\"mcpServers\": {\"gongfu\": {\"command\": \"x\"}}}";
    fixture.write("user/.cursor/mcp.json", foreign);
    let refused = plain("client install cursor --json", 1);
    assert_eq!(text_at(&refused, "/0/error/code"), "FOREIGN_ENTRY");
    let print = plain("client print codex --json", 0);
    assert!(text_at(&print, "/entry").contains("[mcp_servers.gongfu]"));
    let print = plain("client print --json", 2);
    assert_eq!(text_at(&print, "/error/code"), "MISSING_ARGUMENT");
    assert!(text_at(&print, "/error/hint").contains("codex, cursor"));
    let grant = json("grant add pdf-tools api.example.com --json", 0);
    assert_eq!(at(&grant, "/hosts"), &json!(["api.example.com"]));
    assert_eq!(at(&grant, "/changed"), &json!(true));
    for (words, code, exit) in [
        ("approve allow 1 --json", "APPROVAL_UNKNOWN", 1),
        ("lint --json", "UNKNOWN_COMMAND", 2),
        ("explain nosuch --json", "UNKNOWN_CODE", 2),
        ("skill new A_b --json", "name-uppercase", 2),
        ("skill check --fix --json", "MISSING_ARGUMENT", 2),
        ("skill show nosuch --json", "SKILL_NOT_FOUND", 1),
        ("list --source nosuch --json", "UNKNOWN_SOURCE", 2),
        ("serve --listen example.com --json", "INVALID_VALUE", 2),
    ] {
        let error = plain(words, exit);
        assert_eq!(text_at(&error, "/error/code"), code, "{words}");
        assert!(!text_at(&error, "/error/hint").is_empty(), "{words}");
    }
}

#[test]
fn tool_argument_that_was_meant_is_named_over_mcp_too() {
    let fixture = Fixture::with_skills();
    let mut client = fixture.client();
    let asked = json!({ "name": "skill_load", "arguments": { "name": "pdf-tools" } });
    let answer = client.ask("tools/call", asked).to_string();
    assert!(answer.contains("did you mean `skill_name`?"), "{answer}");
}

#[test]
fn package_environment_that_is_not_built_is_a_failure() {
    let fixture = Fixture::with_skills();
    fixture.write("skills/pdf-tools/scripts/x.py", "import requests\n");
    let ran = fixture.only(["env", "build", "pdf-tools"]).ends(1);
    let text = ran.text();
    assert!(text.contains("nothing was installed"), "{text}");
    assert!(text.contains("--inferred"), "{text}");
}

#[test]
fn client_that_is_not_here_is_configured_with_a_note() {
    let fixture = Fixture::new();
    let said = fixture
        .gongfu(["client", "install", "vscode"])
        .good()
        .text();
    assert!(
        said.contains("VS Code doesn't seem to be installed here"),
        "{said}"
    );
}

#[test]
fn completions_know_skills_sources_and_clients() {
    let fixture = library();
    let complete = |words: &[&str]| {
        let arguments = [&["complete", "--"], words].concat();
        let folders = [fixture.path("one"), fixture.path("two")];
        let run = fixture.gongfu(arguments);
        run.with("GONGFU_SKILLS_DIRS", std::env::join_paths(folders).unwrap())
            .good()
            .text()
    };
    let words = |lines: String| -> Vec<String> {
        let lines = lines.lines();
        let words = lines.filter_map(|line| Some(line.split_once('\t')?.0.to_owned()));
        words.collect()
    };
    assert_eq!(words(complete(&["skill", "show", "p"])), ["pdf"]);
    assert!(words(complete(&["run", ""])).contains(&"csv".to_owned()));
    assert_eq!(words(complete(&["skill", "disa"])), ["disable"]);
    assert_eq!(words(complete(&["client", "install", "cu"])), ["cursor"]);
    assert_eq!(
        words(complete(&["tool", "call", "skill_lo"])),
        ["skill_load"]
    );
    assert_eq!(words(complete(&["mcp", "--profile", "skills"])), ["skills"]);
    let sources = words(complete(&["list", "--source=e"]));
    assert!(
        sources.contains(&"--source=environment".to_owned()),
        "{sources:?}"
    );
    // A shell would obey such a name.
    fixture.write(
        "one/bad/SKILL.md",
        "---\nname: $(touch x)\ndescription: X.\n---\n\nText.\n",
    );
    let all = complete(&["skill", "show", ""]);
    assert!(!all.contains("touch"), "{all}");
}
