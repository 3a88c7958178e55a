//! The promises of `Blobs`.

use gongfu_core::account::Owner;
use gongfu_core::port::{PortError, Space};
use gongfu_core::skill::Digest;

use super::ground::{Ground, assert_alike, assert_refused};
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

fn put(ground: &Ground, space: &Space, bytes: &[u8]) -> Digest {
    ground.wait(space.blobs().put(bytes)).unwrap()
}

fn get(ground: &Ground, space: &Space, digest: &Digest) -> Result<Vec<u8>, PortError> {
    let content = ground.wait(space.blobs().get(digest, 10_000_000))?;
    assert!(!content.is_cut());
    Ok(content.bytes)
}

fn is_kept_by_its_digest(ground: &Ground) {
    let space = ground.local();
    let large = vec![7; 300_000];
    for bytes in [&b""[..], b"abc", b"abcd", &large] {
        let digest = put(ground, &space, bytes);
        assert_eq!(digest, Digest::of(bytes));
        assert_eq!(put(ground, &space, bytes), digest);
        assert_eq!(get(ground, &space, &digest).unwrap(), bytes);
        assert!(ground.wait(space.blobs().remove(&digest)).unwrap());
        assert!(!ground.wait(space.blobs().remove(&digest)).unwrap());
        assert_refused!(get(ground, &space, &digest), PortError::NotFound);
    }
}

fn limit_cuts(ground: &Ground) {
    let space = ground.local();
    let digest = put(ground, &space, b"0123456789");
    for limit in [0, 4, 10, 11] {
        let content = ground.wait(space.blobs().get(&digest, limit)).unwrap();
        let shown = usize::try_from(limit.min(10)).unwrap();
        assert_eq!(content.bytes, b"0123456789"[..shown]);
        assert_eq!((content.size, content.is_cut()), (10, limit < 10));
    }
}

fn damage_is_an_error(ground: &Ground) {
    let space = ground.local();
    let digest = put(ground, &space, b"good");
    for damaged in [&b"goox"[..], b"", b"good and more"] {
        ground.backend.damage_blob(&Owner::Local, &digest, damaged);
        assert_refused!(get(ground, &space, &digest), PortError::Unavailable(_));
    }
    put(ground, &space, b"good");
    assert_eq!(get(ground, &space, &digest).unwrap(), b"good");
}

fn writers_lose_nothing(ground: &Ground) {
    ground.write_at_once(|space, writer| {
        for number in 0..10 {
            put(ground, space, b"the same");
            put(ground, space, format!("{writer} {number}").as_bytes());
        }
    });
    let space = ground.local();
    let own = (0..4).flat_map(|writer| (0..10).map(move |number| format!("{writer} {number}")));
    for text in own.chain(["the same".to_owned()]) {
        let found = get(ground, &space, &Digest::of(text.as_bytes()));
        assert_eq!(found.unwrap(), text.as_bytes());
    }
}

fn survives_a_restart(ground: &Ground) {
    let digest = put(ground, &ground.local(), b"kept");
    assert_eq!(get(ground, &ground.reopened(), &digest).unwrap(), b"kept");
}

fn owners_are_apart(ground: &Ground) {
    let (local, other) = (ground.local(), ground.other());
    let digest = put(ground, &local, b"mine");
    assert_refused!(get(ground, &other, &digest), PortError::NotFound);
    assert!(!ground.wait(other.blobs().remove(&digest)).unwrap());
    put(ground, &other, b"mine");
    assert!(ground.wait(other.blobs().remove(&digest)).unwrap());
    assert_eq!(get(ground, &local, &digest).unwrap(), b"mine");
}

fn foreign_is_like_unknown(ground: &Ground) {
    let (local, other) = (ground.local(), ground.other());
    let digest = put(ground, &local, b"mine");
    let unknown = get(ground, &other, &Digest::of(b"nobody's"));
    assert_alike(get(ground, &other, &digest), unknown);
}
