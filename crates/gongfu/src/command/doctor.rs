//! `gongfu doctor`: whether everything works, and how to fix what doesn't.

#[cfg(all(feature = "attack", target_os = "linux"))]
pub(super) mod attack;

use gongfu_core::dependency::Language;
use gongfu_core::library::{Library, Skill};
use gongfu_core::sandbox::{BackendStatus, Level};
use gongfu_core::skill::SkillPath;
use gongfu_core::switches::Switches;
use gongfu_files::Home;
use gongfu_files::disk;
use gongfu_library::WatchStatus;
use gongfu_library::source::Place;
use gongfu_library::watch::{Limit, Unwatchable};
use gongfu_records::FileRecords;
use serde::Serialize;

use super::Outcome;
use crate::cli::Places;
use crate::client::CLIENTS;
use crate::config::Config;
use crate::environment::Environment;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring::Parts;
use crate::{progress, wiring};

/// The outcome of one check.
#[derive(Debug, Serialize)]
struct Check {
    id: &'static str,
    status: Status,
    message: String,
    /// The advice; empty when there is nothing to do.
    fix: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Warn,
    Fail,
}

impl Check {
    fn ok(id: &'static str, message: impl Into<String>) -> Self {
        Self {
            status: Status::Ok,
            ..Self::fail(id, message, "")
        }
    }

    fn warn(id: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            status: Status::Warn,
            ..Self::fail(id, message, fix)
        }
    }

    fn fail(id: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            id,
            status: Status::Fail,
            message: message.into(),
            fix: fix.into(),
        }
    }
}

pub(crate) fn run(
    places: &Places,
    attack: bool,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    if attack {
        #[cfg(all(feature = "attack", target_os = "linux"))]
        return attack::run(json, environment, terminal);
        #[cfg(not(all(feature = "attack", target_os = "linux")))]
        anyhow::bail!(
            "this build has no attacks; build gongfu for Linux with the feature `attack`"
        );
    }
    let checks = progress::during("looking", || checks(places, environment));
    if json {
        terminal.json(&checks)?;
    } else {
        for check in &checks {
            let (paint, word) = match check.status {
                Status::Ok => (Paint::Green, "ok  "),
                Status::Warn => (Paint::Yellow, "warn"),
                Status::Fail => (Paint::Red, "fail"),
            };
            terminal.line(&format!(
                "{}  {:<12} {}",
                terminal.paint(paint, word),
                check.id,
                plain(&check.message)
            ))?;
            if !check.fix.is_empty() {
                terminal.line(&format!(
                    "                    {}",
                    terminal.paint(Paint::Dim, &plain(&check.fix))
                ))?;
            }
        }
    }
    Ok(Outcome::of(
        !checks.iter().any(|check| check.status == Status::Fail),
    ))
}

fn checks(places: &Places, environment: &Environment) -> Vec<Check> {
    let mut checks = vec![Check::ok(
        "version",
        format!(
            "gongfu {} on {} {}",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::OS,
            std::env::consts::ARCH
        ),
    )];
    let home = match wiring::home(environment) {
        Ok(home) => home,
        Err(error) => {
            checks.push(Check::fail(
                "home",
                error.to_string(),
                "set GONGFU_HOME to a folder that gongfu may write to",
            ));
            return checks;
        }
    };
    checks.push(home_check(&home));
    checks.push(handle_check(&home));
    checks.push(sandbox_check(&home, environment));
    checks.push(match Config::read(&home) {
        Ok(_) if disk::kind_outside(&home.config()).is_none() => {
            Check::ok("config", "no settings file: everything is as it comes")
        }
        Ok(_) => Check::ok("config", home.config().display().to_string()),
        Err(error) => Check::fail(
            "config",
            format!("{error:#}"),
            "fix that line of the settings, or move the file away",
        ),
    });
    checks.push(switches_check(&home));
    match wiring::parts(environment, places) {
        Ok(parts) => match parts.skills.current() {
            Ok(library) => {
                checks.push(packages_check(&parts));
                checks.extend(plain_index_check(&parts));
                checks.extend(library_checks(&library, &parts.skills.places()));
                checks.extend(watching_checks(&parts.skills.watching(Limit::default())));
            }
            Err(error) => checks.push(Check::fail(
                "skills",
                error.to_string(),
                "see the checks above",
            )),
        },
        Err(error) => checks.push(Check::fail(
            "skills",
            format!("{error:#}"),
            "see the checks above",
        )),
    }
    let clients: Vec<&str> = CLIENTS
        .iter()
        .filter(|client| client.found(environment).is_some())
        .map(|client| client.title)
        .collect();
    checks.push(match clients.as_slice() {
        [] => Check::warn(
            "clients",
            "none of the clients that gongfu knows is installed here",
            "paste what `gongfu client print` prints into the configuration of yours",
        ),
        found => Check::ok("clients", found.join(", ")),
    });
    checks
}

