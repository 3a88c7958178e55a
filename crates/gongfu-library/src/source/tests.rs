//! The places of settings, over folders on disk.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gongfu_core::library::SourceKind;
use gongfu_core::trust::Trusts;

use super::{Settings, places};
use gongfu_files::Home;

#[test]
fn order_is_flag_project_environment_user_system_built_in() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("repo/a/b");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::create_dir_all(folder.path().join("repo/.git")).unwrap();
    std::fs::create_dir_all(project.join(".agents/skills")).unwrap();
    std::fs::create_dir_all(folder.path().join("env/skills")).unwrap();
    let settings = Settings {
        trusted_elsewhere: None,
        chosen: Vec::new(),
        start: None,
        explicit: vec![
            "/x/My Skills".into(),
            "/y/my-skills".into(),
            "/x/My Skills".into(),
        ],
        environment: vec![folder.path().join("env")],
        project: Some(project),
        user: Some(folder.path().join("me")),
        default_dirs: true,
        discover_user: true,
        adopted: vec!["/x/codex".into()],
        built_in: Some("/b".into()),
        writable: None,
        is_shared: false,
    };
    let repository = folder.path().join("repo").to_string_lossy().into_owned();
    let trusts = Trusts {
        projects: [(repository.clone(), 0)].into(),
    };
    let found = places(&settings, &Home::at("/h"), &trusts);
    let ids: Vec<&str> = found.iter().map(|place| &*place.id).collect();
    assert_eq!(ids[..3], ["my-skills", "my-skills-2", "project-agents"]);
    assert_eq!(
        ids.iter()
            .filter(|id| id.starts_with("project-agents"))
            .count(),
        3,
        "b, a and the repository's root: {ids:?}"
    );
    assert!(found.is_sorted_by_key(|place| place.kind));
    // A person's further folders take no name from a project, nor from their own ones.
    let at = |id: &str| ids.iter().position(|found| *found == id);
    assert!(at("user-claude") < at("codex") && at("codex") < at("built-in"));
    assert!(
        found
            .iter()
            .any(|place| place.path == folder.path().join("env/skills"))
    );
    // Nobody trusts the folder above it, or one in it.
    for other in [folder.path(), &folder.path().join("repo/a")] {
        let trusts = Trusts {
            projects: [(other.to_string_lossy().into_owned(), 0)].into(),
        };
        let found = places(&settings, &Home::at("/h"), &trusts);
        assert!(found.is_sorted_by_key(|place| place.kind));
        let last: Vec<_> = found.iter().rev().take(12).collect();
        assert!(
            last.iter().all(|place| place.kind == SourceKind::Untrusted
                && place.project.as_deref() == Some(&repository)),
            "{last:?}"
        );
    }
    let elsewhere = Settings {
        trusted_elsewhere: Some(Arc::new(|project| project.ends_with("repo"))),
        ..settings.clone()
    };
    assert_eq!(
        places(&elsewhere, &Home::at("/h"), &Trusts::default()),
        found
    );
    // A server shares neither the places of one person nor a project with its accounts.
    let shared = Settings {
        is_shared: true,
        ..settings.clone()
    };
    let shared = places(&shared, &Home::at("/h"), &trusts);
    let ids: Vec<&str> = shared.iter().map(|place| &*place.id).collect();
    assert_eq!(
        ids,
        [
            "my-skills",
            "my-skills-2",
            "environment",
            "system",
            "built-in"
        ]
    );
    let only = places(
        &Settings {
            default_dirs: false,
            ..settings
        },
        &Home::at("/h"),
        &trusts,
    );
    assert!(only.iter().all(|place| place.kind == SourceKind::Explicit));
}

#[test]
#[cfg(unix)]
fn folder_linked_by_a_person_is_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let skills = folder.path().join("me/.claude/skills");
    for path in ["me/.claude/skills", "me/.agents/skills/own", "elsewhere"] {
        std::fs::create_dir_all(folder.path().join(path)).unwrap();
    }
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, skills.join(name)).unwrap();
    };
    link("../../../elsewhere", "linked");
    link("../../.agents/skills/own", "own");
    // One that leads everywhere must not swallow the others.
    link("/", "everything");
    let settings = Settings {
        user: Some(folder.path().join("me")),
        default_dirs: true,
        discover_user: true,
        adopted: Vec::new(),
        ..Settings::default()
    };
    let found = places(&settings, &Home::at("/h"), &Trusts::default());
    let ids: Vec<&str> = found.iter().map(|place| &*place.id).collect();
    assert!(ids.contains(&"user-claude-linked"), "{ids:?}");
    assert!(
        !ids.contains(&"user-claude-own"),
        "it is in .agents/skills: {ids:?}"
    );
}

