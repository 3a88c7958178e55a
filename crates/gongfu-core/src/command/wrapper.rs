//! Programs that run others.

use super::field::Field;
use super::judge::Judge;
use super::option::{Valued, read};
use super::state::{Known, State};
use super::{Reason, place, program};

/// How a program runs another one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wraps {
    /// After its options and so many operands.
    After(Valued, usize),
    /// `env`
    Env,
    /// `find`
    Find,
    /// `xargs`
    Xargs,
    /// `parallel`
    Parallel,
    /// `watch`, which joins what it is given into a line unless it is told not to.
    Watch,
    /// `setarch`, whose first operand may be left out.
    Architecture,
    /// `at`, which runs what it reads later on.
    Later,
    /// Somewhere among options that aren't followed.
    Anywhere,
    /// A shell.
    Shell,
    /// What stands behind an option is for a shell.
    Line(Valued, &'static [&'static str], usize),
}

/// What the names of programs begin with that load others.
const LOADERS: [&str; 3] = ["ld-linux", "ld-musl", "ld.so"];

const fn valued(short: &'static str, long: &'static [&'static str]) -> Valued {
    Valued {
        short,
        long,
        attached: "",
    }
}

/// All of them by their names.
const WRAPPERS: &[(&str, Wraps)] = &[
    ("ash", Wraps::Shell),
    ("at", Wraps::Later),
    ("batch", Wraps::Later),
    ("bash", Wraps::Shell),
    ("busybox", Wraps::After(valued("", &[]), 0)),
    ("bwrap", Wraps::Anywhere),
    ("catchsegv", Wraps::Anywhere),
    ("choom", Wraps::After(valued("np", &["adjust", "pid"]), 0)),
    (
        "chrt",
        Wraps::After(
            valued("TPD", &["sched-runtime", "sched-period", "sched-deadline"]),
            1,
        ),
    ),
    ("cpulimit", Wraps::Anywhere),
    ("daemonize", Wraps::Anywhere),
    ("dash", Wraps::Shell),
    ("dbus-launch", Wraps::Anywhere),
    (
        "dbus-run-session",
        Wraps::After(valued("", &["config-file", "dbus-daemon"]), 0),
    ),
    ("dumb-init", Wraps::After(valued("r", &["rewrite"]), 0)),
    ("eatmydata", Wraps::After(valued("", &[]), 0)),
    ("entr", Wraps::Anywhere),
    ("env", Wraps::Env),
    ("expect", Wraps::Anywhere),
    ("fakechroot", Wraps::Anywhere),
    (
        "fakeroot",
        Wraps::After(valued("lsib", &["lib", "faked", "save-file"]), 0),
    ),
    ("faketime", Wraps::Anywhere),
    ("find", Wraps::Find),
    ("firejail", Wraps::Anywhere),
    ("fish", Wraps::Shell),
    (
        "flock",
        Wraps::Line(
            valued("Ewc", &["timeout", "wait", "command", "conflict-exit-code"]),
            &["c", "command"],
            1,
        ),
    ),
    ("gdb", Wraps::Anywhere),
    ("hyperfine", Wraps::Anywhere),
    ("i386", Wraps::After(valued("", &[]), 0)),
    (
        "ionice",
        Wraps::After(
            valued("cnpPu", &["class", "classdata", "pid", "pgid", "uid"]),
            0,
        ),
    ),
    ("ksh", Wraps::Shell),
    ("linux32", Wraps::After(valued("", &[]), 0)),
    ("linux64", Wraps::After(valued("", &[]), 0)),
    ("ltrace", Wraps::After(valued("aeDlnopsSu", &[]), 0)),
    ("mksh", Wraps::Shell),
    ("nice", Wraps::After(valued("n", &["adjustment"]), 0)),
    ("nohup", Wraps::After(valued("", &[]), 0)),
    ("numactl", Wraps::Anywhere),
    ("parallel", Wraps::Parallel),
    ("perf", Wraps::Anywhere),
    ("prlimit", Wraps::After(valued("po", &["pid", "output"]), 0)),
    ("proot", Wraps::Anywhere),
    ("proxychains", Wraps::Anywhere),
    ("proxychains4", Wraps::Anywhere),
    ("rbash", Wraps::Shell),
    ("rlwrap", Wraps::Anywhere),
    (
        "script",
        Wraps::Line(
            valued(
                "cEIOBTmo",
                &[
                    "command",
                    "echo",
                    "log-in",
                    "log-out",
                    "log-io",
                    "log-timing",
                    "logging-format",
                    "output-limit",
                ],
            ),
            &["c", "command"],
            1,
        ),
    ),
    ("setarch", Wraps::Architecture),
    ("setsid", Wraps::After(valued("", &[]), 0)),
    ("setuidgid", Wraps::Anywhere),
    ("sh", Wraps::Shell),
    ("softlimit", Wraps::Anywhere),
    ("ssh-agent", Wraps::After(valued("aEkOPt", &[]), 0)),
    ("sshpass", Wraps::Anywhere),
    ("start-stop-daemon", Wraps::Anywhere),
    (
        "stdbuf",
        Wraps::After(valued("ioe", &["input", "output", "error"]), 0),
    ),
    (
        "strace",
        Wraps::After(valued("abeEoOpPsSuUIX", &["output", "trace"]), 0),
    ),
    ("systemd-cat", Wraps::Anywhere),
    ("systemd-inhibit", Wraps::Anywhere),
    ("systemd-run", Wraps::Anywhere),
    ("taskset", Wraps::After(valued("", &[]), 1)),
    ("time", Wraps::After(valued("of", &["format", "output"]), 0)),
    (
        "timeout",
        Wraps::After(valued("ks", &["kill-after", "signal"]), 1),
    ),
    ("tini", Wraps::After(valued("pe", &[]), 0)),
    ("torsocks", Wraps::Anywhere),
    ("toybox", Wraps::After(valued("", &[]), 0)),
    ("tsocks", Wraps::Anywhere),
    ("uname26", Wraps::After(valued("", &[]), 0)),
    ("unbuffer", Wraps::After(valued("", &[]), 0)),
    ("valgrind", Wraps::Anywhere),
    ("watch", Wraps::Watch),
    ("x86_64", Wraps::After(valued("", &[]), 0)),
    ("xargs", Wraps::Xargs),
    ("xvfb-run", Wraps::Anywhere),
    ("yash", Wraps::Shell),
    ("zsh", Wraps::Shell),
];

/// How a program runs another one, if it does.
pub(super) fn of(name: &str) -> Option<Wraps> {
    if LOADERS.iter().any(|loader| name.starts_with(loader)) {
        return Some(Wraps::Anywhere);
    }
    let found = WRAPPERS.iter().find(|(known, _)| *known == name);
    found.map(|(_, wraps)| *wraps)
}

impl Judge<'_> {
    pub(super) fn wrapped(
        &mut self,
        name: &str,
        wraps: Wraps,
        fields: &[Field],
        state: &mut State,
    ) -> Result<(), Reason> {
        let arguments = fields.get(1..).unwrap_or_default();
        match wraps {
            Wraps::After(valued, operands) => {
                let given = read(arguments, valued, false);
                self.inner(given.operands.get(operands..).unwrap_or_default(), state)
            }
            Wraps::Env => self.env(arguments, state),
            Wraps::Find => self.find(arguments, state),
            Wraps::Xargs => self.xargs(arguments, state),
            Wraps::Shell => self.shell(name, arguments, state),
            Wraps::Parallel => self.parallel(arguments, state),
            Wraps::Watch => self.watch(arguments, state),
            Wraps::Architecture => self.architecture(arguments, state),
            Wraps::Later => self.read_by(name, &mut state.child()),
            Wraps::Anywhere => self.anywhere(arguments, state),
            Wraps::Line(valued, options, operands) => {
                let given = read(arguments, valued, false);
                if let Some(line) = given.value(options) {
                    return self.line_of(name, line, state);
                }
                let rest = given.operands.get(operands..).unwrap_or_default();
                if let Some(line) = later(rest, options) {
                    return self.line_of(name, line, state);
                }
                self.inner(rest, state)
            }
        }
    }

    /// `watch`
    fn watch(&mut self, arguments: &[Field], state: &State) -> Result<(), Reason> {
        let given = read(
            arguments,
            valued("nqs", &["interval", "equexit", "shotsdir"]),
            false,
        );
        if given.has(&["x", "exec"]) {
            return self.inner(given.operands, state);
        }
        self.line_of("watch", &line_from(given.operands), state)
    }

    /// `setarch`
    fn architecture(&mut self, arguments: &[Field], state: &State) -> Result<(), Reason> {
        let given = read(arguments, Valued::default(), false);
        self.inner(given.operands, state)?;
        let behind = given.operands.get(1..).unwrap_or_default();
        self.inner(read(behind, Valued::default(), false).operands, state)
    }

    /// A program whose options aren't followed: what it is given is judged from the first word on that
    /// names a program that is refused or runs others.
    fn anywhere(&mut self, arguments: &[Field], state: &State) -> Result<(), Reason> {
        let runs = |field: &Field| {
            field.text().is_some_and(|text| {
                let name = place::last_name(text);
                let word = name.split([' ', '\t']).next().unwrap_or_default();
                program::is_refused(word) || of(word).is_some()
            })
        };
        let Some(at) = arguments.iter().position(runs) else {
            return Ok(());
        };
        let command = arguments.get(at..).unwrap_or_default();
        match command {
            // A whole line in one word.
            [line, ..] if line.head.contains([' ', '\t']) => self.line_of("a program", line, state),
            _ => self.inner(command, state),
        }
    }

    /// A program that another one runs: functions and folders of the shell are its own.
    pub(super) fn inner(&mut self, fields: &[Field], state: &State) -> Result<(), Reason> {
        let fields = match fields {
            [first, rest @ ..] if first.text() == Some("--") => rest,
            fields => fields,
        };
        let mut apart = state.clone();
        apart.forget_names();
        if let Some(name) = fields.first().and_then(Field::text) {
            apart.undefine(name);
        }
        self.program(fields, &mut apart)
    }

    /// A line that a program gives to a shell.
    pub(super) fn line_of(
        &mut self,
        name: &str,
        line: &Field,
        state: &State,
    ) -> Result<(), Reason> {
        self.line_in(name, line, state.child())
    }

    /// A line that is given to a shell which knows this.
    pub(super) fn line_in(
        &mut self,
        name: &str,
        line: &Field,
        mut apart: State,
    ) -> Result<(), Reason> {
        let Some(tail) = &line.tail else {
            self.plain_text(name, &line.head, &apart)?;
            return self.text(&line.head, &mut apart);
        };
        self.ask(Reason::Dynamic(name.to_owned()));
        // What is known of it may be enough to refuse it.
        match self.text(&format!("{}{tail}", line.head), &mut apart) {
            Err(Reason::Unreadable(_)) => Ok(()),
            outcome => outcome,
        }
    }

    fn env(&mut self, arguments: &[Field], state: &State) -> Result<(), Reason> {
        let valued = valued("uCSaP", &["unset", "chdir", "split-string", "argv0"]);
        let given = read(arguments, valued, false);
        let mut apart = state.clone();
        if let Some(folder) = given.value(&["C", "chdir"]) {
            apart.folder = folder.text().map(|path| match &state.folder {
                Some(folder) => place::resolved(folder, path),
                None => path.to_owned(),
            });
        }
        let mut rest = given.operands;
        let mut is_empty = given.has(&["i", "ignore-environment"]);
        if let [first, others @ ..] = rest
            && first.text() == Some("-")
        {
            rest = others;
            is_empty = true;
        }
        if is_empty {
            let folder = apart.folder.take();
            apart = State::new("/");
            apart.folder = folder;
        }
        for (option, value) in &given.values {
            if matches!(option.as_str(), "u" | "unset") {
                apart.unset(&value.head);
            }
        }
        while let [first, others @ ..] = rest
            && let Some((name, value)) = first.head.split_once('=')
        {
            let known = first
                .text()
                .map_or(Known::Nothing, |_| Known::Value(value.to_owned()));
            if let Some(function) = name.strip_prefix("BASH_FUNC_") {
                // A shell takes it for a function.
                let function = function.trim_end_matches("%%").trim_end_matches("()");
                self.text(&format!("{function} {value}"), &mut apart)?;
                apart.export_function(function);
            }
            self.runs_text(name, &known, &apart)?;
            apart.put(name, known);
            apart.export(name);
            rest = others;
        }
        if let Some(line) = given.value(&["S", "split-string"]) {
            if line.tail.is_some() {
                self.ask(Reason::Dynamic("env".to_owned()));
                return Ok(());
            }
            let mut words = vec![Field::known("env")];
            words.extend(split_string(&line.head, &apart));
            words.extend(rest.iter().cloned());
            return self.program(&words, &mut apart);
        }
        self.inner(rest, &apart)
    }
}

