//! Inventories of homes that are made for them.

#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look into"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{FoundCopy, Inventory, LockAgreement, PluginState, Standing, Territory};
use crate::agents::Machine;
use crate::scope::ScopeKind;

struct World {
    _folder: tempfile::TempDir,
    home: PathBuf,
    project: PathBuf,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(folder.path()).unwrap().join("home");
        let project = home.join("work/project");
        fs::create_dir_all(&project).unwrap();
        Self {
            _folder: folder,
            home,
            project,
        }
    }

    fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn path(&self, path: &str) -> PathBuf {
        match path.strip_prefix("./") {
            Some(below) => self.project.join(below),
            None => self.home.join(path),
        }
    }

    fn skill(&self, folder: &str, text: &str) {
        let name = Path::new(folder).file_name().unwrap().to_str().unwrap();
        let text = format!("---\nname: {name}\ndescription: d\n---\n{text}\n");
        self.put(&format!("{folder}/SKILL.md"), text);
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    fn inventory(&self) -> Inventory {
        let none = |_: &str| None;
        Inventory::of(Territory {
            machine: Machine {
                home: &self.home,
                variable: &none,
            },
            state: None,
            project: Some(&self.project),
        })
    }
}

fn find<'a>(inventory: &'a Inventory, key: &str) -> &'a FoundCopy {
    let mut found = inventory.skills.iter().filter(|copy| copy.key == key);
    let first = found.next().unwrap_or_else(|| panic!("no {key}"));
    assert!(found.next().is_none(), "{key} twice");
    first
}

fn source(copy: &FoundCopy) -> &str {
    copy.origin.as_ref().map_or("", |origin| &origin.source)
}

#[test]
fn link_to_a_listed_folder_is_another_place_of_one_skill() {
    let world = World::new();
    world.skill(".agents/skills/a", "1");
    world.link(".claude/skills/a", "../../.agents/skills/a");
    world.link(".cursor/skills", "../.agents/skills");
    world.skill("src/b", "1");
    world.link(".claude/skills/b", world.path("src/b"));
    world.link(".claude/skills/nowhere", "/nowhere");
    world.link(".claude/skills/circle", "..");
    world.link(".claude/skills/itself", "itself");
    let inventory = world.inventory();
    let keys: Vec<&str> = inventory.skills.iter().map(|copy| &*copy.key).collect();
    assert_eq!(keys, ["a", ".claude/skills/b"]);
    let a = find(&inventory, "a");
    let places = [".agents/skills/a", ".cursor/skills/a", ".claude/skills/a"];
    let mut expected = places.map(|place| world.path(place));
    expected.sort();
    let mut places = a.places.clone();
    places.sort();
    assert_eq!(places, expected);
    let b = find(&inventory, ".claude/skills/b");
    assert_eq!(b.target, Some(world.path("src/b")));
    assert_eq!(source(b), "./src/b");
    assert_eq!(inventory.problems.len(), 2, "{:?}", inventory.problems);
}

#[test]
fn links_lead_to_no_endless_place_and_a_project_not_out_of_itself() {
    let world = World::new();
    world.skill(".claude/skills/a", "1");
    world.skill("private/secret", "1");
    world.link(".cursor/skills", "/");
    world.link(".gemini/skills", world.home.clone());
    world.link("./.agents/skills", world.path("private"));
    world.link("./.claude/skills/one", world.path("private/secret"));
    world.put(
        "./.github/skills/b/.git",
        format!("gitdir: {}", world.path("private/git").display()),
    );
    world.skill("./.github/skills/b", "1");
    world.put("private/git/HEAD", "ref: refs/heads/main\n");
    world.put(
        "private/git/config",
        "[remote \"origin\"]\nurl = https://h.example/private\n",
    );
    let inventory = world.inventory();
    let keys: Vec<&str> = inventory.skills.iter().map(|copy| &*copy.key).collect();
    assert_eq!(
        keys,
        [".claude/skills/a", ".claude/skills/one", ".github/skills/b"]
    );
    assert_eq!(source(find(&inventory, ".github/skills/b")), "");
    let told: Vec<&PathBuf> = inventory
        .problems
        .iter()
        .map(|problem| &problem.path)
        .collect();
    for place in [".cursor/skills", ".gemini/skills", "./.agents/skills"] {
        assert!(told.contains(&&world.path(place)), "{place}: {told:?}");
    }
}

