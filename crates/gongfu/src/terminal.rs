//! Writing for people: to standard output and standard error, with colour only where it is wanted.

use std::io::{self, IsTerminal as _, Write as _};

use gongfu_core::skill::check::hidden;
use serde::Serialize;

use crate::environment::Environment;

/// Standard output and standard error.
pub(crate) struct Terminal {
    color: bool,
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
    pub(crate) fn new(environment: &Environment) -> Self {
        let out = io::stdout();
        Self {
            color: out.is_terminal() && !environment.no_color,
            out,
            error: io::stderr(),
        }
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

    /// Writes a line to standard error; when even that fails there is nobody to tell.
    pub(crate) fn note(&mut self, text: &str) {
        let _ = writeln!(self.error.lock(), "{}", shown(text));
    }

    /// Tells an error with its causes.
    pub(crate) fn error(&mut self, error: &anyhow::Error) {
        let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
        self.note(&format!("error: {}", causes.join(": ")));
    }
}

/// A stranger's text on one line without anything that a terminal would hide or obey.
pub(crate) fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().map(visible).collect()
}

/// A stranger's text with its lines, without anything that a terminal would obey.
fn shown(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c == '\n' || c == '\t' {
                c
            } else {
                visible(c)
            }
        })
        .collect()
}

/// Shows a mark in place of a character that a terminal would hide or obey.
pub(crate) fn visible(character: char) -> char {
    if character.is_control() || hidden::is_hidden(character) {
        char::REPLACEMENT_CHARACTER
    } else {
        character
    }
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
