//! The rules by which a name means a skill, and the order of a catalogue.

use std::sync::Arc;

use super::{FindingCount, Library, ResolveError, Skill, Source, SourceKind, Unloadable};
use crate::skill::{SkillName, SkillPath};

fn skill(full_name: &str, name: &str, enabled: bool) -> Arc<Skill> {
    Arc::new(Skill {
        name: SkillName::new(name).unwrap(),
        full_name: full_name.into(),
        description: String::new(),
        frontmatter: "{}".into(),
        source: "s".into(),
        folder: SkillPath::root(),
        path: String::new(),
        files: Arc::from([]),
        unlisted: Arc::default(),
        findings: FindingCount::default(),
        enabled,
    })
}

fn reached(library: &Library, name: &str) -> String {
    match library.resolve(name) {
        Ok(skill) => skill.full_name.to_string(),
        Err(other) => format!("{other:?}"),
    }
}

#[test]
fn first_enabled_skill_wins_a_name_and_none_is_lost() {
    let library = Library::new(
        Vec::new(),
        vec![
            skill("project/pdf", "pdf", false),
            skill("user/pdf", "pdf", true),
            skill("user/other", "pdf", true),
            skill("user/off", "off", false),
        ],
        Vec::new(),
    );
    assert_eq!(reached(&library, "pdf"), "user/pdf");
    assert_eq!(reached(&library, "user/other"), "user/other");
    assert_eq!(
        reached(&library, "off"),
        "Disabled { full_name: \"user/off\" }"
    );
    assert_eq!(
        library
            .shadowed_by(&library.skills()[2])
            .map(|winner| &*winner.full_name),
        Some("user/pdf")
    );
    assert!(library.shadowed_by(&library.skills()[1]).is_none());
    let shadowed = |at: usize| library.shadows(&library.skills()[at]);
    assert_eq!(shadowed(1), [&library.skills()[2]]);
    assert!(shadowed(0).is_empty() && shadowed(2).is_empty() && shadowed(3).is_empty());
    assert_eq!(library.named("pdf").len(), 3);
}

#[test]
fn skill_of_an_untrusted_project_takes_no_name() {
    let of_project = |name: &str| {
        Arc::new(Skill {
            source: "clone".into(),
            ..(*skill(&format!("clone/{name}"), name, true)).clone()
        })
    };
    let library = |kind| {
        let source = Source {
            id: "clone".into(),
            kind,
            root: String::new(),
            project: Some("/clone".into()),
        };
        let own = [
            ("user/pdf", "pdf", false),
            ("user/git-log", "git-log", true),
        ];
        let own = own.map(|(full, name, enabled)| skill(full, name, enabled));
        let theirs = ["pdf", "git_log", "lint"].map(of_project);
        Library::new(
            vec![source],
            own.into_iter().chain(theirs).collect(),
            Vec::new(),
        )
    };
    let untrusted = library(SourceKind::Untrusted);
    for (name, holder) in [
        ("pdf", "Disabled { full_name: \"user/pdf\" }"),
        ("PDF", "Disabled { full_name: \"user/pdf\" }"),
        ("git-log", "user/git-log"),
        ("git_log", "user/git-log"),
        ("lint", "clone/lint"),
        ("clone/pdf", "clone/pdf"),
    ] {
        assert_eq!(reached(&untrusted, name), holder, "{name}");
    }
    let names: Vec<&str> = untrusted
        .skills()
        .iter()
        .map(|one| untrusted.name_of(one))
        .collect();
    assert_eq!(
        names,
        ["pdf", "git-log", "clone/pdf", "clone/git_log", "lint"]
    );
    let off = untrusted.resolve_switch("pdf", false);
    assert_eq!(off.unwrap().full_name, "user/pdf".into());
    // One's own that can't be loaded keeps its name as well, but none of the project's does.
    let left = |path: &str| Unloadable {
        path: path.to_owned(),
        diagnostics: Vec::new(),
    };
    let mut source = untrusted.sources()[0].clone();
    source.root = "/clone/skills".to_owned();
    let skills = ["lint", "fmt"].map(of_project).into();
    let unloadable = vec![left("/user/skills/Lint"), left("/clone/skills/fmt")];
    let broken = Library::new(vec![source], skills, unloadable);
    assert!(matches!(
        broken.resolve("lint"),
        Err(ResolveError::Unknown { .. })
    ));
    assert_eq!(reached(&broken, "clone/lint"), "clone/lint");
    assert_eq!(reached(&broken, "fmt"), "clone/fmt");
    let names = broken.skills().iter().map(|one| broken.name_of(one));
    assert_eq!(names.collect::<Vec<_>>(), ["clone/lint", "fmt"]);
    // The control: once it is trusted, it does.
    let trusted = library(SourceKind::Project);
    for (name, holder) in [("pdf", "clone/pdf"), ("git_log", "clone/git_log")] {
        assert_eq!(reached(&trusted, name), holder, "{name}");
    }
}

