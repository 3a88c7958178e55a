//! What is known of a variable and of a function.

use std::rc::Rc;

use crate::shell::Command;

/// The longest value that is followed, in bytes.
pub(super) const LONGEST: usize = 64 * 1024;
/// How many values of a variable are followed.
pub(super) const VALUES: usize = 8;
/// How many meanings of a function are followed.
const BODIES: usize = 4;

/// What is known of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    /// Its value.
    Value(String),
    /// One of these values.
    OneOf(Vec<String>),
    /// Nothing.
    Nothing,
}

impl Known {
    /// The values that it may have, where they are known.
    pub(super) fn values(&self) -> Option<&[String]> {
        match self {
            Self::Value(text) => Some(std::slice::from_ref(text)),
            Self::OneOf(texts) => Some(texts),
            Self::Nothing => None,
        }
    }

    /// What is known where it may be either.
    pub(super) fn or(self, other: &Self) -> Self {
        if self == *other {
            return self;
        }
        let (Some(one), Some(two)) = (self.values(), other.values()) else {
            return Self::Nothing;
        };
        let mut all: Vec<String> = one.to_vec();
        all.extend(two.iter().filter(|text| !one.contains(text)).cloned());
        let size: usize = all.iter().map(String::len).sum();
        if all.len() > VALUES || size > LONGEST {
            return Self::Nothing;
        }
        all.sort_unstable();
        Self::OneOf(all)
    }
}

/// What a name of a function means.
#[derive(Debug, Clone, Default)]
pub(super) struct Function {
    /// What it may do.
    pub(super) bodies: Vec<Rc<Command>>,
    /// It may mean no function.
    pub(super) may_be_none: bool,
    /// There are more meanings than are followed.
    pub(super) has_more: bool,
    /// Shells that are run have it as well.
    pub(super) is_exported: bool,
}

impl Function {
    /// Whether it means the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.may_be_none == other.may_be_none
            && self.has_more == other.has_more
            && self.is_exported == other.is_exported
            && self.bodies.len() == other.bodies.len()
            && self
                .bodies
                .iter()
                .zip(&other.bodies)
                .all(|(one, two)| Rc::ptr_eq(one, two))
    }

    /// Has it mean what another one means as well.
    pub(super) fn merge(&mut self, other: &Self) {
        for body in &other.bodies {
            if self.bodies.iter().any(|known| Rc::ptr_eq(known, body)) {
                continue;
            }
            if self.bodies.len() >= BODIES {
                self.has_more = true;
                break;
            }
            self.bodies.push(Rc::clone(body));
        }
        self.may_be_none |= other.may_be_none;
        self.has_more |= other.has_more;
        self.is_exported |= other.is_exported;
    }
}

/// What a variable does with what is assigned to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attribute {
    /// It changes it, or stands for another variable.
    Changes,
    /// It may refuse it.
    Refuses,
}

/// Whether something in a text is run once it is calculated with.
pub(super) fn is_evaluated(text: &str) -> bool {
    text.contains('[') && (text.contains("$(") || text.contains('`') || text.contains("@P}"))
}
