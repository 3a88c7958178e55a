//! Puts tokens together to a tree of nodes, as the reference's parser and composer do.
//!
//! The order in which tokens are looked at and comments are handed on is part of the behaviour,
//! because the reference fails when two comments meet; so each look at the front token that it
//! takes is taken here as well. Which trees are acceptable is decided in `tree`.

use super::reason::{CrashCause, YamlProblem};
use super::scanner::Scanner;
use super::token::{Fault, Kind, Step, Text, Token};

/// Nesting beyond which nothing is accepted; it bounds our own recursion, and is a little more than
/// what `tree` accepts, so that the exact figure stands in one place.
const DEEPEST: usize = 250;

/// A node of the document.
#[derive(Debug)]
pub(super) struct Node {
    /// Index of the character at which the node begins.
    pub(super) index: usize,
    /// Column at which the node begins.
    pub(super) column: usize,
    pub(super) content: Content,
}

/// What a node holds.
#[derive(Debug)]
pub(super) enum Content {
    Scalar { text: Text, plain: bool },
    Sequence(Vec<Node>),
    Mapping(Vec<(Node, Node)>),
}

/// The root of the document in `text`; `None` when there is no document.
pub(super) fn document(text: &[char]) -> Step<Option<Node>> {
    let mut grammar = Grammar {
        scanner: Scanner::new(text),
    };
    let mut start = grammar.scanner.take()?;
    start.hand_comments_to(grammar.scanner.front()?)?;
    if grammar.front_is(|kind| *kind == Kind::StreamEnd)? {
        return Ok(None);
    }
    let root = grammar.node(false, 0)?;
    if grammar.front_is(|kind| *kind == Kind::DocumentEnd)? {
        grammar.scanner.take()?;
    }
    let front = grammar.scanner.front()?;
    if front.kind == Kind::StreamEnd {
        Ok(Some(root))
    } else {
        Err(Fault::yaml(YamlProblem::SecondDocument, front.start.index))
    }
}

struct Grammar<'text> {
    scanner: Scanner<'text>,
}

impl Grammar<'_> {
    fn front_is(&mut self, wanted: impl Fn(&Kind) -> bool) -> Step<bool> {
        Ok(wanted(&self.scanner.front()?.kind))
    }

    /// A node; `indentless` when a list may stand in the column of its mapping's keys.
    fn node(&mut self, indentless: bool, depth: usize) -> Step<Node> {
        // Three looks, for an alias, an anchor and a tag, which never get here.
        for _ in 0..3 {
            self.scanner.front()?;
        }
        let front = self.scanner.front()?;
        let (index, column) = (front.start.index, front.start.column);
        if depth > DEEPEST {
            return Err(Fault::crash(CrashCause::TooDeep, index));
        }
        if indentless && self.front_is(|kind| *kind == Kind::Entry)? {
            if let Some(comments) = &mut self.scanner.front()?.comments {
                comments.after = false;
            }
            let content = self.indentless_sequence(depth + 1)?;
            return Ok(Node {
                index,
                column,
                content,
            });
        }
        let content = if self.front_is(|kind| matches!(kind, Kind::Scalar { .. }))? {
            match self.scanner.take()?.kind {
                Kind::Scalar { text, plain } => Content::Scalar { text, plain },
                _ => return Err(Fault::yaml(YamlProblem::Structure, index)),
            }
        } else {
            for _ in 0..2 {
                self.scanner.front()?;
            }
            if self.front_is(|kind| *kind == Kind::SequenceStart)? {
                self.sequence(depth + 1)?
            } else if self.front_is(|kind| *kind == Kind::MappingStart)? {
                self.mapping(depth + 1)?
            } else {
                let place = self.scanner.front()?.start.index;
                return Err(Fault::yaml(YamlProblem::Structure, place));
            }
        };
        Ok(Node {
            index,
            column,
            content,
        })
    }

    fn sequence(&mut self, depth: usize) -> Step<Content> {
        self.scanner.take()?;
        let mut items = Vec::new();
        while self.front_is(|kind| *kind == Kind::Entry)? {
            let entry = self.take_and_hand_comments()?;
            let empty = self.front_is(|kind| matches!(kind, Kind::Entry | Kind::BlockEnd))?;
            items.push(if empty {
                nothing(&entry)
            } else {
                self.node(false, depth)?
            });
        }
        self.expect_block_end()?;
        self.scanner.take()?;
        Ok(Content::Sequence(items))
    }

    fn indentless_sequence(&mut self, depth: usize) -> Step<Content> {
        let mut items = Vec::new();
        while self.front_is(|kind| *kind == Kind::Entry)? {
            let entry = self.take_and_hand_comments()?;
            let empty = self.front_is(|kind| {
                matches!(kind, Kind::Entry | Kind::Key | Kind::Value | Kind::BlockEnd)
            })?;
            items.push(if empty {
                nothing(&entry)
            } else {
                self.node(false, depth)?
            });
        }
        // The list takes over the comments before the token that ends it.
        if let Some(comments) = &mut self.scanner.front()?.comments {
            comments.before = false;
        }
        Ok(Content::Sequence(items))
    }

    fn mapping(&mut self, depth: usize) -> Step<Content> {
        self.scanner.take()?;
        let mut entries = Vec::new();
        loop {
            let key = if self.front_is(|kind| *kind == Kind::Key)? {
                let indicator = self.take_and_hand_comments()?;
                if self.at_mapping_indicator()? {
                    nothing(&indicator)
                } else {
                    self.node(true, depth)?
                }
            } else {
                let front = self.scanner.front()?;
                if front.kind != Kind::Value {
                    break;
                }
                nothing(front)
            };
            let value = self.mapping_value(depth)?;
            entries.push((key, value));
        }
        self.expect_block_end()?;
        self.take_and_hand_comments()?;
        Ok(Content::Mapping(entries))
    }

    fn mapping_value(&mut self, depth: usize) -> Step<Node> {
        if !self.front_is(|kind| *kind == Kind::Value)? {
            return Ok(nothing(self.scanner.front()?));
        }
        let mut indicator = self.scanner.take()?;
        if self.front_is(|kind| *kind == Kind::Value)?
            || !self.front_is(|kind| *kind == Kind::Key)?
        {
            indicator.hand_comments_to(self.scanner.front()?)?;
        }
        if !self.at_mapping_indicator()? {
            return self.node(true, depth);
        }
        if indicator.comments.is_none()
            && let Some(comments) = &mut self.scanner.front()?.comments
        {
            comments.after = false;
        }
        Ok(nothing(&indicator))
    }

    fn at_mapping_indicator(&mut self) -> Step<bool> {
        self.front_is(|kind| matches!(kind, Kind::Key | Kind::Value | Kind::BlockEnd))
    }

    fn take_and_hand_comments(&mut self) -> Step<Token> {
        let mut token = self.scanner.take()?;
        token.hand_comments_to(self.scanner.front()?)?;
        Ok(token)
    }

    fn expect_block_end(&mut self) -> Step<()> {
        let front = self.scanner.front()?;
        if front.kind == Kind::BlockEnd {
            Ok(())
        } else {
            Err(Fault::yaml(YamlProblem::Structure, front.start.index))
        }
    }
}

/// The empty scalar that stands where nothing is written, at `token`.
const fn nothing(token: &Token) -> Node {
    Node {
        index: token.start.index,
        column: token.start.column,
        content: Content::Scalar {
            text: Text::new(),
            plain: true,
        },
    }
}
