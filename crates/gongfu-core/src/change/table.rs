//! The table of files that programs of the machine execute or obey on their own.
//!
//! A line is a path of one or more names, wherever it ends; everything below it belongs to it. A name may begin
//! or end with `*`. What a person starts (a `Makefile`, `package.json`, `conftest.py`) isn't in the table.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::LazyLock;

use crate::skill::check::hidden::is_hidden;

/// The kind of program that obeys a file.
type Reader = &'static str;

const GIT: Reader = "git obeys it";
const AGENT: Reader = "agents obey it";
const EDITOR: Reader = "editors obey it";
const SHELL: Reader = "shells obey it";
const LOGIN: Reader = "it is started at login";
const TOOL: Reader = "tools for development obey it";
const PACKAGES: Reader = "installers of packages obey it";
const PYTHON: Reader = "every Python program obeys it";
const CI: Reader = "build servers obey it";
const ACCESS: Reader = "it decides who gets access";

const LINES: &[(&str, Reader)] = &[
    (".git", GIT),
    (".gitmodules", GIT),
    (".gitconfig", GIT),
    (".config/git", GIT),
    (".githooks", GIT),
    (".husky", GIT),
    (".lefthook*", GIT),
    ("lefthook.*", GIT),
    ("lefthook-local.*", GIT),
    (".pre-commit-config.yaml", GIT),
    (".overcommit.yml", GIT),
    (".hg", "Mercurial obeys it"),
    (".hgrc", "Mercurial obeys it"),
    (".jj", "Jujutsu obeys it"),
    (".svn", "Subversion obeys it"),
    ("agents.md", AGENT),
    ("agents.override.md", AGENT),
    ("agent.md", AGENT),
    ("claude.md", AGENT),
    ("claude.local.md", AGENT),
    ("gemini.md", AGENT),
    ("qwen.md", AGENT),
    ("crush.md", AGENT),
    ("warp.md", AGENT),
    (".rules", AGENT),
    (".cursorrules", AGENT),
    (".windsurfrules", AGENT),
    (".clinerules*", AGENT),
    (".roorules*", AGENT),
    (".roomodes", AGENT),
    (".goosehints", AGENT),
    (".mcp.json", AGENT),
    ("mcp.json", AGENT),
    ("mcp_config.json", AGENT),
    (".agent", AGENT),
    (".agents", AGENT),
    (".aider*", AGENT),
    (".amazonq", AGENT),
    (".amp", AGENT),
    (".augment*", AGENT),
    (".claude", AGENT),
    (".claude.json", AGENT),
    (".codex", AGENT),
    (".continue*", AGENT),
    (".copilot", AGENT),
    (".crush*", AGENT),
    ("crush.json", AGENT),
    (".cursor", AGENT),
    (".factory", AGENT),
    (".gemini", AGENT),
    (".goose", AGENT),
    (".junie", AGENT),
    (".kilocode*", AGENT),
    (".kiro", AGENT),
    (".opencode", AGENT),
    ("opencode.json*", AGENT),
    (".qoder", AGENT),
    (".qwen", AGENT),
    (".roo", AGENT),
    (".trae", AGENT),
    (".windsurf", AGENT),
    (".codeium", AGENT),
    (".config/goose", AGENT),
    (".config/opencode", AGENT),
    (".config/amp", AGENT),
    ("library/application support/claude", AGENT),
    (".config/claude", AGENT),
    (".vscode*", EDITOR),
    ("*.code-workspace", EDITOR),
    (".devcontainer*", EDITOR),
    (".idea", EDITOR),
    (".fleet", EDITOR),
    (".zed", EDITOR),
    (".nova", EDITOR),
    (".vim", EDITOR),
    (".vimrc", EDITOR),
    (".gvimrc", EDITOR),
    ("_vimrc", EDITOR),
    (".exrc", EDITOR),
    (".nvimrc", EDITOR),
    (".nvim.lua", EDITOR),
    (".lvimrc", EDITOR),
    (".config/nvim", EDITOR),
    (".config/code", EDITOR),
    (".config/cursor", EDITOR),
    (".config/zed", EDITOR),
    (".helix", EDITOR),
    (".config/helix", EDITOR),
    (".dir-locals*.el", EDITOR),
    (".emacs*", EDITOR),
    (".config/emacs", EDITOR),
    (".spacemacs", EDITOR),
    (".nanorc", EDITOR),
    (".envrc", SHELL),
    (".direnv", SHELL),
    (".autoenv*", SHELL),
    (".profile", SHELL),
    (".bashrc", SHELL),
    (".bash_*", SHELL),
    (".zshrc", SHELL),
    (".zshenv", SHELL),
    (".zprofile", SHELL),
    (".zlogin", SHELL),
    (".zlogout", SHELL),
    (".zsh", SHELL),
    (".oh-my-zsh", SHELL),
    (".p10k.zsh", SHELL),
    (".kshrc", SHELL),
    (".mkshrc", SHELL),
    (".shrc", SHELL),
    (".cshrc", SHELL),
    (".tcshrc", SHELL),
    (".login", SHELL),
    (".logout", SHELL),
    (".inputrc", SHELL),
    (".config/fish", SHELL),
    (".config/nushell", SHELL),
    (".config/powershell", SHELL),
    (".config/starship.toml", SHELL),
    (".tmux.conf", SHELL),
    (".config/tmux", SHELL),
    (".screenrc", SHELL),
    (".lesskey", SHELL),
    (".lessfilter", SHELL),
    (".mailcap", SHELL),
    (".local/bin", SHELL),
    (".pam_environment", LOGIN),
    (".xinitrc", LOGIN),
    (".xsession*", LOGIN),
    (".xprofile", LOGIN),
    (".xresources", LOGIN),
    (".config/autostart", LOGIN),
    (".config/systemd", LOGIN),
    (".local/share/systemd", LOGIN),
    (".local/share/applications", LOGIN),
    (".local/share/dbus-1", LOGIN),
    (".config/environment.d", LOGIN),
    (".config/plasma-workspace", LOGIN),
    (".config/i3", LOGIN),
    (".config/sway", LOGIN),
    (".config/hypr", LOGIN),
    ("library/launchagents", LOGIN),
    ("library/launchdaemons", LOGIN),
    ("etc/cron*", LOGIN),
    ("etc/systemd", LOGIN),
    ("etc/init.d", LOGIN),
    ("etc/profile*", LOGIN),
    ("etc/rc.local", LOGIN),
    ("etc/ld.so.*", LOGIN),
    ("var/spool/cron", LOGIN),
    (".mise*", TOOL),
    ("mise.toml", TOOL),
    ("mise.*.toml", TOOL),
    (".config/mise", TOOL),
    (".rtx.toml", TOOL),
    (".tool-versions", TOOL),
    (".asdfrc", TOOL),
    ("rust-toolchain*", TOOL),
    (".cargo", TOOL),
    (".rustup", TOOL),
    (".gdbinit", TOOL),
    (".lldbinit", TOOL),
    (".curlrc", TOOL),
    (".wgetrc", TOOL),
    (".config/direnv", TOOL),
    (".config/gh", TOOL),
    (".watchmanconfig", TOOL),
    (".docker", TOOL),
    (".kube", TOOL),
    (".terraformrc", TOOL),
    (".tofurc", TOOL),
    (".psqlrc", TOOL),
    (".my.cnf", TOOL),
    (".sqliterc", TOOL),
    (".irbrc", TOOL),
    (".pryrc", TOOL),
    (".rprofile", TOOL),
    (".renviron", TOOL),
    (".npmrc", PACKAGES),
    (".yarnrc*", PACKAGES),
    (".pnpmfile.*", PACKAGES),
    ("bunfig.toml", PACKAGES),
    (".bunfig.toml", PACKAGES),
    ("pip.conf", PACKAGES),
    ("pip.ini", PACKAGES),
    (".pip", PACKAGES),
    (".pypirc", PACKAGES),
    ("uv.toml", PACKAGES),
    (".pydistutils.cfg", PACKAGES),
    (".condarc", PACKAGES),
    (".gemrc", PACKAGES),
    (".bundle", PACKAGES),
    (".m2", PACKAGES),
    (".config/pip", PACKAGES),
    (".config/uv", PACKAGES),
    ("*.pth", PYTHON),
    ("sitecustomize.py", PYTHON),
    ("usercustomize.py", PYTHON),
    ("pyvenv.cfg", PYTHON),
    (".venv", EDITOR),
    (".pythonrc*", PYTHON),
    (".pdbrc*", PYTHON),
    (".ipython", PYTHON),
    (".jupyter", PYTHON),
    (".github", CI),
    (".gitlab", CI),
    (".gitlab-ci.*", CI),
    (".circleci", CI),
    (".buildkite", CI),
    (".travis.yml", CI),
    (".drone.*", CI),
    (".woodpecker*", CI),
    (".cirrus.*", CI),
    (".appveyor.yml", CI),
    ("appveyor.yml", CI),
    (".forgejo", CI),
    (".gitea", CI),
    (".tekton", CI),
    (".semaphore", CI),
    ("azure-pipelines*", CI),
    (".azure-pipelines", CI),
    ("bitbucket-pipelines.yml", CI),
    ("cloudbuild.y*", CI),
    ("buildspec.y*", CI),
    ("jenkinsfile*", CI),
    (".ssh", ACCESS),
    (".gnupg", ACCESS),
    (".netrc", ACCESS),
    ("_netrc", ACCESS),
    (".pgpass", ACCESS),
    (".aws", ACCESS),
    (".azure", ACCESS),
    (".config/gcloud", ACCESS),
    (".rhosts", ACCESS),
    (".shosts", ACCESS),
    (".k5login", ACCESS),
    ("etc/passwd", ACCESS),
    ("etc/shadow", ACCESS),
    ("etc/group", ACCESS),
    ("etc/sudoers*", ACCESS),
    ("etc/pam.d", ACCESS),
    ("etc/ssh", ACCESS),
];

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
    let name = plain(name);
    let mut lines = TABLE.exact.get(&*name).into_iter().flatten();
    let of_name = |line: &&Line| matches(line.last, &name);
    let patterns = TABLE.patterns.iter().filter(of_name);
    let above: Vec<String> = above.rev().take(MAX_NAMES - 1).map(plain).collect();
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

/// The most names of a line.
const MAX_NAMES: usize = 3;

/// A name as a file system may read it that ignores case, invisible characters, or dots and spaces at the end.
pub fn plain(name: &str) -> String {
    let visible = name.chars().filter(|one| !is_hidden(*one));
    let plain: String = visible.flat_map(char::to_lowercase).collect();
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
    use super::{LINES, MAX_NAMES, obeyed};

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
            ".env",
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
    fn names_are_read_as_the_most_lenient_file_system_does() {
        for path in [
            ".GIT",
            ".g\u{200c}it",
            ".git. ",
            "GIT~1",
            "a/Claude.MD",
            ".Config/Git",
        ] {
            assert!(is_obeyed(path), "{path}");
        }
    }
}
