//! Words of a command line: what their form says they are, and how a shell takes them.

use std::path::Path;

use gongfu_core::near;
use gongfu_files::disk::{self, EntryKind};

use crate::client::CLIENTS;
use crate::terminal::plain;

/// The kind of a word, as far as it can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// There is no word.
    Nothing,
    Option,
    Url,
    /// `owner/name`, as GitHub writes repositories.
    Repository,
    /// A packed folder.
    Archive,
    Path,
    /// A program or a document by its name alone.
    File,
    /// Another file that is there.
    Data,
    Client,
    Number,
    /// A port, or a host with a port.
    Address,
    /// `key=value`.
    Assignment,
    Name,
    /// Words with blanks, or none at all.
    Text,
}

/// Ends of the names of packed skills.
const ARCHIVES: [&str; 5] = [".zip", ".skill", ".tar.gz", ".tgz", ".tar"];
/// Ends of the names of programs and documents.
const FILES: [&str; 7] = [".py", ".sh", ".js", ".ts", ".rb", ".md", ".toml"];
/// Other names of clients.
const CLIENT_NAMES: [(&str, &str); 7] = [
    ("claude", "claude-code"),
    ("claudecode", "claude-code"),
    ("code", "vscode"),
    ("copilot", "vscode"),
    ("github-copilot", "vscode"),
    ("gemini", "gemini-cli"),
    ("vs-code", "vscode"),
];

/// The client that a word names, by its id or by what people call it.
pub(super) fn client(word: &str) -> Option<&'static str> {
    let folded = near::folded(word);
    let mut clients = CLIENTS.iter();
    let by_id = clients.find(|client| client.id == folded || near::folded(client.title) == folded);
    let by_name = || CLIENT_NAMES.iter().find(|(name, _)| *name == folded);
    by_id
        .map(|client| client.id)
        .or_else(|| by_name().map(|(_, id)| *id))
}

impl Form {
    /// The form of a name in the tables.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "nothing" => Self::Nothing,
            "option" => Self::Option,
            "url" => Self::Url,
            "repository" => Self::Repository,
            "archive" => Self::Archive,
            "path" => Self::Path,
            "file" => Self::File,
            "data" => Self::Data,
            "client" => Self::Client,
            "number" => Self::Number,
            "address" => Self::Address,
            "assignment" => Self::Assignment,
            "name" => Self::Name,
            "text" => Self::Text,
            _ => return None,
        })
    }

    /// The form of a word.
    pub(super) fn of(word: Option<&str>) -> Self {
        let Some(word) = word else {
            return Self::Nothing;
        };
        let lower = word.to_lowercase();
        let ends = |ends: &[&str]| ends.iter().any(|end| lower.ends_with(end));
        let is_path = word.starts_with(['.', '/', '~'])
            || word.contains('\\')
            || lower.as_bytes().get(1) == Some(&b':') && lower.as_bytes().get(2) == Some(&b'/');
        if word.trim().is_empty() || word.chars().any(char::is_whitespace) && !is_path {
            Self::Text
        } else if word.starts_with('-') {
            Self::Option
        } else if lower.contains("://")
            || lower.starts_with("git@")
            || lower.starts_with("github.com/")
        {
            Self::Url
        } else if ends(&ARCHIVES) {
            Self::Archive
        } else if ends(&FILES) {
            Self::File
        } else if disk::kind_outside(Path::new(word)) == Some(EntryKind::File) {
            Self::Data
        } else if is_path {
            Self::Path
        } else if client(word).is_some() {
            Self::Client
        } else if word.parse::<u64>().is_ok() {
            Self::Number
        } else if word.contains('=') {
            Self::Assignment
        } else if word
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok())
        {
            Self::Address
        } else if disk::kind_outside(Path::new(word)).is_some() {
            Self::Path
        } else {
            match word.split('/').collect::<Vec<_>>().as_slice() {
                [_] => Self::Name,
                [owner, name] if !owner.is_empty() && !name.is_empty() => Self::Repository,
                _ => Self::Path,
            }
        }
    }
}