#[test]
fn copies_are_ranked_by_content_version_and_time() {
    let world = World::new();
    world.skill(".claude/skills/a", "1");
    world.skill(".cursor/skills/a", "1");
    world.skill(".gemini/skills/a", "2");
    let time = |version: &str, moment: u64| {
        json!({ "registry": "r", "slug": "b", "installedVersion": version, "installedAt": moment })
            .to_string()
    };
    for (folder, version, moment) in [
        (".claude", "1.10.0", 1),
        (".cursor", "1.9.0", 3),
        (".gemini", "1.9.0", 2),
    ] {
        let folder = format!("{folder}/skills/b");
        world.skill(&folder, &format!("{version} {moment}"));
        world.put(
            &format!("{folder}/.clawhub/origin.json"),
            time(version, moment),
        );
    }
    let inventory = world.inventory();
    let standing = |key: &str| find(&inventory, key).standing;
    let at = |key: &str| {
        let mut skills = inventory.skills.iter();
        skills.position(|copy| copy.key == key).unwrap()
    };
    assert_eq!(standing(".claude/skills/a"), Standing::Only);
    let first = at(".claude/skills/a");
    assert_eq!(standing(".cursor/skills/a"), Standing::Duplicate(first));
    assert_eq!(standing(".gemini/skills/a"), Standing::OtherContent(first));
    let newest = at(".claude/skills/b");
    assert_eq!(standing(".claude/skills/b"), Standing::Newest);
    assert_eq!(standing(".cursor/skills/b"), Standing::Older(newest));
    assert!(matches!(standing(".gemini/skills/b"), Standing::Older(_)));
}

#[test]
fn locks_say_where_a_copy_is_from_and_a_stranger_of_that_name_is_no_such_copy() {
    let world = World::new();
    world.skill("./.agents/skills/a", "1");
    world.skill("./.github/skills/a", "stranger");
    let before = world.inventory();
    let hash = {
        let root = gongfu_files::disk::Root::open(&world.path("./.agents/skills/a")).unwrap();
        super::SkillFolder::read(&root).unwrap().computed_hash()
    };
    assert_eq!(source(find(&before, "a")), "");
    let entry = json!({ "source": "o/r", "ref": "v1", "sourceType": "github", "skillPath": "s/a/SKILL.md", "computedHash": hash });
    let lock = json!({ "version": 1, "skills": { "a": entry, "gone": entry } });
    world.put("./skills-lock.json", lock.to_string());
    let inventory = world.inventory();
    let copy = find(&inventory, "a");
    let origin = copy.origin.as_ref().unwrap();
    assert_eq!(origin.source, "https://github.com/o/r.git");
    assert_eq!(origin.reference.as_deref(), Some("v1"));
    assert_eq!(origin.path.as_ref().unwrap().as_str(), "s/a");
    assert_eq!(
        (copy.scope, copy.change),
        (ScopeKind::Project, LockAgreement::Same)
    );
    assert_eq!(source(find(&inventory, ".github/skills/a")), "");
    let problems: Vec<String> = inventory
        .problems
        .iter()
        .map(super::InventoryProblem::text)
        .collect();
    assert!(
        problems.len() == 1 && problems[0].contains("`gone`"),
        "{problems:?}"
    );
    world.put("./.agents/skills/a/more.md", "x");
    assert_eq!(find(&world.inventory(), "a").change, LockAgreement::Differs);
}

