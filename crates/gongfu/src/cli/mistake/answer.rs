//! Answers to a command line that can't be read: the code, the fault and the next step.

use clap::Command;
use clap::builder::PossibleValue;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use gongfu_core::near;

use super::tip::StrayWord;
use super::{missing, option, reached, word};
use crate::failure::Failure;
use crate::terminal::plain;

/// The failure of a command line.
pub(super) fn failure(error: &clap::Error, root: &Command, words: &[String]) -> Failure {
    let (path, command) = reached(root, words);
    let mistake = Mistake {
        error,
        root,
        words,
        path,
        command,
    };
    let (code, message, hint) = match error.kind() {
        ErrorKind::InvalidSubcommand => mistake.unknown_command(),
        ErrorKind::UnknownArgument => mistake.unknown_argument(),
        ErrorKind::MissingRequiredArgument => mistake.missing_argument(),
        ErrorKind::InvalidValue => mistake.invalid_value(),
        ErrorKind::ValueValidation => {
            let source = std::error::Error::source(error);
            let why = source.map_or_else(|| mistake.help(), |why| plain(&why.to_string()));
            ("INVALID_VALUE", mistake.refused(), why)
        }
        ErrorKind::ArgumentConflict => mistake.conflict(),
        ErrorKind::TooManyValues => {
            let name = mistake.text(ContextKind::InvalidArg);
            let hint = format!("write `{name}` alone");
            (
                "INVALID_VALUE",
                format!("{name} takes no value"),
                mistake.hinted(&hint),
            )
        }
        _ => {
            let text = error.render().to_string();
            let first = text.lines().next().unwrap_or_default();
            let message = plain(first.strip_prefix("error: ").unwrap_or(first));
            ("USAGE", message, mistake.help())
        }
    };
    Failure::usage(code, message, hint)
}

/// A code, a message and a hint.
type Answer = (&'static str, String, String);

/// A command line that clap refused.
struct Mistake<'a> {
    error: &'a clap::Error,
    root: &'a Command,
    words: &'a [String],
    /// The command that was reached.
    path: String,
    command: &'a Command,
}

