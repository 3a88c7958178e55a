//! Guesses which languages a command runs, so that only then their packages are installed first.
//!
//! A guess that is wrong costs an installation or lacks one; nothing else depends on it.

use super::Language;
use crate::sandbox::Command;
use crate::skill::SkillPath;

const PYTHON_PROGRAMS: [&str; 6] = ["python", "python3", "pip", "pip3", "uv", "pytest"];
const NODE_PROGRAMS: [&str; 5] = ["node", "npm", "npx", "tsx", "ts-node"];
/// Programs that need no packages, whatever their arguments.
const PLAIN_PROGRAMS: &str = "awk base64 basename cat cd chmod cksum cmp comm cp curl cut date df diff dirname du \
    echo exit false file find git grep gzip head jq ln ls md5sum mkdir mv printf pwd rm sed sha256sum sleep sort \
    stat tail tar touch tr true uniq wc which";
const WORD_SEPARATORS: &str = " \t\n;|&()<>\"'`=,";
const COMMAND_SEPARATORS: &str = ";|&\n(`";
/// The part of a command that is read, in bytes.
const MAX_COMMAND: usize = 64 * 1024;

/// The languages that a command runs: all of them if it names none and isn't plain, because it may be a
/// program of a package, or a script that starts others.
pub fn languages(command: &Command) -> Vec<Language> {
    let text = text(command);
    let is_plain = |command: &str| {
        let mut words = command.split_whitespace();
        let program = words.find(|word| !word.contains('='));
        program.is_none_or(|program| PLAIN_PROGRAMS.split(' ').any(|plain| plain == program))
    };
    let mut commands = text.split(|c| COMMAND_SEPARATORS.contains(c));
    if commands.all(is_plain) {
        return Vec::new();
    }
    let runs = |language: &Language| words(&text).any(|word| names(word, *language));
    let found: Vec<Language> = Language::ALL.into_iter().filter(runs).collect();
    if found.is_empty() {
        return Language::ALL.into();
    }
    found
}

/// True if a word is a program or a script of a language.
fn names(word: &str, language: Language) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    // `python3.11` as well.
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let programs: &[&str] = match language {
        Language::Python => &PYTHON_PROGRAMS,
        Language::Node => &NODE_PROGRAMS,
    };
    programs.contains(&name) || programs.contains(&bare) || language.owns(name)
}

/// The files of a skill that a command names.
pub fn named_scripts<'a>(
    command: &Command,
    files: impl IntoIterator<Item = &'a SkillPath>,
) -> Vec<SkillPath> {
    let text = text(command);
    let words: Vec<&str> = words(&text)
        .map(|word| word.rsplit("./").next().unwrap_or(word))
        .map(|word| word.trim_start_matches("/skill/"))
        .filter(|word| !word.is_empty())
        .collect();
    let is_named = |file: &&SkillPath| {
        words.iter().any(|word| {
            let folder = file.as_str().strip_suffix(word);
            folder.is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
        })
    };
    files.into_iter().filter(is_named).cloned().collect()
}

/// The packages that a command has `uv` add to those of the script: `uv run --with NAME`.
pub fn added_packages(command: &Command) -> Vec<String> {
    let words = match command {
        Command::Line(_) => shell_words(&text(command)),
        Command::Program(words) => match words.as_slice() {
            [shell, option, line, ..] if shell.ends_with("sh") && option == "-c" => {
                shell_words(line)
            }
            _ => words.clone(),
        },
    };
    let mut added = Vec::new();
    let (mut is_uv, mut is_added) = (false, false);
    for word in &words {
        let values = word.strip_prefix("--with=").filter(|_| is_uv);
        let values = values.or_else(|| is_added.then_some(word.as_str()));
        for value in requirements(values.unwrap_or_default()) {
            if !added.contains(&value) {
                added.push(value);
            }
        }
        is_added = is_uv && word == "--with";
        is_uv = (is_uv || word.rsplit('/').next() == Some("uv")) && word != END_OF_COMMAND;
    }
    added
}

/// The requirements between commas; those within the versions or extras of one are a part of it.
fn requirements(list: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for piece in list
        .split(',')
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
    {
        let is_open = |last: &String| last.contains('[') && !last.contains(']');
        match all.last_mut() {
            Some(last) if piece.starts_with(['<', '>', '=', '!', '~']) || is_open(last) => {
                last.push(',');
                last.push_str(piece);
            }
            _ => all.push(piece.to_owned()),
        }
    }
    all
}

/// Stands for whatever ends a command, such as `;`.
const END_OF_COMMAND: &str = "\0";

/// The words of a line as a shell splits them, as far as quotes tell; nothing is expanded.
fn shell_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let push = match (quote, c) {
            (Some(open), _) if c == open => {
                quote = None;
                continue;
            }
            (None, '"' | '\'') => {
                quote = Some(c);
                continue;
            }
            (None | Some('"'), '\\') => chars.next(),
            (None, _)
                if c.is_whitespace() || COMMAND_SEPARATORS.contains(c) || "<>)".contains(c) =>
            {
                if COMMAND_SEPARATORS.contains(c) {
                    words.push(END_OF_COMMAND.to_owned());
                }
                words.push(String::new());
                continue;
            }
            _ => Some(c),
        };
        if let Some(word) = words.last_mut() {
            word.extend(push);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn text(command: &Command) -> String {
    let mut text = match command {
        Command::Line(line) => line.clone(),
        Command::Program(words) => words.join(" "),
    };
    text.truncate(text.floor_char_boundary(MAX_COMMAND));
    text
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| WORD_SEPARATORS.contains(c))
        .filter(|word| !word.is_empty())
}