#[test]
fn plugin_lists_say_what_is_installed() {
    let world = World::new();
    let base = world.path(".claude/plugins");
    let market = json!({ "name": "m", "plugins": [
        { "name": "p", "source": "./plugins/p" },
        { "name": "q", "source": { "source": "npm", "package": "@x/q" }, "skills": ["./here/one"] },
    ] });
    world.put(
        ".claude/plugins/marketplaces/m/.claude-plugin/marketplace.json",
        market.to_string(),
    );
    let known =
        json!({ "m": { "source": { "source": "git", "url": "https://u:p@h.example/o/m.git" } } });
    world.put(".claude/plugins/known_marketplaces.json", known.to_string());
    for folder in [
        "p/1.0.0/skills/a",
        "p/0.9.0/skills/a",
        "q/2.0.0/here/one",
        "q/2.0.0/skills/other",
    ] {
        world.skill(&format!(".claude/plugins/cache/m/{folder}"), folder);
    }
    let at = |path: &str| base.join("cache/m").join(path);
    let installed = json!({ "version": 2, "plugins": {
        "p@m": [{ "installPath": at("p/1.0.0"), "version": "1.0.0", "gitCommitSha": "c" }],
        "q@m": { "installPath": at("q/2.0.0"), "version": "2.0.0" },
        "gone@m": [{ "installPath": at("gone/1") }],
    } });
    world.put(
        ".claude/plugins/installed_plugins.json",
        installed.to_string(),
    );
    world.put(
        ".claude/settings.json",
        r#"{"enabledPlugins": {"q@m": false}}"#,
    );
    let inventory = world.inventory();
    let copy = |path: &str| find(&inventory, &format!(".claude/plugins/cache/m/{path}"));
    let state = |path: &str| copy(path).plugin.as_ref().unwrap().state;
    assert_eq!(inventory.skills.len(), 3);
    assert_eq!(state("p/1.0.0/skills/a"), PluginState::Installed);
    assert_eq!(state("p/0.9.0/skills/a"), PluginState::Cached);
    assert_eq!(state("q/2.0.0/here/one"), PluginState::Disabled);
    let origin = copy("p/1.0.0/skills/a").origin.as_ref().unwrap();
    assert_eq!(origin.source, "https://h.example/o/m.git");
    assert_eq!(origin.path.as_ref().unwrap().as_str(), "plugins/p/skills/a");
    assert_eq!(origin.commit.as_deref(), Some("c"));
    assert_eq!(source(copy("q/2.0.0/here/one")), "npm:@x/q");
    assert_eq!(copy("p/1.0.0/skills/a").standing, Standing::Newest);
    assert_eq!(inventory.problems.len(), 1);
    assert!(inventory.problems[0].what.contains("gone@m"));
}

#[test]
fn files_of_any_form_spoil_nothing() {
    let world = World::new();
    world.skill(".claude/skills/a", "1");
    let files = [
        "./skills-lock.json",
        ".agents/.skill-lock.json",
        ".agents/gongfu.lock",
        "./gongfu.lock",
        "./package.json",
        "./toolhive.lock.yaml",
        ".openclaw/.clawhub/lock.json",
        ".claude/skills/a/.clawhub/origin.json",
        ".claude/plugins/installed_plugins.json",
        ".claude/plugins/known_marketplaces.json",
        ".claude/settings.json",
        ".codex/config.toml",
        ".agents/plugins/marketplace.json",
        "./.claude-plugin/marketplace.json",
        "./.github/plugin/marketplace.json",
        "./.claude-plugin/plugin.json",
        ".claude/skills/.git",
        ".claude/skills/a/.git/HEAD",
        ".claude/skills/a/.git/config",
    ];
    // The last three are no text of any form.
    let contents: [&[u8]; 15] = [
        b"",
        b"null",
        b"[]",
        b"3",
        b"\"x\"",
        b"{}",
        br#"{"version": 1, "skills": 3, "plugins": 3, "enabledPlugins": []}"#,
        br#"{"version": 1, "skills": {"a": null}, "plugins": {"a@b": [1, {"installPath": 3}]}}"#,
        br#"{"version": 1, "skills": {"a": {"source": 1, "hash": []}, "../x": {}}, "plugins": [1]}"#,
        br#"{"version": 99, "skills": ["@", "@@", "a@", 1], "a": {"source": {"source": "github"}}}"#,
        b"[plugins]\n\"p@m\" = 3\n[marketplaces.x]\nsource = 3\n",
        b"skills:\n- name: [x]\n- 3\n- name: a\n  resolvedReference: {}\n",
        b"{\"a\":\n{\"b\": \n",
        b"a: [\n\xff\xfe\n",
        b"\t- : :\n\"\n",
    ];
    for file in files {
        for (number, content) in contents.iter().enumerate() {
            world.put(file, content);
            let inventory = world.inventory();
            assert_eq!(inventory.skills.len(), 1, "{file} {number}");
            let is_text = file.contains(".git/") || file == ".claude/skills/.git";
            if number >= 12 && !is_text {
                let path = world.path(file);
                let told = inventory
                    .problems
                    .iter()
                    .any(|problem| problem.path == path);
                assert!(told, "{file} {number}: {:?}", inventory.problems);
            }
        }
        fs::remove_file(world.path(file)).unwrap();
    }
    assert!(world.inventory().problems.is_empty());
}

