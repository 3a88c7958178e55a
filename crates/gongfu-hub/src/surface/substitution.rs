//! Arguments filled into the text of a skill, as slash commands do it.
//!
//! `$ARGUMENTS` is everything as it was given, `$ARGUMENTS[0]` and `$0` are the first argument, and
//! `$name` is one that the frontmatter declares. What isn't given stays as it stands, so that "$5 a
//! month" does; a backslash before the dollar keeps any of them. The text is gone through once: what
//! is filled in is never looked at again, and nothing is ever run.

use crate::problem::Problem;

/// The most bytes of a text with its arguments filled in.
pub(crate) const LIMIT: usize = 16 * 1024 * 1024;

/// The arguments of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// Everything, as it was written.
    whole: String,
    /// One by one; `None` for one that was left out before another one.
    single: Vec<Option<String>>,
}

impl Arguments {
    /// Arguments in one line, as somebody types them behind a command.
    pub(crate) fn typed(whole: &str) -> Self {
        Self {
            whole: whole.to_owned(),
            single: split(whole).into_iter().map(Some).collect(),
        }
    }

    /// Arguments one by one.
    pub(crate) fn listed(mut single: Vec<Option<String>>) -> Self {
        while single.last().is_some_and(Option::is_none) {
            single.pop();
        }
        let words: Vec<String> = single
            .iter()
            .map(|word| quoted(word.as_deref().unwrap_or_default()))
            .collect();
        Self {
            whole: words.join(" "),
            single,
        }
    }

    fn at(&self, index: usize) -> Option<&str> {
        self.single.get(index)?.as_deref()
    }
}

/// The text with the arguments in it; behind it, when it has no place for them.
///
/// # Errors
/// It becomes too long.
pub(crate) fn fill(text: &str, names: &[String], arguments: &Arguments) -> Result<String, Problem> {
    let mut filled = String::with_capacity(text.len() + arguments.whole.len());
    let mut rest = text;
    let mut placed = false;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        let (place, length) = place(from, names, arguments);
        let kept = before.strip_suffix('\\').filter(|_| place != Place::None);
        match (kept, place) {
            (Some(before), _) => {
                filled.push_str(before);
                filled.push_str(from.get(..length).unwrap_or_default());
            }
            (None, Place::Given(value)) => {
                filled.push_str(before);
                filled.push_str(value);
                placed = true;
            }
            (None, Place::Missing) => {
                filled.push_str(before);
                filled.push_str(from.get(..length).unwrap_or_default());
                placed = true;
            }
            (None, Place::None) => {
                filled.push_str(before);
                filled.push('$');
            }
        }
        if filled.len() > LIMIT {
            break;
        }
        rest = from.get(length..).unwrap_or_default();
    }
    filled.push_str(rest);
    if !placed && !arguments.whole.trim().is_empty() {
        filled.truncate(filled.trim_end().len());
        filled.push_str("\n\nARGUMENTS: ");
        filled.push_str(&arguments.whole);
    }
    if filled.len() > LIMIT {
        return Err(Problem::wrong_value(
            "arguments",
            format!("they make the text longer than {LIMIT} bytes"),
            "pass shorter ones",
        ));
    }
    Ok(filled)
}

/// The name after a dollar.
#[derive(Debug, PartialEq, Eq)]
enum Place<'a> {
    /// A place for an argument that was given.
    Given(&'a str),
    /// A place for one that wasn't.
    Missing,
    /// Just a dollar.
    None,
}

impl<'a> Place<'a> {
    fn of(value: Option<&'a str>) -> Self {
        value.map_or(Self::Missing, Self::Given)
    }
}

/// Reads the place that a text begins with, and how many bytes it takes.
fn place<'a>(from: &str, names: &[String], arguments: &'a Arguments) -> (Place<'a>, usize) {
    const WHOLE: &str = "$ARGUMENTS";
    if let Some(rest) = from.strip_prefix(WHOLE) {
        let index = rest.strip_prefix('[').and_then(|rest| {
            let (index, _) = rest.split_once(']')?;
            Some((number(index)?, WHOLE.len() + index.len() + 2))
        });
        if let Some((index, length)) = index {
            return (Place::of(arguments.at(index)), length);
        }
        if ends_word(rest) {
            return (Place::Given(&arguments.whole), WHOLE.len());
        }
    }
    let rest = from.get(1..).unwrap_or_default();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if let Some(index) = rest.get(..digits).and_then(number)
        && ends_word(rest.get(digits..).unwrap_or_default())
    {
        return (Place::of(arguments.at(index)), digits + 1);
    }
    let declared = names.iter().enumerate().filter(|(_, name)| {
        let behind = rest.strip_prefix(name.as_str());
        behind.is_some_and(ends_word)
    });
    // `$issue-number` is not `$issue` when both are declared.
    match declared.max_by_key(|(_, name)| name.len()) {
        Some((index, name)) => (Place::of(arguments.at(index)), name.len() + 1),
        None => (Place::None, 1),
    }
}

