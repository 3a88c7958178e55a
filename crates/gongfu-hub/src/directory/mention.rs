//! The tools that a text names.

/// Stands between the parts of a name.
const SEPARATOR: &str = "__";
/// The longest name, in bytes.
const MAX_NAME: usize = 64;
/// The most names that one text mentions.
const MAX_NAMES: usize = 64;

/// The names that a text mentions, each once and in order. Other programs write more in front of a name, as in
/// `mcp__gongfu__github__list_issues`.
pub(super) fn mentioned(text: &str, is_name: impl Fn(&str) -> bool) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let words = text.split(|c| !is_part(c));
    let mut found = Vec::new();
    for word in words.filter(|word| word.contains(SEPARATOR)) {
        if found.len() == MAX_NAMES {
            break;
        }
        let mut rest = Some(word.trim_end_matches(['.', '-']));
        while let Some(name) = rest {
            if name.len() <= MAX_NAME && is_name(name) {
                if !found.contains(&name) {
                    found.push(name);
                }
                break;
            }
            rest = name.split_once(SEPARATOR).map(|(_, rest)| rest);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::mentioned;

    #[test]
    fn names_are_found_as_programs_write_them() {
        let is_name = |name: &str| ["github__list_issues", "a-b__c.d", "x__y"].contains(&name);
        let text = "allowed-tools: mcp__gongfu__github__list_issues, Bash(x__yes)\nThen call `a-b__c.d`. And github__list_issues.";
        assert_eq!(
            mentioned(text, is_name),
            ["github__list_issues", "a-b__c.d"]
        );
        assert!(mentioned("list_issues __ x_y x__", is_name).is_empty());
    }
}