/// By what the packages are installed that scripts need, and from where.
fn packages_check(parts: &Parts) -> Check {
    let mut from = Vec::new();
    for language in Language::ALL {
        match parts.environments.index(language) {
            Ok(index) => from.push(format!("those of {} come from {index}", language.title())),
            Err(why) => {
                let fix = "set `index` or `registry` below `[dependencies]` in the settings, or fix those of the installers";
                return Check::warn("packages", why, fix);
            }
        }
    }
    let from = from.join(", ");
    match parts.environments.uv() {
        Some(uv) => Check::ok("packages", format!("{from}; uv is {}", uv.display())),
        None => Check::warn(
            "packages",
            "there is no uv, so packages of Python that scripts need can't be installed",
            "get it by gongfu init, or put it into the search path",
        ),
    }
}

/// A warning of indexes whose packages could be changed on the way.
fn plain_index_check(parts: &Parts) -> Option<Check> {
    let plain = parts.environments.plain_indexes();
    let message = format!(
        "anybody on the way to {} can change packages that have no digest",
        plain.join(", ")
    );
    let fix = "have the index reached by https, or lock packages with their digests";
    (!plain.is_empty()).then(|| Check::warn("index", message, fix))
}

/// In what scripts would be run here, by the settings, and what else could be used.
fn sandbox_check(home: &Home, environment: &Environment) -> Check {
    let config = Config::read(home).unwrap_or_default();
    let wanted = config.sandbox.level.map(Level::from);
    let runner = config.sandbox.runner(wanted, environment);
    let statuses = wiring::runtime().map(|runtime| runtime.block_on(runner.statuses()));
    let statuses = match statuses {
        Ok(Ok(statuses)) => statuses,
        Ok(Err(error)) => return Check::warn("sandbox", error.to_string(), ""),
        Err(error) => return Check::warn("sandbox", format!("{error:#}"), ""),
    };
    let is_wanted = |one: &&BackendStatus| match wanted {
        Some(wanted) => wanted == one.level,
        None => !one.is_opt_in,
    };
    let mut usable = statuses.iter().filter(is_wanted);
    let used = usable.find(|one| one.unavailable_reason.is_none());
    let others = statuses.iter().filter(|one| Some(*one) != used);
    let others = others.map(|one| match &one.unavailable_reason {
        None if used.is_none() => format!("{} would work", one.level),
        None if one.is_opt_in => format!("{} works where the settings name it", one.level),
        None => format!("{} works as well", one.level),
        Some(reason) => format!("{}: {reason}", one.level),
    });
    let others = others.collect::<Vec<_>>().join("; ");
    match (used, wanted) {
        (Some(used), _) if others.is_empty() => Check::ok("sandbox", used.about),
        (Some(used), _) => Check::ok("sandbox", format!("{} ({others})", used.about)),
        (None, None) => Check::warn(
            "sandbox",
            "none works here, so no script is ever run",
            others,
        ),
        (None, Some(wanted)) => Check::warn(
            "sandbox",
            format!(
                "`{wanted}`, which the settings ask for, doesn't work here, so no script is ever run"
            ),
            others,
        ),
    }
}

/// Checks that the system tells of changes, else they have to be looked for.
fn switches_check(home: &Home) -> Check {
    let records = FileRecords::new(home.clone());
    let read = Switches::read(&records);
    match wiring::runtime().and_then(|runtime| Ok(runtime.block_on(read)?)) {
        Ok(switches) => Check::ok(
            "switches",
            format!("{} skills are switched off", switches.disabled.len()),
        ),
        Err(error) => Check::fail(
            "switches",
            error.to_string(),
            "repair the file, or move it away: then every skill is on",
        ),
    }
}

