//! The connections to other MCP servers: gongfu's own file, and those that the environment names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gongfu_core::capability::Safety;
use gongfu_core::connection::{Connection, Entry, FileKind, Mistake, Target, read};
use gongfu_files::{Home, PrivatePaths};
use gongfu_upstream::ConnectionEntry;
use serde_json::Value;

use crate::client::{Format, Snapshot};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::plain;

mod confined;
pub(crate) mod file;
mod live;
mod locks;
pub(crate) mod schema;
pub(crate) mod servers;

pub(crate) use live::LiveServers;
use locks::FileLocks;

/// The variables of the person that every server gets, where they are set.
const PASSED_ON: [&str; 12] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
];

/// The folders of programs for a person without a `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Something in a file of connections, or in the environment, that can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    /// The file, or the variable of the environment.
    pub(crate) file: PathBuf,
    /// The line, where it is known.
    pub(crate) line: Option<usize>,
    /// The problem, for people.
    pub(crate) what: String,
}

impl Diagnostic {
    /// The diagnostic in one line.
    pub(crate) fn text(&self) -> String {
        let file = plain(&self.file.to_string_lossy());
        match self.line {
            Some(line) => format!("{file}:{line}: {}", plain(&self.what)),
            None => format!("{file}: {}", plain(&self.what)),
        }
    }
}

/// The connections of this installation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connections {
    /// Those that can be used.
    pub(crate) declared: Vec<ConnectionEntry>,
    /// Everything that is left out.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Tells why a connection can't be used on this machine.
type Check<'a> = &'a dyn Fn(&Connection) -> Option<String>;

/// Reads every connection: of gongfu's own file first, then those that the environment names. Of two with one name
/// the first counts, and the other is a diagnostic.
pub(crate) fn connections(environment: &Environment, home: &Home) -> Connections {
    let mut all = Connections::default();
    let check = |connection: &Connection| problem(connection, environment, home);
    let own = home.connections();
    let named = environment.connections_file.iter();
    for file in std::iter::once(&own).chain(named) {
        all.add_file(file, *file != own, &check);
    }
    if let Some(folder) = &environment.connections_dir {
        all.add_folder(folder, &check);
    }
    if let Some(level) = unknown_safety(environment) {
        let variable = Path::new("LLP_MCP_DEFAULT_SAFETY");
        let what = format!(
            "`{level}` is not a safety level, so HIGH holds: use LOW, MEDIUM, HIGH or CRITICAL"
        );
        all.diagnose(variable, None, what);
    }
    all
}

impl Connections {
    fn diagnose(&mut self, file: &Path, line: Option<usize>, what: impl Into<String>) {
        self.diagnostics.push(Diagnostic {
            file: file.to_owned(),
            line,
            what: what.into(),
        });
    }

    fn add_folder(&mut self, folder: &Path, check: Check<'_>) {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                return self.diagnose(folder, None, format!("it can't be read: {error}"));
            }
        };
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| Format::of(path).is_some())
            .collect();
        files.sort();
        for file in files {
            self.add_file(&file, true, check);
        }
    }

    fn add_file(&mut self, file: &Path, is_required: bool, check: Check<'_>) {
        let text = match Snapshot::read(file) {
            Ok(snapshot) => match snapshot.text {
                Some(text) => text,
                None if is_required => return self.diagnose(file, None, "there is no such file"),
                None => return,
            },
            Err(failure) => return self.diagnose(file, None, failure.message),
        };
        let format = Format::of(file).unwrap_or(Format::Json);
        let value = match format.read(&text) {
            Ok(value) => value,
            Err(failure) => return self.diagnose(file, None, failure.message),
        };
        let reading = read(&value, FileKind::Own(&Environment::variable));
        for mistake in reading.mistakes {
            self.diagnostics
                .push(diagnostic(file, &text, format, mistake));
        }
        let line = |place: &[String]| format.line(&text, place);
        let source = plain(&file.to_string_lossy());
        for entry in reading.entries {
            match check(&entry.connection) {
                Some(why) => {
                    let what = format!("`{}`: {why}", entry.connection.name);
                    self.diagnose(file, line(&entry.place), what);
                }
                None => self.add(entry, file, &source, line),
            }
        }
    }

    fn add(
        &mut self,
        entry: Entry,
        file: &Path,
        source: &str,
        line: impl Fn(&[String]) -> Option<usize>,
    ) {
        let name = &entry.connection.name;
        let mut declared = self.declared.iter();
        if let Some(first) = declared.find(|first| first.connection.name == *name) {
            let what = format!(
                "`{name}` is in {} already: rename one of them",
                first.source
            );
            return self.diagnose(file, line(&entry.place), what);
        }
        if !entry.is_disabled {
            self.declared.push(ConnectionEntry {
                connection: entry.connection,
                source: source.to_owned(),
            });
        }
    }
}

