//! The two lines of dashes around a frontmatter; where one is missing, what was meant.

use std::ops::Range;

use super::{MAX_FRONTMATTER, repair};
use crate::skill::diagnostic::Diagnostic;
use crate::skill::finding::Finding;
use crate::skill::source_text::SourceText;
use crate::skill::yaml::{self, Kind, Node};

/// The most lines of a frontmatter that nothing opens.
const MAX_UNOPENED: usize = 100;
/// The fields that tell a frontmatter from prose.
const KEYS: [&str; 6] = [
    "name:",
    "description:",
    "license:",
    "compatibility:",
    "metadata:",
    "allowed-tools:",
];

/// The places of the frontmatter and the body.
pub(super) struct Fences {
    /// The bytes between the fences.
    pub(super) yaml: Range<usize>,
    /// Offset of the body.
    pub(super) body: usize,
    /// True if a fence is missing, so that the end is a guess.
    pub(super) is_guess: bool,
}

impl Fences {
    /// Finds the frontmatter and the body; `None` when there is no frontmatter.
    pub(super) fn of(source: &SourceText, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let fences = find(source, diagnostics)?;
        Some(without_prose(source, fences, diagnostics))
    }
}

/// Finds the two lines of dashes; a fence is a line of three or more `-` and nothing else.
fn find(source: &SourceText, diagnostics: &mut Vec<Diagnostic>) -> Option<Fences> {
    let text = source.text.as_str();
    let blank = text.len() - text.trim_start().len();
    let count = source.line_count();
    let first = source.position(blank).line;
    let open = source.line_start(first);
    if !is_fence(line(source, first)) {
        if let Some(fences) = unopened(source, first, diagnostics) {
            return Some(fences);
        }
        let end = source.line_start(first + 1);
        diagnostics.push(source.found(Finding::FrontmatterMissing, open.min(text.len()), end));
        return None;
    }
    if open > 0 {
        let found = source.found(Finding::FrontmatterNotFirst, 0, open);
        diagnostics.push(with_edit(source, found, 0..open, ""));
    }
    let start = source.line_start(first + 1);
    let closing = (first + 1..=count)
        .find(|&number| is_fence(line(source, number)) || line(source, number).trim_end() == "...");
    let indented = || (first + 1..=count).find(|&number| line(source, number).trim() == "---");
    if let Some(number) = closing.or_else(indented) {
        return Some(Fences {
            yaml: start..source.line_start(number),
            body: source.line_start(number + 1),
            is_guess: false,
        });
    }
    let fences = unclosed(source, first, diagnostics);
    if fences.is_none() {
        // A rule above the text.
        let end = source.line_start(first + 1);
        diagnostics.push(source.found(Finding::FrontmatterMissing, open, end));
    }
    fences
}