impl Mistake<'_> {
    fn unknown_command(&self) -> Answer {
        let word = self.raw(ContextKind::InvalidSubcommand);
        let tip = self.stray(&word).command().unwrap_or_default();
        let word = plain(&word);
        let message = match self.path.strip_prefix("gongfu ") {
            None if word.is_empty() => "the command is empty".to_owned(),
            None => format!("there is no command `{word}`"),
            Some(_) => format!("`{}` has no command `{word}`", self.path),
        };
        ("UNKNOWN_COMMAND", message, self.hinted(&tip))
    }

    fn unknown_argument(&self) -> Answer {
        let word = self.raw(ContextKind::InvalidArg);
        if !word.starts_with('-') {
            let tip = self.stray(&word).argument(self.command);
            let message = format!("unexpected argument `{}`", plain(&word));
            return ("UNKNOWN_OPTION", message, self.hinted(&tip));
        }
        // Of `-json` clap names only `-j`.
        let is_it = |given: &&String| {
            let next = given.as_bytes().get(word.len());
            given.starts_with(&word) && (word.len() == 2 || next.is_none_or(|next| *next == b'='))
        };
        let given = self.words.iter().find(is_it).unwrap_or(&word);
        let value = self.after(given).first().map(String::as_str);
        let unknown = option::Unknown {
            option: given,
            value: value.filter(|value| !value.starts_with('-')),
            words: self.words,
            path: &self.path,
            root: self.root,
        };
        let tip = unknown.tip(self.command);
        let shown = plain(given.split('=').next().unwrap_or(given));
        let message = format!("`{}` has no option `{shown}`", self.path);
        ("UNKNOWN_OPTION", message, self.hinted(&tip))
    }

    fn missing_argument(&self) -> Answer {
        let argument = self.text(ContextKind::InvalidArg);
        let mut hint = missing::hint(&argument, &self.path, self.words);
        let positional = self.command.get_positionals().next();
        let values = positional.map(clap::Arg::get_possible_values);
        if let (None, Some(values)) = (&hint, values.filter(|values| !values.is_empty())) {
            let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
            hint = Some(format!("choose one of: {}", names.join(", ")));
        }
        let mut command = self.command.clone().bin_name(&self.path);
        let usage = command.render_usage().to_string();
        let usage = format!("usage: {}", plain(usage.trim_start_matches("Usage: ")));
        let hint = match hint {
            Some(hint) => format!("{hint}; {usage}"),
            None => usage,
        };
        ("MISSING_ARGUMENT", format!("missing {argument}"), hint)
    }

    fn invalid_value(&self) -> Answer {
        let argument = self.text(ContextKind::InvalidArg);
        let value = self.text(ContextKind::InvalidValue);
        let valid = self.text(ContextKind::ValidValue);
        if value.is_empty() {
            let message = format!("{argument} needs a value");
            let hint = if valid.is_empty() {
                option::needed(&argument, self.command)
            } else {
                format!("choose one of: {valid}")
            };
            return ("MISSING_VALUE", message, self.hinted(&hint));
        }
        if argument.contains("CLIENT") && ["all", "*"].contains(&value.as_str()) {
            let all = match self.path.as_str() {
                "gongfu client uninstall" => "`gongfu uninstall` removes gongfu from all of them",
                _ => "`gongfu client list` shows which are here",
            };
            let hint = format!("name each, with blanks between them: {valid}; {all}");
            return ("INVALID_VALUE", self.refused(), hint);
        }
        let client = word::client(&value).filter(|_| argument.contains("CLIENT"));
        let near = client.or_else(|| near::meant(&value, valid.split(", ")));
        let of_family: Vec<String> = valid
            .split(", ")
            .filter(|one| {
                one.strip_prefix(&*value)
                    .is_some_and(|rest| rest.starts_with('-'))
            })
            .map(|one| format!("`{one}`"))
            .collect();
        let near = match of_family.len() {
            0 | 1 => near.map(|near| format!("did you mean `{near}`? ")),
            _ => Some(format!("did you mean {}? ", of_family.join(" or "))),
        };
        let one = if argument.ends_with("...") {
            "one or more"
        } else {
            "one"
        };
        let hint = format!("{}choose {one} of: {valid}", near.unwrap_or_default());
        ("INVALID_VALUE", self.refused(), hint)
    }

    fn conflict(&self) -> Answer {
        let argument = self.text(ContextKind::InvalidArg);
        let other = self.text(ContextKind::PriorArg);
        let message = if argument.is_empty() {
            // clap names no argument where a command stands beside options of its parent.
            format!("a command can't be used with {other}")
        } else if other.is_empty() || other == argument {
            format!("{argument} is there twice")
        } else {
            format!("{argument} can't be used with {other}")
        };
        ("OPTION_CONFLICT", message, self.hinted("use one of them"))
    }

    /// The message about a value that an argument can't have.
    fn refused(&self) -> String {
        let argument = self.text(ContextKind::InvalidArg);
        let value = self.text(ContextKind::InvalidValue);
        let name = argument.split(' ').next().unwrap_or(&argument);
        if name.starts_with('-') {
            return format!("can't use `{value}` for {name}");
        }
        let name = name.trim_start_matches(['<', '[']);
        let name = name.split(['>', '[', ']', '.']).next().unwrap_or(name);
        format!("can't use `{value}` as {name}")
    }

    fn stray<'s>(&'s self, word: &'s str) -> StrayWord<'s> {
        StrayWord {
            root: self.root,
            path: &self.path,
            word,
            rest: self.after(word),
        }
    }

    /// The words after a word, which is one of those after the command.
    fn after(&self, word: &str) -> &[String] {
        let depth = self.path.split(' ').count() - 1;
        let mut words = self.words.iter().enumerate();
        let at = words.position(|(at, one)| at >= depth && one == word);
        let at = at.or_else(|| self.words.iter().position(|one| one == word));
        at.and_then(|at| self.words.get(at + 1..))
            .unwrap_or_default()
    }

    /// A part of clap's error.
    fn raw(&self, kind: ContextKind) -> String {
        match self.error.get(kind) {
            Some(ContextValue::String(text)) => text.clone(),
            Some(ContextValue::Strings(texts)) => texts.join(", "),
            _ => String::new(),
        }
    }

    /// The same without anything that a terminal would obey.
    fn text(&self, kind: ContextKind) -> String {
        plain(&self.raw(kind))
    }

    fn help(&self) -> String {
        format!("see `{} --help`", self.path)
    }

    fn hinted(&self, hint: &str) -> String {
        let help = self.help();
        match hint.chars().last() {
            None => help,
            Some(_) if hint.contains(&help["see ".len()..]) => hint.to_owned(),
            Some('?') => format!("{hint} Or {help}"),
            Some(_) => format!("{hint}; {help}"),
        }
    }
}
