//! The table of files that programs of the machine execute or obey on their own.
//!
//! A line is a path of one or more names, wherever it ends; everything below it belongs to it. A name may begin
//! or end with `*`. What a person starts (a `Makefile`, `package.json`, `conftest.py`) isn't in the table.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::LazyLock;

use crate::skill::SKILL_FILE_LOWER;
use crate::skill::check::hidden::is_hidden;

mod lines;

use lines::{AGENT, GIT, LINES, Reader};

/// A line of the table.
struct Line {
    /// The names before the last one.
    above: Vec<&'static str>,
    last: &'static str,
    reader: Reader,
}

/// The lines by their last name; those with a `*` in it apart.
struct Table {
    exact: HashMap<&'static str, Vec<Line>>,
    patterns: Vec<Line>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table {
        exact: HashMap::new(),
        patterns: Vec::new(),
    };
    for (path, reader) in LINES {
        let mut above: Vec<&str> = path.split('/').collect();
        let last = above.pop().unwrap_or_default();
        let line = Line {
            above,
            last,
            reader,
        };
        if last.contains('*') {
            table.patterns.push(line);
        } else {
            table.exact.entry(last).or_default().push(line);
        }
    }
    table
});

/// Returns why a change at a path needs a person, where its last name completes a line of the table; the names
/// before it may be those of folders above the workspace.
pub fn obeyed<'a>(
    above: impl DoubleEndedIterator<Item = &'a str>,
    name: &str,
) -> Option<&'static str> {
    let above: Vec<&str> = above.collect();
    let is_installed = above.iter().any(|one| one.eq_ignore_ascii_case(PACKAGES));
    let name = plain(name);
    let mut lines = TABLE.exact.get(&*name).into_iter().flatten();
    let of_name = |line: &&Line| matches(line.last, &name);
    let patterns = TABLE.patterns.iter().filter(of_name);
    let above = above.into_iter().rev().take(MAX_NAMES - 1);
    let above: Vec<String> = above.map(plain).collect();
    let is_complete = |line: &&Line| {
        let found = above.iter().map(|name| &**name);
        line.above.len() <= above.len()
            && line
                .above
                .iter()
                .rev()
                .zip(found)
                .all(|(one, other)| *one == other)
    };
    lines
        .find(is_complete)
        .or_else(|| patterns.into_iter().find(is_complete))
        .map(|line| line.reader)
        .filter(|reader| !is_installed || IN_PACKAGES.contains(reader))
}

/// Returns why a change at a path below a folder needs a person, where one of its names completes a line; the
/// names of the folder itself count only as those before it.
pub fn obeyed_below(folder: &Path, path: &Path) -> Option<&'static str> {
    let text = |name: &OsStr| name.to_string_lossy().into_owned();
    let mut above: Vec<String> = folder.iter().map(text).collect();
    path.iter().map(text).find_map(|name| {
        let why = obeyed(above.iter().map(String::as_str), &name);
        above.push(name);
        why
    })
}

/// The same for a file of a skill that somebody writes as one: instructions are what a skill is made of.
pub fn obeyed_in_skill(folder: &Path, path: &Path) -> Option<&'static str> {
    let name = path.file_name().map(OsStr::to_string_lossy);
    let is_document = name.is_some_and(|name| plain(&name) == SKILL_FILE_LOWER);
    let judged = path.parent().filter(|_| is_document);
    obeyed_below(folder, judged.unwrap_or(path))
}

/// The folder of installed packages, which bring settings that nobody obeys there.
const PACKAGES: &str = "node_modules";
/// The programs that obey files even among installed packages.
const IN_PACKAGES: [Reader; 2] = [GIT, AGENT];
/// The most names of a line.
const MAX_NAMES: usize = 3;

/// A name as a file system may read it that ignores case, invisible characters, or dots and spaces at the end.
pub fn plain(name: &str) -> String {
    let visible = name.chars().filter(|one| !is_hidden(*one));
    // Upper case first: it takes apart what folding does (`ſ`, `ﬁ`).
    let upper = visible.flat_map(char::to_uppercase);
    let plain: String = upper.flat_map(char::to_lowercase).collect();
    let plain = plain.trim_end_matches(['.', ' ']);
    // The short name that Windows gives `.git`.
    if plain == "git~1" {
        ".git".to_owned()
    } else {
        plain.to_owned()
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{LINES, MAX_NAMES, obeyed, obeyed_below, obeyed_in_skill};

    fn is_obeyed(path: &str) -> bool {
        let mut above: Vec<&str> = path.split('/').collect();
        let name = above.pop().unwrap();
        obeyed(above.into_iter(), name).is_some()
    }

    #[test]
    fn every_line_holds_its_own_path() {
        for (line, _) in LINES {
            assert!(line.split('/').count() <= MAX_NAMES, "{line}");
            assert_eq!(line.to_lowercase(), **line);
            let path = line.replace('*', "x");
            assert!(
                is_obeyed(&path) && is_obeyed(&format!("a/b/{path}")),
                "{line}"
            );
            assert!(is_obeyed(&path.to_uppercase()), "{line}");
            assert!(!is_obeyed(&format!("{path}z/y")), "{line}");
        }
    }

    #[test]
    fn ordinary_files_are_not_in_it() {
        for path in [
            "Makefile",
            "package.json",
            "conftest.py",
            "src/main.rs",
            "docs/agents.txt",
            "git",
            ".gitignore",
            ".gitattributes",
            "model.pth",
            "web/node_modules/x/.travis.yml",
            "node_modules/x/.npmrc",
            "config/systemd",
            "bin/tool",
            "lib.path",
            "README.md",
            "skills.md",
        ] {
            assert!(!is_obeyed(path), "{path}");
        }
    }

    #[test]
    fn instructions_wait_unless_they_are_written_as_a_skill() {
        for (path, is_asked) in [
            ("SKILL.md", false),
            ("nested/skill.md", false),
            ("scripts/x.py", false),
            ("CLAUDE.md", true),
            (".claude/SKILL.md", true),
            ("SKILL.md/x", true),
        ] {
            let (folder, path) = (Path::new("/a/skills/pdf"), Path::new(path));
            let why = obeyed_in_skill(folder, path);
            assert_eq!(why.is_some(), is_asked, "{}: {why:?}", path.display());
            let is_written = path.ends_with("x.py");
            assert_eq!(
                obeyed_below(folder, path).is_none(),
                is_written,
                "{}",
                path.display()
            );
        }
    }

    #[test]
    fn names_are_read_as_the_most_lenient_file_system_does() {
        for path in [
            ".GIT",
            ".g\u{200c}it",
            ".git. ",
            "GIT~1",
            "a/Claude.MD",
            "app/skills/x/SKILL.md",
            "Skill.Md",
            ".vſcode",
            "node_modules/x/.git",
            "node_modules/x/CLAUDE.md",
            "modules.ﬁsh/.ſsh",
            ".\u{212a}ube",
            ".Config/Git",
        ] {
            assert!(is_obeyed(path), "{path}");
        }
    }
}
