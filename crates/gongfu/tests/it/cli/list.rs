//! `gongfu skill list` and `show`: the shapes that scripts read, and who wins a name.

use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{at, keys, list_at, text_at, texts};
use serde_json::{Value, json};

use crate::fixture::{Fixture, ended};

const KEYS: [&str; 9] = [
    "bytes",
    "description",
    "diagnostics",
    "enabled",
    "files",
    "full_name",
    "name",
    "path",
    "source",
];

#[test]
fn list_entry_has_exactly_these_members() {
    let fixture = Fixture::with_skills();
    let listed = fixture.listed();
    assert_eq!(listed.len(), 2);
    for skill in &listed {
        assert_eq!(keys(skill), KEYS);
    }
    let path = fixture.path("skills/pdf-tools");
    let mine = &listed[0];
    assert_eq!(text_at(mine, "/name"), "pdf-tools");
    assert_eq!(text_at(mine, "/full_name"), "skills/pdf-tools");
    assert_eq!(text_at(mine, "/source"), "skills");
    assert_eq!(text_at(mine, "/path"), path.to_str().unwrap());
    assert_eq!(at(mine, "/enabled"), true);
    assert_eq!(at(mine, "/files"), 4);
    assert!(at(mine, "/bytes").as_u64().unwrap() > 100);
    assert_eq!(at(mine, "/diagnostics"), 0, "{mine:#}");
    fixture.write("skills/pdf-tools/notes.md", "see [more](missing.md)");
    fixture.write("skills/release-notes/SKILL.md", "---\nname: Other\n---\n");
    let again = fixture.listed();
    let other = again
        .iter()
        .find(|skill| text_at(skill, "/path").ends_with("release-notes"))
        .unwrap();
    assert!(
        at(other, "/diagnostics").as_u64().unwrap() >= 2,
        "{other:#}"
    );
}

#[test]
fn empty_library_is_an_empty_list_and_a_hint() {
    let fixture = Fixture::new();
    let ran = fixture.only(["skill", "list", "--json"]).good();
    assert_eq!(ran.json(), json!([]));
    let ran = fixture.only(["skill", "list"]).good();
    assert!(
        ran.stdout.is_empty() && ran.stderr.contains("--skills-dir"),
        "{}",
        ran.stderr
    );
}

