//! The list of imports that is printed.

use gongfu_core::sandbox::CapturedOutput;

use super::read;

const LINES: &str = "{\"module\": [\"numpy\", \"a.py\"]}\n{\"module\": [\"numpy\", \"b.py\"]}\n{\"doubtful\": [\"yaml\", \"a.py\"]}\n{\"needed\": \"yaml\"}\n{\"unread\": \"c.py: bad\"}\n";

#[test]
fn imports_are_read_line_by_line() {
    let whole = CapturedOutput {
        head: LINES.into(),
        ..CapturedOutput::default()
    };
    let imports = read(&whole).unwrap();
    assert_eq!(imports.modules["numpy"], ["a.py", "b.py"]);
    assert_eq!(imports.doubtful["yaml"], ["a.py"]);
    assert!(imports.needed.contains("yaml") && !imports.needed.contains("numpy"));
    assert_eq!(imports.unread, ["c.py: bad"]);
    let damaged = CapturedOutput {
        head: b"{\"module\": [\"numpy\"".into(),
        ..CapturedOutput::default()
    };
    assert!(read(&damaged).is_err());
}

#[test]
fn imports_beyond_the_limit_are_left_out_and_told() {
    let cut = CapturedOutput {
        head: format!("{LINES}{{\"module\": [\"to").into(),
        tail: b"rn\", \"d.py\"]}\n".into(),
        left_out: 1,
        log: None,
    };
    let imports = read(&cut).unwrap();
    assert_eq!(imports.modules.keys().collect::<Vec<_>>(), ["numpy"]);
    assert!(imports.unread[0].contains("is ignored"), "{imports:?}");
}