#[test]
fn catalogue_begins_with_ones_own_and_what_was_used_most() {
    let source = |id: &str, kind| Source {
        id: id.into(),
        kind,
        root: String::new(),
        project: None,
    };
    let in_source = |full_name: &str| {
        let (source, name) = full_name.split_once('/').unwrap();
        Arc::new(Skill {
            source: source.into(),
            path: format!("/x/{full_name}"),
            ..(*skill(full_name, name, true)).clone()
        })
    };
    let names = "dir/a dir/b project/c user/d user/e built-in/f built-in/g".split(' ');
    let library = Library::new(
        vec![
            source("dir", SourceKind::Explicit),
            source("project", SourceKind::Project),
            source("user", SourceKind::User),
            source("built-in", SourceKind::BuiltIn),
        ],
        names.map(in_source).collect(),
        Vec::new(),
    );
    let order = |library: &Library| {
        let mut skills: Vec<&Skill> = library.skills().iter().map(AsRef::as_ref).collect();
        library.sort_for_catalogue(&mut skills);
        let names = skills.iter().map(|skill| skill.name.as_str());
        names.collect::<String>()
    };
    assert_eq!(order(&library), "cdeabfg");
    // A built-in skill is known by its full name: its folder has a version in it.
    let uses = "/x/dir/b /x/dir/b built-in/g built-in/g built-in/g /x/user/e /x/built-in/f";
    let used = library.with_uses(Arc::new(uses.split(' ').collect()));
    assert_eq!(order(&used), "cedgbaf");
}

#[test]
fn name_resolves_despite_hyphens_and_case_unless_they_matter() {
    let library = Library::new(
        Vec::new(),
        vec![
            skill("s/1", "test_data", true),
            skill("s/2", "test-data", true),
            skill("s/3", "Only", true),
        ],
        Vec::new(),
    );
    assert_eq!(reached(&library, "test-data"), "s/2");
    assert_eq!(reached(&library, "test_data"), "s/1");
    assert_eq!(reached(&library, "TEST-DATA"), "s/1");
    assert_eq!(reached(&library, "only"), "s/3");
}

#[test]
fn unknown_name_lists_near_ones_and_path_is_refused() {
    let library = Library::new(
        Vec::new(),
        vec![skill("s/a", "docx", true), skill("s/b", "pdf", true)],
        Vec::new(),
    );
    assert_eq!(
        library.resolve("pdff").err(),
        Some(ResolveError::Unknown {
            nearest: vec!["pdf".into(), "docx".into()],
            total: 2
        })
    );
    for path in ["../pdf", "/etc/passwd", "a\0", "", "s/../b", "\\\\host"] {
        assert!(
            matches!(library.resolve(path), Err(ResolveError::Invalid(_))),
            "{path:?}"
        );
    }
}

#[test]
fn skills_of_servers_come_before_those_of_untrusted_projects() {
    let source = |id: &str, kind| Source {
        id: id.into(),
        kind,
        root: format!("root of {id}"),
        project: None,
    };
    let of = |id: &str, name: &str| {
        Arc::new(Skill {
            source: id.into(),
            ..(*skill(&format!("{id}/{name}"), name, true)).clone()
        })
    };
    let local = Library::new(
        vec![
            source("user", SourceKind::User),
            source("clone", SourceKind::Untrusted),
        ],
        vec![of("user", "pdf"), of("clone", "text")],
        Vec::new(),
    );
    let theirs = vec![of("team", "pdf"), of("team", "text")];
    let all = local.with_servers(vec![source("team", SourceKind::Server)], theirs);
    let ids: Vec<&str> = all.sources().iter().map(|source| &*source.id).collect();
    assert_eq!(ids, ["user", "team", "clone"]);
    assert_eq!(reached(&all, "pdf"), "user/pdf");
    assert_eq!(reached(&all, "text"), "team/text");
    assert_eq!(reached(&all, "team/pdf"), "team/pdf");
    let connections: Vec<Option<&str>> =
        all.skills().iter().map(|one| all.connection(one)).collect();
    let team = Some("root of team");
    assert_eq!(connections, [None, team, team, None]);
}
