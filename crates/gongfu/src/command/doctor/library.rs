//! The skills: where they are, what is wrong with them, and whether their folders are watched.

use gongfu_core::library::{Library, Skill};
use gongfu_library::WatchStatus;
use gongfu_library::source::Place;
use gongfu_library::watch::Unwatchable;

use super::Check;
use crate::project::Workspace;
use crate::table;

pub(super) fn skills(library: &Library, places: &[Place]) -> Vec<Check> {
    let mut checks = Vec::new();
    let skills = library.skills();
    checks.push(if skills.is_empty() {
        Check::warn(
            "skills",
            format!("none in {}", table::count(places.len(), "place")),
            "create .agents/skills, or pass --skills-dir DIR",
        )
    } else {
        let sources = library.sources().iter();
        let sources = sources.map(|source| format!("{}: {}", source.id, source.root));
        let [skills, of] = [(skills.len(), "skill"), (library.sources().len(), "source")]
            .map(|(number, noun)| table::count(number, noun));
        Check::ok("skills", format!("{skills} from {of}")).with_details(sources.collect())
    });
    let count = |is: &dyn Fn(&Skill) -> bool| skills.iter().filter(|skill| is(skill)).count();
    let errors = count(&|skill| skill.findings.errors > 0);
    let unlisted = count(&|skill| skill.findings.breaches > 0 || !skill.name.is_plain_in_uri());
    if errors > 0 || unlisted > 0 {
        let errors = table::count(errors, "skill");
        let check = Check::warn(
            "format",
            format!("{errors} with errors (they work here; some clients are stricter)"),
            "gongfu skill check",
        );
        let detail = format!(
            "{unlisted} break the format, so clients of MCP's Skills extension aren't offered them; tools and prompts reach them"
        );
        checks.push(check.with_details(vec![detail]));
    }
    let shadowed = count(&|skill| library.shadowed_by(skill).is_some());
    if shadowed > 0 {
        let shadowed = table::count(shadowed, "skill");
        checks.push(Check::warn(
            "names",
            format!("{shadowed} shadowed by another of the same name"),
            "gongfu list --shadowed, and use the full name",
        ));
    }
    let left = library.unloadable();
    let details = left.iter().flat_map(|left| {
        let found = left.diagnostics.iter();
        found.map(|found| {
            let text = gongfu_core::text::finding(&found.finding);
            format!("{}: {}; {}", left.path, text.message, text.hint)
        })
    });
    let details: Vec<String> = details.collect();
    if !details.is_empty() {
        let number = table::count(left.len(), "folder");
        let message = format!("{number} can't be loaded");
        let check = Check::warn("left-out", message, "gongfu doctor -v shows why");
        checks.push(check.with_details(details));
    }
    checks
}

/// Checks that the system reports changes, else gongfu has to poll.
pub(super) fn watching(places: &[WatchStatus]) -> Check {
    let folders: usize = places.iter().map(|place| place.folders).sum();
    let unwatched = || {
        places.iter().filter_map(|place| {
            let why = place.unwatched.as_ref()?;
            Some((&place.path, why))
        })
    };
    let details: Vec<String> = unwatched()
        .map(|(path, why)| format!("{}: {why}", path.display()))
        .collect();
    if details.is_empty() {
        let folders = table::count(folders, "folder");
        return Check::ok("watching", format!("{folders} watched for changes"));
    }
    let is_exhausted = unwatched().any(|(_, why)| matches!(why, Unwatchable::Exhausted));
    let fix = if is_exhausted {
        "raise the sysctls fs.inotify.max_user_watches and fs.inotify.max_user_instances"
    } else {
        ""
    };
    let message = format!(
        "{} polled once a second instead of watched",
        table::count(details.len(), "place")
    );
    Check::warn("watching", message, fix).with_details(details)
}

/// The folder that runs and the tools for files work in.
pub(super) fn project(workspace: &Workspace) -> Check {
    match workspace {
        Workspace::Named(folder) | Workspace::Project(folder) | Workspace::Server(folder) => {
            Check::ok("project", folder.display().to_string())
        }
        Workspace::Private { .. } => Check::ok("project", workspace.note().unwrap_or_default()),
    }
}

/// A warning of a project whose skills don't run yet.
pub(super) fn trust(library: &Library) -> Option<Check> {
    let skills = library.skills().iter();
    let mut projects = skills.filter_map(|skill| library.untrusted_project(skill));
    let project = projects.next()?;
    let count = projects.count() + 1;
    Some(Check::warn(
        "trust",
        format!("{project} isn't trusted: scripts of its skills ({count}) don't run"),
        format!("review them, then: gongfu trust {project}"),
    ))
}
