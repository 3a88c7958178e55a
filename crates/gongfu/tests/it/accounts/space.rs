//! The spaces of users, from outside: what each has, and nothing of another.

use std::fs;
use std::path::Path;
use std::time::Duration;

use gongfu_testing::json::text_at;
use serde_json::{Value, json};

use super::{SECRET, Users};

#[test]
fn users_have_nothing_of_each_other() {
    let users = Users::with_secret();
    let folder = users.folder();
    let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
    assert!(read("SKILL.md").contains(SECRET));
    assert_eq!(read("scripts/sum.sh"), format!("echo {SECRET}\n"));
    // Every tool that reads: first by the user whose it is.
    let run = json!({"skill_name": "budget", "command": "cat /workspace/sum.txt"});
    let file = json!({"skill_name": "budget", "path": "scripts/sum.sh"});
    for (name, arguments) in [
        ("skill_list", json!({})),
        ("skill_search", json!({"query": SECRET})),
        ("skill_load", json!({"skill_name": "budget"})),
        ("skill_read", file),
        ("file_read", json!({"path": "sum.txt"})),
        ("skill_run", run),
    ] {
        let (own, failed) = users.call(&users.ann, name, arguments.clone());
        assert!(!failed && own.contains(SECRET), "{name} {arguments}: {own}");
        let rest = users.tool(&users.ann, name, arguments.clone());
        assert!(
            rest.status == 200 && rest.body.contains(SECRET),
            "{name}: {rest:#?}"
        );
        let (other, _) = users.call(&users.bob, name, arguments.clone());
        assert!(!other.contains(SECRET), "{name} {arguments}: {other}");
        let rest = users.tool(&users.bob, name, arguments);
        assert!(!rest.body.contains(SECRET), "{name}: {rest:#?}");
    }
    // One name, two skills.
    let create = json!({"name": "budget", "description": "Another one of bob. Use it for bob."});
    assert_eq!(users.tool(&users.bob, "skill_create", create).status, 200);
    assert!(users.budget(&users.bob).contains("of bob"));
    assert!(users.budget(&users.ann).contains(SECRET));
}

#[test]
fn shared_skills_are_everybodys_and_nobodys_to_change() {
    let users = Users::new();
    let write = json!({"skill_name": "pdf-tools", "path": "x.md", "content": "x"});
    for token in [&users.ann, &users.bob] {
        let (text, failed) = users.call(token, "skill_load", json!({"skill_name": "pdf-tools"}));
        assert!(!failed, "{text}");
        let refused = users.tool(token, "skill_write", write.clone());
        assert_eq!(text_at(&refused.json(), "/code"), "SOURCE_READ_ONLY");
    }
}

#[test]
fn skills_stay_after_a_restart_and_go_with_their_user() {
    let users = Users::with_secret().restarted();
    assert!(users.budget(&users.ann).contains(SECRET));
    let folder = users.folder();
    assert!(folder.exists());
    let fixture = &users.fixture;
    fixture.gongfu(["user", "delete", "ann", "--yes"]).good();
    // A credential that was just used counts for half a second.
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(users.mcp(&users.ann, "tools/list", json!({})).status, 401);
    assert!(!folder.exists());
    let left = files_with(&fixture.path("home"), SECRET);
    assert_eq!(left, Vec::<String>::new());
}

/// The files below a folder that hold a text, but for those of the database, whose free pages stay for a while.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files_with(&path, text));
        } else if let Ok(bytes) = fs::read(&path)
            && !path.to_string_lossy().contains("server.db")
            && bytes
                .windows(text.len())
                .any(|window| window == text.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn change_by_hand_is_reported_and_not_served() {
    let users = Users::with_secret();
    let doctor = || users.fixture.gongfu(["doctor"]).run().text();
    assert!(doctor().contains("2 users"), "{}", doctor());
    let script = users.folder().join("scripts/sum.sh");
    fs::write(&script, "echo changed\n").unwrap();
    assert!(
        doctor().contains("1 stored skill changed by hand"),
        "{}",
        doctor()
    );
    let run = json!({"skill_name": "budget", "command": "sh scripts/sum.sh"});
    let ran = users.tool(&users.ann, "skill_run", run);
    assert!(
        ran.body.contains(SECRET) && !ran.body.contains("echo changed"),
        "{ran:#?}"
    );
    assert_eq!(
        fs::read_to_string(&script).unwrap(),
        format!("echo {SECRET}\n")
    );
    // What was changed is still there.
    assert!(doctor().contains(".changed"), "{}", doctor());
}

#[test]
fn paths_of_a_skill_differ_on_every_system() {
    let users = Users::new();
    let create = json!({"name": "mine", "description": "Counts things. Use it to count."});
    let made = users.rest(&users.ann, "POST", "/skills", &create).json();
    let file = |path: &str| format!("/skills/{}/files/{path}", text_at(&made, "/id"));
    let put = |path: &str| users.rest(&users.ann, "PUT", &file(path), &json!({}));
    assert_eq!(put("a/b").status, 201);
    for path in ["a", "a/b/c", "A/B"] {
        let refused = put(path);
        let code = text_at(&refused.json(), "/code").to_owned();
        assert_eq!(
            (refused.status, &*code),
            (422, "INVALID_FILE_PATH"),
            "{path}: {refused:#?}"
        );
    }
    assert_eq!(put("a/b").status, 200);
    assert_eq!(put("a/c").status, 201);
}

#[test]
fn changes_of_different_files_at_once_all_count() {
    let users = Users::new();
    let create = json!({"name": "mine", "description": "Counts things. Use it to count."});
    let made = users.rest(&users.ann, "POST", "/skills", &create).json();
    let id = text_at(&made, "/id");
    std::thread::scope(|scope| {
        for number in 0..4 {
            let users = &users;
            scope.spawn(move || {
                let path = format!("/skills/{id}/files/{number}.txt");
                let reply = users.rest(&users.ann, "PUT", &path, &json!({}));
                assert_eq!(reply.status, 201, "{reply:#?}");
            });
        }
    });
    let listed = users
        .rest(&users.ann, "GET", &format!("/skills/{id}"), &Value::Null)
        .json();
    assert_eq!(listed["files"], 5, "{listed}");
}
