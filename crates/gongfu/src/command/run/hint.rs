//! Hints after a run that failed: arguments that name files of the current folder as a person sees it, and not
//! as the run did.

use std::path::Path;

use gongfu_core::library::Skill;
use gongfu_core::near;
use gongfu_core::sandbox::SKILL;
use gongfu_files::disk;

use super::summary::HostFolders;
use crate::cli::command_line;
use crate::environment::Environment;
use crate::terminal::plain;

/// The most words of a command that are looked at, and hints that are given.
const MAX_WORDS: usize = 64;
const MAX_HINTS: usize = 3;

/// The exit codes of a command that can't be executed, and of one that isn't there, by the convention of shells.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
/// Programs that run a file, by the end of its name.
const INTERPRETERS: [(&str, &str); 4] = [
    ("py", "python"),
    ("sh", "sh"),
    ("js", "node"),
    ("mjs", "node"),
];
/// Programs that a command begins with, and no name that a skill has by chance.
pub(super) const PROGRAMS: [&str; 8] = [
    "python", "python3", "node", "npx", "uv", "uvx", "bash", "sh",
];
/// The commands that only a shell knows.
const BUILTINS: [&str; 9] = [
    "cd", "export", "source", "alias", "set", "unset", "eval", "ulimit", ".",
];
/// Programs that install packages, which a run can't.
const INSTALLERS: [&str; 4] = ["pip", "pip3", "npm", "apt"];
/// The most files of a skill that a hint lists.
const MAX_LISTED: usize = 5;

/// A command that failed.
pub(super) struct FailedCommand<'a> {
    pub(super) code: u8,
    pub(super) program: &'a str,
    pub(super) arguments: &'a [String],
    /// The program is a whole line for a shell.
    pub(super) is_line: bool,
}

/// Every hint about a command that failed.
pub(super) fn all(
    failed: &FailedCommand<'_>,
    skill: &Skill,
    folders: &HostFolders,
    environment: &Environment,
) -> Vec<String> {
    let line = [failed.program.to_owned()];
    let words = if failed.is_line {
        &line[..]
    } else {
        failed.arguments
    };
    let hints = hints(words, skill, folders, environment);
    of_program(failed, skill).into_iter().chain(hints).collect()
}

/// The hint about the program of a command, by the code that it ended with.
fn of_program(failed: &FailedCommand<'_>, skill: &Skill) -> Option<String> {
    let FailedCommand {
        code,
        program,
        arguments,
        ..
    } = *failed;
    let own = program.strip_prefix("./").unwrap_or(program);
    let own = own.strip_prefix("/skill/").unwrap_or(own);
    let files = || skill.files.iter().map(|file| file.path.as_str());
    let is_own = files().any(|file| file == own);
    let name = plain(skill.name.as_str());
    let run = |file: &str| format!("`gongfu run {name} {}`", started(file, arguments));
    match code {
        _ if INSTALLERS.contains(&program) => Some(format!(
            "packages are installed before a run, as the skill declares them: `gongfu env build {name}`"
        )),
        NOT_EXECUTABLE if is_own => Some(format!(
            "{own} isn't executable; name the program that runs it: {}",
            run(own)
        )),
        NOT_FOUND if is_own => Some(format!(
            "the program in its first line (#!) isn't in the sandbox; name another one: {}",
            run(own)
        )),
        NOT_FOUND if BUILTINS.contains(&program) => {
            let words = std::iter::once(program).chain(arguments.iter().map(String::as_str));
            let line = command_line(words);
            // `export A=1 && python x.py`
            let line = if line.contains("&&") {
                line
            } else {
                line + " && …"
            };
            Some(format!(
                "`{program}` is a shell builtin; use `sh -c {}`",
                in_quotes(&line)
            ))
        }
        NOT_FOUND => {
            let below = files().find(|file| file.rsplit('/').next() == Some(own));
            let near = || near::meant(own, files().filter(|file| is_alike(own, file)));
            if let Some(file) = below.or_else(near) {
                return Some(format!("did you mean {}?", run(file)));
            }
            Some(format!(
                "{}; `gongfu skill show {name}` lists its files",
                scripts(skill)
            ))
        }
        _ => None,
    }
}

/// The command line that runs a script: its program, its path, and its arguments.
pub(super) fn started(file: &str, arguments: &[String]) -> String {
    let end = file.rsplit('.').next().unwrap_or_default();
    let interpreter = INTERPRETERS.iter().find(|(known, _)| *known == end);
    let program = interpreter.map(|(_, program)| *program).into_iter();
    let words = program.chain([file]);
    command_line(words.chain(arguments.iter().map(String::as_str)))
}

