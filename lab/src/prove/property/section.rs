//! Headings and sections: they lie in the text, and a heading finds its section.

use gongfu_core::near;
use gongfu_core::skill::section;

use super::{Verdict, ensure};

/// So many headings of a text are looked for.
const LOOKED_FOR: usize = 12;
/// A longer heading is compared by its beginning alone.
const LONG: usize = 100;

/// Checks one text.
pub(super) fn check(text: &str) -> Verdict {
    let headings = section::headings(text);
    let mut before = None;
    for heading in &headings {
        ensure((1..=6).contains(&heading.level), || {
            format!("a heading of level {}", heading.level)
        })?;
        ensure(
            heading.start < text.len() && text.is_char_boundary(heading.start),
            || format!("a heading starts at {} of {}", heading.start, text.len()),
        )?;
        ensure(before.is_none_or(|before| before < heading.start), || {
            format!("the heading at {} is out of order", heading.start)
        })?;
        before = Some(heading.start);
    }
    for heading in headings.iter().take(LOOKED_FOR) {
        let bare = heading.text.trim().trim_start_matches('#');
        if near::folded(bare).is_empty() || heading.text.chars().nth(LONG).is_some() {
            continue;
        }
        let found = section::find(text, &headings, &heading.text);
        ensure(
            found.is_some_and(|range| text.get(range).is_some_and(|part| !part.is_empty())),
            || format!("the heading {:?} does not find its section", heading.text),
        )?;
    }
    let wanted = text.get(..text.floor_char_boundary(40)).unwrap_or_default();
    if let Some(range) = section::find(text, &headings, wanted) {
        ensure(text.get(range.clone()).is_some(), || {
            format!("the section {range:?} is no text of {} bytes", text.len())
        })?;
    }
    match section::summary(text) {
        Some(summary) => ensure(!summary.trim().is_empty(), || "an empty summary".to_owned()),
        None => Ok(()),
    }
}