/// A frontmatter whose first line is missing: fields of the format, up to a fence.
fn unopened(
    source: &SourceText,
    first: usize,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Fences> {
    let last = source.line_count().min(first + MAX_UNOPENED);
    if !is_field(line(source, first)) {
        return None;
    }
    let closing = (first + 1..=last).find(|&number| !could_be_yaml(line(source, number)))?;
    let closing = (first + 1..=closing).find(|&number| is_fence(line(source, number)))?;
    let start = source.line_start(first);
    let yaml = start..source.line_start(closing);
    is_mapping(source.text.get(yaml.clone())?).then_some(())?;
    let found = source.found(Finding::FrontmatterUnopened, start, start);
    let fence = format!("---{}", source.newline());
    diagnostics.push(with_edit(source, found, 0..start, &fence));
    Some(Fences {
        yaml,
        body: source.line_start(closing + 1),
        is_guess: true,
    })
}

/// A frontmatter whose last line is missing. What looks like fields ends where the text begins: at a blank line that no
/// field follows, a heading, or a line that is no YAML; or at a line that was meant as the fence. `None` without fields.
fn unclosed(
    source: &SourceText,
    first: usize,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Fences> {
    let count = source.line_count();
    let is_blank = |number: usize| line(source, number).trim().is_empty();
    let ends = |number: &usize| {
        let content = line(source, *number);
        if is_blank(*number) {
            let next = (*number..=count).find(|&next| !is_blank(next));
            let next = next.map_or("", |next| line(source, next));
            return !is_field(next);
        }
        content.starts_with("# ") || content.starts_with("## ") || !could_be_yaml(content)
    };
    let fence = (first + 1..=count).find(|&number| is_meant_as_fence(line(source, number)));
    let end = (first + 1..=count).find(ends).unwrap_or(count + 1);
    let fence = fence.filter(|&fence| fence <= end);
    let number = fence.unwrap_or(end);
    let yaml = source.line_start(first + 1)..source.line_start(number);
    let found = source.found(
        Finding::FrontmatterUnclosed,
        source.line_start(first),
        source.line_start(first + 1),
    );
    // Prose right below the fields may belong to the last one.
    let is_clear = fence.is_some()
        || number > count
        || is_blank(number)
        || line(source, number).starts_with('#');
    let fields = source.text.get(yaml.clone())?;
    let is_mapping = is_mapping(fields);
    if !is_mapping && !fields.lines().any(is_field) {
        return None;
    }
    diagnostics.push(if is_clear && is_mapping {
        let mut fence_line = format!("---{}", source.newline());
        if !fields.ends_with(['\n', '\r']) {
            fence_line = format!("{}---{}", source.newline(), source.newline());
        }
        let end = match fence {
            Some(number) => source.line_start(number + 1),
            None => yaml.end,
        };
        with_edit(source, found, yaml.end..end, &fence_line)
    } else {
        found
    });
    let body = fence.map_or(yaml.end, |number| source.line_start(number + 1));
    Some(Fences {
        yaml,
        body,
        is_guess: true,
    })
}

/// Moves the end of the frontmatter up when the closing fence is missing and a rule in the body was
/// taken for it: the text up to a blank line is YAML, the whole is not, and prose stands below.
fn without_prose(source: &SourceText, fences: Fences, diagnostics: &mut Vec<Diagnostic>) -> Fences {
    if fences.is_guess {
        return fences;
    }
    let text = source.text.get(fences.yaml.clone()).unwrap_or_default();
    let blank = text
        .find("\n\n")
        .or_else(|| text.find("\n\r\n"))
        .map(|at| at + 1);
    let Some((fields, below)) = blank.and_then(|at| text.split_at_checked(at)) else {
        return fences;
    };
    let is_prose = below
        .lines()
        .any(|line| !line.trim().is_empty() && !could_be_yaml(line));
    let is_yaml = || text.len() > MAX_FRONTMATTER || yaml::parse(text).is_ok();
    if !is_prose || is_yaml() || !is_mapping(fields) {
        return fences;
    }
    let open = source.line_start(source.position(fences.yaml.start).line.saturating_sub(1));
    let end = fences.yaml.start + fields.len();
    let found = source.found(Finding::FrontmatterUnclosed, open, fences.yaml.start);
    let fence = format!("---{}", source.newline());
    diagnostics.push(with_edit(source, found, end..end, &fence));
    Fences {
        yaml: fences.yaml.start..end,
        body: end,
        is_guess: true,
    }
}

fn with_edit(
    source: &SourceText,
    found: Diagnostic,
    span: Range<usize>,
    replacement: &str,
) -> Diagnostic {
    match source.edit(span.start, span.end, replacement) {
        Some(edit) => found.with_fix(vec![edit]),
        None => found,
    }
}

/// Returns true if a text is a mapping to YAML, with as many quotes as it takes.
fn is_mapping(text: &str) -> bool {
    let is_short = text.len() <= MAX_FRONTMATTER;
    let parsed = is_short.then(|| repair::parse(text).0);
    matches!(
        parsed,
        Some(Ok(Some(Node {
            kind: Kind::Mapping(_),
            ..
        })))
    )
}

/// Returns true for a field of the format.
fn is_field(line: &str) -> bool {
    KEYS.iter().any(|key| line.starts_with(key))
}

/// Returns true if a line could stand in a frontmatter: a field, a comment, or the inside of a value.
fn could_be_yaml(line: &str) -> bool {
    let line = line.trim_end();
    let key = line.split(':').next().unwrap_or_default();
    let is_key = line.contains(':')
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    line.starts_with([' ', '\t', '#', '-', ']', '}']) || is_key
}

fn line(source: &SourceText, number: usize) -> &str {
    source
        .text
        .get(source.line_start(number)..source.line_start(number + 1))
        .unwrap_or_default()
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_end();
    line.len() >= 3 && line.bytes().all(|byte| byte == b'-')
}

/// Returns true for `--` and for the dashes that word processors make of `---`.
fn is_meant_as_fence(line: &str) -> bool {
    let line = line.trim_end();
    !line.is_empty() && line != "-" && line.chars().all(|c| matches!(c, '-' | '–' | '—'))
}
