//! Results of calls as the model sees them.

/// The result, or its start with a word about the rest.
pub fn capped(text: &str, limit: usize) -> String {
    let Some((at, _)) = text.char_indices().nth(limit) else {
        return text.to_owned();
    };
    let total = text.chars().count();
    let start = text.get(..at).unwrap_or(text);
    format!(
        "{start}\n[cut: the first {limit} of {total} characters. To read more, call the tool again for a smaller \
         part (`offset`, `limit`, `lines` or `section`) or ask a narrower question.]"
    )
}

/// A text of others as a block: whatever it says, it doesn't end the block.
pub fn block(name: &str, text: &str) -> String {
    let longest = text.lines().map(|line| {
        let ticks = line.trim_start().bytes().take_while(|byte| *byte == b'`');
        ticks.count()
    });
    let fence = "`".repeat(longest.max().unwrap_or(0).max(2) + 1);
    format!("{fence}{name}\n{text}\n{fence}")
}

/// The start of a text, with its lines.
pub(super) fn start(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or(text)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::capped;

    #[test]
    fn long_result_tells_that_it_is_cut_and_short_one_is_whole() {
        assert_eq!(capped("äöü", 3), "äöü");
        let cut = capped("äöüß", 3);
        assert!(
            cut.starts_with("äöü\n[cut: the first 3 of 4 characters."),
            "{cut}"
        );
    }
}
