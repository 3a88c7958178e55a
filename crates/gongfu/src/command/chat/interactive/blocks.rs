//! Cuts an answer that arrives in pieces into whole blocks of Markdown; knows no terminal.

/// The blocks of an answer.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The lines of the block so far.
    block: String,
    /// The line so far.
    line: String,
    /// A blank line follows the block: it ends where the next line isn't indented.
    has_gap: bool,
    fence: Option<Fence>,
    /// A call stood in the answer: what follows it may pretend to be its result.
    is_over: bool,
}

#[derive(Debug)]
struct Fence {
    mark: char,
    length: usize,
    kind: Kind,
    /// The length of the block up to the first line of code.
    start: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// A call of a tool, which isn't text for the person.
    Action,
    /// A block of its own.
    Block,
    /// A part of a list.
    Nested,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let text = line.trim();
        let mark = text
            .chars()
            .next()
            .filter(|mark| matches!(mark, '`' | '~'))?;
        let length = text.chars().take_while(|letter| *letter == mark).count();
        let info = text.trim_start_matches(mark).trim();
        if length < 3 || (mark == '`' && info.contains('`')) {
            return None;
        }
        let word = info.split_whitespace().next().unwrap_or_default();
        let kind = if mark == '`' && word.eq_ignore_ascii_case("action") {
            Kind::Action
        } else if line.starts_with(mark) {
            Kind::Block
        } else {
            Kind::Nested
        };
        Some(Self {
            mark,
            length,
            kind,
            start: 0,
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim();
        text.len() >= self.length && text.chars().all(|letter| letter == self.mark)
    }
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
        let fence = self.fence.as_ref()?;
        let block = self.block.trim_end();
        (fence.kind != Kind::Action && block.len() > fence.start).then_some(block)
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
        if let Some(fence) = &self.fence {
            let is_action = fence.kind == Kind::Action;
            let is_block = fence.kind == Kind::Block;
            if !is_action {
                self.block.push_str(line);
            }
            if fence.is_closed_by(line) {
                self.fence = None;
                self.is_over = is_action;
                if is_block {
                    self.close(whole);
                }
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
        self.fence = Fence::opened_by(line);
        if self
            .fence
            .as_ref()
            .is_some_and(|fence| fence.kind == Kind::Action)
        {
            self.close(whole);
        } else {
            self.block.push_str(line);
            if let Some(fence) = &mut self.fence {
                fence.start = self.block.len();
            }
        }
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