fn watching_checks(places: &[WatchStatus]) -> Vec<Check> {
    let folders: usize = places.iter().map(|place| place.folders).sum();
    let unwatched = places.iter().filter_map(|place| {
        let why = place.unwatched.as_ref()?;
        let message = format!(
            "{}: changes are looked for once a second, because {why}",
            place.path.display()
        );
        let fix = match why {
            Unwatchable::Exhausted => {
                "allow more by sysctl: fs.inotify.max_user_watches, fs.inotify.max_user_instances"
            }
            Unwatchable::Remote => "nothing has to be done; a local copy is faster",
            _ => "nothing has to be done; a server uses some more of the processor",
        };
        Some(Check::warn("watching", message, fix))
    });
    let mut checks: Vec<Check> = unwatched.collect();
    if checks.is_empty() {
        let message = format!("the system tells of changes in {folders} folders");
        checks.push(Check::ok("watching", message));
    }
    checks
}

fn home_check(home: &Home) -> Check {
    let path = home.path().display().to_string();
    let name = ".doctor";
    let written = home.open().and_then(|root| {
        root.replace(name, b"", false)?;
        root.dir().remove_file(name)
    });
    match written {
        Ok(()) if home.is_open_to_others() => Check::warn(
            "home",
            format!("other users of this machine may enter {path}"),
            format!("chmod 700 {path}"),
        ),
        Ok(()) => Check::ok("home", path),
        Err(error) => Check::fail(
            "home",
            format!("{path} can't be written: {error}"),
            "make it writable, or set GONGFU_HOME to another folder",
        ),
    }
}

/// Checks that a folder's handle really holds: a link out of it must not be followed.
fn handle_check(home: &Home) -> Check {
    match follows_out(home) {
        Ok(false) => Check::ok("handles", "links out of a folder are not followed"),
        Ok(true) => Check::fail(
            "handles",
            "a link out of a folder was followed",
            "don't use gongfu on this system; please report it",
        ),
        Err(error) => Check::warn(
            "handles",
            format!("it couldn't be tried: {error}"),
            "see the check of the home above",
        ),
    }
}

/// Plants a link out of a folder and reads through it; names are new, so that nothing that others
/// left or plant at the same time is in the way.
fn follows_out(home: &Home) -> std::io::Result<bool> {
    let root = home.open()?;
    let (folder, file) = (
        disk::temporary_name("doctor"),
        disk::temporary_name("doctor"),
    );
    root.dir().create_dir(&folder)?;
    let tried = root.replace(&file, b"x", false).and_then(|()| {
        let inside = root.below(&SkillPath::new(&folder).map_err(std::io::Error::other)?)?;
        inside.dir().symlink(format!("../{file}"), "out")?;
        let link = SkillPath::new("out").map_err(std::io::Error::other)?;
        Ok(inside.read(&link, 1).is_ok())
    });
    let _ = root.dir().remove_file(&file);
    let _ = root.dir().remove_dir_all(&folder);
    tried
}

fn library_checks(library: &Library, places: &[Place]) -> Vec<Check> {
    let mut checks = Vec::new();
    let skills = library.skills();
    checks.push(if skills.is_empty() {
        Check::warn(
            "skills",
            format!("none in {} places", places.len()),
            "put skills into .agents/skills, or name a folder by --skills-dir",
        )
    } else {
        Check::ok(
            "skills",
            format!("{} in {} sources", skills.len(), library.sources().len()),
        )
    });
    let count = |is: &dyn Fn(&Skill) -> bool| skills.iter().filter(|skill| is(skill)).count();
    let errors = count(&|skill| skill.findings.errors > 0);
    if errors > 0 {
        checks.push(Check::warn(
            "format",
            format!("{errors} skills have errors; they work, but perhaps not in every client"),
            "gongfu skill check",
        ));
    }
    let unlisted = count(&|skill| skill.findings.breaches > 0 || !skill.name.is_plain_in_uri());
    if unlisted > 0 {
        checks.push(Check::warn(
            "hosts",
            format!(
                "{unlisted} skills break the format, so hosts of MCP's Skills extension aren't offered them; tools and prompts reach them"
            ),
            "gongfu skill check, and fix the errors",
        ));
    }
    let shadowed = count(&|skill| library.shadowed_by(skill).is_some());
    if shadowed > 0 {
        checks.push(Check::warn(
            "names",
            format!("{shadowed} skills share their name with one that wins it"),
            "reach them by their full name: gongfu skill list",
        ));
    }
    for left in library.unloadable() {
        for found in &left.diagnostics {
            let text = gongfu_core::text::finding(&found.finding);
            checks.push(Check::warn(
                "left-out",
                format!("{}: {}", left.path, text.message),
                text.hint,
            ));
        }
    }
    checks
}
