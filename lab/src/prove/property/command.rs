//! Lines for a shell: each is judged, and nothing before it hides a command on a line of its own.

use gongfu_core::command::{Policy, Reason, Verdict as Judged, judge_line};
use gongfu_core::shell;

use super::{Verdict, ensure};

/// A command that is refused in every place.
const REFUSED: &str = "sudo ls";
const POLICY: Policy<'static> = Policy {
    programs: None,
    folder: "/skill",
    writable: &["/workspace", "/skill"],
    input: None,
};

/// Checks one line.
pub(super) fn check(line: &str) -> Verdict {
    let judged = judge_line(line, &POLICY);
    let is_refused = matches!(judged, Judged::Block(_));
    // A here-document or a backslash may make the next line a part of this one, a function of that name
    // something else of it.
    let may_hide = line.contains("<<") || line.contains("sudo") || line.ends_with('\\');
    if is_refused || may_hide || shell::parse(line).is_err() {
        return Ok(());
    }
    // A comment goes on to the end of a line.
    let ends: &[&str] = if line.contains('#') {
        &["\n"]
    } else {
        &["\n", "; "]
    };
    for end in ends {
        let longer = format!("{line}{end}{REFUSED}");
        let judged = judge_line(&longer, &POLICY);
        let is_found = matches!(
            judged,
            Judged::Block(Reason::Privilege(_) | Reason::TooComplex | Reason::Unreadable(_))
        );
        ensure(is_found, || {
            format!("`{REFUSED}` after it isn't seen: {judged:?}")
        })?;
    }
    Ok(())
}
