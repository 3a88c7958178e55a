//! For what a command needs packages, told by its words: a guess that errs on the side of having them.
//!
//! Nothing is decided by it but whether it is waited for them.

use crate::sandbox::Command;
use crate::skill::SkillPath;

/// For what a command needs packages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// For Python.
    pub python: bool,
    /// For Node.js.
    pub node: bool,
}

/// What programs of Python are called, and how its scripts end.
const PYTHON: [&str; 6] = ["python", "python3", "pip", "pip3", "uv", "pytest"];
const PYTHON_ENDS: [&str; 2] = [".py", ".pyw"];
/// The same of Node.js.
const NODE: [&str; 5] = ["node", "npm", "npx", "tsx", "ts-node"];
const NODE_ENDS: [&str; 6] = [".js", ".mjs", ".cjs", ".ts", ".mts", ".jsx"];
/// Programs that need neither, whatever they are given.
const PLAIN: [&str; 48] = [
    "awk",
    "base64",
    "basename",
    "cat",
    "cd",
    "chmod",
    "cksum",
    "cmp",
    "comm",
    "cp",
    "curl",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "exit",
    "false",
    "file",
    "find",
    "git",
    "grep",
    "gzip",
    "head",
    "jq",
    "ln",
    "ls",
    "md5sum",
    "mkdir",
    "mv",
    "printf",
    "pwd",
    "rm",
    "sed",
    "sha256sum",
    "sleep",
    "sort",
    "stat",
    "tail",
    "tar",
    "touch",
    "tr",
    "true",
    "uniq",
    "wc",
    "which",
];
/// What stands between words.
const BETWEEN: [char; 15] = [
    ' ', '\t', '\n', ';', '|', '&', '(', ')', '<', '>', '"', '\'', '`', '=', ',',
];
/// What stands between commands.
const COMMANDS: [char; 6] = [';', '|', '&', '\n', '(', '`'];
/// How much of a command is looked at, in bytes.
const LOOKED: usize = 64 * 1024;

/// What a command needs packages for.
pub fn needs(command: &Command) -> Needs {
    let text = text(command);
    let mut needs = Needs::default();
    let mut is_plain = true;
    for word in words(&text) {
        let name = word.rsplit('/').next().unwrap_or(word);
        // `python3.11` as well.
        let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let is = |names: &[&str]| names.contains(&name) || names.contains(&bare);
        let ends = |kinds: &[&str]| kinds.iter().any(|kind| name.ends_with(kind));
        needs.python |= is(&PYTHON) || ends(&PYTHON_ENDS);
        needs.node |= is(&NODE) || ends(&NODE_ENDS);
    }
    for command in text.split(COMMANDS) {
        let is_name = |word: &&str| !word.contains('=');
        let first = command.split_whitespace().find(is_name);
        is_plain &= first.is_none_or(|first| PLAIN.contains(&first));
    }
    if !is_plain && !needs.python && !needs.node {
        // A program that packages bring, or a script that begins others.
        return Needs {
            python: true,
            node: true,
        };
    }
    if is_plain {
        return Needs::default();
    }
    needs
}

/// Those of a skill's files that a command names.
pub fn named<'a>(
    command: &Command,
    files: impl IntoIterator<Item = &'a SkillPath>,
) -> Vec<SkillPath> {
    let text = text(command);
    let words: Vec<&str> = words(&text)
        .map(tail)
        .filter(|word| !word.is_empty())
        .collect();
    let is_named = |file: &&SkillPath| {
        let file = file.as_str();
        words.iter().any(|word| {
            let above = file.strip_suffix(word);
            above.is_some_and(|above| above.is_empty() || above.ends_with('/'))
        })
    };
    files.into_iter().filter(is_named).cloned().collect()
}

/// What is left of a path once it no longer says from where it is meant.
fn tail(word: &str) -> &str {
    let mut word = word;
    loop {
        let less = word
            .strip_prefix("./")
            .or_else(|| word.strip_prefix("../"))
            .or_else(|| word.strip_prefix("/skill/"));
        match less {
            Some(less) => word = less,
            None => return word,
        }
    }
}

fn text(command: &Command) -> String {
    let mut text = match command {
        Command::Line(line) => line.clone(),
        Command::Program(words) => words.join(" "),
    };
    if text.len() > LOOKED {
        let end = (0..=LOOKED).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or_default());
    }
    text
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(BETWEEN).filter(|word| !word.is_empty())
}
