//! Options and operands of a program, by the customs of GNU.

use super::field::Field;

/// What a program was given.
#[derive(Debug, Default)]
pub(super) struct Given<'a> {
    /// Options, without their dashes; a letter each where they are short.
    pub(super) options: Vec<String>,
    /// Options with their values.
    pub(super) values: Vec<(String, Field)>,
    /// What is no option.
    pub(super) operands: &'a [Field],
    /// What is no option and stands before one.
    pub(super) early: Vec<&'a Field>,
}

impl Given<'_> {
    /// Whether there is one of these.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options
            .iter()
            .any(|option| names.contains(&option.as_str()))
            || self
                .values
                .iter()
                .any(|(option, _)| names.contains(&option.as_str()))
    }

    /// The value of one of these.
    pub(super) fn value(&self, names: &[&str]) -> Option<&Field> {
        let found = self
            .values
            .iter()
            .find(|(option, _)| names.contains(&option.as_str()));
        found.map(|(_, value)| value)
    }

    /// All that is no option.
    pub(super) fn all(&self) -> Vec<&Field> {
        self.early.iter().copied().chain(self.operands).collect()
    }
}

/// Options that are followed by a value: short ones by their letters, long ones by their names.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Valued {
    pub(super) short: &'static str,
    pub(super) long: &'static [&'static str],
    /// Letters whose value, if there is one, stands in the same word.
    pub(super) attached: &'static str,
}

impl Valued {
    /// Whether a value follows a long option, whose name may be shortened.
    fn follows(&self, name: &str) -> Option<&'static str> {
        let exact = self.long.iter().find(|known| **known == name);
        let shortened = || self.long.iter().find(|known| known.starts_with(name));
        exact
            .or_else(|| shortened().filter(|_| !name.is_empty()))
            .copied()
    }
}

/// Reads what a program was given, up to its first operand or, where operands may be `mixed` with
/// options, all of it.
pub(super) fn read(fields: &[Field], valued: Valued, mixed: bool) -> Given<'_> {
    let mut given = Given::default();
    let mut at = 0;
    while let Some(field) = fields.get(at) {
        let is_option = field.head.len() > 1 && field.head.starts_with('-');
        if !is_option {
            if !mixed {
                break;
            }
            given.early.push(field);
            at += 1;
            continue;
        }
        at += 1;
        if field.text() == Some("--") {
            break;
        }
        let name = field.head.trim_start_matches('-');
        if field.head.starts_with("--") {
            match name.split_once('=') {
                Some((name, value)) => {
                    let name = valued.follows(name).unwrap_or(name);
                    given.values.push((name.to_owned(), rest(field, value)));
                }
                None => match valued.follows(name) {
                    Some(name) => {
                        let value = fields.get(at).cloned();
                        given
                            .values
                            .extend(value.map(|value| (name.to_owned(), value)));
                        at += 1;
                    }
                    None => given.options.push(name.to_owned()),
                },
            }
            continue;
        }
        for (index, letter) in name.char_indices() {
            let after = name.get(index + letter.len_utf8()..).unwrap_or_default();
            if valued.attached.contains(letter) && !after.is_empty() {
                given.values.push((letter.to_string(), rest(field, after)));
                break;
            }
            if !valued.short.contains(letter) {
                given.options.push(letter.to_string());
                continue;
            }
            if after.is_empty() && field.tail.is_none() {
                given.values.extend(
                    fields
                        .get(at)
                        .map(|value| (letter.to_string(), value.clone())),
                );
                at += 1;
            } else {
                given.values.push((letter.to_string(), rest(field, after)));
            }
            break;
        }
    }
    given.operands = fields.get(at..).unwrap_or_default();
    given
}

/// A value that stands in the same word as its option.
fn rest(field: &Field, head: &str) -> Field {
    Field {
        head: head.to_owned(),
        tail: field.tail.clone(),
        is_pattern: field.is_pattern,
    }
}
