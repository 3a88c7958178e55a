//! The line editor: rustyline with gongfu's key bindings, and the history in gongfu's home.

use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{
    Cmd, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler,
    Helper, KeyCode, KeyEvent, Modifiers, Movement, RepeatCount,
};
use tokio::sync::oneshot;

/// The lines that the history holds.
const MAX_HISTORY: usize = 500;
/// The longest line that it holds, in bytes.
const MAX_LINE: usize = 16 * 1024;

/// A new line that stands for the backslash before it, other than one of a pasted command.
const JOINT: &str = "\u{200b}\n";

/// The end of an edit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// The person entered this.
    Line(String),
    /// Ctrl-C on an empty line.
    Interrupt,
    /// Ctrl-D on an empty line, or nobody is there any more.
    End,
}

/// An editor for a prompt, which reads on a thread of its own.
pub(super) struct LineEditor {
    /// `None` while it reads.
    editor: Option<Editor<Keys, DefaultHistory>>,
    /// The file of the history; `None` for one that remembers nothing.
    history: Option<PathBuf>,
}

impl LineEditor {
    /// An editor that completes these words, and remembers lines in a file.
    pub(super) fn new(words: Vec<String>, history: Option<PathBuf>) -> anyhow::Result<Self> {
        let config = Config::builder()
            .max_history_size(MAX_HISTORY)?
            .history_ignore_space(true)
            .build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(Keys { words }));
        editor.bind_sequence(
            KeyEvent(KeyCode::Enter, Modifiers::ALT),
            EventHandler::Simple(Cmd::Newline),
        );
        editor.bind_sequence(
            KeyEvent(KeyCode::Enter, Modifiers::NONE),
            EventHandler::Conditional(Box::new(ContinueLine)),
        );
        editor.bind_sequence(
            KeyEvent::ctrl('c'),
            EventHandler::Conditional(Box::new(ClearLine)),
        );
        if let Some(file) = &history
            && let Err(error) = editor.load_history(file)
        {
            tracing::debug!(%error, "there is no history");
        }
        Ok(Self {
            editor: Some(editor),
            history,
        })
    }

    /// Reads a line. Where nobody waits for it any more, the thread reads until the program ends.
    pub(super) async fn read(&mut self, prompt: &str, painted: &str) -> Input {
        let Some(mut editor) = self.editor.take() else {
            return Input::End;
        };
        let prompt = (prompt.to_owned(), painted.to_owned());
        let (done, read) = oneshot::channel();
        std::thread::spawn(move || {
            let line = editor.readline(&prompt);
            let _ = done.send((editor, line));
        });
        let Ok((editor, line)) = read.await else {
            return Input::End;
        };
        self.editor = Some(editor);
        match line {
            Ok(line) => {
                let line = line.replace(&format!("\\{JOINT}"), "\n");
                self.remember(&line);
                Input::Line(line)
            }
            Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => Input::Interrupt,
            Err(error) => {
                tracing::debug!(%error, "the input ended");
                Input::End
            }
        }
    }

    fn remember(&mut self, line: &str) {
        let (Some(editor), Some(file)) = (&mut self.editor, &self.history) else {
            return;
        };
        if line.trim().is_empty() || line.len() > MAX_LINE {
            return;
        }
        let added = editor.add_history_entry(line);
        if let Err(error) = added.and_then(|_| editor.append_history(file)) {
            tracing::debug!(%error, "the history can't be written");
        }
    }
}

/// The keys that the editor has beside its own.
struct Keys {
    words: Vec<String>,
}

impl Helper for Keys {}
impl Highlighter for Keys {}

impl Hinter for Keys {
    type Hint = String;
}

impl Completer for Keys {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let start = line.get(..at).unwrap_or_default();
        let words = self.words.iter();
        let fitting = words.filter(|word| !start.is_empty() && word.starts_with(start));
        Ok((0, fitting.cloned().collect()))
    }
}

impl Validator for Keys {}

/// Enter: after a backslash at the end, a new line takes its place.
struct ContinueLine;

impl ConditionalEventHandler for ContinueLine {
    fn handle(
        &self,
        _: &Event,
        _: RepeatCount,
        _: bool,
        context: &EventContext<'_>,
    ) -> Option<Cmd> {
        let is_continued = context.line().ends_with('\\') && context.pos() == context.line().len();
        is_continued.then(|| Cmd::Insert(1, JOINT.to_owned()))
    }
}

/// Ctrl-C: clears the line first, and interrupts where it is empty.
struct ClearLine;

impl ConditionalEventHandler for ClearLine {
    fn handle(
        &self,
        _: &Event,
        _: RepeatCount,
        _: bool,
        context: &EventContext<'_>,
    ) -> Option<Cmd> {
        Some(if context.line().is_empty() {
            Cmd::Interrupt
        } else {
            Cmd::Kill(Movement::WholeBuffer)
        })
    }
}
