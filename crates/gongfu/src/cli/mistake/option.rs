//! Options of other programs, their names here, and the commands that have an option.

use clap::Command;
use gongfu_core::near;

use super::table;
use super::tip::StrayWord;
use super::word::{command_line, quoted};

/// The most options that a tip lists.
const MAX_LISTED: usize = 8;
/// The most commands that a tip names.
const MAX_NAMED: usize = 3;

/// The part of a tip where only a port may stand.
const PORT: &str = ":{value}`";

/// An option that a command doesn't have.
pub(super) struct Unknown<'a> {
    pub(super) option: &'a str,
    /// The word after it, unless that is an option, too.
    pub(super) value: Option<&'a str>,
    pub(super) words: &'a [String],
    pub(super) path: &'a str,
    pub(super) root: &'a Command,
}

impl Unknown<'_> {
    /// A tip for it.
    pub(super) fn tip(&self, command: &Command) -> String {
        let (name, own) = self.option.split_once('=').unwrap_or((self.option, ""));
        let value = Some(own).filter(|own| !own.is_empty()).or(self.value);
        let value = value.map_or_else(|| "VALUE".to_owned(), quoted);
        if let Some(tip) = table::for_option(self.path, name) {
            if tip.contains(PORT) && value != "VALUE" && value.parse::<u16>().is_err() {
                let example = tip.replace("{value}", "8080");
                return format!("a port is a number up to {}: {example}", u16::MAX);
            }
            let tip = tip.replace("{value}", &value).replace("{option}", name);
            // An option or a command alone is no sentence.
            let is_bare =
                tip.starts_with('`') && tip.ends_with('`') && tip.matches('`').count() == 2;
            return if is_bare { format!("use {tip}") } else { tip };
        }
        let bare = name.trim_start_matches('-');
        let all = || {
            let all = command.get_arguments().filter(|one| !one.is_hide_set());
            all.filter_map(clap::Arg::get_long)
        };
        if bare.len() == 1 {
            // The only option that begins so.
            let mut fitting = all().filter(|long| long.starts_with(bare));
            if let (Some(long), None) = (fitting.next(), fitting.next()) {
                return format!("did you mean `--{long}`?");
            }
        }
        let near = near::meant(bare, all()).filter(|_| bare.len() > 1);
        if let Some(near) = near {
            return format!("did you mean `--{near}`?");
        }
        if let Some(word) = name.strip_prefix('-').filter(|word| !word.starts_with('-')) {
            // `-json`, `-5`
            if word.len() > 1 && has(command, word) {
                return format!("did you mean `--{word}`?");
            }
            if word.parse::<u32>().is_ok() && has(command, "limit") {
                return format!("did you mean `--limit {word}`?");
            }
        }
        let of_any = || {
            let tip = table::for_option(self.path, "*")?;
            let bare = name.trim_start_matches('-').replace('-', "_");
            Some(tip.replace("{bare}", &bare).replace("{value}", &value))
        };
        self.command()
            .or_else(|| self.moved())
            .or_else(|| self.verb(bare).filter(|_| command.has_subcommands()))
            .or_else(of_any)
            .unwrap_or_else(|| elsewhere(name, self.root, command))
    }

    /// The same words with a command in place of the option: `gongfu trust --remove`.
    fn command(&self) -> Option<String> {
        let at = self.words.iter().position(|word| word == self.option)?;
        let mut words = self.words.to_vec();
        let word = words.get_mut(at)?;
        self.option.trim_start_matches('-').clone_into(word);
        let (path, _) = super::reached(self.root, &words);
        if !path.ends_with(&format!(" {}", words.get(at)?)) || !self.reads(&words) {
            return None;
        }
        Some(format!("did you mean `{}`?", shown(&words)))
    }

    /// The command of another program: `gongfu --update`.
    fn verb(&self, word: &str) -> Option<String> {
        let word = StrayWord {
            root: self.root,
            path: self.path,
            word,
            rest: &[],
        };
        word.foreign()
    }

    fn reads(&self, words: &[String]) -> bool {
        let line = std::iter::once("gongfu").chain(words.iter().map(String::as_str));
        self.root.clone().try_get_matches_from(line).is_ok()
    }

    /// The same words with the option after the command that has it.
    fn moved(&self) -> Option<String> {
        let at = self.words.iter().position(|word| word == self.option)?;
        let is_own = self.option.contains('=');
        [usize::from(!is_own && self.value.is_some()), 0]
            .into_iter()
            .find_map(|values| {
                let mut words = self.words.to_vec();
                let moved: Vec<String> = words.drain(at..=at + values).collect();
                // Before the arguments: `run` takes what comes after its skill as the command.
                let (path, _) = super::reached(self.root, &words);
                let place = path.split(' ').count().saturating_sub(1).min(words.len());
                words.splice(place..place, moved);
                let line = shown(&words);
                self.reads(&words)
                    .then(|| format!("it goes after its command: `{line}`"))
            })
    }
}

/// A command line of these words.
fn shown(words: &[String]) -> String {
    format!("gongfu {}", command_line(words))
}

/// The hint for an option without its value: `--limit <COUNT>`.
pub(super) fn needed(argument: &str, command: &Command) -> String {
    let (name, _) = argument.split_once(' ').unwrap_or((argument, ""));
    let mut all = command.get_arguments();
    let own = all.find(|one| {
        one.get_long()
            .is_some_and(|long| name == format!("--{long}"))
    });
    let about = own.and_then(clap::Arg::get_help).map(ToString::to_string);
    let shown = argument.replace(['<', '>'], "");
    match (name, about) {
        ("--source", _) => format!("`{shown}`; `gongfu source list` shows the ids"),
        (_, Some(about)) => {
            let mut rest = about.chars();
            let first = rest.next().map(|first| first.to_lowercase().to_string());
            format!("`{shown}`: {}{}", first.unwrap_or_default(), rest.as_str())
        }
        (_, None) => String::new(),
    }
}

/// The commands that have an option, and the options that this command has.
fn elsewhere(name: &str, root: &Command, command: &Command) -> String {
    let long = name.trim_start_matches('-');
    let mut holders = Vec::new();
    if long.len() > 1 {
        collect(root, "gongfu", long, &mut holders);
    }
    let mut tip = String::new();
    if !holders.is_empty() {
        holders.truncate(MAX_NAMED);
        let named: Vec<String> = holders.iter().map(|one| format!("`{one}`")).collect();
        tip = format!("it is an option of {}; ", named.join(", "));
    }
    let own: Vec<String> = command
        .get_arguments()
        .filter(|one| !one.is_hide_set() && !one.is_global_set())
        .filter_map(|one| one.get_long())
        .filter(|long| *long != "help")
        .map(|long| format!("--{long}"))
        .collect();
    match own.len() {
        0 if command.has_subcommands() => tip.trim_end_matches("; ").to_owned(),
        0 => tip + "it has no options of its own",
        1..=MAX_LISTED => format!("{tip}it has {}", own.join(", ")),
        _ => tip.trim_end_matches("; ").to_owned(),
    }
}

fn has(command: &Command, long: &str) -> bool {
    let mut arguments = command.get_arguments();
    arguments.any(|one| one.get_long() == Some(long) && !one.is_hide_set())
}

fn collect(command: &Command, path: &str, long: &str, found: &mut Vec<String>) {
    for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        let path = format!("{path} {}", below.get_name());
        if !below.has_subcommands() && has(below, long) {
            found.push(path.clone());
        }
        collect(below, &path, long, found);
    }
}
