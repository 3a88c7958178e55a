//! The workspace and the mounts, on the command line.

use crate::fixture::Fixture;

#[test]
fn workspace_is_the_project_else_a_private_folder() {
    let fixture = Fixture::new();
    fixture.write("project/.git/config", "");
    std::fs::create_dir_all(fixture.path("project/deep")).unwrap();
    let call = |folder: &str, arguments: &[&str]| {
        let mut command = vec!["tool", "call"];
        command.extend(arguments);
        fixture
            .gongfu(command)
            .within(fixture.path(folder))
            .good()
            .text()
    };
    call("project", &["file_write", "path=a.txt", "content=one"]);
    assert_eq!(call("project/deep", &["file_read", "a.txt"]), "one\n");
    assert_eq!(fixture.read("project/a.txt"), "one");
    let empty = call("user", &["file_list"]);
    assert!(
        empty.starts_with("the folder is empty\n(/workspace is "),
        "{empty}"
    );
    call("user", &["file_write", "path=b.txt", "content=one"]);
    assert!(!fixture.path("user/b.txt").exists(), "a home is no project");
    let made: Vec<String> = std::fs::read_dir(fixture.path("home/workspaces"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(made.len(), 1, "{made:?}");
    assert!(made[0].starts_with("user-"), "{made:?}");
    let named = [
        "file_write",
        "path=a.txt",
        "content=two",
        "--workspace",
        ".",
    ];
    call("project/deep", &named);
    assert_eq!(fixture.read("project/deep/a.txt"), "two");
}

#[test]
fn wrong_mount_is_refused_with_the_reason() {
    let fixture = Fixture::new();
    fixture.write("file", "");
    let file = fixture.path("file").to_string_lossy().into_owned();
    for (mount, code, words) in [
        ("/nowhere/at/all", 1, "use a folder that exists"),
        (file.as_str(), 1, "can't be mounted"),
        ("/a:b", 2, "HOST:GUEST:ro"),
        ("/a:/workspace", 2, "reserved for the workspace"),
        ("/a:/", 2, "can't be mounted"),
    ] {
        for command in [
            &["mcp"][..],
            &["tool", "list"],
            &["tool", "call", "file_list"],
        ] {
            let mut arguments = command.to_vec();
            arguments.extend(["--mount", mount]);
            let ran = fixture.only(arguments).ends(code);
            assert!(ran.stderr.contains(words), "{mount}: {}", ran.stderr);
        }
    }
}

#[test]
fn tool_call_answers_in_a_dialect() {
    let fixture = Fixture::with_skills();
    let call = |arguments: &[&str]| {
        let mut command = vec!["tool", "call", "--profile", "skills,agentskills"];
        command.extend(arguments);
        fixture.only(command)
    };
    let listed = call(&["skills_ls", "skills"]).good().text();
    assert!(
        listed.starts_with("Skills (2):\n  pdf-tools/  - "),
        "{listed}"
    );
    let failed = call(&["skills_ls", "skills/none"]).ends(1);
    assert_eq!(failed.stderr, "Error: skill 'none' not found\n");
    let failed = call(&["load_skill"]).ends(2);
    assert!(
        failed.stderr.starts_with("{\"detail\":"),
        "{}",
        failed.stderr
    );
    let json = call(&["load_skill", "none", "--json"]).ends(1).json();
    assert_eq!(json["isError"], true);
    let payload: serde_json::Value =
        serde_json::from_str(json["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(payload["code"], "SKILL_NOT_FOUND");
}
