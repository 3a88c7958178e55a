//! The fields that a skill's document declares, as other installers read them. Knows one document alone.

use gongfu_core::skill::{Diagnostic, Document, Finding};

/// The text of a field in one line, without what a terminal obeys; `None` where it is no text, or empty.
///
/// As `npx skills` makes it, since the names of skills are keys of its locks.
pub(super) fn text(document: &Document, field: &str) -> Option<String> {
    let text = document.frontmatter.get(field)?.as_str()?;
    let text = without_escapes(text);
    let is_dropped = |character: &char| character.is_control() && !matches!(character, '\n' | '\t');
    let text: String = text
        .chars()
        .filter(|character| !is_dropped(character))
        .collect();
    let lines: Vec<&str> = text.split('\n').collect();
    let mut line = String::new();
    for (number, part) in lines.iter().enumerate() {
        // Empty lines between two others are one space together.
        if number > 0 && (!part.is_empty() || number + 1 == lines.len()) {
            line.push(' ');
        }
        line.push_str(part);
    }
    let line = line.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// Returns true if a strict reader of frontmatter takes the document.
pub(super) fn is_exact(document: &Document, diagnostics: &[Diagnostic]) -> bool {
    let is_fault = |found: &Diagnostic| {
        matches!(
            found.finding,
            Finding::EncodingUtf16
                | Finding::FrontmatterMissing
                | Finding::FrontmatterNotFirst
                | Finding::FrontmatterUnopened
                | Finding::FrontmatterUnclosed
                | Finding::FrontmatterTooLarge { .. }
                | Finding::YamlUnquoted { .. }
                | Finding::YamlInvalid { .. }
                | Finding::YamlNotAMapping
                | Finding::YamlTooDeep { .. }
                | Finding::YamlTooManyNodes { .. }
                | Finding::YamlDuplicateKey { .. }
        )
    };
    // Others read no mark with spaces after it.
    let mut lines = document.source.text.split('\n');
    let first = lines.next().unwrap_or_default();
    first.strip_suffix('\r').unwrap_or(first) == "---"
        && lines.any(|line| line.starts_with("---"))
        && !diagnostics.iter().any(is_fault)
}

/// A text without the sequences that a terminal obeys: their marks and what belongs to them.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after_sequence(after);
    }
    plain.push_str(rest);
    plain
}

/// The text after a sequence whose mark was read.
fn after_sequence(text: &str) -> &str {
    let mut characters = text.chars();
    let after = |ends: &[&str]| {
        let ends = ends.iter();
        let found = ends.filter_map(|end| text.find(end).map(|at| at + end.len()));
        found.min().and_then(|end| text.get(end..))
    };
    let rest = match characters.next() {
        Some(']') => after(&["\u{7}", "\u{1b}\\"]),
        Some('P' | '^' | '_') => after(&["\u{1b}\\"]),
        Some('[') => {
            let parameters = characters.as_str();
            let intermediate = parameters.trim_start_matches(|one| matches!(one, '0'..='?'));
            let last = intermediate.trim_start_matches(|one| matches!(one, ' '..='/'));
            last.strip_prefix(|one| matches!(one, '@'..='~'))
        }
        _ => None,
    };
    // One that doesn't end is its mark and a character.
    rest.unwrap_or_else(|| {
        text.strip_prefix(|one| matches!(one, ' '..='~'))
            .unwrap_or(text)
    })
}

#[cfg(test)]
mod tests;
