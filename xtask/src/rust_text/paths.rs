//! The paths in source text, such as `crate::skill::name`, in declarations and in code.

#[cfg(test)]
mod tests;

use super::{Token, attributes, code_only, is_cfg_test, is_word, line_at, tokens};

/// A path with at least two segments, or one that a `use` declares.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Path {
    /// The names of the inline modules around it, outermost first.
    pub(crate) within: Vec<String>,
    /// Its segments; `*` stands for all names.
    pub(crate) segments: Vec<String>,
    /// The name that a `use` gives it.
    pub(crate) name: Option<String>,
    /// Its line, from 1.
    pub(crate) line: usize,
}

/// The paths outside of `#[cfg(test)]`.
pub(crate) fn paths(text: &str) -> Vec<Path> {
    let code = code_only(text);
    let tokens = tokens(&code);
    let mut reader = Reader {
        text,
        tokens: &tokens,
        within: Vec::new(),
        found: Vec::new(),
        counted: (0, 1),
    };
    reader.read();
    reader.found
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token<'a>],
    /// The inline modules that are open, with the depth of their braces.
    within: Vec<(String, usize)>,
    found: Vec<Path>,
    /// The offset up to which lines were counted, and the line there.
    counted: (usize, usize),
}

impl Reader<'_> {
    fn read(&mut self) {
        let mut depth = 0_usize;
        let mut at = 0;
        while at < self.tokens.len() {
            match self.word(at) {
                "{" => depth += 1,
                "}" => {
                    depth = depth.saturating_sub(1);
                    if self.within.last().is_some_and(|(_, level)| *level == depth) {
                        self.within.pop();
                    }
                }
                "mod" if self.word(at + 2) == "{" => {
                    if is_cfg_test(attributes(&self.tokens[..at])) {
                        at = self.closing(at + 2);
                    } else {
                        self.within.push((self.word(at + 1).to_owned(), depth));
                    }
                }
                "use" if self.declares(at) => {
                    let only_tests = is_cfg_test(attributes(&self.tokens[..at]));
                    let before = self.found.len();
                    at = self.tree(at + 1, &[]);
                    if only_tests {
                        self.found.truncate(before);
                    }
                    continue;
                }
                word if word.starts_with(is_word) && self.starts_path(at) => {
                    at = self.path(at);
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
    }

    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    /// True when the two tokens here are `::`.
    fn is_separator(&self, at: usize) -> bool {
        self.word(at) == ":"
            && self.word(at + 1) == ":"
            && self.tokens[at].at + 1 == self.tokens[at + 1].at
    }

    /// True for the `use` of a declaration, rather than that of `impl Trait + use<'a>`.
    fn declares(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map_or("", |before| self.word(before));
        matches!(before, "" | ";" | "}" | "{" | "]" | ")" | "pub") && self.word(at + 1) != "<"
    }

    fn starts_path(&self, at: usize) -> bool {
        let goes_on = at.checked_sub(2).is_some_and(|two| self.is_separator(two));
        let is_field = at > 0 && self.word(at - 1) == ".";
        !goes_on && !is_field && self.is_separator(at + 1)
    }

    /// Reads a path in code; answers where it ends.
    fn path(&mut self, start: usize) -> usize {
        let mut segments = vec![self.word(start).to_owned()];
        let mut at = start + 1;
        while self.is_separator(at) && self.word(at + 2).starts_with(is_word) {
            segments.push(self.word(at + 2).to_owned());
            at += 3;
        }
        self.add(start, segments, None);
        at
    }

    /// Reads one branch of a `use`; answers where it ends.
    fn tree(&mut self, start: usize, prefix: &[String]) -> usize {
        let mut segments = prefix.to_vec();
        let mut at = start;
        if self.is_separator(at) {
            at += 2;
        }
        loop {
            match self.word(at) {
                "{" => {
                    at += 1;
                    while !matches!(self.word(at), "}" | "") {
                        at = self.tree(at, &segments);
                        if self.word(at) == "," {
                            at += 1;
                        }
                    }
                    return at + 1;
                }
                "self" if !segments.is_empty() => {}
                "" => return at,
                word => segments.push(word.to_owned()),
            }
            at += 1;
            if !self.is_separator(at) {
                break;
            }
            at += 2;
        }
        let mut name = segments.last().cloned();
        if self.word(at) == "as" {
            name = Some(self.word(at + 1).to_owned());
            at += 2;
        }
        self.add(start, segments, name);
        at
    }

    fn add(&mut self, at: usize, segments: Vec<String>, name: Option<String>) {
        let here = self.tokens[at].at;
        let (before, line) = self.counted;
        self.counted = (
            here,
            line + line_at(&self.text[before..], here - before) - 1,
        );
        self.found.push(Path {
            within: self.within.iter().map(|(name, _)| name.clone()).collect(),
            segments,
            name,
            line: self.counted.1,
        });
    }

    /// The place of the brace that closes the one here.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for at in open..self.tokens.len() {
            match self.word(at) {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        self.tokens.len()
    }
}