/// The reason why a connection can't be used on this machine, and the fix.
pub(crate) fn problem(
    connection: &Connection,
    environment: &Environment,
    home: &Home,
) -> Option<String> {
    let Target::Program(program) = &connection.target else {
        return None;
    };
    let sandbox = program.confinement()?;
    let private = PrivatePaths::new(home, environment.user.as_deref());
    confined::refusal(&private, environment.user.as_deref(), &sandbox)
}

/// The connections in the configuration of a client, with their names adapted; gongfu itself is left out.
pub(crate) fn of_client(file: &Path) -> Result<(Vec<Entry>, Vec<Diagnostic>), Failure> {
    let Some(text) = Snapshot::read(file)?.text else {
        let message = format!("there is no file {}", plain(&file.to_string_lossy()));
        return Err(Failure::new("FILE_NOT_FOUND", message, "check the path"));
    };
    let format = Format::of(file).unwrap_or(Format::Json);
    let value: Value = format.read(&text)?;
    let reading = read(&value, FileKind::Client);
    let mistakes = reading.mistakes.into_iter();
    let mistakes = mistakes.map(|mistake| diagnostic(file, &text, format, mistake));
    let entries = reading.entries.into_iter();
    let entries = entries.filter(|entry| !is_this(&entry.connection));
    Ok((entries.collect(), mistakes.collect()))
}

/// Adds connections to gongfu's own file; answers those that were added, and the names that were taken. Nothing is
/// approved by it.
pub(crate) fn import(
    entries: Vec<Entry>,
    environment: &Environment,
    home: &Home,
) -> Result<(Vec<Connection>, Vec<String>), Failure> {
    let known = connections(environment, home).declared.into_iter();
    let mut known: Vec<_> = known.map(|known| known.connection.name).collect();
    let (mut added, mut taken) = (Vec::new(), Vec::new());
    for Entry { connection, .. } in entries {
        if known.contains(&connection.name) {
            taken.push(connection.name.to_string());
            continue;
        }
        file::put(home, &connection)?;
        known.push(connection.name.clone());
        added.push(connection);
    }
    Ok((added, taken))
}

/// A mistake in a file as a diagnostic. An entry of a list is found by its name.
fn diagnostic(file: &Path, text: &str, format: Format, mistake: Mistake) -> Diagnostic {
    let first = format.line(text, &mistake.place);
    let is_item = mistake
        .place
        .last()
        .is_some_and(|last| last.parse::<usize>().is_ok());
    let name = mistake.name.as_deref();
    let named = name.filter(|_| is_item).and_then(|name| {
        let lines = text.lines().enumerate();
        let mut lines = lines.skip(first.unwrap_or(1).saturating_sub(1));
        lines.find(|(_, line)| line.contains(name))
    });
    Diagnostic {
        file: file.to_owned(),
        line: named.map(|(at, _)| at + 1).or(first),
        what: match name {
            Some(name) => format!("`{name}`: {}", mistake.what),
            None => mistake.what,
        },
    }
}

/// Returns true if a connection is gongfu's own server.
fn is_this(connection: &Connection) -> bool {
    match &connection.target {
        Target::Program(program) => {
            let name = Path::new(&program.command).file_name();
            let is_called = name.is_some_and(|name| name == "gongfu");
            is_called || program.arguments.iter().any(|word| word == "gongfu")
        }
        Target::Url(_) => connection.name.as_str() == "gongfu",
    }
}

/// The environment that every server gets.
pub(crate) fn environment() -> BTreeMap<String, String> {
    let mut all = BTreeMap::from([("PATH".to_owned(), DEFAULT_PATH.to_owned())]);
    let set = PASSED_ON.into_iter();
    all.extend(set.filter_map(|name| Some((name.to_owned(), Environment::variable(name)?))));
    all
}

/// The safety level of connections that say nothing. A word that names none must not lower it.
pub(crate) fn default_safety(environment: &Environment) -> Safety {
    match environment.default_safety.as_deref() {
        Some(name) => Safety::from_name(name).unwrap_or(Safety::High),
        None => Safety::Medium,
    }
}

/// The word of the environment that names no level.
fn unknown_safety(environment: &Environment) -> Option<&str> {
    let named = environment.default_safety.as_deref()?;
    Safety::from_name(named).is_none().then_some(named)
}
