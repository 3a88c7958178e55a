//! Tests of the view: code is drawn as it arrives, and looks as if it had come at once.

use super::super::blocks::Blocks;
use super::super::markdown::rendered;
use super::rest;

/// Draws what is new of a block.
fn draw(block: &str, drawn: usize, screen: &mut String) -> usize {
    let text = rendered(block, Some(30));
    let (fresh, lines) = rest(&text, drawn);
    if let Some(fresh) = fresh {
        screen.push_str(fresh);
        screen.push('\n');
    }
    drawn.max(lines)
}

#[test]
fn code_that_arrives_looks_like_code_that_is_there() {
    for text in [
        "see this long sentence, which is broken:\n```sh\na\n\n\n  b ⚠\u{fe0f}\n```\nthen",
        "```\n```\n\nx",
        "```\n\n\na\n\n\n```",
        "~~~rust\n```\nfn x() {}\n\n```\n~~~\n\n```sh\ny\n\n",
        "1. run:\n   ```\n   a\n\n   b\n   ```\n   done\n\nend",
        "- item\n```sh\na\n```\n> quote\n> ```\n> b\n> ```",
        "<div>\n```\na\n\nb\n```\n",
    ] {
        let mut blocks = Blocks::default();
        let mut whole = blocks.push(text);
        whole.extend(blocks.end());
        let mut wanted = String::new();
        for block in &whole {
            draw(block, 0, &mut wanted);
        }
        let (mut screen, mut drawn) = (String::new(), 0);
        let show = |whole: Vec<String>, screen: &mut String, drawn: &mut usize| {
            for block in whole {
                draw(&block, *drawn, screen);
                *drawn = 0;
            }
        };
        for letter in text.chars() {
            let whole = blocks.push(letter.encode_utf8(&mut [0; 4]));
            show(whole, &mut screen, &mut drawn);
            if let Some(block) = blocks.open() {
                drawn = draw(block, drawn, &mut screen);
                let last = block.lines().last().unwrap_or_default();
                assert!(
                    screen.contains(last.trim_matches(['`', '~', '*', ' '])),
                    "{last}"
                );
            }
        }
        show(blocks.end(), &mut screen, &mut drawn);
        assert_eq!(screen, wanted, "{text:?}");
    }
    assert_eq!(rest("", 0), (Some(""), 1));
    assert_eq!(rest("a\nb", 1), (Some("b"), 2));
    assert_eq!(rest("a", 3), (None, 1));
}
