//! Puts tokens together to a tree of nodes, as the reference's parser and composer do.
//!
//! The order in which tokens are looked at and comments are handed on is part of the behaviour,
//! because the reference fails when two comments meet; so each look at the front token that it
//! takes is taken here as well. Which trees are acceptable is decided in `tree`.

use crate::reason::{CrashCause, YamlProblem};
use crate::scanner::Scanner;
use crate::token::{Fault, Kind, Step, Text, Token};

/// Nesting beyond which nothing is accepted. It bounds our own recursion and is a little more than
/// `tree` accepts, so that the exact figure stands in one place.
const DEPTH_LIMIT: usize = 250;

/// A node of the document.
#[derive(Debug)]
pub(crate) struct Node {
    /// Index of the character at which the node begins.
    pub(crate) index: usize,
    /// Column at which the node begins.
    pub(crate) column: usize,
    pub(crate) content: Content,
}

/// The content of a node.
#[derive(Debug)]
pub(crate) enum Content {
    Scalar { text: Text, plain: bool },
    Sequence(Vec<Node>),
    Mapping(Vec<(Node, Node)>),
}

/// The root of the document in `text`; `None` when there is no document.
pub(crate) fn document(text: &[char]) -> Step<Option<Node>> {
    let mut grammar = Grammar {
        scanner: Scanner::new(text),
    };
    let mut start = grammar.scanner.take()?;
    start.hand_comments_to(grammar.scanner.front()?)?;
    if grammar.front_is(|kind| *kind == Kind::StreamEnd)? {
        return Ok(None);
    }
    let root = grammar.root()?;
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

/// A collection that is not yet at its end. The open ones stand on a stack of our own, because a
/// thread's may be small.
struct Open {
    index: usize,
    column: usize,
    content: OpenContent,
}

enum OpenContent {
    Sequence {
        items: Vec<Node>,
        /// It stands in the column of its mapping's keys, without a token for its end.
        indentless: bool,
    },
    Mapping {
        entries: Vec<(Node, Node)>,
        /// The key whose value is still to come.
        key: Option<Node>,
    },
}

/// The beginning of a node.
enum Start {
    Scalar(Node),
    Collection(Open),
}

/// The next need of an open collection.
enum Next {
    Child { indentless: bool },
    End,
}

impl Open {
    fn add(&mut self, child: Node) {
        match &mut self.content {
            OpenContent::Sequence { items, .. } => items.push(child),
            OpenContent::Mapping { entries, key } => match key.take() {
                Some(key) => entries.push((key, child)),
                None => *key = Some(child),
            },
        }
    }

    fn close(self) -> Node {
        Node {
            index: self.index,
            column: self.column,
            content: match self.content {
                OpenContent::Sequence { items, .. } => Content::Sequence(items),
                OpenContent::Mapping { entries, .. } => Content::Mapping(entries),
            },
        }
    }
}

impl Grammar<'_> {
    fn front_is(&mut self, wanted: impl Fn(&Kind) -> bool) -> Step<bool> {
        Ok(wanted(&self.scanner.front()?.kind))
    }

    fn root(&mut self) -> Step<Node> {
        let mut open: Vec<Open> = Vec::new();
        let mut indentless = false;
        loop {
            let mut complete = match self.start(indentless)? {
                Start::Scalar(node) => Some(node),
                Start::Collection(collection) => {
                    open.push(collection);
                    None
                }
            };
            if open.len() > DEPTH_LIMIT {
                let index = self.scanner.front()?.start.index;
                return Err(Fault::crash(CrashCause::TooDeep, index));
            }
            indentless = loop {
                let Some(innermost) = open.last_mut() else {
                    let place = self.scanner.front()?.start.index;
                    return complete.ok_or_else(|| Fault::yaml(YamlProblem::Structure, place));
                };
                if let Some(node) = complete.take() {
                    innermost.add(node);
                }
                match self.next(innermost)? {
                    Next::Child { indentless } => break indentless,
                    Next::End => complete = open.pop().map(Open::close),
                }
            };
        }
    }

    /// Begins a node; `indentless` when a list may stand in the column of its mapping's keys.
    fn start(&mut self, indentless: bool) -> Step<Start> {
        // Three looks, for an alias, an anchor and a tag, which never get here.
        for _ in 0..3 {
            self.scanner.front()?;
        }
        let front = self.scanner.front()?;
        let (index, column) = (front.start.index, front.start.column);
        let collection = |content| {
            Start::Collection(Open {
                index,
                column,
                content,
            })
        };
        let sequence = |indentless| {
            collection(OpenContent::Sequence {
                items: Vec::new(),
                indentless,
            })
        };
        if indentless && self.front_is(|kind| *kind == Kind::Entry)? {
            if let Some(comments) = &mut self.scanner.front()?.comments {
                comments.after = false;
            }
            return Ok(sequence(true));
        }
        if self.front_is(|kind| matches!(kind, Kind::Scalar { .. }))? {
            return match self.scanner.take()?.kind {
                Kind::Scalar { text, plain } => Ok(Start::Scalar(Node {
                    index,
                    column,
                    content: Content::Scalar { text, plain },
                })),
                _ => Err(Fault::yaml(YamlProblem::Structure, index)),
            };
        }
        // Two looks for the beginnings of collections in flow style.
        for _ in 0..2 {
            self.scanner.front()?;
        }
        if self.front_is(|kind| *kind == Kind::SequenceStart)? {
            self.scanner.take()?;
            Ok(sequence(false))
        } else if self.front_is(|kind| *kind == Kind::MappingStart)? {
            self.scanner.take()?;
            Ok(collection(OpenContent::Mapping {
                entries: Vec::new(),
                key: None,
            }))
        } else {
            let place = self.scanner.front()?.start.index;
            Err(Fault::yaml(YamlProblem::Structure, place))
        }
    }

    /// Reads on in an open collection, to its next child that is not empty or to its end.
    fn next(&mut self, open: &mut Open) -> Step<Next> {
        match &mut open.content {
            OpenContent::Sequence { items, indentless } => self.next_item(items, *indentless),
            OpenContent::Mapping { entries, key } => self.next_entry(entries, key),
        }
    }

    fn next_item(&mut self, items: &mut Vec<Node>, indentless: bool) -> Step<Next> {
        while self.front_is(|kind| *kind == Kind::Entry)? {
            let entry = self.take_and_hand_comments()?;
            let empty = self.front_is(|kind| match kind {
                Kind::Entry | Kind::BlockEnd => true,
                Kind::Key | Kind::Value => indentless,
                _ => false,
            })?;
            if !empty {
                return Ok(Next::Child { indentless: false });
            }
            items.push(empty_scalar(&entry));
        }
        if !indentless {
            self.expect_block_end()?;
            self.scanner.take()?;
        } else if let Some(comments) = &mut self.scanner.front()?.comments {
            // The list takes over the comments before the token that ends it.
            comments.before = false;
        }
        Ok(Next::End)
    }

    fn next_entry(
        &mut self,
        entries: &mut Vec<(Node, Node)>,
        pending: &mut Option<Node>,
    ) -> Step<Next> {
        loop {
            if let Some(key) = pending.take() {
                let Some(value) = self.empty_value()? else {
                    *pending = Some(key);
                    return Ok(Next::Child { indentless: true });
                };
                entries.push((key, value));
            }
            if self.front_is(|kind| *kind == Kind::Key)? {
                let indicator = self.take_and_hand_comments()?;
                if !self.at_mapping_indicator()? {
                    return Ok(Next::Child { indentless: true });
                }
                *pending = Some(empty_scalar(&indicator));
            } else {
                let front = self.scanner.front()?;
                if front.kind != Kind::Value {
                    break;
                }
                *pending = Some(empty_scalar(front));
            }
        }
        self.expect_block_end()?;
        self.take_and_hand_comments()?;
        Ok(Next::End)
    }

    /// Takes the `:` of a value. Returns the value if nothing is written there.
    fn empty_value(&mut self) -> Step<Option<Node>> {
        if !self.front_is(|kind| *kind == Kind::Value)? {
            return Ok(Some(empty_scalar(self.scanner.front()?)));
        }
        let mut indicator = self.scanner.take()?;
        if self.front_is(|kind| *kind == Kind::Value)?
            || !self.front_is(|kind| *kind == Kind::Key)?
        {
            indicator.hand_comments_to(self.scanner.front()?)?;
        }
        if !self.at_mapping_indicator()? {
            return Ok(None);
        }
        if indicator.comments.is_none()
            && let Some(comments) = &mut self.scanner.front()?.comments
        {
            comments.after = false;
        }
        Ok(Some(empty_scalar(&indicator)))
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

/// The empty scalar for a value that is left out at `token`.
const fn empty_scalar(token: &Token) -> Node {
    Node {
        index: token.start.index,
        column: token.start.column,
        content: Content::Scalar {
            text: Text::new(),
            plain: true,
        },
    }
}
