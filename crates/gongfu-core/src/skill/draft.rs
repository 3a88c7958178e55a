//! A new SKILL.md: its frontmatter as YAML that every reader takes, and a body to fill in.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The text of a new SKILL.md; without instructions it has a template for a body.
///
/// The description may be any text: what no YAML scalar holds as it stands is escaped.
pub fn document(name: &str, description: &str, instructions: &str) -> String {
    let mut text = frontmatter(name, description) + "\n";
    let body = instructions.trim_start_matches(['\r', '\n']);
    if body.trim().is_empty() {
        text.push_str(&template(name));
    } else {
        text.push_str(body);
        if !body.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

/// A SKILL.md with these fields, as they are in its frontmatter, and a body.
pub fn rewritten(fields: &Map<String, Value>, body: &str) -> String {
    let mut text = "---\n".to_owned();
    for (key, value) in fields {
        let value = match value {
            Value::String(value) => scalar(value),
            // Any JSON is YAML.
            other => other.to_string(),
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}: {value}", scalar(key));
    }
    text.push_str("---\n\n");
    text.push_str(body.trim_start_matches(['\r', '\n']));
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// The frontmatter with its two fences.
pub(super) fn frontmatter(name: &str, description: &str) -> String {
    format!(
        "---\nname: {}\ndescription: {}\n---\n",
        scalar(name),
        scalar(description.trim())
    )
}

/// The body of a skill that nobody has written yet.
fn template(name: &str) -> String {
    format!(
        "# {name}\n\n## Overview\n\nWhat this skill achieves, and when to use it.\n\n## Steps\n\n1. The first thing to do.\n\n## Quality standards\n\n- What a good result looks like.\n\n## Cautions\n\n- What to take care of, and what never to do.\n"
    )
}

/// A text as a YAML scalar in one line: plain where nobody can misread it, else in double quotes.
fn scalar(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            // What YAML takes for a line end, a mark, or nothing that may be printed.
            c if c.is_control() || is_odd(c) => {
                let code = u32::from(c);
                let _ = if code > 0xFFFF {
                    write!(quoted, "\\U{code:08X}")
                } else {
                    write!(quoted, "\\u{code:04X}")
                };
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn is_odd(c: char) -> bool {
    matches!(
        c,
        '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}'
    )
}

/// Returns true if a text means itself in YAML without quotes, to every reader: narrower than YAML, for
/// which `a: b`, `yes` and `1.0` are no texts.
fn is_plain(text: &str) -> bool {
    let starts = text.chars().next().is_some_and(char::is_alphabetic);
    let tame = text.chars().all(|c| {
        c.is_alphanumeric()
            || matches!(
                c,
                ' ' | ',' | '.' | '-' | '_' | '/' | '(' | ')' | ';' | '+' | '，' | '。' | '、'
            )
    });
    let word = text.to_lowercase();
    let means_else = matches!(
        word.as_str(),
        "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n" | "null" | "inf" | "nan"
    );
    starts && tame && !means_else && !text.contains("---") && !text.ends_with(' ')
}

#[cfg(test)]
mod tests {
    use super::document;
    use crate::skill;

    #[test]
    fn rewritten_document_keeps_its_fields() {
        let before = "---\nname: pdf\ndescription: |\n  one\n  two\nmetadata:\n  tags: [a, 'b: c']\n  n: 1\nlicense: 'MIT # x'\n---\n# PDF\n";
        let mut found = Vec::new();
        let read = |text: &str| skill::load(text.as_bytes(), "pdf", &mut Vec::new()).unwrap();
        let document = skill::load(before.as_bytes(), "pdf", &mut found).unwrap();
        let text = super::rewritten(&document.frontmatter, "\n\n# Other");
        assert_eq!(read(&text).frontmatter, document.frontmatter, "{text}");
        assert!(text.ends_with("---\n\n# Other\n"), "{text}");
    }

    #[test]
    fn draft_keeps_any_description() {
        for description in [
            "Does something useful",
            "Use: this \"now\"",
            "it's - a #comment",
            "yes",
            "1.0",
            "- a\n- b",
            "one\n\ntwo\r\nthree\ttab",
            "--- fences ---",
            "a\n---\nname: other\n---\n",
            "{braces: [1, 2]} & *anchors* !tags | > % @ `",
            "back\\slash \\n",
            "技能：处理文件。",
            "emoji \u{1F600} and \u{2028} and \u{85} and \u{FEFF}mark",
            "ends with colon:",
            "...",
            "null",
            "\u{1} control",
            "e\u{301} combining",
        ] {
            let text = document("my-tool", description, "# My Tool\n\nUse it.");
            let mut found = Vec::new();
            let Some(loaded) = skill::load(text.as_bytes(), "my-tool", &mut found) else {
                panic!("{text}")
            };
            assert_eq!(loaded.description, description.trim(), "{text}");
            assert_eq!(loaded.name.as_str(), "my-tool");
            assert_eq!(loaded.body().trim(), "# My Tool\n\nUse it.", "{text}");
            let strict = skill::strict::validate(text.as_bytes(), "my-tool");
            let harmless = !description.contains("---");
            assert!(!harmless || strict.is_empty(), "{text}: {strict:?}");
        }
    }

    #[test]
    fn draft_without_instructions_has_a_template() {
        let text = document("my-tool", "Does it.", " \n");
        for heading in [
            "## Overview",
            "## Steps",
            "## Quality standards",
            "## Cautions",
        ] {
            assert!(text.contains(heading), "{text}");
        }
    }
}
