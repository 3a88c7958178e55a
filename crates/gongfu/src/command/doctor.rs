//! `gongfu doctor`: whether everything works, and how to fix what doesn't.

mod account;
#[cfg(all(feature = "attack", target_os = "linux"))]
pub(super) mod attack;
mod client;
mod connection;
mod home;
mod library;
mod pending;

use gongfu_core::dependency::Language;
use gongfu_core::sandbox::{BackendStatus, Level};
use gongfu_files::Home;
use gongfu_files::disk;
use gongfu_library::watch::Limit;
use serde::Serialize;

use super::Outcome;
use crate::channel::Program;
use crate::cli::Places;
use crate::config::Config;
use crate::environment::Environment;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring::Parts;
use crate::{progress, table, wiring};

/// The outcome of one check.
#[derive(Debug, Serialize)]
struct Check {
    id: &'static str,
    status: Status,
    message: String,
    /// The next step; empty when there is nothing to do.
    fix: String,
    /// More about it, for those who ask.
    details: Vec<String>,
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
            details: Vec::new(),
        }
    }

    fn with_details(self, details: Vec<String>) -> Self {
        Self { details, ..self }
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
    let checks = progress::during("checking", || checks(places, environment));
    if json {
        terminal.json(&checks)?;
    } else {
        for check in &checks {
            print(check, terminal)?;
        }
        summarize(&checks, terminal);
    }
    Ok(Outcome::of(
        !checks.iter().any(|check| check.status == Status::Fail),
    ))
}

/// The columns before the message of a check.
const INDENT: usize = 17;

fn print(check: &Check, terminal: &mut Terminal) -> anyhow::Result<()> {
    let (paint, word) = match check.status {
        Status::Ok => (Paint::Green, "ok"),
        Status::Warn => (Paint::Yellow, "warn"),
        Status::Fail => (Paint::Red, "fail"),
    };
    let head = format!(
        "{}  {}",
        terminal.paint(paint, &table::pad(word, 4)),
        table::pad(check.id, INDENT - 7)
    );
    // On a narrow terminal the text goes below.
    let room = terminal.width().map(|width| width.saturating_sub(INDENT));
    let is_narrow = room.is_some_and(|room| room < 30);
    let (indent, room) = if is_narrow {
        (4, terminal.width().map(|width| width.saturating_sub(4)))
    } else {
        (INDENT, room)
    };
    let blanks = " ".repeat(indent);
    let mut lines = table::wrap(&plain(&check.message), room).into_iter();
    if is_narrow {
        terminal.line(head.trim_end())?;
    } else {
        let first = lines.next().unwrap_or_default();
        terminal.line(format!("{head} {first}").trim_end())?;
    }
    for line in lines {
        terminal.line(&format!("{blanks}{line}"))?;
    }
    for (number, line) in table::wrap(&plain(&check.fix), room.map(|room| room.saturating_sub(3)))
        .iter()
        .enumerate()
    {
        let arrow = if number == 0 { "->" } else { "  " };
        terminal.line(&format!(
            "{blanks}{arrow} {}",
            terminal.paint(Paint::Bold, line)
        ))?;
    }
    let details = check.details.iter().filter(|_| terminal.is_verbose());
    for detail in details.collect::<Vec<_>>() {
        for line in table::wrap(&plain(detail), room) {
            terminal.line(&format!("{blanks}{}", terminal.paint(Paint::Dim, &line)))?;
        }
    }
    Ok(())
}

