//! Tips for a word that isn't a command, and for an argument too many: a command of another program,
//! the words in another order, a misspelling.

use clap::Command;
use clap::error::ErrorKind;
use gongfu_core::near;

use super::table::{self, Part};
use super::word::{self, Form, command_line, quoted};
use crate::terminal::plain;

/// The most commands that are suggested.
const MAX_TIPS: usize = 3;
/// The least similarity of a misspelling.
const SIMILAR: f64 = 0.8;
/// The difference at which two misspellings are as likely.
const CLOSE: f64 = 0.03;
/// Names of other programs for a list of everything.
const LISTS: [&str; 5] = ["get", "show", "list", "ls", "view"];
/// The most characters of a suggested command line.
const MAX_LINE: usize = 160;

/// A word that can't stand where it is.
pub(super) struct StrayWord<'a> {
    pub(super) root: &'a Command,
    /// The command that was reached, such as `gongfu skill`.
    pub(super) path: &'a str,
    pub(super) word: &'a str,
    /// The words after it.
    pub(super) rest: &'a [String],
}

impl StrayWord<'_> {
    /// A tip for a word that isn't a command below the path.
    pub(super) fn command(&self) -> Option<String> {
        if self.word.trim().is_empty() {
            return None;
        }
        if self.word == "gongfu" && self.path == "gongfu" && !self.rest.is_empty() {
            return asked(&[self.line(self.rest)]);
        }
        let swapped = self.swapped(self.word, self.rest);
        swapped
            .filter(|_| self.path == "gongfu")
            .or_else(|| self.by_rule(Part::First))
            .or_else(|| self.misspelled())
            .or_else(|| self.elsewhere())
            .or_else(|| self.late())
            .or_else(|| self.by_rule(Part::Last))
    }

    /// A tip for what other programs call a command.
    pub(super) fn foreign(&self) -> Option<String> {
        self.by_rule(Part::First)
    }

    /// A tip for an argument too many.
    pub(super) fn argument(&self, command: &Command) -> String {
        let verb = self.path.strip_prefix("gongfu ").unwrap_or_default();
        let words = || {
            let words = std::iter::once(self.word.to_owned());
            words.chain(self.rest.iter().cloned()).collect::<Vec<_>>()
        };
        // `gongfu -- list`
        if self.path == "gongfu" && self.root.find_subcommand(self.word).is_some() {
            return asked(&[self.line(&words())]).unwrap_or_default();
        }
        // `gongfu list skills`
        let swapped = || self.swapped(verb, &words());
        self.by_rule(Part::First)
            .or_else(|| swapped().filter(|_| !verb.contains(' ')))
            .or_else(|| self.by_rule(Part::Last))
            .unwrap_or_else(|| match command.get_positionals().count() {
                0 => "this command takes options only".to_owned(),
                1 => "it takes one argument; quote text with spaces".to_owned(),
                takes => format!("it takes {takes} arguments; quote text with spaces"),
            })
    }

    /// The tip of the first rule that fits.
    fn by_rule(&self, part: Part) -> Option<String> {
        let tip = table::for_word(part, self.path, self.word, self.next())?;
        match tip.strip_prefix('=') {
            None => Some(self.filled(tip)),
            Some(template) => {
                let words = template.split(' ').flat_map(|part| self.words_of(part));
                asked(&[self.line(&words.collect::<Vec<_>>())])
            }
        }
    }

    /// The next word that isn't an option.
    fn next(&self) -> Option<&str> {
        let mut rest = self.rest.iter().map(String::as_str);
        rest.find(|word| !word.starts_with('-'))
    }

    /// The words that a part of a template stands for.
    fn words_of(&self, part: &str) -> Vec<String> {
        match part {
            "{all}" => std::iter::once(self.word.to_owned())
                .chain(self.rest.iter().cloned())
                .collect(),
            "{rest}" => self.rest.to_vec(),
            _ => vec![self.filled_with(part, str::to_owned)],
        }
    }

    /// A sentence with its words, as a shell takes them.
    fn filled(&self, tip: &str) -> String {
        let mut all = self.words_of("{all}");
        let mut rest = self.words_of("{rest}");
        for words in [&mut all, &mut rest] {
            for word in words {
                *word = quoted(word);
            }
        }
        let tip = tip.replace("{all}", &all.join(" "));
        let tip = tip.replace("{rest}", &rest.join(" ")).replace(" `;", "`;");
        self.filled_with(&tip, quoted)
    }

    fn filled_with(&self, text: &str, shown: impl Fn(&str) -> String) -> String {
        let next = self.next().unwrap_or_default();
        let either = |form: &dyn Fn(&str) -> bool| {
            if form(self.word) { self.word } else { next }
        };
        let is_source = |word: &str| matches!(Form::of(Some(word)), Form::Url | Form::Repository);
        let url = word::cloned(either(&is_source));
        let client = either(&|word| word::client(word).is_some());
        let client = word::client(client).unwrap_or("CLIENT");
        let (key, value) = self.word.split_once('=').unwrap_or((self.word, ""));
        let address = match self.word.rsplit_once(':') {
            Some(("", port)) => format!("127.0.0.1:{port}"),
            Some(_) => self.word.to_owned(),
            None => format!("127.0.0.1:{}", self.word),
        };
        let folder = word::folder_of(&url);
        let mut text = text.to_owned();
        for (name, value) in [
            ("{word}", self.word),
            ("{next}", next),
            ("{url}", url.as_str()),
            ("{folder}", folder.as_str()),
            ("{client}", client),
            ("{key}", key),
            ("{value}", value),
            ("{address}", address.as_str()),
        ] {
            if text.contains(name) {
                text = text.replace(name, &shown(value));
            }
        }
        text
    }

    /// The command that stands behind what it is about: `gongfu list skills`.
    fn swapped(&self, verb: &str, rest: &[String]) -> Option<String> {
        let (noun, rest) = rest.split_first()?;
        let folded = near::folded(noun);
        let one = folded.strip_suffix('s').unwrap_or(&folded);
        let group = self.root.find_subcommand(one);
        let group = group.or_else(|| self.root.find_subcommand(&folded))?;
        if !group.has_subcommands() {
            return None;
        }
        let path = format!("gongfu {}", group.get_name());
        let placed = StrayWord {
            root: self.root,
            path: &path,
            word: verb,
            rest,
        };
        let command = group.find_subcommand(near::folded(verb));
        // `kubectl get pods`
        let is_list = rest.is_empty() && LISTS.contains(&&*near::folded(verb));
        let command = group
            .find_subcommand("list")
            .filter(|_| is_list)
            .or(command);
        if let Some(command) = command {
            let mut words = vec![group.get_name().to_owned(), command.get_name().to_owned()];
            words.extend_from_slice(rest);
            return asked(&[self.line(&words)]);
        }
        placed.by_rule(Part::First).or_else(|| placed.misspelled())
    }

    /// A misspelling of what could stand here, the nearest first.
    fn misspelled(&self) -> Option<String> {
        if self.word.contains(['/', '\\', '.', ':', '=']) {
            return None;
        }
        let folded = near::folded(self.word);
        let mut all = Vec::new();
        collect(self.root, "gongfu", &mut all);
        let here = all.iter().filter(|known| {
            let above = known.path.rsplit_once(' ');
            above.is_some_and(|(above, _)| above == self.path)
        });
        let mut here: Vec<(f64, &str)> = here
            .map(|known| {
                let names = known.names.iter();
                let similar = names.map(|name| strsim::jaro_winkler(name, &folded));
                (similar.fold(0.0, f64::max), known.path.as_str())
            })
            .filter(|(similar, _)| *similar >= SIMILAR)
            .collect();
        here.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let best = here.first().map_or(0.0, |(similar, _)| *similar);
        let here = here.iter().filter(|(similar, _)| best - similar < CLOSE);
        let here: Vec<&str> = here.map(|(_, path)| *path).collect();
        // `gongfu uninstal cursor`
        if let ([path], Some(_)) = (here.as_slice(), self.next())
            && !self.reads(&self.with_rest(path))
        {
            let name = path.rsplit(' ').next();
            let of_name = all.iter().map(|known| known.path.as_str());
            let of_name = of_name.filter(|other| other.rsplit(' ').next() == name);
            let read: Vec<&str> = of_name
                .filter(|other| self.reads(&self.with_rest(other)))
                .collect();
            if !read.is_empty() {
                return self.asked_of(read.into_iter());
            }
        }
        self.asked_of(here.into_iter())
    }

    /// A command of this name in another group.
    fn elsewhere(&self) -> Option<String> {
        let folded = near::folded(self.word);
        let mut all = Vec::new();
        collect(self.root, "gongfu", &mut all);
        let elsewhere = all.iter().filter(|known| known.names.contains(&folded));
        self.asked_of(elsewhere.map(|known| known.path.as_str()))
    }

    /// A command that follows what it is for: `gongfu pdf run`.
    fn late(&self) -> Option<String> {
        let (next, rest) = self.rest.split_first()?;
        let group = super::at(self.root, self.path)?;
        let command = group.find_subcommand(near::folded(next))?;
        command.get_positionals().next()?;
        let mut words: Vec<String> = self.path.split(' ').skip(1).map(str::to_owned).collect();
        words.extend([command.get_name().to_owned(), self.word.to_owned()]);
        words.extend_from_slice(rest);
        let more = if self.reads(&words) { "" } else { " …" };
        Some(format!(
            "the command comes first: `gongfu {}{more}`",
            command_line(&words)
        ))
    }

    /// The words of a command, and those after this one.
    fn with_rest(&self, path: &str) -> Vec<String> {
        let words = path.split(' ').skip(1).map(str::to_owned);
        words.chain(self.rest.iter().cloned()).collect()
    }

    /// A question about commands with the words after this one.
    fn asked_of<'p>(&self, paths: impl Iterator<Item = &'p str>) -> Option<String> {
        let lines = paths.take(MAX_TIPS);
        let lines = lines.map(|path| self.line(&self.with_rest(path)));
        asked(&lines.collect::<Vec<_>>())
    }

    /// Returns whether these words are a command line.
    fn reads(&self, words: &[String]) -> bool {
        let words = std::iter::once("gongfu").chain(words.iter().map(String::as_str));
        match self.root.clone().try_get_matches_from(words) {
            Ok(_) => true,
            Err(error) => matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            ),
        }
    }

    /// A command line of these words if gongfu reads it, else the command with what it takes.
    fn line(&self, words: &[String]) -> String {
        let mut words = super::named(self.root, words);
        if words.first().is_some_and(|word| word == "client") {
            for word in words.iter_mut().skip(2) {
                if let Some(id) = word::client(word) {
                    id.clone_into(word);
                }
            }
        }
        // Options of another program may be what isn't read.
        let options = words.iter().position(|word| word.starts_with('-'));
        let lines = [words.len(), options.unwrap_or(words.len())];
        for words in lines.iter().filter_map(|end| words.get(..*end)) {
            let shown = format!("gongfu {}", command_line(words));
            if shown.chars().count() <= MAX_LINE && self.reads(words) {
                return shown;
            }
        }
        let (path, command) = super::reached(self.root, &words);
        let first = command.get_positionals().take(1);
        let required = command.get_positionals().skip(1);
        let required = required.filter(|one| one.is_required_set());
        let takes = first.chain(required).map(|one| {
            let names = one.get_value_names().unwrap_or_default();
            let names: Vec<&str> = names.iter().map(clap::builder::Str::as_str).collect();
            names.join(" ")
        });
        let words: Vec<String> = std::iter::once(path).chain(takes).collect();
        words.join(" ")
    }
}

/// A question about the commands that were probably meant.
fn asked(lines: &[String]) -> Option<String> {
    let lines: Vec<String> = lines
        .iter()
        .map(|line| format!("`{}`", plain(line)))
        .collect();
    (!lines.is_empty()).then(|| format!("did you mean {}?", lines.join(" or ")))
}

/// A command that there is.
struct CommandName {
    path: String,
    /// Its name and aliases.
    names: Vec<String>,
}

fn collect(command: &Command, path: &str, all: &mut Vec<CommandName>) {
    for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        let path = format!("{path} {}", below.get_name());
        let aliases = below.get_all_aliases().map(str::to_owned);
        collect(below, &path, all);
        all.push(CommandName {
            path,
            names: std::iter::once(below.get_name().to_owned())
                .chain(aliases)
                .collect(),
        });
    }
}
