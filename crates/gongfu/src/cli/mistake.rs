//! Reading the command line, and answers to what it can't be read as: what is wrong, and the next step.

mod answer;
mod missing;
mod option;
mod table;
#[cfg(test)]
mod tests;
mod tip;
mod word;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ColorChoice, Command, CommandFactory as _, FromArgMatches as _};

use gongfu_core::near;

use super::Cli;
use super::skills::own_words;
use crate::failure::Failure;
use crate::output::OutputArguments;

pub(crate) use word::{clone_commands, clone_hint, command_line, quoted};

/// The reason why no command is run.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Help or the version was asked for; true if it is for standard error.
    Help(clap::Error),
    Mistake(Failure),
}

/// Reads the words of a command line, the program's name first.
///
/// # Errors
/// With the options for output that are in the words all the same.
pub(crate) fn parse(words: Vec<OsString>) -> Result<Cli, (OutputArguments, Refusal)> {
    let mut command = Cli::command();
    let words = own_words(&command, words);
    let error = match read(&mut command, &words) {
        Ok(cli) => return Ok(cli),
        Err(error) => error,
    };
    let given: Vec<String> = words
        .iter()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    // Nothing but questions is read in another way than it is written.
    if let Some(meant) = question(&error, &command, &given) {
        let program = words.into_iter().take(1);
        let words: Vec<OsString> = program.chain(meant.iter().map(Into::into)).collect();
        return read(&mut command, &words)
            .map_err(|error| (output(&given), refusal(error, &command, &meant)));
    }
    Err((output(&given), refusal(error, &command, &given)))
}

fn read(command: &mut Command, words: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches(&matches)
}

/// The words that a question for a list, for help or for the version should have had.
fn question(error: &clap::Error, root: &Command, words: &[String]) -> Option<Vec<String>> {
    let is = |forms: &[&str]| matches!(words, [only] if forms.contains(&only.as_str()));
    if is(&["version", "ver", "-v", "-version"]) {
        return Some(vec!["--version".to_owned()]);
    }
    if is(&["?", "-?", "/?", "/h", "/help"]) {
        return Some(vec!["--help".to_owned()]);
    }
    let (path, command) = reached(root, words);
    match (error.kind(), words) {
        // `gongfu changes`
        (ErrorKind::MissingSubcommand, _) if command.find_subcommand("list").is_some() => {
            let end = words.iter().position(|word| word == "--");
            let mut words = words.to_vec();
            words.insert(end.unwrap_or(words.len()), "list".to_owned());
            Some(words)
        }
        // `gongfu help list skills`
        (ErrorKind::InvalidSubcommand, [help, of @ ..]) if help == "help" => {
            let (path, _) = reached(root, of);
            let Some(path) = path.strip_prefix("gongfu ") else {
                // No command begins so, and the answer says which was meant.
                return Some(of.to_vec());
            };
            let path = path.split(' ');
            Some(path.chain(["--help"]).map(str::to_owned).collect())
        }
        // `gongfu list help`
        (ErrorKind::UnknownArgument, [.., last]) if last == "help" => {
            let path = path.strip_prefix("gongfu ")?.split(' ');
            Some(path.chain(["--help"]).map(str::to_owned).collect())
        }
        _ => None,
    }
}

/// The options for output, as far as they can be seen.
fn output(words: &[String]) -> OutputArguments {
    let words = || words.iter().take_while(|word| *word != "--");
    let mut after = words().skip(1);
    let color = words().find_map(|word| {
        let next = after.next();
        let value = match word.strip_prefix("--color") {
            Some("") => next.map(String::as_str),
            Some(value) => value.strip_prefix('='),
            None => None,
        };
        value?.parse().ok()
    });
    OutputArguments {
        json: words().any(|word| word == "--json"),
        color: color.unwrap_or(ColorChoice::Auto),
        ..OutputArguments::default()
    }
}

fn refusal(error: clap::Error, root: &Command, words: &[String]) -> Refusal {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Refusal::Help(error),
        _ => Refusal::Mistake(answer::failure(&error, root, words)),
    }
}

/// The command that the words lead to, with its path.
fn reached<'a>(root: &'a Command, words: &[String]) -> (String, &'a Command) {
    let (mut path, mut command) = ("gongfu".to_owned(), root);
    let mut names = words.iter().take_while(|word| *word != "--");
    while let Some(word) = names.next() {
        if word == "--color" {
            names.next();
        }
        if word.starts_with('-') {
            continue;
        }
        let Some(next) = command.find_subcommand(word) else {
            break;
        };
        command = next;
        path = format!("{path} {}", next.get_name());
    }
    (path, command)
}

/// The same words with the names of commands as gongfu has them.
fn named(root: &Command, words: &[String]) -> Vec<String> {
    let mut command = Some(root);
    let words = words.iter().map(|word| {
        let below = command.and_then(|command| command.find_subcommand(near::folded(word)));
        command = below;
        below.map_or_else(|| word.clone(), |below| below.get_name().to_owned())
    });
    words.collect()
}

/// The command at a path.
fn at<'a>(root: &'a Command, path: &str) -> Option<&'a Command> {
    let mut names = path.split(' ').skip(1);
    names.try_fold(root, |command, name| command.find_subcommand(name))
}