/// Text in the quotes of a shell.
fn in_quotes(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns whether two paths may be meant for each other: they end alike, or one has no end.
fn is_alike(wanted: &str, file: &str) -> bool {
    let end = |path: &str| Path::new(path).extension().map(std::ffi::OsStr::to_owned);
    end(wanted).is_none_or(|wanted| end(file) == Some(wanted))
}

/// The scripts of a skill, in words.
fn scripts(skill: &Skill) -> String {
    let files = skill.files.iter().map(|file| file.path.as_str());
    let is_script = |file: &&str| {
        let end = file.rsplit('.').next();
        INTERPRETERS.iter().any(|(known, _)| Some(*known) == end)
    };
    let scripts: Vec<&str> = files.filter(is_script).take(MAX_LISTED).collect();
    if scripts.is_empty() {
        "the skill has no scripts, and the sandbox no such program".to_owned()
    } else {
        format!("scripts of the skill: {}", plain(&scripts.join(", ")))
    }
}

/// The hints about the arguments of a command.
fn hints(
    arguments: &[String],
    skill: &Skill,
    folders: &HostFolders,
    environment: &Environment,
) -> Vec<String> {
    let Some(current) = &environment.directory else {
        return Vec::new();
    };
    let mut hints = Vec::new();
    for word in words(arguments).take(MAX_WORDS) {
        let hint = hint(word, skill, folders, current);
        hints.extend(hint.filter(|hint| !hints.contains(hint)));
    }
    hints.truncate(MAX_HINTS);
    hints
}

/// The words that may be paths: arguments, values of options, and words of a line for a shell.
fn words(arguments: &[String]) -> impl Iterator<Item = &str> {
    let syntax = |c: char| c.is_whitespace() || "'\"<>|&;()=".contains(c);
    let words = arguments.iter().flat_map(move |argument| {
        let parts = argument.contains(syntax).then(|| argument.split(syntax));
        std::iter::once(argument.as_str()).chain(parts.into_iter().flatten())
    });
    words.filter(|word| Path::new(word).file_name().is_some() && !word.starts_with('-'))
}

fn hint(word: &str, skill: &Skill, folders: &HostFolders, current: &Path) -> Option<String> {
    let is_there = |path: &Path| disk::kind_outside(path).is_some();
    // In the run, a relative path starts in the skill's folder.
    let is_seen = |path: &str| folders.host(path).is_some_and(|host| is_there(&host));
    let seen = if word.starts_with('/') {
        is_seen(word)
    } else {
        is_seen(&format!("{SKILL}/{word}")) || is_there(&Path::new(&skill.path).join(word))
    };
    if seen {
        return None;
    }
    let meant = match word.strip_prefix("/workspace/") {
        Some(below) => current.join(below),
        None => current.join(word),
    };
    if !is_there(&meant) {
        return missing_script(word, skill);
    }
    let is_foreign = || Path::new(word).is_absolute() && !word.starts_with("/workspace/");
    let shown = plain(word);
    match folders.guest(&disk::real_outside(&meant)) {
        Some(guest) => Some(format!(
            "{shown}: in the run, this file is {}",
            plain(&guest)
        )),
        // The system's own files are seen under their names.
        None if is_foreign() => None,
        None => Some(format!(
            "{shown} is in the current folder, which the run doesn't see; add --workspace ."
        )),
    }
}

/// The script of the skill that a path was probably meant to be, where the skill has none at it.
fn missing_script(word: &str, skill: &Skill) -> Option<String> {
    let end = word.rsplit('.').next();
    if !INTERPRETERS.iter().any(|(known, _)| Some(*known) == end) {
        return None;
    }
    let own = word.strip_prefix("./").unwrap_or(word);
    let own = own.strip_prefix("/skill/").unwrap_or(own);
    if own.starts_with('/') || own.contains(char::is_whitespace) {
        return None;
    }
    let files = skill.files.iter().map(|file| file.path.as_str());
    let near = near::meant(own, files.filter(|file| is_alike(own, file)));
    let (shown, name) = (plain(word), plain(skill.name.as_str()));
    Some(match near {
        Some(near) => format!("the skill has no {shown}; did you mean {}?", plain(near)),
        None => format!("the skill has no {shown}; `gongfu skill show {name}` lists its files"),
    })
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_are_what_may_be_a_path() {
        let line = [
            "--in=data.csv",
            "-v",
            "a b.txt",
            "cat 'x.csv' | sort >y",
            ".",
            "..",
            "",
        ];
        let line = line.map(str::to_owned);
        let words: Vec<&str> = words(&line).collect();
        assert_eq!(
            words,
            [
                "data.csv",
                "a b.txt",
                "a",
                "b.txt",
                "cat 'x.csv' | sort >y",
                "cat",
                "x.csv",
                "sort",
                "y"
            ]
        );
    }
}
