//! Programs to which an option, a setting or a script names another one to run.

use super::Reason;
use super::field::Field;
use super::judge::Judge;
use super::option::{Valued, read};
use super::state::State;

/// A program, and the options of it whose values are lines for a shell.
type Hooked = (&'static str, Valued, &'static [&'static str]);

const fn valued(short: &'static str, long: &'static [&'static str]) -> Valued {
    Valued {
        short,
        long,
        attached: "",
    }
}

/// All of them by their names.
const HOOKED: &[Hooked] = &[
    ("ex", valued("cSTu", &["cmd"]), &["c", "cmd"]),
    (
        "man",
        valued("PHp", &["pager", "html"]),
        &["P", "pager", "H", "html"],
    ),
    ("nvim", valued("cSTu", &["cmd"]), &["c", "cmd"]),
    (
        "rsync",
        valued("e", &["rsh", "rsync-path"]),
        &["e", "rsh", "rsync-path"],
    ),
    (
        "sort",
        valued(
            "kStTo",
            &[
                "compress-program",
                "output",
                "key",
                "field-separator",
                "temporary-directory",
            ],
        ),
        &["compress-program"],
    ),
    (
        "split",
        valued(
            "bCnla",
            &["filter", "bytes", "lines", "number", "suffix-length"],
        ),
        &["filter"],
    ),
    (
        "tar",
        valued(
            "IF",
            &[
                "to-command",
                "use-compress-program",
                "info-script",
                "new-volume-script",
                "rsh-command",
                "rmt-command",
                "checkpoint-action",
            ],
        ),
        &[
            "I",
            "F",
            "to-command",
            "use-compress-program",
            "info-script",
            "new-volume-script",
            "rsh-command",
            "rmt-command",
            "checkpoint-action",
        ],
    ),
    ("vi", valued("cSTu", &["cmd"]), &["c", "cmd"]),
    ("view", valued("cSTu", &["cmd"]), &["c", "cmd"]),
    ("vim", valued("cSTu", &["cmd"]), &["c", "cmd"]),
    ("zip", valued("", &["unzip-command"]), &["unzip-command"]),
];

/// What stands before a line in the value of an option.
const MARKS: [&str; 6] = ["exec=", ":!", "!", ":r!", ":silent !", "silent !"];
/// What programs of other languages give a line to a shell with.
const CALLS: [&str; 11] = [
    "system(",
    "popen(",
    "execSync(",
    "shell_exec(",
    "getoutput(",
    "passthru(",
    "run(",
    "call(",
    "execvp(",
    "execlp(",
    "spawn(",
];
/// How many lines of a script in another language are looked at.
const LINES: usize = 64;

impl Judge<'_> {
    /// Judges what a program is told to run by the way.
    pub(super) fn hooks(
        &mut self,
        name: &str,
        arguments: &[Field],
        state: &State,
    ) -> Result<(), Reason> {
        if let Some((_, valued, options)) = HOOKED.iter().find(|(known, ..)| *known == name) {
            let given = read(arguments, *valued, true);
            for (option, value) in &given.values {
                if options.contains(&option.as_str()) {
                    self.hook(name, value, state)?;
                }
            }
            // `vim +command`
            for operand in given.all() {
                if let Some(line) = operand.text().and_then(|text| text.strip_prefix('+')) {
                    self.hook(name, &Field::known(line), state)?;
                }
            }
        }
        match name {
            "git" => self.git(arguments, state),
            "sed" | "gsed" => self.stream_editor(arguments, state),
            "scp" | "sftp" | "ssh" => self.remote(arguments, state),
            _ if is_interpreter(name) => {
                for field in arguments {
                    self.calls(name, &field.head, state)?;
                    if name.ends_with("awk") {
                        self.pipes(name, &field.head, state)?;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A line that a program may give to a shell. What no shell reads is none.
    fn hook(&mut self, name: &str, line: &Field, state: &State) -> Result<(), Reason> {
        let mark = MARKS.iter().find_map(|mark| line.head.strip_prefix(mark));
        let is_plain = matches!(name, "vim" | "vi" | "view" | "ex" | "nvim");
        let head = match mark {
            None if is_plain || line.head.contains('=') && name == "tar" => return Ok(()),
            None => line.head.as_str(),
            Some(rest) => rest,
        };
        let line = Field {
            head: head.to_owned(),
            ..line.clone()
        };
        match self.line_of(name, &line, state) {
            Err(Reason::Unreadable(_)) => Ok(()),
            outcome => outcome,
        }
    }

    /// `git`: settings that name programs, and commands that run lines.
    fn git(&mut self, arguments: &[Field], state: &State) -> Result<(), Reason> {
        let options = valued(
            "cC",
            &[
                "git-dir",
                "work-tree",
                "namespace",
                "exec-path",
                "config-env",
            ],
        );
        let given = read(arguments, options, false);
        for (option, value) in &given.values {
            if option == "c"
                && let Some((setting, line)) = value.head.split_once('=')
                && runs_setting(setting)
            {
                let line = Field {
                    head: line.to_owned(),
                    ..value.clone()
                };
                self.hook("git", &line, state)?;
            }
        }
        let operands: Vec<Option<&str>> = given.operands.iter().map(Field::text).collect();
        match operands.as_slice() {
            [Some("bisect"), Some("run"), ..] => {
                self.inner(given.operands.get(2..).unwrap_or_default(), state)
            }
            [
                Some("submodule" | "filter-branch" | "rebase" | "difftool"),
                ..,
            ] => {
                let rest = given.operands.get(1..).unwrap_or_default();
                let options = valued(
                    "x",
                    &[
                        "exec",
                        "extcmd",
                        "tree-filter",
                        "index-filter",
                        "msg-filter",
                        "env-filter",
                        "commit-filter",
                        "parent-filter",
                        "tag-name-filter",
                    ],
                );
                for (_, line) in &read(rest, options, true).values {
                    self.hook("git", line, state)?;
                }
                if let Some(at) = rest
                    .iter()
                    .position(|field| field.text() == Some("foreach"))
                {
                    let lines = rest.get(at + 1..).unwrap_or_default();
                    let lines = read(lines, Valued::default(), false).operands;
                    return self.hook("git", &super::wrapper::line_from(lines), state);
                }
                Ok(())
            }
            [Some("config"), rest @ ..] => match rest {
                [.., Some(setting), Some(line)] if runs_setting(setting) => {
                    self.hook("git", &Field::known(line), state)
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// `ssh`: settings that name programs which run here.
    fn remote(&mut self, arguments: &[Field], state: &State) -> Result<(), Reason> {
        let given = read(arguments, valued("oiFlpPJLRDSEIWbcemBQw", &[]), true);
        for (option, value) in &given.values {
            if option == "S" {
                self.hook("ssh", value, state)?;
            } else if option == "o"
                && let Some((setting, line)) = value.head.split_once(['=', ' '])
                && setting.to_ascii_lowercase().ends_with("command")
            {
                self.hook("ssh", &Field::known(line), state)?;
            }
        }
        Ok(())
    }

    /// Commands of `sed` that run lines.
    fn stream_editor(&mut self, arguments: &[Field], state: &State) -> Result<(), Reason> {
        let options = Valued {
            short: "efl",
            long: &["expression", "file", "line-length"],
            attached: "i",
        };
        let given = read(arguments, options, true);
        let is_given = given.has(&["e", "f", "expression", "file"]);
        let all = given.all();
        let scripts = given
            .values
            .iter()
            .filter(|(option, _)| matches!(option.as_str(), "e" | "expression"))
            .map(|(_, script)| script)
            .chain(all.first().copied().filter(|_| !is_given));
        for script in scripts {
            for piece in script.head.split(['\n', ';', '{']).take(LINES) {
                let command = piece.trim_start_matches(|next: char| {
                    next.is_ascii_digit() || matches!(next, '$' | ',' | '!' | '~' | '+' | ' ' | '}')
                });
                // Behind an address that is a pattern.
                let command = match command
                    .strip_prefix('/')
                    .and_then(|rest| rest.split_once('/'))
                {
                    Some((_, rest)) => rest.trim_start(),
                    None => command,
                };
                if let Some(line) = command.strip_prefix('e')
                    && line.starts_with([' ', '\t'])
                {
                    self.hook("sed", &Field::known(line), state)?;
                }
            }
            self.substituted(&script.head, state)?;
            for piece in script.head.split(['\n', ';', '{']).skip(1).take(LINES) {
                self.substituted(piece, state)?;
            }
        }
        Ok(())
    }

    /// A replacement of `sed` that is run.
    fn substituted(&mut self, script: &str, state: &State) -> Result<(), Reason> {
        let script = script.trim_start_matches(|next: char| !next.is_ascii_lowercase());
        let mut characters = script.chars();
        if characters.next() != Some('s') {
            return Ok(());
        }
        let Some(mark) = characters.next().filter(|mark| !mark.is_alphanumeric()) else {
            return Ok(());
        };
        let parts: Vec<&str> = characters.as_str().splitn(4, mark).collect();
        if let [_, by, flags, ..] = parts.as_slice() {
            let flags = flags
                .split([';', '\n', '}', ' '])
                .next()
                .unwrap_or_default();
            if flags.contains('e') {
                self.ask(Reason::Dynamic("sed".to_owned()));
                return self.hook("sed", &Field::known(by), state);
            }
        }
        Ok(())
    }

    /// Lines that a script of `awk` writes to or reads from.
    fn pipes(&mut self, name: &str, script: &str, state: &State) -> Result<(), Reason> {
        for (at, _) in script.match_indices('|').take(LINES) {
            let before = script.get(..at).unwrap_or_default().trim_end();
            let before = before
                .strip_suffix('"')
                .and_then(|text| text.rsplit_once('"'));
            let behind = script.get(at + 1..).unwrap_or_default();
            let behind = behind.trim_start_matches(['&', ' ']);
            let is_read = behind.starts_with("getline");
            let behind = behind
                .strip_prefix('"')
                .and_then(|text| text.split_once('"'));
            let read = before.map(|(_, line)| line).filter(|_| is_read);
            for line in read.into_iter().chain(behind.map(|(line, _)| line)) {
                self.hook(name, &Field::known(line), state)?;
            }
        }
        Ok(())
    }

    /// Lines that a script in another language plainly gives to a shell.
    fn calls(&mut self, name: &str, script: &str, state: &State) -> Result<(), Reason> {
        let mut seen = 0;
        for call in CALLS {
            for (at, _) in script.match_indices(call) {
                seen += 1;
                if seen > LINES {
                    return Ok(());
                }
                let behind = script.get(at + call.len()..).unwrap_or_default();
                let behind = behind.trim_start_matches([' ', '[']);
                let Some(quote) = behind
                    .chars()
                    .next()
                    .filter(|next| matches!(next, '"' | '\''))
                else {
                    continue;
                };
                let line = behind.get(1..).and_then(|rest| rest.split_once(quote));
                if let Some((line, _)) = line {
                    self.hook(name, &Field::known(line), state)?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a setting of `git` names a program.
fn runs_setting(setting: &str) -> bool {
    let setting = setting.to_ascii_lowercase();
    let last = setting.rsplit('.').next().unwrap_or_default();
    setting.starts_with("alias.")
        || setting.starts_with("pager.")
        || matches!(
            last,
            "pager"
                | "editor"
                | "sshcommand"
                | "askpass"
                | "fsmonitor"
                | "helper"
                | "textconv"
                | "process"
                | "clean"
                | "smudge"
                | "cmd"
                | "command"
                | "external"
                | "program"
                | "driver"
                | "difffilter"
                | "gitproxy"
                | "uploadpack"
                | "receivepack"
        )
}

/// Whether a program runs scripts in a language of its own.
fn is_interpreter(name: &str) -> bool {
    let name = name.trim_end_matches(|next: char| next.is_ascii_digit() || next == '.');
    matches!(
        name,
        "awk" | "gawk" | "mawk" | "nawk" | "python" | "perl" | "ruby" | "php" | "node" | "lua"
    )
}