#[test]
fn show_adds_files_and_frontmatter() {
    let fixture = Fixture::with_skills();
    let shown = fixture
        .only(["skill", "show", "pdf-tools", "--json"])
        .good()
        .json();
    for key in KEYS.into_iter().chain(["frontmatter"]) {
        assert!(shown.get(key).is_some(), "{key}: {shown:#}");
    }
    assert_eq!(
        keys(at(&shown, "/files/0")),
        ["digest", "kind", "path", "size"]
    );
    assert!(at(&shown, "/diagnostics").is_array());
    let text = fixture
        .only(["skill", "show", "skills/pdf-tools"])
        .good()
        .text();
    for part in [
        "skills/pdf-tools",
        "MIT",
        "references/guide.md",
        "state      enabled",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn first_folder_wins_a_name_and_none_is_lost() {
    let fixture = Fixture::new();
    for folder in ["one", "two", "three"] {
        fixture.skill_in(folder, "pdf", folder);
    }
    for order in [["one", "two", "three"], ["three", "one", "two"]] {
        let listed = fixture.over(&order, ["skill", "list", "--json"]).good();
        let listed = listed.json();
        let skills = list_at(&listed, "");
        assert_eq!(texts(skills, "/source"), order);
        assert!(skills[0].get("shadowed_by").is_none());
        let winner = format!("{}/pdf", order[0]);
        for skill in &skills[1..] {
            assert_eq!(text_at(skill, "/shadowed_by"), winner);
            let mut all: Vec<&str> = KEYS.to_vec();
            all.push("shadowed_by");
            all.sort_unstable();
            assert_eq!(keys(skill), all);
        }
    }
    let run = |arguments: &[&str]| fixture.over(&["one", "two"], arguments).good().text();
    assert!(run(&["skill", "read", "pdf"]).contains("description: one"));
    assert!(run(&["skill", "read", "two/pdf"]).contains("description: two"));
    run(&["skill", "disable", "one/pdf"]);
    let next = run(&["skill", "read", "pdf"]);
    assert!(next.contains("description: two"), "the next one steps in");
    let list = run(&["skill", "list"]);
    assert!(list.contains("[disabled, shadowed] one"), "{list}");
}

#[test]
fn folders_of_one_name_have_sources_of_their_own() {
    let fixture = Fixture::new();
    fixture.skill_in("a/tools", "x", "first");
    fixture.skill_in("b/tools", "y", "second");
    let folders = ["a/tools", "b/tools", "a/tools"];
    let listed = fixture.over(&folders, ["skill", "list", "--json"]).good();
    let names = listed.json();
    let names = texts(list_at(&names, ""), "/full_name");
    assert_eq!(names, ["tools/x", "tools-2/y"]);
}

#[test]
fn folder_of_skills_may_be_a_skill_itself() {
    let fixture = Fixture::with_skills();
    fixture.write(
        "skills/SKILL.md",
        "---\nname: skills\ndescription: Is all of it.\n---\n\n# Top\n",
    );
    let listed = fixture.listed();
    let names: Vec<&str> = listed.iter().map(|skill| text_at(skill, "/name")).collect();
    assert_eq!(names, ["skills", "pdf-tools", "release-notes"]);
    for name in ["skills", text_at(&listed[0], "/full_name")] {
        let read = fixture.only(["skill", "read", name]).good().text();
        assert!(read.contains("# Top"), "{name}");
        let below = fixture.only(["skill", "read", name, "pdf-tools/hello.txt"]);
        assert_eq!(below.good().text(), "hello\n");
    }
}

#[test]
fn switch_holds_for_every_process() {
    let fixture = Fixture::with_skills();
    let state = || -> Vec<bool> {
        fixture
            .listed()
            .iter()
            .map(|skill| at(skill, "/enabled").as_bool().unwrap())
            .collect()
    };
    let switch = |verb: &str, name: &str| -> Value {
        fixture.only(["skill", verb, name, "--json"]).good().json()
    };
    let mut client = fixture.client();
    client.good("skill_load", json!({ "skill_name": "pdf-tools" }));

    assert_eq!(
        switch("disable", "pdf-tools"),
        json!({ "full_name": "skills/pdf-tools", "enabled": false, "changed": true })
    );
    assert_eq!(at(&switch("disable", "pdf_tools"), "/changed"), false);
    assert_eq!(state(), [false, true]);
    let refused = fixture
        .only(["tool", "call", "skill_load", "skill_name=pdf-tools"])
        .ends(1);
    assert!(
        refused.stderr.contains("SKILL_DEACTIVATED")
            && refused
                .stderr
                .contains("gongfu skill enable skills/pdf-tools"),
        "{}",
        refused.stderr
    );
    // A server that was running before sees it within about a second.
    let started = std::time::Instant::now();
    while client
        .call("skill_load", json!({ "skill_name": "pdf-tools" }))
        .get("isError")
        != Some(&Value::Bool(true))
    {
        assert!(
            started.elapsed().as_secs() < 20,
            "the server doesn't see the switch"
        );
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let listed = client.good("skill_list", json!({}));
    assert_eq!(at(&listed, "/structuredContent/total"), 1);
    let all = client.good("skill_list", json!({ "include_disabled": true }));
    assert_eq!(at(&all, "/structuredContent/total"), 2);
    // The person at the command line may still look at it.
    fixture.only(["skill", "show", "pdf-tools"]).good();

    assert_eq!(at(&switch("enable", "skills/pdf-tools"), "/changed"), true);
    assert_eq!(state(), [true, true]);
    let unknown = fixture.only(["skill", "disable", "nope", "--json"]).ends(1);
    assert_eq!(text_at(&unknown.json(), "/error/code"), "SKILL_NOT_FOUND");
}

#[test]
fn closed_pipe_is_no_error() {
    let fixture = Fixture::with_skills();
    let mut child = fixture.only(["skill", "list", "--json"]).start();
    drop(child.stdout.take());
    let status = ended(&mut child, TIMEOUT).expect("it hangs");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn budget_holds_for_text_and_json() {
    let fixture = Fixture::new();
    for number in 0..60 {
        let description = format!("Does \"{number}\" for 技能 {}.", "and more ".repeat(20));
        fixture.skill(&format!("skill-{number}"), &format!("'{description}'"));
    }
    let length = |text: &str| text.chars().count();
    for budget in ["200", "500", "2000", "8000", "65536"] {
        let most: usize = budget.parse().unwrap();
        let list = ["skill", "list", "--budget", budget];
        let text = fixture.only(list).good().text();
        let page = fixture.only(list.iter().chain(&["--json"])).good().json();
        let shown = list_at(&page, "/skills");
        assert!(length(&text) <= most, "{budget}: {text}");
        assert!(length(&page.to_string()) <= most, "{budget}: {page}");
        let lines = text.lines().filter(|line| line.starts_with("- ")).count();
        assert_eq!(
            lines,
            shown.len(),
            "{budget}: what one shows the other does"
        );
        assert!(most < 500 || !shown.is_empty(), "{budget}: {page}");
    }
    fixture.only(["skill", "list", "--budget", "65537"]).ends(2);
    let call = ["tool", "call", "skill_list", r#"{"budget":65537}"#];
    let refused = fixture.only(call).run();
    assert_ne!(refused.code, Some(0));
}
