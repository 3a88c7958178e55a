//! A person's own files: runs and servers work on the project that they start in.
#![cfg(target_os = "linux")]

use std::fs;

use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{at, text_at};
use serde_json::{Value, json};

use crate::fixture::{Fixture, Run};
use crate::site::Site;
use crate::stdio::Client;

/// A skill, and a repository with a file.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.skill("notes", "Takes notes.");
    fixture.write("skills/notes/scripts/report.sh", "wc -l \"$1\" >\"$2\"\n");
    fixture.write("project/.git/HEAD", "ref: refs/heads/main\n");
    fixture.write("project/data.csv", "a\nb\n");
    fixture.write("project/deep/own.csv", "c\n");
    fixture
}

fn sh(fixture: &Fixture, line: &str) -> Run {
    fixture.only(["run", "notes", "--", "sh", "-c", line])
}

#[test]
fn run_works_on_the_project_and_says_what_it_wrote() {
    let fixture = fixture();
    let report = ["run", "notes", "--", "sh", "scripts/report.sh"];
    let paths = ["/workspace/data.csv", "/workspace/report.txt"];
    let ran = fixture.only(report.iter().chain(&paths)).good();
    assert_eq!(ran.stderr, "gongfu: wrote report.txt\n");
    assert_eq!(
        fixture.read("project/report.txt"),
        "2 /workspace/data.csv\n"
    );
    // From a folder in it, the path is one that opens from there.
    let ran = sh(&fixture, "echo x >/workspace/x").within(fixture.path("project/deep"));
    let path = fs::canonicalize(fixture.path("project")).unwrap().join("x");
    assert_eq!(
        ran.good().stderr,
        format!("gongfu: wrote {}\n", path.display())
    );
    // A folder without a repository is a project as well.
    fs::create_dir(fixture.path("plain")).unwrap();
    sh(&fixture, "echo x >/workspace/x")
        .within(fixture.path("plain"))
        .good();
    assert_eq!(fixture.read("plain/x"), "x\n");
    // Many files are counted.
    let many = "for n in 1 2 3 4 5 6 7; do echo x >/workspace/n$n; done";
    let ran = sh(&fixture, many).good();
    assert_eq!(ran.stderr.lines().count(), 6, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("… and 2 more changes"),
        "{}",
        ran.stderr
    );
}

#[test]
fn what_waits_is_told_with_the_next_command() {
    let fixture = fixture();
    let ran = sh(&fixture, "echo x >/workspace/x; echo y >/workspace/.envrc").good();
    assert!(ran.stderr.contains("gongfu: wrote x\n"), "{}", ran.stderr);
    let waits = "gongfu: 1 change waits for approval: gongfu changes show ";
    let id = ran
        .stderr
        .split(waits)
        .nth(1)
        .unwrap_or_else(|| panic!("{}", ran.stderr));
    fixture.gongfu(["changes", "show", id.trim()]).good();
    assert!(!fixture.path("project/.envrc").exists());
    // A skill that agents obey where they start: its other files are ordinary.
    let line = "mkdir -p /workspace/app/skills/x; cd /workspace/app/skills/x; echo x >notes.md; echo y >Skill.md";
    let ran = sh(&fixture, line).good();
    assert!(ran.stderr.contains("1 change waits"), "{}", ran.stderr);
    assert!(!fixture.path("project/app/skills/x/Skill.md").exists());
    assert_eq!(fixture.read("project/app/skills/x/notes.md"), "x\n");
}

