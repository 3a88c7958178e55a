//! Reading the command line, and answers to what it can't be read as: what is wrong, and the next step.

mod missing;
mod option;
mod table;
#[cfg(test)]
mod tests;
mod tip;
mod word;

use std::ffi::OsString;

use clap::builder::PossibleValue;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ColorChoice, Command, CommandFactory as _, FromArgMatches as _};

use gongfu_core::near;

use self::tip::StrayWord;
use super::Cli;
use crate::failure::Failure;
use crate::output::OutputArguments;
use crate::terminal::plain;

pub(crate) use word::{clone_hint, quoted};

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
    let kind = error.kind();
    if matches!(
        kind,
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        return Refusal::Help(error);
    }
    let (path, command) = reached(root, words);
    let help = format!("see `{path} --help`");
    let raw = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        _ => None,
    };
    let text = |kind| raw(kind).map(|text| plain(&text));
    // The words after a word, which is one of those after the command.
    let depth = path.split(' ').count() - 1;
    let after = |word: &str| {
        let at = words
            .iter()
            .enumerate()
            .position(|(at, one)| at >= depth && one == word);
        let at = at.or_else(|| words.iter().position(|one| one == word));
        at.and_then(|at| words.get(at + 1..)).unwrap_or_default()
    };
    let stray = |word: &str, rest: &[String], tip: &dyn Fn(&StrayWord<'_>) -> String| {
        tip(&StrayWord {
            root,
            path: &path,
            word,
            rest,
        })
    };
    let argument = text(ContextKind::InvalidArg).unwrap_or_default();
    let value = text(ContextKind::InvalidValue).unwrap_or_default();
    let hinted = |hint: String| match hint.chars().last() {
        None => help.clone(),
        Some('?') => format!("{hint} Or {help}"),
        Some(_) => format!("{hint}; {help}"),
    };
    let (code, message, hint) = match kind {
        ErrorKind::InvalidSubcommand => {
            let word = raw(ContextKind::InvalidSubcommand).unwrap_or_default();
            let tip = stray(&word, after(&word), &|word| {
                word.command().unwrap_or_default()
            });
            let word = plain(&word);
            let message = match path.strip_prefix("gongfu ") {
                None if word.is_empty() => "the command is empty".to_owned(),
                None => format!("there is no command `{word}`"),
                Some(_) => format!("`{path}` has no command `{word}`"),
            };
            ("UNKNOWN_COMMAND", message, hinted(tip))
        }
        ErrorKind::UnknownArgument => {
            let word = raw(ContextKind::InvalidArg).unwrap_or_default();
            if !word.starts_with('-') {
                let tip = stray(&word, after(&word), &|word| word.argument(command));
                let message = format!("unexpected argument `{}`", plain(&word));
                return Refusal::Mistake(Failure::usage("UNKNOWN_OPTION", message, hinted(tip)));
            }
            // Of `-json` only `-j` is told.
            let is_it = |given: &&String| {
                given.starts_with(&word)
                    && (word.len() == 2
                        || given
                            .as_bytes()
                            .get(word.len())
                            .is_none_or(|next| *next == b'='))
            };
            let given = words.iter().find(is_it).unwrap_or(&word);
            let value = after(given).first().map(String::as_str);
            let value = value.filter(|value| !value.starts_with('-'));
            let unknown = option::Unknown {
                option: given,
                value,
                words,
                path: &path,
                root,
            };
            let tip = unknown.tip(command);
            let shown = plain(given.split('=').next().unwrap_or(given));
            let message = format!("`{path}` has no option `{shown}`");
            ("UNKNOWN_OPTION", message, hinted(tip))
        }
        ErrorKind::MissingRequiredArgument => {
            let mut hint = missing::hint(&argument, &path, words);
            let positional = command.get_positionals().next();
            let values = positional.map(clap::Arg::get_possible_values);
            if let (None, Some(values)) = (&hint, values.filter(|values| !values.is_empty())) {
                let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
                hint = Some(format!("choose one of: {}", names.join(", ")));
            }
            let usage = format!("usage: {}", usage(command, &path));
            let hint = match hint {
                Some(hint) => format!("{hint}; {usage}"),
                None => usage,
            };
            ("MISSING_ARGUMENT", format!("missing {argument}"), hint)
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            let valid = text(ContextKind::ValidValue).unwrap_or_default();
            let message = format!("{argument} needs a value");
            let hint = if valid.is_empty() {
                option::needed(&argument, command)
            } else {
                format!("choose one of: {valid}")
            };
            ("MISSING_VALUE", message, hinted(hint))
        }
        ErrorKind::InvalidValue => {
            let valid = text(ContextKind::ValidValue).unwrap_or_default();
            let client = word::client(&value).filter(|_| argument.contains("CLIENT"));
            let near = client.or_else(|| near::meant(&value, valid.split(", ")));
            let near = near.map(|near| format!("did you mean `{near}`? "));
            let one = match argument.ends_with("...") {
                true => "one or more",
                false => "one",
            };
            let hint = format!("{}choose {one} of: {valid}", near.unwrap_or_default());
            ("INVALID_VALUE", refused(&value, &argument), hint)
        }
        ErrorKind::ValueValidation => {
            let source = std::error::Error::source(&error);
            let why = source.map_or_else(|| help.clone(), |why| plain(&why.to_string()));
            ("INVALID_VALUE", refused(&value, &argument), why)
        }
        ErrorKind::ArgumentConflict => {
            let other = text(ContextKind::PriorArg).unwrap_or_default();
            let message = if other.is_empty() || other == argument {
                format!("{argument} is there twice")
            } else {
                format!("{argument} can't be used with {other}")
            };
            (
                "OPTION_CONFLICT",
                message,
                hinted("use one of them".to_owned()),
            )
        }
        _ => {
            let text = error.render().to_string();
            let first = text.lines().next().unwrap_or_default();
            let message = plain(first.strip_prefix("error: ").unwrap_or(first));
            ("USAGE", message, help.clone())
        }
    };
    Refusal::Mistake(Failure::usage(code, message, hint))
}

fn refused(value: &str, argument: &str) -> String {
    let name = argument.split(' ').next().unwrap_or(argument);
    if name.starts_with('-') {
        return format!("can't use `{value}` for {name}");
    }
    let name = name.trim_start_matches(['<', '[']);
    let name = name.split(['>', '[', ']', '.']).next().unwrap_or(name);
    format!("can't use `{value}` as {name}")
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

fn usage(command: &Command, path: &str) -> String {
    let usage = command.clone().bin_name(path).render_usage().to_string();
    plain(usage.trim_start_matches("Usage: "))
}
