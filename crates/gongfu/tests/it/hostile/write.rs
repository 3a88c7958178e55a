//! Paths and names that climb, given to every tool that takes one: nothing outside is read, made or
//! changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::climb::climbs;
use super::{CANARY, guarded_world};
use crate::stdio::{Client, result};
use crate::world::{World, text_at};

/// A server with every tool, over the folder of skills and a workspace.
fn server(world: &World, more: &[&str]) -> Client {
    std::fs::create_dir_all(world.path("work")).unwrap();
    let work = world.path("work").to_string_lossy().into_owned();
    let mut arguments = vec!["mcp", "--profile", "all", "--workspace", &work];
    arguments.extend(more);
    let mut client = Client::start(&world.only(arguments));
    client.initialize("2025-11-25");
    client
}

/// Every file of the world that no tool may touch, with its content.
fn untouchable(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![world.path("")];
    let allowed: Vec<PathBuf> = ["work", "skills/pdf-tools", "home"]
        .iter()
        .map(|path| world.path(path))
        .collect();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if allowed.contains(&path) {
                continue;
            }
            let bytes = if path.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else {
                std::fs::read(&path).unwrap()
            };
            files.insert(path, bytes);
        }
    }
    files
}

/// Each tool with an argument that says where: a call that works, the argument, and whether what is
/// given there may be the name of a new thing inside.
fn calls() -> Vec<(&'static str, Value, &'static str)> {
    let pdf = "pdf-tools";
    vec![
        ("file_list", json!({ "path": "" }), "path"),
        ("file_read", json!({ "path": "good.txt" }), "path"),
        (
            "file_write",
            json!({ "path": "good.txt", "content": "x" }),
            "path",
        ),
        (
            "file_write",
            json!({ "path": "good.txt", "old_text": "x", "new_text": "x" }),
            "path",
        ),
        ("skill_load", json!({ "skill_name": pdf }), "skill_name"),
        (
            "skill_read",
            json!({ "skill_name": pdf, "path": "hello.txt" }),
            "path",
        ),
        ("skill_read", json!({ "skill_name": pdf }), "skill_name"),
        (
            "skill_write",
            json!({ "skill_name": pdf, "path": "new.txt", "content": "x" }),
            "path",
        ),
        (
            "skill_write",
            json!({ "skill_name": pdf, "path": "new.txt", "content": "x" }),
            "skill_name",
        ),
        ("load_skill", json!({ "skill_name": pdf }), "skill_name"),
        (
            "read_reference_file",
            json!({ "skill_name": pdf, "file_name": "hello.txt" }),
            "file_name",
        ),
        ("read_skill", json!({ "skill_name": pdf }), "skill_name"),
        (
            "autosnippet_load_skill",
            json!({ "skillName": pdf }),
            "skillName",
        ),
        ("skills_ls", json!({ "path": "skills" }), "path"),
        ("skills_read", json!({ "path": "skills/pdf-tools" }), "path"),
        (
            "skills_write",
            json!({ "path": "good.txt", "content": "x" }),
            "path",
        ),
    ]
}