#[test]
fn folders_that_nobody_means_are_no_workspace() {
    let fixture = fixture();
    fs::create_dir_all(fixture.path("user/.ssh")).unwrap();
    fs::create_dir_all(fixture.path("home")).unwrap();
    for (folder, why) in [
        (fixture.path("user"), "it is a home folder"),
        (fixture.path("user/.ssh"), "it holds settings of programs"),
        (fixture.path("home"), "it belongs to gongfu"),
        (fixture.path(""), "your home folder is in it"),
        ("/".into(), "it is the root of the file system"),
        ("/etc".into(), "it is a system folder"),
    ] {
        let ran = sh(&fixture, "echo x >/workspace/planted-by-a-test").within(folder.clone());
        let ran = ran.good();
        assert!(
            ran.stderr.contains(why),
            "{}: {}",
            folder.display(),
            ran.stderr
        );
        assert!(
            !folder.join("planted-by-a-test").exists(),
            "{}",
            folder.display()
        );
    }
    for (folder, why) in [
        ("/", "root of the file system"),
        ("/etc", "system folder"),
        ("/nowhere/at/all", "no such folder"),
    ] {
        let ran = fixture
            .only(["run", "notes", "--workspace", folder, "--", "true"])
            .ends(1);
        assert!(
            ran.stderr.contains("--workspace") && ran.stderr.contains(why),
            "{folder}: {}",
            ran.stderr
        );
    }
    let doctor = fixture.only(["doctor"]).within(fixture.path("user"));
    let doctor = doctor.run().text();
    assert!(doctor.contains("it is a home folder"), "{doctor}");
    // What a person names is theirs to choose.
    let named = [
        "run",
        "notes",
        "--workspace",
        ".",
        "--",
        "sh",
        "-c",
        "echo x >/workspace/x",
    ];
    fixture.only(named).within(fixture.path("user")).good();
    assert_eq!(fixture.read("user/x"), "x\n");
    let doctor = fixture.only(["doctor"]).run().text();
    let project = fs::canonicalize(fixture.path("project")).unwrap();
    assert!(
        doctor.contains(&format!("project    {}", project.display())),
        "{doctor}"
    );
}

#[test]
fn file_of_the_current_folder_that_a_run_does_not_find_gets_a_hint() {
    let fixture = fixture();
    let cat = |path: &str, folder: &str| {
        let ran = fixture.only(["run", "notes", "--", "cat", path]);
        ran.within(fixture.path(folder)).ends(1).stderr
    };
    let hint = "data.csv: in the run, this file is /workspace/data.csv\n";
    assert!(cat("data.csv", "project").contains(hint));
    let own = "in the run, this file is /workspace/deep/own.csv\n";
    assert!(cat("own.csv", "project/deep").contains(own));
    assert!(cat("/workspace/own.csv", "project/deep").contains(own));
    let host = fs::canonicalize(fixture.path("project/data.csv")).unwrap();
    assert!(cat(host.to_str().unwrap(), "project").contains(hint));
    let ran = sh(&fixture, "cat <data.csv").run();
    assert!(ran.stderr.contains(hint), "{}", ran.stderr);
    // A home is no project, so its files are seen only where a person says so.
    fixture.write("user/mine.csv", "x");
    let none = cat("mine.csv", "user");
    assert!(none.contains("add --workspace .\n"), "{none}");
    // The controls: a file that is nowhere, one that the run sees, and a run that succeeds.
    assert!(!cat("nowhere.csv", "project").contains("gongfu"));
    fixture.write("project/SKILL.md", "x");
    let seen = sh(&fixture, "cat SKILL.md >/dev/null; exit 1").ends(1);
    assert!(!seen.stderr.contains("in the run"), "{}", seen.stderr);
    assert!(
        !sh(&fixture, "echo data.csv")
            .good()
            .stderr
            .contains("in the run")
    );
}

#[test]
fn skill_read_finds_what_a_run_left_beside_the_skill() {
    let fixture = fixture();
    let ran = sh(&fixture, "echo left >out.txt; echo z >scripts/report.sh").good();
    let path = ran
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("gongfu: wrote "));
    assert_eq!(
        fs::read_to_string(path.unwrap()).unwrap(),
        "left\n",
        "{}",
        ran.stderr
    );
    let read = |path: &str| fixture.only(["skill", "read", "notes", path]);
    assert_eq!(read("out.txt").good().text(), "left\n");
    assert_eq!(read("scripts/report.sh").good().text(), "z\n");
    let nearest = read("ou.txt").ends(1).stderr;
    assert!(nearest.contains("out.txt"), "{nearest}");
    // Instructions are always the skill's own.
    sh(&fixture, "echo planted >SKILL.md").good();
    assert!(!read("SKILL.md").good().text().contains("planted"));
}

/// A server in a folder, for a client with these capabilities.
fn server(fixture: &Fixture, folder: &str, capabilities: Value) -> Client {
    let mut client = Client::start(&fixture.only(["mcp"]).within(fixture.path(folder)));
    client.initialize_as("2025-11-25", capabilities);
    client
}

/// Answers the server's request for roots.
fn answer_roots(client: &mut Client, roots: &[String]) {
    let Some(request) = client.receive(TIMEOUT) else {
        panic!("the server asked for no roots");
    };
    assert_eq!(text_at(&request, "/method"), "roots/list", "{request}");
    let roots: Vec<Value> = roots.iter().map(|uri| json!({ "uri": uri })).collect();
    client.send(
        &json!({ "jsonrpc": "2.0", "id": at(&request, "/id"), "result": { "roots": roots } }),
    );
}

