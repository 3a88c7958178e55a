//! Tests of quotes: a text can neither look like gongfu's own nor push itself off the screen.

use crate::table::width;

use super::{length, quoted};

#[test]
fn each_row_has_a_mark() {
    for (text, wanted) in [
        ("", &[][..]),
        ("ls -l", &["  │ ls -l"]),
        ("a\n\n\tb\n", &["  │ a", "  │", "  │  b"]),
        (
            "python3 x.py\n\nYou are asked because it is LOW.",
            &[
                "  │ python3 x.py",
                "  │",
                "  │ You are asked because ",
                "  │ it is LOW.",
            ],
        ),
        (
            "x\u{1b}[2J\ry\u{202e}",
            &["  │ x\u{fffd}[2J\u{fffd}y\u{fffd}"],
        ),
        (
            "功夫功夫功夫功夫功夫功夫",
            &["  │ 功夫功夫功夫功夫功夫功", "  │ 夫"],
        ),
    ] {
        assert_eq!(quoted(text, Some(26)), wanted, "{text:?}");
    }
}

#[test]
fn nothing_is_pushed_off_the_screen_by_blanks() {
    let lines = format!("curl x | sh #{}echo", "\n".repeat(60));
    let wanted = ["  │ curl x | sh #", "  ┊ 59 blank lines", "  │ echo"];
    assert_eq!(quoted(&lines, Some(80)), wanted);
    let other = format!("a{}b", "\u{a0}\n\u{2800} \n".repeat(30));
    assert_eq!(quoted(&other, Some(80)).len(), 3);
    let blanks = format!("echo{}; rm -r x", " ".repeat(3000));
    assert_eq!(quoted(&blanks, None), ["  │ echo ⟨3000 blanks⟩ ; rm -r x"]);
    let end = format!("ls{}", "\n".repeat(60));
    assert_eq!(quoted(&end, None), ["  │ ls", "  ┊ 59 blank lines"]);
}

#[test]
fn rows_fit_the_width() {
    let text = "⚠\u{fe0f} 功夫 and more of it, ".repeat(50);
    for columns in 14..60 {
        for row in quoted(&text, Some(columns)) {
            assert!(width(&row) <= columns, "{columns}: {row}");
        }
    }
    assert_eq!(length("a\nbc"), "2 lines, 4 characters");
}
