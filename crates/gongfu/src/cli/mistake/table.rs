//! Words of other programs, and their names here: the rules in words.txt and options.txt, of which the first that fits
//! counts.

use gongfu_core::near;

use super::word::Form;

const WORDS: &str = include_str!("words.txt");
const OPTIONS: &str = include_str!("options.txt");
/// The line between rules for words, which count before misspellings, and rules for forms.
const END: &str = "---";

/// The rules for words, by when they count.
#[derive(Clone, Copy)]
pub(super) enum Part {
    First,
    Last,
}

/// The tip for a word below a command, with the word after it.
pub(super) fn for_word(
    part: Part,
    path: &str,
    word: &str,
    next: Option<&str>,
) -> Option<&'static str> {
    let folded = near::folded(word);
    let (form, next) = (Form::of(Some(word)), Form::of(next));
    let is = |forms: &str, form: Form| forms.split(' ').any(|name| Form::named(name) == Some(form));
    let mut rules = rows(lines(part));
    rules.find_map(|row| {
        let [at, words, forms, tip] = row;
        let fits = match words
            .strip_prefix('<')
            .and_then(|all| all.strip_suffix('>'))
        {
            Some(forms) => is(forms, form),
            None => words == "*" || listed(words).any(|known| known == folded),
        };
        (stands(at, path) && fits && (forms == "*" || is(forms, next))).then_some(tip)
    })
}

/// The tip for an option below a command, or below one of its own.
pub(super) fn for_option(path: &str, name: &str) -> Option<&'static str> {
    rows(OPTIONS.lines()).find_map(|[at, names, tip]| {
        let is_below = at.split(", ").any(|at| {
            at == "gongfu" || below(path) == at || below(path).starts_with(&format!("{at} "))
        });
        (is_below && names.split(' ').any(|known| known == name)).then_some(tip)
    })
}

fn lines(part: Part) -> impl Iterator<Item = &'static str> {
    let mut parts = WORDS.split(END);
    let first = parts.next().unwrap_or_default();
    match part {
        Part::First => first,
        Part::Last => parts.next().unwrap_or_default(),
    }
    .lines()
}

/// The lines with this number of columns: the others are comments and lists.
fn rows<const COLUMNS: usize>(
    lines: impl Iterator<Item = &'static str>,
) -> impl Iterator<Item = [&'static str; COLUMNS]> {
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let columns: Vec<&str> = line.splitn(COLUMNS, " | ").collect();
        columns.try_into().ok()
    })
}

/// Words with blanks between them, or the name of a list.
fn listed(words: &'static str) -> impl Iterator<Item = &'static str> {
    let list = words.starts_with('@').then(|| {
        let mut lines = WORDS.lines();
        lines.find_map(|line| line.strip_prefix(words)?.strip_prefix(" = "))
    });
    list.map_or(words, Option::unwrap_or_default).split(' ')
}

fn stands(at: &str, path: &str) -> bool {
    at.split(", ").any(|at| at == below(path))
}

/// A path without the program, unless it is the program itself.
fn below(path: &str) -> &str {
    path.strip_prefix("gongfu ").unwrap_or(path)
}

#[cfg(test)]
pub(super) mod tests {
    use super::{END, Form, OPTIONS, Part, WORDS, lines, listed, rows};

    /// Every command of a rule, and its tip.
    pub(in super::super) fn all() -> Vec<(&'static str, &'static str)> {
        let words = [Part::First, Part::Last].into_iter().flat_map(lines);
        let words = rows(words).flat_map(|[at, _, _, tip]| at.split(", ").map(move |at| (at, tip)));
        let options = rows(OPTIONS.lines());
        let options = options.flat_map(|[at, _, tip]| at.split(", ").map(move |at| (at, tip)));
        words.chain(options).collect()
    }

    #[test]
    fn every_line_is_a_rule_a_list_or_a_comment() {
        let is_other = |line: &&str| line.starts_with(['#', '@']) || *line == END;
        let words = WORDS.lines().filter(|line| !is_other(line));
        let number = words.clone().count();
        let rules: Vec<[&str; 4]> = rows(words).collect();
        assert_eq!(rules.len(), number);
        for [_, words, next, _] in &rules {
            let forms = words
                .strip_prefix('<')
                .and_then(|all| all.strip_suffix('>'));
            let forms = [forms.unwrap_or("*"), next];
            for form in forms.iter().flat_map(|forms| forms.split(' ')) {
                assert!(form == "*" || Form::named(form).is_some(), "{form}");
            }
            assert!(listed(words).all(|word| !word.is_empty()), "{words}");
        }
        let options = OPTIONS.lines().filter(|line| !is_other(line));
        let number = options.clone().count();
        let rules: Vec<[&str; 3]> = rows(options).collect();
        assert_eq!(rules.len(), number);
        assert!(rules.iter().all(|[_, names, _]| {
            names
                .split(' ')
                .all(|name| name.starts_with('-') || name == "*")
        }));
    }
}