/// The value of an option that stands behind operands.
fn later<'a>(fields: &'a [Field], options: &[&str]) -> Option<&'a Field> {
    let is_it = |field: &Field| {
        field.text().is_some_and(|text| {
            text.starts_with('-') && options.contains(&text.trim_start_matches('-'))
        })
    };
    let at = fields.iter().position(is_it)?;
    fields.get(at + 1)
}

/// Words as one line.
pub(super) fn line_from(fields: &[Field]) -> Field {
    let mut line = Field::default();
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            line.push(" ");
        }
        line.push_field(field);
    }
    line
}

/// The words that `env` makes of one, with its own quotes and escapes.
fn split_string(line: &str, state: &State) -> Vec<Field> {
    let mut words = Vec::new();
    let mut open: Option<Field> = None;
    let mut quote: Option<char> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            (' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c', None) => words.extend(open.take()),
            ('#', None) if open.is_none() => break,
            ('\'' | '"', None) => {
                quote = Some(character);
                open.get_or_insert_default();
            }
            (end, Some(begun)) if end == begun => quote = None,
            ('\\', _) => {
                let next = characters.next().unwrap_or('\\');
                if matches!(next, '_' | 'n' | 't' | 'r' | 'v' | 'f') && quote.is_none() {
                    words.extend(open.take());
                    continue;
                }
                let field = open.get_or_insert_default();
                match (next, quote) {
                    ('\'' | '\\', Some('\'')) => field.push(next.encode_utf8(&mut [0; 4])),
                    (_, Some('\'')) => {
                        field.push("\\");
                        field.push(next.encode_utf8(&mut [0; 4]));
                    }
                    ('_', Some(_)) => field.push(" "),
                    ('c', None) => break,
                    ('n' | 't' | 'r' | 'v' | 'f', Some(_)) => field.push("\n"),
                    (next, _) => field.push(next.encode_utf8(&mut [0; 4])),
                }
            }
            ('$', None | Some('"')) => {
                let name: String = characters
                    .by_ref()
                    .take_while(|next| *next != '}')
                    .filter(|next| *next != '{')
                    .collect();
                let field = open.get_or_insert_default();
                match state.single(&name) {
                    Known::Value(text) => field.push(&text),
                    _ => field.push_unknown(),
                }
            }
            (character, _) => {
                let field = open.get_or_insert_default();
                field.push(character.encode_utf8(&mut [0; 4]));
            }
        }
    }
    words.extend(open);
    words
}
