//! The list of what an environment lacks, of a length that people read.

use crate::text::{clipped, visible};

/// The longest entry, in characters.
const MAX_ENTRY: usize = 800;

/// An entry of what is left out, in bounds. Packages and installers write into it, so that what a screen hides or obeys
/// is shown.
pub fn left_out_entry(text: &str) -> String {
    let text = clipped(text, MAX_ENTRY, char::REPLACEMENT_CHARACTER);
    visible(&text).into_owned()
}

/// The first entries of what is left out, and the number of those after them. Lists that end so can be shortened again.
pub fn shortened(entries: impl IntoIterator<Item = String>, most: usize) -> Vec<String> {
    let (mut kept, mut more) = (Vec::new(), 0);
    for entry in entries {
        let counted = entry.strip_prefix("and ");
        let counted = counted.and_then(|rest| rest.strip_suffix(" more")?.parse::<usize>().ok());
        match counted {
            Some(counted) => more += counted,
            None if kept.len() < most => kept.push(entry),
            None => more += 1,
        }
    }
    kept.extend((more > 0).then(|| format!("and {more} more")));
    kept
}

#[cfg(test)]
mod tests {
    use super::{left_out_entry, shortened};

    #[test]
    fn entry_is_short_and_hides_nothing() {
        let shown = left_out_entry("a\u{202e}b\u{1b}[31m");
        assert_eq!(shown, "a\\u{202e}b\u{fffd}[31m");
        assert!(left_out_entry(&"x".repeat(100_000)).len() < 1_000);
    }

    #[test]
    fn list_says_how_many_more_there_are() {
        let entries = |count| (0..count).map(|number: usize| number.to_string());
        assert_eq!(shortened(entries(3), 3), ["0", "1", "2"]);
        let short = shortened(entries(9), 3);
        assert_eq!(short, ["0", "1", "2", "and 6 more"]);
        let twice = shortened(short.into_iter().chain(entries(4)), 5);
        assert_eq!(twice, ["0", "1", "2", "0", "1", "and 8 more"]);
    }
}
