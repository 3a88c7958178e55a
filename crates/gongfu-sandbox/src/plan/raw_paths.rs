//! Paths as their bytes: they needn't be text.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize as _, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(
    paths: &[PathBuf],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.as_os_str()))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<PathBuf>, D::Error> {
    let paths = Vec::<OsString>::deserialize(deserializer)?;
    Ok(paths.into_iter().map(PathBuf::from).collect())
}
