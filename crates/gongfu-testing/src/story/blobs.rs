//! The promises of `Blobs`.

use gongfu_core::account::Owner;
use gongfu_core::port::{PortError, Space};
use gongfu_core::skill::Digest;

use super::fixture::{Fixture, assert_alike, assert_refused};
use super::{Fault, Promise};

pub(super) const PROMISES: &[Promise] = &[
    Promise::new(
        "bytes are kept by their digest, once, until they are removed",
        is_kept_by_its_digest,
    ),
    Promise::new("a limit cuts, and the size is the whole one", limit_cuts),
    Promise::new(
        "a blob with another digest is an error until it is kept again",
        damage_is_an_error,
    ),
    Promise::new("concurrent writers lose nothing", writers_lose_nothing),
    Promise::broken_by(
        Fault::RestartForgets,
        "blobs survive a restart",
        survives_a_restart,
    ),
    Promise::broken_by(
        Fault::OwnerIgnored,
        "owners have blobs of their own",
        owners_are_apart,
    ),
    Promise::broken_by(
        Fault::OwnerIgnored,
        "the blob of another owner is like an unknown one",
        foreign_is_like_unknown,
    ),
];

fn put(fixture: &Fixture, space: &Space, bytes: &[u8]) -> Digest {
    fixture.wait(space.blobs().put(bytes)).unwrap()
}

fn get(fixture: &Fixture, space: &Space, digest: &Digest) -> Result<Vec<u8>, PortError> {
    let content = fixture.wait(space.blobs().get(digest, 10_000_000))?;
    assert!(!content.is_cut());
    Ok(content.bytes)
}

fn is_kept_by_its_digest(fixture: &Fixture) {
    let space = fixture.local();
    let large = vec![7; 300_000];
    for bytes in [&b""[..], b"abc", b"abcd", &large] {
        let digest = put(fixture, &space, bytes);
        assert_eq!(digest, Digest::of(bytes));
        assert_eq!(put(fixture, &space, bytes), digest);
        assert_eq!(get(fixture, &space, &digest).unwrap(), bytes);
        assert!(fixture.wait(space.blobs().remove(&digest)).unwrap());
        assert!(!fixture.wait(space.blobs().remove(&digest)).unwrap());
        assert_refused!(get(fixture, &space, &digest), PortError::NotFound);
    }
}

fn limit_cuts(fixture: &Fixture) {
    let space = fixture.local();
    let digest = put(fixture, &space, b"0123456789");
    for limit in [0, 4, 10, 11] {
        let content = fixture.wait(space.blobs().get(&digest, limit)).unwrap();
        let shown = usize::try_from(limit.min(10)).unwrap();
        assert_eq!(content.bytes, b"0123456789"[..shown]);
        assert_eq!((content.size, content.is_cut()), (10, limit < 10));
    }
}

fn damage_is_an_error(fixture: &Fixture) {
    let space = fixture.local();
    let digest = put(fixture, &space, b"good");
    for damaged in [&b"goox"[..], b"", b"good and more"] {
        fixture.backend.damage_blob(&Owner::Local, &digest, damaged);
        assert_refused!(get(fixture, &space, &digest), PortError::Unavailable(_));
    }
    put(fixture, &space, b"good");
    assert_eq!(get(fixture, &space, &digest).unwrap(), b"good");
}

fn writers_lose_nothing(fixture: &Fixture) {
    fixture.write_at_once(|space, writer| {
        for number in 0..10 {
            put(fixture, space, b"the same");
            put(fixture, space, format!("{writer} {number}").as_bytes());
        }
    });
    let space = fixture.local();
    let own = (0..4).flat_map(|writer| (0..10).map(move |number| format!("{writer} {number}")));
    for text in own.chain(["the same".to_owned()]) {
        let found = get(fixture, &space, &Digest::of(text.as_bytes()));
        assert_eq!(found.unwrap(), text.as_bytes());
    }
}

fn survives_a_restart(fixture: &Fixture) {
    let digest = put(fixture, &fixture.local(), b"kept");
    assert_eq!(get(fixture, &fixture.reopened(), &digest).unwrap(), b"kept");
}

fn owners_are_apart(fixture: &Fixture) {
    let (local, other) = (fixture.local(), fixture.other());
    let digest = put(fixture, &local, b"mine");
    assert_refused!(get(fixture, &other, &digest), PortError::NotFound);
    assert!(!fixture.wait(other.blobs().remove(&digest)).unwrap());
    put(fixture, &other, b"mine");
    assert!(fixture.wait(other.blobs().remove(&digest)).unwrap());
    assert_eq!(get(fixture, &local, &digest).unwrap(), b"mine");
}

fn foreign_is_like_unknown(fixture: &Fixture) {
    let (local, other) = (fixture.local(), fixture.other());
    let digest = put(fixture, &local, b"mine");
    let unknown = get(fixture, &other, &Digest::of(b"nobody's"));
    assert_alike(get(fixture, &other, &digest), unknown);
}
