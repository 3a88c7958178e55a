//! What nobody means well: documents, folders and arguments that are made to break something.

mod document;
mod file;
mod folder;
mod full;
mod home;
mod terminal;

use gongfu_testing::json::text_at;

use crate::fixture::Fixture;

/// What must never be in an answer.
const CANARY: &str = "the canary outside of every skill";

/// Nothing is wrong with the neighbour of whatever was planted.
fn neighbour_is_well(fixture: &Fixture) {
    let names: Vec<String> = fixture
        .listed()
        .iter()
        .map(|skill| text_at(skill, "/name").to_owned())
        .collect();
    assert!(names.contains(&"neighbour".to_owned()), "{names:?}");
    let loaded = fixture.only(["skill", "read", "neighbour"]).good().text();
    assert!(loaded.contains("# neighbour"), "{loaded}");
}
