//! Programs that run others.

use std::rc::Rc;

use super::field::Field;
use super::judge::Judge;
use super::option::{Given, Valued, read};
use super::state::{Known, State};
use super::{Reason, place};

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
    /// A shell.
    Shell,
    /// What stands behind an option is for a shell.
    Line(Valued, &'static [&'static str], usize),
}

const fn valued(short: &'static str, long: &'static [&'static str]) -> Valued {
    Valued { short, long }
}

/// All of them by their names.
const WRAPPERS: [(&str, Wraps); 33] = [
    ("ash", Wraps::Shell),
    ("bash", Wraps::Shell),
    ("busybox", Wraps::After(valued("", &[]), 0)),
    ("chrt", Wraps::After(valued("TPD", &[]), 1)),
    ("dash", Wraps::Shell),
    ("env", Wraps::Env),
    ("fakeroot", Wraps::After(valued("lsib", &[]), 0)),
    ("find", Wraps::Find),
    ("fish", Wraps::Shell),
    (
        "flock",
        Wraps::Line(
            valued("Ewc", &["timeout", "command", "conflict-exit-code"]),
            &["c", "command"],
            1,
        ),
    ),
    (
        "ionice",
        Wraps::After(valued("cnp", &["class", "classdata"]), 0),
    ),
    ("ksh", Wraps::Shell),
    ("ltrace", Wraps::After(valued("aeDlnopsSu", &[]), 0)),
    ("mksh", Wraps::Shell),
    ("nice", Wraps::After(valued("n", &["adjustment"]), 0)),
    ("nohup", Wraps::After(valued("", &[]), 0)),
    (
        "parallel",
        Wraps::After(valued("jIaNnLS", &["jobs", "arg-file"]), 0),
    ),
    ("prlimit", Wraps::After(valued("p", &["pid"]), 0)),
    ("rbash", Wraps::Shell),
    (
        "script",
        Wraps::Line(valued("cEIOBTmot", &["command"]), &["c", "command"], 1),
    ),
    ("setarch", Wraps::After(valued("p", &[]), 1)),
    ("setsid", Wraps::After(valued("", &[]), 0)),
    ("sh", Wraps::Shell),
    (
        "stdbuf",
        Wraps::After(valued("ioe", &["input", "output", "error"]), 0),
    ),
    (
        "strace",
        Wraps::After(valued("aeEoOpPsSuUIX", &["output", "trace"]), 0),
    ),
    ("taskset", Wraps::After(valued("p", &[]), 1)),
    ("time", Wraps::After(valued("of", &["format", "output"]), 0)),
    (
        "timeout",
        Wraps::After(valued("ks", &["kill-after", "signal"]), 1),
    ),
    ("toybox", Wraps::After(valued("", &[]), 0)),
    ("tini", Wraps::After(valued("pe", &[]), 0)),
    ("watch", Wraps::Line(valued("nq", &["interval"]), &[], 0)),
    ("xargs", Wraps::Xargs),
    ("zsh", Wraps::Shell),
];

pub(super) fn of(name: &str) -> Option<Wraps> {
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

    /// A program that another one runs: functions and folders of the shell are its own.
    fn inner(&mut self, fields: &[Field], state: &State) -> Result<(), Reason> {
        let mut apart = state.clone();
        if let Some(name) = fields.first().and_then(Field::text) {
            apart.undefine(name);
        }
        self.program(fields, &mut apart)
    }

    /// A line that a program gives to a shell.
    fn line_of(&mut self, name: &str, line: &Field, state: &State) -> Result<(), Reason> {
        let mut apart = state.clone();
        let Some(tail) = &line.tail else {
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
        let valued = valued("uCSa", &["unset", "chdir", "split-string", "argv0"]);
        let given = read(arguments, valued, false);
        let mut apart = state.clone();
        if let Some(folder) = given.value(&["C", "chdir"]) {
            apart.folder = folder.text().map(|path| match &state.folder {
                Some(folder) => place::resolved(folder, path),
                None => path.to_owned(),
            });
        }
        let mut rest = given.operands;
        if let [first, others @ ..] = rest
            && first.text() == Some("-")
        {
            rest = others;
        }
        while let [first, others @ ..] = rest
            && let Some((name, value)) = first.head.split_once('=')
        {
            let known = first
                .text()
                .map_or(Known::Nothing, |_| Known::Value(value.to_owned()));
            apart.set(name, known);
            rest = others;
        }
        if let Some(line) = given.value(&["S", "split-string"]) {
            if line.tail.is_some() {
                self.ask(Reason::Dynamic("env".to_owned()));
                return Ok(());
            }
            let mut words = vec![Field::known("env")];
            words.extend(line.head.split_whitespace().map(Field::known));
            words.extend(rest.iter().cloned());
            return self.program(&words, &mut apart);
        }
        self.inner(rest, &apart)
    }

    fn find(&mut self, arguments: &[Field], state: &mut State) -> Result<(), Reason> {
        let is_start = |field: &&Field| !field.head.starts_with(['-', '(', '!']);
        let skipped = arguments
            .iter()
            .take_while(|field| matches!(field.text(), Some("-H" | "-L" | "-P")))
            .count();
        let arguments = arguments.get(skipped..).unwrap_or_default();
        let starts: Vec<Field> = arguments.iter().take_while(is_start).cloned().collect();
        let here = [Field::known(".")];
        let starts = if starts.is_empty() {
            here.to_vec()
        } else {
            starts
        };
        let mut rest = arguments;
        while let [first, others @ ..] = rest {
            rest = others;
            match first.text() {
                Some("-exec" | "-execdir" | "-ok" | "-okdir") => {
                    // A plus ends it only behind braces.
                    let is_end = |at: usize| match others.get(at).and_then(Field::text) {
                        Some(";") => true,
                        Some("+") => {
                            at > 0 && others.get(at - 1).and_then(Field::text) == Some("{}")
                        }
                        _ => false,
                    };
                    let end = (0..others.len()).find(|at| is_end(*at));
                    let end = end.unwrap_or(others.len());
                    let command = others.get(..end).unwrap_or_default();
                    for start in &starts {
                        let found = Field {
                            head: format!("{}/", start.head),
                            tail: Some(String::new()),
                            is_pattern: false,
                        };
                        let filled: Vec<Field> = command
                            .iter()
                            .map(|field| filled(field, "{}", &found))
                            .collect();
                        self.inner(&filled, state)?;
                    }
                    rest = others.get(end..).unwrap_or_default();
                }
                Some("-delete") => {
                    for start in &starts {
                        self.charge(start.size())?;
                        self.remove("find -delete", start, state)?;
                    }
                }
                Some("-fprint" | "-fprint0" | "-fls" | "-fprintf") => {
                    if let Some(file) = others.first() {
                        self.write("find", file, state)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn xargs(&mut self, arguments: &[Field], state: &State) -> Result<(), Reason> {
        let valued = valued(
            "adEILnPs",
            &[
                "arg-file",
                "delimiter",
                "max-args",
                "max-procs",
                "max-chars",
                "max-lines",
                "process-slot-var",
            ],
        );
        let given: Given<'_> = read(arguments, valued, false);
        let replaced = match given.value(&["I", "replace"]) {
            Some(text) => Some(text.head.clone()),
            None => given.has(&["i", "replace"]).then(|| "{}".to_owned()),
        };
        let mut command: Vec<Field> = given.operands.to_vec();
        match replaced.filter(|text| !text.is_empty()) {
            Some(text) => {
                for field in &mut command {
                    *field = filled(field, &text, &Field::unknown());
                }
            }
            None if command.is_empty() => {}
            None => command.push(Field::unknown()),
        }
        self.inner(&command, state)
    }

    fn shell(&mut self, name: &str, arguments: &[Field], state: &State) -> Result<(), Reason> {
        // What stands behind `-c` is an operand; its letter may stand among others.
        let valued = valued("oO", &["rcfile", "init-file"]);
        let mut arguments = arguments;
        // Options that switch something off.
        while let [first, rest @ ..] = arguments
            && first.head.starts_with('+')
        {
            let takes_name = matches!(first.text(), Some("+o" | "+O"));
            arguments = rest.get(usize::from(takes_name)..).unwrap_or_default();
        }
        let given = read(arguments, valued, false);
        let mut apart = state.clone();
        if given.has(&["c"]) {
            let mut operands = given.operands;
            while let [first, rest @ ..] = operands
                && (first.text() == Some("-") || first.head.starts_with(['-', '+']))
            {
                operands = rest;
            }
            let [line, arguments @ ..] = operands else {
                return Ok(());
            };
            if let Some(zero) = arguments.first() {
                let known = zero.text().map(|text| Known::Value(text.to_owned()));
                apart.set("0", known.unwrap_or(Known::Nothing));
            }
            apart.arguments = Some(Rc::from(arguments.get(1..).unwrap_or_default()));
            return self.line_of(name, line, &apart);
        }
        match given.operands.first() {
            Some(file) if !given.has(&["s"]) => self.file(name, &file.head, &mut apart),
            _ => {
                apart.arguments = Some(Rc::from(given.operands));
                self.read_by(name, &mut apart)
            }
        }
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

/// A word in which something else stands for a text.
fn filled(field: &Field, text: &str, by: &Field) -> Field {
    if field.text() == Some(text) {
        return by.clone();
    }
    match field.head.split_once(text) {
        Some((before, after)) => Field {
            head: before.to_owned(),
            tail: Some(after.to_owned()),
            is_pattern: field.is_pattern,
        },
        None => field.clone(),
    }
}
