//! Writing for people: to standard output and standard error, with colour only where it is wanted.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};

use clap::ColorChoice;
use gongfu_core::text::marked;
use serde::Serialize;
use serde_json::json;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::OutputArguments;
use crate::table::wrap;

/// Standard output and standard error.
pub(crate) struct Terminal {
    color: bool,
    /// Standard error is painted.
    error_color: bool,
    /// Standard output is a terminal whose last line can be written again.
    is_live: bool,
    wanted: OutputArguments,
    width: Option<usize>,
    out: io::Stdout,
    error: io::Stderr,
}

/// The paint of a word.
#[derive(Clone, Copy)]
pub(crate) enum Paint {
    Bold,
    Red,
    Yellow,
    Green,
    Dim,
}

impl Terminal {
    pub(crate) fn new(environment: &Environment, output: &OutputArguments) -> Self {
        let (out, error) = (io::stdout(), io::stderr());
        let is_painted = |is_terminal: bool| match output.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !environment.no_color && !environment.is_dumb,
        };
        let shown = out
            .is_terminal()
            .then(terminal_size::terminal_size)
            .flatten();
        Self {
            color: is_painted(out.is_terminal()),
            error_color: is_painted(error.is_terminal()),
            is_live: out.is_terminal() && !environment.is_dumb,
            wanted: output.clone(),
            width: shown
                .map(|(width, _)| usize::from(width.0))
                .or(environment.columns)
                .filter(|width| *width > 0),
            out,
            error,
        }
    }

    /// The columns of a line; `None` where lines may have any length, as in a file or a pipe.
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    /// Measures the terminal again, whose window may have another size now.
    pub(crate) fn measure(&mut self) {
        if self.out.is_terminal()
            && let Some((width, _)) = terminal_size::terminal_size()
            && width.0 > 0
        {
            self.width = Some(usize::from(width.0));
        }
    }

    /// Returns true if standard output is a terminal whose last line can be written again.
    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Returns true if details are wanted.
    pub(crate) fn is_verbose(&self) -> bool {
        self.wanted.verbose > 0
    }

    /// Writes what clap says of the commands: help or the version, or help in place of an error.
    pub(crate) fn help(&mut self, help: &clap::Error) -> io::Result<()> {
        let text = help.render();
        let is_painted = if help.use_stderr() {
            self.error_color
        } else {
            self.color
        };
        let text = if is_painted {
            text.ansi().to_string()
        } else {
            text.to_string()
        };
        if help.use_stderr() {
            return self.error.lock().write_all(text.as_bytes());
        }
        self.bytes(text.as_bytes())
    }

    /// Returns true if standard output is painted.
    pub(crate) fn color(&self) -> bool {
        self.color
    }

    /// A word, painted where colour is wanted.
    pub(crate) fn paint(&self, paint: Paint, text: &str) -> String {
        let code = match paint {
            Paint::Bold => "1",
            Paint::Red => "1;31",
            Paint::Yellow => "33",
            Paint::Green => "32",
            Paint::Dim => "2",
        };
        if self.color {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// Writes a line to standard output.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out.lock(), "{text}")
    }

    /// Writes bytes to standard output as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut out = self.out.lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Writes a value as JSON to standard output.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut out = io::BufWriter::new(self.out.lock());
        serde_json::to_writer_pretty(&mut out, value)?;
        writeln!(out)?;
        out.flush()
    }

    /// Writes text with line breaks to standard output, without anything that a terminal would obey.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.bytes(shown(text).as_bytes())
    }

    /// Writes a file to standard output: as it is into a file or a pipe, as text for a person.
    pub(crate) fn file(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.out.is_terminal() {
            self.text(&String::from_utf8_lossy(bytes))
        } else {
            self.bytes(bytes)
        }
    }

    /// Asks a question whose answer is no unless a person says yes.
    pub(crate) fn ask(&mut self, question: &str) -> io::Result<bool> {
        let answer = self.prompt(&format!("{question} [y/N] "))?;
        Ok(answer == "y" || answer == "yes")
    }

    /// Asks for a word, in lower-case letters; empty at the end of the input.
    pub(crate) fn prompt(&mut self, question: &str) -> io::Result<String> {
        let mut error = self.error.lock();
        write!(error, "{}", shown(question))?;
        error.flush()?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(answer.trim().to_lowercase())
    }

    /// Writes a note to standard error, unless only results and errors are wanted.
    pub(crate) fn note(&mut self, text: &str) {
        if self.wanted.quiet {
            return;
        }
        // A text of several lines has a form of its own.
        let room = self.width.filter(|_| !text.contains('\n'));
        for line in wrap(text, room) {
            self.complain(&line);
        }
    }

    /// Writes a line to standard error; when even that fails nobody can be informed.
    pub(crate) fn complain(&mut self, text: &str) {
        let _ = writeln!(self.error.lock(), "{}", shown(text));
    }

    /// Writes an error with its code and the next step, for a person.
    pub(crate) fn problem(&mut self, code: &str, message: &str, hint: &str) {
        let label = if code.is_empty() {
            "error".to_owned()
        } else {
            format!("error[{code}]")
        };
        self.labelled(&label, "1;31", message, hint);
    }

    /// Writes what a command does without, and what to do about it.
    pub(crate) fn warning(&mut self, code: &str, message: &str, hint: &str) {
        if !self.wanted.quiet {
            self.labelled(&format!("warning[{code}]"), "1;33", message, hint);
        }
    }

    fn labelled(&mut self, label: &str, paint: &str, message: &str, hint: &str) {
        let mut error = self.error.lock();
        let mut write = |before: &str, label: &str, paint: &str, text: &str| {
            let text = format!("{label}: {text}");
            let text = shown(&text);
            let room = self.width.map(|width| width.saturating_sub(4));
            let room = room.filter(|_| !text.contains('\n'));
            let mut text = wrap(&text, room).join("\n    ");
            if self.error_color {
                text = text.replacen(label, &format!("\u{1b}[{paint}m{label}\u{1b}[0m"), 1);
            }
            let _ = writeln!(error, "{before}{text}");
        };
        write("", label, paint, message);
        if !hint.is_empty() {
            write("  ", "hint", "1", hint);
        }
    }

    /// Writes a failure: as JSON on standard output where that is wanted, else for a person.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        let Failure {
            code,
            message,
            hint,
            ..
        } = failure;
        if self.wanted.json {
            let error = json!({ "code": code, "message": message, "hint": hint });
            if self.json(&json!({ "error": error })).is_ok() {
                return;
            }
            // That standard output can't be written may be the very failure.
        }
        self.problem(code, message, hint);
    }

    /// Writes an error with its causes.
    pub(crate) fn error(&mut self, error: &anyhow::Error) {
        let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
        let failure = match error.downcast_ref::<Failure>() {
            Some(failure) => failure.clone(),
            None => Failure::new("FAILED", causes.join(": "), ""),
        };
        self.failure(&failure);
    }
}

/// A stranger's text on one line without anything that a terminal would hide or obey.
pub(crate) fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    shown(&words.join(" ")).into_owned()
}

/// A stranger's text with its lines, without anything that a terminal would hide or obey; what shapes emoji and joining scripts stays.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    marked(text)
}

/// Returns true if the reader of standard output went away, which is no error.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json = cause
            .downcast_ref::<serde_json::Error>()
            .and_then(serde_json::Error::io_error_kind);
        io.or(json) == Some(io::ErrorKind::BrokenPipe)
    })
}
