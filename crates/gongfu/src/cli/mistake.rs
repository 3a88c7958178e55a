//! Reading the command line, and answers to what it can't be read as: what is wrong, and the next step.

#[cfg(test)]
mod tests;
mod tip;

use std::ffi::OsString;

use clap::builder::PossibleValue;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ColorChoice, Command, CommandFactory as _, FromArgMatches as _};

use super::Cli;
use crate::failure::Failure;
use crate::output::OutputArguments;
use crate::terminal::plain;

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
    let read = command.try_get_matches_from_mut(&words);
    let cli = read.and_then(|matches| Cli::from_arg_matches(&matches));
    cli.map_err(|error| {
        let words: Vec<String> = words
            .iter()
            .skip(1)
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        (output(&words), refusal(error, &command, &words))
    })
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
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(plain(text)),
        Some(ContextValue::Strings(texts)) => Some(plain(&texts.join(", "))),
        _ => None,
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
            let word = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            let tip = tip::for_command(&word, &path, root)
                .or_else(|| tip::for_order(&word, &path, words, command))
                .unwrap_or_default();
            let message = match path.strip_prefix("gongfu ") {
                None => format!("there is no command `{word}`"),
                Some(above) => format!("`{above}` has no command `{word}`"),
            };
            ("UNKNOWN_COMMAND", message, hinted(tip))
        }
        ErrorKind::UnknownArgument => {
            let near = text(ContextKind::SuggestedArg);
            let hint = near.map(|near| format!("did you mean `{near}`?"));
            let message = if argument.starts_with('-') {
                format!("there is no option `{argument}`")
            } else {
                format!("unexpected argument `{argument}`")
            };
            let hint = hint.unwrap_or_else(|| tip::for_argument(&argument, command));
            ("UNKNOWN_OPTION", message, hinted(hint))
        }
        ErrorKind::MissingRequiredArgument => {
            let mut hint = tip::for_missing(&argument).map(str::to_owned);
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
                String::new()
            } else {
                format!("choose one of: {valid}")
            };
            ("MISSING_VALUE", message, hinted(hint))
        }
        ErrorKind::InvalidValue => {
            let near = text(ContextKind::SuggestedValue);
            let valid = text(ContextKind::ValidValue).unwrap_or_default();
            let near = near.map(|near| format!("did you mean `{near}`? "));
            let hint = format!("{}choose one of: {valid}", near.unwrap_or_default());
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
            ("CONFLICT", message, hinted("use one of them".to_owned()))
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
    let names = words.iter().take_while(|word| *word != "--");
    for word in names.filter(|word| !word.starts_with('-')) {
        let Some(next) = command.find_subcommand(word) else {
            break;
        };
        command = next;
        path = format!("{path} {}", next.get_name());
    }
    (path, command)
}

fn usage(command: &Command, path: &str) -> String {
    let usage = command.clone().bin_name(path).render_usage().to_string();
    plain(usage.trim_start_matches("Usage: "))
}
