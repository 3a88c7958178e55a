//! Secrets that must not stand in the output of an installer.

use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::port::Listener;
use gongfu_core::sandbox::Stream;
use gongfu_core::text::visible_lines;

/// The text in place of a secret.
const MASK: &str = "****";
/// The shortest text that is hidden: shorter ones are parts of everything.
const MIN_LENGTH: usize = 4;
/// The longest line that is kept until its end.
const MAX_LINE: usize = 64 * 1024;

/// The secrets of an index.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// These texts, as far as they are long enough.
    pub(super) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let mut texts: Vec<String> = texts
            .into_iter()
            .filter(|text| text.len() >= MIN_LENGTH)
            .collect();
        // A secret may begin like another one.
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        texts.dedup();
        Self(texts)
    }

    /// A text without them.
    pub(crate) fn hide(&self, text: &str) -> String {
        let hide = |text: String, secret: &String| text.replace(secret, MASK);
        self.0.iter().fold(text.to_owned(), hide)
    }

    /// The length of what can be passed on of a text that goes on: no secret begins in it and ends behind it.
    fn end_of_whole(&self, text: &[u8]) -> usize {
        let longest = self.0.first().map_or(0, String::len);
        let mut end = text.len().saturating_sub(longest);
        let cut = |end: usize| {
            self.0.iter().find_map(|secret| {
                let mut starts = end.saturating_sub(secret.len())..end;
                let is_there = |at: usize| text.get(at..).unwrap_or_default();
                starts.find(|&at| is_there(at).starts_with(secret.as_bytes()))
            })
        };
        // It may end exactly there.
        while let Some(start) = cut(end) {
            end = start;
        }
        end
    }

    /// A listener that gets the standard error without them, in whole lines.
    pub(crate) fn listener(&self, listener: Listener) -> HidingListener {
        HidingListener {
            secrets: self.clone(),
            listener,
            line: Arc::default(),
        }
    }
}

/// Passes lines on, without secrets.
#[derive(Clone)]
pub(crate) struct HidingListener {
    secrets: Secrets,
    listener: Listener,
    line: Arc<Mutex<Vec<u8>>>,
}

impl HidingListener {
    /// Takes a piece of the output; standard output is for the server.
    pub(crate) fn take(&self, stream: Stream, bytes: &[u8]) {
        if stream != Stream::Stderr {
            return;
        }
        // A secret could come in two pieces.
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.extend_from_slice(bytes);
        let end = line.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
        let length = match end {
            Some(at) => at + 1,
            None if line.len() > MAX_LINE => self.secrets.end_of_whole(&line),
            None => 0,
        };
        let whole: Vec<u8> = line.drain(..length).collect();
        drop(line);
        self.pass_on(&whole);
    }

    /// Passes on what has no end of line.
    pub(crate) fn flush(&self) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = std::mem::take(&mut *line);
        drop(line);
        self.pass_on(&rest);
    }

    fn pass_on(&self, bytes: &[u8]) {
        if !bytes.is_empty() {
            let text = self.secrets.hide(&String::from_utf8_lossy(bytes));
            // Names and texts of packages stand in it, which a terminal must not obey.
            (self.listener)(Stream::Stderr, visible_lines(&text).as_bytes());
        }
    }
}
