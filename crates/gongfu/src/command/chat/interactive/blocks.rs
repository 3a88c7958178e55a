//! Cuts an answer that arrives in pieces into whole blocks of Markdown; knows no terminal.

use gongfu_core::agent::fence::Fences;

/// The blocks of an answer.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The lines of the block so far.
    block: String,
    /// The line so far.
    line: String,
    /// A blank line follows the block: it ends where the next line isn't indented.
    has_gap: bool,
    fences: Fences,
    /// The length of the block up to the first line of code.
    code: usize,
    /// The open block is a part of a list.
    is_nested: bool,
    /// A call stands in the answer: what follows it may pretend to be its result.
    is_over: bool,
}

impl Blocks {
    /// Takes the next piece; answers the blocks that are whole now.
    pub(super) fn push(&mut self, piece: &str) -> Vec<String> {
        let mut whole = Vec::new();
        for part in piece.split_inclusive('\n') {
            self.line.push_str(part);
            if part.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                self.take(&line, &mut whole);
            }
        }
        if self.has_gap && self.line.starts_with(|first: char| !first.is_whitespace()) {
            self.close(&mut whole);
        }
        whole
    }

    /// The whole lines so far of a block whose code isn't at its end: what follows them doesn't change them.
    pub(super) fn open(&self) -> Option<&str> {
        let block = self.block.trim_end();
        (self.fences.is_open() && block.len() > self.code).then_some(block)
    }

    /// The answer ends: what is left of it.
    pub(super) fn end(&mut self) -> Vec<String> {
        let mut whole = Vec::new();
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take(&line, &mut whole);
        }
        self.close(&mut whole);
        *self = Self::default();
        whole
    }

    fn take(&mut self, line: &str, whole: &mut Vec<String>) {
        if self.is_over {
            return;
        }
        let was_open = self.fences.is_open();
        self.fences.take(line);
        if self.fences.is_call() {
            self.is_over = true;
            self.close(whole);
            return;
        }
        if was_open {
            self.block.push_str(line);
            if !self.fences.is_open() && !self.is_nested {
                self.close(whole);
            }
            return;
        }
        if line.trim().is_empty() {
            self.has_gap = !self.block.is_empty();
            if self.has_gap {
                self.block.push_str(line);
            }
            return;
        }
        if self.has_gap && !line.starts_with(char::is_whitespace) {
            self.close(whole);
        }
        self.has_gap = false;
        self.is_nested = line.starts_with(char::is_whitespace);
        self.block.push_str(line);
        self.code = self.block.len();
    }

    fn close(&mut self, whole: &mut Vec<String>) {
        self.has_gap = false;
        let block = std::mem::take(&mut self.block);
        if !block.trim().is_empty() {
            whole.push(block.trim_end().to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