#[test]
fn no_tool_takes_a_path_that_climbs() {
    let world = guarded_world();
    let mut client = server(&world, &[]);
    world.write("work/good.txt", "x");
    for (tool, arguments, _) in calls() {
        client.good(tool, arguments);
    }
    let before = untouchable(&world);
    let mut climbs = climbs(&world);
    for climb in climbs.clone() {
        climbs.push(format!("skills/pdf-tools/{climb}"));
        climbs.push(format!("workspace/{climb}"));
    }
    climbs.extend(["x".repeat(4_096), format!("{}x", "y/".repeat(2_048))]);
    let mut inside = 0;
    for climb in climbs {
        for (tool, mut arguments, name) in calls() {
            arguments[name] = climb.clone().into();
            let answer = client.call(tool, arguments);
            let shown = answer.to_string();
            assert!(
                !shown.contains(CANARY) && !shown.contains("root:"),
                "{tool} {climb:?}: {shown}"
            );
            assert!(
                shown.len() < 20_000,
                "{tool} {climb:?}: {} bytes",
                shown.len()
            );
            if answer.get("isError") != Some(&Value::Bool(true)) {
                inside += 1;
                let mut parts = climb.split('/');
                let plain = parts.all(|part| part.trim() != "..")
                    && !climb.contains("..%")
                    && !climb.contains("%2e");
                assert!(plain, "{tool} {climb:?}: {shown}");
            }
        }
    }
    assert!(inside > 0, "names that only look odd are names");
    assert_eq!(untouchable(&world), before);
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn no_new_skill_is_made_elsewhere() {
    let world = guarded_world();
    let mut client = server(&world, &[]);
    let before = untouchable(&world);
    for climb in climbs(&world) {
        for tool in ["skill_create", "skills_create"] {
            let arguments = json!({ "name": climb, "description": "d", "instructions": "i" });
            let answer = client.call(tool, arguments);
            assert_eq!(
                answer.get("isError"),
                Some(&Value::Bool(true)),
                "{tool} {climb:?}"
            );
        }
    }
    assert_eq!(untouchable(&world), before);
    let good = json!({ "name": "good", "description": "d" });
    client.good("skill_create", good);
    assert!(world.path("skills/good/SKILL.md").is_file(), "the control");
}

#[test]
#[cfg(unix)]
fn a_strangers_link_leads_nowhere() {
    use std::os::unix::fs::symlink;
    let world = guarded_world();
    let mut client = server(&world, &[]);
    let places = [world.path("work"), world.path("skills/pdf-tools")];
    for place in &places {
        symlink(world.path("outside"), place.join("away")).unwrap();
        symlink("../../outside/secret.txt", place.join("file")).unwrap();
        symlink(world.path("outside/secret.txt"), place.join("absolute")).unwrap();
        symlink(world.path("outside/none"), place.join("dangling")).unwrap();
        symlink("/proc/self/root", place.join("magic")).unwrap();
    }
    let control = std::fs::read_to_string(places[0].join("away/secret.txt")).unwrap();
    assert_eq!(control, CANARY, "without the handle it can be read");
    let before = untouchable(&world);
    let out = world.path("outside/secret.txt");
    let magic = format!("magic{}", out.display());
    for link in [
        "away/secret.txt",
        "away/new.txt",
        "away/deep/new.txt",
        "file",
        "absolute",
        "dangling",
        &magic,
    ] {
        for (tool, mut arguments, name) in calls() {
            if !["path", "file_name"].contains(&name) {
                continue;
            }
            let given = if tool.starts_with("skills_") {
                vec![format!("./{link}"), format!("skills/pdf-tools/{link}")]
            } else {
                vec![link.to_owned()]
            };
            for given in given {
                arguments[name] = given.clone().into();
                let answer = client.call(tool, arguments.clone());
                let shown = answer.to_string();
                assert!(!shown.contains(CANARY), "{tool} {given}: {shown}");
                let refused = answer.get("isError") == Some(&Value::Bool(true));
                assert!(refused, "{tool} {given}: {shown}");
            }
        }
    }
    assert_eq!(untouchable(&world), before);
}

#[test]
fn a_mount_is_as_wide_as_it_says_and_no_wider() {
    let world = guarded_world();
    world.write("data/file.txt", "data");
    world.write("data2/file.txt", CANARY);
    let data = world.path("data").to_string_lossy().into_owned();
    let read_only = format!("{data}:/locked:ro");
    let mut client = server(&world, &["--mount", &data, "--mount", &read_only]);
    let read = |client: &mut Client, path: &str| client.call("file_read", json!({ "path": path }));
    let good = read(&mut client, &format!("{data}/file.txt"));
    assert_eq!(text_at(&good, "/content/0/text"), "data", "the control");
    let before = untouchable(&world);
    for path in [
        format!("{data}2/file.txt"),
        format!("{data}/../data2/file.txt"),
        format!("{data}/../outside/secret.txt"),
        format!("/.{data}/../data2/file.txt"),
        "/locked/../outside/secret.txt".to_owned(),
        "/lockedx/file.txt".to_owned(),
        world
            .path("outside/secret.txt")
            .to_string_lossy()
            .into_owned(),
        "/".to_owned(),
        "//".to_owned(),
    ] {
        for tool in ["file_read", "file_list", "skills_ls", "skills_read"] {
            let answer = client.call(tool, json!({ "path": path }));
            assert_eq!(
                answer.get("isError"),
                Some(&Value::Bool(true)),
                "{tool} {path}: {answer}"
            );
            assert!(!answer.to_string().contains(CANARY), "{tool} {path}");
        }
        let write = json!({ "path": path, "content": "planted" });
        for tool in ["file_write", "skills_write"] {
            let answer = client.call(tool, write.clone());
            assert_eq!(
                answer.get("isError"),
                Some(&Value::Bool(true)),
                "{tool} {path}"
            );
        }
    }
    let locked = json!({ "path": "/locked/new.txt", "content": "planted" });
    let error = client.bad("file_write", locked);
    assert_eq!(text_at(&error, "/code"), "SOURCE_READ_ONLY");
    assert_eq!(untouchable(&world), before);
}

#[test]
fn only_one_source_is_written_to() {
    let world = guarded_world();
    world.skill_in("second", "other", "Lies elsewhere.");
    let second = world.path("second").to_string_lossy().into_owned();
    let mut run = vec!["mcp", "--no-default-dirs", "--skills-dir"];
    let first = world.path("skills").to_string_lossy().into_owned();
    run.extend([first.as_str(), "--skills-dir", &second]);
    let mut client = Client::start(&world.gongfu(run));
    client.initialize("2025-11-25");
    let before = untouchable(&world);
    let write = json!({ "skill_name": "other", "path": "x.md", "content": "planted" });
    let error = client.bad("skill_write", write);
    assert_eq!(text_at(&error, "/code"), "SOURCE_READ_ONLY");
    assert!(text_at(&error, "/hint").contains(&first), "{error}");
    assert_eq!(untouchable(&world), before);
    let listed = result(client.request("tools/list", json!({})));
    assert!(listed.to_string().contains("skill_write"));
}

#[test]
fn an_edit_keeps_every_other_byte() {
    let world = guarded_world();
    let odd = b"\xEF\xBB\xBF---\r\nname: pdf-tools\r\ndescription:   Old text.  # why\r\n---\r\n\r\n\tBody \r\nlast\xE9";
    let path = world.write("skills/pdf-tools/SKILL.md", odd);
    let mut client = server(&world, &[]);
    let edit = json!({ "skill_name": "pdf-tools", "old_text": "Old text", "new_text": "New text" });
    client.good("skill_write", edit);
    let wanted = String::from_utf8_lossy(odd).replace("Old", "New");
    let after = std::fs::read(path).unwrap();
    assert_eq!(String::from_utf8_lossy(&after), wanted);
    assert_eq!(
        after.len(),
        odd.len(),
        "the byte that is no UTF-8 is as it was"
    );
    let listed = client.good("skill_list", json!({})).to_string();
    assert!(
        listed.contains("New text"),
        "the next call sees it: {listed}"
    );
    assert!(Path::new(&world.path("home/audit/audit.jsonl")).exists());
}

#[cfg(unix)]
#[test]
fn nothing_is_written_without_an_audit() {
    let world = World::with_skills();
    let mut client = server(&world, &[]);
    let write = |name: &str| json!({ "path": name, "content": "x" });
    client.good("file_write", write("one"));
    let file = world.path("home/audit/audit.jsonl");
    std::fs::remove_file(&file).unwrap();
    client.good("file_write", write("two"));
    let audit = world.read("home/audit/audit.jsonl");
    assert_eq!(audit.matches("file_write").count(), 2, "{audit}");
    // Nothing can be written where a folder stands.
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    client.bad("file_write", write("three"));
    std::fs::remove_dir(&file).unwrap();
    client.bad("file_read", json!({ "path": "three" }));
    client.good("file_write", write("four"));
    let audit = world.read("home/audit/audit.jsonl");
    assert!(audit.contains("file_write"), "{audit}");
}

#[cfg(unix)]
#[test]
fn a_read_only_file_is_no_wrong_path() {
    let world = World::with_skills();
    let mut client = server(&world, &[]);
    let skill = world.path("skills/pdf-tools/SKILL.md");
    for path in [world.write("work/f", "abc"), skill] {
        let mut permissions = std::fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&path, permissions).unwrap();
    }
    let edit = json!({ "skill_name": "pdf-tools", "old_text": "Fills forms", "new_text": "Fills" });
    let write = json!({ "path": "f", "content": "x" });
    for (tool, arguments) in [("file_write", write), ("skill_write", edit)] {
        let error = client.bad(tool, arguments);
        assert_eq!(text_at(&error, "/code"), "UNAVAILABLE", "{error:#}");
        let message = text_at(&error, "/message");
        assert!(message.contains("read-only"), "{error:#}");
    }
    assert_eq!(world.read("work/f"), "abc");
}
