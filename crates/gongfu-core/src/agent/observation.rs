//! Results of calls as the model sees them.

/// The result, or its start and its end, with a note about what is left out between them: a program often says last
/// what came of it.
pub fn capped(text: &str, limit: usize) -> String {
    let total = text.chars().count();
    if total <= limit {
        return text.to_owned();
    }
    let end = limit / 4;
    let part = |from: usize, count: usize| text.chars().skip(from).take(count).collect::<String>();
    let (start, end) = (part(0, limit - end), part(total - end, end));
    let left_out = total - limit;
    format!(
        "{start}\n[cut: {left_out} of {total} characters are left out here. To read them, call the tool for a smaller \
         part, such as by `offset`, `limit`, `lines` or `section` where it has these, or ask a narrower question.]\n{end}"
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
        let cut = capped(&"äöüß".repeat(2), 7);
        assert!(
            cut.starts_with("äöüßäö\n[cut: 1 of 8 characters are left out here."),
            "{cut}"
        );
        assert!(cut.ends_with(".]\nß"), "{cut}");
    }
}