#[test]
fn clone_and_package_around_a_folder_are_its_source() {
    let world = World::new();
    world.skill(".claude/skills/c/skills/deep", "1");
    world.put(".claude/skills/c/.git/HEAD", "ref: refs/heads/main\n");
    world.put(".claude/skills/c/.git/refs/heads/main", "c".repeat(40));
    world.put(
        ".claude/skills/c/.git/config",
        "[remote \"origin\"]\n\turl = https://me:secret@h.example/o/r\n",
    );
    world.skill("./node_modules/@s/p/skills/n", "1");
    world.put(
        "./node_modules/@s/p/package.json",
        r#"{"version": "1.2.3"}"#,
    );
    world.link("./.agents/skills/n", "../../node_modules/@s/p/skills/n");
    // A repository of the whole home or project says nothing of one skill.
    world.skill(".cursor/skills/own", "1");
    for path in [".git/HEAD", "./.git/HEAD"] {
        world.put(path, "ref: refs/heads/main\n");
    }
    let inventory = world.inventory();
    let deep = find(&inventory, ".claude/skills/c/skills/deep");
    let origin = deep.origin.as_ref().unwrap();
    assert!(
        origin.source.starts_with("https://h.example/o/r"),
        "{}",
        origin.source
    );
    assert_eq!(origin.path.as_ref().unwrap().as_str(), "skills/deep");
    assert_eq!(origin.commit, Some("c".repeat(40)));
    let package = find(&inventory, "n").origin.as_ref().unwrap();
    assert_eq!(
        (&*package.source, package.version.as_deref()),
        ("npm:@s/p", Some("1.2.3"))
    );
    assert_eq!(source(find(&inventory, ".cursor/skills/own")), "");
}

#[test]
fn keys_of_gh_are_read() {
    let world = World::new();
    for (name, metadata) in [
        (
            "remote",
            "github-repo: https://github.com/o/r\n  github-ref: refs/heads/main\n  github-pinned: v3\n  github-tree-sha: abc\n  github-path: s/remote/SKILL.md",
        ),
        ("local", "local-path: /src/local"),
        ("none", "author: x"),
    ] {
        let text = format!("---\nname: {name}\ndescription: d\nmetadata:\n  {metadata}\n---\n");
        world.put(&format!(".copilot/skills/{name}/SKILL.md"), text);
    }
    let inventory = world.inventory();
    let origin = |name: &str| {
        find(&inventory, &format!(".copilot/skills/{name}"))
            .origin
            .clone()
    };
    let remote = origin("remote").unwrap();
    assert_eq!(remote.source, "https://github.com/o/r.git");
    assert_eq!(remote.reference.as_deref(), Some("v3"));
    assert_eq!(remote.path.unwrap().as_str(), "s/remote");
    assert_eq!(origin("local").unwrap().source, "/src/local");
    assert!(origin("none").is_none());
}
