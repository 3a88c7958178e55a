//! Lines for a shell.

use crate::random::Random;

/// Pieces that mean something to a shell.
const PARTS: [&str; 58] = [
    "$(",
    ")",
    "(",
    "{ ",
    "; }",
    "`",
    "\"",
    "'",
    "$((",
    "))",
    "${a:-",
    "${a[",
    "]",
    "}",
    "<(",
    "<<E\n",
    "\nE\n",
    "if ",
    "; then ",
    "; fi",
    "for i in a b",
    "; do ",
    "; done",
    "case x in ",
    "a) ",
    ";; ",
    "esac",
    ";",
    "|",
    " && ",
    " || ",
    " & ",
    "\n",
    " ",
    "ls ",
    "a=",
    "a=(",
    "[[ ",
    " ]]",
    "f() ",
    "function f ",
    "while ",
    "\\",
    "$'",
    "#",
    "{a,b}",
    "$a",
    "é",
    "coproc ",
    "time ",
    "! ",
    "<<< ",
    ">&",
    "eval ",
    "bash -c ",
    "env ",
    "xargs ",
    "find . -exec ",
];

/// Whole commands.
const WHOLE: [&str; 10] = [
    "ls -la",
    "echo \"$x\"",
    "a=b",
    "rm -rf x",
    "cat < a > b",
    "[ -f a ]",
    "cd a",
    "exit",
    "$a b",
    "eval \"$a\"",
];

/// Pieces of shell lines, whole commands among them, often so that they fit together.
pub(super) fn line(random: &mut Random, max_bytes: usize) -> String {
    let mut text = String::new();
    for _ in 0..random.length(60) {
        let (open, close) = random.pick(&[
            ("", "; "),
            ("(", ") "),
            ("{ ", "; } "),
            ("$(", ") "),
            ("if ", "; then :; fi "),
            ("echo \"$(", ")\" "),
            ("f() { ", "; }; f "),
            ("while ", "; do :; done "),
            ("! ", "\n"),
            ("bash -c '", "' "),
        ]);
        if random.one_in(3) {
            text.push_str(random.pick(&PARTS));
        } else {
            text.push_str(open);
            text.push_str(random.pick(&WHOLE));
            text.push_str(close);
            text.push_str(if random.one_in(2) { "; " } else { "" });
        }
        if random.one_in(80) {
            text = text.repeat(1 + random.below(400));
        }
        if text.len() > max_bytes {
            let end = text.floor_char_boundary(max_bytes);
            text.truncate(end);
            break;
        }
    }
    text
}
