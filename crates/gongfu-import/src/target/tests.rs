//! The folders of agents, chosen as `npx skills` does.

use std::fs;
use std::path::{Path, PathBuf};

use super::{AgentChoice, Removal, Targets};
use crate::agents::{AGENTS, Agent, Machine, SHARED};
use crate::lock::own::OwnLock;
use crate::scope::Scope;

fn choice(names: &[&str], home: &Path) -> AgentChoice {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    AgentChoice::of(&names, machine(home), home)
}

fn machine(home: &Path) -> Machine<'_> {
    Machine {
        home,
        variable: &|_| None,
    }
}

#[test]
fn agents_with_one_folder_get_copies_and_others_links() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let scope = Scope::project(base);
    let of = |names: &[&str], copy| Targets::of(&scope, &choice(names, base), copy, machine(base));
    let shared = vec![base.join(SHARED)];
    let claude = vec![base.join(".claude/skills")];
    for (names, copy, folders, links) in [
        (&["claude-code"][..], false, &claude, &[][..]),
        (&["codex", "cursor"], false, &shared, &[]),
        (&["claude-code", "codex"], false, &shared, &claude),
        (&["*"], false, &shared, &claude),
        (
            &["codex", "claude-code"],
            true,
            &[&claude[..], &shared[..]].concat(),
            &[],
        ),
    ] {
        let expected = Targets {
            folders: folders.clone(),
            links: links.to_vec(),
        };
        assert_eq!(of(names, copy), expected, "{names:?}");
    }
    // No agent is installed, so all are meant, and only Claude Code's folder is made.
    assert_eq!(of(&[], false), of(&["*"], false));
}

#[test]
fn a_person_gets_links_in_the_folders_of_a_home() {
    let home = Path::new("/h");
    let scope = Scope::user(home, None);
    let of = |names: &[&str]| Targets::of(&scope, &choice(names, home), false, machine(home));
    assert_eq!(of(&["cursor"]).folders, [home.join(SHARED)]);
    assert_eq!(of(&["claude-code"]).folders, [home.join(".claude/skills")]);
    let both = of(&["claude-code", "goose"]);
    let links: Vec<PathBuf> = [".claude/skills", ".config/goose/skills"]
        .map(|folder| home.join(folder))
        .into();
    assert_eq!((both.folders, both.links), (vec![home.join(SHARED)], links));
    // It has no folder in a home.
    assert_eq!(of(&["promptscript"]), Targets::default());
    assert!(of(&["*"]).links.len() > AGENTS.len() / 2);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
fn a_skill_goes_with_the_last_agent_that_is_installed() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let scope = Scope::project(&base);
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let lock = OwnLock::default();
    for place in [".agents/skills/a", ".roo/skills/a", ".claude/skills"] {
        fs::create_dir_all(base.join(place)).unwrap();
    }
    std::os::unix::fs::symlink("../../.agents/skills/a", base.join(".claude/skills/a")).unwrap();
    let of = |names: &[&str]| {
        let choice = choice(names, home);
        Removal::of("A", &scope, &lock, &choice, machine(home), &base)
    };
    let one = of(&["claude-code"]);
    assert_eq!(one.links, [("a".to_owned(), base.join(".claude/skills"))]);
    assert_eq!((one.keys, one.is_whole), (vec!["a".to_owned()], true));
    fs::create_dir(home.join(".codex")).unwrap();
    let one = of(&["claude-code"]);
    assert_eq!((one.keys, one.is_whole), (Vec::new(), false));
    let all = of(&["*"]);
    assert!(choice(&["*"], home).has(Agent::by_id("roo").unwrap()));
    assert_eq!(all.keys, [".roo/skills/a".to_owned(), "a".to_owned()]);
}
