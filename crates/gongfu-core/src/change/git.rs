//! The settings of git as text: what they say, and which of it can be the path of a file that git obeys.

/// The names of a repository's parts, without case; a folder with some of them may be one.
pub const PARTS: [&str; 4] = ["head", "objects", "refs", "config"];
/// The files that tell git where a repository goes on.
pub const POINTERS: [&str; 2] = ["commondir", "gitdir"];
/// The files with a repository's settings.
pub const SETTINGS: [&str; 2] = ["config", "config.worktree"];
/// The files that git executes in a folder of hooks.
pub const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Sections with a single word for a value that is no file.
const PLAIN: [&str; 14] = [
    "advice",
    "alias",
    "author",
    "branch",
    "color",
    "column",
    "committer",
    "init",
    "maintenance",
    "pull",
    "push",
    "rerere",
    "safe",
    "user",
];

/// A setting of git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The section in lower case, without what is in its quotes.
    pub section: String,
    /// The name in lower case.
    pub name: String,
    /// The value as git reads it: without quotes, escapes and comments.
    pub value: String,
}

impl Setting {
    /// Returns whether it names a file with further settings, perhaps under a condition.
    pub fn is_include(&self) -> bool {
        matches!(&*self.section, "include" | "includeif") && self.name == "path"
    }

    /// Returns whether it names the folder of hooks.
    pub fn is_hooks(&self) -> bool {
        self.section == "core" && self.name == "hookspath"
    }

    /// The texts that may be paths of files that git reads or executes: the value, its words, what is in its quotes.
    pub fn paths(&self) -> Vec<String> {
        let is_path =
            |one: &String| one.contains(['/', '.']) || *one == self.value || self.is_path();
        self.candidates().into_iter().filter(is_path).collect()
    }

    /// Single names behind a program's: files only where such files are, since most of them are commands.
    pub fn arguments(&self) -> Vec<String> {
        let paths = self.paths();
        let mut all = self.candidates();
        all.retain(|one| !paths.contains(one));
        all
    }

    /// Returns whether the value is a path by its name.
    fn is_path(&self) -> bool {
        let ends = ["path", "file", "dir", "template"];
        ends.iter().any(|end| self.name.ends_with(end))
    }

    fn candidates(&self) -> Vec<String> {
        let is_address = matches!(&*self.name, "url" | "pushurl") && !self.value.contains("::");
        // Where the files are that git keeps, and where folders are that are trusted.
        let is_folder = self.section == "core" && self.name == "worktree"
            || matches!(&*self.section, "safe" | "maintenance");
        if is_address || is_folder {
            return Vec::new();
        }
        let whole = self.value.trim().trim_start_matches('!').trim();
        let mut found = Paths::default();
        if self.is_path() || whole.contains('/') {
            found.add(whole);
        }
        // A lone name is looked for among the programs, not here; the ones after it are arguments.
        let has_arguments = !PLAIN.contains(&&*self.section);
        for (at, piece) in whole.split(['"', '\'']).enumerate() {
            if piece.contains('/') || at % 2 == 1 && has_arguments {
                found.add(piece.trim());
            }
        }
        let escaped = whole.replace("\\ ", "\u{1}");
        let is_end = |one: char| one.is_whitespace() || "\"'`;|&()<>{},".contains(one);
        let words = escaped.split(is_end).filter(|word| !word.is_empty());
        for (at, word) in words.enumerate() {
            let word = word.replace('\u{1}', " ").replace('\\', "");
            let counts = |text: &str| text.contains('/') || at > 0 && has_arguments;
            if counts(&word) {
                found.add(&word);
            }
            if let Some((_, value)) = word.split_once('=')
                && counts(value)
            {
                found.add(value);
            }
            // The shell puts a folder before it.
            if whole.contains(['$', '`'])
                && let Some((_, rest)) = word.split_once('/')
            {
                found.add(rest);
            }
        }
        found.0
    }
}

#[derive(Default)]
struct Paths(Vec<String>);

impl Paths {
    fn add(&mut self, path: &str) {
        if !path.is_empty() && !self.0.iter().any(|other| other == path) {
            self.0.push(path.to_owned());
        }
    }
}

