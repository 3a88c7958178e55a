//! `gongfu uninstall`: removes client entries, installed packages and the home, each after a question.
//!
//! The program itself belongs to the channel that installed it, so the last line is that channel's command.

use std::io::IsTerminal as _;

use gongfu_core::skill::SkillPath;
use gongfu_files::Home;
use gongfu_files::disk::Root;

use super::Outcome;
use crate::channel::Program;
use crate::cli::UninstallArguments;
use crate::client::{Action, CLIENTS, Scope};
use crate::clock::SystemClock;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;

/// The entries of the home that a person may miss.
const YOURS: [&str; 10] = [
    "skills",
    "workspaces",
    "changes",
    "layers",
    "kept",
    "adopted",
    "approvals.json",
    "grants.json",
    "config.toml",
    // Here only if a person just kept it.
    "environments",
];

/// The answers to the questions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answers {
    Ask,
    Yes,
    DryRun,
}

pub(crate) fn run(
    arguments: &UninstallArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let answers = match (arguments.yes, arguments.dry_run) {
        (true, _) => Answers::Yes,
        (_, true) => Answers::DryRun,
        _ if std::io::stdin().is_terminal() => Answers::Ask,
        _ => {
            return Err(Failure::usage(
                "NO_TERMINAL",
                "there is no terminal to ask on",
                "pass --yes to remove everything, or --dry-run to list it",
            )
            .into());
        }
    };
    let home = wiring::home(environment)?;
    let mut removal = Removal {
        answers,
        is_complete: true,
        terminal,
    };
    removal.clients(&home, environment)?;
    removal.environments(&home)?;
    removal.home(&home)?;
    let program = Program::current();
    let path = plain(&program.path().to_string_lossy());
    let title = program.channel().title;
    let is_complete = removal.is_complete;
    terminal.line(&format!(
        "kept      the program {path}, installed by {title}; to remove it:"
    ))?;
    terminal.line(&format!("          {}", plain(&program.remove())))?;
    Ok(Outcome::of(is_complete))
}

/// A removal on its way.
struct Removal<'t> {
    answers: Answers,
    /// Nothing failed.
    is_complete: bool,
    terminal: &'t mut Terminal,
}

impl Removal<'_> {
    /// Removes the entries of all clients, as `gongfu client uninstall` does.
    fn clients(&mut self, home: &Home, environment: &Environment) -> anyhow::Result<()> {
        for (client, scope) in CLIENTS
            .iter()
            .flat_map(|client| [(client, Scope::User), (client, Scope::Project)])
        {
            let location = client.location(scope, environment);
            if !location.exists {
                continue;
            }
            let change = match client.plan(&Action::Uninstall, scope, false, environment, home) {
                Ok(change) if change.is_change() => change,
                Ok(_) => continue,
                // Another program's entry is nobody's business here.
                Err(problem) if problem.code == "FOREIGN_ENTRY" => continue,
                Err(problem) => {
                    self.failed(problem.code, &problem.message, &problem.hint);
                    continue;
                }
            };
            let file = plain(&change.file.to_string_lossy());
            if self.is_wanted(&format!("{} entry in {file}", client.title))? {
                match change.apply(&SystemClock) {
                    Ok(_) => self.removed(&format!("{} entry in {file}", client.title))?,
                    Err(problem) => self.failed(problem.code, &problem.message, &problem.hint),
                }
            }
        }
        Ok(())
    }

    fn environments(&mut self, home: &Home) -> anyhow::Result<()> {
        let names = names(home);
        if !names
            .iter()
            .any(|name| name == "environments" || name == "tools")
        {
            return Ok(());
        }
        let what = "packages that gongfu installed for scripts";
        if self.is_wanted(what)? {
            match home.remove_environments() {
                Ok(()) => self.removed(what)?,
                Err(error) => self.failed(
                    "NOT_REMOVED",
                    &error.to_string(),
                    "stop every gongfu, and try again",
                ),
            }
        }
        Ok(())
    }

    fn home(&mut self, home: &Home) -> anyhow::Result<()> {
        let names = names(home);
        if names.is_empty() {
            return Ok(());
        }
        let path = plain(&home.path().to_string_lossy());
        let yours = YOURS.iter().filter(|name| holds(home, name));
        let yours: Vec<&str> = yours.copied().collect();
        let what = if yours.is_empty() {
            format!("home {path}")
        } else {
            format!("home {path}, with your {}", yours.join(", "))
        };
        if self.is_wanted(&what)? {
            match home.remove() {
                Ok(rest) if rest.is_empty() => self.removed(&what)?,
                Ok(rest) => {
                    self.removed(&what)?;
                    let rest = plain(&rest.join(", "));
                    self.terminal
                        .line(&format!("kept      {path}: gongfu did not create {rest}"))?;
                }
                Err(error) => self.failed(
                    "NOT_REMOVED",
                    &error.to_string(),
                    "stop every gongfu, and try again",
                ),
            }
        }
        Ok(())
    }

    /// Asks whether something is to be removed, if a person is to be asked.
    fn is_wanted(&mut self, what: &str) -> anyhow::Result<bool> {
        let is_wanted = match self.answers {
            Answers::Yes => return Ok(true),
            Answers::Ask => self.terminal.ask(&format!("remove the {what}?"))?,
            Answers::DryRun => {
                self.terminal.line(&format!("would remove the {what}"))?;
                return Ok(false);
            }
        };
        if !is_wanted {
            self.terminal.line(&format!("kept      the {what}"))?;
        }
        Ok(is_wanted)
    }

    fn removed(&mut self, what: &str) -> anyhow::Result<()> {
        let word = self.terminal.paint(Paint::Green, "removed  ");
        Ok(self.terminal.line(&format!("{word} the {what}"))?)
    }

    fn failed(&mut self, code: &str, message: &str, hint: &str) {
        self.is_complete = false;
        self.terminal.problem(code, message, hint);
    }
}

/// The names of what is in the home.
fn names(home: &Home) -> Vec<String> {
    entries(home, "")
}

/// Returns whether the home has a file of this name, or a folder with something in it.
fn holds(home: &Home, name: &str) -> bool {
    names(home).iter().any(|one| one == name)
        && (name.contains('.') || !entries(home, name).is_empty())
}

fn entries(home: &Home, name: &str) -> Vec<String> {
    let root = Root::open(home.path()).ok();
    let path = SkillPath::new(name).ok();
    let entries = root
        .zip(path)
        .and_then(|(root, path)| root.list(&path).ok());
    let entries = entries.unwrap_or_default().into_iter();
    entries.map(|entry| entry.name).collect()
}
