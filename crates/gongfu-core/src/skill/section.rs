//! Headings and sections of a Markdown text.
//!
//! Knows nothing of frontmatter: it is given the body and where the body starts.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde::{Deserialize, Serialize};

use crate::near;

/// A heading of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// The text without its markup.
    pub text: String,
    /// Offset of its first byte.
    pub start: usize,
}

/// The options that every reading of Markdown here uses.
pub(crate) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH
}

/// Lists the headings of a Markdown text in order; what stands in code blocks is no heading.
pub fn headings(markdown: &str) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut open: Option<Heading> = None;
    for (event, range) in Parser::new_ext(markdown, options()).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                open = Some(Heading {
                    level: number(level),
                    text: String::new(),
                    start: range.start,
                });
            }
            Event::End(TagEnd::Heading(_)) => found.extend(open.take().map(|heading| Heading {
                text: heading.text.trim().to_owned(),
                ..heading
            })),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut open {
                    heading.text.push_str(&text);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = &mut open {
                    heading.text.push(' ');
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns the code in a Markdown text: fenced and indented blocks, as ranges of bytes in order.
pub fn code(markdown: &str) -> Vec<Range<usize>> {
    let events = Parser::new_ext(markdown, options()).into_offset_iter();
    events
        .filter(|(event, _)| matches!(event, Event::Start(Tag::CodeBlock(_))))
        .map(|(_, range)| range)
        .collect()
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// Finds a section: the heading that is meant by `wanted`, up to the next heading of the same or a
/// higher level.
///
/// An equal heading wins over one that contains the text; letter case and a leading `#` don't
/// count. `None` when no heading matches.
pub fn find(markdown: &str, headings: &[Heading], wanted: &str) -> Option<Range<usize>> {
    let wanted = near::folded(wanted.trim().trim_start_matches('#'));
    if wanted.is_empty() {
        return None;
    }
    let meant = |test: &dyn Fn(&str) -> bool| {
        headings
            .iter()
            .position(|heading| test(&near::folded(&heading.text)))
    };
    let at = meant(&|text| text == wanted).or_else(|| meant(&|text| text.contains(&wanted)))?;
    let heading = headings.get(at)?;
    let end = headings
        .iter()
        .skip(at + 1)
        .find(|next| next.level <= heading.level)
        .map_or(markdown.len(), |next| next.start);
    Some(heading.start..end)
}

/// The first paragraph of prose; else the first heading; `None` for a text without either.
pub fn summary(markdown: &str) -> Option<String> {
    let mut heading: Option<String> = None;
    let mut text = String::new();
    let mut inside = Inside::Nothing;
    for event in Parser::new_ext(markdown, options()) {
        match event {
            Event::Start(Tag::Paragraph) => inside = Inside::Paragraph,
            Event::Start(Tag::Heading { .. }) => inside = Inside::Heading,
            Event::End(TagEnd::Paragraph) if !text.trim().is_empty() => {
                return Some(text.trim().to_owned());
            }
            Event::End(TagEnd::Heading(_)) => {
                let whole = std::mem::take(&mut text);
                heading = heading
                    .or_else(|| Some(whole.trim().to_owned()).filter(|whole| !whole.is_empty()));
                inside = Inside::Nothing;
            }
            Event::Text(piece) | Event::Code(piece) if inside != Inside::Nothing => {
                text.push_str(&piece);
            }
            Event::SoftBreak | Event::HardBreak if inside != Inside::Nothing => text.push(' '),
            _ => {}
        }
    }
    heading
}

#[derive(PartialEq, Eq)]
enum Inside {
    Nothing,
    Paragraph,
    Heading,
}

#[cfg(test)]
mod tests {
    use super::{find, headings, summary};

    const TEXT: &str = "# Top\n\nintro *text*\n\n## Use `it`\n\na\n\n```sh\n## not a heading\n```\n\n### Deep\n\nb\n\nNext\n----\n\nc\n";

    fn section(wanted: &str) -> Option<&'static str> {
        find(TEXT, &headings(TEXT), wanted).and_then(|range| TEXT.get(range))
    }

    #[test]
    fn a_section_ends_at_its_equal() {
        assert_eq!(
            section("use it"),
            Some("## Use `it`\n\na\n\n```sh\n## not a heading\n```\n\n### Deep\n\nb\n\n")
        );
        assert_eq!(section("## Deep"), Some("### Deep\n\nb\n\n"));
        assert_eq!(section("nex"), Some("Next\n----\n\nc\n"));
        assert_eq!(section("not a heading"), None);
        assert_eq!(section(" # "), None);
        assert_eq!(section("top"), Some(TEXT));
    }

    #[test]
    fn a_summary_is_prose_before_headings() {
        assert_eq!(summary(TEXT).as_deref(), Some("intro text"));
        assert_eq!(summary("# Only\n\n## Headings\n").as_deref(), Some("Only"));
        assert_eq!(summary("```\ncode\n```\n"), None);
    }
}