fn uri(fixture: &Fixture, folder: &str) -> String {
    format!("file://{}", fixture.path(folder).display()).replace(' ', "%20")
}

/// The folder that a server says it works in.
fn workspace(client: &mut Client) -> String {
    let listed = client.good("file_list", json!({}));
    text_at(&listed, "/structuredContent/workspace").to_owned()
}

#[test]
fn server_works_on_the_project_that_it_starts_in() {
    let fixture = fixture();
    // It asks for no roots then.
    let mut client = server(&fixture, "project/deep", json!({ "roots": {} }));
    let project = fs::canonicalize(fixture.path("project")).unwrap();
    assert_eq!(workspace(&mut client), project.to_string_lossy());
    let read = client.good("file_read", json!({ "path": "data.csv" }));
    assert!(
        text_at(&read, "/content/0/text").starts_with("a\nb"),
        "{read}"
    );
    client.close();
}

#[test]
fn server_without_a_project_takes_the_first_root_that_is_one() {
    let fixture = fixture();
    fs::create_dir_all(fixture.path("my other/sub")).unwrap();
    fixture.write("my other/.git/HEAD", "x");
    fixture.skill_in(
        "my other/.claude/skills",
        "of-project",
        "Comes with the project.",
    );
    let roots = [
        "file:///".to_owned(),
        "file:///etc".to_owned(),
        "https://example.com".to_owned(),
    ];
    let refused = [
        &roots[..],
        &[uri(&fixture, "user"), uri(&fixture, "nowhere")],
    ]
    .concat();
    let all = [
        &refused[..],
        &[uri(&fixture, "my other/sub"), uri(&fixture, "project")],
    ]
    .concat();

    let mut client = Client::start(&fixture.gongfu(["mcp"]).within(fixture.path("user")));
    client.initialize_as("2025-11-25", json!({ "roots": { "listChanged": true } }));
    // A call that comes before the answer waits for it.
    client.begin(
        "early",
        "tools/call",
        json!({ "name": "file_list", "arguments": {} }),
    );
    answer_roots(&mut client, &all);
    let early = client.response(&"early".into());
    let other = fs::canonicalize(fixture.path("my other")).unwrap();
    assert_eq!(
        text_at(&early, "/result/structuredContent/workspace"),
        other.to_string_lossy()
    );
    client.good("file_write", json!({ "path": "a.txt", "content": "x" }));
    assert_eq!(fixture.read("my other/a.txt"), "x");
    client.good("skill_load", json!({ "skill_name": "of-project" }));
    // Other roots: the workspace moves only where the old one isn't among them.
    client.notify("notifications/roots/list_changed", json!({}));
    answer_roots(
        &mut client,
        &[uri(&fixture, "project"), uri(&fixture, "my other")],
    );
    assert_eq!(workspace(&mut client), other.to_string_lossy());
    client.close();

    for (capabilities, roots) in [
        (json!({}), None),
        (json!({ "roots": {} }), Some(&refused[..])),
        (json!({ "roots": {} }), Some(&[][..])),
    ] {
        let mut client = server(&fixture, "user", capabilities);
        if let Some(roots) = roots {
            answer_roots(&mut client, roots);
        }
        let private = fixture.path("home/workspaces");
        let workspace = workspace(&mut client);
        assert!(
            workspace.starts_with(&*private.to_string_lossy()),
            "{workspace}"
        );
        let end = client.close();
        assert!(end.stderr.contains("it is a home folder"), "{}", end.stderr);
    }
}

#[test]
fn http_client_names_no_folder() {
    let fixture = fixture();
    let run = fixture.only(["serve", "--listen", "127.0.0.1:0"]);
    let site = Site::start(&run);
    let call = json!({ "name": "file_list", "arguments": {} });
    let listed = site.ask("tools/call", call);
    let workspace = text_at(&listed, "/structuredContent/workspace");
    let private = fixture.path("home/workspaces");
    assert!(
        workspace.starts_with(&*private.to_string_lossy()),
        "{workspace}"
    );
}

#[test]
fn silent_client_does_not_stop_its_calls() {
    let fixture = fixture();
    let mut client = server(&fixture, "user", json!({ "roots": {} }));
    // It never answers.
    let private = fixture.path("home/workspaces");
    assert!(workspace(&mut client).starts_with(&*private.to_string_lossy()));
    client.close();
}