/// The folder into which git clones a repository, by the URL that it clones.
pub(super) fn folder_of(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let name = url.trim_end_matches('/').rsplit(['/', ':']).next();
    let name = name.unwrap_or_default();
    name.strip_suffix(".git").unwrap_or(name).to_owned()
}

/// The URL that git clones: a page in a repository is not one.
pub(super) fn cloned(word: &str) -> String {
    let with_scheme = if word.starts_with("github.com/") {
        format!("https://{word}")
    } else if Form::of(Some(word)) == Form::Repository {
        format!("https://github.com/{word}")
    } else {
        word.to_owned()
    };
    let page = ["/tree/", "/blob/"].iter().find_map(|mark| {
        let (repository, _) = with_scheme.split_once(mark)?;
        Some(repository.to_owned())
    });
    page.unwrap_or(with_scheme)
}

/// The hint for the address of a repository where a folder is needed; `None` for another word.
pub(crate) fn clone_hint(word: &str) -> Option<String> {
    let commands = clone_commands(word, "source add")?;
    Some(format!(
        "`gongfu skill add` adds skills of a repository; to keep the whole of it: {commands}"
    ))
}

/// The commands that clone a repository and do something with its folder; `None` for another word.
pub(crate) fn clone_commands(word: &str, then: &str) -> Option<String> {
    if !matches!(Form::of(Some(word)), Form::Url | Form::Repository) {
        return None;
    }
    let url = cloned(word);
    let folder = folder_of(&url);
    let (url, folder) = (quoted(&url), quoted(&folder));
    Some(format!("`git clone {url}`, then `gongfu {then} {folder}`"))
}

/// A word as a shell takes it: in quotes where it needs them.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,".contains(c);
    let word = plain(word);
    // The shell knows what `~/` is only without quotes.
    let rest = word.strip_prefix("~/").unwrap_or(&word);
    if !rest.is_empty() && rest.chars().all(is_plain) {
        return word;
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A command line of these words, as a shell takes it.
pub(crate) fn command_line<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    let words = words.into_iter().map(|word| quoted(word.as_ref()));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{Form, cloned, folder_of, quoted};

    #[test]
    fn the_form_of_a_word_says_what_it_is() {
        for (word, form) in [
            ("", Form::Text),
            ("merge pdf files", Form::Text),
            ("--json", Form::Option),
            ("https://github.com/x/y", Form::Url),
            ("git@github.com:x/y.git", Form::Url),
            ("github.com/x/y", Form::Url),
            ("anthropics/skills", Form::Repository),
            ("pack.ZIP", Form::Archive),
            ("./pdf", Form::Path),
            ("~/skills", Form::Path),
            (r"C:\skills\pdf", Form::Path),
            ("C:/skills/pdf", Form::Path),
            ("a/b/c", Form::Path),
            ("script.py", Form::File),
            ("Cursor", Form::Client),
            ("Claude Code", Form::Text),
            ("claude", Form::Client),
            ("8080", Form::Number),
            (":8080", Form::Address),
            ("localhost:80", Form::Address),
            ("a.b=1", Form::Assignment),
            ("pdf-tools", Form::Name),
        ] {
            assert_eq!(Form::of(Some(word)), form, "{word}");
        }
        assert_eq!(Form::of(None), Form::Nothing);
    }

    #[test]
    fn a_repository_is_cloned_into_a_folder_of_its_name() {
        for (url, from, folder) in [
            ("https://github.com/x/y", "https://github.com/x/y", "y"),
            ("git@github.com:x/y.git", "git@github.com:x/y.git", "y"),
            ("x/y", "https://github.com/x/y", "y"),
            (
                "https://github.com/x/y/tree/main/skills/pdf",
                "https://github.com/x/y",
                "y",
            ),
        ] {
            assert_eq!(cloned(url), from);
            assert_eq!(folder_of(&cloned(url)), folder);
        }
    }

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        for (word, shown) in [
            ("a-b/c.py", "a-b/c.py"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("*.com", "'*.com'"),
            ("~/skills", "~/skills"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), shown);
        }
    }
}
