//! Tests of the renderer: what a terminal shows, and that nothing of it is a command.

use super::rendered;

/// The lines without their paint.
fn lines(block: &str, width: usize) -> Vec<String> {
    let text = rendered(block, Some(width));
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(letter);
        }
    }
    plain.lines().map(str::to_owned).collect()
}

#[test]
fn blocks_become_lines() {
    for (block, wanted) in [
        ("# Title\n\nText", &["Title", "", "Text"][..]),
        (
            "one two three four five six",
            &["one two three four", "five six"],
        ),
        ("a\nb  \nc", &["a b", "c"]),
        (
            "- one\n- two\n  - deep\n- three",
            &["• one", "• two", "   • deep", "• three"],
        ),
        ("3. three\n4. four", &["3. three", "4. four"]),
        (
            "- a long item that is broken",
            &["• a long item that", "   is broken"],
        ),
        ("1. one\n\n   more", &["1. one", "", "   more"]),
        ("> said\n> so", &["│ said so"]),
        (
            "```sh\nls  -l\n\n  x\n```",
            &["  sh", "  ls  -l", "", "    x"],
        ),
        ("see:\n```\na b\n```", &["see:", "", "  a b"]),
        ("- [x] done\n- [ ] open", &["• ☑ done", "• ☐ open"]),
        (
            "| a | bb |\n|---|----|\n| 1 | 2 |",
            &["a  bb", "─  ──", "1  2"],
        ),
        (
            "| name | what |\n|---|---|\n| first | a long text of it |",
            &["name: first", "what: a long text of", "it"],
        ),
        (
            "text\n\n| a name | another name that is long |\n|---|---|",
            &["text", "", "a name", "another name that is", "long"],
        ),
        ("*a* **b** `c` ~~d~~", &["a b c d"]),
        ("[words](https://x.y)", &["words (https://x.y)"]),
        ("<https://x.y>", &["https://x.y"]),
        ("<b>raw</b>", &["<b>raw</b>"]),
        ("合并文件 合并文件 合并", &["合并文件 合并文件", "合并"]),
        ("---", &["────────────────────"]),
    ] {
        assert_eq!(lines(block, 20), wanted, "{block:?}");
    }
}

#[test]
fn styles_are_codes_that_end_with_the_line() {
    assert_eq!(rendered("**b** c", Some(20)), "\u{1b}[1mb\u{1b}[0m c");
    assert_eq!(rendered("***b***", None), "\u{1b}[1;3mb\u{1b}[0m");
    for line in rendered("**one two three four five six seven**", Some(20)).lines() {
        assert!(line.ends_with("\u{1b}[0m"), "{line:?}");
    }
}

#[test]
fn nothing_reaches_the_terminal_as_a_command() {
    let evil = "\u{1b}]0;title\u{7}";
    for block in [
        format!("a {evil} b"),
        format!("`{evil}`"),
        format!("```{evil}\n{evil}\n```"),
        format!("[{evil}](http://x/{evil})"),
        format!("| {evil} |\n|---|\n| {evil} |"),
        format!("# {evil}\n\n> - {evil}\u{202e}"),
        "&#27;[2J &#155;2J".to_owned(),
    ] {
        let text = rendered(&block, Some(40));
        for (at, _) in text.match_indices('\u{1b}') {
            let code: String = text[at + 1..].chars().take_while(|c| *c != 'm').collect();
            assert!(
                code.starts_with('[') && code[1..].chars().all(|c| c.is_ascii_digit() || c == ';'),
                "{text:?}"
            );
        }
        let is_bad = |c: char| c != '\n' && c != '\u{1b}' && (c.is_control() || c == '\u{202e}');
        assert!(!text.contains(is_bad), "{text:?}");
    }
}

#[test]
fn emoji_and_joining_scripts_stay_as_they_are() {
    for text in [
        "⚠\u{fe0f} ✔\u{fe0f} 1\u{fe0f}\u{20e3} \\*\u{fe0f}\u{20e3}",
        "می\u{200c}خواهم",
        "👩\u{200d}💻",
    ] {
        assert_eq!(rendered(text, None), text.replace('\\', ""));
        assert_eq!(
            lines(&format!("```\n{text}\n```"), 80),
            [format!("  {text}")]
        );
    }
    let hidden = "\u{fe0f}a\u{fe0f} x\u{e0041}";
    assert_eq!(rendered(hidden, None), "\u{fffd}a\u{fffd} x\u{fffd}");
    let table = lines("| ⚠\u{fe0f} | b |\n|---|---|\n| cc | d |", 80);
    assert_eq!(table, ["⚠\u{fe0f}  b", "──  ─", "cc  d"]);
}

#[test]
fn odd_blocks_cost_little() {
    for block in [
        "> ".repeat(10_000) + "deep",
        "- ".repeat(2_000) + "deep",
        "word ".repeat(100_000),
        "x".repeat(1_000_000),
        "**".repeat(20_000),
        "| a ".repeat(5_000) + "|\n" + &"|---".repeat(5_000) + "|\n| b |",
        "[".repeat(20_000),
    ] {
        for width in [Some(0), Some(1), Some(80), None] {
            let text = rendered(&block, width);
            assert!(text.len() < 20 * block.len() + 100_000);
        }
    }
}
