//! Hints after a run that failed: arguments that name files of the current folder as a person sees it, and not
//! as the run did.

use std::path::Path;

use gongfu_core::library::Skill;
use gongfu_core::sandbox::SKILL;
use gongfu_files::disk;

use super::summary::HostFolders;
use crate::environment::Environment;
use crate::terminal::plain;

/// The most words of a command that are looked at, and hints that are given.
const MAX_WORDS: usize = 64;
const MAX_HINTS: usize = 3;

/// The hints about the arguments of a command.
pub(super) fn hints(
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
    let is_foreign = || Path::new(word).is_absolute() && !word.starts_with("/workspace/");
    if !is_there(&meant) {
        return None;
    }
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