#[test]
fn only_the_folder_itself_counts_outside_of_a_repository() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("x/y")).unwrap();
    let settings = Settings {
        project: Some(folder.path().join("x/y")),
        default_dirs: true,
        ..Settings::default()
    };
    let roots: Vec<PathBuf> = places(&settings, &Home::at("/h"), &Trusts::default())
        .into_iter()
        .filter(|place| place.kind == SourceKind::Project)
        .map(|place| place.path)
        .collect();
    assert!(
        roots
            .iter()
            .all(|root| root.starts_with(folder.path().join("x/y"))),
        "{roots:?}"
    );
}

#[test]
fn folder_that_is_no_project_and_gongfus_home_have_no_places() {
    let folder = tempfile::tempdir().unwrap();
    let (user, project) = (folder.path().join("me"), folder.path().join("project"));
    for path in [&user.join("skills"), &project.join("skills/skills")] {
        std::fs::create_dir_all(path).unwrap();
    }
    let of_project = |start: &Path| {
        let settings = Settings {
            project: Some(start.to_owned()),
            user: Some(user.clone()),
            default_dirs: true,
            ..Settings::default()
        };
        let home = Home::at(project.join("skills"));
        let places = places(&settings, &home, &Trusts::default());
        let places = places.into_iter().filter(|place| place.project.is_some());
        places.map(|place| place.path).collect::<Vec<_>>()
    };
    assert_eq!(of_project(Path::new("/")), [""; 0].map(PathBuf::from));
    assert_eq!(of_project(&user), [""; 0].map(PathBuf::from));
    let conventional = [".agents/skills", ".claude/skills"].map(|below| project.join(below));
    assert_eq!(of_project(&project), conventional);
}

/// The kinds of the places with these folders, and their projects.
fn kinds(settings: &Settings, trusts: &Trusts, folders: &[&Path]) -> Vec<String> {
    let found = places(settings, &Home::at("/h"), trusts);
    let kind = |folder: &&Path| {
        let place = found.iter().find(|place| place.path == **folder);
        place.map_or_else(
            || "none".to_owned(),
            |place| {
                let project = place.project.as_deref().unwrap_or_default();
                format!("{:?} {project}", place.kind)
            },
        )
    };
    folders.iter().map(kind).collect()
}

#[test]
fn relative_folder_belongs_to_the_project_that_it_leads_into() {
    let folder = tempfile::tempdir().unwrap();
    let base = std::fs::canonicalize(folder.path()).unwrap();
    let clone = base.join("clone");
    for path in [
        "clone/.git",
        "clone/extra",
        "clone/sub/env",
        "other/.git",
        "other/extra",
        "mine",
    ] {
        std::fs::create_dir_all(base.join(path)).unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("../other/extra", clone.join("link")).unwrap();
    let [extra, env, link] = ["extra", "sub/env", "link"].map(|path| clone.join(path));
    let (other, mine) = (base.join("clone/../other/extra"), base.join("mine"));
    let chosen = clone.join("typed");
    let all: [&Path; 6] = [&extra, &env, &link, &other, &mine, &chosen];
    let settings = Settings {
        chosen: vec![chosen.clone()],
        explicit: vec![
            "extra".into(),
            "./link".into(),
            "sub/../link".into(),
            "../other/extra".into(),
            mine.clone(),
        ],
        environment: vec!["sub/env".into()],
        start: Some(clone.clone()),
        default_dirs: true,
        ..Settings::default()
    };
    let of_clone = format!("Untrusted {}", clone.display());
    let of_other = format!("Untrusted {}", base.join("other").display());
    let found = kinds(&settings, &Trusts::default(), &all);
    assert_eq!(
        found,
        [
            &*of_clone,
            &*of_clone,
            &*of_clone,
            &*of_other,
            "Explicit ",
            "Explicit "
        ]
    );
    let listed = places(&settings, &Home::at("/h"), &Trusts::default());
    assert!(listed.is_sorted_by_key(|place| place.kind), "{listed:?}");
    assert!(
        listed
            .iter()
            .filter(|place| place.kind == SourceKind::Untrusted)
            .all(|place| place.is_named)
    );
    let out: Vec<_> = listed
        .iter()
        .filter(|place| place.leads_out())
        .map(|place| &place.path)
        .collect();
    assert_eq!(out, [&link, &clone.join("sub/../link")]);

    let trusts = Trusts {
        projects: [(clone.to_string_lossy().into_owned(), 0)].into(),
    };
    let found = kinds(&settings, &trusts, &all);
    let explicit = format!("Explicit {}", clone.display());
    let environment = format!("Environment {}", clone.display());
    assert_eq!(
        found,
        [
            &*explicit,
            &*environment,
            &*explicit,
            &*of_other,
            "Explicit ",
            "Explicit "
        ]
    );
    // What is in no project is nobody's until it is trusted itself.
    let nowhere = Settings {
        start: Some("/".into()),
        explicit: vec!["tmp".into()],
        ..Settings::default()
    };
    let found = kinds(&nowhere, &trusts, &[Path::new("/tmp")]);
    assert!(found[0].starts_with("Untrusted "), "{found:?}");
}