fn number(digits: &str) -> Option<usize> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

fn ends_word(rest: &str) -> bool {
    let next = rest.chars().next();
    next.is_none_or(|next| !next.is_alphanumeric() && next != '_')
}

/// Words as a shell tells them apart; by blanks alone, where a quote is left open.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            (None | Some('"'), '\\') => {
                let next = letters.next();
                let word = word.get_or_insert_default();
                // Within double quotes it is a backslash unless it protects something.
                if quote.is_some() && !matches!(next, Some('"' | '\\' | '$' | '`')) {
                    word.push('\\');
                }
                word.extend(next);
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return line.split_whitespace().map(str::to_owned).collect();
    }
    words.extend(word);
    words
}

/// A word as it is typed so that it stays one.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./:@%+=,#".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let mut quoted = String::from('"');
    for letter in word.chars() {
        if matches!(letter, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Arguments, fill, split};

    fn filled(text: &str, names: &[&str], line: &str) -> String {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        fill(text, &names, &Arguments::typed(line)).unwrap()
    }

    #[test]
    fn arguments_stand_where_the_text_wants_them() {
        for (text, names, line, wanted) in [
            (
                "Fix $ARGUMENTS now",
                &[][..],
                "12 \"a b\"",
                "Fix 12 \"a b\" now",
            ),
            ("$0 to $1, $ARGUMENTS[1]!", &[], "x 'y z'", "x to y z, y z!"),
            (
                "$issue on $branch.",
                &["issue", "branch"],
                "12 main",
                "12 on main.",
            ),
            ("$issue-id", &["issue", "issue-id"], "a b", "b"),
            ("$ARGUMENTS", &[], "", ""),
            ("It costs $5 or $5.00", &[], "x", "It costs $5 or $5.00"),
            ("$ARGUMENTS[7] $7 $0", &[], "a", "$ARGUMENTS[7] $7 a"),
            (
                r"\$0 \$ARGUMENTS \$name $0",
                &["name"],
                "a",
                "$0 $ARGUMENTS $name a",
            ),
            (r"\$HOME $HOME", &[], "", r"\$HOME $HOME"),
            ("$0x $ARGUMENTSX $_", &[], "", "$0x $ARGUMENTSX $_"),
            ("$ARGUMENTS[x] $ARGUMENTS[", &[], "a", "a[x] a["),
            ("$$0$", &[], "a", "$a$"),
            ("!`rm -rf $0`", &[], "x", "!`rm -rf x`"),
            ("Do it.\n", &[], "x y", "Do it.\n\nARGUMENTS: x y"),
            ("Do it.\n", &[], "  ", "Do it.\n"),
            (
                "$99999999999999999999999",
                &[],
                "",
                "$99999999999999999999999",
            ),
        ] {
            assert_eq!(filled(text, names, line), wanted, "{text:?} {line:?}");
        }
    }

    #[test]
    fn filled_in_text_is_not_expanded_again() {
        assert_eq!(filled("$0 $1", &[], "$1 x"), "$1 x");
        assert_eq!(filled("$ARGUMENTS", &[], "$0 $ARGUMENTS"), "$0 $ARGUMENTS");
    }

    #[test]
    fn listed_arguments_can_be_typed() {
        let given = |words: &[Option<&str>]| {
            Arguments::listed(words.iter().map(|word| word.map(str::to_owned)).collect())
        };
        let arguments = given(&[Some("a b"), None, Some("c"), None]);
        let text = fill("$ARGUMENTS|$0|$1|$2|$3", &[], &arguments).unwrap();
        assert_eq!(text, "\"a b\" \"\" c|a b|$1|c|$3");
        assert_eq!(fill("x", &[], &given(&[None])).unwrap(), "x");
    }

    #[test]
    fn a_text_that_becomes_huge_is_refused() {
        let text = "$ARGUMENTS".repeat(10_000);
        let line = "x".repeat(10_000);
        assert!(fill(&text, &[], &Arguments::typed(&line)).is_err());
        let line = "x".repeat(100);
        assert_eq!(
            fill(&text, &[], &Arguments::typed(&line)).unwrap().len(),
            1_000_000
        );
    }

    proptest! {
        #[test]
        fn words_survive_being_typed(words in prop::collection::vec("[^\\p{Cc}]{0,8}", 0..5)) {
            let listed = Arguments::listed(words.iter().cloned().map(Some).collect());
            prop_assert_eq!(split(&listed.whole), words);
        }

        #[test]
        fn any_text_is_filled(text in "[\\\\$A-Z0-9\\[\\] a-z]{0,40}", line in "[\"'\\\\ a-z$0]{0,12}") {
            let text = fill(&text, &["a".to_owned()], &Arguments::typed(&line));
            prop_assert!(text.is_ok());
        }
    }
}
