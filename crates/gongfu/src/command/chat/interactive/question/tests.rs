//! Tests of questions: the answers that there are.

use gongfu_hub::call::Question;
use gongfu_hub::surface::approval::Reply;

use super::{Key, keys};

fn question(has_session: bool) -> Question {
    Question {
        id: "0123".to_owned(),
        serial: 1,
        title: "skill_run wants to run this command".to_owned(),
        what: "ls".to_owned(),
        details: Vec::new(),
        reason: "You are asked because its safety level is MEDIUM.".to_owned(),
        always: "until it changes".to_owned(),
        has_session,
        has_any: false,
    }
}

#[test]
fn answer_is_one_of_those_that_are_shown() {
    let all = keys(&question(true));
    for (line, wanted) in [
        ("o", Some(Reply::Once)),
        ("ONCE", Some(Reply::Once)),
        ("s", Some(Reply::Session)),
        ("always", Some(Reply::Always)),
        ("n", Some(Reply::No)),
        ("never", Some(Reply::Never)),
        ("", None),
        ("y", None),
        ("on", None),
        ("once always", None),
    ] {
        assert_eq!(
            Key::meant(&all, line).map(|key| key.reply),
            wanted,
            "{line:?}"
        );
    }
    assert!(Key::meant(&keys(&question(false)), "s").is_none());
}
