//! Tests of the ids of sessions that are written in part.

use super::fitting;

#[test]
fn beginning_of_an_id_is_enough() {
    let all = [
        "20261127-105642-a1",
        "20261127-105642-a2",
        "20261126-1",
        "20261126-11",
    ];
    let find = |id: &str| {
        let all = all.iter().map(|id| (*id).to_owned()).collect();
        fitting(id.to_owned(), all).map_err(|failure| (failure.message, failure.hint))
    };
    for (id, wanted) in [
        ("20261127-105642-a2", "20261127-105642-a2"),
        ("20261126-1", "20261126-1"),
        ("20261126-11", "20261126-11"),
        ("none", "none"),
        ("", ""),
    ] {
        assert_eq!(find(id).as_deref(), Ok(wanted));
    }
    let (message, hint) = find("20261127").unwrap_err();
    assert_eq!(message, "2 sessions begin with `20261127`");
    assert_eq!(hint, "name one of 20261127-105642-a1, 20261127-105642-a2");
}
