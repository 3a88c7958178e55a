//! Lists in pages, and the cursors that lead through them.
//!
//! A cursor names the last entry of a page, not a number: what comes or goes between two pages moves
//! nothing, so no entry that is there all the time is left out or comes twice.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::error::ToolError;
use crate::problem::Problem;

/// The most entries of a page.
pub const MAX_ENTRIES: usize = 250;
/// About how many bytes of answer a page holds at most, its last entry aside.
pub(crate) const BUDGET: usize = 2 * 1024 * 1024;

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The entries.
    pub items: Vec<T>,
    /// Leads to the next page; `None` on the last one.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// Fills a page: `key` names an entry for the cursor, `made` makes it, or leaves it out, and says
    /// about how many bytes it takes.
    pub(crate) fn fill<I>(
        list: &str,
        entries: impl Iterator<Item = I>,
        key: impl Fn(&I) -> &str,
        made: impl FnMut(&I) -> Option<(T, usize)>,
    ) -> Self {
        Self::limited(MAX_ENTRIES, list, entries, key, made)
    }

    /// The same with at most `limit` entries.
    pub(crate) fn limited<I>(
        limit: usize,
        list: &str,
        entries: impl Iterator<Item = I>,
        key: impl Fn(&I) -> &str,
        mut made: impl FnMut(&I) -> Option<(T, usize)>,
    ) -> Self {
        let mut page = Self {
            items: Vec::new(),
            next: None,
        };
        let mut size = 0;
        let mut last: Option<I> = None;
        for entry in entries {
            let Some((item, bytes)) = made(&entry) else {
                continue;
            };
            if page.items.len() >= limit || size > BUDGET {
                page.next = last.as_ref().map(|last| cursor(list, key(last)));
                break;
            }
            size += bytes;
            page.items.push(item);
            last = Some(entry);
        }
        page
    }
}

/// The cursor behind an entry of a list.
fn cursor(list: &str, key: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{list}\n{key}"))
}

/// The entry that a cursor stands behind.
///
/// # Errors
/// It doesn't belong to this list.
pub(crate) fn behind(list: &str, cursor: Option<&str>) -> Result<Option<String>, ToolError> {
    let Some(cursor) = cursor else {
        return Ok(None);
    };
    let text = URL_SAFE_NO_PAD
        .decode(cursor)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let key = text
        .as_deref()
        .and_then(|text| text.strip_prefix(list)?.strip_prefix('\n'));
    match key {
        Some(key) => Ok(Some(key.to_owned())),
        None => Err(foreign(list)),
    }
}

/// A cursor that leads nowhere in a list.
pub fn foreign(list: &str) -> ToolError {
    Problem::CursorUnknown {
        list: list.to_owned(),
    }
    .error()
}

#[cfg(test)]
mod tests {
    use super::{BUDGET, MAX_ENTRIES, Page, behind};

    /// Walks a list to its end; answers what came and how many pages it took.
    fn walked(
        entries: &mut Vec<String>,
        mut between: impl FnMut(&mut Vec<String>),
    ) -> (Vec<String>, usize) {
        let (mut all, mut cursor, mut pages) = (Vec::new(), None, 0);
        loop {
            let after = behind("l", cursor.as_deref()).unwrap();
            let start = after.map_or(0, |after| entries.partition_point(|entry| *entry <= after));
            let page = Page::fill(
                "l",
                entries[start..].iter(),
                |entry| entry.as_str(),
                |entry| Some(((*entry).clone(), 10)),
            );
            all.extend(page.items);
            pages += 1;
            let Some(next) = page.next else {
                return (all, pages);
            };
            cursor = Some(next);
            between(entries);
        }
    }

    #[test]
    fn pages_together_are_the_list() {
        for count in [0, 1, MAX_ENTRIES, MAX_ENTRIES + 1, 3 * MAX_ENTRIES] {
            let mut entries: Vec<String> = (0..count).map(|at| format!("{at:05}")).collect();
            let (all, pages) = walked(&mut entries.clone(), |_| {});
            assert_eq!(
                (all, pages),
                (entries.clone(), count.div_ceil(MAX_ENTRIES).max(1))
            );
            // What comes and goes in between changes nothing about the others.
            let (all, _) = walked(&mut entries, |entries| {
                entries.remove(0);
                entries.insert(0, "0".to_owned());
            });
            assert_eq!(all.len(), count);
        }
    }

    #[test]
    fn large_entries_make_short_pages() {
        let page = Page::fill("l", [1, 2, 3].iter(), |_| "k", |at| Some((*at, BUDGET)));
        assert_eq!((page.items.len(), page.next.is_some()), (2, true));
    }

    #[test]
    fn a_cursor_belongs_to_its_list() {
        let page = Page::fill(
            "one",
            (0..=MAX_ENTRIES).map(|at| at.to_string()),
            |at| at,
            |_| Some(((), 0)),
        );
        let cursor = page.next.unwrap();
        assert!(behind("one", Some(&cursor)).unwrap().is_some());
        for (list, cursor) in [
            ("two", cursor.as_str()),
            ("on", &cursor),
            ("one", ""),
            ("one", "MQ"),
            ("one", "not base64!"),
            ("one", "////"),
        ] {
            let error = behind(list, Some(cursor)).unwrap_err();
            assert_eq!(error.code().as_str(), "INVALID_CURSOR", "{cursor}");
        }
    }
}
