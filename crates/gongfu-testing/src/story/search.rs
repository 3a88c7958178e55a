//! The promises of `SkillSearch`. Its ranking is measured where it is made.

use gongfu_core::port::Space;
use gongfu_core::search::{Answer, Query};

use super::ground::Ground;
use super::skills::{create, find, write};
use super::{Fault, Promise};

pub(super) const PROMISES: &[Promise] = &[
    Promise::new("skills are found by their words", finds_words),
    Promise::new("a change is found at once", finds_changes),
    Promise::new("a limit cuts, and the total is the whole one", limit_cuts),
    Promise::new("a disabled skill is not found", leaves_out_disabled),
    Promise::new(
        "searches beside writers find what is there",
        searches_beside_writers,
    ),
    Promise::broken_by(
        Fault::RestartForgets,
        "the same is found after a restart",
        survives_a_restart,
    ),
    Promise::broken_by(
        Fault::OwnerIgnored,
        "the skills of another owner are not found",
        owners_are_apart,
    ),
    Promise::broken_by(
        Fault::OwnerIgnored,
        "the skills of another owner change no answer",
        others_change_no_answer,
    ),
];

fn ask(ground: &Ground, space: &Space, text: &str, limit: usize) -> Answer {
    let query = Query::new(text, limit);
    ground.wait(space.search().search(&query)).unwrap()
}

fn names(ground: &Ground, space: &Space, text: &str) -> Vec<String> {
    let answer = ask(ground, space, text, 10);
    let mut names: Vec<_> = answer
        .hits
        .iter()
        .map(|hit| hit.skill.name.to_string())
        .collect();
    names.sort_unstable();
    names
}

fn finds_words(ground: &Ground) {
    let space = ground.local();
    assert_eq!(names(ground, &space, "documents"), [""; 0]);
    create(ground, &space, "pdf", "merges documents");
    create(ground, &space, "charts", "draws bars");
    assert_eq!(names(ground, &space, "documents"), ["pdf"]);
    assert_eq!(names(ground, &space, "charts"), ["charts"]);
    assert_eq!(names(ground, &space, "bars documents"), ["charts", "pdf"]);
    assert_eq!(names(ground, &space, "elephants"), [""; 0]);
}

fn finds_changes(ground: &Ground) {
    let space = ground.local();
    let skill = create(ground, &space, "pdf", "merges documents");
    assert_eq!(names(ground, &space, "documents"), ["pdf"]);
    let text = b"---\nname: pdf\ndescription: rotates pages\n---\n";
    write(ground, &space, &skill, "SKILL.md", text);
    assert_eq!(names(ground, &space, "documents"), [""; 0]);
    assert_eq!(names(ground, &space, "pages"), ["pdf"]);
    create(ground, &space, "second", "numbers pages");
    assert_eq!(names(ground, &space, "pages"), ["pdf", "second"]);
}

fn limit_cuts(ground: &Ground) {
    let space = ground.local();
    for number in 0..7 {
        create(
            ground,
            &space,
            &format!("skill-{number}"),
            "merges documents",
        );
    }
    let answer = ask(ground, &space, "documents", 3);
    assert_eq!((answer.hits.len(), answer.total), (3, 7));
}

fn leaves_out_disabled(ground: &Ground) {
    let space = ground.local();
    let skill = create(ground, &space, "pdf", "merges documents");
    let set = |enabled| ground.wait(space.skills().set_enabled(&skill, enabled));
    set(false).unwrap();
    assert_eq!(names(ground, &space, "documents"), [""; 0]);
    set(true).unwrap();
    assert_eq!(names(ground, &space, "documents"), ["pdf"]);
}

fn searches_beside_writers(ground: &Ground) {
    create(ground, &ground.local(), "pdf", "merges documents");
    ground.write_at_once(|space, writer| {
        assert!(find(ground, space, "pdf").is_some());
        for number in 0..3 {
            create(
                ground,
                space,
                &format!("own-{writer}-{number}"),
                "draws bars",
            );
            assert_eq!(names(ground, space, "documents"), ["pdf"]);
        }
    });
    let answer = ask(ground, &ground.reopened(), "bars", 100);
    assert_eq!(answer.total, 12);
}

fn survives_a_restart(ground: &Ground) {
    create(ground, &ground.local(), "pdf", "merges documents");
    assert_eq!(names(ground, &ground.local(), "documents"), ["pdf"]);
    assert_eq!(names(ground, &ground.reopened(), "documents"), ["pdf"]);
}

fn owners_are_apart(ground: &Ground) {
    let (local, other) = (ground.local(), ground.other());
    create(ground, &local, "pdf", "merges documents");
    assert_eq!(names(ground, &other, "documents"), [""; 0]);
    create(ground, &other, "word", "merges documents");
    assert_eq!(names(ground, &other, "documents"), ["word"]);
    assert_eq!(names(ground, &local, "documents"), ["pdf"]);
}

fn others_change_no_answer(ground: &Ground) {
    let (local, other) = (ground.local(), ground.other());
    create(ground, &local, "pdf", "merges documents of rare kinds");
    create(ground, &local, "charts", "draws bars");
    let shown = || {
        let answer = ask(ground, &local, "rare documents", 10);
        let hits = answer.hits.iter();
        let hits: Vec<_> = hits
            .map(|hit| (hit.skill.name.to_string(), hit.score.to_bits()))
            .collect();
        (hits, answer.total)
    };
    let before = shown();
    for number in 0..10 {
        create(
            ground,
            &other,
            &format!("rare-{number}"),
            "rare rare documents",
        );
    }
    assert_eq!(ask(ground, &other, "rare", 99).total, 10);
    assert_eq!(shown(), before);
}
