//! Digests in a lock: a text such as `sha256:…`, which people can compare.

use gongfu_core::skill::Digest;
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(digest: &Digest, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(digest)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Digest, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}

/// The same where there may be none.
pub(super) mod optional {
    use gongfu_core::skill::Digest;
    use serde::{Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "the form that serde calls")]
    pub(in crate::lock) fn serialize<S: Serializer>(
        digest: &Option<Digest>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match digest {
            Some(digest) => to.collect_str(digest),
            None => to.serialize_none(),
        }
    }

    pub(in crate::lock) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Digest>, D::Error> {
        super::deserialize(from).map(Some)
    }
}
