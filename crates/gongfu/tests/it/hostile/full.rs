//! A disk that is full, a file that may not grow, another file system in the workspace: the old file
//! stays whole, and nothing temporary is left.
#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    reason = "whether this is CI, and where the tools of the system are, is asked of the environment"
)]

use gongfu_testing::json::{at, list_at, text_at};
use serde_json::{Value, json};

use crate::fixture::{Fixture, Run};
use crate::stdio::Client;

/// The server over skills and a workspace, started behind a script of the shell.
fn server(fixture: &Fixture, script: &str) -> Run {
    std::fs::create_dir_all(fixture.path("work/other")).unwrap();
    let work = fixture.path("work").to_string_lossy().into_owned();
    let run = fixture
        .only(["mcp", "--workspace", &work])
        .within(fixture.path(""));
    let path = std::env::var_os("PATH").unwrap_or_default();
    run.with("PATH", path).through(script)
}

/// Writes what fits, then what doesn't, as a file of the workspace, as one of a skill, as a skill.
fn fill(client: &mut Client) {
    client.initialize("2025-11-25");
    let names = |client: &mut Client| {
        let listed = client.good("file_list", json!({}));
        at(&listed, "/structuredContent/entries").clone()
    };
    let new = json!({ "name": "small", "description": "d", "instructions": "fits" });
    client.good("skill_create", new);
    let large = "x".repeat(600_000);
    for (write, read) in [
        (json!({ "path": "f" }), json!({ "path": "f" })),
        (
            json!({ "skill_name": "small", "path": "f" }),
            json!({ "skill_name": "small", "path": "f" }),
        ),
    ] {
        let is_skill = write.get("skill_name").is_some();
        let (writes, reads) = if is_skill {
            ("skill_write", "skill_read")
        } else {
            ("file_write", "file_read")
        };
        let with = |content: &str| {
            let mut write = write.clone();
            write["content"] = content.into();
            write
        };
        client.good(writes, with("fits"));
        let before = names(client);
        let error = client.bad(writes, with(&large));
        assert_eq!(text_at(&error, "/code"), "UNAVAILABLE", "{error}");
        assert_eq!(
            text_at(&client.good(reads, read), "/content/0/text"),
            "fits"
        );
        assert_eq!(names(client), before, "nothing temporary is left");
        client.good(writes, with("fits again"));
    }
    let listed = client.good("skill_read", json!({ "skill_name": "small" }));
    let files = list_at(&listed, "/structuredContent/files").len();
    assert_eq!(files, 2, "nothing temporary is left: {listed}");
    let new = json!({ "name": "large", "description": "d", "instructions": large });
    let error = client.bad("skill_create", new);
    assert_eq!(text_at(&error, "/code"), "UNAVAILABLE", "{error}");
    let listed = client.good("skill_list", json!({})).to_string();
    assert!(
        listed.contains("small") && !listed.contains("large"),
        "{listed}"
    );
}

#[test]
fn failed_write_keeps_the_old_file() {
    let fixture = Fixture::new();
    // 256 KiB, or twice as much: the unit is the shell's.
    let script = r#"ulimit -f 512; exec "$@""#;
    fill(&mut Client::start(&server(&fixture, script)));
    assert!(!fixture.path("skills/large").exists());
    let left: Vec<_> = std::fs::read_dir(fixture.path("skills")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// Returns whether file systems can be mounted here; a test that needs them is skipped otherwise.
#[cfg(target_os = "linux")]
pub(super) fn can_mount() -> bool {
    let may = server(&Fixture::new(), "unshare -rm true").run();
    let may_mount = may.code == Some(0);
    assert!(
        may_mount || std::env::var_os("CI").is_none(),
        "no file system can be mounted here: {}",
        may.stderr
    );
    if !may_mount {
        eprintln!(
            "skipped: no file system can be mounted here: {}",
            may.stderr
        );
    }
    may_mount
}

#[test]
#[cfg(target_os = "linux")]
fn full_disk_keeps_the_old_file() {
    let fixture = Fixture::new();
    if !can_mount() {
        return;
    }
    let mounts = "for place in work skills; do mount -t tmpfs -o size=256k tmpfs $place; done";
    let script = format!(r#"exec unshare -rm sh -c '{mounts}; exec "$@"' sh "$@""#);
    let mut client = Client::start(&server(&fixture, &script));
    fill(&mut client);
    // Another file system inside of the workspace.
    let fixture = Fixture::new();
    let script = r#"exec unshare -rm sh -c 'mount -t tmpfs tmpfs work/other; exec "$@"' sh "$@""#;
    let mut client = Client::start(&server(&fixture, script));
    client.initialize("2025-11-25");
    for content in ["one", "two"] {
        client.good(
            "file_write",
            json!({ "path": "other/deep/f", "content": content }),
        );
        let read = client.good("file_read", json!({ "path": "other/deep/f" }));
        assert_eq!(text_at(&read, "/content/0/text"), content);
    }
    assert_eq!(
        std::fs::read_dir(fixture.path("work/other"))
            .unwrap()
            .count(),
        0,
        "it was another file system"
    );
    let _: Value = client.good("file_list", json!({ "path": "other" }));
}
