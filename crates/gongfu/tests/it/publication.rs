//! Skills that are published as a site or by a server, and added from there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{at, text_at};
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::site::Site;

fn fixture() -> Fixture {
    let fixture = Fixture::with_skills();
    fixture.skill_in("skills", "docx", "Reads Word.");
    fixture.write("skills/docx/scripts/run.sh", "echo docx\n");
    fixture.skill_in("skills", "mine", "Not for others.");
    fixture.write("project/.git/HEAD", "ref: refs/heads/main\n");
    fixture
}

/// The files below a folder, by path.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let below = path.strip_prefix(folder).unwrap().to_str().unwrap();
                found.insert(below.to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_server_offers_what_its_operator_names_and_another_gongfu_adds_it() {
    let fixture = fixture();
    let publish = ["--publish", "pdf*", "--publish", "docx"];
    let serve = [&["serve", "--listen", "127.0.0.1:0"], &publish[..]].concat();
    let site = Site::start(&fixture.only(serve));
    let get = |path: &str, headers: &[(&str, &str)]| site.send("GET", path, headers, "");
    let path = "/.well-known/agent-skills/index.json";
    // It is there once the library was read.
    let started = Instant::now();
    let index = loop {
        let reply = get(path, &[]);
        if reply.status == 200 || started.elapsed() > TIMEOUT {
            break reply;
        }
        std::thread::yield_now();
    };
    let names: Vec<Value> = at(&index.json(), "/skills")
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| skill["name"].clone())
        .collect();
    assert_eq!(names, [json!("docx"), json!("pdf-tools")]);
    assert_eq!(index.header("cache-control"), "public, no-cache");
    let tag = index.header("etag");
    assert_eq!(get(path, &[("if-none-match", tag)]).status, 304);
    assert_eq!(site.send("POST", path, &[], "{}").status, 405);
    for other in ["mine/SKILL.md", "mine.zip", "../../etc/passwd", ""] {
        let path = format!("/.well-known/agent-skills/{other}");
        assert_eq!(site.send("GET", &path, &[], "").status, 404, "{other}");
    }
    // The same bytes as those of a folder, and the same files after they were added.
    let out = fixture.path("project/site");
    let written = ["skill", "publish", "docx", "pdf-tools", "--out", "site"];
    fixture.only(written).good();
    let served = fs::read_to_string(out.join(".well-known/agent-skills/index.json"));
    assert_eq!(served.unwrap(), index.body);
    let base = format!("http://{}", site.authority());
    let project = fixture.path("project");
    let place = ["--workspace", project.to_str().unwrap(), "--yes"];
    fixture
        .gongfu([&["skill", "add", &base], &place[..]].concat())
        .good();
    for name in ["docx", "pdf-tools"] {
        let added = files(&project.join(".agents/skills").join(name));
        assert!(added == files(&fixture.path("skills").join(name)), "{name}");
    }
    assert!(!project.join(".agents/skills/mine").exists());
}

#[test]
fn nothing_is_public_unless_it_is_named() {
    let fixture = fixture();
    let site = Site::start(&fixture.only(["serve", "--listen", "127.0.0.1:0"]));
    let index = site.send("GET", "/.well-known/agent-skills/index.json", &[], "");
    assert_eq!(index.status, 404);
}

#[test]
fn a_site_is_written_whole_again_and_never_over_the_files_of_a_person() {
    let fixture = fixture();
    let out = fixture.path("project/site");
    let publish = |words: &[&str]| {
        let words = [&["skill", "publish", "--out", "site"], words].concat();
        fixture.only(words)
    };
    let skills = fixture.path("skills");
    let made = publish(&[skills.to_str().unwrap(), "--json"]).good().json();
    assert_eq!(text_at(&made, "/name"), "site");
    let first = files(&out);
    assert!(first.contains_key("plugins/site/skills/docx/scripts/run.sh"));
    assert!(first.contains_key(".agents/plugins/marketplace.json"));
    fixture.write("project/site/.git/HEAD", "ref: refs/heads/main\n");
    // A repository around it stays, and skills that are no longer named go.
    publish(&["pdf-tools"]).good();
    assert!(out.join(".git/HEAD").exists());
    assert!(!out.join(".well-known/agent-skills/docx.zip").exists());
    publish(&["mine", "docx", "pdf-tools", "release-notes"]).good();
    fs::remove_dir_all(out.join(".git")).unwrap();
    assert!(files(&out) == first, "the same skills, other bytes");
    for (path, text) in [
        ("README.md", "mine"),
        ("plugins/site/skills/docx/SKILL.md", "changed"),
    ] {
        let before = fs::read(out.join(path)).ok();
        fs::write(out.join(path), text).unwrap();
        let refused = publish(&["pdf-tools"]).ends(1);
        assert!(
            refused.stderr.contains("SITE_FOREIGN"),
            "{}",
            refused.stderr
        );
        assert_eq!(fs::read_to_string(out.join(path)).unwrap(), text);
        match before {
            Some(before) => fs::write(out.join(path), before).unwrap(),
            None => fs::remove_file(out.join(path)).unwrap(),
        }
    }
    // A skill with an error stops all of it.
    fixture.write("skills/mine/SKILL.md", "---\nname: mine\n---\n");
    let refused = publish(&[skills.to_str().unwrap()]).ends(1);
    assert!(
        refused.stderr.contains("SKILL_INVALID"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("description"), "{}", refused.stderr);
    assert!(files(&out) == first, "the same skills, other bytes");
}