/// Reads settings; what git wouldn't understand is left out.
pub fn settings(text: &str) -> Vec<Setting> {
    let mut found = Vec::new();
    let mut section = String::new();
    let mut rest = text.trim_start_matches('\u{feff}').chars();
    loop {
        let line = rest.as_str().trim_start();
        rest = line.chars();
        match rest.next() {
            None => return found,
            Some('#' | ';') => skip_line(&mut rest),
            Some('[') => section = header(&mut rest),
            Some(_) => {
                let is_name = |one: char| one.is_alphanumeric() || one == '-';
                let end = line.find(|one| !is_name(one)).unwrap_or(line.len());
                let (name, after) = line.split_at(end);
                let after = after.trim_start_matches([' ', '\t', '\r']);
                rest = after.chars();
                if rest.next() == Some('=') && !name.is_empty() {
                    found.push(Setting {
                        section: section.clone(),
                        name: name.to_lowercase(),
                        value: value(&mut rest),
                    });
                } else if !after.starts_with('\n') {
                    skip_line(&mut rest);
                }
            }
        }
    }
}

fn skip_line(rest: &mut std::str::Chars<'_>) {
    rest.find(|one| *one == '\n');
}

/// The name of a section after its bracket, without what is in quotes.
fn header(rest: &mut std::str::Chars<'_>) -> String {
    let mut name = String::new();
    let mut is_quoted = false;
    while let Some(one) = rest.next() {
        match one {
            '\n' => break,
            ']' if !is_quoted => break,
            '"' => is_quoted = !is_quoted,
            '\\' if is_quoted => {
                rest.next();
            }
            _ if !is_quoted => name.push(one),
            _ => {}
        }
    }
    let name = name.trim().to_lowercase();
    // The old form `[section.subsection]`.
    name.split_once('.')
        .map_or(name.clone(), |(section, _)| section.to_owned())
}

/// A value after its equals sign, up to the end of its line.
fn value(rest: &mut std::str::Chars<'_>) -> String {
    let mut value = String::new();
    let mut is_quoted = false;
    while let Some(one) = rest.next() {
        match one {
            '\n' => break,
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => {
                skip_line(rest);
                break;
            }
            '\\' => match rest.next() {
                None | Some('\n') => {}
                Some('\r') if rest.as_str().starts_with('\n') => {
                    rest.next();
                }
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('b') => {
                    value.pop();
                }
                Some(other) => value.push(other),
            },
            _ => value.push(one),
        }
    }
    value.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::settings;

    fn paths(text: &str) -> Vec<String> {
        settings(text)
            .iter()
            .flat_map(super::Setting::paths)
            .collect()
    }

    #[test]
    fn reads_what_git_reads() {
        let text = "\u{feff}# c\n[Core] hooksPath = \"my hooks\" ; c\n\tbare\n[filter \"a]b\"]\n\tclean = sh -c \\\"x\\\" \\\n y # c\r\n[IncludeIf \"gitdir:~/w/\"]\npath=\"a#b\"\n[url.x]y=1\nbad line\n[";
        let found = settings(text);
        let found: Vec<(&str, &str, &str)> = found
            .iter()
            .map(|one| (&*one.section, &*one.name, &*one.value))
            .collect();
        assert_eq!(
            found,
            [
                ("core", "hookspath", "my hooks"),
                ("filter", "clean", "sh -c \"x\"  y"),
                ("includeif", "path", "a#b"),
                ("url", "y", "1"),
            ]
        );
        for (text, _) in text.char_indices().map(|(at, _)| text.split_at(at)) {
            settings(text);
        }
    }

    #[test]
    fn finds_paths_in_values() {
        for (text, path) in [
            ("[core]\nhooksPath = hk", "hk"),
            ("[core]\nhooksPath = \"my hooks\"", "my hooks"),
            (
                "[filter \"x\"]\nclean = sh -c \\\"sh tools/clean.sh\\\"",
                "tools/clean.sh",
            ),
            ("[filter \"x\"]\nclean = sh clean.sh", "clean.sh"),
            ("[filter \"x\"]\nclean = sh -c 'my tools/x'", "my tools/x"),
            ("[core]\nfsmonitor = my\\\\ tools/x --y", "my tools/x"),
            ("[core]\npager = x --config=etc/y", "etc/y"),
            (
                "[alias]\nx = \"!$(git rev-parse --show-toplevel)/a/b\"",
                "a/b",
            ),
            ("[credential]\nhelper = !$PWD/a/b", "a/b"),
        ] {
            assert!(
                paths(text).contains(&path.to_owned()),
                "{text}: {:?}",
                paths(text)
            );
        }
        for text in [
            "[user]\nname = Some docs",
            "[alias]\ntest = !npm test",
            "[credential]\nhelper = !gh auth git-credential",
            "[filter \"lfs\"]\nclean = git-lfs clean -- %f",
            "[core]\neditor = docs",
            "[remote \"origin\"]\nurl = ../docs",
            "[safe]\ndirectory = /a/docs",
        ] {
            assert_eq!(paths(text), [""; 0], "{text}");
        }
    }
}
