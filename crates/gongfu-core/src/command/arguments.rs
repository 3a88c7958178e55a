//! Options and operands of a program, by the conventions of `getopt`.

use super::field::Field;

/// The arguments of a program.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// Options without dashes, each letter by itself, with their values.
    options: Vec<(String, Option<Field>)>,
    pub(super) operands: Vec<Field>,
}

impl Arguments {
    /// Reads arguments. A letter among `valued` takes a value; with a `+` in front of them, options end
    /// at the first operand.
    pub(super) fn read(mut fields: &[Field], valued: &str) -> Self {
        let mut arguments = Self::default();
        while let [field, rest @ ..] = fields {
            let head = field.head();
            if head.len() < 2 || !head.starts_with('-') {
                if valued.starts_with('+') {
                    break;
                }
                arguments.operands.push(field.clone());
                fields = rest;
                continue;
            }
            fields = rest;
            if head == "--" {
                break;
            }
            if let Some(long) = head.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(Field::known(value))),
                    None => (long, None),
                };
                arguments.options.push((name.to_owned(), value));
            } else if arguments.push_letters(head, valued)
                && field.text().is_some()
                && let [value, rest @ ..] = fields
                && let Some((_, last)) = arguments.options.last_mut()
            {
                *last = Some(value.clone());
                fields = rest;
            }
        }
        arguments.operands.extend_from_slice(fields);
        arguments
    }

    /// Adds short options; answers whether the value of the last one comes next.
    fn push_letters(&mut self, text: &str, valued: &str) -> bool {
        for (index, letter) in text.char_indices().skip(1) {
            let rest = text.get(index + letter.len_utf8()..).unwrap_or_default();
            let takes_value = valued.contains(letter);
            let value = (takes_value && !rest.is_empty()).then(|| Field::known(rest));
            self.options.push((letter.to_string(), value));
            if takes_value {
                return rest.is_empty();
            }
        }
        false
    }

    /// Returns true if one of these options is given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        let mut options = self.options.iter();
        options.any(|(option, _)| names.contains(&option.as_str()))
    }

    /// The value of the first of these options that has one.
    pub(super) fn value(&self, names: &[&str]) -> Option<&Field> {
        let mut options = self.options.iter();
        options
            .find_map(|(option, value)| value.as_ref().filter(|_| names.contains(&option.as_str())))
    }
}
