//! The promises of `SkillSearch`. Its ranking is measured where it is made.

use gongfu_core::port::Space;
use gongfu_core::search::{Answer, Query};

use super::fixture::Fixture;
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

fn ask(fixture: &Fixture, space: &Space, text: &str, limit: usize) -> Answer {
    let query = Query::new(text, limit);
    fixture.wait(space.search().search(&query)).unwrap()
}

fn names(fixture: &Fixture, space: &Space, text: &str) -> Vec<String> {
    let answer = ask(fixture, space, text, 10);
    let mut names: Vec<_> = answer
        .hits
        .iter()
        .map(|hit| hit.skill.name.to_string())
        .collect();
    names.sort_unstable();
    names
}

fn finds_words(fixture: &Fixture) {
    let space = fixture.local();
    assert_eq!(names(fixture, &space, "documents"), [""; 0]);
    create(fixture, &space, "pdf", "merges documents");
    create(fixture, &space, "charts", "draws bars");
    assert_eq!(names(fixture, &space, "documents"), ["pdf"]);
    assert_eq!(names(fixture, &space, "charts"), ["charts"]);
    assert_eq!(names(fixture, &space, "bars documents"), ["charts", "pdf"]);
    assert_eq!(names(fixture, &space, "elephants"), [""; 0]);
}

fn finds_changes(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "merges documents");
    assert_eq!(names(fixture, &space, "documents"), ["pdf"]);
    let text = b"---\nname: pdf\ndescription: rotates pages\n---\n";
    write(fixture, &space, &skill, "SKILL.md", text);
    assert_eq!(names(fixture, &space, "documents"), [""; 0]);
    assert_eq!(names(fixture, &space, "pages"), ["pdf"]);
    create(fixture, &space, "second", "numbers pages");
    assert_eq!(names(fixture, &space, "pages"), ["pdf", "second"]);
}

fn limit_cuts(fixture: &Fixture) {
    let space = fixture.local();
    for number in 0..7 {
        create(
            fixture,
            &space,
            &format!("skill-{number}"),
            "merges documents",
        );
    }
    let answer = ask(fixture, &space, "documents", 3);
    assert_eq!((answer.hits.len(), answer.total), (3, 7));
}

fn leaves_out_disabled(fixture: &Fixture) {
    let space = fixture.local();
    let skill = create(fixture, &space, "pdf", "merges documents");
    let set = |enabled| fixture.wait(space.skills().set_enabled(&skill, enabled));
    set(false).unwrap();
    assert_eq!(names(fixture, &space, "documents"), [""; 0]);
    set(true).unwrap();
    assert_eq!(names(fixture, &space, "documents"), ["pdf"]);
}

fn searches_beside_writers(fixture: &Fixture) {
    create(fixture, &fixture.local(), "pdf", "merges documents");
    fixture.write_at_once(|space, writer| {
        assert!(find(fixture, space, "pdf").is_some());
        for number in 0..3 {
            create(
                fixture,
                space,
                &format!("own-{writer}-{number}"),
                "draws bars",
            );
            assert_eq!(names(fixture, space, "documents"), ["pdf"]);
        }
    });
    let answer = ask(fixture, &fixture.reopened(), "bars", 100);
    assert_eq!(answer.total, 12);
}

fn survives_a_restart(fixture: &Fixture) {
    create(fixture, &fixture.local(), "pdf", "merges documents");
    assert_eq!(names(fixture, &fixture.local(), "documents"), ["pdf"]);
    assert_eq!(names(fixture, &fixture.reopened(), "documents"), ["pdf"]);
}

fn owners_are_apart(fixture: &Fixture) {
    let (local, other) = (fixture.local(), fixture.other());
    create(fixture, &local, "pdf", "merges documents");
    assert_eq!(names(fixture, &other, "documents"), [""; 0]);
    create(fixture, &other, "word", "merges documents");
    assert_eq!(names(fixture, &other, "documents"), ["word"]);
    assert_eq!(names(fixture, &local, "documents"), ["pdf"]);
}

fn others_change_no_answer(fixture: &Fixture) {
    let (local, other) = (fixture.local(), fixture.other());
    create(fixture, &local, "pdf", "merges documents of rare kinds");
    create(fixture, &local, "charts", "draws bars");
    let shown = || {
        let answer = ask(fixture, &local, "rare documents", 10);
        let hits = answer.hits.iter();
        let hits: Vec<_> = hits
            .map(|hit| (hit.skill.name.to_string(), hit.score.to_bits()))
            .collect();
        (hits, answer.total)
    };
    let before = shown();
    for number in 0..10 {
        create(
            fixture,
            &other,
            &format!("rare-{number}"),
            "rare rare documents",
        );
    }
    assert_eq!(ask(fixture, &other, "rare", 99).total, 10);
    assert_eq!(shown(), before);
}
