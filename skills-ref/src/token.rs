//! The tokens of a frontmatter, and the comments that cling to them.
//!
//! Comments carry no meaning for us, but the reference moves them from token to token and fails
//! when two of them meet: so each token remembers on which sides a comment is attached. Only the
//! presence of a comment is kept, never its text.

use crate::reason::{CrashCause, Reason, YamlProblem};

/// Python text: code points, which may include lone surrogates that a `String` cannot hold.
pub(crate) type Text = Vec<u32>;

/// A reason, and the index of the character where it can be seen.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) reason: Reason,
    pub(crate) index: usize,
}

/// The result of every step that may meet a refusal.
pub(crate) type Step<T> = Result<T, Fault>;

impl Fault {
    pub(crate) const fn yaml(problem: YamlProblem, index: usize) -> Self {
        Self {
            reason: Reason::Yaml { problem },
            index,
        }
    }

    pub(crate) const fn crash(cause: CrashCause, index: usize) -> Self {
        Self {
            reason: Reason::Crash { cause },
            index,
        }
    }
}

/// A place in the frontmatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) index: usize,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// The kind of a token. Flow style, tags, anchors, aliases and directives never become tokens: they
/// are refused as soon as they are seen, since no document that has one is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    StreamStart,
    StreamEnd,
    DocumentEnd,
    SequenceStart,
    MappingStart,
    BlockEnd,
    Entry,
    Key,
    Value,
    Scalar { text: Text, plain: bool },
    Comment,
}

/// The sides of a token on which a comment is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Comments {
    pub(crate) after: bool,
    pub(crate) before: bool,
}

/// One token with its place and its comments.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: Mark,
    pub(crate) end_line: usize,
    /// `None` and "no comment on either side" are different: only the first accepts a comment
    /// that moves in as a whole, and the difference decides about failures.
    pub(crate) comments: Option<Comments>,
}

impl Token {
    pub(crate) const fn new(kind: Kind, start: Mark, end_line: usize) -> Self {
        Self {
            kind,
            start,
            end_line,
            comments: None,
        }
    }

    /// Attaches a comment that follows the token.
    pub(crate) fn comment_after(&mut self) {
        let before = self.comments.is_some_and(|comments| comments.before);
        self.comments = Some(Comments {
            after: true,
            before,
        });
    }

    /// Attaches comments that precede the token; the reference fails when there are some already.
    pub(crate) fn comment_before(&mut self) -> Step<()> {
        let after = match self.comments {
            Some(Comments { before: true, .. }) => {
                return Err(Fault::crash(CrashCause::CommentOverlap, self.start.index));
            }
            Some(Comments { after, .. }) => after,
            None => false,
        };
        self.comments = Some(Comments {
            after,
            before: true,
        });
        Ok(())
    }

    /// Hands this token's comments on to `target`, the token that follows it.
    pub(crate) fn hand_comments_to(&mut self, target: &mut Self) -> Step<()> {
        let Some(mine) = self.comments else {
            return Ok(());
        };
        if target.kind == Kind::StreamEnd {
            return Ok(());
        }
        self.comments = None;
        target.comments = Some(match target.comments {
            None => mine,
            Some(theirs) => {
                if (mine.after && theirs.after) || (mine.before && theirs.before) {
                    return Err(Fault::crash(CrashCause::CommentOverlap, target.start.index));
                }
                Comments {
                    after: mine.after || theirs.after,
                    before: mine.before || theirs.before,
                }
            }
        });
        Ok(())
    }
}