/// Says what all of it means.
fn summarize(checks: &[Check], terminal: &mut Terminal) {
    let number = |status| checks.iter().filter(|one| one.status == status).count();
    let text = match (number(Status::Fail), number(Status::Warn)) {
        (0, 0) => "everything works".to_owned(),
        (0, warnings) => format!("it works, with {}", table::count(warnings, "warning")),
        (failures, warnings) => format!(
            "{}, {}",
            table::count(failures, "failure"),
            table::count(warnings, "warning")
        ),
    };
    let more = if terminal.is_verbose() {
        ""
    } else {
        " (details: gongfu doctor -v)"
    };
    terminal.note(&format!("{text}{more}"));
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
    checks.push(installation_check());
    let home = match wiring::home(environment) {
        Ok(home) => home,
        Err(error) => {
            checks.push(Check::fail(
                "home",
                error.to_string(),
                "set GONGFU_HOME to a writable folder",
            ));
            return checks;
        }
    };
    checks.push(home::writing(&home));
    checks.push(home::links(&home));
    checks.push(sandbox_check(&home, environment));
    checks.push(match Config::read(&home) {
        Ok(_) if disk::kind_outside(&home.config()).is_none() => {
            let path = home.config().display().to_string();
            Check::ok("config", format!("defaults (create {path} to change them)"))
        }
        Ok(_) => Check::ok("config", home.config().display().to_string()),
        Err(error) => Check::fail(
            "config",
            format!("{error:#}"),
            "fix that line, or move the file away",
        ),
    });
    checks.push(home::switches(&home));
    checks.extend(account::accounts(&home, environment));
    checks.extend(connection::connections(&home, environment));
    match wiring::parts(environment, places) {
        Ok(parts) => match parts.skills.current() {
            Ok(library) => {
                checks.push(library::project(&parts.workspace));
                checks.extend(library::trust(&library));
                checks.push(packages_check(&parts));
                checks.extend(plain_index_check(&parts));
                checks.extend(library::skills(&library, &parts.skills.places()));
                checks.push(library::watching(&parts.skills.watching(Limit::default())));
                checks.extend(pending::checks(&parts));
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
    checks.extend(client::checks(environment));
    checks
}

/// The channel that installed this program, and how to update it.
fn installation_check() -> Check {
    let program = Program::current();
    let (title, path) = (program.channel().title, program.path().display());
    let update = program.update();
    Check::ok(
        "install",
        format!("{path}, installed by {title}; to update: {update}"),
    )
}

/// The installers of packages that scripts need, and their indexes.
fn packages_check(parts: &Parts) -> Check {
    let mut from = Vec::new();
    for language in Language::ALL {
        match parts.environments.index(language) {
            Ok(index) => from.push(format!("{} from {index}", language.title())),
            Err(why) => {
                let fix = "set `index` or `registry` below `[dependencies]` in the settings, or fix those of the installers";
                return Check::warn("packages", why, fix);
            }
        }
    }
    let from = from.join(", ");
    match parts.environments.uv() {
        Some(uv) => Check::ok("packages", from).with_details(vec![format!("uv: {}", uv.display())]),
        None => Check::warn(
            "packages",
            "uv not found: Python packages can't be installed",
            "gongfu init, which downloads it; or put uv on the PATH",
        ),
    }
}

/// A warning of indexes whose packages could be changed on the way.
fn plain_index_check(parts: &Parts) -> Option<Check> {
    let plain = parts.environments.plain_indexes();
    let message = format!(
        "packages without a digest can be tampered with on the way from {}",
        plain.join(", ")
    );
    let fix = "use https for the index, or lock packages with digests";
    (!plain.is_empty()).then(|| Check::warn("index", message, fix))
}

/// The sandbox that runs scripts here, by the settings, and what else could be used.
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
        None if used.is_none() => format!("{}: would work", one.level),
        None if one.is_opt_in => format!("{}: available (set `level` in the settings)", one.level),
        None => format!("{}: available", one.level),
        Some(reason) => format!("{}: {reason}", one.level),
    });
    let others: Vec<String> = others.collect();
    match (used, wanted) {
        (Some(used), _) => Check::ok("sandbox", used.about),
        (None, None) => Check::warn(
            "sandbox",
            "no sandbox works here, so scripts can't be run",
            "gongfu doctor -v shows what is missing",
        ),
        (None, Some(wanted)) => Check::warn(
            "sandbox",
            format!("`{wanted}`, set in the settings, doesn't work here, so scripts can't be run"),
            "gongfu doctor -v shows what is missing; or change `level` in the settings",
        ),
    }
    .with_details(others)
}
